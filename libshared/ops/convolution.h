/* The attributes of a convolution, for the interpreter and for code generation. */
#ifndef OPS_CONVOLUTION_H
#define OPS_CONVOLUTION_H

#include "ir/op.h"
#include "ops/dims.h"

/* Where a tensor keeps its batch (kernel: input feature), feature (output feature) and spatial
 * dimensions. */
typedef struct {
    int64_t a, b, spatial[IR_MAX_RANK];
} conv_layout_t;

typedef struct {
    int n_spatial;
    conv_layout_t lhs, rhs, out;
    window_dim_t w[IR_MAX_RANK]; /* per spatial dimension */
    bool reversed[IR_MAX_RANK];  /* kernel runs backwards */
    int64_t feature_groups, batch_groups;
} conv_t;

/* Fills *c from the op's attributes. ERR_SHAPE when they do not fit the operands. */
int conv_read(const ir_op_t *op, const ir_type_t *lhs, const ir_type_t *rhs, conv_t *c, err_t *err);

/* A tensor's strides, in elements, by the meaning of its dimensions instead of by their position.
 */
conv_layout_t conv_strides(const ir_type_t *type, const conv_layout_t *layout, int n_spatial);

#endif
