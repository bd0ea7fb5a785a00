/* Inlining: the element of a value at an index, as an expression over the storage of roots. Views
 * move the index and vanish; maps become operations; indices that data decides are loads. */
#include <limits.h>
#include <string.h>

#include "ops/control.h"
#include "plan/kernel/kx_node.h"
#include "plan/lower/lower.h"

typedef kx_t inline_fn(inline_t *self, const ir_op_t *op, const kx_t *index);

static const ir_type_t *type_of(const inline_t *self, ir_val_t v)
{
    return ir_type_of(self->lower->fn, v);
}

kx_t inline_at(inline_t *self, ir_val_t v, kx_t linear)
{
    const ir_type_t *t = type_of(self, v);
    kx_t index[IR_MAX_RANK];
    kx_unlinear(self->graph, linear, t->rank, t->dim, index);
    return inline_value(self, v, index);
}

static kx_t view_reshape(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    const ir_type_t *to = type_of(self, op->out);
    return inline_at(self, op->in[0], kx_linear(self->graph, to->rank, to->dim, index));
}

static kx_t view_same(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    return inline_value(self, op->in[0], index);
}

static kx_t view_broadcast(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    const ir_type_t *from = type_of(self, op->in[0]);
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "broadcast_dimensions", &n);
    kx_t at[IR_MAX_RANK];
    for (int d = 0; d < from->rank; d++)
        at[d] = from->dim[d] == 1 ? kx_int(self->graph, 0) : index[dims[d]];
    return inline_value(self, op->in[0], at);
}

static kx_t view_transpose(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    int n;
    const int64_t *perm = attr_ints(&op->attrs, "permutation", &n);
    kx_t at[IR_MAX_RANK];
    for (int d = 0; d < n; d++) at[perm[d]] = index[d];
    return inline_value(self, op->in[0], at);
}

static kx_t view_reverse(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    const ir_type_t *t = type_of(self, op->out);
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "dimensions", &n);
    kx_t at[IR_MAX_RANK];
    for (int d = 0; d < t->rank; d++) at[d] = index[d];
    for (int i = 0; i < n; i++)
        at[dims[i]] = kx_addi(self->graph, kx_scale(self->graph, at[dims[i]], -1),
                              t->dim[dims[i]] - 1);
    return inline_value(self, op->in[0], at);
}

static kx_t view_slice(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    int n;
    const int64_t *start = attr_ints(&op->attrs, "start_indices", &n);
    const int64_t *stride = attr_ints(&op->attrs, "strides", &n);
    kx_t at[IR_MAX_RANK];
    for (int d = 0; d < n; d++)
        at[d] = kx_addi(self->graph, kx_scale(self->graph, index[d], stride ? stride[d] : 1),
                        start[d]);
    return inline_value(self, op->in[0], at);
}

/* An index that is read only where `guard` holds: 0 elsewhere, so that every load stays in bounds.
 * */
static kx_t guarded(inline_t *self, kx_t guard, kx_t index)
{
    return kx_select(self->graph, guard, index, kx_int(self->graph, 0));
}

static kx_t view_pad(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    kx_graph_t *g = self->graph;
    const ir_type_t *from = type_of(self, op->in[0]);
    int n;
    const int64_t *low = attr_ints(&op->attrs, "edge_padding_low", &n);
    const int64_t *interior = attr_ints(&op->attrs, "interior_padding", &n);
    kx_t at[IR_MAX_RANK], inside = kx_number(g, DT_I1, 0, 1);
    for (int d = 0; d < from->rank; d++) {
        int64_t step = (interior ? interior[d] : 0) + 1, span = (from->dim[d] - 1) * step + 1;
        if (from->dim[d] == 0) return inline_value(self, op->in[1], NULL);
        kx_t x = kx_addi(g, index[d], -low[d]), in = kx_within(g, x, 0, span);
        kx_t safe = guarded(self, in, x);
        if (step > 1) {
            in = kx_and(g, in, kx_compare(g, CMP_EQ, kx_mod(g, safe, step), kx_int(g, 0)));
            safe = kx_div(g, safe, step);
        }
        at[d] = safe;
        inside = kx_and(g, inside, in);
    }
    double f;
    if (kx_is_number(g, inside, &f) && f == 0) return inline_value(self, op->in[1], NULL);
    kx_t element = inline_value(self, op->in[0], at);
    return kx_select(g, inside, element, inline_value(self, op->in[1], NULL));
}

static kx_t view_concatenate(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    kx_graph_t *g = self->graph;
    int dim = (int)attr_int(&op->attrs, "dimension", 0), rank = type_of(self, op->out)->rank;
    kx_t at[IR_MAX_RANK], result = KX_NONE;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    int64_t start = 0;
    for (int i = 0; i < op->n_in; i++) {
        int64_t n = type_of(self, op->in[i])->dim[dim];
        if (n == 0) continue;
        kx_t in = kx_within(g, index[dim], start, start + n);
        double f;
        start += n;
        if (kx_is_number(g, in, &f) && f == 0) continue;
        at[dim] = guarded(self, in, kx_addi(g, index[dim], n - start));
        kx_t part = inline_value(self, op->in[i], at);
        result = result == KX_NONE ? part : kx_select(g, in, part, result);
    }
    return result;
}

