/* Graph builder: nanochat's model (Karpathy 2025) as a StableHLO module.
 *
 * Pre-norm transformer whose RMSNorms (Zhang and Sennrich 2019) have no gains, one of them right
 * behind the embedding; rotary positions (Su et al. 2021, the halves of a head as pairs, turned the
 * other way round than Llama's); queries and keys are normalised behind them (Henry et al. 2020),
 * which may serve groups; a feed-forward layer of relu(x)^2 (So et al. 2021); no biases; an output
 * head of its own, whose scores are c tanh(s / c) (Gemma Team 2024). Targets of -1 do not count.
 * Parameters are called as in Hugging Face's files (matrices are [out, in]) and carry pcp.init:
 * embeddings normal(1), matrices normal(min(1, sqrt(out / in)) / sqrt(in)), projections back into the
 * residual stream and the head zeros. */
#ifndef MODEL_NANOCHAT_H
#define MODEL_NANOCHAT_H

#include <stdbool.h>

#include "ir/ir.h"
#include "model/steps.h"

typedef struct {
    int layers, heads, kv_heads, width, hidden, block, vocab, batch;
    double eps;     /* of the norms */
    double theta;   /* base of the rotary frequencies */
    double softcap; /* largest score, c above; 0: scores as they are */
    bool rope_bf16; /* cosines and sines are rounded to bf16, as nanochat itself keeps them */
    bool bf16;      /* parameters and matrix products in bf16; norms, softmax and loss in f32 */
    bool weighted;  /* as gpt2_config_t's, and then targets of -1 are no targets */
    const model_steps_t *steps; /* as gpt2_config_t has it */
} nanochat_config_t;

/* A module with @main and @logits as model/gpt2.h has them. ERR_ARG names the field that is out of
 * range (heads must divide the width and be a multiple of kv_heads). */
ir_module_t *nanochat_build(const nanochat_config_t *config, err_t *err);

#endif
