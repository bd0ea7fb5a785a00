/* reduce_window: folds every position of a sliding window, rounding at each step; padding and the
 * gaps of a dilated operand count as initial values. select_and_scatter: sends each window's value
 * to the element that a comparison picks. Their reverse rules are in window_vjp.c. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/build_index.h"
#include "ops/common.h"
#include "ops/dims.h"
#include "ops/fold_binary.h"
#include "ops/fold_rule.h"
#include "ops/window.h"

int window_read(const ir_op_t *op, const ir_type_t *x, window_dim_t *w, err_t *err)
{
    int64_t list[5][IR_MAX_RANK], padding[2 * IR_MAX_RANK];
    static const char *const names[5] = {"window_dimensions", "window_strides", "base_dilations",
                                         "window_dilations", "padding"};
    for (int i = 0; i < 4; i++)
        if (dims_list(op, names[i], x->rank, 1, list[i], err) < 0) return -1;
    if (!attr_find(&op->attrs, names[0]) && x->rank > 0 && op->code == OP_reduce_window)
        return err_set(err, ERR_SHAPE, "%s: attribute window_dimensions is missing", op_name(op));
    if (dims_list(op, names[4], 2 * x->rank, 0, padding, err) < 0) return -1;
    for (int d = 0; d < x->rank; d++) {
        w[d] = (window_dim_t){.size = x->dim[d],
                              .window = list[0][d],
                              .stride = list[1][d],
                              .base_dilation = list[2][d],
                              .window_dilation = list[3][d],
                              .low = padding[2 * d],
                              .high = padding[2 * d + 1]};
        if (window_infer(op, d, &w[d], err) < 0) return -1;
    }
    return 0;
}

/* --- reduce_window --- */

static int infer_reduce_window(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    int n = op->n_in / 2;
    window_dim_t w[IR_MAX_RANK];
    if (infer_fold_operands(fn, op, err) < 0 || infer_fold_region(fn, op, 0, n, err) < 0) return -1;
    ir_type_t is = *op_in_type(fn, op, 0);
    if (window_read(op, op_in_type(fn, op, 0), w, err) < 0) return -1;
    for (int d = 0; d < is.rank; d++) is.dim[d] = w[d].out;
    if (ir_type_check(&is, err) < 0) return err_prefix(err, "%s: ", op_name(op));
    for (int i = 0; i < n; i++) {
        is.dtype = op_in_type(fn, op, n + i)->dtype;
        if (infer_result(op, i, out, &is, err) < 0) return -1;
    }
    return 0;
}

/* Where in x entry k of the window at output o looks, or -1. */
static int64_t entry_offset(int rank, const window_dim_t *w, const int64_t *stride,
                            const int64_t *o, const int64_t *k)
{
    int64_t at = 0;
    for (int d = 0; d < rank; d++) {
        int64_t i = window_index(&w[d], o[d], k[d]);
        if (i < 0) return -1;
        at += i * stride[d];
    }
    return at;
}

/* The accumulators and the elements of one step, when the region is run. */
typedef struct {
    eval_t *ev;
    const ir_op_t *op;
    int n;
    const tensor_t *in;
    tensor_t *acc, *x;
} step_t;

/* x[k] views element `at` of operand k (the initial value when at < 0), converted to acc's type. */
static int run_step(step_t *s, int64_t at, err_t *err)
{
    for (int k = 0; k < s->n; k++) {
        if (at < 0)
            memcpy(s->x[k].data, s->in[s->n + k].data, dtype_bytes(s->x[k].type.dtype));
        else
            fold_store(&s->x[k], 0, fold_load(&s->in[k], at));
    }
    return fold_region(s->ev, s->op->region[0], s->n, s->acc, s->x, err);
}

static int fold_window(step_t *s, fold_fn_t *fold, const window_dim_t *w, const int64_t *o,
                       int64_t to, tensor_t *out, err_t *err)
{
    const ir_type_t *x = &s->in[0].type;
    int64_t k[IR_MAX_RANK] = {0}, size[IR_MAX_RANK], stride[IR_MAX_RANK];
    fold_slot_t init = fold_load(&s->in[s->n], 0), slot = init;
    ir_type_strides(x, stride);
    for (int d = 0; d < x->rank; d++) size[d] = w[d].window;
    for (int i = 0; i < s->n; i++) {
        s->acc[i] = tensor_element(&out[i], to);
        memcpy(s->acc[i].data, s->in[s->n + i].data, dtype_bytes(s->acc[i].type.dtype));
    }
    do {
        int64_t at = entry_offset(x->rank, w, stride, o, k);
        if (fold) {
            fold(&slot, at < 0 ? init : fold_load(&s->in[0], at));
            fold_store(&s->acc[0], 0, slot); /* each step rounds, as the region would */
            slot = fold_load(&s->acc[0], 0);
        } else if (run_step(s, at, err) < 0) {
            return -1;
        }
    } while (dims_next(x->rank, size, k));
    return 0;
}

