/* Type rules that reduce and reduce_window share (both in reduce.c). */
#ifndef OPS_FOLD_RULE_H
#define OPS_FOLD_RULE_H

#include "ir/op.h"

/* Operands are n tensors of one shape, then n scalars: the accumulators' initial values, of the
 * same element type or a wider one of its class. */
int infer_fold_operands(const ir_fn_t *fn, const ir_op_t *op, err_t *err);
/* Region r maps (accumulators.., elements..) to accumulators; each is a scalar of init's type. */
int infer_fold_region(const ir_fn_t *fn, const ir_op_t *op, int r, int n, err_t *err);

#endif
