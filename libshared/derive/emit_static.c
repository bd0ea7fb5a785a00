/* What depends on no token but has positions: tables, masks, indices. Views and arithmetic are taken apart
 * down to what they are made of, of which the tokens' rows are looked up (emit_table.c). */
#include <string.h>

#include "derive/emit_in.h"
#include "ir/build_index.h"

static piece_t piece_of(emit_t *self, ir_val_t v, const layout_t *at);

static bool is_plain(const layout_t *at)
{
    for (int d = 0; d < at->rank; d++)
        if (!axes_are_plain(&at->dim[d])) return false;
    return true;
}

/* --- what is taken apart --- */

static piece_t broadcast(emit_t *self, const ir_op_t *op, const layout_t *at)
{
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "broadcast_dimensions", &n);
    layout_t behind = trace_behind_broadcast(self->from, op, at);
    piece_t x = piece_of(self, op->in[0], &behind);
    if (x.v == IR_NONE) return EMIT_NOTHING;
    const ir_type_t *to = ir_type_of(self->from, op->out),
                    *from = ir_type_of(self->from, op->in[0]);
    layout_t same = {.rank = to->rank};
    int64_t map[IR_MAX_RANK] = {0};
    for (int d = 0; d < to->rank; d++) axes_add(&same.dim[d], (axis_t){AXIS_SAME, to->dim[d]});
    for (int i = 0; i < n; i++) {
        map[i + 1] = dims[i] + 1;
        if (from->dim[i] == to->dim[dims[i]]) same.dim[dims[i]] = x.at.dim[i];
    }
    ir_type_t type = emit_piece_type(self, &same, x.rows, ir_type_of(self->to, x.v)->dtype);
    return (piece_t){ir_broadcast(self->to, x.v, &type, map), x.rows, same};
}

static piece_t transpose(emit_t *self, const ir_op_t *op, const layout_t *at)
{
    int n;
    const int64_t *perm = attr_ints(&op->attrs, "permutation", &n);
    layout_t behind = {.rank = n}, out = {.rank = n};
    int64_t order[IR_MAX_RANK] = {0};
    for (int d = 0; d < n; d++) behind.dim[perm[d]] = at->dim[d];
    piece_t x = piece_of(self, op->in[0], &behind);
    for (int d = 0; d < n; d++) out.dim[d] = x.at.dim[perm[d]], order[d + 1] = perm[d] + 1;
    return x.v == IR_NONE ? EMIT_NOTHING
                          : (piece_t){ir_transpose(self->to, x.v, order), x.rows, out};
}

static piece_t reshape(emit_t *self, const ir_op_t *op, const layout_t *at)
{
    layout_t behind;
    if (!layout_reshape(at, ir_type_of(self->from, op->in[0]), &behind))
        return emit_table(self, op->out, at);
    piece_t x = piece_of(self, op->in[0], &behind);
    layout_t from = emit_without_rows(&behind), to = emit_without_rows(at);
    if (layout_count(at, AXIS_ROW) == 0) from = layout_full(&from), to = layout_full(&to);
    x = emit_stretch_piece(self, x, x.rows, &from);
    if (x.v == IR_NONE) return EMIT_NOTHING;
    ir_type_t type = emit_piece_type(self, &to, x.rows, ir_type_of(self->to, x.v)->dtype);
    return (piece_t){ir_reshape(self->to, x.v, &type), x.rows, to};
}

/* Operands made alike. False: one cannot be had. */
static bool alike(emit_t *self, int n, piece_t *x, layout_t *at, bool *rows)
{
    *rows = false;
    for (int i = 0; i < n; i++) {
        if (x[i].v == IR_NONE) return false;
        *rows = *rows || x[i].rows;
        for (int d = 0; d < at->rank; d++) {
            axes_t joined = x[i].at.dim[d];
            if (i > 0 && !axes_join(&at->dim[d], &x[i].at.dim[d], &joined)) return false;
            at->dim[d] = joined;
        }
    }
    for (int i = 0; i < n; i++) x[i] = emit_stretch_piece(self, x[i], *rows, at);
    return true;
}

