/* From a model's graph over a whole window of tokens to programs that read new tokens alone and keep, of earlier ones,
 * what attention needs: the same interface as model/steps.h has, of any module.
 *
 * It is proven first that every op treats positions alike, but for products of positions with positions (scores),
 * whose later ones are hidden by a mask that is a constant, made zero by an exponential, and then summed over
 * (derive/trace.h). So the score of a token depends on it and those before it, and keys and values of these may be
 * kept. A model in which anything else mixes positions is refused, and the op named.
 *
 * Scores are the result of @logits; of a module without it, what the entry compares with its other data (targets, or
 * the tokens shifted), in front of the softmax. One thread at a time per module. */
#ifndef DERIVE_DERIVE_H
#define DERIVE_DERIVE_H

#include "ir/ir.h"
#include "model/steps.h"

typedef struct derive derive_t;

/* Takes the module, which it changes. NULL: ERR_UNSUPPORTED says why this model is none, by its first op that is not
 * known to keep positions apart. */
derive_t *derive_new(ir_module_t *module, err_t *err);
void derive_destroy(derive_t **self_p);

int64_t derive_length(const derive_t *self); /* tokens of the window */

/* The module of these programs, as model/steps.h describes it, but: parameters are as the module reads them, matrices
 * transposed (STEPS_TURNED) where products want them so; the states' names and shapes are its own; "P.hidden" may
 * be missing. how->weights of bf16 or i8 is that of matrices [n, k] of which only products and tokens' rows are taken; other
 * parameters stay as the module reads them, as all do with f32. Returns, caller destroys; NULL: err. */
ir_module_t *derive_steps(derive_t **self_p, const model_steps_t *how, err_t *err);

/* Give a module without @logits one, for one sequence, if the entry's scores can be told; ERR_UNSUPPORTED: not. With
 * @logits nothing is done. */
int derive_logits(ir_module_t *module, err_t *err);

#endif
