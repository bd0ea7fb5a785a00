/* Reverse rules of scatter, an input at a time: where the region combines each input with its own
 * updates by one op. Everything else is in scatter_any.c. */
#include "ops/scatter.h"

#include "ops/common.h"

int scatter_n_inputs(const ir_op_t *op)
{
    return (op->n_in - 1) / 2;
}

/* --- Reading at the targets --- */

/* Starts for gathering from an operand padded by one window on both ends: whatever is wholly
 * outside reads padding, and what is partly outside reads padding there. */
static ir_val_t shifted_index(scatter_at_t *r)
{
    ir_fn_t *fn = r->fn;
    int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0}, shift[IR_MAX_RANK] = {0};
    if (r->shifted != IR_NONE) return r->shifted;
    for (int e = 0; e < r->dims.n_start; e++) {
        int64_t d = r->dims.start_map[e];
        low[e] = -r->dims.slice[d], high[e] = r->x.dim[d], shift[e] = r->dims.slice[d];
    }
    ir_val_t wide = ir_convert(fn, r->index, DT_I64);
    ir_val_t inside = ir_op3(fn, OP_clamp, ir_index_constant(fn, wide, &r->dims, low), wide,
                             ir_index_constant(fn, wide, &r->dims, high));
    r->shifted = ir_op2(fn, OP_add, inside, ir_index_constant(fn, wide, &r->dims, shift));
    return r->shifted;
}

ir_val_t scatter_target(scatter_at_t *r, ir_val_t x, double outside)
{
    ir_fn_t *fn = r->fn;
    int64_t pad[IR_MAX_RANK] = {0};
    if (x == IR_NONE) return x;
    for (int e = 0; e < r->dims.n_start; e++)
        pad[r->dims.start_map[e]] = r->dims.slice[r->dims.start_map[e]];
    ir_val_t value = ir_scalar(fn, ir_type_of(fn, x)->dtype, outside);
    return ir_gather(fn, ir_pad(fn, x, value, pad, pad, NULL), shifted_index(r), &r->dims);
}

static ir_val_t zero_where(ir_fn_t *fn, ir_val_t mask, ir_val_t x)
{
    return ir_select(fn, mask, ir_scalar_like(fn, x, 0), x);
}

static ir_val_t keep_where(ir_fn_t *fn, ir_val_t mask, ir_val_t x)
{
    return ir_select(fn, mask, x, ir_scalar_like(fn, x, 0));
}

/* --- One input --- */

typedef struct {
    vjp_t *v;
    scatter_at_t at;
    int x, u; /* the operands: the input and its updates */
    int y;    /* the result */
} rule_t;

static ir_val_t target(rule_t *r, ir_val_t x, double outside)
{
    return scatter_target(&r->at, x, outside);
}

/* y = x with u added: both get ct. */
static void vjp_add(rule_t *r)
{
    vjp_t *v = r->v;
    if (v->need[r->x]) v->in_ct[r->x] = v->ct[r->y];
    if (v->need[r->u]) v->in_ct[r->u] = target(r, v->ct[r->y], 0);
}

/* y = x with u subtracted. */
static void vjp_subtract(rule_t *r)
{
    vjp_t *v = r->v;
    if (v->need[r->x]) v->in_ct[r->x] = v->ct[r->y];
    if (v->need[r->u]) v->in_ct[r->u] = ir_op1(v->fn, OP_negate, target(r, v->ct[r->y], 0));
}

/* y = x: the updates play no part. */
static void vjp_keep(rule_t *r)
{
    if (r->v->need[r->x]) r->v->in_ct[r->x] = r->v->ct[r->y];
}

