/* The dimension lists and addresses of gather and scatter. */
#include "ops/index.h"

#include <string.h>

#include "ops/common.h"
#include "ops/dims.h"

const index_names_t index_names_gather = {
    .window = "offset_dims",
    .dropped = "collapsed_slice_dims",
    .big_batch = "operand_batching_dims",
    .index_batch = "start_indices_batching_dims",
    .start_map = "start_index_map",
};
const index_names_t index_names_scatter = {
    .window = "update_window_dims",
    .dropped = "inserted_window_dims",
    .big_batch = "input_batching_dims",
    .index_batch = "scatter_indices_batching_dims",
    .start_map = "scatter_dims_to_operand_dims",
};

static int64_t vector_dim(const ir_op_t *op)
{
    return attr_int(&op->attrs, "index_vector_dim", 0);
}

static int check_overlap(const ir_op_t *op, const char *a, const char *b, err_t *err)
{
    uint32_t both = dims_mask(op, a) & dims_mask(op, b);
    if (!both) return 0;
    return err_set(err, ERR_SHAPE, "%s: dimension %d is in %s and in %s", op_name(op),
                   __builtin_ctz(both), a, b);
}

static int check_batching(const ir_op_t *op, const index_names_t *names, const ir_type_t *big,
                          const ir_type_t *index, err_t *err)
{
    const int64_t *to, *from;
    int n_to, n_from;
    if (infer_dims(op, names->big_batch, big->rank, &to, &n_to, err) < 0 ||
        dims_sorted(op, names->big_batch, to, n_to, err) < 0 ||
        infer_dims(op, names->index_batch, index->rank, &from, &n_from, err) < 0 ||
        check_overlap(op, names->big_batch, names->dropped, err) < 0 ||
        check_overlap(op, names->big_batch, names->start_map, err) < 0)
        return -1;
    if (n_to != n_from)
        return err_set(err, ERR_SHAPE, "%s: %s has %d entries, %s has %d", op_name(op),
                       names->big_batch, n_to, names->index_batch, n_from);
    for (int i = 0; i < n_to; i++) {
        if (from[i] == vector_dim(op))
            return err_set(err, ERR_SHAPE, "%s: %s contains index_vector_dim %lld", op_name(op),
                           names->index_batch, (long long)from[i]);
        if (big->dim[to[i]] != index->dim[from[i]])
            return err_set(err, ERR_SHAPE,
                           "%s: batching dimension %lld of the operand is %lld, %lld of the "
                           "indices is %lld",
                           op_name(op), (long long)to[i], (long long)big->dim[to[i]],
                           (long long)from[i], (long long)index->dim[from[i]]);
    }
    return 0;
}

int index_infer(const ir_op_t *op, const index_names_t *names, const ir_type_t *big,
                const ir_type_t *index, int small_rank, err_t *err)
{
    char text[IR_TYPE_TEXT];
    const int64_t *window, *dropped, *map;
    int n_window, n_dropped, n_map, n_batch;
    int64_t at = vector_dim(op), places[IR_MAX_RANK];
    if (!dtype_is_int(index->dtype))
        return err_set(err, ERR_TYPE, "%s: the indices are %s, expected integers", op_name(op),
                       ir_type_text(index, text));
    if (at < 0 || at > index->rank)
        return err_set(err, ERR_SHAPE, "%s: index_vector_dim %lld is outside the indices %s",
                       op_name(op), (long long)at, ir_type_text(index, text));
    if (infer_dims(op, names->window, small_rank, &window, &n_window, err) < 0 ||
        dims_sorted(op, names->window, window, n_window, err) < 0 ||
        infer_dims(op, names->dropped, big->rank, &dropped, &n_dropped, err) < 0 ||
        dims_sorted(op, names->dropped, dropped, n_dropped, err) < 0 ||
        infer_dims(op, names->start_map, big->rank, &map, &n_map, err) < 0 ||
        check_batching(op, names, big, index, err) < 0)
        return -1;
    attr_ints(&op->attrs, names->big_batch, &n_batch);
    if (n_window + n_dropped + n_batch != big->rank)
        return err_set(err, ERR_SHAPE,
                       "%s: %s (%d), %s (%d) and %s (%d) must add up to the "
                       "operand's rank %d",
                       op_name(op), names->window, n_window, names->dropped, n_dropped,
                       names->big_batch, n_batch, big->rank);
    int64_t entries = at < index->rank ? index->dim[at] : 1;
    if (n_map != entries)
        return err_set(err, ERR_SHAPE, "%s: %s has %d entries, the index vectors of %s have %lld",
                       op_name(op), names->start_map, n_map, ir_type_text(index, text),
                       (long long)entries);
    int n_place = index_places(op, index, places);
    if (n_place + n_window != small_rank)
        return err_set(err, ERR_SHAPE,
                       "%s: %d dimensions of indices and %d of %s cannot make "
                       "rank %d",
                       op_name(op), n_place, n_window, names->window, small_rank);
    return 0;
}

