/* Graph builder: the GPT-2 family (Radford et al. 2019) as a StableHLO module.
 *
 * Pre-norm transformer, learned positions, causal self-attention, GELU by tanh, the output head
 * tied to the token embedding. Parameters are named as in GPT-2's published checkpoints
 * ("wte.weight", "h.0.attn.c_attn.weight", ...; matrices are [in, out]) and carry pcp.init:
 * normal(0.02), residual projections normal(0.02 / sqrt(2 layers)), gains ones, biases zeros. */
#ifndef MODEL_GPT2_H
#define MODEL_GPT2_H

#include <stdbool.h>

#include "ir/ir.h"
#include "model/steps.h"

typedef struct {
    int layers, heads, width, block, vocab, batch;
    bool bias;     /* biases in linear layers and layer norms, as GPT-2 has them */
    bool bf16;     /* parameters and matrix products in bf16; norms, softmax and loss in f32 */
    bool weighted; /* @main has a third batch argument, below */
} gpt2_config_t;

/* A module with
 *   @main   (parameters, x: [batch, block] i32, y: [batch, block] i32) -> mean cross-entropy, f32
 *   with `weighted` also loss_weights: [batch, block] f32, what each token of y counts: the mean is
 *   sum(weight * loss) / max(sum(weight), 1)
 *   @logits (parameters, x: [1, block] i32) -> [1, block, vocab] f32
 * ERR_ARG names the field that is out of range (width must be a multiple of heads). */
ir_module_t *gpt2_build(const gpt2_config_t *config, err_t *err);

/* The same with `positions` rows in wpe, block or more, of which the first are read: a published
 * model with a shorter context. With steps the functions of model/steps.h; batch and bf16 are not
 * looked at then. */
ir_module_t *gpt2_build_within(const gpt2_config_t *config, int positions,
                               const model_steps_t *steps, err_t *err);

#endif
