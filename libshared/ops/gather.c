/* gather: windows of the operand at positions that an index tensor gives; starts are clamped so
 * that every window lies inside. The reverse rule adds at the clamped places. */
#include <string.h>

#include "ir/build_index.h"
#include "ops/common.h"
#include "ops/dims.h"
#include "ops/index.h"

static int check_slices(const ir_op_t *op, const ir_type_t *x, const int64_t *slice, err_t *err)
{
    uint32_t ones = dims_mask(op, "collapsed_slice_dims") | dims_mask(op, "operand_batching_dims");
    for (int d = 0; d < x->rank; d++) {
        if (slice[d] < 0 || slice[d] > x->dim[d])
            return err_set(err, ERR_SHAPE, "%s: slice_sizes[%d] is %lld, the operand has %lld",
                           op_name(op), d, (long long)slice[d], (long long)x->dim[d]);
        if (dims_has(ones, d) && slice[d] > 1)
            return err_set(err, ERR_SHAPE,
                           "%s: slice_sizes[%d] is %lld; a collapsed or batching dimension has 1",
                           op_name(op), d, (long long)slice[d]);
    }
    return 0;
}

/* Slices without entries have nothing to give to a result that has some. */
static int check_empty(const ir_op_t *op, const int64_t *slice, const ir_type_t *is, err_t *err)
{
    uint32_t ones = dims_mask(op, "collapsed_slice_dims") | dims_mask(op, "operand_batching_dims");
    for (int d = 0; ir_type_count(is) > 0 && d < IR_MAX_RANK; d++)
        if (dims_has(ones, d) && slice[d] == 0)
            return err_set(
                err, ERR_SHAPE,
                "%s: slice_sizes[%d] is 0, so slices have no entries, but the result has",
                op_name(op), d);
    return 0;
}

static int infer_gather(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0), *index = op_in_type(fn, op, 1);
    int64_t slice[IR_MAX_RANK], place[IR_MAX_RANK], window[IR_MAX_RANK];
    int n_offset, n_slice, rank;
    attr_ints(&op->attrs, "offset_dims", &n_offset);
    attr_ints(&op->attrs, "slice_sizes", &n_slice);
    bool has_vector = attr_int(&op->attrs, "index_vector_dim", 0) < index->rank;
    rank = n_offset + index->rank - has_vector;
    if (rank > IR_MAX_RANK)
        return err_set(err, ERR_SHAPE, "%s: the result has rank %d, at most %d is supported",
                       op_name(op), rank, IR_MAX_RANK);
    if (n_slice != x->rank)
        return err_set(err, ERR_SHAPE, "%s: slice_sizes has %d entries, the operand rank %d",
                       op_name(op), n_slice, x->rank);
    if (index_infer(op, &index_names_gather, x, index, rank, err) < 0) return -1;
    dims_read(op, "slice_sizes", x->rank, 0, slice);
    if (check_slices(op, x, slice, err) < 0) return -1;
    index_places(op, index, place);
    index_window_dims(op, &index_names_gather, x->rank, window);
    ir_type_t is = {.dtype = x->dtype, .rank = rank};
    uint32_t offset = dims_mask(op, "offset_dims");
    for (int d = 0, p = 0, w = 0; d < rank; d++)
        is.dim[d] = dims_has(offset, d) ? slice[window[w++]] : place[p++];
    if (ir_type_check(&is, err) < 0) return err_prefix(err, "%s: ", op_name(op));
    if (check_empty(op, slice, &is, err) < 0) return -1;
    return infer_result(op, 0, out, &is, err);
}

static int64_t clamp_start(int64_t start, int64_t dim, int64_t slice)
{
    return start < 0 ? 0 : start > dim - slice ? dim - slice : start;
}

static int eval_gather(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    (void)ev, (void)err;
    int64_t slice[IR_MAX_RANK], stride[IR_MAX_RANK], start[IR_MAX_RANK], place[IR_MAX_RANK] = {0};
    int64_t from[IR_MAX_RANK];
    size_t bytes = dtype_bytes(out->type.dtype);
    if (ir_type_count(&out->type) == 0) return 0;
    dims_read(op, "slice_sizes", in[0].type.rank, 0, slice);
    index_map_t m = index_map_new(op, &index_names_gather, &in[0].type, &in[1].type, &out->type,
                                  slice);
    dims_strides_of(&in[0], stride);
    for (int w = 0; w < m.n_window; w++) from[w] = stride[m.window_to[w]];
    do {
        int64_t src = 0, dst = 0;
        index_start(&m, &in[1], place, start);
        for (int d = 0; d < m.rank; d++)
            src += clamp_start(start[d], m.dim[d], m.slice[d]) * stride[d];
        for (int d = 0; d < m.n_place; d++) dst += place[d] * m.place_stride[d];
        dims_copy(bytes, m.n_window, m.window_dim, dims_at(out->data, bytes, dst), m.window_stride,
                  dims_at(in[0].data, bytes, src), from);
    } while (dims_next(m.n_place, m.place_dim, place));
    return 0;
}

/* dx = scatter-add of ct into zeros at the clamped starts: gather clamps where scatter drops. */
static int vjp_gather(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    const ir_op_t *op = v->op;
    if (!v->need[0]) return vjp_done(v, err);
    ir_gather_t dims;
    ir_gather_dims(op, &dims);
    ir_type_t x = *op_in_type(fn, op, 0);
    ir_val_t index = ir_clamp_starts(fn, op->in[1], &dims, &x);
    ir_val_t ct = vjp_ct(v, 0);
    ir_type_t wide = x;
    if (ct != IR_NONE) wide.dtype = ir_type_of(fn, ct)->dtype;
    ir_val_t zeros = ir_splat(fn, &wide, 0);
    vjp_give(v, 0, ir_scatter(fn, OP_add, zeros, index, ct, &dims));
    return vjp_done(v, err);
}

const op_def_t op_gather = {
    .name = "stablehlo.gather",
    .kind = K_INDEX,
    .n_in = 2,
    .n_out = 1,
    .needs = {"start_index_map", "slice_sizes"},
    .infer = infer_gather,
    .eval = eval_gather,
    .vjp = vjp_gather,
};
