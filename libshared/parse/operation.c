/* Operations: the frame around both forms, results and their names, regions, terminators. */
#include <string.h>

#include "parse/parser.h"

/* --- regions --- */

void block_args_fini(block_args_t *self)
{
    VEC_FREE(&self->name);
    VEC_FREE(&self->type);
}

int parse_block_args(parser_t *p, block_args_t *args)
{
    if (parse_expect(p, '(', "( of the block's arguments") < 0) return -1;
    while (p->tok.kind != ')') {
        ir_type_t type;
        ir_attrs_t dropped = {0};
        if (p->tok.kind != TOK_VALUE) return parse_expected(p, "an argument (%name)");
        VEC_PUSH(&args->name, p->tok);
        parse_next(p);
        if (parse_expect(p, ':', ": and the argument's type") < 0 || parse_type(p, &type) < 0)
            return -1;
        VEC_PUSH(&args->type, type);
        if (parse_optional_attributes(p, &dropped) < 0 || parse_location(p) < 0) return -1;
        if (p->tok.kind != ')' && parse_expect(p, ',', ", or )") < 0) return -1;
    }
    parse_next(p);
    return 0;
}

/* Make `tok` (%name or %name:count) stand for count values from `first` on. */
static int define(parser_t *p, token_t tok, ir_val_t first, int count)
{
    const char *at = tok.at + 1;
    size_t n = tok.n - 1;
    if (memchr(at, '#', n))
        return parse_fail(p, tok.at, ERR_PARSE, "expected a new name, without #");
    if (names_find(&p->names, at, n))
        return parse_fail(p, tok.at, ERR_PARSE, "'%.*s' is defined twice",
                          (int)(tok.n > 64 ? 64 : tok.n), tok.at);
    names_add(&p->names, at, n, first, count);
    for (int i = 0; i < count; i++)
        p->fn->value[first + (ir_val_t)i].name = count == 1 ? arena_strndup(p->arena, at, n)
                                                            : arena_printf(p->arena, "%.*s#%d",
                                                                           (int)n, at, i);
    return 0;
}

int parse_bind_args(parser_t *p, const block_args_t *args, ir_val_t first)
{
    for (size_t i = 0; i < args->name.n; i++)
        if (define(p, args->name.at[i], first + (ir_val_t)i, 1) < 0) return -1;
    return 0;
}

static int region_body(parser_t *p, draft_t *d, const block_args_t *args, vals_t *results)
{
    ir_region_t *region = ir_region_new(p->fn, (int)args->type.n, args->type.at);
    VEC_PUSH(&d->region, region);
    if (parse_bind_args(p, args, region->arg) < 0) return -1;
    if (parse_block(p, region, results) < 0) return -1;
    ir_region_finish(p->fn, region, (int)results->n, results->at);
    return 0;
}

/* `^bb0(..):`, if there is one. */
static int label(parser_t *p, block_args_t *args)
{
    if (!parse_accept(p, TOK_LABEL)) return 0;
    if (p->tok.kind == '(' && parse_block_args(p, args) < 0) return -1;
    return parse_expect(p, ':', ": behind the label");
}

int parse_region(parser_t *p, draft_t *d, const block_args_t *args)
{
    block_args_t own = {0};
    vals_t results = {0};
    size_t scope = names_begin(&p->names);
    int rc = parse_enter(p);
    if (rc == 0) rc = parse_expect(p, '{', "{ of a region");
    if (rc == 0 && !args) rc = label(p, &own);
    if (rc == 0) rc = region_body(p, d, args ? args : &own, &results);
    if (rc == 0) parse_leave(p);
    names_end(&p->names, scope);
    VEC_FREE(&results);
    block_args_fini(&own);
    return rc;
}

/* --- the generic form --- */

static int generic_regions(parser_t *p, draft_t *d)
{
    if (!parse_accept(p, '(')) return 0;
    do {
        if (parse_region(p, d, NULL) < 0) return -1;
    } while (parse_accept(p, ','));
    return parse_expect(p, ')', ", or ) of the regions");
}

/* `<{..}>` */
static int properties(parser_t *p, ir_attrs_t *attrs)
{
    if (!parse_accept(p, '<')) return 0;
    if (parse_expect(p, '{', "{ of the properties") < 0) return -1;
    return parse_attributes(p, attrs, '}') < 0 ? -1 : parse_expect(p, '>', "> of the properties");
}

