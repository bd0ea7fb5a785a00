/* Pretty forms with regions: reduce and while. */
#include <string.h>

#include "parse/wide.h"

/* --- reduce --- */

/* `(%x init: %i), (%y init: %j)`: inputs go into d->in, then the initial values. */
static int reduce_pairs(parser_t *p, draft_t *d)
{
    vals_t inits = {0};
    int rc = 0;
    do {
        rc = parse_expect(p, '(', "( of an input");
        if (rc == 0) rc = parse_operand(p, &d->in);
        if (rc == 0) rc = parse_expect_word(p, "init");
        if (rc == 0) rc = parse_expect(p, ':', ": behind init");
        if (rc == 0) rc = parse_operand(p, &inits);
        if (rc == 0) rc = parse_expect(p, ')', ")");
    } while (rc == 0 && parse_accept(p, ','));
    for (size_t i = 0; i < inits.n; i++) VEC_PUSH(&d->in, inits.at[i]);
    VEC_FREE(&inits);
    return rc;
}

static int dimensions(parser_t *p, draft_t *d)
{
    ints_t dims = {0};
    int rc = parse_expect_word(p, "across");
    if (rc == 0) rc = parse_expect_word(p, "dimensions");
    if (rc == 0) rc = parse_expect(p, '=', "=");
    if (rc == 0) rc = parse_int_list(p, &dims);
    if (rc == 0) parse_set_ints(p, &d->attrs, "dimensions", &dims);
    VEC_FREE(&dims);
    return rc < 0 ? -1 : parse_optional_attributes(p, &d->attrs);
}

/* The region (a, b) -> op(a, b) that `applies op` stands for. */
static int applied_region(parser_t *p, draft_t *d, token_t name)
{
    token_t known = parse_op_alias(p, name);
    op_code_t code = op_by_name(known.at, known.n);
    const op_def_t *def = code == OP_invalid ? NULL : op_def(code);
    if (!def || def->n_in != 2 || def->n_out != 1 || def->n_region != 0)
        return parse_fail(p, name.at, ERR_PARSE, "expected an op with two operands and one result");
    if (d->in.n != 2)
        return parse_fail(p, name.at, ERR_PARSE, "applies is for one input; write reducer(..)");
    ir_type_t type = *ir_type_of(p->fn, d->in.at[1]), types[2] = {type, type}, leaf = type;
    const quant_t *q = wide_quant(p, &type);
    if (wide_is(&type) && !q)
        return parse_fail(p, name.at, ERR_TYPE, "expected tensors, got %s",
                          wide_of(p, &type)->text);
    if (q) leaf.dtype = q->storage;
    ir_region_t *region = ir_region_new(p->fn, 2, (ir_type_t[]){leaf, leaf});
    ir_val_t first = q ? wide_values(p, 2, types, region->arg) : region->arg, result;
    VEC_PUSH(&d->region, region);
    draft_t inner = {.name = name, .code = code, .def = def, .line = d->line};
    VEC_PUSH(&inner.in, first);
    VEC_PUSH(&inner.in, first + 1);
    VEC_PUSH(&inner.out, type);
    vals_t leaves = {0};
    int rc = parse_emit(p, &inner, region, &result);
    if (rc == 0) wide_leaves(p, result, &leaves);
    if (rc == 0) ir_region_finish(p->fn, region, 1, leaves.at);
    VEC_FREE(&leaves);
    draft_fini(&inner);
    return rc;
}

/* `reducer(%a: S, %c: S) (%b: S, %d: S) {..}`: each pair of parentheses holds the accumulator and
 * the element of one input; the region's arguments are all accumulators, then all elements. */
static int reducer_args(parser_t *p, block_args_t *args)
{
    block_args_t pairs = {0};
    int rc = 0;
    while (rc == 0 && p->tok.kind == '(') {
        size_t before = pairs.name.n;
        const char *at = p->tok.at;
        rc = parse_block_args(p, &pairs);
        if (rc == 0 && pairs.name.n != before + 2)
            rc = parse_fail(p, at, ERR_PARSE, "expected (accumulator, element) of one input");
    }
    for (size_t half = 0; rc == 0 && half < 2; half++)
        for (size_t i = half; i < pairs.name.n; i += 2) {
            VEC_PUSH(&args->name, pairs.name.at[i]);
            VEC_PUSH(&args->type, pairs.type.at[i]);
        }
    block_args_fini(&pairs);
    return rc;
}

static int reducer_region(parser_t *p, draft_t *d)
{
    block_args_t args = {0};
    int rc = parse_expect_word(p, "reducer");
    if (rc == 0) rc = reducer_args(p, &args);
    if (rc == 0) rc = parse_region(p, d, &args);
    block_args_fini(&args);
    return rc;
}

int form_reduce(parser_t *p, draft_t *d)
{
    token_t applied = {0};
    if (reduce_pairs(p, d) < 0) return -1;
    if (parse_accept_word(p, "applies")) {
        applied = p->tok;
        if (applied.kind != TOK_ID) return parse_expected(p, "an op's name");
        parse_next(p);
    }
    if (dimensions(p, d) < 0 || parse_signature(p, d) < 0) return -1;
    return applied.at ? applied_region(p, d, applied) : reducer_region(p, d);
}

/* --- while --- */

/* `(%p = %i, %q = %j)` */
static int while_operands(parser_t *p, draft_t *d, block_args_t *args)
{
    if (parse_expect(p, '(', "(") < 0) return -1;
    while (p->tok.kind != ')') {
        if (p->tok.kind != TOK_VALUE) return parse_expected(p, "an argument (%name)");
        VEC_PUSH(&args->name, p->tok);
        parse_next(p);
        if (parse_expect(p, '=', "=") < 0 || parse_operand(p, &d->in) < 0) return -1;
        if (p->tok.kind != ')' && parse_expect(p, ',', ", or )") < 0) return -1;
    }
    parse_next(p);
    return 0;
}

static int while_body(parser_t *p, draft_t *d, block_args_t *args)
{
    if (while_operands(p, d, args) < 0) return -1;
    if (parse_accept(p, ':') && d->in.n) {
        do {
            const char *at = p->tok.at;
            ir_type_t type;
            if (parse_type(p, &type) < 0 || parse_check_operand(p, d, args->type.n, &type, at) < 0)
                return -1;
            VEC_PUSH(&args->type, type);
            VEC_PUSH(&d->out, type);
        } while (parse_accept(p, ','));
    }
    if (args->type.n != d->in.n)
        return parse_fail(p, p->tok.at, ERR_PARSE, "expected %zu types, got %zu", d->in.n,
                          args->type.n);
    if (parse_accept_word(p, "attributes") && parse_optional_attributes(p, &d->attrs) < 0)
        return -1;
    if (parse_expect_word(p, "cond") < 0 || parse_region(p, d, args) < 0) return -1;
    return parse_expect_word(p, "do") < 0 ? -1 : parse_region(p, d, args);
}

int form_while(parser_t *p, draft_t *d)
{
    block_args_t args = {0};
    int rc = while_body(p, d, &args);
    block_args_fini(&args);
    return rc;
}
