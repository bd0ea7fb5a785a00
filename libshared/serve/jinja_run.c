/* Statements, scopes, and a rendering from its beginning to its end. */
#include <string.h>

#include "serve/jinja_in.h"

/* --- scopes --- */

/* A look at a variable is not for nothing; the next charge fails where no steps are left. */
static bool is_named(run_t *run, const var_t *var, const char *name)
{
    run->steps -= run->steps > 0;
    return strcmp(var->name, name) == 0;
}

int run_set(run_t *run, const char *name, value_t v)
{
    for (var_t *var = run->scope->vars; var; var = var->next) {
        if (!is_named(run, var, name)) continue;
        var->value = v;
        return 0;
    }
    if (run_charge(run, 1, sizeof(var_t)) < 0) return -1;
    var_t *var = ARENA_NEW(run->arena, var_t);
    *var = (var_t){.name = name, .value = v, .next = run->scope->vars};
    run->scope->vars = var;
    return 0;
}

value_t run_find(run_t *run, const char *name)
{
    for (const scope_t *scope = run->scope; scope; scope = scope->outer)
        for (const var_t *var = scope->vars; var; var = var->next)
            if (is_named(run, var, name)) return var->value;
    int function = function_find(name);
    if (function >= 0) return (value_t){.kind = VALUE_FUNCTION, .i = function};
    return (value_t){.kind = VALUE_UNDEFINED, .s = {name, strlen(name)}};
}

/* To a name, or to a member of a namespace. */
static int assign(run_t *run, const node_t *target, value_t v)
{
    if (target->kind == NODE_NAME) return run_set(run, target->text, v);
    value_t space = run_find(run, target->a->text);
    if (space.kind != VALUE_NAMESPACE)
        return run_fail(run, ERR_TYPE, "%s is no namespace, its members cannot be set",
                        target->a->text);
    return value_put(run, space.dict, value_text(target->text, target->n), v);
}

static int assign_all(run_t *run, const nodes_t *targets, value_t v)
{
    list_t *list;
    if (targets->n == 1) return assign(run, targets->at[0], v);
    if (value_list(run, &v, &list) < 0) return -1;
    if (list->n != (size_t)targets->n)
        return run_fail(run, ERR_TYPE, "%zu values for %d names", list->n, targets->n);
    for (int i = 0; i < targets->n; i++)
        if (assign(run, targets->at[i], list->at[i]) < 0) return -1;
    return 0;
}

/* --- output --- */

static int print_value(run_t *run, const value_t *v)
{
    size_t before = run->out->n;
    if (value_print(run, v, run->out) < 0) return -1;
    run->n_out += run->out->n - before;
    if (run->n_out <= JINJA_OUTPUT_BYTES) return 0;
    return run_fail(run, ERR_MEMORY, "the template writes more than %d bytes", JINJA_OUTPUT_BYTES);
}

/* A body's output as a text. */
static int capture(run_t *run, const nodes_t *body, value_t *out)
{
    str_t text = {0}, *before = run->out;
    run->out = &text;
    int status = run_body(run, body);
    run->out = before;
    return value_take(run, &text, status, out);
}

int run_macro(run_t *run, const node_t *macro, const list_t *args, const dict_t *named,
              value_t *out)
{
    scope_t inner = {.outer = run->top}, *before = run->scope;
    const args_t given = {args->at, args->n, named};
    if (args->n > (size_t)macro->n_names)
        return run_fail(run, ERR_TYPE, "%s takes %d arguments", macro->text, macro->n_names);
    if (run_deeper(run) < 0) return -1;
    run->scope = &inner;
    int status = 0;
    for (int i = 0; i < macro->n_names && status == 0; i++) {
        const value_t *arg = args_get(&given, (size_t)i, macro->names[i]);
        value_t v = {.kind = VALUE_UNDEFINED, .s = {macro->names[i], strlen(macro->names[i])}};
        if (arg)
            v = *arg;
        else if (macro->items.at[i])
            status = run_eval(run, macro->items.at[i], &v);
        if (status == 0) status = run_set(run, macro->names[i], v);
    }
    if (status == 0) status = capture(run, &macro->body, out);
    run->scope = before;
    run->depth--;
    return status;
}

/* --- statements --- */

