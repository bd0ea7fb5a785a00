/* Pretty forms of ops without regions and calls: one function per op_form_t. The cursor stands
 * behind the op's name; the op's attributes go into d->attrs under their StableHLO names. */
#include <string.h>

#include "parse/parser.h"

/* `{..}` and the types: the end of most forms. */
static int tail(parser_t *p, draft_t *d)
{
    return parse_optional_attributes(p, &d->attrs) < 0 ? -1 : parse_signature(p, d);
}

static int form_operands(parser_t *p, draft_t *d)
{
    if (parse_optional_attributes(p, &d->attrs) < 0 || parse_operands(p, &d->in) < 0) return -1;
    if (d->in.n == 0 && d->def->n_in < 0 && parse_accept(p, '(')) return parse_expect(p, ')', ")");
    return tail(p, d);
}

/* `, word = ` */
static int member(parser_t *p, const char *word)
{
    if (parse_expect(p, ',', ",") < 0 || parse_expect_word(p, word) < 0) return -1;
    return parse_expect(p, '=', "=");
}

static int set_list(parser_t *p, draft_t *d, const char *name)
{
    ints_t ints = {0};
    int rc = parse_int_list(p, &ints);
    if (rc == 0) parse_set_ints(p, &d->attrs, name, &ints);
    VEC_FREE(&ints);
    return rc;
}

static int set_int(parser_t *p, draft_t *d, const char *name)
{
    int64_t value;
    if (parse_int(p, &value) < 0) return -1;
    attr_set_int(p->arena, &d->attrs, name, value);
    return 0;
}

static int set_enum(parser_t *p, draft_t *d, const char *name)
{
    if (p->tok.kind != TOK_ID) return parse_expected(p, "a word");
    attr_set_text(p->arena, &d->attrs, name, ATTR_ENUM, parse_dup(p, p->tok, 0));
    parse_next(p);
    return 0;
}

/* constant {..} dense<..> : T, or constant() {value = dense<..> : T} : () -> U, where U may be
 * quantised and the attribute in <{..}> */
static int form_constant(parser_t *p, draft_t *d)
{
    ir_attr_t value = {.name = "value", .kind = ATTR_TENSOR};
    if (parse_accept(p, '('))
        return parse_expect(p, ')', ")") < 0 || parse_properties(p, &d->attrs) < 0 ? -1
                                                                                   : tail(p, d);
    if (parse_optional_attributes(p, &d->attrs) < 0) return -1;
    if (parse_literal(p, &value.tensor) < 0) return -1;
    VEC_PUSH(&d->out, p->literal);
    attr_set(p->arena, &d->attrs, value);
    return 0;
}

/* compare LT, %a, %b, SIGNED : fn */
static int form_compare(parser_t *p, draft_t *d)
{
    if (set_enum(p, d, "comparison_direction") < 0) return -1;
    if (parse_expect(p, ',', ",") < 0 || parse_operands(p, &d->in) < 0) return -1;
    if (parse_accept(p, ',') && set_enum(p, d, "compare_type") < 0) return -1;
    return tail(p, d);
}

void parse_settle_compare(parser_t *p, draft_t *d)
{
    const char *kind = attr_text(&d->attrs, "compare_type", "");
    bool is_signed = strcmp(kind, "SIGNED") == 0, is_unsigned = strcmp(kind, "UNSIGNED") == 0;
    if (d->in.n != 2 || (!is_signed && !is_unsigned)) return;
    dtype_t dtype = ir_type_of(p->fn, d->in.at[0])->dtype;
    if (dtype >= DT_COUNT || dtype_is_inexact(dtype) || dtype == DT_I1) return;
    if (dtype_is_unsigned(dtype) == is_unsigned) return;
    parse_note(p, SEEN_COMPARE, d->line, kind);
    attr_remove(&d->attrs, "compare_type");
}