enum { MOST = 8 };

static piece_t map(emit_t *self, const ir_op_t *op, const layout_t *at)
{
    piece_t x[MOST];
    layout_t out = {.rank = at->rank};
    bool rows;
    for (int i = 0; i < op->n_in; i++) {
        if (ir_type_of(self->from, op->in[i])->rank != at->rank)
            return emit_table(self, op->out, at);
        x[i] = piece_of(self, op->in[i], at);
    }
    if (!alike(self, op->n_in, x, &out, &rows)) return EMIT_NOTHING;
    ir_val_t in[MOST];
    for (int i = 0; i < op->n_in; i++) in[i] = x[i].v;
    ir_type_t type = emit_piece_type(self, &out, rows, ir_type_of(self->from, op->out)->dtype);
    const ir_op_t *made = ir_emit(self->to, op->code, op->n_in, in, &op->attrs, 1, &type, 0, NULL);
    return made ? (piece_t){made->out, rows, out} : EMIT_NOTHING;
}

static piece_t concatenate(emit_t *self, const ir_op_t *op, const layout_t *at)
{
    int along = (int)attr_int(&op->attrs, "dimension", 0);
    if (op->n_in > MOST || !axes_are_plain(&at->dim[along])) return emit_table(self, op->out, at);
    piece_t x[MOST];
    layout_t out = {.rank = at->rank}, rest;
    bool rows;
    for (int i = 0; i < op->n_in; i++) {
        rest = *at;
        rest.dim[along] = (axes_t){0};
        axes_add(&rest.dim[along],
                 (axis_t){AXIS_PLAIN, ir_type_of(self->from, op->in[i])->dim[along]});
        x[i] = piece_of(self, op->in[i], &rest);
        if (x[i].v == IR_NONE) return EMIT_NOTHING;
        rest = x[i].at;
        rest.dim[along] = layout_full(&rest).dim[along];
        x[i] = emit_stretch_piece(self, x[i], x[i].rows, &rest);
        x[i].at.dim[along] = (axes_t){0};
    }
    /* Made alike but for that dimension. */
    ir_val_t in[MOST];
    layout_t common = {.rank = at->rank};
    rows = false;
    for (int i = 0; i < op->n_in; i++) {
        rows = rows || x[i].rows;
        for (int d = 0; d < at->rank; d++) {
            axes_t joined = x[i].at.dim[d];
            if (i > 0 && !axes_join(&common.dim[d], &x[i].at.dim[d], &joined)) return EMIT_NOTHING;
            common.dim[d] = joined;
        }
    }
    for (int i = 0; i < op->n_in; i++) {
        layout_t own = common;
        axes_add(&own.dim[along],
                 (axis_t){AXIS_PLAIN, ir_type_of(self->from, op->in[i])->dim[along]});
        x[i].at.dim[along] = own.dim[along];
        in[i] = emit_stretch_piece(self, x[i], rows, &own).v;
    }
    out = common;
    axes_add(&out.dim[along], (axis_t){AXIS_PLAIN, ir_type_of(self->from, op->out)->dim[along]});
    return (piece_t){ir_concatenate(self->to, in, op->n_in, along + 1), rows, out};
}

/* The first positions of a longer table. */
static piece_t slice(emit_t *self, const ir_op_t *op, const layout_t *at)
{
    int n;
    const int64_t *start = attr_ints(&op->attrs, "start_indices", &n);
    const int64_t *stride = attr_ints(&op->attrs, "strides", &n);
    const ir_type_t *from = ir_type_of(self->from, op->in[0]),
                    *to = ir_type_of(self->from, op->out);
    layout_t behind = *at;
    for (int d = 0; d < to->rank; d++) {
        axes_t *axes = &behind.dim[d];
        if (from->dim[d] == to->dim[d]) continue;
        bool first = axes->n == 1 && axes->at[0].kind == AXIS_TIME && start[d] == 0 &&
                     (!stride || stride[d] == 1);
        if (!first) return emit_table(self, op->out, at);
        axes->at[0].size = from->dim[d];
    }
    piece_t x = piece_of(self, op->in[0], &behind);
    for (int d = 0; d < to->rank && x.v != IR_NONE; d++)
        if (axes_have(&x.at.dim[d], AXIS_TIME)) x.at.dim[d] = at->dim[d];
    return x;
}

