/* sort: lines along one dimension of n tensors at once, in the order of a comparator region. Always
 * stable (merge sort). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/dims.h"
#include "ops/eval.h"

static int sort_dim(const ir_op_t *op, int rank)
{
    int64_t dim = attr_int(&op->attrs, "dimension", -1);
    return (int)(dim < 0 ? dim + rank : dim);
}

static int infer_sort(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    int n = op->n_in;
    char text[IR_TYPE_TEXT];
    if (n < 1 || op->n_out != n)
        return err_set(err, ERR_SHAPE, "%s: %d operands, %d results; it takes and gives n tensors",
                       op_name(op), n, op->n_out);
    const ir_type_t *x = op_in_type(fn, op, 0);
    int64_t dim = attr_int(&op->attrs, "dimension", -1);
    if (dim < -x->rank || dim >= x->rank)
        return err_set(err, ERR_SHAPE, "%s: dimension %lld is outside %s", op_name(op),
                       (long long)dim, ir_type_text(x, text));
    for (int i = 1; i < n; i++)
        if (infer_same_shape(fn, op, 0, i, err) < 0) return -1;
    ir_type_t pred = ir_type_scalar(DT_I1), *args = mem_calloc(2 * (size_t)n, sizeof *args);
    for (int i = 0; i < 2 * n; i++) args[i] = ir_type_scalar(op_in_type(fn, op, i / 2)->dtype);
    int status = infer_region(fn, op, 0, 2 * n, args, 1, &pred, err);
    free(args);
    for (int i = 0; status == 0 && i < n; i++)
        status = infer_result(op, i, out, op_in_type(fn, op, i), err);
    return status;
}

/* --- Evaluation --- */

typedef struct {
    eval_t *ev;
    const ir_region_t *region;
    int n;
    const tensor_t *in;
    tensor_t *args;       /* 2 n views */
    int64_t base, stride; /* of the present line, in elements */
} sorter_t;

/* Does element i of the line come before element j? */
static int before(sorter_t *s, int64_t i, int64_t j, bool *yes, err_t *err)
{
    tensor_t result;
    for (int k = 0; k < s->n; k++) {
        s->args[2 * k] = tensor_element(&s->in[k], s->base + i * s->stride);
        s->args[2 * k + 1] = tensor_element(&s->in[k], s->base + j * s->stride);
    }
    if (eval_region(s->ev, s->region, s->args, &result, err) < 0) return -1;
    *yes = tensor_get_i64(&result, 0) != 0;
    tensor_fini(&result);
    return 0;
}

/* Merge from[low, mid) and from[mid, high); an element of the second half goes first only when it
 * comes strictly before. */
static int merge(sorter_t *s, const int64_t *from, int64_t *to, int64_t low, int64_t mid,
                 int64_t high, err_t *err)
{
    int64_t a = low, b = mid;
    for (int64_t at = low; at < high; at++) {
        bool second = a == mid;
        if (a < mid && b < high && before(s, from[b], from[a], &second, err) < 0) return -1;
        to[at] = second ? from[b++] : from[a++];
    }
    return 0;
}

/* The order of one line of n elements into order[n]; room[n] is scratch. */
static int sort_line(sorter_t *s, int64_t n, int64_t *order, int64_t *room, err_t *err)
{
    int64_t *from = order, *to = room;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            int64_t mid = low + width < n ? low + width : n;
            int64_t high = low + 2 * width < n ? low + 2 * width : n;
            if (merge(s, from, to, low, mid, high, err) < 0) return -1;
        }
        int64_t *swap = from;
        from = to, to = swap;
    }
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
    return 0;
}

static int eval_sort(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    const ir_type_t *x = &in[0].type;
    int dim = sort_dim(op, x->rank), status = 0;
    int64_t n = x->dim[dim], stride[IR_MAX_RANK], index[IR_MAX_RANK] = {0}, lines[IR_MAX_RANK];
    if (ir_type_count(x) == 0) return 0;
    if (eval_reserve(ev, op, n, 2 * sizeof(int64_t), err) < 0) return -1;
    ir_type_strides(x, stride);
    memcpy(lines, x->dim, sizeof lines);
    lines[dim] = 1;
    sorter_t s = {
        .ev = ev, .region = op->region[0], .n = op->n_in, .in = in, .stride = stride[dim]};
    s.args = mem_calloc(2 * (size_t)s.n, sizeof *s.args);
    int64_t *order = mem_calloc(2 * (size_t)n, sizeof *order);
    do {
        s.base = 0;
        for (int d = 0; d < x->rank; d++) s.base += index[d] * stride[d];
        status = sort_line(&s, n, order, order + n, err);
        for (int k = 0; status == 0 && k < s.n; k++)
            for (int64_t i = 0; i < n; i++)
                element_copy(&out[k], s.base + i * s.stride, &in[k], s.base + order[i] * s.stride);
    } while (status == 0 && dims_next(x->rank, lines, index));
    free(order);
    free(s.args);
    return status;
}

