/* Pretty forms of dot_general (and the older dot) and convolution. */
#include <string.h>

#include "ir/struct_attr.h"
#include "parse/parser.h"

static int tail(parser_t *p, draft_t *d)
{
    return parse_optional_attributes(p, &d->attrs) < 0 ? -1 : parse_signature(p, d);
}

/* `[DEFAULT, HIGHEST]`: a list of enums. */
static int enum_list(parser_t *p, draft_t *d, const char *name)
{
    enum { MAX_WORDS = 8 };
    ir_attr_t words[MAX_WORDS], list = {.name = name, .kind = ATTR_LIST};
    if (parse_expect(p, '[', "[ of the list") < 0) return -1;
    while (p->tok.kind != ']') {
        if (p->tok.kind != TOK_ID || list.n == MAX_WORDS) return parse_expected(p, "a word or ]");
        words[list.n] = (ir_attr_t){.kind = ATTR_ENUM};
        words[list.n++].text = parse_dup(p, p->tok, 0);
        parse_next(p);
        if (p->tok.kind != ']' && parse_expect(p, ',', ", or ]") < 0) return -1;
    }
    parse_next(p);
    list.items = arena_copy(p->arena, words, sizeof *words * (size_t)list.n);
    if (list.n == 0) list.kind = ATTR_INTS; /* as any empty list */
    attr_set(p->arena, &d->attrs, list);
    return 0;
}

/* --- dot --- */

/* `[0] x [0]` */
static int pair_of_lists(parser_t *p, draft_t *d, const char *lhs, const char *rhs)
{
    ints_t a = {0}, b = {0};
    int rc = parse_int_list(p, &a);
    if (rc == 0) rc = parse_expect_word(p, "x");
    if (rc == 0) rc = parse_int_list(p, &b);
    if (rc == 0) {
        parse_set_ints(p, &d->attrs, lhs, &a);
        parse_set_ints(p, &d->attrs, rhs, &b);
    }
    VEC_FREE(&a);
    VEC_FREE(&b);
    return rc;
}

/* `algorithm = <k = v, ..>`, kept as text. */
static int algorithm(parser_t *p, draft_t *d)
{
    if (p->tok.kind != '<') return parse_expected(p, "< of the algorithm");
    const char *from = p->tok.at;
    if (parse_skip_balanced(p) < 0) return -1;
    const char *text = arena_printf(p->arena, "#stablehlo.dot_algorithm%.*s",
                                    (int)(p->behind - from), from);
    attr_set_text(p->arena, &d->attrs, "algorithm", ATTR_RAW, text);
    return 0;
}

static int dot_member(parser_t *p, draft_t *d)
{
    token_t name = p->tok;
    if (name.kind != TOK_ID) return parse_expected(p, "a member of dot_general");
    parse_next(p);
    if (parse_expect(p, '=', "=") < 0) return -1;
    if (lex_is(name, "batching_dims"))
        return pair_of_lists(p, d, "lhs_batching_dimensions", "rhs_batching_dimensions");
    if (lex_is(name, "contracting_dims"))
        return pair_of_lists(p, d, "lhs_contracting_dimensions", "rhs_contracting_dimensions");
    if (lex_is(name, "precision")) return enum_list(p, d, "precision_config");
    if (lex_is(name, "algorithm")) return algorithm(p, d);
    return parse_fail(p, name.at, ERR_PARSE,
                      "expected batching_dims, contracting_dims, precision or algorithm");
}

int form_dot(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0) return -1;
    while (parse_accept(p, ','))
        if (dot_member(p, d) < 0) return -1;
    if (!lex_is(d->name, "stablehlo.dot")) {
        const struct_attr_t *s = struct_attr_of_op(OP_dot_general);
        for (const char *const *m = s->member; *m; m++)
            if (!attr_find(&d->attrs, *m)) parse_set_ints(p, &d->attrs, *m, &(ints_t){0});
    }
    return tail(p, d);
}