/* Rows of a parameter by positions: the rows of the tokens alone. */
static piece_t gather(emit_t *self, const ir_op_t *op, const layout_t *at)
{
    ir_gather_t g;
    ir_gather_dims(op, &g);
    const ir_type_t *index = ir_type_of(self->from, op->in[1]);
    layout_t behind = {.rank = index->rank}, out = {.rank = at->rank};
    bool offset[IR_MAX_RANK] = {false};
    for (int i = 0; i < g.n_offset; i++) offset[g.offset_dims[i]] = true;
    for (int d = 0, k = 0; d < at->rank; d++) {
        if (offset[d] && !axes_are_plain(&at->dim[d])) return emit_table(self, op->out, at);
        if (offset[d]) continue;
        if (k == g.index_vector_dim) k++;
        behind.dim[k++] = at->dim[d];
    }
    if (g.n_batch > 0 || at->rank + 1 > IR_MAX_RANK) return emit_table(self, op->out, at);
    if (g.index_vector_dim < index->rank)
        axes_add(&behind.dim[g.index_vector_dim],
                 (axis_t){AXIS_PLAIN, index->dim[g.index_vector_dim]});
    piece_t x = piece_of(self, op->in[1], &behind);
    if (x.v == IR_NONE) return EMIT_NOTHING;
    if (g.index_vector_dim < index->rank) {
        layout_t full = x.at;
        full.dim[g.index_vector_dim] = layout_full(&x.at).dim[g.index_vector_dim];
        x = emit_stretch_piece(self, x, x.rows, &full);
    }
    for (int d = 0, k = 0; d < at->rank; d++) {
        if (offset[d]) {
            axes_add(&out.dim[d], (axis_t){AXIS_PLAIN, ir_type_of(self->from, op->out)->dim[d]});
            continue;
        }
        if (k == g.index_vector_dim) k++;
        out.dim[d] = x.at.dim[k++];
    }
    for (int i = 0; i < g.n_offset; i++) g.offset_dims[i]++;
    g.index_vector_dim++;
    return (piece_t){ir_gather(self->to, emit_whole(self, op->in[0]), x.v, &g), x.rows, out};
}

static piece_t iota(emit_t *self, const ir_op_t *op, const layout_t *at)
{
    int d = (int)attr_int(&op->attrs, "iota_dimension", 0), n = at->dim[d].n;
    dtype_t dtype = ir_type_of(self->from, op->out)->dtype;
    const axes_t *axes = &at->dim[d];
    axis_t last = n > 0 ? axes->at[n - 1] : (axis_t){AXIS_PLAIN, 1};
    bool single = n == 2 && axes->at[0].kind == AXIS_ROW && axes->at[0].size == 1;
    if ((n == 1 || single) && last.kind == AXIS_TIME)
        return emit_positions(self, at, d, last, dtype);
    if ((n == 1 || single) && last.kind == AXIS_SPAN) return emit_numbers(self, at, d, last, dtype);
    return emit_table(self, op->out, at);
}

/* Plain in every dimension: as the module has it. */
static piece_t plain(emit_t *self, ir_val_t v)
{
    layout_t at = layout_plain(ir_type_of(self->from, v));
    ir_type_t type = emit_piece_type(self, &at, false, ir_type_of(self->from, v)->dtype);
    return (piece_t){ir_reshape(self->to, emit_whole(self, v), &type), false, at};
}

static piece_t splat(emit_t *self, const tensor_t *c)
{
    layout_t at = {.rank = c->type.rank};
    for (int d = 0; d < at.rank; d++) axes_add(&at.dim[d], (axis_t){AXIS_SAME, c->type.dim[d]});
    ir_type_t type = emit_piece_type(self, &at, false, c->type.dtype);
    tensor_t one = *c;
    one.type = type;
    return (piece_t){ir_const(self->to, &one), false, at};
}