/* select %p, %a, %b : P, T */
static int form_select(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0 || parse_optional_attributes(p, &d->attrs) < 0) return -1;
    if (parse_expect(p, ':', ": and the types") < 0) return -1;
    if (p->tok.kind == '(') return parse_function_type(p, d);
    ir_type_t type;
    const char *at = p->tok.at;
    if (parse_type(p, &type) < 0 || parse_check_operand(p, d, 0, &type, at) < 0) return -1;
    if (parse_accept(p, ',')) {
        at = p->tok.at;
        if (parse_type(p, &type) < 0) return -1;
    }
    for (size_t i = 1; i < 3; i++)
        if (parse_check_operand(p, d, i, &type, at) < 0) return -1;
    VEC_PUSH(&d->out, type);
    return 0;
}

/* iota dim = 0 : T, dynamic_iota %s, dim = 0 : fn, concatenate %a, %b, dim = 0 : fn */
static int form_dim(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0) return -1;
    if (d->in.n && parse_expect(p, ',', ",") < 0) return -1;
    if (parse_expect_word(p, "dim") < 0 || parse_expect(p, '=', "=") < 0) return -1;
    return set_int(p, d, d->def->dims_attr) < 0 ? -1 : tail(p, d);
}

/* op %x, dims = [..] : T | fn */
static int form_dims(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0 || member(p, "dims") < 0) return -1;
    return set_list(p, d, d->def->dims_attr) < 0 ? -1 : tail(p, d);
}

typedef struct {
    ints_t start, limit, stride;
} ranges_t;

static int ranges(parser_t *p, ranges_t *r)
{
    if (parse_expect(p, '[', "[ of the slice") < 0) return -1;
    while (p->tok.kind != ']') {
        int64_t start, limit, stride = 1;
        if (parse_int(p, &start) < 0 || parse_expect(p, ':', ":") < 0 || parse_int(p, &limit) < 0)
            return -1;
        if (parse_accept(p, ':') && parse_int(p, &stride) < 0) return -1;
        VEC_PUSH(&r->start, start);
        VEC_PUSH(&r->limit, limit);
        VEC_PUSH(&r->stride, stride);
        if (p->tok.kind != ']' && parse_expect(p, ',', ", or ]") < 0) return -1;
    }
    parse_next(p);
    return 0;
}

/* slice %x [0:8:2, 1:3] : fn */
static int form_slice(parser_t *p, draft_t *d)
{
    ranges_t r = {0};
    int rc = parse_operands(p, &d->in);
    if (rc == 0) rc = ranges(p, &r);
    if (rc == 0) {
        parse_set_ints(p, &d->attrs, "start_indices", &r.start);
        parse_set_ints(p, &d->attrs, "limit_indices", &r.limit);
        parse_set_ints(p, &d->attrs, "strides", &r.stride);
    }
    VEC_FREE(&r.start);
    VEC_FREE(&r.limit);
    VEC_FREE(&r.stride);
    return rc < 0 ? -1 : tail(p, d);
}

/* dynamic_slice %x, %i, sizes = [..] : fn */
static int form_dynamic_slice(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0 || member(p, "sizes") < 0) return -1;
    return set_list(p, d, "slice_sizes") < 0 ? -1 : tail(p, d);
}

/* pad %x, %v, low = [..], high = [..], interior = [..] : fn */
static int form_pad(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0) return -1;
    if (member(p, "low") < 0 || set_list(p, d, "edge_padding_low") < 0) return -1;
    if (member(p, "high") < 0 || set_list(p, d, "edge_padding_high") < 0) return -1;
    if (member(p, "interior") < 0 || set_list(p, d, "interior_padding") < 0) return -1;
    return tail(p, d);
}