int form_legacy_dot(parser_t *p, draft_t *d)
{
    if (d->in.n != 2) return parse_fail(p, d->name.at, ERR_PARSE, "stablehlo.dot has 2 operands");
    int rank[2] = {ir_type_of(p->fn, d->in.at[0])->rank, ir_type_of(p->fn, d->in.at[1])->rank};
    if (rank[0] < 1 || rank[0] > 2 || rank[1] < 1 || rank[1] > 2)
        return parse_fail(p, d->name.at, ERR_SHAPE, "stablehlo.dot takes vectors and matrices");
    int64_t last = rank[0] - 1, first = 0;
    parse_set_ints(p, &d->attrs, "lhs_batching_dimensions", &(ints_t){0});
    parse_set_ints(p, &d->attrs, "rhs_batching_dimensions", &(ints_t){0});
    attr_set_ints(p->arena, &d->attrs, "lhs_contracting_dimensions", &last, 1);
    attr_set_ints(p->arena, &d->attrs, "rhs_contracting_dimensions", &first, 1);
    return 0;
}

/* --- convolution --- */

/* One side of the dimension numbers: position of each named dimension, and of the spatial ones. */
typedef struct {
    int64_t named[2]; /* batch and feature, or input and output feature; -1: not seen */
    int64_t spatial[IR_MAX_RANK];
    int n_spatial, n;
} conv_side_t;

static int conv_dim(parser_t *p, conv_side_t *side, const char *letters)
{
    if (side->n == IR_MAX_RANK) return parse_expected(p, "]: there are too many dimensions");
    if (p->tok.kind == TOK_INT) {
        int64_t i;
        const char *at = p->tok.at;
        if (parse_int(p, &i) < 0) return -1;
        if (i < 0 || i >= IR_MAX_RANK || side->spatial[i] >= 0)
            return parse_fail(p, at, ERR_PARSE,
                              "expected a spatial dimension that is not yet there");
        side->spatial[i] = side->n++;
        side->n_spatial++;
        return 0;
    }
    for (int k = 0; k < 2; k++) {
        const char letter[] = {letters[k], '\0'};
        if (!parse_at(p, letter) || side->named[k] >= 0) continue;
        parse_next(p);
        side->named[k] = side->n++;
        return 0;
    }
    return parse_expected(p, "a dimension (b, f, i, o or a number)");
}

/* `[b, 0, 1, f]` */
static int conv_side(parser_t *p, conv_side_t *side, const char *letters)
{
    *side = (conv_side_t){.named = {-1, -1}};
    for (int i = 0; i < IR_MAX_RANK; i++) side->spatial[i] = -1;
    const char *at = p->tok.at;
    if (parse_expect(p, '[', "[ of the dimension numbers") < 0) return -1;
    do {
        if (conv_dim(p, side, letters) < 0) return -1;
    } while (parse_accept(p, ','));
    if (side->named[0] < 0 || side->named[1] < 0)
        return parse_fail(p, at, ERR_PARSE, "dimensions %c and %c must both be there", letters[0],
                          letters[1]);
    for (int i = 0; i < side->n_spatial; i++)
        if (side->spatial[i] < 0)
            return parse_fail(p, at, ERR_PARSE, "spatial dimension %d is missing", i);
    return parse_expect(p, ']', ", or ]");
}

static void set_conv_side(parser_t *p, ir_attrs_t *attrs, const conv_side_t *side,
                          const char *first, const char *second, const char *spatial)
{
    attr_set_int(p->arena, attrs, first, side->named[0]);
    attr_set_int(p->arena, attrs, second, side->named[1]);
    attr_set_ints(p->arena, attrs, spatial, side->spatial, side->n_spatial);
}

