/* Tables of which the rows at the tokens' positions are looked up; a mask of later positions is computed. */
#include <string.h>

#include "derive/emit_in.h"
#include "ir/build_index.h"
#include "passes/fuse.h"

ir_type_t emit_piece_type(const emit_t *self, const layout_t *at, bool rows, dtype_t dtype)
{
    ir_type_t t = layout_type(at, dtype, &self->sizes), out = {.dtype = dtype, .rank = t.rank + 1};
    out.dim[0] = rows ? self->sizes.rows : 1;
    memcpy(out.dim + 1, t.dim, (size_t)t.rank * sizeof *t.dim);
    return out;
}

/* With a dimension in front, of sequences or not. */
static layout_t with_front(const layout_t *at)
{
    layout_t out = {.rank = at->rank + 1};
    memcpy(out.dim + 1, at->dim, (size_t)at->rank * sizeof *at->dim);
    return out;
}

layout_t emit_without_rows(const layout_t *at)
{
    layout_t out = {.rank = at->rank};
    for (int d = 0; d < at->rank; d++)
        for (int i = 0; i < at->dim[d].n; i++) {
            axis_t axis = at->dim[d].at[i];
            if (axis.kind == AXIS_ROW) axis.kind = AXIS_SAME;
            axes_add(&out.dim[d], axis);
        }
    return out;
}

/* x repeated where `to` has more. */
piece_t emit_stretch_piece(emit_t *self, piece_t x, bool rows, const layout_t *to)
{
    if (x.v == IR_NONE) return EMIT_NOTHING;
    layout_t a = with_front(&x.at), b = with_front(to);
    if (x.rows) a.dim[0] = b.dim[0] = (axes_t){1, {{AXIS_ROW, 2}}};
    ir_val_t v = emit_stretch(self, x.v, &a, &b);
    if (rows && !x.rows && v != IR_NONE) {
        ir_type_t type = emit_piece_type(self, to, true, ir_type_of(self->to, v)->dtype);
        int64_t dims[IR_MAX_RANK];
        for (int d = 0; d < type.rank; d++) dims[d] = d;
        v = ir_broadcast(self->to, v, &type, dims);
    }
    return (piece_t){v, rows, *to};
}

/* The same along all dimensions but d, which has these axes. */
static layout_t along(const layout_t *like, int d, const axes_t *axes)
{
    layout_t at = {.rank = like->rank};
    for (int k = 0; k < like->rank; k++) {
        int64_t size = 1;
        for (int i = 0; i < like->dim[k].n; i++) size *= like->dim[k].at[i].size;
        axes_add(&at.dim[k], (axis_t){AXIS_SAME, size});
    }
    at.dim[d] = *axes;
    return at;
}

/* Positions in dimension d of [rows, ...], as numbers of a type. */
piece_t emit_positions(emit_t *self, const layout_t *like, int d, axis_t axis, dtype_t dtype)
{
    layout_t at = along(like, d, &(axes_t){1, {axis}});
    ir_type_t type = emit_piece_type(self, &at, true, DT_I32);
    return (piece_t){ir_convert(self->to, ir_reshape(self->to, self->positions, &type), dtype),
                     true, at};
}

piece_t emit_numbers(emit_t *self, const layout_t *like, int d, axis_t axis, dtype_t dtype)
{
    layout_t at = along(like, d, &(axes_t){1, {axis}});
    ir_type_t type = emit_piece_type(self, &at, false, dtype);
    return (piece_t){ir_iota(self->to, &type, d + 1), false, at};
}

/* A table of truth values that is exactly "key s is no later than token t", or its opposite. */
static bool is_causal(const tensor_t *x, int64_t time, int64_t span, bool *hides)
{
    if (x->type.dtype != DT_I1 || x->splat || time < 2) return false;
    *hides = tensor_get_i64(x, 0) == 0;
    for (int64_t t = 0; t < time; t++)
        for (int64_t s = 0; s < span; s++)
            if ((tensor_get_i64(x, t * span + s) != 0) != ((s <= t) != *hides)) return false;
    return true;
}

/* The axes of a layout one by one. */
typedef struct {
    int n, time, span, row; /* which axes; -1: none */
    axis_t axis[IR_MAX_RANK];
    int dim[IR_MAX_RANK];
} split_t;

static bool split(const layout_t *at, split_t *out)
{
    *out = (split_t){.time = -1, .span = -1, .row = -1};
    for (int d = 0; d < at->rank; d++)
        for (int i = 0; i < at->dim[d].n; i++) {
            axis_t axis = at->dim[d].at[i];
            if (out->n == IR_MAX_RANK - 2) return false;
            if (axis.kind == AXIS_TIME) out->time = out->n;
            if (axis.kind == AXIS_SPAN) out->span = out->n;
            if (axis.kind == AXIS_ROW) out->row = out->n;
            out->dim[out->n] = d;
            out->axis[out->n++] = axis;
        }
    return true;
}

