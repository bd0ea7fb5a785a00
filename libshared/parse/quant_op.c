/* What ops mean on quantised tensors: ops that move elements or run regions see the stored
 * integers; the others compute on the floats these stand for and store the result again
 * (dequantize_op_quantize in the specification), with its rules for the types. */
#include "parse/quant.h"

typedef enum {
    AS_REAL = 0, /* on the floats */
    AS_STORED,   /* on the integers, of whatever type */
    AS_MOVED,    /* on the integers; operands and results are quantised alike */
    AS_NOTHING,  /* has no meaning */
} manner_t;

static manner_t manner_of(op_code_t code)
{
    switch (code) {
    case OP_constant:
    case OP_while:
    case OP_if:
    case OP_case:
    case OP_call:
    case OP_composite:
    case OP_custom_call:
    case OP_optimization_barrier:
    case OP_bitcast_convert:
    case OP_get_dimension_size:
    case OP_check_expect_eq:
    case OP_check_expect_eq_const: return AS_STORED;
    case OP_reshape:
    case OP_transpose:
    case OP_broadcast_in_dim:
    case OP_reverse:
    case OP_concatenate:
    case OP_slice:
    case OP_pad:
    case OP_dynamic_slice:
    case OP_dynamic_update_slice:
    case OP_dynamic_broadcast_in_dim:
    case OP_dynamic_reshape:
    case OP_select:
    case OP_gather:
    case OP_scatter:
    case OP_sort:
    case OP_map:
    case OP_reduce:
    case OP_reduce_window:
    case OP_select_and_scatter:
    case OP_all_reduce:
    case OP_reduce_scatter:
    case OP_all_gather:
    case OP_all_to_all: return AS_MOVED;
    case OP_convert:
    case OP_rng:
    case OP_rng_bit_generator: return AS_NOTHING;
    default: return AS_REAL;
    }
}

/* May operand i (results come after the operands) have a scale per element of an axis? */
static bool may_have_axis(const draft_t *d, size_t i)
{
    switch (d->code) {
    case OP_invalid: /* uniform_quantize and its like */
    case OP_add:
    case OP_reshape:
    case OP_transpose:
    case OP_broadcast_in_dim:
    case OP_dynamic_broadcast_in_dim:
    case OP_dynamic_reshape: return true;
    case OP_dot_general:
    case OP_convolution: return i > 0;
    default: return manner_of(d->code) == AS_STORED;
    }
}

/* --- the operands' types, then the results' --- */

static const ir_type_t *type_at(const parser_t *p, const draft_t *d, size_t i)
{
    return i < d->in.n ? ir_type_of(p->fn, d->in.at[i]) : &d->out.at[i - d->in.n];
}

static const quant_t *quant_at(const parser_t *p, const draft_t *d, size_t i)
{
    return wide_quant(p, type_at(p, d, i));
}

static int mismatch(parser_t *p, const draft_t *d, const char *what, size_t i, size_t k)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    return parse_fail(p, d->name.at, ERR_TYPE, "%.*s: %s of %s and %s differ", (int)d->name.n,
                      d->name.at, what, parse_type_text(p, type_at(p, d, i), a),
                      parse_type_text(p, type_at(p, d, k), b));
}

/* The same numbers, perhaps along another axis; one number for a dimension of one stands for all.
 */
static bool same_numbers(const quant_t *a, const quant_t *b)
{
    if (a->storage != b->storage || a->expressed != b->expressed || a->min != b->min ||
        a->max != b->max || (a->axis < 0) != (b->axis < 0))
        return false;
    if (a->n != b->n && a->n != 1) return false;
    for (int i = 0; i < b->n; i++) {
        int k = a->n == 1 ? 0 : i;
        if (a->scale[k] != b->scale[i] || a->zero[k] != b->zero[i]) return false;
    }
    return true;
}

/* Where the axis of the operand's scales is in the result. */
static int64_t moved_axis(const parser_t *p, const draft_t *d, const quant_t *q)
{
    int n;
    const int64_t *dims;
    if (d->code == OP_broadcast_in_dim || d->code == OP_dynamic_broadcast_in_dim) {
        dims = attr_ints(&d->attrs, "broadcast_dimensions", &n);
        return dims && q->axis < n ? dims[q->axis] : -1;
    }
    if (d->code == OP_transpose) {
        dims = attr_ints(&d->attrs, "permutation", &n);
        for (int i = 0; dims && i < n; i++)
            if (dims[i] == q->axis) return i;
        return -1;
    }
    const ir_type_t *from = type_at(p, d, 0), *to = type_at(p, d, d->in.n);
    int64_t before = 1, seen = 1;
    for (int i = 0; i < q->axis; i++) before *= from->dim[i];
    for (int i = 0; i < to->rank; i++) {
        if (seen == before && to->dim[i] == q->n) return i;
        seen *= to->dim[i];
    }
    return -1;
}

/* Each quantised result is quantised as an operand, its axis moved as the op moves it. */
static int check_moved(parser_t *p, const draft_t *d)
{
    for (size_t r = d->in.n; r < d->in.n + d->out.n; r++) {
        const quant_t *out = quant_at(p, d, r);
        bool found = !out;
        size_t last = 0;
        for (size_t i = 0; !found && i < d->in.n; i++) {
            const quant_t *in = quant_at(p, d, i);
            if (!in) continue;
            last = i;
            found = same_numbers(in, out) && (in->axis < 0 || moved_axis(p, d, in) == out->axis);
        }
        if (!found) return mismatch(p, d, "the scales", last, r);
    }
    bool one_kind = d->code == OP_concatenate || d->code == OP_pad || d->code == OP_select ||
                    d->code == OP_dynamic_update_slice || d->code == OP_select_and_scatter;
    for (size_t i = 1; one_kind && i < d->in.n; i++) {
        const quant_t *a = quant_at(p, d, i - 1), *b = quant_at(p, d, i);
        if (a && b && a != b) return mismatch(p, d, "the scales", i - 1, i);
    }
    return 0;
}