/* y = x with u in place: ct goes to the update that came last, elsewhere to x. */
static void vjp_replace(rule_t *r)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    ir_type_t u = *op_in_type(fn, v->op, r->u);
    if (v->need[r->x]) {
        ir_type_t x_mask = ir_type_with(r->at.x, DT_I1), u_mask = ir_type_with(u, DT_I1);
        ir_val_t written = ir_scatter(fn, OP_invalid, ir_splat(fn, &x_mask, 0), r->at.index,
                                      ir_splat(fn, &u_mask, 1), &r->at.dims);
        v->in_ct[r->x] = zero_where(fn, written, v->ct[r->y]);
    }
    if (!v->need[r->u]) return;
    v->in_ct[r->u] = target(r, v->ct[r->y], 0);
    if (r->at.dims.unique) return;
    ir_type_t ids = ir_type_with(u, DT_I64), flat = {.dtype = DT_I64, .rank = 1};
    ir_type_t owners = ir_type_with(r->at.x, DT_I64);
    flat.dim[0] = ir_type_count(&u);
    ir_val_t id = ir_reshape(fn, ir_iota(fn, &flat, 0), &ids);
    ir_val_t owner = ir_scatter(fn, OP_invalid, ir_splat(fn, &owners, -1), r->at.index, id,
                                &r->at.dims);
    ir_val_t won = ir_compare(fn, "EQ", id, target(r, owner, -1));
    v->in_ct[r->u] = keep_where(fn, won, v->in_ct[r->u]);
}

/* y = a value from around the region wherever an update falls: the input gets ct elsewhere, the
 * value the sum of ct there. */
static void vjp_fill(rule_t *r)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    ir_val_t value = v->op->region[0]->result[r->y], ct = v->ct[r->y];
    ir_type_t u = *op_in_type(fn, v->op, r->u);
    ir_type_t x_mask = ir_type_with(r->at.x, DT_I1), u_mask = ir_type_with(u, DT_I1);
    ir_val_t written = ir_scatter(fn, OP_invalid, ir_splat(fn, &x_mask, 0), r->at.index,
                                  ir_splat(fn, &u_mask, 1), &r->at.dims);
    if (v->need[r->x]) v->in_ct[r->x] = zero_where(fn, written, ct);
    const ir_op_t *def = ir_def(fn, value);
    if (def && def->code == OP_constant) return;
    v->add_outer(v, value, ir_reduce_all(fn, OP_add, keep_where(fn, written, ct)));
}

/* y = x prod u, each target hit at most once: dx = ct prod u, du = ct x at the target. */
static void vjp_multiply_unique(rule_t *r)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    ir_val_t ct = vjp_ct(v, r->y);
    if (v->need[r->x])
        vjp_give(v, r->x,
                 ir_scatter(fn, OP_multiply, ct, r->at.index, vjp_in(v, r->u), &r->at.dims));
    if (v->need[r->u])
        vjp_give(v, r->u, target(r, ir_op2(fn, OP_multiply, ct, vjp_in(v, r->x)), 0));
}

/* In general the factor f of y gets ct times the product of the others: with p the product of the
 * factors that are not zero and z the number of those that are, that is ct p / f when no other is
 * zero (f taken as 1 when it is zero itself), else 0. */
static void vjp_multiply(rule_t *r)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    ir_val_t factor[2] = {vjp_in(v, r->x), vjp_in(v, r->u)}, nonzero[2], zeros[2];
    for (int k = 0; k < 2; k++) {
        ir_val_t is_zero = ir_compare(fn, "EQ", factor[k], ir_scalar_like(fn, factor[k], 0));
        nonzero[k] = ir_select(fn, is_zero, ir_scalar_like(fn, factor[k], 1), factor[k]);
        zeros[k] = ir_convert(fn, is_zero, DT_I32);
    }
    ir_val_t p = ir_scatter(fn, OP_multiply, nonzero[0], r->at.index, nonzero[1], &r->at.dims);
    ir_val_t z = ir_scatter(fn, OP_add, zeros[0], r->at.index, zeros[1], &r->at.dims);
    ir_val_t g = ir_op2(fn, OP_multiply, vjp_ct(v, r->y), p);
    for (int k = 0; k < 2; k++) {
        int to = k == 0 ? r->x : r->u;
        if (!v->need[to]) continue;
        ir_val_t all = k == 0 ? z : target(r, z, 0), gk = k == 0 ? g : target(r, g, 0);
        ir_val_t alone = ir_compare(fn, "EQ", all, zeros[k]);
        vjp_give(v, to, keep_where(fn, alone, ir_op2(fn, OP_divide, gk, nonzero[k])));
    }
}

