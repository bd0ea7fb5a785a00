/* Operations: the frame around both forms, results and their names, regions, terminators. */
#include <string.h>

#include "parse/other_op.h"
#include "parse/refine.h"
#include "parse/wide.h"

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
    const name_t *other = names_find(&p->names, at, n);
    if (other && (size_t)(other - p->names.entry.at) >= p->isolated)
        return parse_fail(p, tok.at, ERR_PARSE, "'%.*s' is defined twice",
                          (int)(tok.n > 64 ? 64 : tok.n), tok.at);
    names_add(&p->names, at, n, first, count);
    for (int i = 0; i < count; i++) {
        ir_value_t *value = &p->fn->value[first + (ir_val_t)i];
        if (value->name) continue; /* it passed an op that is the identity */
        value->name = count == 1 ? arena_strndup(p->arena, at, n)
                                 : arena_printf(p->arena, "%.*s#%d", (int)n, at, i);
    }
    return 0;
}

int parse_arg_types(parser_t *p, const block_args_t *args, types_t *out)
{
    for (size_t i = 0; i < args->type.n; i++)
        if (refine_static(p, &args->type.at[i], p->tok.at) < 0 ||
            wide_leaf_types(p, &args->type.at[i], out) < 0)
            return -1;
    return 0;
}

int parse_bind_args(parser_t *p, const block_args_t *args, ir_val_t first)
{
    bool plain = true;
    for (size_t i = 0; i < args->type.n; i++) plain = plain && !wide_is(&args->type.at[i]);
    if (!plain) first = wide_values(p, args->type.n, args->type.at, first);
    for (size_t i = 0; i < args->name.n; i++)
        if (define(p, args->name.at[i], first + (ir_val_t)i, 1) < 0) return -1;
    return 0;
}

/* The region's results as tensors; their types as written are kept for finish_op. */
static void end_region(parser_t *p, draft_t *d, ir_region_t *region, const vals_t *results)
{
    vals_t leaves = {0};
    ir_type_t *types = ARENA_ARRAY(p->arena, ir_type_t, results->n + 1);
    for (size_t i = 0; i < results->n; i++) {
        types[i] = *ir_type_of(p->fn, results->at[i]);
        wide_leaves(p, results->at[i], &leaves);
    }
    yield_t yield = {types, results->n};
    VEC_PUSH(&d->yield, yield);
    ir_region_finish(p->fn, region, (int)leaves.n, leaves.at);
    VEC_FREE(&leaves);
}

static int region_body(parser_t *p, draft_t *d, const block_args_t *args, vals_t *results)
{
    types_t types = {0};
    int rc = parse_arg_types(p, args, &types);
    ir_region_t *region = rc < 0 ? NULL : ir_region_new(p->fn, (int)types.n, types.at);
    VEC_FREE(&types);
    if (rc < 0) return -1;
    VEC_PUSH(&d->region, region);
    if (parse_bind_args(p, args, region->arg) < 0) return -1;
    if (parse_block(p, region, results) < 0) return -1;
    end_region(p, d, region, results);
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

int parse_properties(parser_t *p, ir_attrs_t *attrs)
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
    if (parse_properties(p, &d->attrs) < 0 || generic_regions(p, d) < 0 ||
        parse_optional_attributes(p, &d->attrs) < 0)
        return -1;
    if (parse_expect(p, ':', ": and the types") < 0) return -1;
    return p->tok.kind == '(' ? parse_function_type(p, d) : parse_expected(p, "(types) -> types");
}

/* --- an op --- */

void draft_fini(draft_t *self)
{
    VEC_FREE(&self->in);
    VEC_FREE(&self->out);
    VEC_FREE(&self->region);
    VEC_FREE(&self->yield);
    VEC_FREE(&self->inner);
}

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

