/* Pre-tokenisers: text cut into words, which byte-pair encoding never crosses. A list of steps,
 * each of which cuts the pieces of the one before. Immutable once filled. */
#ifndef TEXT_WORDS_H
#define TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "text/pattern.h"

/* X(word of tokenizer.json, constant): what becomes of a match. */
#define CUTS(X)                                                                \
    X(Isolated, CUT_ISOLATED)                /* a piece of its own */          \
    X(Removed, CUT_REMOVED)                  /* gone */                        \
    X(MergedWithPrevious, CUT_WITH_PREVIOUS) /* the end of the piece before */ \
    X(MergedWithNext, CUT_WITH_NEXT)         /* the beginning of the next */   \
    X(Contiguous, CUT_CONTIGUOUS)            /* matches in a row are one */
#define CUT_CONSTANT(word, constant) constant,
typedef enum { CUTS(CUT_CONSTANT) N_CUT } cut_t;

/* GPT-2's cut into words: contractions, letters, digits, the rest, white space. */
#define WORDS_GPT2 \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

typedef struct words words_t;

words_t *words_new(void);
void words_destroy(words_t **self_p);

/* Steps. words_add_split takes the pattern; `invert`: what does not match is the match.
 * words_add_prefix: a piece that does not begin with a blank gets one. ERR_PARSE: too many. */
int words_add_split(words_t *self, pattern_t *pattern, cut_t cut, bool invert, err_t *err);
int words_add_prefix(words_t *self, err_t *err);
size_t words_steps(const words_t *self);

/* Called for each word, in order, never empty; -1 ends it. */
typedef int words_fn(void *user, const char *word, size_t n, err_t *err);

/* Cut UTF-8 text. -1: each's, or pattern_find's. */
int words_cut(const words_t *self, pattern_scan_t *scan, const char *text, size_t n, words_fn *each,
              void *user, err_t *err);

#endif
