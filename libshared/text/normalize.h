/* Normalisers of tokenizers: text to text before it is cut into words. Immutable once filled. */
#ifndef TEXT_NORMALIZE_H
#define TEXT_NORMALIZE_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "text/pattern.h"

/* X(word of tokenizer.json, constant): the four normal forms of Unicode (UAX 15). */
#define NORMAL_FORMS(X) X(NFC, FORM_NFC) X(NFD, FORM_NFD) X(NFKC, FORM_NFKC) X(NFKD, FORM_NFKD)
#define NORMAL_FORM_CONSTANT(word, constant) constant,
typedef enum { NORMAL_FORMS(NORMAL_FORM_CONSTANT) N_NORMAL_FORM } normal_form_t;

typedef struct normalizer normalizer_t;

normalizer_t *normalizer_new(void);
void normalizer_destroy(normalizer_t **self_p);

/* Steps, in order. Texts are copied; takes the pattern. ERR_PARSE: too many. */
int normalizer_add_form(normalizer_t *self, normal_form_t form, err_t *err);
int normalizer_add_prepend(normalizer_t *self, const char *text, size_t n, err_t *err);
int normalizer_add_replace(normalizer_t *self, pattern_t *pattern, const char *text, size_t n,
                           err_t *err);

size_t normalizer_steps(const normalizer_t *self);

/* UTF-8 in, UTF-8 out. *out is replaced. ERR_MEMORY: the result would be over 64 times the text;
 * ERR_UNSUPPORTED: pattern_find's. */
int normalizer_run(const normalizer_t *self, pattern_scan_t *scan, const char *text, size_t n,
                   str_t *out, err_t *err);

#endif
