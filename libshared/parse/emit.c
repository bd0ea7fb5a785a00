/* From a draft to ops: counts, operands and results as tensors where the text has other types, and
 * the functions that an op uses. */
#include <string.h>

#include "parse/quant.h"
#include "parse/refine.h"

static int count_error(parser_t *p, const draft_t *d, const char *what, size_t got, int want)
{
    if (want < 0 || got == (size_t)want) return 0;
    return parse_fail(p, d->name.at, ERR_PARSE, "%.*s has %d %s, got %zu", (int)d->name.n,
                      d->name.at, want, what, got);
}

/* The types of operands and results as written. */
static const ir_type_t *written_types(parser_t *p, const draft_t *d)
{
    ir_type_t *types = ARENA_ARRAY(p->arena, ir_type_t, d->in.n + d->out.n + 1);
    for (size_t i = 0; i < d->in.n; i++) types[i] = *ir_type_of(p->fn, d->in.at[i]);
    for (size_t i = 0; i < d->out.n; i++) types[d->in.n + i] = d->out.at[i];
    return types;
}

const char *parse_scoped(parser_t *p, const char *name)
{
    return p->scope ? arena_printf(p->arena, "%s.%s", p->scope, name) : name;
}

/* In a nested module the function has the module's name in front. */
static void scope_callee(parser_t *p, const draft_t *d, ir_op_t *op)
{
    if (!p->scope || (d->code != OP_call && d->code != OP_composite)) return;
    const char *name = d->code == OP_call ? "callee" : "decomposition";
    const ir_attr_t *callee = attr_find(&op->attrs, name);
    if (!callee || callee->kind != ATTR_SYMBOL) return;
    const char *scoped = parse_scoped(p, callee->text);
    attr_remove(&op->attrs, name);
    attr_set_text(p->arena, &op->attrs, name, ATTR_SYMBOL, scoped);
}

/* Remember which function an op uses, to be looked up when all are known. */
static void note_use(parser_t *p, const draft_t *d, const ir_op_t *op)
{
    if (d->code != OP_call && d->code != OP_composite) return;
    const char *name = d->code == OP_call ? "callee" : "decomposition";
    const ir_attr_t *callee = attr_find(&op->attrs, name);
    if (!callee || callee->kind != ATTR_SYMBOL) return; /* the verifier will say so */
    use_t use = {d->name.at,    callee->text,        (int)d->in.n,
                 (int)d->out.n, written_types(p, d), refine_operands(p, d)};
    VEC_PUSH(&p->uses, use);
}

static ir_op_t *make(parser_t *p, const draft_t *d, const vals_t *in, const types_t *out,
                     ir_region_t *into)
{
    ir_op_t *op = ir_op_new(p->fn, d->code, (int)in->n, in->at, (int)out->n, out->at,
                            (int)d->region.n);
    for (size_t i = 0; i < d->region.n; i++) {
        op->region[i] = d->region.at[i];
        op->region[i]->parent = op;
    }
    op->attrs = d->attrs;
    op->line = d->line;
    ir_region_append(into, op, p->arena);
    scope_callee(p, d, op);
    note_use(p, d, op);
    return op;
}

/* --- ops on leaves --- */

/* What a branch gives, and what a loop's body does, has the types as written, not only the same
 * leaves. */
static int check_yields(parser_t *p, const draft_t *d)
{
    char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
    bool loop = d->code == OP_while;
    if (!loop && d->code != OP_if && d->code != OP_case) return 0;
    for (size_t r = loop ? 1 : 0; r < d->yield.n; r++) {
        const yield_t *y = &d->yield.at[r];
        for (size_t i = 0; i < y->n && i < d->out.n; i++)
            if (!ir_type_equal(&y->type[i], &d->out.at[i]))
                return parse_fail(
                    p, d->name.at, ERR_TYPE, "%.*s: region %zu gives %s as result %zu, which is %s",
                    (int)d->name.n, d->name.at, r, parse_type_text(p, &y->type[i], got), i,
                    parse_type_text(p, &d->out.at[i], want));
    }
    return 0;
}

static bool any_wide(const types_t *types)
{
    for (size_t i = 0; i < types->n; i++)
        if (wide_is(&types->at[i])) return true;
    return false;
}

