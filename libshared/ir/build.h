/* The builder: appends ops at fn->cursor with types inferred from the op table.
 *
 * Errors are sticky: the first one is kept in fn->err, the failing call and every later one that
 * touches its result return IR_NONE, and ir_fn_finish (or a look at fn->err) reports it. So a chain
 * of calls needs one check at its end. Lists are copied. `dims` are dimension numbers of the result
 * unless said otherwise. */
#ifndef IR_BUILD_H
#define IR_BUILD_H

#include "ir/ir.h"
#include "ir/op.h"

/* Append op `code`. attrs: NULL or attributes in the module's arena. declared: NULL, or the n_out
 * result types (needed by ops whose type cannot be inferred: constant, iota, convert, reshape,
 * ...). Returns the op, NULL after an error. */
ir_op_t *ir_emit(ir_fn_t *fn, op_code_t code, int n_in, const ir_val_t *in, const ir_attrs_t *attrs,
                 int n_out, const ir_type_t *declared, int n_region, ir_region_t *const *regions);

ir_val_t ir_op1(ir_fn_t *fn, op_code_t code, ir_val_t a);
ir_val_t ir_op2(ir_fn_t *fn, op_code_t code, ir_val_t a, ir_val_t b);
ir_val_t ir_op3(ir_fn_t *fn, op_code_t code, ir_val_t a, ir_val_t b, ir_val_t c);

/* Constants. */
ir_val_t ir_const(ir_fn_t *fn, const tensor_t *tensor);              /* arena-owned tensor */
ir_val_t ir_splat(ir_fn_t *fn, const ir_type_t *type, double value); /* any dtype */
ir_val_t ir_scalar_like(ir_fn_t *fn, ir_val_t like, double value);   /* a splat of like's type */
ir_val_t ir_scalar(ir_fn_t *fn, dtype_t dtype, double value);        /* rank 0 */
ir_val_t ir_iota(ir_fn_t *fn, const ir_type_t *type, int dim);

/* Types and shapes. */
ir_val_t ir_convert(ir_fn_t *fn, ir_val_t x, dtype_t to);          /* x itself if it is one */
ir_val_t ir_reshape(ir_fn_t *fn, ir_val_t x, const ir_type_t *to); /* x itself if same shape */
ir_val_t ir_broadcast(ir_fn_t *fn, ir_val_t x, const ir_type_t *to, const int64_t *dims);
ir_val_t ir_broadcast_scalar(ir_fn_t *fn, ir_val_t scalar, const ir_type_t *to);
ir_val_t ir_transpose(ir_fn_t *fn, ir_val_t x, const int64_t *perm);
ir_val_t ir_slice(ir_fn_t *fn, ir_val_t x, const int64_t *start, const int64_t *limit,
                  const int64_t *stride); /* stride NULL: ones */
ir_val_t ir_pad(ir_fn_t *fn, ir_val_t x, ir_val_t value, const int64_t *low, const int64_t *high,
                const int64_t *interior); /* interior NULL: zeros */
ir_val_t ir_concatenate(ir_fn_t *fn, const ir_val_t *parts, int n, int dim);
ir_val_t ir_reverse(ir_fn_t *fn, ir_val_t x, const int64_t *dims, int n);

/* Comparison: direction "LT", "GE", "EQ", ...; the kind follows the operands' type. */
ir_val_t ir_compare(ir_fn_t *fn, const char *direction, ir_val_t a, ir_val_t b);
ir_val_t ir_select(ir_fn_t *fn, ir_val_t pred, ir_val_t a, ir_val_t b);

/* Reduce dims of x with a binary op (OP_add, OP_maximum, ...) and that op's neutral element. dims
 * are of x, any order; they vanish from the result. */
ir_val_t ir_reduce(ir_fn_t *fn, op_code_t reducer, ir_val_t x, const int64_t *dims, int n);
ir_val_t ir_reduce_all(ir_fn_t *fn, op_code_t reducer, ir_val_t x);
/* Sum x down to `to`, undoing a numpy-style broadcast by dims (as broadcast_in_dim has them). */
ir_val_t ir_unbroadcast(ir_fn_t *fn, ir_val_t x, const ir_type_t *to, const int64_t *dims);

typedef struct {
    int n_batch, n_contract;
    int64_t lhs_batch[IR_MAX_RANK], rhs_batch[IR_MAX_RANK];
    int64_t lhs_contract[IR_MAX_RANK], rhs_contract[IR_MAX_RANK];
} ir_dot_t;
/* Result element type: `to`, or the operands' when DT_NONE. */
ir_val_t ir_dot(ir_fn_t *fn, ir_val_t a, ir_val_t b, const ir_dot_t *dims, dtype_t to);
void ir_dot_dims(const ir_op_t *op, ir_dot_t *dims);     /* read them off a dot_general */
ir_val_t ir_matmul(ir_fn_t *fn, ir_val_t a, ir_val_t b); /* [m,k] x [k,n] */

ir_val_t ir_call(ir_fn_t *fn, const ir_fn_t *callee, const ir_val_t *in); /* first result */

/* Regions: ir_region_begin moves the cursor into a new region and returns it; ir_region_end sets
 * its results and puts the cursor back. */
ir_region_t *ir_region_begin(ir_fn_t *fn, int n_arg, const ir_type_t *types, ir_region_t **saved);
void ir_region_end(ir_fn_t *fn, ir_region_t *region, int n_result, const ir_val_t *results,
                   ir_region_t *saved);
/* The region (a, b) -> a `reducer` b on scalars of dtype. */
ir_region_t *ir_reducer(ir_fn_t *fn, op_code_t reducer, dtype_t dtype);
/* The region (old, update) -> update on scalars of dtype. */
ir_region_t *ir_replacer(ir_fn_t *fn, dtype_t dtype);
/* The op when a region is exactly (a, b) -> op(a, b) on its two arguments, else OP_invalid. */
op_code_t ir_reducer_op(const ir_region_t *region);

#endif
