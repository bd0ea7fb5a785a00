/* What the two files of the window ops share. */
#ifndef OPS_WINDOW_H
#define OPS_WINDOW_H

#include "ir/op.h"
#include "ops/dims.h"

/* The window attributes of a reduce_window or select_and_scatter over x: w[x->rank], outputs set.
 * ERR_SHAPE when a list has the wrong length or an entry is out of range. */
int window_read(const ir_op_t *op, const ir_type_t *x, window_dim_t *w, err_t *err);

int vjp_reduce_window(vjp_t *v, err_t *err);
int vjp_select_scatter(vjp_t *v, err_t *err);

#endif