/* --- ops on the floats --- */

/* Element by element: all are stored and expressed alike, and none is a plain float. */
static int check_map(parser_t *p, const draft_t *d)
{
    size_t n = d->in.n + d->out.n, first = n;
    for (size_t i = 0; i < n; i++) {
        const quant_t *q = quant_at(p, d, i), *a = first < n ? quant_at(p, d, first) : q;
        if (!q) continue;
        if (first == n) first = i;
        if (q->storage != a->storage || q->expressed != a->expressed)
            return mismatch(p, d, "the element types", first, i);
    }
    for (size_t i = 0; i < n; i++) {
        const ir_type_t *type = type_at(p, d, i);
        if (quant_at(p, d, i) || type->dtype == DT_I1) continue;
        return mismatch(p, d, "the element types", first, i);
    }
    return 0;
}

/* add of tensors with scales along an axis gives one along the same axis. */
static int check_add_axes(parser_t *p, const draft_t *d)
{
    const quant_t *q[3] = {quant_at(p, d, 0), quant_at(p, d, 1), quant_at(p, d, 2)};
    for (size_t i = 0; i < 3; i++)
        if (!q[i]) return mismatch(p, d, "the element types", i, i == 2 ? 0 : 2);
    bool has_axis = q[0]->axis >= 0 || q[1]->axis >= 0;
    for (size_t i = 0; i < 2; i++)
        if (q[i]->axis >= 0 && q[i]->axis != q[2]->axis) return mismatch(p, d, "the axes", i, 2);
    return has_axis == (q[2]->axis >= 0) ? 0 : mismatch(p, d, "the axes", 0, 2);
}

/* dot_general, convolution: only the right operand and the result may have an axis; a plain left
 * operand is for a plain result. */
static int check_contraction(parser_t *p, const draft_t *d)
{
    const quant_t *a = quant_at(p, d, 0), *b = quant_at(p, d, 1), *y = quant_at(p, d, 2);
    if (!b) return mismatch(p, d, "the element types", 0, 1);
    for (int i = 0; i < b->n; i++)
        if (b->zero[i])
            return parse_fail(p, d->name.at, ERR_TYPE,
                              "%.*s: zero points of the right operand are 0, not %lld",
                              (int)d->name.n, d->name.at, (long long)b->zero[i]);
    if (!a) {
        dtype_t dtype = type_at(p, d, 0)->dtype;
        if (dtype != b->expressed) return mismatch(p, d, "the element types", 0, 1);
        return dtype == type_at(p, d, 2)->dtype ? 0 : mismatch(p, d, "the element types", 0, 2);
    }
    if (!y || a->expressed != y->expressed) return mismatch(p, d, "the element types", 0, 2);
    if (a->storage != b->storage || a->expressed != b->expressed)
        return mismatch(p, d, "the element types", 0, 1);
    if (b->axis < 0 && y->axis >= 0) return mismatch(p, d, "the axes", 1, 2);
    int n;
    const int64_t *dims = attr_ints(&d->attrs, "rhs_contracting_dimensions", &n);
    for (int i = 0; dims && i < n; i++)
        if (b->axis >= 0 && dims[i] == b->axis) return mismatch(p, d, "the axes", 1, 2);
    return 0;
}

static int check_real(parser_t *p, const draft_t *d)
{
    if (d->code == OP_dot_general || d->code == OP_convolution) return check_contraction(p, d);
    if (d->code == OP_invalid || d->def->kind != K_MAP) return 0;
    if (check_map(p, d) < 0) return -1;
    return d->code == OP_add ? check_add_axes(p, d) : 0;
}

int quant_is_stored(parser_t *p, const draft_t *d)
{
    manner_t manner = manner_of(d->code);
    if (manner == AS_NOTHING && d->code != OP_invalid)
        return parse_fail(p, d->name.at, ERR_TYPE, "%.*s takes no quantised tensors",
                          (int)d->name.n, d->name.at);
    for (size_t i = 0; i < d->in.n + d->out.n; i++) {
        const quant_t *q = quant_at(p, d, i);
        if (q && q->axis >= 0 && !may_have_axis(d, i))
            return parse_fail(p, d->name.at, ERR_TYPE,
                              "%.*s takes quantised tensors with one scale, not one per axis",
                              (int)d->name.n, d->name.at);
    }
    if (manner == AS_STORED) return 1;
    for (size_t i = 0; i < d->in.n + d->out.n; i++) {
        char text[IR_TYPE_TEXT];
        const ir_type_t *type = type_at(p, d, i);
        if (wide_is(type) && !wide_quant(p, type))
            return parse_fail(p, d->name.at, ERR_TYPE, "%.*s takes no %s", (int)d->name.n,
                              d->name.at, parse_type_text(p, type, text));
    }
    if (manner == AS_MOVED) return check_moved(p, d) < 0 ? -1 : 1;
    return check_real(p, d) < 0 ? -1 : 0;
}
