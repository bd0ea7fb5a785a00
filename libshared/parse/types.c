/* Types. Inside tensor<..> the text is read character by character, because `0x3xf32` is the
 * dimensions 0 and 3 there, not a number in hex. */
#include <string.h>

#include "parse/quant.h"
#include "parse/refine.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* `2x3x`; *at_p ends at the element type. */
static int dimensions(parser_t *p, const char **at_p, ir_type_t *type)
{
    const char *at = *at_p, *end = p->lex.end;
    for (;;) {
        at = lex_skip_blank(at, end);
        bool open = at < end && *at == '?' && p->options->shapes;
        if (at < end && (*at == '?' || *at == '*') && !open)
            return parse_fail(
                p, at, ERR_UNSUPPORTED,
                "dynamic shapes are not supported; export the model with static ones, "
                "or say what they are: --shape NAME=8x128");
        if (!open && (at == end || !is_digit(*at))) break;
        if (type->rank == IR_MAX_RANK)
            return parse_fail(p, at, ERR_UNSUPPORTED, "more than %d dimensions", IR_MAX_RANK);
        const char *from = at;
        int64_t dim = 0;
        for (; at < end && is_digit(*at); at++) {
            if (dim > (INT64_MAX - 9) / 10)
                return parse_fail(p, from, ERR_PARSE, "this dimension does not fit in 64 bits");
            dim = dim * 10 + (*at - '0');
        }
        if (open) dim = REFINE_ANY, at++;
        type->dim[type->rank++] = dim;
        at = lex_skip_blank(at, end);
        if (at == end || *at != 'x') return parse_fail(p, at, ERR_PARSE, "expected x and a type");
        at++;
    }
    *at_p = at;
    return 0;
}

/* `<f32>` behind the word `complex`. */
static int complex_element(parser_t *p, const char *at, ir_type_t *type)
{
    const char *end = p->lex.end;
    at = lex_skip_blank(at, end);
    if (at == end || *at != '<') return parse_fail(p, at, ERR_PARSE, "expected < after complex");
    at = lex_skip_blank(at + 1, end);
    const char *from = at;
    while (at < end && is_word(*at)) at++;
    type->dtype = dtype_complex(dtype_parse(from, (size_t)(at - from)));
    at = lex_skip_blank(at, end);
    if (type->dtype == DT_NONE || at == end || *at != '>')
        return parse_fail(p, from, ERR_UNSUPPORTED, "complex numbers are of f32 or f64");
    parse_jump(p, at + 1);
    return 0;
}

static int element(parser_t *p, const char *at, ir_type_t *type);

/* `!quant.uniform<..>`, or an alias of an element type. */
static int marked_element(parser_t *p, const char *at, ir_type_t *type)
{
    parse_jump(p, at);
    const alias_t *alias = p->tok.kind == TOK_BANG ? parse_alias(p, p->tok) : NULL;
    if (!alias)
        return p->tok.kind == TOK_BANG ? quant_element(p, type) : parse_expected(p, "a type");
    const char *behind = p->lex.at;
    if (parse_enter_alias(p, alias) < 0 ||
        element(p, lex_skip_blank(alias->at, p->lex.end), type) < 0)
        return -1;
    parse_leave_alias(p, behind);
    return 0;
}

/* The element type at a place in the text; the cursor is left behind it. `index` is as wide as a
 * pointer, so i64 here. */
static int element(parser_t *p, const char *at, ir_type_t *type)
{
    const char *from = at, *end = p->lex.end;
    while (at < end && is_word(*at)) at++;
    size_t n = (size_t)(at - from);
    if (n == 7 && !memcmp(from, "complex", 7)) return complex_element(p, at, type);
    if (n == 0 && from < end && *from == '!') return marked_element(p, from, type);
    if (n == 0) return parse_fail(p, from, ERR_PARSE, "expected an element type");
    type->dtype = n == 5 && !memcmp(from, "index", 5) ? DT_I64 : dtype_parse(from, n);
    if (type->dtype == DT_NONE)
        return parse_fail(p, from, ERR_UNSUPPORTED, "element type '%.*s' is not supported",
                          (int)(n > 64 ? 64 : n), from);
    parse_jump(p, at);
    return 0;
}