/* y = max(x, u..): the winners share ct equally. */
static void vjp_extreme(rule_t *r)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    ir_val_t y = vjp_wide(fn, v->op->out + (ir_val_t)r->y), ct = vjp_ct(v, r->y);
    if (ct == IR_NONE) return;
    dtype_t dtype = ir_type_of(fn, ct)->dtype;
    ir_val_t x_won = ir_compare(fn, "EQ", vjp_in(v, r->x), y);
    ir_val_t u_won = ir_compare(fn, "EQ", vjp_in(v, r->u), target(r, y, 0));
    ir_val_t count = ir_scatter(fn, OP_add, ir_convert(fn, x_won, dtype), r->at.index,
                                ir_convert(fn, u_won, dtype), &r->at.dims);
    ir_val_t part = ir_op2(fn, OP_divide, ct, count);
    if (v->need[r->x]) vjp_give(v, r->x, keep_where(fn, x_won, part));
    if (v->need[r->u]) vjp_give(v, r->u, keep_where(fn, u_won, target(r, part, 0)));
}

/* --- The rule for an op ----------------------------------------------------------------------- */

typedef void slot_fn(rule_t *r);

/* A constant, or a value that the region's own ops and arguments have no part in. */
static bool is_from_outside(const ir_fn_t *fn, const ir_region_t *region, ir_val_t y)
{
    const ir_op_t *def = ir_def(fn, y);
    if (def) return def->code == OP_constant || def->parent != region;
    return fn->value[y].owner != region;
}

/* How the region makes result k: from the input's element a and the update's b alone. NULL: in some
 * other way. */
static slot_fn *slot_rule(const ir_fn_t *fn, const ir_op_t *op, int k, bool unique)
{
    const ir_region_t *region = op->region[0];
    ir_val_t a = region->arg + (ir_val_t)k, b = a + (ir_val_t)region->n_result;
    ir_val_t y = region->result[k];
    const ir_op_t *def = ir_def(fn, y);
    if (y == a) return vjp_keep;
    if (y == b) return vjp_replace;
    if (is_from_outside(fn, region, y)) return vjp_fill;
    if (!def || def->n_in != 2) return NULL;
    bool in_order = def->in[0] == a && def->in[1] == b;
    if (!in_order && (def->in[0] != b || def->in[1] != a)) return NULL;
    switch (def->code) {
    case OP_add: return vjp_add;
    case OP_subtract: return in_order ? vjp_subtract : NULL;
    case OP_multiply: return unique ? vjp_multiply_unique : vjp_multiply;
    case OP_maximum:
    case OP_minimum: return vjp_extreme;
    default: return NULL;
    }
}

int vjp_scatter(vjp_t *v, err_t *err)
{
    const ir_op_t *op = v->op;
    int n = scatter_n_inputs(op);
    rule_t r = {.v = v, .at = {.fn = v->fn, .index = op->in[n], .shifted = IR_NONE}};
    const ir_type_t u = *op_in_type(v->fn, op, n + 1);
    r.at.x = *op_in_type(v->fn, op, 0);
    ir_scatter_dims(op, &r.at.x, &u, &r.at.dims);
    for (int k = 0; k < n; k++)
        if (v->ct[k] != IR_NONE && !slot_rule(v->fn, op, k, r.at.dims.unique))
            return vjp_scatter_any(v, err);
    for (int k = 0; k < n; k++) {
        if (v->ct[k] == IR_NONE) continue;
        r.x = r.y = k;
        r.u = n + 1 + k;
        slot_rule(v->fn, op, k, r.at.dims.unique)(&r);
    }
    return vjp_done(v, err);
}
