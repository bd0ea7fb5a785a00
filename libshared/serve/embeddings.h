/* Answers of /v1/embeddings. Pure functions. */
#ifndef SERVE_EMBEDDINGS_H
#define SERVE_EMBEDDINGS_H

#include "serve/answer.h"

/* Scale to length 1; a vector of zeros stays. */
void embeddings_normalise(float *vector, size_t width);

/* n vectors of `width` as JSON, appended: numbers that read back as the same f32, or the base64 of their
 * little-endian bytes. */
void embeddings_answer(const char *model, float *const *vectors, size_t n, size_t width,
                       bool base64, answer_usage_t usage, str_t *out);

#endif