static int eval_reduce_window(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                              err_t *err)
{
    int n = op->n_in / 2, status = 0;
    window_dim_t w[IR_MAX_RANK];
    int64_t o[IR_MAX_RANK] = {0}, to = 0;
    if (ir_type_count(&out->type) == 0) return 0;
    if (window_read(op, &in[0].type, w, err) < 0) return -1;
    fold_fn_t *fold = n == 1 ? fold_of_region(op->region[0], out->type.dtype) : NULL;
    tensor_t *acc = mem_calloc(2 * (size_t)n, sizeof *acc), *x = acc + n;
    uint64_t *room = mem_calloc((size_t)n, sizeof *room);
    for (int k = 0; k < n; k++)
        x[k] = (tensor_t){.type = ir_type_scalar(out[k].type.dtype), .data = &room[k]};
    step_t s = {.ev = ev, .op = op, .n = n, .in = in, .acc = acc, .x = x};
    do {
        status = fold_window(&s, fold, w, o, to++, out, err);
    } while (status == 0 && dims_next(out->type.rank, out->type.dim, o));
    free(room);
    free(acc);
    return status;
}

const op_def_t op_reduce_window = {
    .name = "stablehlo.reduce_window",
    .kind = K_REDUCE,
    .n_in = -1,
    .n_out = -1,
    .n_region = 1,
    .infer = infer_reduce_window,
    .eval = eval_reduce_window,
    .vjp = vjp_reduce_window,
};

/* --- select_and_scatter --- */

static int infer_select_scatter(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0), *source = op_in_type(fn, op, 1);
    window_dim_t w[IR_MAX_RANK];
    char have[IR_TYPE_TEXT], want[IR_TYPE_TEXT];
    ir_type_t scalar = ir_type_scalar(x->dtype), pair[2] = {scalar, scalar};
    ir_type_t pred = ir_type_scalar(DT_I1), expected = *x;
    if (window_read(op, x, w, err) < 0) return -1;
    for (int d = 0; d < x->rank; d++) expected.dim[d] = w[d].out;
    if (!ir_type_equal(source, &expected))
        return err_set(err, ERR_SHAPE, "%s: the source is %s, the windows give %s", op_name(op),
                       ir_type_text(source, have), ir_type_text(&expected, want));
    if (!ir_type_equal(op_in_type(fn, op, 2), &scalar))
        return err_set(err, ERR_TYPE, "%s: the initial value is %s, expected %s", op_name(op),
                       ir_type_text(op_in_type(fn, op, 2), have), ir_type_text(&scalar, want));
    if (infer_region(fn, op, 0, 2, pair, 1, &pred, err) < 0 ||
        infer_region(fn, op, 1, 2, pair, 1, &scalar, err) < 0)
        return -1;
    return infer_result(op, 0, out, x, err);
}

/* Whether the select region keeps element a rather than element b of x. */
static int keeps(eval_t *ev, const ir_region_t *region, const tensor_t *x, int64_t a, int64_t b,
                 bool *kept, err_t *err)
{
    tensor_t args[2] = {tensor_element(x, a), tensor_element(x, b)}, result;
    if (eval_region(ev, region, args, &result, err) < 0) return -1;
    *kept = tensor_get_i64(&result, 0) != 0;
    tensor_fini(&result);
    return 0;
}

/* The element picked from the window at output o; -1 when the window lies in padding. */
static int pick(eval_t *ev, const ir_op_t *op, const window_dim_t *w, const tensor_t *x,
                const int64_t *o, int64_t *picked, err_t *err)
{
    int64_t k[IR_MAX_RANK] = {0}, size[IR_MAX_RANK], stride[IR_MAX_RANK];
    ir_type_strides(&x->type, stride);
    for (int d = 0; d < x->type.rank; d++) size[d] = w[d].window;
    *picked = -1;
    do {
        int64_t at = entry_offset(x->type.rank, w, stride, o, k);
        bool kept = false;
        if (at < 0) continue;
        if (*picked >= 0 && keeps(ev, op->region[0], x, *picked, at, &kept, err) < 0) return -1;
        if (!kept) *picked = at;
    } while (dims_next(x->type.rank, size, k));
    return 0;
}

static int eval_select_scatter(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                               err_t *err)
{
    window_dim_t w[IR_MAX_RANK];
    int64_t o[IR_MAX_RANK] = {0}, from = 0, to;
    dims_fill(out, &in[2]);
    if (ir_type_count(&in[1].type) == 0) return 0;
    if (window_read(op, &in[0].type, w, err) < 0) return -1;
    do {
        if (pick(ev, op, w, &in[0], o, &to, err) < 0) return -1;
        tensor_t acc, source = tensor_element(&in[1], from++);
        if (to < 0) continue;
        acc = tensor_element(out, to);
        if (fold_region(ev, op->region[1], 1, &acc, &source, err) < 0) return -1;
    } while (dims_next(in[1].type.rank, in[1].type.dim, o));
    return 0;
}

const op_def_t op_select_and_scatter = {
    .name = "stablehlo.select_and_scatter",
    .kind = K_INDEX,
    .n_in = 3,
    .n_out = 1,
    .n_region = 2,
    .infer = infer_select_scatter,
    .eval = eval_select_scatter,
    .vjp = vjp_select_scatter,
};