/* Behind the word `tensor`. */
static int tensor_type(parser_t *p, ir_type_t *type)
{
    const char *start = p->tok.at, *end = p->lex.end;
    const char *at = lex_skip_blank(p->lex.at, end);
    ir_type_t t = {0};
    if (at == end || *at != '<') return parse_fail(p, at, ERR_PARSE, "expected < after tensor");
    at++;
    if (dimensions(p, &at, &t) < 0 || element(p, at, &t) < 0) return -1;
    if (parse_accept(p, ',')) { /* an encoding says nothing about a static shape */
        ir_attr_t encoding;
        if (parse_attribute(p, &encoding, NULL) < 0) return -1;
    }
    if (parse_expect(p, '>', "> at the end of the type") < 0) return -1;
    err_t why = {0};
    const quant_t *q = wide_quant(p, &t);
    ir_type_t stored = ir_type_with(t, q ? q->storage : t.dtype);
    for (int d = 0; d < t.rank; d++)
        if (stored.dim[d] == REFINE_ANY) stored.dim[d] = 1;
    if (ir_type_check(&stored, &why) < 0) return parse_fail(p, start, why.code, "%s", why.text);
    if (q && refine_static(p, &t, start) < 0) return -1;
    if (quant_check_shape(p, &t, start) < 0) return -1;
    *type = t;
    return 0;
}

static int alias_type(parser_t *p, ir_type_t *type)
{
    const alias_t *alias = parse_alias(p, p->tok);
    if (!alias)
        return parse_fail(p, p->tok.at, ERR_UNSUPPORTED, "type '%.*s' is not supported",
                          (int)(p->tok.n > 64 ? 64 : p->tok.n), p->tok.at);
    const char *behind = p->lex.at;
    if (parse_enter_alias(p, alias) < 0 || parse_type(p, type) < 0) return -1;
    parse_leave_alias(p, behind);
    return 0;
}

int parse_type(parser_t *p, ir_type_t *type)
{
    if (parse_at(p, "tensor")) return tensor_type(p, type);
    if (p->tok.kind == TOK_BANG &&
        (lex_is(p->tok, "!stablehlo.token") || lex_is(p->tok, "!mhlo.token")))
        return wide_token_type(p, type);
    if (p->tok.kind == TOK_BANG) return alias_type(p, type);
    if (parse_at(p, "tuple")) return wide_tuple_type(p, type);
    bool other = parse_at(p, "index") || parse_at(p, "memref") || parse_at(p, "vector") ||
                 (p->tok.kind == TOK_ID && dtype_parse(p->tok.at, p->tok.n) != DT_NONE);
    if (other)
        return parse_fail(p, p->tok.at, ERR_UNSUPPORTED, "type '%.*s' is not a tensor",
                          (int)p->tok.n, p->tok.at);
    return parse_expected(p, "a type");
}

int parse_plain_type(parser_t *p, ir_type_t *type)
{
    const char *at = p->tok.at;
    char text[IR_TYPE_TEXT];
    if (parse_type(p, type) < 0 || refine_static(p, type, at) < 0) return -1;
    if (!wide_is(type)) return 0;
    return parse_fail(p, at, ERR_UNSUPPORTED, "%s is not a tensor of plain elements",
                      parse_type_text(p, type, text));
}

int parse_type_list(parser_t *p, types_t *types)
{
    do {
        ir_type_t type;
        if (parse_type(p, &type) < 0) return -1;
        VEC_PUSH(types, type);
    } while (parse_accept(p, ','));
    return 0;
}

int parse_type_group(parser_t *p, types_t *types)
{
    if (parse_expect(p, '(', "( of a list of types") < 0) return -1;
    if (parse_accept(p, ')')) return 0;
    if (parse_type_list(p, types) < 0) return -1;
    return parse_expect(p, ')', ", or )");
}

int parse_skip_type(parser_t *p)
{
    if (p->tok.kind == '(') {
        if (parse_skip_balanced(p) < 0 || parse_expect(p, TOK_ARROW, "->") < 0) return -1;
        if (p->tok.kind == '(') return parse_skip_balanced(p);
        if (parse_enter(p) < 0 || parse_skip_type(p) < 0) return -1;
        parse_leave(p);
        return 0;
    }
    if (p->tok.kind != TOK_ID && p->tok.kind != TOK_BANG) return parse_expected(p, "a type");
    parse_next(p);
    return p->tok.kind == '<' ? parse_skip_balanced(p) : 0;
}