/* reduce_precision %x, format = e5m10 : T */
static int form_reduce_precision(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0 || member(p, "format") < 0) return -1;
    token_t t = p->tok;
    const char *m = t.kind == TOK_ID ? memchr(t.at, 'm', t.n) : NULL;
    bool negative;
    uint64_t exponent, mantissa;
    if (!m || *t.at != 'e' || !number_int(t.at + 1, (size_t)(m - t.at - 1), &negative, &exponent) ||
        negative || !number_int(m + 1, (size_t)(t.at + t.n - m - 1), &negative, &mantissa) ||
        negative || exponent > INT32_MAX || mantissa > INT32_MAX)
        return parse_expected(p, "a format like e5m10");
    attr_set_int(p->arena, &d->attrs, "exponent_bits", (int64_t)exponent);
    attr_set_int(p->arena, &d->attrs, "mantissa_bits", (int64_t)mantissa);
    parse_next(p);
    return tail(p, d);
}

/* rng %a, %b, %s, distribution = UNIFORM : fn */
static int form_rng(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0 || member(p, "distribution") < 0) return -1;
    return set_enum(p, d, "rng_distribution") < 0 ? -1 : tail(p, d);
}

/* rng_bit_generator %s, algorithm = THREE_FRY : fn */
static int form_rng_bits(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0 || member(p, "algorithm") < 0) return -1;
    return set_enum(p, d, "rng_algorithm") < 0 ? -1 : tail(p, d);
}

/* fft %x, type = RFFT, length = [8] : fn */
static int form_fft(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0 || member(p, "type") < 0) return -1;
    if (set_enum(p, d, "fft_type") < 0 || member(p, "length") < 0) return -1;
    return set_list(p, d, "fft_length") < 0 ? -1 : tail(p, d);
}

/* cholesky %x [, lower = true] : T */
static int form_cholesky(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0) return -1;
    if (p->tok.kind == ',') {
        if (member(p, "lower") < 0) return -1;
        if (!parse_at(p, "true") && !parse_at(p, "false"))
            return parse_expected(p, "true or false");
        ir_attr_t lower = {.name = "lower", .kind = ATTR_BOOL, .i = parse_at(p, "true")};
        attr_set(p->arena, &d->attrs, lower);
        parse_next(p);
    }
    return tail(p, d);
}

static int form_generic(parser_t *p, draft_t *d)
{
    return parse_fail(p, d->name.at, ERR_PARSE,
                      "%.*s has the generic form only: \"%.*s\"(..) <{..}> : (..) -> ..",
                      (int)d->name.n, d->name.at, (int)d->name.n, d->name.at);
}

int parse_form(parser_t *p, draft_t *d)
{
    static int (*const forms[])(parser_t *, draft_t *) = {
        [FORM_GENERIC] = form_generic,
        [FORM_OPERANDS] = form_operands,
        [FORM_CONSTANT] = form_constant,
        [FORM_COMPARE] = form_compare,
        [FORM_SELECT] = form_select,
        [FORM_IOTA] = form_dim,
        [FORM_DIMS] = form_dims,
        [FORM_SLICE] = form_slice,
        [FORM_DYNAMIC_SLICE] = form_dynamic_slice,
        [FORM_PAD] = form_pad,
        [FORM_DIM] = form_dim,
        [FORM_DOT] = form_dot,
        [FORM_CONVOLUTION] = form_convolution,
        [FORM_REDUCE] = form_reduce,
        [FORM_WHILE] = form_while,
        [FORM_CALL] = form_call,
        [FORM_CUSTOM_CALL] = form_custom_call,
        [FORM_COMPOSITE] = form_composite,
        [FORM_REDUCE_PRECISION] = form_reduce_precision,
        [FORM_RNG] = form_rng,
        [FORM_RNG_BITS] = form_rng_bits,
        [FORM_FFT] = form_fft,
        [FORM_CHOLESKY] = form_cholesky,
        [FORM_CHLO] = form_chlo,
        [FORM_TOP_K] = form_top_k,
        [FORM_CHECK] = form_check,
    };
    return forms[d->def->form](p, d);
}