static kx_t literal_iota(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    const ir_type_t *t = type_of(self, op->out);
    int64_t dim = attr_int(&op->attrs, "iota_dimension", 0);
    return kx_convert(self->graph, index[dim], t->dtype);
}

/* The change of an integer constant along each dimension, when it is the same everywhere. */
bool inline_constant_slopes(const tensor_t *t, int64_t *slope)
{
    int64_t stride[IR_MAX_RANK], n = ir_type_count(&t->type), first;
    if (t->splat || !dtype_is_int(t->type.dtype) || n == 0) return false;
    ir_type_strides(&t->type, stride);
    first = tensor_get_i64(t, 0);
    for (int d = 0; d < t->type.rank; d++)
        slope[d] = t->type.dim[d] > 1 ? tensor_get_i64(t, stride[d]) - first : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t want = first;
        for (int d = 0; d < t->type.rank; d++) want += slope[d] * (i / stride[d] % t->type.dim[d]);
        if (tensor_get_i64(t, i) != want) return false;
    }
    return true;
}

/* Positions that were folded into a dense constant are positions again. */
static kx_t sloped_constant(inline_t *self, const tensor_t *t, const kx_t *index)
{
    int64_t slope[IR_MAX_RANK];
    kx_t x = kx_int(self->graph, tensor_get_i64(t, 0));
    inline_constant_slopes(t, slope);
    for (int d = 0; d < t->type.rank; d++)
        x = kx_add(self->graph, x, kx_scale(self->graph, index[d], slope[d]));
    return kx_convert(self->graph, x, t->type.dtype);
}

static kx_t literal_constant(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    const tensor_t *t = ir_const_of(self->lower->fn, op->out);
    if (!t->splat && ir_type_count(&t->type) > 1) return sloped_constant(self, t, index);
    if (dtype_is_float(t->type.dtype))
        return kx_number(self->graph, t->type.dtype, tensor_get_f64(t, 0), 0);
    return kx_number(self->graph, t->type.dtype, 0, tensor_get_i64(t, 0));
}

static kx_t literal_size(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    int64_t dim = attr_int(&op->attrs, "dimension", 0);
    (void)index;
    return kx_number(self->graph, DT_I32, 0, type_of(self, op->in[0])->dim[dim]);
}

/* Operand i of a map; scalars stand for any shape. */
static kx_t operand(inline_t *self, const ir_op_t *op, int i, const kx_t *index)
{
    return inline_value(self, op->in[i], type_of(self, op->in[i])->rank == 0 ? NULL : index);
}

static bool is_total_order(const inline_t *self, const ir_op_t *op)
{
    return strcmp(attr_text(&op->attrs, "compare_type", ""), "TOTALORDER") == 0 &&
           dtype_is_float(type_of(self, op->in[0])->dtype);
}

static kx_t map_compare(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    static const char *const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    const char *text = attr_text(&op->attrs, "comparison_direction", "EQ");
    int direction = 0;
    while (direction < 5 && strcmp(text, names[direction]) != 0) direction++;
    kx_t a = operand(self, op, 0, index), b = operand(self, op, 1, index);
    if (is_total_order(self, op)) a = kx_key(self->graph, a), b = kx_key(self->graph, b);
    return kx_compare(self->graph, (kx_compare_t)direction, a, b);
}

static kx_t map_select(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    kx_t p = operand(self, op, 0, index), a = operand(self, op, 1, index);
    return kx_select(self->graph, p, a, operand(self, op, 2, index));
}

static kx_t map_convert(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    kx_t x = operand(self, op, 0, index);
    return kx_convert(self->graph, x, type_of(self, op->out)->dtype);
}

/* A format at least as fine as the element type changes nothing, subnormals included. */
static kx_t map_reduce_precision(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    dtype_t dtype = type_of(self, op->out)->dtype;
    const dtype_format_t *own = dtype_format(dtype);
    int64_t e = attr_int(&op->attrs, "exponent_bits", 11);
    int64_t m = attr_int(&op->attrs, "mantissa_bits", 52);
    kx_t x = operand(self, op, 0, index);
    if (e >= own->exp_bits && m >= own->man_bits) return x;
    x = kx_round(self->graph, x, e >= own->exp_bits ? 11 : (int)e,
                 m >= own->man_bits ? 52 : (int)m);
    return kx_convert(self->graph, x, dtype);
}

static kx_t map_any(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    kx_t in[4];
    for (int i = 0; i < op->n_in; i++) in[i] = operand(self, op, i, index);
    return kx_map(self->graph, op->code, type_of(self, op->out)->dtype, op->n_in, in);
}

