/* Modules and functions, in both forms, and what may stand around them. */
#include <string.h>

#include "parse/other_op.h"
#include "parse/refine.h"
#include "parse/wide.h"

/* What is known of a function before its body. */
typedef struct {
    const char *at; /* for messages */
    const char *name;
    bool is_private;
    block_args_t args;
    attrs_list_t arg_attrs, result_attrs;
    types_t results;
    ir_attrs_t attrs;
} signature_t;

static void signature_fini(signature_t *self)
{
    block_args_fini(&self->args);
    VEC_FREE(&self->arg_attrs);
    VEC_FREE(&self->result_attrs);
    VEC_FREE(&self->results);
}

/* --- locations of arguments --- */

/* `loc(..)` of an argument; its name is kept when no attribute names it. */
static int argument_location(parser_t *p, ir_attrs_t *attrs)
{
    if (!parse_at(p, "loc")) return 0;
    const char *name = parse_location_name(p);
    if (p->err->code) return -1;
    bool named = attr_find(attrs, "pcp.name") || attr_find(attrs, "jax.arg_info") ||
                 attr_find(attrs, "pcp.loc");
    if (name && *name && !named) attr_set_text(p->arena, attrs, "pcp.loc", ATTR_STRING, name);
    return parse_location(p);
}

/* --- signatures --- */

/* Its open dimensions, before it is added to s. */
static int fix_shape(parser_t *p, const signature_t *s, const ir_attrs_t *attrs, ir_type_t *type)
{
    size_t i = s->args.type.n;
    refine_argument_t arg = {.at = s->at,
                             .function = s->name,
                             .number = (int)i,
                             .is_private = s->is_private || p->scope};
    if (i < s->args.name.n) arg.spoken = parse_dup(p, s->args.name.at[i], 1);
    arg.exported = attr_text(attrs, "pcp.name",
                             attr_text(attrs, "jax.arg_info", attr_text(attrs, "pcp.loc", NULL)));
    return refine_argument(p, &arg, type);
}

/* `%a: T {..} loc(..)`, or `T {..}` in a declaration. */
static int parameter(parser_t *p, signature_t *s)
{
    if (p->tok.kind == TOK_VALUE) {
        VEC_PUSH(&s->args.name, p->tok);
        parse_next(p);
        if (parse_expect(p, ':', ": and the argument's type") < 0) return -1;
    } else if (s->args.name.n) {
        return parse_expected(p, "an argument (%name)");
    }
    ir_type_t type;
    ir_attrs_t attrs = {0};
    if (parse_type(p, &type) < 0 || parse_optional_attributes(p, &attrs) < 0 ||
        argument_location(p, &attrs) < 0 || fix_shape(p, s, &attrs, &type) < 0)
        return -1;
    VEC_PUSH(&s->args.type, type);
    VEC_PUSH(&s->arg_attrs, attrs);
    return 0;
}

static int parameters(parser_t *p, signature_t *s)
{
    if (parse_expect(p, '(', "( of the arguments") < 0) return -1;
    while (p->tok.kind != ')') {
        if (parameter(p, s) < 0) return -1;
        if (p->tok.kind != ')' && parse_expect(p, ',', ", or )") < 0) return -1;
    }
    parse_next(p);
    return 0;
}

/* `T`, or `(T {..}, U)` */
static int results(parser_t *p, signature_t *s)
{
    ir_type_t type;
    ir_attrs_t attrs = {0};
    if (!parse_accept(p, '(')) {
        if (parse_type(p, &type) < 0) return -1;
        VEC_PUSH(&s->results, type);
        VEC_PUSH(&s->result_attrs, attrs);
        return 0;
    }
    while (p->tok.kind != ')') {
        attrs = (ir_attrs_t){0};
        if (parse_type(p, &type) < 0 || parse_optional_attributes(p, &attrs) < 0) return -1;
        VEC_PUSH(&s->results, type);
        VEC_PUSH(&s->result_attrs, attrs);
        if (p->tok.kind != ')' && parse_expect(p, ',', ", or )") < 0) return -1;
    }
    parse_next(p);
    return 0;
}

