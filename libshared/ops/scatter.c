/* scatter: combines updates into the operands at positions that an index tensor gives, in row-major
 * order of the updates; elements that fall outside are dropped one by one. Reverse rules are in
 * scatter_vjp.c. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/dims.h"
#include "ops/fold_binary.h"
#include "ops/index.h"
#include "ops/scatter.h"

static int n_inputs(const ir_op_t *op)
{
    return scatter_n_inputs(op);
}

/* --- Type rule --- */

static int check_operands(const ir_fn_t *fn, const ir_op_t *op, err_t *err)
{
    int n = n_inputs(op);
    char x[IR_TYPE_TEXT], u[IR_TYPE_TEXT];
    if (op->n_in < 3 || op->n_in % 2 == 0 || op->n_out != n)
        return err_set(err, ERR_SHAPE,
                       "%s: %d operands and %d results; it takes n inputs, the "
                       "indices and n updates, and gives n tensors",
                       op_name(op), op->n_in, op->n_out);
    for (int i = 0; i < n; i++) {
        if (infer_same_shape(fn, op, 0, i, err) < 0 ||
            infer_same_shape(fn, op, n + 1, n + 1 + i, err) < 0)
            return -1;
        const ir_type_t *to = op_in_type(fn, op, i), *from = op_in_type(fn, op, n + 1 + i);
        if (to->dtype != from->dtype)
            return err_set(err, ERR_TYPE, "%s: updates %d are %s, input %d is %s", op_name(op), i,
                           ir_type_text(from, u), i, ir_type_text(to, x));
    }
    return 0;
}

static int check_update_shape(const ir_op_t *op, const ir_type_t *x, const ir_type_t *index,
                              const ir_type_t *updates, err_t *err)
{
    int64_t window[IR_MAX_RANK], place[IR_MAX_RANK];
    char text[IR_TYPE_TEXT];
    uint32_t is_window = dims_mask(op, "update_window_dims");
    index_window_dims(op, &index_names_scatter, x->rank, window);
    index_places(op, index, place);
    for (int d = 0, w = 0, p = 0; d < updates->rank; d++) {
        bool inside = dims_has(is_window, d);
        int64_t most = inside ? x->dim[window[w++]] : place[p++];
        if (inside ? updates->dim[d] > most : updates->dim[d] != most)
            return err_set(err, ERR_SHAPE, "%s: dimension %d of the updates %s must be %s%lld",
                           op_name(op), d, ir_type_text(updates, text), inside ? "at most " : "",
                           (long long)most);
    }
    return 0;
}

static int infer_scatter(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (check_operands(fn, op, err) < 0) return -1;
    int n = n_inputs(op), status;
    const ir_type_t *x = op_in_type(fn, op, 0), *index = op_in_type(fn, op, n);
    const ir_type_t *updates = op_in_type(fn, op, n + 1);
    if (index_infer(op, &index_names_scatter, x, index, updates->rank, err) < 0 ||
        check_update_shape(op, x, index, updates, err) < 0)
        return -1;
    ir_type_t *args = mem_calloc(2 * (size_t)n, sizeof *args);
    for (int i = 0; i < 2 * n; i++) args[i] = ir_type_scalar(op_in_type(fn, op, i % n)->dtype);
    status = infer_region(fn, op, 0, 2 * n, args, n, args, err);
    free(args);
    for (int i = 0; status == 0 && i < n; i++)
        status = infer_result(op, i, out, op_in_type(fn, op, i), err);
    return status;
}

/* --- Evaluation --- */

/* The region returns its updates: they replace what was there. */
static bool region_replaces(const ir_region_t *region)
{
    int n = region->n_result;
    for (int k = 0; k < n; k++)
        if (region->result[k] != region->arg + (ir_val_t)(n + k)) return false;
    return true;
}

typedef struct {
    eval_t *ev;
    const ir_region_t *region;
    int n;
    const tensor_t *updates;
    tensor_t *out;
    bool replaces;
    fold_fn_t *fold; /* of a plain region; NULL: run it */
    tensor_t *acc;   /* n views of out, then n views of updates */
} scatter_t;

