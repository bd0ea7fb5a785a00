/* Products. Where one side is kept, both are cut into their axes: what is kept lies as [slots, positions, axes...],
 * and the product reads it there, whatever views the module puts in front of it. */
#include <string.h>

#include "derive/emit.h"

enum { PARTS = IR_MAX_RANK };

/* --- a product of which one side is kept --- */

/* Axes of both operands, each in the order of its dimensions, and what becomes of them. */
typedef struct {
    int n;
    axis_t axis[PARTS];
    int dim[PARTS];   /* of the operand */
    int other[PARTS]; /* the same axis of the other operand: batch or contracted; -1: free */
} parts_t;

typedef struct {
    const ir_op_t *op;
    ir_dot_t dims;
    int keys;
    layout_t at[2];
    parts_t part[2];
} product_t;

static const int64_t *list_of(const product_t *p, int side, bool batch)
{
    if (batch) return side ? p->dims.rhs_batch : p->dims.lhs_batch;
    return side ? p->dims.rhs_contract : p->dims.lhs_contract;
}

/* The dimension of the other operand that meets dimension d of this one; -1: none. */
static int partner_of(const product_t *p, int side, int d, bool *batch)
{
    for (int kind = 0; kind < 2; kind++) {
        int n = kind ? p->dims.n_batch : p->dims.n_contract;
        *batch = kind == 1;
        for (int i = 0; i < n; i++)
            if (list_of(p, side, *batch)[i] == d) return (int)list_of(p, 1 - side, *batch)[i];
    }
    *batch = false;
    return -1;
}

/* Axes of a dimension, cut where those of its partner are. Positions of shares meet those of what is kept. */
static int cut(const product_t *p, int side, int d, axis_t *out)
{
    enum { SPACE = 2 * LAYOUT_AXES };
    axis_t x[SPACE], y[SPACE];
    bool batch;
    int other = partner_of(p, side, d, &batch);
    axes_t own = p->at[side].dim[d], its;
    if (other < 0) {
        memcpy(out, own.at, (size_t)own.n * sizeof *out);
        return own.n;
    }
    its = p->at[1 - side].dim[other];
    for (int i = 0; i < its.n && !batch; i++)
        if (its.at[i].kind == AXIS_SPAN || its.at[i].kind == AXIS_TIME)
            for (int k = 0; k < own.n; k++)
                if (own.at[k].kind == AXIS_SPAN || own.at[k].kind == AXIS_TIME)
                    its.at[i].kind = own.at[k].kind;
    /* A single row may be on one side alone. */
    int n = axes_pair(&own, &its, x, y, SPACE), kept = 0;
    for (int i = 0; i < n; i++)
        if (!(y[i].kind == AXIS_ROW && x[i].kind == AXIS_SAME && x[i].size == 1))
            out[kept++] = x[i];
    return n < 0 ? -1 : kept;
}

static int split_operand(product_t *p, int side)
{
    parts_t *to = &p->part[side];
    for (int d = 0; d < p->at[side].rank; d++) {
        axis_t x[2 * LAYOUT_AXES];
        int n = cut(p, side, d, x);
        if (n < 0 || to->n + n > PARTS) return -1;
        for (int i = 0; i < n; i++) {
            if (x[i].kind == AXIS_SAME && side == p->keys) continue; /* kept once */
            to->dim[to->n] = d;
            to->other[to->n] = -1;
            to->axis[to->n++] = x[i];
        }
    }
    return 0;
}

/* The same axes of both, dimension by dimension. Of batch dimensions those that the keys have once are free. */
static bool link_dims(product_t *p, int a_dim, int b_dim)
{
    enum { SPACE = 2 * LAYOUT_AXES };
    parts_t *a = &p->part[1 - p->keys], *b = &p->part[p->keys];
    axes_t own = p->at[1 - p->keys].dim[a_dim], its = p->at[p->keys].dim[b_dim];
    axis_t x[SPACE], y[SPACE];
    for (int i = 0; i < own.n; i++)
        for (int k = 0; k < its.n; k++)
            if (own.at[i].kind == AXIS_SPAN && its.at[k].kind == AXIS_TIME)
                its.at[k].kind = AXIS_SPAN;
    int n = axes_pair(&own, &its, x, y, SPACE), i = 0, k = 0;
    while (i < a->n && a->dim[i] != a_dim) i++;
    while (k < b->n && b->dim[k] != b_dim) k++;
    for (int part = 0; part < n; part++) {
        bool mine = !(x[part].kind == AXIS_SAME && x[part].size == 1);
        bool theirs = y[part].kind != AXIS_SAME;
        if (mine && theirs && x[part].kind != AXIS_ROW) a->other[i] = k, b->other[k] = i;
        i += mine;
        k += theirs;
    }
    return n >= 0;
}

static int find_kind(const parts_t *p, axis_kind_t kind)
{
    for (int i = 0; i < p->n; i++)
        if (p->axis[i].kind == kind) return i;
    return -1;
}