static int finish_op(parser_t *p, draft_t *d, const lefts_t *lefts, ir_region_t *into)
{
    ir_val_t first = IR_NONE;
    if (parse_check_counts(p, d) < 0) return -1;
    if ((d->finish ? d->finish : parse_emit)(p, d, into, &first) < 0) return -1;
    if (lefts->total && lefts->total != (int64_t)d->out.n)
        return parse_fail(p, lefts->name.at[0].at, ERR_PARSE,
                          "%lld results are named, but %.*s makes %zu", (long long)lefts->total,
                          (int)d->name.n, d->name.at, d->out.n);
    return bind_results(p, lefts, first);
}

static int known_op(parser_t *p, draft_t *d, token_t name)
{
    int shown = (int)(d->name.n > 64 ? 64 : d->name.n);
    d->code = op_by_name(name.at, name.n);
    if (d->code == OP_invalid) {
        const char *why = parse_refusal(name);
        return parse_fail(p, d->name.at, ERR_UNSUPPORTED, "op '%.*s' is not supported%s%s", shown,
                          d->name.at, why ? ": " : "", why ? why : "");
    }
    d->def = op_def(d->code);
    return 0;
}

/* A constant's name by its location, where somebody wants it. */
static int keep_name(parser_t *p, draft_t *d)
{
    if (!p->options->constant_names || d->code != OP_constant || !parse_at(p, "loc")) return 0;
    const char *name = parse_location_name(p);
    if (p->err->code) return -1;
    if (name && *name) attr_set_text(p->arena, &d->attrs, "pcp.loc", ATTR_STRING, name);
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
    d->into = into;
    name = parse_op_alias(p, d->name);
    const text_op_t *text = parse_text_op(name);
    if (text)
        d->def = text->def, d->finish = text->finish;
    else if (known_op(p, d, name) < 0)
        return -1;
    int (*form)(parser_t *, draft_t *) = text && text->form ? text->form : parse_form;
    if ((generic ? generic_form(p, d) : form(p, d)) < 0) return -1;
    if (lex_is(name, "stablehlo.dot") && form_legacy_dot(p, d) < 0) return -1;
    if (d->code == OP_custom_call && form_named_call(p, d) < 0) return -1;
    if (d->code == OP_compare) parse_settle_compare(p, d);
    if (keep_name(p, d) < 0 || parse_location(p) < 0) return -1;
    return finish_op(p, d, lefts, into);
}

static int operation(parser_t *p, ir_region_t *into)
{
    draft_t d = {0};
    lefts_t lefts = {0};
    int rc = op_body(p, &d, &lefts, into);
    draft_fini(&d);
    VEC_FREE(&lefts.name);
    VEC_FREE(&lefts.count);
    return rc;
}

/* --- blocks --- */

static bool is_terminator(token_t t)
{
    if (t.kind == TOK_STRING) t = (token_t){TOK_ID, t.at + 1, t.n - 2};
    return t.kind == TOK_ID &&
           (lex_is(t, "return") || lex_is(t, "stablehlo.return") || lex_is(t, "func.return") ||
            lex_is(t, "mhlo.return") || lex_is(t, "sdy.return"));
}

/* `return %a, %b : T, T` or `"stablehlo.return"(%a) : (T) -> ()`; func.return has its attributes in
 * front of the operands. */
static int terminator(parser_t *p, draft_t *d)
{
    static const op_def_t row = {.name = "return", .n_in = -1, .n_out = -1};
    bool generic = p->tok.kind == TOK_STRING;
    d->name = p->tok;
    d->def = &row;
    parse_next(p);
    if (generic) return generic_form(p, d);
    if (parse_optional_attributes(p, &d->attrs) < 0 || parse_operands(p, &d->in) < 0 ||
        parse_optional_attributes(p, &d->attrs) < 0)
        return -1;
    return d->in.n == 0 ? 0 : parse_signature(p, d);
}

static int end_block(parser_t *p, vals_t *results)
{
    draft_t d = {0};
    int rc = terminator(p, &d);
    if (rc == 0) rc = parse_location(p);
    for (size_t i = 0; rc == 0 && i < d.in.n; i++) VEC_PUSH(results, d.in.at[i]);
    draft_fini(&d);
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