/* Everything from the visibility to the body. */
static int signature(parser_t *p, signature_t *s)
{
    s->at = p->tok.at;
    if (parse_at(p, "private") || parse_at(p, "nested")) {
        s->is_private = true;
        parse_next(p);
    } else {
        parse_accept_word(p, "public");
    }
    s->at = p->tok.at;
    if (parse_symbol(p, &s->name) < 0 || parameters(p, s) < 0) return -1;
    if (p->scope) s->is_private = true, s->name = parse_scoped(p, s->name);
    if (parse_accept(p, TOK_ARROW) && results(p, s) < 0) return -1;
    return parse_accept_word(p, "attributes") ? parse_optional_attributes(p, &s->attrs) : 0;
}

/* --- bodies --- */

static int begin_fn(parser_t *p, const signature_t *s)
{
    if (s->args.name.n != s->args.type.n)
        return parse_fail(p, s->at, ERR_PARSE, "a function with a body names its arguments");
    types_t types = {0};
    int rc = parse_arg_types(p, &s->args, &types);
    if (rc == 0) p->fn = ir_fn_new(p->module, "", (int)types.n, types.at);
    VEC_FREE(&types);
    if (rc < 0) return -1;
    p->packs.n = 0;
    names_clear(&p->names);
    return parse_bind_args(p, &s->args, ir_fn_param(p->fn, 0));
}

static int name_fn(parser_t *p, const signature_t *s)
{
    size_t n = strlen(s->name);
    if (names_find(&p->functions, s->name, n))
        return parse_fail(p, s->at, ERR_PARSE, "function @%.64s is defined twice", s->name);
    names_add(&p->functions, s->name, n, (ir_val_t)p->module->n_fn - 1, 1);
    ir_fn_rename(p->fn, s->name);
    p->fn->is_private = s->is_private;
    p->fn->attrs = s->attrs;
    return 0;
}

static int check_results(parser_t *p, const signature_t *s, const vals_t *values)
{
    if (values->n != s->results.n)
        return parse_fail(p, s->at, ERR_TYPE, "@%.64s has %zu results, but returns %zu values",
                          s->name, s->results.n, values->n);
    for (size_t i = 0; i < values->n; i++) {
        char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
        const ir_type_t *type = ir_type_of(p->fn, values->at[i]);
        if (!refine_fits(type, &s->results.at[i]))
            return parse_fail(p, s->at, ERR_TYPE, "@%.64s: result %zu is %s, but returns %s",
                              s->name, i, parse_type_text(p, &s->results.at[i], want),
                              parse_type_text(p, type, got));
    }
    return 0;
}

/* Attributes of arguments or results, as written, to the tensors behind these: those of a tuple
 * name none of its tensors. */
static void give_attributes(const parser_t *p, const attrs_list_t *list, size_t n,
                            const ir_type_t *types, ir_attrs_t *out)
{
    for (size_t i = 0, k = 0; i < n; i++) {
        int64_t n_leaf = wide_is(&types[i]) ? wide_of(p, &types[i])->n_leaf : 1;
        if (n_leaf == 1 && i < list->n) out[k] = list->at[i];
        k += (size_t)n_leaf;
    }
}

static int finish_fn(parser_t *p, const signature_t *s, const vals_t *values)
{
    size_t n_arg = s->args.type.n;
    ir_type_t *types = ARENA_ARRAY(p->arena, ir_type_t, n_arg + values->n + 1);
    vals_t leaves = {0};
    for (size_t i = 0; i < n_arg; i++) types[i] = s->args.type.at[i];
    for (size_t i = 0; i < values->n; i++) {
        types[n_arg + i] = *ir_type_of(p->fn, values->at[i]);
        wide_leaves(p, values->at[i], &leaves);
    }
    fn_types_t written = {(int)n_arg, (int)values->n, types};
    VEC_PUSH(&p->fn_types, written);
    int rc = ir_fn_finish(p->fn, (int)leaves.n, leaves.at, p->err);
    VEC_FREE(&leaves);
    if (rc < 0) return -1;
    give_attributes(p, &s->arg_attrs, n_arg, types, p->fn->param_attrs);
    give_attributes(p, &s->result_attrs, values->n, types + n_arg, p->fn->result_attrs);
    return 0;
}