/* `(%a, %b) <{..}> ({..}) {..} : (T, T) -> T` */
static int generic_form(parser_t *p, draft_t *d)
{
    if (parse_expect(p, '(', "( of the operands") < 0 || parse_operands(p, &d->in) < 0 ||
        parse_expect(p, ')', ", or ) of the operands") < 0)
        return -1;
    if (p->tok.kind == '[')
        return parse_fail(p, p->tok.at, ERR_UNSUPPORTED, "successor blocks are not supported");
    if (properties(p, &d->attrs) < 0 || generic_regions(p, d) < 0 ||
        parse_optional_attributes(p, &d->attrs) < 0)
        return -1;
    if (parse_expect(p, ':', ": and the types") < 0) return -1;
    return p->tok.kind == '(' ? parse_function_type(p, d) : parse_expected(p, "(types) -> types");
}

/* --- an op --- */

/* `%a, %b:2 = `, kept as the tokens of the names and, apart, their counts. */
typedef struct {
    tokens_t name;
    ints_t count;
    int64_t total;
} lefts_t;

static int left_side(parser_t *p, lefts_t *lefts)
{
    if (p->tok.kind != TOK_VALUE) return 0;
    do {
        int64_t count = 1;
        if (p->tok.kind != TOK_VALUE) return parse_expected(p, "a result (%name)");
        VEC_PUSH(&lefts->name, p->tok);
        parse_next(p);
        const char *at = p->tok.at;
        if (parse_accept(p, ':') && parse_int(p, &count) < 0) return -1;
        if (count < 1 || lefts->total + count > PARSE_MAX_RESULTS)
            return parse_fail(p, at, ERR_PARSE, "expected a number of results from 1 to %d",
                              PARSE_MAX_RESULTS);
        VEC_PUSH(&lefts->count, count);
        lefts->total += count;
    } while (parse_accept(p, ','));
    return parse_expect(p, '=', "= behind the results");
}

static int bind_results(parser_t *p, const lefts_t *lefts, ir_val_t first)
{
    for (size_t i = 0; i < lefts->name.n; i++) {
        if (define(p, lefts->name.at[i], first, (int)lefts->count.at[i]) < 0) return -1;
        first += (ir_val_t)lefts->count.at[i];
    }
    return 0;
}

static int count_error(parser_t *p, const draft_t *d, const char *what, size_t got, int want)
{
    if (want < 0 || got == (size_t)want) return 0;
    return parse_fail(p, d->name.at, ERR_PARSE, "%.*s has %d %s, got %zu", (int)d->name.n,
                      d->name.at, want, what, got);
}

/* Remember which function an op uses, to be looked up when all are known. */
static void note_use(parser_t *p, const draft_t *d, const ir_op_t *op)
{
    if (d->code != OP_call && d->code != OP_composite) return;
    const char *name = d->code == OP_call ? "callee" : "decomposition";
    const ir_attr_t *callee = attr_find(&op->attrs, name);
    if (!callee || callee->kind != ATTR_SYMBOL) return; /* the verifier will say so */
    use_t use = {d->name.at, p->fn, op, callee->text};
    VEC_PUSH(&p->uses, use);
}

static int finish_op(parser_t *p, draft_t *d, const lefts_t *lefts, ir_region_t *into)
{
    if (count_error(p, d, "operands", d->in.n, d->def->n_in) < 0 ||
        count_error(p, d, "results", d->out.n, d->def->n_out) < 0 ||
        count_error(p, d, "regions", d->region.n, d->def->n_region) < 0)
        return -1;
    if (lefts->total && lefts->total != (int64_t)d->out.n)
        return parse_fail(p, lefts->name.at[0].at, ERR_PARSE,
                          "%lld results are named, but %.*s makes %zu", (long long)lefts->total,
                          (int)d->name.n, d->name.at, d->out.n);
    ir_op_t *op = ir_op_new(p->fn, d->code, (int)d->in.n, d->in.at, (int)d->out.n, d->out.at,
                            (int)d->region.n);
    for (size_t i = 0; i < d->region.n; i++) {
        op->region[i] = d->region.at[i];
        op->region[i]->parent = op;
    }
    op->attrs = d->attrs;
    op->line = d->line;
    ir_region_append(into, op, p->arena);
    note_use(p, d, op);
    return bind_results(p, lefts, op->out);
}

static int known_op(parser_t *p, draft_t *d)
{
    d->code = op_by_name(d->name.at, d->name.n);
    if (d->code == OP_invalid)
        return parse_fail(p, d->name.at, ERR_UNSUPPORTED, "op '%.*s' is not supported",
                          (int)(d->name.n > 64 ? 64 : d->name.n), d->name.at);
    d->def = op_def(d->code);
    return 0;
}