/* Where part k of the kept operand lies in what is read: [rows, span, others...]. */
static int kept_place(const parts_t *p, int k)
{
    if (p->axis[k].kind == AXIS_ROW) return 0;
    if (p->axis[k].kind == AXIS_TIME) return 1;
    int place = 2;
    for (int i = 0; i < k; i++) place += p->axis[i].kind == AXIS_PLAIN;
    return place;
}

/* The result's axes as the product gives them, and where the module wants them. */
typedef struct {
    int n;
    int side[2 * PARTS], part[2 * PARTS];
} order_t;

static void put(order_t *o, int side, int part)
{
    o->side[o->n] = side;
    o->part[o->n++] = part;
}

static order_t given_order(const product_t *p, ir_dot_t *dims)
{
    order_t out = {0};
    const int own = 1 - p->keys;
    const parts_t *a = &p->part[own], *b = &p->part[p->keys];
    int row = find_kind(a, AXIS_ROW);
    *dims = (ir_dot_t){.n_batch = 1, .lhs_batch = {row}, .rhs_batch = {0}};
    put(&out, own, row);
    for (int i = 0; i < a->n; i++) {
        bool batch = false;
        if (a->other[i] < 0 || i == row) continue;
        partner_of(p, own, a->dim[i], &batch);
        int64_t *lhs = batch ? &dims->lhs_batch[dims->n_batch]
                             : &dims->lhs_contract[dims->n_contract];
        int64_t *rhs = batch ? &dims->rhs_batch[dims->n_batch]
                             : &dims->rhs_contract[dims->n_contract];
        *lhs = i;
        *rhs = kept_place(b, a->other[i]);
        if (batch) put(&out, own, i);
        *(batch ? &dims->n_batch : &dims->n_contract) += 1;
    }
    for (int i = 0; i < a->n; i++)
        if (a->other[i] < 0 && i != row) put(&out, own, i);
    /* Behind them what is free of the kept one: its positions in front. */
    int time = find_kind(b, AXIS_TIME);
    if (b->other[time] < 0) put(&out, p->keys, time);
    for (int k = 0; k < b->n; k++)
        if (b->other[k] < 0 && b->axis[k].kind == AXIS_PLAIN) put(&out, p->keys, k);
    return out;
}

static void want_dim(const product_t *p, int side, int d, order_t *out)
{
    const parts_t *x = &p->part[side];
    for (int i = 0; i < x->n; i++) {
        if (x->dim[i] != d || (side == p->keys && x->axis[i].kind == AXIS_ROW)) continue;
        put(out, side, i);
    }
}

/* Batch dimensions as the other operand has them, then what is free of the first and of the second operand. */
static order_t wanted_order(const product_t *p)
{
    order_t out = {0};
    const int own = 1 - p->keys;
    const parts_t *a = &p->part[own];
    int row = find_kind(a, AXIS_ROW);
    bool batch;
    for (int i = 0; i < p->dims.n_batch; i++) want_dim(p, own, (int)list_of(p, own, true)[i], &out);
    for (int side = 0; side < 2; side++)
        for (int d = 0; d < p->at[side].rank; d++)
            if (partner_of(p, side, d, &batch) < 0) want_dim(p, side, d, &out);
    bool has_row = false;
    for (int i = 0; i < out.n; i++) has_row = has_row || (out.side[i] == own && out.part[i] == row);
    if (has_row) return out;
    order_t with = {0}; /* it was in a dimension that is summed over */
    put(&with, own, row);
    for (int i = 0; i < out.n; i++) put(&with, out.side[i], out.part[i]);
    return with;
}

/* x's axes from one order into the other; axes of size one cost nothing. */
static ir_val_t reorder(emit_t *self, ir_val_t x, const order_t *from, const order_t *to)
{
    int64_t perm[IR_MAX_RANK];
    bool moves = false;
    if (x == IR_NONE || from->n != to->n) return IR_NONE;
    const ir_type_t type = *ir_type_of(self->to, x);
    int64_t last = -1;
    for (int i = 0; i < to->n; i++) {
        perm[i] = -1;
        for (int k = 0; k < from->n; k++)
            if (from->side[k] == to->side[i] && from->part[k] == to->part[i]) perm[i] = k;
        if (perm[i] < 0) return IR_NONE;
        if (type.dim[perm[i]] == 1) continue;
        moves = moves || perm[i] < last;
        last = perm[i];
    }
    return moves ? ir_transpose(self->to, x, perm) : x;
}

static ir_val_t split_value(emit_t *self, ir_val_t x, const parts_t *parts)
{
    int64_t size[PARTS];
    if (x == IR_NONE) return IR_NONE;
    for (int i = 0; i < parts->n; i++) size[i] = axis_size(parts->axis[i], &self->sizes);
    ir_type_t type = ir_type(ir_type_of(self->to, x)->dtype, parts->n, size);
    return ir_reshape(self->to, x, &type);
}