int index_places(const ir_op_t *op, const ir_type_t *index, int64_t *dim)
{
    int n = 0;
    for (int d = 0; d < index->rank; d++)
        if (d != vector_dim(op)) dim[n++] = index->dim[d];
    return n;
}

int index_window_dims(const ir_op_t *op, const index_names_t *names, int rank, int64_t *dims)
{
    return dims_rest(dims_mask(op, names->dropped) | dims_mask(op, names->big_batch), rank, dims);
}

index_map_t index_map_new(const ir_op_t *op, const index_names_t *names, const ir_type_t *big,
                          const ir_type_t *index, const ir_type_t *small, const int64_t *slice)
{
    index_map_t m = {.rank = big->rank};
    int64_t stride[IR_MAX_RANK], index_stride[IR_MAX_RANK], at = vector_dim(op);
    uint32_t window = dims_mask(op, names->window);
    memcpy(m.dim, big->dim, sizeof m.dim);
    memcpy(m.slice, slice, (size_t)big->rank * sizeof *slice);
    ir_type_strides(small, stride);
    ir_type_strides(index, index_stride);
    for (int d = 0; d < small->rank; d++) {
        if (dims_has(window, d)) {
            m.window_dim[m.n_window] = small->dim[d];
            m.window_stride[m.n_window++] = stride[d];
        } else {
            m.place_dim[m.n_place] = small->dim[d];
            m.place_stride[m.n_place++] = stride[d];
        }
    }
    index_window_dims(op, names, big->rank, m.window_to);
    int n_place = 0;
    for (int d = 0; d < index->rank; d++)
        if (d != at) m.index_stride[n_place++] = index_stride[d];
    m.entry_stride = at < index->rank ? index_stride[at] : 0;
    const int64_t *map = attr_ints(&op->attrs, names->start_map, &m.n_start);
    for (int e = 0; e < m.n_start; e++) m.start_map[e] = map[e];
    const int64_t *to = attr_ints(&op->attrs, names->big_batch, &m.n_batch);
    const int64_t *from = attr_ints(&op->attrs, names->index_batch, &m.n_batch);
    for (int i = 0; i < m.n_batch; i++) {
        m.batch_to[i] = to[i];
        m.batch_from[i] = from[i] - (from[i] > at);
    }
    return m;
}

/* An index as a signed number; unsigned ones beyond its range are out of bounds either way. */
static int64_t index_value(const tensor_t *index, int64_t at)
{
    int64_t value = tensor_get_i64(index, at);
    return index->type.dtype == DT_UI64 && value < 0 ? INT64_MAX : value;
}

void index_start(const index_map_t *self, const tensor_t *index, const int64_t *place,
                 int64_t *start)
{
    int64_t at = 0;
    for (int d = 0; d < self->n_place; d++) at += place[d] * self->index_stride[d];
    memset(start, 0, (size_t)self->rank * sizeof *start);
    for (int e = 0; e < self->n_start; e++)
        start[self->start_map[e]] = index_value(index, at + e * self->entry_stride);
    for (int i = 0; i < self->n_batch; i++) start[self->batch_to[i]] = place[self->batch_from[i]];
}
