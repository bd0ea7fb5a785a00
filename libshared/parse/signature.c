/* Operands and the types behind the colon of an op. */
#include <string.h>

#include "parse/refine.h"

/* --- operands --- */

/* `%a` or `%a#1`, without the sign; *index is 0 when none is given. */
static void split_value(token_t tok, const char **at, size_t *n, uint64_t *index)
{
    const char *hash = memchr(tok.at, '#', tok.n);
    bool negative;
    *at = tok.at + 1;
    *n = (size_t)((hash ? hash : tok.at + tok.n) - *at);
    *index = 0;
    if (hash && !number_int(hash + 1, (size_t)(tok.at + tok.n - hash - 1), &negative, index))
        *index = UINT64_MAX;
}

int parse_operand(parser_t *p, vals_t *out)
{
    if (p->tok.kind != TOK_VALUE) return parse_expected(p, "a value (%name)");
    const char *at;
    size_t n;
    uint64_t index;
    split_value(p->tok, &at, &n, &index);
    const name_t *name = names_find(&p->names, at, n);
    int shown = (int)(p->tok.n > 64 ? 64 : p->tok.n);
    if (!name)
        return parse_fail(p, p->tok.at, ERR_PARSE, "'%.*s' is not defined before this use", shown,
                          p->tok.at);
    if (index >= (uint64_t)name->count)
        return parse_fail(p, p->tok.at, ERR_PARSE, "'%.*s': there are only %d results", shown,
                          p->tok.at, name->count);
    VEC_PUSH(out, name->value + (ir_val_t)index);
    parse_next(p);
    return 0;
}

int parse_operands(parser_t *p, vals_t *out)
{
    while (p->tok.kind == TOK_VALUE) {
        if (parse_operand(p, out) < 0) return -1;
        lexer_t before = p->lex;
        token_t comma = p->tok;
        if (!parse_accept(p, ',')) return 0;
        if (p->tok.kind == TOK_VALUE) continue;
        p->lex = before; /* the comma belongs to what follows the operands */
        p->tok = comma;
        return 0;
    }
    return 0;
}

int parse_check_operand(parser_t *p, const draft_t *d, size_t i, ir_type_t *type, const char *at)
{
    char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
    if (i >= d->in.n)
        return parse_fail(p, at, ERR_PARSE, "%.*s has %zu operands, but more operand types",
                          (int)d->name.n, d->name.at, d->in.n);
    const ir_type_t *is = ir_type_of(p->fn, d->in.at[i]);
    if (refine_fits(is, type)) {
        *type = *is;
        return 0;
    }
    return parse_fail(p, at, ERR_TYPE, "%.*s: operand %zu is %s, but %s is written here",
                      (int)d->name.n, d->name.at, i, parse_type_text(p, is, want),
                      parse_type_text(p, type, got));
}

/* --- types behind the colon --- */

int parse_result_types(parser_t *p, draft_t *d)
{
    if (p->tok.kind == '(') return parse_type_group(p, &d->out);
    ir_type_t type;
    if (parse_type(p, &type) < 0) return -1;
    VEC_PUSH(&d->out, type);
    return 0;
}

/* One type per operand, up to something that is no comma; checked. */
static int operand_types(parser_t *p, const draft_t *d, types_t *types)
{
    do {
        const char *at = p->tok.at;
        ir_type_t type;
        if (parse_type(p, &type) < 0) return -1;
        if (types->n || d->in.n != 0) { /* a lone type without operands is the result's */
            bool shared = types->n == 0 && d->def->n_out >= 0;
            if (!shared && parse_check_operand(p, d, types->n, &type, at) < 0) return -1;
        }
        VEC_PUSH(types, type);
    } while (parse_accept(p, ','));
    return 0;
}

int parse_function_type(parser_t *p, draft_t *d)
{
    size_t n = 0;
    parse_next(p);
    while (p->tok.kind != ')') {
        const char *at = p->tok.at;
        ir_type_t type;
        if (parse_type(p, &type) < 0 || parse_check_operand(p, d, n, &type, at) < 0) return -1;
        n++;
        if (p->tok.kind != ')' && parse_expect(p, ',', ", or )") < 0) return -1;
    }
    if (n != d->in.n)
        return parse_fail(p, p->tok.at, ERR_PARSE, "%.*s has %zu operands, but %zu operand types",
                          (int)d->name.n, d->name.at, d->in.n, n);
    parse_next(p);
    return parse_expect(p, TOK_ARROW, "->") < 0 ? -1 : parse_result_types(p, d);
}

/* `T`: every operand and result; `T, U`: operand by operand, and the results are the same. */
static int short_types(parser_t *p, draft_t *d, types_t *types)
{
    const char *at = p->tok.at;
    if (operand_types(p, d, types) < 0) return -1;
    if (d->def->n_out < 0) {
        if (types->n != d->in.n)
            return parse_fail(p, at, ERR_PARSE, "expected %zu types, got %zu", d->in.n, types->n);
        for (size_t i = 0; i < types->n; i++) VEC_PUSH(&d->out, types->at[i]);
        return 0;
    }
    if (types->n != 1) return parse_fail(p, at, ERR_PARSE, "expected one type, or (types) -> type");
    ir_type_t operand = types->at[0];
    if (d->def == &op_complex) operand.dtype = dtype_part(operand.dtype); /* T is the result's */
    for (size_t i = 0; i < d->in.n; i++)
        if (parse_check_operand(p, d, i, &operand, at) < 0) return -1;
    for (int i = 0; i < d->def->n_out; i++) VEC_PUSH(&d->out, types->at[0]);
    return 0;
}

int parse_signature(parser_t *p, draft_t *d)
{
    if (parse_expect(p, ':', ": and the types") < 0) return -1;
    if (p->tok.kind == '(') return parse_function_type(p, d);
    types_t types = {0};
    int rc = short_types(p, d, &types);
    VEC_FREE(&types);
    return rc;
}
