/* Pretty forms of calls, checks and CHLO ops. */
#include <string.h>

#include "parse/parser.h"

static int tail(parser_t *p, draft_t *d)
{
    return parse_optional_attributes(p, &d->attrs) < 0 ? -1 : parse_signature(p, d);
}

/* `@name(%a, %b) {..} : fn`; the symbol goes into attribute `name`. */
static int symbol_call(parser_t *p, draft_t *d, const char *name, attr_kind_t kind)
{
    const char *callee;
    if (parse_symbol(p, &callee) < 0) return -1;
    attr_set_text(p->arena, &d->attrs, name, kind, callee);
    if (parse_expect(p, '(', "( of the operands") < 0 || parse_operands(p, &d->in) < 0 ||
        parse_expect(p, ')', ", or ) of the operands") < 0)
        return -1;
    return tail(p, d);
}

int form_call(parser_t *p, draft_t *d)
{
    return symbol_call(p, d, "callee", ATTR_SYMBOL);
}

int form_custom_call(parser_t *p, draft_t *d)
{
    return symbol_call(p, d, "call_target_name", ATTR_STRING);
}

/* composite "ns.name" %a, %b {decomposition = @f} : fn */
int form_composite(parser_t *p, draft_t *d)
{
    const char *name;
    if (parse_string(p, &name) < 0) return -1;
    attr_set_text(p->arena, &d->attrs, "name", ATTR_STRING, name);
    return parse_operands(p, &d->in) < 0 ? -1 : tail(p, d);
}

/* `T, U -> V` or fn */
static int arrow_types(parser_t *p, draft_t *d)
{
    if (parse_expect(p, ':', ": and the types") < 0) return -1;
    if (p->tok.kind == '(') return parse_function_type(p, d);
    ir_type_t first = {0};
    for (size_t i = 0; i == 0 || parse_accept(p, ','); i++) {
        const char *at = p->tok.at;
        ir_type_t type;
        if (parse_type(p, &type) < 0 || parse_check_operand(p, d, i, &type, at) < 0) return -1;
        if (i == 0) first = type;
    }
    if (d->code != OP_chlo_top_k && p->tok.kind != TOK_ARROW) { /* mhlo.erf %x : T */
        VEC_PUSH(&d->out, first);
        return 0;
    }
    return parse_expect(p, TOK_ARROW, "->") < 0 ? -1 : parse_result_types(p, d);
}

/* chlo.erf %x : T -> T */
int form_chlo(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0 || parse_optional_attributes(p, &d->attrs) < 0) return -1;
    return arrow_types(p, d);
}

/* chlo.top_k(%x, k = 2) : T -> (T, I) */
int form_top_k(parser_t *p, draft_t *d)
{
    int64_t k;
    if (parse_expect(p, '(', "(") < 0 || parse_operands(p, &d->in) < 0) return -1;
    if (parse_expect(p, ',', ",") < 0 || parse_expect_word(p, "k") < 0) return -1;
    if (parse_expect(p, '=', "=") < 0 || parse_int(p, &k) < 0) return -1;
    attr_set_int(p->arena, &d->attrs, "k", k);
    if (parse_expect(p, ')', ")") < 0 || parse_optional_attributes(p, &d->attrs) < 0) return -1;
    return arrow_types(p, d);
}

/* `tolerance = 0.1` or `max_ulp_difference = 3`; no type follows, as a colon starts the op's types.
 */
static int check_number(parser_t *p, draft_t *d)
{
    token_t name = p->tok;
    if (name.kind != TOK_ID) return parse_expected(p, "dense<..> or an attribute's name");
    ir_attr_t attr = {.name = parse_dup(p, name, 0), .kind = ATTR_FLOAT};
    parse_next(p);
    if (parse_expect(p, '=', "=") < 0) return -1;
    if (attr_find(&d->attrs, attr.name))
        return parse_fail(p, name.at, ERR_PARSE, "attribute '%.64s' is given twice", attr.name);
    if (p->tok.kind == TOK_FLOAT) {
        const char *behind;
        if (!number_f64(p->tok.at, p->tok.at + p->tok.n, &behind, &attr.f))
            return parse_expected(p, "a number");
        parse_next(p);
    } else {
        attr.kind = ATTR_INT;
        if (parse_int(p, &attr.i) < 0) return -1;
    }
    attr_set(p->arena, &d->attrs, attr);
    return 0;
}

/* What follows the operands, each after a comma; *constant tells of a literal with its type. */
static int check_members(parser_t *p, draft_t *d, const tensor_t **constant)
{
    while (parse_accept(p, ',')) {
        if (!parse_at(p, "dense") && !parse_at(p, "dense_resource")) {
            if (check_number(p, d) < 0) return -1;
            continue;
        }
        const char *at = p->tok.at;
        ir_attr_t value = {.name = "value", .kind = ATTR_TENSOR};
        if (parse_literal(p, &value.tensor) < 0) return -1;
        if (parse_check_operand(p, d, 0, &p->literal, at) < 0) return -1;
        attr_set(p->arena, &d->attrs, value);
        *constant = value.tensor;
    }
    return parse_optional_attributes(p, &d->attrs);
}

/* check.expect_eq_const %a, dense<..> : T   check.expect_close %a, %b, max_ulp_difference = 3 : T,
 * T */
int form_check(parser_t *p, draft_t *d)
{
    const tensor_t *constant = NULL;
    if (parse_operands(p, &d->in) < 0 || check_members(p, d, &constant) < 0) return -1;
    if (constant) return 0;
    if (parse_expect(p, ':', ": and the types") < 0) return -1;
    if (p->tok.kind == '(') return parse_function_type(p, d);
    size_t n = 0;
    do {
        const char *at = p->tok.at;
        ir_type_t type;
        if (parse_type(p, &type) < 0 || parse_check_operand(p, d, n++, &type, at) < 0) return -1;
        for (size_t i = n; i < d->in.n && p->tok.kind != ','; i++)
            if (parse_check_operand(p, d, i, &type, at) < 0) return -1;
    } while (parse_accept(p, ','));
    return 0;
}
