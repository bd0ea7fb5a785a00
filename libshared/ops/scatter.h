/* Between scatter.c, scatter_vjp.c and scatter_any.c. */
#ifndef OPS_SCATTER_H
#define OPS_SCATTER_H

#include "ir/build_index.h"

/* Operands of a scatter: n inputs, the indices, n updates. */
int scatter_n_inputs(const ir_op_t *op);

/* Where the updates go: dims as ir_scatter_dims gives them, x the type of the inputs' shape. */
typedef struct {
    ir_fn_t *fn;
    ir_gather_t dims;
    ir_type_t x;
    ir_val_t index;   /* as given; scatter drops what lies outside */
    ir_val_t shifted; /* IR_NONE at first; i64, made on first use */
} scatter_at_t;

/* x (of the inputs' shape) at each update's target; `outside` for dropped updates. IR_NONE of
 * IR_NONE. */
ir_val_t scatter_target(scatter_at_t *self, ir_val_t x, double outside);

/* The reverse rule, and its part for any region of element-wise ops: the updates are applied in
 * rounds none of which writes a place twice (one when the op promises unique indices), each a
 * gather, the region on whole tensors and a scatter that replaces, and these are differentiated.
 * ERR_UNSUPPORTED: other ops in the region, or more rounds than FOLD_VJP_MAX. */
int vjp_scatter(vjp_t *v, err_t *err);
int vjp_scatter_any(vjp_t *v, err_t *err);

#endif
