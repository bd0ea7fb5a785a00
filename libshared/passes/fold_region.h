/* For pass_fold: ops with regions. */
#ifndef PASSES_FOLD_REGION_H
#define PASSES_FOLD_REGION_H

#include "ir/op.h"
#include "ir/tensor.h"

/* Is op (of fn) a reduction, window, sort, scatter or map whose regions read nothing but constants
 * from around them and run some thousand times at most? */
bool fold_region_may_run(const ir_fn_t *fn, const ir_op_t *op);
/* Its results, op->n_out heap-owned tensors, for operands in[]. -1: leave it to run time. map: for
 * each value of `from` IR_NONE, and so again afterwards, so that one serves all ops. */
int fold_region_run(const ir_fn_t *from, const ir_op_t *op, const tensor_t *in, ir_val_t *map,
                    tensor_t *out);

#endif
