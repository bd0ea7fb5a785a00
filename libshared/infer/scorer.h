/* A model's @logits compiled for this machine: scores of the next token at each place of a
 * window of tokens. One thread at a time. */
#ifndef INFER_SCORER_H
#define INFER_SCORER_H

#include <stddef.h>
#include <stdint.h>

#include "infer/infer.h"
#include "ir/ir.h"

typedef struct scorer scorer_t;

/* Compile the model (seconds), or read the plan from the cache, and load its parameters. Of the options
 * threads and cache_dir count. ERR_ARG: no @logits; ERR_SHAPE: not [1, length] tokens to
 * [1, length, vocabulary]. */
scorer_t *scorer_open(const infer_source_t *source, const infer_options_t *options, bool *compiled,
                      err_t *err);
/* The same of a checkpoint, which may be closed after. */
scorer_t *scorer_new(const checkpoint_t *checkpoint, int threads, err_t *err);
void scorer_destroy(scorer_t **self_p);

/* Give a module without @logits one, of the scores that its loss is computed from (derive/derive.h). ERR_ARG: they are
 * not found. */
int scorer_logits(ir_module_t *module, err_t *err);

int64_t scorer_length(const scorer_t *self); /* tokens of a window */
int64_t scorer_vocab(const scorer_t *self);

/* ERR_ARG: a token outside the vocabulary. */
int scorer_check(const scorer_t *self, const uint32_t *tokens, size_t n, err_t *err);

/* Scores [n, vocab] behind each of the n tokens (1 to length, in the vocabulary), which may not
 * see later ones. Borrowed until the next call. NULL: err. */
const float *scorer_run(scorer_t *self, const uint32_t *tokens, size_t n, err_t *err);

#endif
