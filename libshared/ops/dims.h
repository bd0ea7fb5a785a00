/* What the families that move elements share: attribute lists of a given length, walks over
 * indices, strided copies, and dimension lists for reverse rules. Pure functions over their
 * arguments. */
#ifndef OPS_DIMS_H
#define OPS_DIMS_H

#include "ir/build.h"
#include "ir/op.h"
#include "ir/tensor.h"

/* --- Attributes ------------------------------------------------------------------------------ */

/* The n entries of attribute `name` into list[]; a missing attribute is n times `fallback`.
 * ERR_SHAPE when the attribute has another length. n is at most 2 * IR_MAX_RANK. */
int dims_list(const ir_op_t *op, const char *name, int n, int64_t fallback, int64_t *list,
              err_t *err);
/* The same without the check, for ops that passed their type rule. */
void dims_read(const ir_op_t *op, const char *name, int n, int64_t fallback, int64_t *list);
/* Entries of dims[n] ascend strictly; ERR_SHAPE names the attribute otherwise. */
int dims_sorted(const ir_op_t *op, const char *name, const int64_t *dims, int n, err_t *err);
/* The attribute as a mask over [0, rank): bit d is set when d is in the list. */
uint32_t dims_mask(const ir_op_t *op, const char *name);
static inline bool dims_has(uint32_t mask, int64_t dim)
{
    return mask >> dim & 1;
}
/* The dimensions of [0, rank) that are not in mask, ascending. Returns how many. */
int dims_rest(uint32_t mask, int rank, int64_t *rest);

/* --- Walks ----------------------------------------------------------------------------------- */

/* The next index in row-major order; false after the last one (index is then all zeros). With any
 * dim[d] == 0 there is no index at all: ask dims_count first. */
bool dims_next(int rank, const int64_t *dim, int64_t *index);
int64_t dims_count(int rank, const int64_t *dim);
/* offset[i] for every index of a rank-n box in row-major order: sum of index[d] * stride[d].
 * Returns a heap array of dims_count entries, caller frees. */
int64_t *dims_offsets(int rank, const int64_t *dim, const int64_t *stride);

/* Copy a box of elements: dst[sum i_d * dst_stride[d]] = src[sum i_d * src_stride[d]] for all
 * 0 <= i_d < dim[d]. Strides count elements of `bytes` each and may be zero (src) or negative. */
void dims_copy(size_t bytes, int rank, const int64_t *dim, void *dst, const int64_t *dst_stride,
               const void *src, const int64_t *src_stride);
/* Row-major strides of x, all zero when it is a splat: the way to read any tensor with one loop. */
void dims_strides_of(const tensor_t *x, int64_t stride[IR_MAX_RANK]);
/* Address of element `at` (counted in elements) of raw data. */
static inline void *dims_at(void *data, size_t bytes, int64_t at)
{
    return (char *)data + (int64_t)bytes * at;
}
/* Every element of y becomes the scalar x (same element type). */
void dims_fill(tensor_t *y, const tensor_t *x);

/* --- Windows --------------------------------------------------------------------------------- */

/* One dimension of a window that slides over a padded, dilated operand (reduce_window,
 * convolution). Position o * stride + k * window_dilation - low, divided by base_dilation, is the
 * element seen by window entry k at output o. */
typedef struct {
    int64_t size;   /* of the operand */
    int64_t window; /* entries of the window */
    int64_t stride, base_dilation, window_dilation, low, high;
    int64_t out; /* outputs; set by window_infer */
} window_dim_t;

/* (n - 1) * dilation + 1, or 0 for an empty dimension: the extent after dilation. */
int64_t window_extent(int64_t n, int64_t dilation);
/* Set w->out. ERR_SHAPE names dimension d when a size, stride or dilation is out of range. */
int window_infer(const ir_op_t *op, int d, window_dim_t *w, err_t *err);
/* The operand's index seen by entry k at output o, or -1 in padding and between dilated elements.
 */
static inline int64_t window_index(const window_dim_t *w, int64_t o, int64_t k)
{
    int64_t at = o * w->stride + k * w->window_dilation - w->low;
    if (at < 0 || at % w->base_dilation != 0) return -1;
    at /= w->base_dilation;
    return at < w->size ? at : -1;
}

#endif
