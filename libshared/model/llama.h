/* Graph builder: the Llama family (Touvron et al. 2023) as a StableHLO module; Qwen 2 and 3,
 * Mistral and SmolLM are of this shape, too.
 *
 * Pre-norm transformer: RMSNorm (Zhang and Sennrich 2019), rotary positions (Su et al. 2021, the
 * halves of a head as pairs, as published checkpoints have them), causal attention whose keys and
 * values serve groups of queries (Ainslie et al. 2023), SwiGLU (Shazeer 2020). Parameters are named
 * as in published checkpoints ("model.layers.0.self_attn.q_proj.weight", ...; matrices are
 * [out, in]) and carry pcp.init: normal(0.02), projections back into the residual stream
 * normal(0.02 / sqrt(2 layers)), gains ones, biases zeros. */
#ifndef MODEL_LLAMA_H
#define MODEL_LLAMA_H

#include <stdbool.h>

#include "ir/ir.h"
#include "model/steps.h"

typedef enum { ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3 } rope_kind_t;

typedef struct {
    int layers, heads, kv_heads, width, block, vocab, batch;
    int head_width; /* even; 0: width / heads */
    int hidden;     /* width between the projections of a feed-forward layer */
    double eps;     /* of the norms */
    double theta;   /* base of the rotary frequencies */
    rope_kind_t rope;
    double rope_factor;         /* ROPE_LINEAR, ROPE_LLAMA3: positions are so many times closer */
    double rope_low, rope_high; /* ROPE_LLAMA3: turns within rope_block below which frequencies
                                    * are scaled, above which they are not */
    int rope_block;             /* ROPE_LLAMA3: the context before it was made longer */
    bool tied;                  /* the output head is the embedding */
    bool qkv_bias, out_bias, mlp_bias;
    bool qk_norm;  /* RMSNorm of each head of q and k (Qwen 3) */
    bool bf16;     /* parameters and matrix products in bf16; norms, softmax and loss in f32 */
    bool weighted; /* as gpt2_config_t's */
    const model_steps_t *steps; /* as gpt2_config_t has it */
} llama_config_t;

/* A module with @main and @logits as model/gpt2.h has them. ERR_ARG names the field that is out of
 * range (heads must be a multiple of kv_heads). */
ir_module_t *llama_build(const llama_config_t *config, err_t *err);

/* inverse[head_width / 2]: radians a position that each pair of a head turns by. */
void llama_frequencies(const llama_config_t *config, double *inverse);

#endif