int parse_conv_dims(parser_t *p, ir_attrs_t *attrs)
{
    conv_side_t in, kernel, out;
    if (conv_side(p, &in, "bf") < 0 || parse_expect_word(p, "x") < 0) return -1;
    if (conv_side(p, &kernel, "io") < 0 || parse_expect(p, TOK_ARROW, "->") < 0) return -1;
    if (conv_side(p, &out, "bf") < 0) return -1;
    set_conv_side(p, attrs, &in, "input_batch_dimension", "input_feature_dimension",
                  "input_spatial_dimensions");
    set_conv_side(p, attrs, &kernel, "kernel_input_feature_dimension",
                  "kernel_output_feature_dimension", "kernel_spatial_dimensions");
    set_conv_side(p, attrs, &out, "output_batch_dimension", "output_feature_dimension",
                  "output_spatial_dimensions");
    return 0;
}

/* `[[0, 1], [2, 2]]`, flattened */
static int padding(parser_t *p, ints_t *out)
{
    if (parse_expect(p, '[', "[ of the padding") < 0) return -1;
    while (p->tok.kind != ']') {
        const char *at = p->tok.at;
        size_t before = out->n;
        if (parse_int_list(p, out) < 0) return -1;
        if (out->n != before + 2) return parse_fail(p, at, ERR_PARSE, "expected [low, high]");
        if (p->tok.kind != ']' && parse_expect(p, ',', ", or ]") < 0) return -1;
    }
    parse_next(p);
    return 0;
}

/* `[false, true]` or numbers */
static int flags(parser_t *p, ints_t *out)
{
    if (parse_expect(p, '[', "[ of a list") < 0) return -1;
    while (p->tok.kind != ']') {
        int64_t value = parse_at(p, "true");
        if (value || parse_at(p, "false"))
            parse_next(p);
        else if (parse_int(p, &value) < 0)
            return -1;
        VEC_PUSH(out, value);
        if (p->tok.kind != ']' && parse_expect(p, ',', ", or ]") < 0) return -1;
    }
    parse_next(p);
    return 0;
}

static int window_member(parser_t *p, draft_t *d)
{
    static const struct {
        const char *word, *name;
        int (*parse)(parser_t *, ints_t *);
    } members[] = {{"stride", "window_strides", parse_int_list},
                   {"pad", "padding", padding},
                   {"lhs_dilate", "lhs_dilation", parse_int_list},
                   {"rhs_dilate", "rhs_dilation", parse_int_list},
                   {"reverse", "window_reversal", flags}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!parse_accept_word(p, members[i].word)) continue;
        ints_t ints = {0};
        int rc = parse_expect(p, '=', "=");
        if (rc == 0) rc = members[i].parse(p, &ints);
        if (rc == 0) parse_set_ints(p, &d->attrs, members[i].name, &ints);
        VEC_FREE(&ints);
        return rc;
    }
    return parse_expected(p, "stride, pad, lhs_dilate, rhs_dilate, reverse or }");
}

/* convolution(%a, %b) dim_numbers = [..]x[..]->[..], window = {..} {..} : fn */
int form_convolution(parser_t *p, draft_t *d)
{
    if (parse_expect(p, '(', "(") < 0 || parse_operands(p, &d->in) < 0) return -1;
    if (parse_expect(p, ')', ", or )") < 0 || parse_expect_word(p, "dim_numbers") < 0) return -1;
    if (parse_expect(p, '=', "=") < 0 || parse_conv_dims(p, &d->attrs) < 0) return -1;
    if (parse_expect(p, ',', ",") < 0 || parse_expect_word(p, "window") < 0) return -1;
    if (parse_expect(p, '=', "=") < 0 || parse_expect(p, '{', "{ of the window") < 0) return -1;
    while (p->tok.kind != '}') {
        if (window_member(p, d) < 0) return -1;
        if (p->tok.kind != '}' && parse_expect(p, ',', ", or }") < 0) return -1;
    }
    parse_next(p);
    return tail(p, d);
}