/* Those of a list for which the loop's condition holds. */
static int keep(run_t *run, const node_t *node, list_t **list)
{
    value_t out, v;
    scope_t inner = {.outer = run->scope};
    if (!node->b) return 0;
    if (value_new_list(run, VALUE_LIST, &out) < 0) return -1;
    run->scope = &inner;
    int status = 0;
    for (size_t i = 0; i < (*list)->n && status == 0; i++) {
        status = assign_all(run, &node->items, (*list)->at[i]);
        if (status == 0) status = run_eval(run, node->b, &v);
        if (status == 0 && value_truth(&v)) status = value_push(run, out.list, (*list)->at[i]);
    }
    run->scope = inner.outer;
    *list = out.list;
    return status;
}

/* Each turn has a scope of its own: what is set there is gone in the next one. */
static int run_for(run_t *run, const node_t *node)
{
    value_t over;
    list_t *list;
    if (run_eval(run, node->a, &over) < 0 || value_list(run, &over, &list) < 0 ||
        keep(run, node, &list) < 0)
        return -1;
    if (list->n == 0) return run_body(run, &node->other);
    if (run_charge(run, 1, sizeof(loop_t)) < 0) return -1;
    loop_t *loop = ARENA_NEW(run->arena, loop_t);
    scope_t *before = run->scope;
    const value_t shown = {.kind = VALUE_LOOP, .loop = loop};
    int status = 0;
    loop->items = list;
    for (size_t i = 0; i < list->n && status == 0 && run->flow != FLOW_BREAK; i++) {
        scope_t inner = {.outer = before};
        run->scope = &inner;
        run->flow = FLOW_ON;
        loop->at = i;
        status = run_set(run, "loop", shown);
        if (status == 0) status = assign_all(run, &node->items, list->at[i]);
        if (status == 0) status = run_body(run, &node->body);
    }
    run->scope = before;
    run->flow = FLOW_ON;
    return status;
}

static int run_if(run_t *run, const node_t *node)
{
    value_t v;
    for (;;) {
        if (run_eval(run, node->a, &v) < 0) return -1;
        if (value_truth(&v)) return run_body(run, &node->body);
        bool chain = node->other.n == 1 && node->other.at[0]->kind == NODE_IF;
        if (!chain) return run_body(run, &node->other);
        node = node->other.at[0];
    }
}

static int run_node(run_t *run, const node_t *node)
{
    value_t v;
    run->line = node->line;
    switch (node->kind) {
    case NODE_TEXT: return print_value(run, &(value_t){VALUE_STRING, .s = {node->text, node->n}});
    case NODE_PRINT: return run_eval(run, node->a, &v) < 0 ? -1 : print_value(run, &v);
    case NODE_FOR: return run_for(run, node);
    case NODE_IF: return run_if(run, node);
    case NODE_SET:
        if ((node->a ? run_eval(run, node->a, &v) : capture(run, &node->body, &v)) < 0) return -1;
        return assign_all(run, &node->items, v);
    case NODE_MACRO: return run_set(run, node->text, (value_t){VALUE_MACRO, .macro = node});
    case NODE_BREAK: return run->flow = FLOW_BREAK, 0;
    case NODE_CONTINUE: return run->flow = FLOW_CONTINUE, 0;
    default: return run_fail(run, ERR_STATE, "an expression among statements");
    }
}

int run_body(run_t *run, const nodes_t *body)
{
    if (run_deeper(run) < 0) return -1;
    int status = 0;
    for (int i = 0; i < body->n && status == 0 && run->flow == FLOW_ON; i++)
        status = run_charge(run, 1, 0) < 0 ? -1 : run_node(run, body->at[i]);
    run->depth--;
    return status;
}

/* --- a rendering --- */

static int set_all(run_t *run, const json_t *variables)
{
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)variables, name, member)
    {
        value_t v;
        if (value_from_json(run, member, &v) < 0 || run_set(run, name, v) < 0) return -1;
    }
    return 0;
}

int jinja_render(const jinja_t *self, const json_t *variables, int64_t now_s, str_t *out,
                 err_t *err)
{
    scope_t top = {0};
    str_t text = {0};
    run_t run = {.arena = arena_new(),
                 .steps = JINJA_STEPS,
                 .line = 1,
                 .scope = &top,
                 .top = &top,
                 .out = &text,
                 .now_s = now_s,
                 .err = err};
    int status = set_all(&run, variables);
    if (status == 0) status = run_body(&run, &self->body);
    if (status == 0) str_addn(out, str_text(&text), text.n);
    str_fini(&text);
    arena_destroy(&run.arena);
    return status;
}
