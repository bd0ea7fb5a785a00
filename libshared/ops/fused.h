/* pcp.fused: a group of ops under the name of what it computes ("kind"), which a plan may have one
 * kernel for. Its region is the definition: the interpreter runs it, plans without a kernel of the
 * kind write it out, and second derivatives are taken of it. Passes form groups (passes/fuse.h);
 * models need not know them. */
#ifndef OPS_FUSED_H
#define OPS_FUSED_H

#include "ir/build.h"

#define FUSED_ATTENTION "attention"
#define FUSED_ATTENTION_GRADIENT "attention_gradient"
#define FUSED_KEPT_ATTENTION "kept_attention"

/* The op is a group of this kind. */
bool fused_is(const ir_op_t *op, const char *kind);

/* softmax(scale q k^T) v over the last axis (Vaswani et al. 2017, equation 1), products and sums in
 * f32 or the operands' wider type. causal: row i sees the keys j <= i + offset, at least one. */
typedef struct {
    double scale;
    bool causal;
    int64_t offset; /* >= 0 */
} fused_attention_t;

/* q [n, t, d], k [n, s, d], v [n, s, e] of one float type, to o [n, t, e] of that type and the
 * log-sum-exp of each row of scores [n, t] (f32 or f64): results 0 and 1. NULL after an error. */
ir_op_t *fused_attention(ir_fn_t *fn, ir_val_t q, ir_val_t k, ir_val_t v,
                         const fused_attention_t *how);

/* The cotangents of q, k and v from that of o, probabilities recomputed from the log-sum-exp
 * (Dao et al. 2022, FlashAttention, algorithm 4). in: q, k, v, o, lse, ct. */
ir_op_t *fused_attention_gradient(ir_fn_t *fn, const ir_val_t in[6], const fused_attention_t *how);

/* Attention of one token of each of r texts over what is kept of them: softmax(scale q k^T) v in f32.
 *   q    [r h, g, d] f32: the g rows that share the keys of one of h heads
 *   k, v [r h, s, d] and [r h, s, e], f32 or bf16
 *   at   [r] i32: the token's position, the last that it sees; beyond s - 1 it sees the first one alone
 * to o [r h, g, e] f32. NULL after an error. */
ir_op_t *fused_kept_attention(ir_fn_t *fn, ir_val_t q, ir_val_t k, ir_val_t v, ir_val_t at,
                              double scale);

/* Read off an op of any kind. */
fused_attention_t fused_attention_of(const ir_op_t *op);

#endif
