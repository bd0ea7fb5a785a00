/* Added tokens of a tokenizer ("<|endoftext|>", "<mask>"): found in the text as they stand, the
 * longest of those that begin first, before anything else looks at it. Immutable once filled. */
#ifndef TEXT_ADDED_H
#define TEXT_ADDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { ADDED_MAX_BYTES = 1024, ADDED_MAX_ALL_BYTES = 1 << 20 };

typedef struct {
    uint32_t token;
    bool single_word;    /* not next to a letter, mark, digit or connector */
    bool lstrip, rstrip; /* takes the white space before, behind it */
} added_token_t;

typedef struct added added_t;

added_t *added_new(void);
void added_destroy(added_t **self_p);

/* ERR_PARSE: empty, too long, or too many. The same text again: the later one counts. */
int added_add(added_t *self, const char *text, size_t n, added_token_t token, err_t *err);

/* The first one in text[0, n) at `from` or later. The text is UTF-8. False: there is none. */
bool added_find(const added_t *self, const char *text, size_t n, size_t from, size_t *begin,
                size_t *end, uint32_t *token);

#endif