static piece_t take_apart(emit_t *self, ir_val_t v, const layout_t *at)
{
    const tensor_t *c = ir_const_of(self->from, v);
    const ir_op_t *op = ir_def(self->from, v);
    if (c && c->splat) return splat(self, c);
    if (is_plain(at)) return plain(self, v);
    if (!op || op->n_out != 1) return emit_table(self, v, at);
    switch (op->code) {
    case OP_broadcast_in_dim: return broadcast(self, op, at);
    case OP_transpose: return transpose(self, op, at);
    case OP_reshape: return reshape(self, op, at);
    case OP_concatenate: return concatenate(self, op, at);
    case OP_slice: return slice(self, op, at);
    case OP_gather: return gather(self, op, at);
    case OP_iota: return iota(self, op, at);
    default:
        return op_def(op->code)->kind == K_MAP && op->n_in >= 1 && op->n_in <= MOST
                   ? map(self, op, at)
                   : emit_table(self, v, at);
    }
}

static piece_t piece_of(emit_t *self, ir_val_t v, const layout_t *at)
{
    if (self->depth == EMIT_DEPTH || self->why.code) return EMIT_NOTHING;
    self->depth++;
    piece_t out = take_apart(self, v, at);
    self->depth--;
    return out;
}

/* --- in the layout that is wanted --- */

/* Sequences from the front into the dimension where they belong. */
static ir_val_t place_rows(emit_t *self, piece_t x, const layout_t *at, layout_t *had)
{
    enum { SPACE = 2 * LAYOUT_AXES };
    axis_t a[SPACE], b[SPACE];
    int j = 0, n, row = -1;
    while (j < at->rank && !axes_have(&at->dim[j], AXIS_ROW)) j++;
    n = j < at->rank ? axes_pair(&x.at.dim[j], &at->dim[j], a, b, SPACE) : -1;
    for (int i = 0; i < n; i++)
        if (b[i].kind == AXIS_ROW) row = i;
    if (row < 0 || n > LAYOUT_AXES) {
        err_set(&self->why, ERR_UNSUPPORTED, "positions have no sequence");
        return IR_NONE;
    }
    int64_t size[IR_MAX_RANK], perm[IR_MAX_RANK], before = 1, behind = 1;
    for (int i = 0; i < row; i++) before *= axis_size(a[i], &self->sizes);
    for (int i = row + 1; i < n; i++) behind *= axis_size(a[i], &self->sizes);
    int rank = 0;
    size[rank++] = self->sizes.rows;
    for (int d = 0; d < at->rank; d++) {
        size[rank++] = d == j ? before : axes_size(&x.at.dim[d], &self->sizes);
        if (d == j) size[rank++] = behind;
    }
    for (int i = 0; i < rank; i++) perm[i] = i <= j ? i + 1 : i == j + 1 ? 0 : i;
    *had = x.at;
    had->dim[j] = (axes_t){0};
    a[row].kind = AXIS_ROW;
    for (int i = 0; i < n; i++) had->dim[j].at[had->dim[j].n++] = a[i];
    ir_type_t apart = ir_type(ir_type_of(self->to, x.v)->dtype, rank, size);
    ir_type_t type = layout_type(had, apart.dtype, &self->sizes);
    return ir_reshape(self->to, ir_transpose(self->to, ir_reshape(self->to, x.v, &apart), perm),
                      &type);
}

ir_val_t emit_static(emit_t *self, ir_val_t v, const layout_t *at)
{
    piece_t x = piece_of(self, v, at);
    if (x.v == IR_NONE) return IR_NONE;
    layout_t had = x.at;
    ir_val_t out;
    if (x.rows && self->sizes.rows > 1) {
        out = place_rows(self, x, at, &had);
    } else {
        ir_type_t type = layout_type(&x.at, ir_type_of(self->to, x.v)->dtype, &self->sizes);
        out = ir_reshape(self->to, x.v, &type);
    }
    return emit_stretch(self, out, &had, at);
}
