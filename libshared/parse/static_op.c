/* Dynamic forms of static ops: the operands that say sizes, starts or padding must be constants,
 * or follow from constants and static shapes; they become attributes. */
#include <string.h>

#include "ops/eval.h"
#include "parse/other_op.h"
#include "parse/refine.h"
#include "parse/wide.h"

/* --- values that are known while the text is read --- */

/* Bounds of the work for one operand: ops evaluated, elements of each, and how deep. */
enum { KNOWN_OPS = 256, KNOWN_ELEMENTS = 256, KNOWN_DEPTH = 32, KNOWN_OPERANDS = 64 };

static bool known(const parser_t *p, ir_val_t value, int depth, int *n_op, tensor_t *out);

/* Ops are verified after everything is read, but this one is to run now. */
static bool follows_rule(const parser_t *p, const ir_op_t *op)
{
    const op_def_t *def = op_def(op->code);
    err_t ignored = {0};
    ir_type_t type = *ir_type_of(p->fn, op->out), declared = type;
    if (def->n_in >= 0 && op->n_in != def->n_in) return false;
    if (def->infer && def->infer(p->fn, op, &type, &ignored) < 0) return false;
    return ir_type_equal(&type, &declared);
}

static bool may_run(const parser_t *p, const ir_op_t *op)
{
    if (!op || op->n_out != 1 || op->n_region != 0 || op->n_in > KNOWN_OPERANDS) return false;
    op_kind_t kind = op_def(op->code)->kind;
    if (kind != K_MAP && kind != K_VIEW && kind != K_LITERAL) return false;
    return follows_rule(p, op);
}

static bool run(const parser_t *p, const ir_op_t *op, int depth, int *n_op, tensor_t *out)
{
    tensor_t in[KNOWN_OPERANDS] = {0};
    err_t ignored = {0};
    bool ok = true;
    for (int i = 0; ok && i < op->n_in; i++) {
        if (op->code == OP_get_dimension_size) /* sees the type alone */
            in[i].type = *ir_type_of(p->fn, op->in[i]);
        else
            ok = known(p, op->in[i], depth + 1, n_op, &in[i]);
    }
    ok = ok && eval_op(p->module, p->fn, op, in, out, &ignored) == 0;
    for (int i = 0; i < op->n_in; i++) tensor_fini(&in[i]);
    return ok;
}

/* On success *out is heap-owned. */
static bool known(const parser_t *p, ir_val_t value, int depth, int *n_op, tensor_t *out)
{
    const ir_type_t *type = ir_type_of(p->fn, value);
    if (wide_is(type) || ir_type_count(type) > KNOWN_ELEMENTS) return false;
    if (depth > KNOWN_DEPTH || ++*n_op > KNOWN_OPS) return false;
    const int64_t *argument = refine_known_argument(p, value);
    if (argument) {
        *out = tensor_new(type);
        for (int64_t i = 0; i < ir_type_count(type); i++) tensor_set_i64(out, i, argument[i]);
        return true;
    }
    const ir_op_t *op = ir_def(p->fn, value);
    return may_run(p, op) && run(p, op, depth, n_op, out);
}

bool static_known_ints(parser_t *p, ir_val_t value, int64_t count, int64_t *out)
{
    tensor_t t = {0};
    int n_op = 0;
    const ir_type_t *type = ir_type_of(p->fn, value);
    if (wide_is(type) || !dtype_is_int(type->dtype) || ir_type_count(type) != count) return false;
    if (!known(p, value, 0, &n_op, &t)) return false;
    for (int64_t k = 0; k < count; k++) out[k] = tensor_get_i64(&t, k);
    tensor_fini(&t);
    return true;
}

/* Operand i as `count` numbers under the name of an attribute; `what` is the operand's name in the
 * specification. */
