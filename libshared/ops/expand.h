/* Ops that are defined by others: a type rule and an `expand` (ir/op.h) are all they have of their
 * own. pass_expand puts the others in their place; until then these evaluate and differentiate
 * them. */
#ifndef OPS_EXPAND_H
#define OPS_EXPAND_H

#include "ops/common.h"

int eval_expanded(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err);
int vjp_expanded(vjp_t *v, err_t *err);

/* The ops that `op` (of `from`, perhaps another function) stands for, on in[n_in], to fn's cursor;
 * sets out[n_out]. ERR_TYPE when they make another type than the op has. */
int expand_op(ir_fn_t *fn, const ir_fn_t *from, const ir_op_t *op, const ir_val_t *in,
              ir_val_t *out, err_t *err);

#endif
