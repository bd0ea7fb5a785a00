/* The builder's ops whose places come from data, and windows. Errors and lists as in ir/build.h. */
#ifndef IR_BUILD_INDEX_H
#define IR_BUILD_INDEX_H

#include "ir/build.h"

/* The dimension lists of a gather, and of the scatter that goes the other way: scatter's
 * update_window_dims are offset_dims, its inserted_window_dims are collapsed, and so on. */
typedef struct {
    int n_offset, n_collapsed, n_batch, n_start;
    int64_t offset_dims[IR_MAX_RANK]; /* of the result (the updates) */
    int64_t collapsed[IR_MAX_RANK];   /* of the operand, as are batch and start_map */
    int64_t batch[IR_MAX_RANK];
    int64_t index_batch[IR_MAX_RANK]; /* of the indices */
    int64_t start_map[IR_MAX_RANK];
    int64_t index_vector_dim;
    int64_t slice[IR_MAX_RANK]; /* per operand dimension */
    bool sorted, unique;        /* promises about the indices */
} ir_gather_t;

void ir_gather_dims(const ir_op_t *op, ir_gather_t *dims); /* read them off a gather */
/* The same off a scatter; operand and updates give the slices. */
void ir_scatter_dims(const ir_op_t *op, const ir_type_t *operand, const ir_type_t *updates,
                     ir_gather_t *dims);

ir_val_t ir_gather(ir_fn_t *fn, ir_val_t x, ir_val_t index, const ir_gather_t *dims);
/* operand with updates combined in by a binary op; OP_invalid: the update replaces the element. */
ir_val_t ir_scatter(ir_fn_t *fn, op_code_t combine, ir_val_t operand, ir_val_t index,
                    ir_val_t updates, const ir_gather_t *dims);
/* Start indices moved to where gather reads: min(max(i, 0), dim - slice) of `operand`. */
ir_val_t ir_clamp_starts(ir_fn_t *fn, ir_val_t index, const ir_gather_t *dims,
                         const ir_type_t *operand);
/* A constant of index's type that holds value[e] in entry e of every index vector. */
ir_val_t ir_index_constant(ir_fn_t *fn, ir_val_t index, const ir_gather_t *dims,
                           const int64_t *value);

/* index: one rank-0 integer per dimension of x. */
ir_val_t ir_dynamic_slice(ir_fn_t *fn, ir_val_t x, const ir_val_t *index, const int64_t *sizes);
ir_val_t ir_dynamic_update_slice(ir_fn_t *fn, ir_val_t x, ir_val_t update, const ir_val_t *index);

typedef struct {
    int64_t size[IR_MAX_RANK], stride[IR_MAX_RANK], base_dilation[IR_MAX_RANK];
    int64_t window_dilation[IR_MAX_RANK], low[IR_MAX_RANK], high[IR_MAX_RANK];
} ir_window_t;
/* Read off a reduce_window, select_and_scatter (rank: of the operand); missing lists are ones. */
void ir_window_dims(const ir_op_t *op, int rank, ir_window_t *window);
/* n operands and n rank-0 initial values; results[n] are values op->out + i. NULL after an error.
 */
ir_op_t *ir_reduce_window(ir_fn_t *fn, int n, const ir_val_t *in, const ir_window_t *window,
                          ir_region_t *region);
ir_val_t ir_select_and_scatter(ir_fn_t *fn, ir_val_t x, ir_val_t source, ir_val_t init,
                               const ir_window_t *window, ir_region_t *select,
                               ir_region_t *scatter);
/* The region (a, b) -> compare(direction, a, b) on scalars of dtype. */
ir_region_t *ir_comparator(ir_fn_t *fn, const char *direction, dtype_t dtype);

#endif
