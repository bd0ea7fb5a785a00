/* Attribute lists, index walks and strided copies of the families that move elements. */
#include "ops/dims.h"

#include <string.h>

#include "base/mem.h"
#include "ops/common.h"

int dims_list(const ir_op_t *op, const char *name, int n, int64_t fallback, int64_t *list,
              err_t *err)
{
    int have = 0;
    attr_ints(&op->attrs, name, &have);
    if (attr_find(&op->attrs, name) && have != n)
        return err_set(err, ERR_SHAPE, "%s: %s has %d entries, expected %d", op_name(op), name,
                       have, n);
    dims_read(op, name, n, fallback, list);
    return 0;
}

void dims_read(const ir_op_t *op, const char *name, int n, int64_t fallback, int64_t *list)
{
    int have = 0;
    const int64_t *ints = attr_ints(&op->attrs, name, &have);
    for (int i = 0; i < n; i++) list[i] = i < have ? ints[i] : fallback;
}

int dims_sorted(const ir_op_t *op, const char *name, const int64_t *dims, int n, err_t *err)
{
    for (int i = 1; i < n; i++)
        if (dims[i] <= dims[i - 1])
            return err_set(err, ERR_SHAPE, "%s: %s must ascend, but %lld comes before %lld",
                           op_name(op), name, (long long)dims[i - 1], (long long)dims[i]);
    return 0;
}

uint32_t dims_mask(const ir_op_t *op, const char *name)
{
    int n = 0;
    uint32_t mask = 0;
    const int64_t *ints = attr_ints(&op->attrs, name, &n);
    for (int i = 0; i < n; i++) mask |= 1u << ints[i];
    return mask;
}

int dims_rest(uint32_t mask, int rank, int64_t *rest)
{
    int n = 0;
    for (int d = 0; d < rank; d++)
        if (!dims_has(mask, d)) rest[n++] = d;
    return n;
}

bool dims_next(int rank, const int64_t *dim, int64_t *index)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++index[d] < dim[d]) return true;
        index[d] = 0;
    }
    return false;
}

int64_t dims_count(int rank, const int64_t *dim)
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++) n *= dim[d];
    return n;
}

int64_t *dims_offsets(int rank, const int64_t *dim, const int64_t *stride)
{
    int64_t n = dims_count(rank, dim), index[IR_MAX_RANK] = {0};
    int64_t *offset = mem_calloc(n > 0 ? (size_t)n : 1, sizeof *offset);
    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < rank; d++) offset[i] += index[d] * stride[d];
        dims_next(rank, dim, index);
    }
    return offset;
}

#define COPY_ROW(type)                                                             \
    do {                                                                           \
        type *to = dst;                                                            \
        const type *from = src;                                                    \
        for (int64_t i = 0; i < n; i++) to[i * dst_stride] = from[i * src_stride]; \
    } while (0)

static void copy_row(size_t bytes, int64_t n, void *dst, int64_t dst_stride, const void *src,
                     int64_t src_stride)
{
    if (dst_stride == 1 && src_stride == 1) {
        memcpy(dst, src, bytes * (size_t)n);
        return;
    }
    switch (bytes) {
    case 1: COPY_ROW(uint8_t); break;
    case 2: COPY_ROW(uint16_t); break;
    case 4: COPY_ROW(uint32_t); break;
    case 8: COPY_ROW(uint64_t); break;
    default: COPY_ROW(double _Complex); break;
    }
}

static void copy_box(size_t bytes, int rank, const int64_t *dim, void *dst,
                     const int64_t *dst_stride, const void *src, const int64_t *src_stride)
{
    if (rank == 1) {
        copy_row(bytes, dim[0], dst, dst_stride[0], src, src_stride[0]);
        return;
    }
    int64_t step = (int64_t)bytes;
    for (int64_t i = 0; i < dim[0]; i++)
        copy_box(bytes, rank - 1, dim + 1, (char *)dst + i * step * dst_stride[0], dst_stride + 1,
                 (const char *)src + i * step * src_stride[0], src_stride + 1);
}

void dims_copy(size_t bytes, int rank, const int64_t *dim, void *dst, const int64_t *dst_stride,
               const void *src, const int64_t *src_stride)
{
    /* Neighbouring dimensions that are contiguous on both sides become one: longer rows. */
    int64_t n[IR_MAX_RANK + 1], to[IR_MAX_RANK + 1], from[IR_MAX_RANK + 1];
    int last = 0;
    n[0] = 1, to[0] = 0, from[0] = 0;
    for (int d = 0; d < rank; d++) {
        if (dim[d] == 0) return;
        if (dim[d] == 1) continue;
        if (n[last] == 1) {
            n[last] = dim[d], to[last] = dst_stride[d], from[last] = src_stride[d];
        } else if (to[last] == dst_stride[d] * dim[d] && from[last] == src_stride[d] * dim[d]) {
            n[last] *= dim[d], to[last] = dst_stride[d], from[last] = src_stride[d];
        } else {
            last++;
            n[last] = dim[d], to[last] = dst_stride[d], from[last] = src_stride[d];
        }
    }
    copy_box(bytes, last + 1, n, dst, to, src, from);
}

void dims_strides_of(const tensor_t *x, int64_t stride[IR_MAX_RANK])
{
    ir_type_strides(&x->type, stride);
    if (x->splat) memset(stride, 0, IR_MAX_RANK * sizeof *stride);
}

void dims_fill(tensor_t *y, const tensor_t *x)
{
    int64_t n = ir_type_count(&y->type), one = 1, zero = 0;
    dims_copy(dtype_bytes(y->type.dtype), 1, &n, y->data, &one, x->data, &zero);
}

int64_t window_extent(int64_t n, int64_t dilation)
{
    return n == 0 ? 0 : (n - 1) * dilation + 1;
}

int window_infer(const ir_op_t *op, int d, window_dim_t *w, err_t *err)
{
    if (w->window < 1 || w->stride < 1 || w->base_dilation < 1 || w->window_dilation < 1)
        return err_set(err, ERR_SHAPE,
                       "%s: dimension %d: window %lld, stride %lld, base dilation %lld and window "
                       "dilation %lld must all be at least 1",
                       op_name(op), d, (long long)w->window, (long long)w->stride,
                       (long long)w->base_dilation, (long long)w->window_dilation);
    /* Extents are formed below: keep every factor where products fit in 64 bits. */
    const int64_t limit = 1ll << 30;
    if (w->base_dilation > limit || w->window_dilation > limit || w->window > limit ||
        w->size > limit || w->low > limit || w->low < -limit || w->high > limit || w->high < -limit)
        return err_set(err, ERR_SHAPE, "%s: dimension %d: a window parameter exceeds 2^30",
                       op_name(op), d);
    int64_t padded = w->low + window_extent(w->size, w->base_dilation) + w->high;
    int64_t extent = window_extent(w->window, w->window_dilation);
    if (padded < 0)
        return err_set(err, ERR_SHAPE,
                       "%s: dimension %d: padding [%lld, %lld] leaves less than nothing of size "
                       "%lld",
                       op_name(op), d, (long long)w->low, (long long)w->high, (long long)w->size);
    w->out = padded == 0 || extent > padded ? 0 : (padded - extent) / w->stride + 1;
    return 0;
}
