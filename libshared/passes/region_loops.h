/* Ops whose regions no kernel takes as while loops (pass_region_loops). Inside of passes/, but for
 * the first function. */
#ifndef PASSES_REGION_LOOP_H
#define PASSES_REGION_LOOP_H

#include "ir/ir.h"

/* Kernels of plain loops compute this op of a region between scalars. */
bool region_op_is_scalar(const ir_fn_t *fn, const ir_op_t *op);

/* One op on its way to a loop. Its results are carried flat: carry[0..n_out). */
typedef struct region_loop region_loop_t;
struct region_loop {
    ir_clone_t *clone;
    const ir_op_t *op;
    ir_val_t *flat; /* the operands, flat */
    const void *user;
    /* Step t: what the carries are next. */
    int (*step)(region_loop_t *self, ir_val_t t, const ir_val_t *carry, ir_val_t *next, err_t *err);
};

/* Scalars of i64 at the cursor: a constant; t / of % dim per digit of a row-major index; sums of
 * digit times stride. */
ir_val_t region_number(ir_fn_t *fn, int64_t value);
void region_digits(ir_fn_t *fn, ir_val_t t, int rank, const int64_t *dim, ir_val_t *digit);
ir_val_t region_place(ir_fn_t *fn, int rank, const ir_val_t *digit, const int64_t *stride);

/* An element of a flat tensor, and the tensor with another in its place. */
ir_val_t region_element(ir_fn_t *fn, ir_val_t flat, ir_val_t at);
ir_val_t region_with_element(ir_fn_t *fn, ir_val_t flat, ir_val_t at, ir_val_t value);

/* result[] = region r on args[], or otherwise[] where pred is false: the region is not run then, as
 * it need not end. pred IR_NONE: always. */
int region_run(region_loop_t *self, int r, ir_val_t pred, const ir_val_t *args,
               const ir_val_t *otherwise, ir_val_t *result, err_t *err);

/* `n_step` steps from carry[n_carry] on; the results are mapped. */
int region_loop(region_loop_t *self, int64_t n_step, int n_carry, const ir_val_t *carry,
                err_t *err);

/* The rules: the op as a loop at the clone's cursor, with the interpreter's results (its order of
 * evaluation). No result is empty. */
int region_loop_sort(region_loop_t *self, err_t *err);
int region_loop_scatter(region_loop_t *self, err_t *err);
int region_loop_window(region_loop_t *self, err_t *err);
int region_loop_select(region_loop_t *self, err_t *err);

#endif