static int function_rest(parser_t *p, signature_t *s)
{
    if (signature(p, s) < 0) return -1;
    if (!parse_accept(p, '{')) return parse_location(p); /* a declaration */
    vals_t values = {0};
    int rc = begin_fn(p, s);
    if (rc == 0) rc = name_fn(p, s);
    if (rc == 0) rc = parse_block(p, p->fn->body, &values);
    if (rc == 0) rc = check_results(p, s, &values);
    if (rc == 0) rc = finish_fn(p, s, &values);
    VEC_FREE(&values);
    return rc < 0 ? -1 : parse_location(p);
}

static int function(parser_t *p)
{
    signature_t s = {0};
    parse_next(p);
    int rc = function_rest(p, &s);
    signature_fini(&s);
    return rc;
}

/* --- the generic form of functions --- */

/* A list of dictionaries under `name` is taken out of s->attrs. */
static void take_list(signature_t *s, const char *name, attrs_list_t *out)
{
    const ir_attr_t *list = attr_find(&s->attrs, name);
    for (int i = 0; list && list->kind == ATTR_LIST && i < list->n; i++) {
        const ir_attr_t *item = &list->items[i];
        bool is_dict = item->kind == ATTR_DICT;
        ir_attrs_t attrs = {is_dict ? (ir_attr_t *)item->items : NULL, is_dict ? item->n : 0};
        VEC_PUSH(out, attrs);
    }
    attr_remove(&s->attrs, name);
}

static int generic_attributes(parser_t *p, signature_t *s)
{
    const char *name = attr_text(&s->attrs, "sym_name", NULL);
    if (!name || !*name)
        return parse_fail(p, s->at, ERR_PARSE, "func.func needs the attribute sym_name");
    s->name = parse_scoped(p, name);
    const char *visibility = attr_text(&s->attrs, "sym_visibility", "public");
    s->is_private = p->scope || strcmp(visibility, "public") != 0;
    take_list(s, "arg_attrs", &s->arg_attrs);
    take_list(s, "res_attrs", &s->result_attrs);
    attr_remove(&s->attrs, "sym_name");
    attr_remove(&s->attrs, "sym_visibility");
    attr_remove(&s->attrs, "function_type"); /* the body has all of it */
    return 0;
}

/* `<{..}>`, the region up to its arguments. */
static int generic_head(parser_t *p, signature_t *s)
{
    if (parse_expect(p, '(', "(") < 0 || parse_expect(p, ')', ")") < 0) return -1;
    if (parse_accept(p, '<')) {
        if (parse_expect(p, '{', "{") < 0 || parse_attributes(p, &s->attrs, '}') < 0 ||
            parse_expect(p, '>', ">") < 0)
            return -1;
    }
    if (parse_expect(p, '(', "( of the body") < 0 || parse_expect(p, '{', "{ of the body") < 0)
        return -1;
    if (!parse_accept(p, TOK_LABEL)) return 0;
    if (p->tok.kind == '(' && parse_block_args(p, &s->args) < 0) return -1;
    return parse_expect(p, ':', ": behind the label");
}

/* `) {..} : () -> ()` behind the body. */
static int generic_tail(parser_t *p, signature_t *s)
{
    if (parse_expect(p, ')', ") behind the body") < 0 ||
        parse_optional_attributes(p, &s->attrs) < 0 || parse_expect(p, ':', ": () -> ()") < 0)
        return -1;
    return parse_skip_type(p) < 0 ? -1 : parse_location(p);
}

