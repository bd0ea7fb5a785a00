/* What families share on complex numbers. Elements are pairs (real, imaginary part); see
 * ir/tensor.h. */
#ifndef OPS_COMPLEX_H
#define OPS_COMPLEX_H

#include "ops/common.h"

/* Real (part 0) or imaginary parts (1) of x in f64; heap-owned. Of real numbers too. */
tensor_t complex_part(const tensor_t *x, int part);
/* y = re + im i, rounded once; re and im have y's shape, in f64. */
void complex_join(tensor_t *y, const tensor_t *re, const tensor_t *im);

/* Evaluate an op that is linear in each of its two complex operands by four evaluations on their
 * parts in f64. */
typedef int eval_fn_t(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err);
int eval_by_parts(eval_fn_t *eval, eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                  err_t *err);

/* The conjugate of x; x itself when it is real. */
ir_val_t complex_conj(ir_fn_t *fn, ir_val_t x);

#endif
