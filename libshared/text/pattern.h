/* Regular expressions of tokenizers: PCRE2 with Unicode, compiled to machine code where it can be.
 *
 * tokenizer.json is written for Oniguruma. What its patterns mean there, they mean here: \s is
 * White_Space, \p{Han} a script (not its extensions), ^ and $ stand at lines. What differs and is
 * not translated (\h) is refused. A pattern is immutable and may be shared by threads; a scan
 * belongs to one. */
#ifndef TEXT_PATTERN_H
#define TEXT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

typedef struct pattern pattern_t;
typedef struct pattern_scan pattern_scan_t;

enum { PATTERN_BYTES = 16384 }; /* a longer one is refused */

/* `literal`: the text itself is what is sought. ERR_PARSE shows the pattern and the place. */
pattern_t *pattern_new(const char *text, size_t n, bool literal, err_t *err);
void pattern_destroy(pattern_t **self_p);

pattern_scan_t *pattern_scan_new(void);
void pattern_scan_destroy(pattern_scan_t **self_p);

/* The first match in text[0, n) that begins at `from` or later, never an empty one. The text is
 * UTF-8 (the caller knows), `from` the beginning of a character. 1: found, in *begin and *end;
 * 0: there is none; -1: ERR_UNSUPPORTED, the pattern needs more steps or memory than a match may
 * have. */
int pattern_find(const pattern_t *self, pattern_scan_t *scan, const char *text, size_t n,
                 size_t from, size_t *begin, size_t *end, err_t *err);

#endif