/* --- Reverse rule: sort the positions along, then sort the cotangents back by those positions */

/* The comparator with one more pair of arguments, which it ignores. */
static ir_region_t *with_positions(ir_fn_t *fn, const ir_region_t *from, const ir_type_t *types,
                                   err_t *err)
{
    ir_clone_t clone = {.from = fn, .to = fn};
    clone.map = mem_calloc(fn->n_value, sizeof *clone.map);
    for (uint32_t i = 0; i < fn->n_value; i++) clone.map[i] = i;
    ir_region_t *saved, *region = ir_region_begin(fn, from->n_arg + 2, types, &saved);
    for (int i = 0; i < from->n_arg; i++)
        clone.map[from->arg + (ir_val_t)i] = region->arg + (ir_val_t)i;
    int status = ir_clone_ops(&clone, from, err);
    ir_region_end(fn, region, 1, &clone.map[from->result[0]], saved);
    free(clone.map);
    return status < 0 ? NULL : region;
}

static ir_op_t *emit_sort(ir_fn_t *fn, int n, const ir_val_t *in, int dim, ir_region_t *region)
{
    ir_attrs_t attrs = {0};
    attr_set_int(fn->module->arena, &attrs, "dimension", dim);
    attr_set_bool(fn->module->arena, &attrs, "is_stable", true);
    return ir_emit(fn, OP_sort, n, in, &attrs, n, NULL, 1, &region);
}

/* The positions from which the elements of each sorted line came. */
static ir_val_t sorted_positions(vjp_t *v, int dim, err_t *err)
{
    ir_fn_t *fn = v->fn;
    const ir_op_t *op = v->op;
    int n = op->n_in;
    ir_type_t numbers = ir_type_with(*op_in_type(fn, op, 0), DT_I64);
    ir_type_t *types = mem_calloc(2 * (size_t)n + 2, sizeof *types);
    ir_val_t *in = mem_calloc((size_t)n + 1, sizeof *in);
    for (int i = 0; i < n; i++) {
        in[i] = op->in[i];
        types[2 * i] = types[2 * i + 1] = ir_type_scalar(op_in_type(fn, op, i)->dtype);
    }
    types[2 * n] = types[2 * n + 1] = ir_type_scalar(DT_I64);
    in[n] = ir_iota(fn, &numbers, dim);
    ir_region_t *region = with_positions(fn, op->region[0], types, err);
    ir_op_t *sorted = region ? emit_sort(fn, n + 1, in, dim, region) : NULL;
    free(in);
    free(types);
    return sorted ? sorted->out + (ir_val_t)n : IR_NONE;
}

/* (i, j, a, b) -> i < j */
static ir_region_t *by_position(ir_fn_t *fn, dtype_t dtype)
{
    ir_type_t number = ir_type_scalar(DT_I64), e = ir_type_scalar(dtype);
    ir_type_t types[4] = {number, number, e, e};
    ir_region_t *saved, *region = ir_region_begin(fn, 4, types, &saved);
    ir_val_t y = ir_compare(fn, "LT", region->arg, region->arg + 1);
    ir_region_end(fn, region, 1, &y, saved);
    return region;
}

static int vjp_sort(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    int dim = sort_dim(v->op, op_in_type(fn, v->op, 0)->rank);
    ir_val_t position = sorted_positions(v, dim, err);
    if (position == IR_NONE) return fn->err.code ? vjp_done(v, err) : -1;
    for (int k = 0; k < v->op->n_in; k++) {
        if (!v->need[k] || v->ct[k] == IR_NONE) continue;
        ir_val_t in[2] = {position, v->ct[k]};
        dtype_t dtype = op_in_type(fn, v->op, k)->dtype;
        ir_op_t *back = emit_sort(fn, 2, in, dim, by_position(fn, dtype));
        v->in_ct[k] = back ? back->out + 1 : IR_NONE;
    }
    return vjp_done(v, err);
}

const op_def_t op_sort = {
    .name = "stablehlo.sort",
    .kind = K_INDEX,
    .n_in = -1,
    .n_out = -1,
    .n_region = 1,
    .infer = infer_sort,
    .eval = eval_sort,
    .vjp = vjp_sort,
};