static int combine(scatter_t *s, int64_t to, int64_t from, err_t *err)
{
    if (s->fold) {
        fold_slot_t slot = fold_load(&s->out[0], to);
        s->fold(&slot, fold_load(&s->updates[0], from));
        fold_store(&s->out[0], to, slot);
        return 0;
    }
    for (int k = 0; k < s->n; k++) {
        if (s->replaces) element_copy(&s->out[k], to, &s->updates[k], from);
        s->acc[k] = tensor_element(&s->out[k], to);
        s->acc[s->n + k] = tensor_element(&s->updates[k], from);
    }
    return s->replaces ? 0 : fold_region(s->ev, s->region, s->n, s->acc, s->acc + s->n, err);
}

/* One window: element by element, those outside are left out. */
static int scatter_window(scatter_t *s, const index_map_t *m, const int64_t *stride,
                          const int64_t *start, int64_t from, err_t *err)
{
    int64_t at[IR_MAX_RANK] = {0}, base = 0;
    for (int d = 0; d < m->rank; d++) {
        base += start[d] * stride[d];
        if (m->slice[d] == 1 && (start[d] < 0 || start[d] >= m->dim[d])) return 0;
    }
    do {
        int64_t to = base, src = from;
        bool inside = true;
        for (int w = 0; w < m->n_window; w++) {
            int64_t d = m->window_to[w], place = start[d] + at[w];
            inside &= place >= 0 && place < m->dim[d];
            to += at[w] * stride[d];
            src += at[w] * m->window_stride[w];
        }
        if (inside && combine(s, to, src, err) < 0) return -1;
    } while (dims_next(m->n_window, m->window_dim, at));
    return 0;
}

static int scatter_all(scatter_t *s, const index_map_t *m, const tensor_t *index, err_t *err)
{
    int64_t stride[IR_MAX_RANK], start[IR_MAX_RANK], place[IR_MAX_RANK] = {0};
    if (ir_type_count(&s->updates->type) == 0) return 0;
    ir_type_strides(&s->out->type, stride);
    do {
        int64_t from = 0;
        index_start(m, index, place, start);
        for (int d = 0; d < m->rank; d++) { /* far away is far away: keep the sums below in range */
            if (start[d] > m->dim[d]) start[d] = m->dim[d];
            if (start[d] < -m->slice[d]) start[d] = -m->slice[d];
        }
        for (int d = 0; d < m->n_place; d++) from += place[d] * m->place_stride[d];
        if (scatter_window(s, m, stride, start, from, err) < 0) return -1;
    } while (dims_next(m->n_place, m->place_dim, place));
    return 0;
}

static void window_slices(const ir_op_t *op, const ir_type_t *x, const ir_type_t *updates,
                          int64_t *slice)
{
    ir_gather_t dims;
    ir_scatter_dims(op, x, updates, &dims);
    memcpy(slice, dims.slice, sizeof dims.slice);
}

static int eval_scatter(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                        err_t *err)
{
    int n = n_inputs(op);
    int64_t slice[IR_MAX_RANK];
    window_slices(op, &in[0].type, &in[n + 1].type, slice);
    index_map_t m = index_map_new(op, &index_names_scatter, &in[0].type, &in[n].type,
                                  &in[n + 1].type, slice);
    scatter_t s = {.ev = ev,
                   .region = op->region[0],
                   .n = n,
                   .updates = in + n + 1,
                   .out = out,
                   .replaces = region_replaces(op->region[0])};
    if (n == 1 && !s.replaces) s.fold = fold_of_region(s.region, out->type.dtype);
    for (int k = 0; k < n; k++) {
        int64_t from[IR_MAX_RANK], to[IR_MAX_RANK];
        dims_strides_of(&in[k], from);
        ir_type_strides(&out[k].type, to);
        dims_copy(dtype_bytes(out[k].type.dtype), out[k].type.rank, out[k].type.dim, out[k].data,
                  to, in[k].data, from);
    }
    s.acc = mem_calloc(2 * (size_t)n, sizeof *s.acc);
    int status = scatter_all(&s, &m, &in[n], err);
    free(s.acc);
    return status;
}

const op_def_t op_scatter = {
    .name = "stablehlo.scatter",
    .kind = K_INDEX,
    .n_in = -1,
    .n_out = -1,
    .n_region = 1,
    .needs = {"scatter_dims_to_operand_dims"},
    .infer = infer_scatter,
    .eval = eval_scatter,
    .vjp = vjp_scatter,
};