static piece_t causal(emit_t *self, const layout_t *at, const split_t *s, bool hides)
{
    int t = s->dim[s->time], k = s->dim[s->span];
    piece_t own = emit_positions(self, at, t, s->axis[s->time], DT_I32);
    piece_t other = emit_numbers(self, at, k, s->axis[s->span], DT_I32);
    layout_t both = own.at;
    both.dim[k] = other.at.dim[k];
    own = emit_stretch_piece(self, own, true, &both);
    other = emit_stretch_piece(self, other, true, &both);
    return (piece_t){ir_compare(self->to, hides ? "LT" : "GE", own.v, other.v), true, both};
}

/* The rows of a table at the tokens' positions: axis `time` of [axes...] goes, [rows, time] comes in its place. */
static ir_val_t look_up(emit_t *self, ir_val_t x, int time)
{
    ir_fn_t *fn = self->to;
    const ir_type_t type = *ir_type_of(fn, x);
    ir_gather_t g = {
        .n_offset = type.rank - 1, .n_collapsed = 1, .n_start = 1, .index_vector_dim = 2};
    int64_t perm[IR_MAX_RANK];
    g.collapsed[0] = g.start_map[0] = time;
    for (int d = 0, k = 0; d < type.rank; d++) {
        g.slice[d] = d == time ? 1 : type.dim[d];
        if (d != time) g.offset_dims[k] = 2 + k, k++;
    }
    ir_type_t index = ir_type(DT_I32, 3, (int64_t[]){self->sizes.rows, self->sizes.time, 1});
    ir_val_t found = ir_gather(fn, x, ir_reshape(fn, self->positions, &index), &g);
    perm[0] = 0;
    for (int d = 0; d < type.rank; d++) perm[1 + d] = d == time ? 1 : d < time ? 2 + d : 1 + d;
    return time == 0 ? found : ir_transpose(fn, found, perm);
}

/* Sequences have the same entry? Only what can be computed here is known to. */
static bool rows_equal(emit_t *self, ir_val_t v, const split_t *s)
{
    tensor_t x;
    if (s->axis[s->row].size == 1) return true;
    if (fuse_evaluate(self->from, v, &x) < 0) return false;
    int64_t inner = 1, rows = s->axis[s->row].size, n = ir_type_count(&x.type);
    for (int i = s->row + 1; i < s->n; i++) inner *= s->axis[i].size;
    bool equal = true;
    for (int64_t i = 0; i < n && equal && !x.splat; i++) {
        int64_t first = i / (inner * rows) * (inner * rows) + i % inner;
        equal = tensor_get_f64(&x, i) == tensor_get_f64(&x, first);
    }
    tensor_fini(&x);
    return equal;
}

/* Does the table say no more than which keys are later? */
static bool says_causal(emit_t *self, ir_val_t v, const split_t *s, bool *hides)
{
    tensor_t x;
    if (s->time < 0 || s->span < s->time || ir_type_of(self->from, v)->dtype != DT_I1) return false;
    int64_t time = s->axis[s->time].size, span = s->axis[s->span].size;
    if (ir_type_count(ir_type_of(self->from, v)) != time * span) return false;
    if (fuse_evaluate(self->from, v, &x) < 0) return false;
    bool found = is_causal(&x, time, span, hides);
    tensor_fini(&x);
    return found;
}

piece_t emit_table(emit_t *self, ir_val_t v, const layout_t *at)
{
    split_t s;
    bool hides;
    const ir_type_t *t = ir_type_of(self->from, v);
    if (!split(at, &s) || (s.row >= 0 && !rows_equal(self, v, &s))) {
        err_set(&self->why, ERR_UNSUPPORTED, "a table differs between sequences");
        return EMIT_NOTHING;
    }
    if (says_causal(self, v, &s, &hides)) return causal(self, at, &s, hides);
    int64_t size[IR_MAX_RANK], start[IR_MAX_RANK] = {0};
    for (int i = 0; i < s.n; i++) size[i] = s.axis[i].size;
    ir_type_t apart = ir_type(t->dtype, s.n, size);
    ir_val_t x = ir_reshape(self->to, emit_whole(self, v), &apart);
    for (int i = 0; i < s.n; i++)
        size[i] = i == s.row ? 1 : i == s.span ? self->sizes.span : size[i];
    if (x != IR_NONE && (s.row >= 0 || s.span >= 0)) x = ir_slice(self->to, x, start, size, NULL);
    layout_t own = emit_without_rows(at);
    layout_t full = layout_full(&own);
    for (int d = 0; d < at->rank; d++)
        if (axes_have(&at->dim[d], AXIS_ROW)) full.dim[d] = own.dim[d];
    bool looks = s.time >= 0 && !(self->window && self->sizes.time == s.axis[s.time].size);
    if (x != IR_NONE && looks) x = look_up(self, x, s.time);
    ir_type_t type = emit_piece_type(self, &full, looks, t->dtype);
    return (piece_t){ir_reshape(self->to, x, &type), looks, full};
}