static int generic_rest(parser_t *p, signature_t *s)
{
    vals_t values = {0};
    if (generic_head(p, s) < 0) return -1;
    bool declaration = parse_accept(p, '}');
    int rc = declaration ? 0 : begin_fn(p, s);
    if (rc == 0 && !declaration) rc = parse_block(p, p->fn->body, &values);
    if (rc == 0) rc = generic_tail(p, s);
    if (rc == 0 && !declaration) rc = generic_attributes(p, s);
    if (rc == 0 && !declaration) rc = name_fn(p, s);
    if (rc == 0 && !declaration) rc = finish_fn(p, s, &values);
    VEC_FREE(&values);
    return rc;
}

static int generic_function(parser_t *p)
{
    signature_t s = {.at = p->tok.at};
    parse_next(p);
    int rc = generic_rest(p, &s);
    signature_fini(&s);
    return rc;
}

/* --- modules --- */

static void note_devices(parser_t *p, int64_t n)
{
    if (n > p->n_device) p->n_device = n;
}

/* `<["x"=2, "y"=4]>`, also where it is part of `<{mesh = #sdy.mesh<..>}>`, or an alias. */
static int skip_mesh(parser_t *p)
{
    const alias_t *alias = p->tok.kind == TOK_HASH ? parse_alias(p, p->tok) : NULL;
    if (alias) {
        note_devices(p, sharding_mesh_size(alias->at, p->lex.end));
        parse_next(p);
        return 0;
    }
    if (p->tok.kind != '<' && p->tok.kind != '{') return parse_expected(p, "< of the mesh");
    const char *from = p->tok.at;
    if (parse_skip_balanced(p) < 0) return -1;
    note_devices(p, sharding_mesh_size(from, p->behind));
    return 0;
}

/* `sdy.mesh @m = <..>` and its generic form say nothing about values. */
static int mesh(parser_t *p)
{
    bool generic = p->tok.kind == TOK_STRING;
    const char *name;
    parse_next(p);
    if (!generic) {
        if (parse_symbol(p, &name) < 0 || parse_expect(p, '=', "=") < 0) return -1;
        if (p->tok.kind == TOK_HASH && lex_is(p->tok, "#sdy.mesh")) parse_next(p);
        return skip_mesh(p) < 0 ? -1 : parse_location(p);
    }
    if (p->tok.kind != '(' || parse_skip_balanced(p) < 0) return parse_expected(p, "()");
    while (p->tok.kind == '<' || p->tok.kind == '{')
        if (skip_mesh(p) < 0) return -1;
    if (parse_expect(p, ':', ":") < 0 || parse_skip_type(p) < 0) return -1;
    return parse_location(p);
}

static int items(parser_t *p);

/* A module in a module: its functions are private, under "name.function", and see each other. */
static int nested_module(parser_t *p)
{
    const char *name = "module", *around = p->scope;
    ir_attrs_t dropped = {0};
    if (parse_enter(p) < 0) return -1;
    parse_next(p);
    if (p->tok.kind == TOK_SYMBOL && parse_symbol(p, &name) < 0) return -1;
    if (parse_accept_word(p, "attributes") && parse_optional_attributes(p, &dropped) < 0) return -1;
    p->scope = arena_printf(p->arena, "%s%s%.200s", around ? around : "", around ? "." : "", name);
    if (parse_expect(p, '{', "{ of the module") < 0 || items(p) < 0) return -1;
    p->scope = around;
    parse_leave(p);
    return parse_location(p);
}

static int item(parser_t *p)
{
    if (parse_at(p, "func.func")) return function(p);
    if (parse_at(p, "module") || parse_at(p, "builtin.module")) return nested_module(p);
    if (p->tok.kind == TOK_STRING && lex_is(p->tok, "\"func.func\"")) return generic_function(p);
    bool is_mesh = p->tok.kind == TOK_STRING ? lex_is(p->tok, "\"sdy.mesh\"")
                                             : parse_at(p, "sdy.mesh");
    return is_mesh ? mesh(p) : parse_expected(p, "func.func");
}