static int set_known(parser_t *p, draft_t *d, size_t i, const char *what, const char *name,
                     int64_t count)
{
    tensor_t t = {0};
    int n_op = 0;
    char text[IR_TYPE_TEXT];
    const ir_type_t *type = ir_type_of(p->fn, d->in.at[i]);
    if (wide_is(type) || !dtype_is_int(type->dtype) || ir_type_count(type) != count)
        return other_fail(p, d, ERR_SHAPE, "%s is %s, expected %lld integers", what,
                          parse_type_text(p, type, text), (long long)count);
    if (!known(p, d->in.at[i], 0, &n_op, &t))
        return other_fail(p, d, ERR_UNSUPPORTED,
                          "%s (operand %zu) is not a constant; export the model with static shapes",
                          what, i);
    ints_t ints = {0};
    for (int64_t k = 0; k < count; k++) {
        int64_t value = tensor_get_i64(&t, k);
        VEC_PUSH(&ints, value);
    }
    tensor_fini(&t);
    parse_set_ints(p, &d->attrs, name, &ints);
    VEC_FREE(&ints);
    return 0;
}

static int emit_as(parser_t *p, draft_t *d, op_code_t code, size_t n_in, ir_region_t *into,
                   ir_val_t *first)
{
    d->code = code;
    d->def = op_def(code);
    d->in.n = n_in;
    return parse_emit(p, d, into, first);
}

static int64_t rank_of(const parser_t *p, const draft_t *d, size_t i)
{
    return ir_type_of(p->fn, d->in.at[i])->rank;
}

int finish_dynamic_pad(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    static const char *const names[] = {"edge_padding_low", "edge_padding_high",
                                        "interior_padding"};
    for (size_t i = 0; i < 3; i++)
        if (set_known(p, d, i + 2, names[i], names[i], rank_of(p, d, 0)) < 0) return -1;
    return emit_as(p, d, OP_pad, 2, into, first);
}

int finish_real_dynamic_slice(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    static const char *const names[] = {"start_indices", "limit_indices", "strides"};
    for (size_t i = 0; i < 3; i++)
        if (set_known(p, d, i + 1, names[i], names[i], rank_of(p, d, 0)) < 0) return -1;
    return emit_as(p, d, OP_slice, 1, into, first);
}

int finish_dynamic_gather(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    if (set_known(p, d, 2, "slice_sizes", "slice_sizes", rank_of(p, d, 0)) < 0) return -1;
    return emit_as(p, d, OP_gather, 2, into, first);
}

int finish_dynamic_conv(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    int64_t n_spatial = rank_of(p, d, 0) < 2 ? 0 : rank_of(p, d, 0) - 2;
    if (set_known(p, d, 2, "padding", "padding", 2 * n_spatial) < 0) return -1;
    return emit_as(p, d, OP_convolution, 2, into, first);
}

int finish_chlo_dynamic_reshape(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    return emit_as(p, d, OP_dynamic_reshape, 2, into, first);
}

/* The result has a static shape here, so the size can only be what it was. */
int finish_set_dimension_size(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    char from[IR_TYPE_TEXT], to[IR_TYPE_TEXT];
    const ir_type_t *x = ir_type_of(p->fn, d->in.at[0]), *y = &d->out.at[0];
    int64_t dim = attr_int(&d->attrs, "dimension", -1);
    (void)into;
    if (dim < 0 || dim >= x->rank)
        return other_fail(p, d, ERR_SHAPE, "dimension %lld is outside %s", (long long)dim,
                          parse_type_text(p, x, from));
    if (set_known(p, d, 1, "size", "size", 1) < 0) return -1;
    int n;
    int64_t size = attr_ints(&d->attrs, "size", &n)[0];
    if (size != x->dim[dim] || !ir_type_equal(x, y))
        return other_fail(p, d, ERR_UNSUPPORTED,
                          "size %lld for dimension %lld of %s, result %s: the shape is not static; "
                          "export the model with static shapes",
                          (long long)size, (long long)dim, parse_type_text(p, x, from),
                          parse_type_text(p, y, to));
    *first = d->in.at[0];
    return 0;
}
