/* The interpreter: runs functions op by op through the op table's evaluators.
 *
 * A tensor is freed after its last use, so that models larger than their parts fit in memory. Used
 * as oracle, constant folder and conformance runner; plain rather than fast. One thread per eval_t.
 */
#ifndef OPS_EVAL_H
#define OPS_EVAL_H

#include "ir/op.h"
#include "ir/tensor.h"

typedef struct {
    int max_depth;     /* nested calls; 0: 200 */
    int64_t max_bytes; /* of tensors alive at once; 0: three quarters of the machine's memory */
    int64_t max_iterations; /* of one while op; 0: no limit */
    uint64_t seed;          /* of the rng ops (ops/draw_rule.h) */
} eval_options_t;
/* The limit on bytes that opt stands for; NULL: the defaults. */
int64_t eval_max_bytes(const eval_options_t *opt);

/* Run fn on in[n parameters], borrowed, types checked. On success fills out[n results] with
 * heap-owned tensors (tensor_fini each; may be splat). opt may be NULL. Errors name line and op;
 * a failed check op is ERR_MISMATCH. */
int eval_fn(const ir_module_t *module, const ir_fn_t *fn, const tensor_t *in, tensor_t *out,
            const eval_options_t *opt, err_t *err);

/* One op without regions on given operands, as the constant folder needs it. fn gives the result
 * types. Fills out[op->n_out] as eval_fn does. */
int eval_op(const ir_module_t *module, const ir_fn_t *fn, const ir_op_t *op, const tensor_t *in,
            tensor_t *out, err_t *err);

/* --- For evaluators (op_def_t.eval) ------------------------------------------------------------
 * out[i] comes with its type set and zeroed heap data for all elements. An evaluator may set
 * out[i].splat after writing element 0, or replace out[i] by another heap-owned tensor of the type
 * (tensor_fini the old one first). */

/* Run a region of the op being evaluated: args[n_arg] are borrowed; on success results[n_result]
 * are filled with heap-owned tensors. The region sees the values around it. */
int eval_region(eval_t *ev, const ir_region_t *region, const tensor_t *args, tensor_t *results,
                err_t *err);
/* Run another function of the module; as eval_fn. ERR_STATE when nested deeper than max_depth. */
int eval_call(eval_t *ev, const ir_fn_t *fn, const tensor_t *in, tensor_t *out, err_t *err);
const ir_module_t *eval_module(const eval_t *ev);
const eval_options_t *eval_options(const eval_t *ev);
/* Count `bytes` that the evaluator needs beside its tensors until it returns, n times; ask before
 * allocating them. ERR_MEMORY when they are over the limit. */
int eval_reserve(eval_t *ev, const ir_op_t *op, int64_t n, size_t bytes, err_t *err);
/* What is left of max_bytes, at least 1. */
int64_t eval_bytes_left(const eval_t *ev);
/* The number of the rng op that runs now: 0, 1, 2, .. in an execution (ops/draw_rule.h). */
uint64_t eval_next_draw(eval_t *ev);

#endif