static inline_fn *const rules[OP_COUNT] = {
    [OP_reshape] = view_reshape,
    [OP_dynamic_reshape] = view_reshape,
    [OP_broadcast_in_dim] = view_broadcast,
    [OP_dynamic_broadcast_in_dim] = view_broadcast,
    [OP_transpose] = view_transpose,
    [OP_reverse] = view_reverse,
    [OP_slice] = view_slice,
    [OP_pad] = view_pad,
    [OP_concatenate] = view_concatenate,
    [OP_iota] = literal_iota,
    [OP_dynamic_iota] = literal_iota,
    [OP_get_dimension_size] = literal_size,
    [OP_constant] = literal_constant,
    [OP_compare] = map_compare,
    [OP_select] = map_select,
    [OP_convert] = map_convert,
    [OP_reduce_precision] = map_reduce_precision,
    [OP_gather] = inline_gather,
    [OP_scatter] = inline_scatter,
    [OP_dynamic_slice] = inline_dynamic_slice,
    [OP_dynamic_update_slice] = inline_dynamic_update,
};

static inline_fn *rule_of(const ir_op_t *op)
{
    const op_def_t *def = op_def(op->code);
    if (rules[op->code]) return rules[op->code];
    if (op->code == OP_optimization_barrier && op->n_in == 1) return view_same;
    if (op->code == OP_custom_call && op->n_in == 1 && control_is_identity(control_target(op)))
        return view_same;
    return def->kind == K_MAP && def->expr && op->n_out == 1 && op->n_in <= 4 ? map_any : NULL;
}

bool inline_has_rule(op_code_t code)
{
    const op_def_t *def = op_def(code);
    return rules[code] || code == OP_optimization_barrier || code == OP_custom_call ||
           (def->kind == K_MAP && def->expr && def->n_in >= 1 && def->n_in <= 4);
}

bool inline_knows(const ir_op_t *op)
{
    return rule_of(op) != NULL;
}

/* A member of the group under construction: only what this row (and column) has made. */
static kx_t refer(inline_t *self, const lvalue_t *lv, ir_val_t v, kx_t linear)
{
    group_t *group = self->group;
    const member_t *m = &group->member.at[lv->member];
    dtype_t dtype = type_of(self, v)->dtype;
    if (m->kind == MEMBER_ROW || m->kind == MEMBER_FOLD) {
        if (linear == group->row) return kx_ref(self->graph, lv->member, dtype, KX_NONE);
    } else if (m->kind == MEMBER_FULL) {
        kx_t col = kx_sub(self->graph, linear, kx_scale(self->graph, group->row, group->cols));
        const kx_node_t *n = &self->graph->node.at[col];
        if (n->lo >= 0 && n->hi < group->cols && (!group->by_column || col == group->col))
            return kx_ref(self->graph, lv->member, dtype, col);
    }
    self->failed = true;
    return kx_int(self->graph, 0);
}

static kx_t read_root(inline_t *self, ir_val_t v, const kx_t *index)
{
    const lvalue_t *lv = &self->lower->value[v];
    const ir_type_t *t = type_of(self, v);
    kx_t linear = kx_linear(self->graph, t->rank, t->dim, index);
    if (self->group && lv->group >= 0 && self->lower->group.at[lv->group] == self->group)
        return refer(self, lv, v, linear);
    if (lv->order == INT_MAX || (self->group && lv->order >= self->group->order))
        self->failed = true;
    return kx_load(self->graph, (int)v, t->dtype, layout_index(self->graph, lv, linear));
}

/* Results are remembered by (value, index), so that shared operands are expanded once: what an
 * attempt makes after it has failed, for itself. */
static memo_t *memo_slot(inline_t *self, ir_val_t v, const kx_t *index)
{
    memos_t *memo = self->group ? &self->group->memo : &self->memo;
    kx_node_t key = {.kind = KX_REF, .dtype = DT_NONE, .i = (int64_t)v};
    key.n_in = type_of(self, v)->rank;
    key.in = (kx_t *)index;
    kx_t at = kx_intern(self->graph, &key);
    while (memo->n <= at) VEC_PUSH(memo, ((memo_t){KX_NONE, 0}));
    return &memo->at[at];
}

kx_t inline_value(inline_t *self, ir_val_t v, const kx_t *index)
{
    const ir_op_t *op = ir_def(self->lower->fn, v);
    if (self->bound && self->bound[v] != KX_NONE) return self->bound[v];
    if (self->lower->value[v].root) return read_root(self, v, index);
    const memo_t *known = memo_slot(self, v, index);
    if (known->x != KX_NONE && (known->attempt == 0 || known->attempt == self->attempt))
        return known->x;
    inline_fn *rule = op ? rule_of(op) : NULL;
    if (!rule) {
        self->failed = true;
        return kx_int(self->graph, 0);
    }
    kx_t x = rule(self, op, index);
    *memo_slot(self, v, index) = (memo_t){x, self->failed ? self->attempt : 0};
    return x;
}

void inline_fini(inline_t *self)
{
    VEC_FREE(&self->memo);
}
