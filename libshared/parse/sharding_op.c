/* Ops of the sdy dialect (Shardy), read for one device: shardings are the identity, computations
 * under a name are their ops. A text that is one device's part of a larger program is refused. */
#include <string.h>

#include "parse/other_op.h"
#include "parse/wide.h"

int64_t sharding_mesh_size(const char *at, const char *end)
{
    int64_t size = 1;
    while (at < end && *at != '[' && *at != '>') at++;
    for (; at < end && *at != ']' && *at != '>'; at++) {
        uint64_t axis = 0;
        bool negative;
        if (*at == '"') {
            const char *behind = lex_skip_string(at, end);
            if (!behind) return size;
            at = behind - 1;
        } else if (*at == '=') {
            const char *from = lex_skip_blank(at + 1, end), *to = from;
            while (to < end && *to >= '0' && *to <= '9') to++;
            if (to > from && number_int(from, (size_t)(to - from), &negative, &axis) && axis > 1)
                size = axis < 1u << 20 && size < 1 << 20 ? size * (int64_t)axis : 1 << 20;
        }
    }
    return size;
}

int sharding_refuse_part(parser_t *p, const char *at)
{
    static const char fix[] = "export the model for one device (no mesh, no shard_map)";
    if (p->n_device > 1)
        return parse_fail(p, at, ERR_UNSUPPORTED,
                          "this text is one device's part of a program for %lld: %s",
                          (long long)p->n_device, fix);
    return parse_fail(p, at, ERR_UNSUPPORTED,
                      "this text is one device's part of a program for several: %s", fix);
}

static void note(parser_t *p, const draft_t *d)
{
    parse_note(p, SEEN_SHARDING, d->line, "");
}

/* --- the results are the operands --- */

int form_sharding(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0) return -1;
    if (p->tok.kind == '<' && parse_skip_balanced(p) < 0) return -1;
    return parse_optional_attributes(p, &d->attrs) < 0 ? -1 : parse_signature(p, d);
}

int form_propagation(parser_t *p, draft_t *d)
{
    if (parse_operand(p, &d->in) < 0 || parse_expect_word(p, "allowed_direction") < 0 ||
        parse_expect(p, '=', "=") < 0)
        return -1;
    parse_next(p);
    return parse_optional_attributes(p, &d->attrs) < 0 ? -1 : parse_signature(p, d);
}

int form_group(parser_t *p, draft_t *d)
{
    int64_t id;
    ir_type_t type;
    if (parse_operand(p, &d->in) < 0 || parse_expect_word(p, "group_id") < 0 ||
        parse_expect(p, '=', "=") < 0 || parse_int(p, &id) < 0 ||
        parse_optional_attributes(p, &d->attrs) < 0 || parse_expect(p, ':', ":") < 0)
        return -1;
    const char *at = p->tok.at;
    return parse_type(p, &type) < 0 ? -1 : parse_check_operand(p, d, 0, &type, at);
}

int finish_nothing(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    (void)into, (void)first;
    note(p, d);
    return 0;
}

int finish_same(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
    (void)into;
    if (!ir_type_equal(&d->out.at[0], ir_type_of(p->fn, d->in.at[0])))
        return parse_fail(p, d->name.at, ERR_TYPE, "%.*s: %s is not the operand's type, %s",
                          (int)d->name.n, d->name.at, parse_type_text(p, &d->out.at[0], got),
                          parse_type_text(p, ir_type_of(p->fn, d->in.at[0]), want));
    *first = d->in.at[0];
    return 0;
}

int finish_sharding(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    note(p, d);
    return finish_same(p, d, into, first);
}

/* --- computations under a name, on a mesh --- */

/* `word=[..]` or `word={..}`, any number of them. */
static int skip_settings(parser_t *p)
{
    while (p->tok.kind == TOK_ID) {
        parse_next(p);
        if (parse_expect(p, '=', "=") < 0) return -1;
        if (p->tok.kind != '[' && p->tok.kind != '{') return parse_expected(p, "[ or {");
        if (parse_skip_balanced(p) < 0) return -1;
    }
    return 0;
}

/* On one device a part is the whole; on several its shapes are parts of shapes. */
static int check_shapes(parser_t *p, const draft_t *d, const block_args_t *args)
{
    if (args->type.n != d->in.n)
        return parse_fail(p, d->name.at, ERR_PARSE,
                          "%.*s has %zu operands, its block %zu arguments", (int)d->name.n,
                          d->name.at, d->in.n, args->type.n);
    for (size_t i = 0; i < d->in.n; i++)
        if (!ir_type_equal(&args->type.at[i], ir_type_of(p->fn, d->in.at[i])))
            return sharding_refuse_part(p, d->name.at);
    return 0;
}

static int bind_operands(parser_t *p, const draft_t *d, const block_args_t *args)
{
    vals_t row = d->in;
    for (size_t i = 0; i < row.n; i++) {
        block_args_t one = {0};
        VEC_PUSH(&one.name, args->name.at[i]);
        int rc = parse_bind_args(p, &one, row.at[i]);
        block_args_fini(&one);
        if (rc < 0) return -1;
    }
    return 0;
}

/* The body's ops go where the computation stands. */
static int splice(parser_t *p, draft_t *d, const block_args_t *args)
{
    if (check_shapes(p, d, args) < 0 || parse_enter(p) < 0) return -1;
    size_t scope = names_begin(&p->names), around = p->isolated;
    p->isolated = scope; /* it sees no names from outside, and may use them again */
    int rc = bind_operands(p, d, args);
    if (rc == 0) rc = parse_expect(p, '{', "{ of the body");
    if (rc == 0) rc = parse_block(p, d->into, &d->inner);
    names_end(&p->names, scope);
    p->isolated = around;
    if (rc < 0) return -1;
    parse_leave(p);
    return parse_optional_attributes(p, &d->attrs) < 0 ? -1 : parse_signature(p, d);
}

static int spliced(parser_t *p, draft_t *d)
{
    block_args_t args = {0};
    int rc = parse_expect(p, '(', "( of the operands");
    if (rc == 0) rc = parse_operands(p, &d->in);
    if (rc == 0) rc = parse_expect(p, ')', ", or ) of the operands");
    if (rc == 0) rc = skip_settings(p);
    if (rc == 0) rc = parse_block_args(p, &args);
    if (rc == 0) rc = splice(p, d, &args);
    block_args_fini(&args);
    return rc;
}

int form_named(parser_t *p, draft_t *d)
{
    if (p->tok.kind != '<') return parse_expected(p, "<\"name\">");
    return parse_skip_balanced(p) < 0 ? -1 : spliced(p, d);
}

int form_manual(parser_t *p, draft_t *d)
{
    if (p->n_device > 1) return sharding_refuse_part(p, d->name.at);
    return spliced(p, d);
}

int finish_spliced(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
    if (d->inner.n != d->out.n)
        return parse_fail(p, d->name.at, ERR_TYPE, "%.*s has %zu results, but returns %zu values",
                          (int)d->name.n, d->name.at, d->out.n, d->inner.n);
    for (size_t i = 0; i < d->out.n; i++) {
        const ir_type_t *is = ir_type_of(p->fn, d->inner.at[i]);
        if (!ir_type_equal(is, &d->out.at[i]))
            return parse_fail(p, d->name.at, ERR_TYPE, "%.*s: result %zu is %s, but returns %s",
                              (int)d->name.n, d->name.at, i,
                              parse_type_text(p, &d->out.at[i], want), parse_type_text(p, is, got));
    }
    return other_row(p, d, into, &d->inner, first);
}