/* Sharding ops of the sdy dialect are the identity: their results are their operands. */
static int sharding_op(parser_t *p, draft_t *d, const lefts_t *lefts, bool generic)
{
    static const op_def_t identity = {.name = "sdy", .n_in = -1, .n_out = -1};
    d->def = &identity;
    if (generic && parse_expect(p, '(', "(") < 0) return -1;
    if (parse_operands(p, &d->in) < 0) return -1;
    if (generic && parse_expect(p, ')', ")") < 0) return -1;
    if (p->tok.kind == '<' && parse_skip_balanced(p) < 0) return -1;
    if (p->tok.kind == '{' && parse_skip_balanced(p) < 0) return -1;
    if (parse_signature(p, d) < 0 || parse_location(p) < 0) return -1;
    bool same = d->in.n == d->out.n && lefts->name.n == d->in.n && lefts->total == (int64_t)d->in.n;
    for (size_t i = 0; same && i < d->in.n; i++)
        same = ir_type_equal(&d->out.at[i], ir_type_of(p->fn, d->in.at[i]));
    if (!same)
        return parse_fail(p, d->name.at, ERR_PARSE, "%.*s: expected results like the operands",
                          (int)d->name.n, d->name.at);
    for (size_t i = 0; i < d->in.n; i++) {
        token_t name = lefts->name.at[i];
        if (names_find(&p->names, name.at + 1, name.n - 1))
            return parse_fail(p, name.at, ERR_PARSE, "'%.*s' is defined twice", (int)name.n,
                              name.at);
        names_add(&p->names, name.at + 1, name.n - 1, d->in.at[i], 1);
    }
    return 0;
}

static int op_body(parser_t *p, draft_t *d, lefts_t *lefts, ir_region_t *into)
{
    if (left_side(p, lefts) < 0) return -1;
    token_t name = p->tok;
    bool generic = name.kind == TOK_STRING;
    if (!generic && name.kind != TOK_ID) return parse_expected(p, "an op");
    d->name = generic ? (token_t){TOK_ID, name.at + 1, name.n - 2} : name;
    d->line = parse_line_of(p, name.at);
    parse_next(p);
    if (lex_is(d->name, "sdy.sharding_constraint") || lex_is(d->name, "sdy.reshard"))
        return sharding_op(p, d, lefts, generic);
    if (known_op(p, d) < 0) return -1;
    if ((generic ? generic_form(p, d) : parse_form(p, d)) < 0) return -1;
    if (lex_is(d->name, "stablehlo.dot") && form_legacy_dot(p, d) < 0) return -1;
    return parse_location(p) < 0 ? -1 : finish_op(p, d, lefts, into);
}

static int operation(parser_t *p, ir_region_t *into)
{
    draft_t d = {0};
    lefts_t lefts = {0};
    int rc = op_body(p, &d, &lefts, into);
    VEC_FREE(&d.in);
    VEC_FREE(&d.out);
    VEC_FREE(&d.region);
    VEC_FREE(&lefts.name);
    VEC_FREE(&lefts.count);
    return rc;
}

/* --- blocks --- */

static bool is_terminator(token_t t)
{
    if (t.kind == TOK_STRING) t = (token_t){TOK_ID, t.at + 1, t.n - 2};
    return t.kind == TOK_ID &&
           (lex_is(t, "return") || lex_is(t, "stablehlo.return") || lex_is(t, "func.return"));
}

/* `return %a, %b : T, T` or `"stablehlo.return"(%a) : (T) -> ()` */
static int terminator(parser_t *p, draft_t *d)
{
    static const op_def_t row = {.name = "return", .n_in = -1, .n_out = -1};
    bool generic = p->tok.kind == TOK_STRING;
    d->name = p->tok;
    d->def = &row;
    parse_next(p);
    if (generic) return generic_form(p, d);
    if (parse_operands(p, &d->in) < 0 || parse_optional_attributes(p, &d->attrs) < 0) return -1;
    return d->in.n == 0 ? 0 : parse_signature(p, d);
}

static int end_block(parser_t *p, vals_t *results)
{
    draft_t d = {0};
    int rc = terminator(p, &d);
    if (rc == 0) rc = parse_location(p);
    for (size_t i = 0; rc == 0 && i < d.in.n; i++) VEC_PUSH(results, d.in.at[i]);
    VEC_FREE(&d.in);
    VEC_FREE(&d.out);
    VEC_FREE(&d.region);
    if (rc == 0 && p->tok.kind == TOK_LABEL)
        return parse_fail(p, p->tok.at, ERR_UNSUPPORTED, "more than one block is not supported");
    return rc < 0 ? -1 : parse_expect(p, '}', "} behind the terminator");
}

int parse_block(parser_t *p, ir_region_t *into, vals_t *results)
{
    while (!is_terminator(p->tok)) {
        if (p->tok.kind == '}')
            return parse_expected(p, "an op or a terminator (return, stablehlo.return)");
        if (operation(p, into) < 0) return -1;
    }
    return end_block(p, results);
}