static int on_leaves(parser_t *p, const draft_t *d, ir_region_t *into, ir_val_t *first)
{
    vals_t in = {0};
    types_t out = {0};
    int rc = check_yields(p, d);
    for (size_t i = 0; i < d->in.n; i++) wide_leaves(p, d->in.at[i], &in);
    for (size_t i = 0; rc == 0 && i < d->out.n; i++) rc = wide_leaf_types(p, &d->out.at[i], &out);
    if (rc == 0) *first = make(p, d, &in, &out, into)->out;
    if (rc == 0 && any_wide(&d->out)) *first = wide_values(p, d->out.n, d->out.at, *first);
    VEC_FREE(&in);
    VEC_FREE(&out);
    return rc;
}

/* --- ops on the floats of quantised tensors --- */

/* The results: quantised where they are; a new row of values then. */
static void store_results(parser_t *p, const draft_t *d, ir_region_t *into, ir_val_t real,
                          ir_val_t *first)
{
    *first = real;
    if (!any_wide(&d->out)) return;
    vals_t stored = {0};
    for (size_t i = 0; i < d->out.n; i++) {
        ir_val_t y = real + (ir_val_t)i;
        if (wide_is(&d->out.at[i])) y = quant_from_real(p, y, &d->out.at[i], into);
        VEC_PUSH(&stored, y);
    }
    for (size_t i = 0; i < d->out.n; i++) {
        ir_val_t value = wide_value(p, &d->out.at[i], &stored.at[i], 1);
        if (i == 0) *first = value;
    }
    VEC_FREE(&stored);
}

static ir_type_t real_type(const parser_t *p, const ir_type_t *type)
{
    const quant_t *q = wide_quant(p, type);
    return q ? ir_type_with(*type, q->expressed) : *type;
}

/* The op itself, on floats; uniform_quantize and its like are nothing but the two conversions. */
static int real_op(parser_t *p, const draft_t *d, ir_region_t *into, const vals_t *in,
                   ir_val_t *real)
{
    types_t out = {0};
    for (size_t i = 0; i < d->out.n; i++) {
        ir_type_t type = real_type(p, &d->out.at[i]);
        VEC_PUSH(&out, type);
    }
    int rc = 0;
    if (d->code != OP_invalid) {
        *real = make(p, d, in, &out, into)->out;
    } else {
        char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
        const ir_type_t *from = ir_type_of(p->fn, in->at[0]);
        *real = in->at[0];
        if (!ir_type_equal(from, &out.at[0]))
            rc = parse_fail(p, d->name.at, ERR_TYPE, "%.*s: %s stands for %s, not %s",
                            (int)d->name.n, d->name.at, "the operand", ir_type_text(from, a),
                            ir_type_text(&out.at[0], b));
    }
    VEC_FREE(&out);
    return rc;
}

static int on_floats(parser_t *p, const draft_t *d, ir_region_t *into, ir_val_t *first)
{
    vals_t in = {0};
    int n_before = into->n_op;
    ir_val_t real = IR_NONE;
    for (size_t i = 0; i < d->in.n; i++) {
        const ir_type_t type = *ir_type_of(p->fn, d->in.at[i]);
        wide_leaves(p, d->in.at[i], &in);
        if (wide_is(&type)) in.at[i] = quant_to_real(p, in.at[i], &type, into);
    }
    int rc = real_op(p, d, into, &in, &real);
    if (rc == 0) store_results(p, d, into, real, first);
    for (int i = n_before; i < into->n_op; i++) into->op[i]->line = d->line;
    VEC_FREE(&in);
    return rc;
}

int parse_check_counts(parser_t *p, const draft_t *d)
{
    if (count_error(p, d, "operands", d->in.n, d->def->n_in) < 0 ||
        count_error(p, d, "results", d->out.n, d->def->n_out) < 0)
        return -1;
    return count_error(p, d, "regions", d->region.n, d->def->n_region);
}

static bool wide_is_used(const parser_t *p, const draft_t *d)
{
    bool used = any_wide(&d->out);
    for (size_t i = 0; !used && i < d->in.n; i++) used = wide_is(ir_type_of(p->fn, d->in.at[i]));
    return used;
}

int parse_emit(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    if (refine_results(p, d) < 0) return -1;
    parse_promote(p, d, into);
    if (p->wide.n == 0) {
        *first = make(p, d, &d->in, &d->out, into)->out;
        return 0;
    }
    if (!wide_is_used(p, d)) return on_leaves(p, d, into, first);
    int stored = quant_is_stored(p, d);
    if (stored < 0) return -1;
    return stored ? on_leaves(p, d, into, first) : on_floats(p, d, into, first);
}