static int items(parser_t *p)
{
    while (p->tok.kind != '}')
        if (item(p) < 0) return -1;
    parse_next(p);
    return 0;
}

/* module @name attributes {..} { .. } loc(..) */
static int module(parser_t *p)
{
    parse_next(p);
    if (p->tok.kind == TOK_SYMBOL && parse_symbol(p, &p->module->name) < 0) return -1;
    if (parse_accept_word(p, "attributes") && parse_optional_attributes(p, &p->module->attrs) < 0)
        return -1;
    note_devices(p, attr_int(&p->module->attrs, "mhlo.num_partitions", 1));
    if (parse_expect(p, '{', "{ of the module") < 0 || items(p) < 0) return -1;
    return parse_location(p);
}

/* "builtin.module"() <{..}> ({ .. }) {..} : () -> () */
static int generic_module(parser_t *p)
{
    ir_attrs_t *attrs = &p->module->attrs;
    parse_next(p);
    if (parse_expect(p, '(', "(") < 0 || parse_expect(p, ')', ")") < 0) return -1;
    if (parse_accept(p, '<')) {
        if (parse_expect(p, '{', "{") < 0 || parse_attributes(p, attrs, '}') < 0 ||
            parse_expect(p, '>', ">") < 0)
            return -1;
    }
    if (parse_expect(p, '(', "( of the body") < 0 || parse_expect(p, '{', "{ of the body") < 0)
        return -1;
    if (parse_accept(p, TOK_LABEL) && parse_expect(p, ':', ":") < 0) return -1;
    if (items(p) < 0 || parse_expect(p, ')', ")") < 0 || parse_optional_attributes(p, attrs) < 0)
        return -1;
    const char *name = attr_text(attrs, "sym_name", NULL);
    if (name && *name) p->module->name = name;
    attr_remove(attrs, "sym_name");
    if (parse_expect(p, ':', ": () -> ()") < 0 || parse_skip_type(p) < 0) return -1;
    return parse_location(p);
}

/* `#name = value` or `!name = type`; collected before, so it is only skipped. */
static int skip_alias(parser_t *p)
{
    bool is_type = p->tok.kind == TOK_BANG;
    ir_attr_t dropped;
    parse_next(p);
    if (parse_expect(p, '=', "= of an alias") < 0) return -1;
    if (is_type) return parse_skip_type(p);
    if (p->tok.kind == '[' || p->tok.kind == '{') return parse_skip_balanced(p);
    if (p->tok.kind != TOK_HASH) return parse_attribute(p, &dropped, NULL);
    parse_next(p); /* not expanded: it may use aliases, and those others */
    return p->tok.kind == '<' ? parse_skip_balanced(p) : 0;
}

static int skip_resources(parser_t *p)
{
    const char *open = p->tok.at;
    while (p->tok.kind != TOK_CLOSE_RESOURCES) {
        if (p->tok.kind == TOK_END || p->tok.kind == TOK_BAD)
            return parse_fail(p, open, ERR_PARSE, "{-# is never closed by #-}");
        parse_next(p);
    }
    parse_next(p);
    return 0;
}

int parse_top(parser_t *p)
{
    bool wrapped = false; /* a module was there: nothing else may follow */
    while (p->tok.kind != TOK_END) {
        bool generic = p->tok.kind == TOK_STRING && lex_is(p->tok, "\"builtin.module\"");
        int rc;
        if (p->tok.kind == TOK_HASH || p->tok.kind == TOK_BANG) {
            rc = skip_alias(p);
        } else if (p->tok.kind == TOK_OPEN_RESOURCES) {
            rc = skip_resources(p);
        } else if (wrapped) {
            rc = parse_expected(p, "the end of the text: one module is read at a time");
        } else if (generic || parse_at(p, "module") || parse_at(p, "builtin.module")) {
            if (p->module->n_fn) return parse_expected(p, "func.func");
            wrapped = true;
            rc = generic ? generic_module(p) : module(p);
        } else {
            rc = item(p);
        }
        if (rc < 0) return -1;
    }
    return 0;
}