static bool begin_product(const emit_t *self, const ir_op_t *op, int keys, product_t *out)
{
    product_t p = {.op = op, .keys = keys};
    const int own = 1 - keys;
    ir_dot_dims(op, &p.dims);
    const layout_t *at = &trace_of(self->trace, op->in[own])->at, full = layout_full(at);
    p.at[own] = *at;
    for (int kind = 0; kind < 2; kind++)
        for (int i = 0; i < (kind ? p.dims.n_batch : p.dims.n_contract); i++) {
            int64_t d = list_of(&p, own, kind == 1)[i];
            p.at[own].dim[d] = full.dim[d];
        }
    p.at[keys] = trace_of(self->trace, op->in[keys])->at;
    bool fine = split_operand(&p, own) == 0 && split_operand(&p, keys) == 0;
    for (int i = 0; i < p.dims.n_batch && fine; i++)
        fine = link_dims(&p, (int)list_of(&p, own, true)[i], (int)list_of(&p, keys, true)[i]);
    for (int i = 0; i < p.dims.n_contract && fine; i++)
        fine = link_dims(&p, (int)list_of(&p, own, false)[i], (int)list_of(&p, keys, false)[i]);
    *out = p;
    const parts_t *kept = &p.part[keys];
    return fine && find_kind(&p.part[own], AXIS_ROW) >= 0 && find_kind(kept, AXIS_ROW) >= 0 &&
           find_kind(kept, AXIS_TIME) >= 0 && kept->n >= 2;
}

ir_type_t emit_kept_type(const emit_t *self, const ir_op_t *op, int64_t slots, int64_t length)
{
    product_t p;
    int keys = trace_of(self->trace, op->out)->keys;
    ir_type_t out = ir_type(ir_type_of(self->from, op->in[keys])->dtype, 2,
                            (int64_t[]){slots, length});
    if (!begin_product(self, op, keys, &p)) return out;
    for (int i = 0; i < p.part[keys].n; i++)
        if (p.part[keys].axis[i].kind == AXIS_PLAIN)
            out.dim[out.rank++] = p.part[keys].axis[i].size;
    return out;
}

static ir_val_t dot_kept(emit_t *self, const ir_op_t *op, int keys)
{
    product_t p;
    ir_dot_t dims;
    const int own = 1 - keys;
    if (!begin_product(self, op, keys, &p)) {
        emit_refuse(self, op, "has operands whose axes do not meet");
        return IR_NONE;
    }
    const parts_t *kept = &p.part[keys];
    ir_val_t x = split_value(self, emit_operand(self, op->in[own], &p.at[own]), &p.part[own]);
    ir_val_t y = emit_kept(self, op->in[keys], kept->n, kept->axis);
    order_t given = given_order(&p, &dims), wanted = wanted_order(&p);
    ir_val_t out = ir_dot(self->to, x, y, &dims, ir_type_of(self->from, op->out)->dtype);
    out = reorder(self, out, &given, &wanted);
    if (out == IR_NONE) {
        emit_refuse(self, op, "has axes in an order that is not known");
        return IR_NONE;
    }
    ir_type_t type = emit_type(self, op->out);
    return ir_reshape(self->to, out, &type);
}

/* --- a product with a parameter, or of one token's values --- */

static ir_val_t dot_plain(emit_t *self, const ir_op_t *op)
{
    ir_dot_t dims;
    ir_val_t in[2], scales = IR_NONE;
    int scaled = 0;
    ir_dot_dims(op, &dims);
    for (int side = 0; side < 2; side++) {
        int64_t *contract = side ? dims.rhs_contract : dims.lhs_contract;
        const int64_t *batch = side ? dims.rhs_batch : dims.lhs_batch;
        ir_val_t v = op->in[side];
        if (trace_is_static(self->trace, v)) {
            bool single = dims.n_batch == 0 && dims.n_contract == 1 &&
                          ir_type_of(self->from, v)->rank == 2;
            in[side] = single ? emit_matrix(self, v, contract, &scales) : emit_whole(self, v);
            scaled = side;
            continue;
        }
        layout_t at = trace_of(self->trace, v)->at, full = layout_full(&at);
        for (int i = 0; i < dims.n_contract; i++) at.dim[contract[i]] = full.dim[contract[i]];
        for (int i = 0; i < dims.n_batch; i++) at.dim[batch[i]] = full.dim[batch[i]];
        in[side] = emit_operand(self, v, &at);
    }
    ir_val_t out = ir_dot(self->to, in[0], in[1], &dims, ir_type_of(self->from, op->out)->dtype);
    if (scales == IR_NONE || out == IR_NONE) return out;
    return emit_scaled(self, out, scales, scaled ? ir_type_of(self->to, out)->rank - 1 : 0);
}

ir_val_t emit_dot(emit_t *self, const ir_op_t *op)
{
    int keys = trace_of(self->trace, op->out)->keys;
    return keys < 0 ? dot_plain(self, op) : dot_kept(self, op, keys);
}
