/* The module says its roles itself: attributes, the order of arguments and results, the entry. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compile/roles_in.h"

/* A result's number once the loss comes first. */
static int result_number(int r, int loss)
{
    return r == loss ? 0 : r < loss ? r + 1 : r;
}

static const char *attribute_of(const roles_rewrite_t *w, int i)
{
    const optim_arg_t *arg = &w->parsed[i];
    if (arg->role != ARG_state) return w->row[i].role;
    return arena_printf(w->module->arena, "state:%d", result_number(arg->next, w->loss));
}

/* --- order --- */

static int rank_of(const optim_arg_t *arg)
{
    return arg->role == ARG_param    ? 0
           : arg->role == ARG_frozen ? 1
           : arg->role == ARG_state  ? 2
                                     : 3;
}

static void sort_arguments(const roles_rewrite_t *w, int *order)
{
    int at = 0, n = w->fn->body->n_arg;
    for (int rank = 0; rank < 4; rank++)
        for (int i = 0; i < n; i++)
            if (rank_of(&w->parsed[i]) == rank) order[at++] = i;
}

/* The two integer arguments that next-token windows would fill; false: these are not two alike. */
static bool token_pair(const roles_rewrite_t *w, int pair[2])
{
    int n = 0;
    for (int i = 0; i < w->fn->body->n_arg; i++) {
        if (w->parsed[i].role != ARG_batch) continue;
        if (n == 2 || dtype_is_inexact(w->row[i].type.dtype)) return false;
        pair[n++] = i;
    }
    return n == 2 && ir_shape_equal(&w->row[pair[0]].type, &w->row[pair[1]].type);
}

/* Inputs come before targets: what looks rows up is an input. */
static int order_tokens(const roles_rewrite_t *w, int *order, roles_t *out, err_t *err)
{
    int pair[2], n = w->fn->body->n_arg;
    roles_uses_t uses;
    if (!token_pair(w, pair)) return 0;
    if (roles_uses(w->module, w->fn->name, w->loss, &uses, err) < 0) return -1;
    bool first = uses.arg[pair[0]].is_index, second = uses.arg[pair[1]].is_index;
    roles_uses_fini(&uses);
    const char *a = w->row[pair[0]].shown, *b = w->row[pair[1]].shown;
    if (first && !second) return 0;
    if (first == second) {
        out->remark = arena_printf(w->module->arena,
                                   "windows fill %.80s with tokens and %.80s with the next ones: "
                                   "which is which is not clear from their use",
                                   a, b);
        return 0;
    }
    out->remark = arena_printf(w->module->arena,
                               "windows fill %.80s with tokens, as rows are looked up by it, and "
                               "%.80s with the next ones",
                               b, a);
    for (int i = 0; i < n; i++)
        order[i] = order[i] == pair[0] ? pair[1] : order[i] == pair[1] ? pair[0] : order[i];
    return 0;
}

/* --- is there anything to say? --- */

static bool says_more(const roles_rewrite_t *w, const int *order)
{
    for (int f = 0; f < w->module->n_fn; f++) {
        const ir_fn_t *fn = w->module->fn[f];
        if (fn != w->fn && !fn->is_private && strcmp(fn->name, "logits") != 0) return true;
    }
    if (w->loss != 0) return true;
    for (int i = 0; i < w->fn->body->n_arg; i++) {
        const char *now = attr_text(&w->fn->param_attrs[i], "pcp.role", NULL);
        const char *usual = dtype_is_inexact(w->row[i].type.dtype) ? "param" : "batch";
        if (attr_find(&w->fn->param_attrs[i], ROLES_VALUE)) return true;
        if (order[i] != i || strcmp(w->row[i].role, now ? now : usual) != 0) return true;
    }
    err_t none = {0};
    const ir_fn_t *entry = ir_module_entry(w->module, &none);
    return entry != w->fn;
}

/* --- names --- */

/* The exporter's names, where no two arguments share one; else arg0, arg1, .. */
static void name_rows(const roles_rewrite_t *w)
{
    int n = w->fn->body->n_arg;
    for (int i = 0; i < n; i++) {
        bool taken = !w->exported[i] || strlen(w->exported[i]) > 200;
        for (int k = 0; k < n && !taken; k++)
            taken = k != i && w->exported[k] && strcmp(w->exported[k], w->exported[i]) == 0;
        if (!taken) w->row[i].name = w->exported[i];
    }
}

/* The entry's argument that argument i of `fn` stands for: by the exporter's names, by the names in the
 * text, or by its place where there are none; -1: none. */
static int counterpart(const roles_rewrite_t *w, const ir_fn_t *fn, int i)
{
    const ir_attrs_t *attrs = &fn->param_attrs[i];
    const char *loc = attr_text(attrs, "jax.arg_info", attr_text(attrs, "pcp.loc", NULL));
    const char *spoken = fn->value[ir_fn_param(fn, i)].name;
    int n = w->fn->body->n_arg;
    for (int k = 0; loc && k < n; k++)
        if (w->exported[k] && strcmp(loc, w->exported[k]) == 0) return k;
    for (int k = 0; !loc && spoken && strncmp(spoken, "arg", 3) != 0 && k < n; k++) {
        const char *other = w->fn->value[ir_fn_param(w->fn, k)].name;
        if (!w->exported[k] && other && strcmp(spoken, other) == 0) return k;
    }
    return !loc && i < n && !w->exported[i] ? i : -1;
}

/* Of a function that is not the entry: what is kept among the parameters has name and role of the entry's;
 * the rest of @logits is as its types have it, that of others has the role of its counterpart, or is data. */
static void describe_other(const roles_rewrite_t *w, ir_fn_t *fn)
{
    arena_t *arena = w->module->arena;
    bool is_logits = strcmp(fn->name, "logits") == 0;
    for (int i = 0; i < fn->body->n_arg; i++) {
        ir_attrs_t *attrs = &fn->param_attrs[i];
        int k = counterpart(w, fn, i);
        bool same = k >= 0 && ir_type_equal(ir_type_of(fn, ir_fn_param(fn, i)), &w->row[k].type);
        bool kept = same && w->parsed[k].is_param;
        bool drop = is_logits ? !kept : k >= 0 && w->parsed[k].is_param && !same;
        if (drop || attr_find(attrs, "pcp.name")) continue;
        const char *role = kept && is_logits                        ? attribute_of(w, k)
                           : kept && w->parsed[k].role == ARG_state ? "frozen"
                           : k >= 0                                 ? attribute_of(w, k)
                                                                    : "batch";
        if (k >= 0) attr_set_text(arena, attrs, "pcp.name", ATTR_STRING, w->row[k].name);
        if (!attr_find(attrs, "pcp.role"))
            attr_set_text(arena, attrs, "pcp.role", ATTR_STRING, role);
    }
}

/* --- the new entry --- */

static ir_fn_t *copy_entry(const roles_rewrite_t *w, const int *order, err_t *err)
{
    const ir_fn_t *fn = w->fn;
    int n = fn->body->n_arg, n_result = fn->body->n_result;
    ir_type_t *types = mem_calloc((size_t)n + 1, sizeof *types);
    ir_val_t *results = mem_calloc((size_t)n_result + 1, sizeof *results);
    for (int i = 0; i < n; i++) types[i] = *ir_type_of(fn, ir_fn_param(fn, order[i]));
    ir_fn_t *to = ir_fn_new(w->module, "main", n, types);
    ir_clone_t clone = {.from = fn, .to = to};
    clone.map = mem_calloc(fn->n_value + 1u, sizeof *clone.map);
    memset(clone.map, 0xFF, fn->n_value * sizeof *clone.map);
    for (int i = 0; i < n; i++) clone.map[ir_fn_param(fn, order[i])] = ir_fn_param(to, i);
    int status = ir_clone_ops(&clone, fn->body, err);
    for (int r = 0; r < n_result; r++)
        results[result_number(r, w->loss)] = clone.map[fn->body->result[r]];
    if (status == 0) status = ir_fn_finish(to, n_result, results, err);
    for (int r = 0; status == 0 && fn->result_attrs && r < n_result; r++)
        to->result_attrs[result_number(r, w->loss)] = fn->result_attrs[r];
    free(clone.map);
    free(results);
    free(types);
    if (status < 0) ir_module_remove(w->module, to);
    return status < 0 ? NULL : to;
}

static void describe(const roles_rewrite_t *w, ir_fn_t *to, const int *order)
{
    arena_t *arena = w->module->arena;
    for (int i = 0; i < w->fn->body->n_arg; i++) {
        ir_attrs_t *attrs = &to->param_attrs[i];
        int from = order[i];
        const ir_attrs_t *old = &w->fn->param_attrs[from];
        for (int k = 0; k < old->n; k++) attr_set(arena, attrs, old->at[k]);
        attr_set_text(arena, attrs, "pcp.name", ATTR_STRING, w->row[from].name);
        attr_set_text(arena, attrs, "pcp.role", ATTR_STRING, attribute_of(w, from));
        to->value[ir_fn_param(to, i)].name = w->fn->value[ir_fn_param(w->fn, from)].name;
    }
    to->attrs = w->fn->attrs;
}

/* The entry takes the name main, and nothing else but @logits stays public. */
static int take_over(const roles_rewrite_t *w, ir_fn_t *to, err_t *err)
{
    const ir_fn_t *other = ir_module_find(w->module, "main");
    if (other && other != w->fn && other != to) ir_module_remove(w->module, other);
    ir_module_replace(w->module, w->fn, to);
    for (int i = 0; i < w->module->n_fn; i++) {
        ir_fn_t *fn = w->module->fn[i];
        bool is_logits = fn != to && strcmp(fn->name, "logits") == 0;
        if (is_logits || (fn != to && !fn->is_private)) describe_other(w, fn);
        fn->is_private = fn != to && !is_logits;
    }
    if (ir_verify(w->module, err) == 0) return 0;
    return err_prefix(
        err, "@%s cannot be the entry, as others call it, or the @main it replaces: ", w->fn->name);
}

int roles_rewrite(const roles_rewrite_t *self, roles_t *out, err_t *err)
{
    int n = self->fn->body->n_arg, status;
    int *order = mem_calloc((size_t)n + 1, sizeof *order);
    sort_arguments(self, order);
    status = order_tokens(self, order, out, err);
    if (status == 0 && says_more(self, order)) {
        out->rewritten = true;
        name_rows(self);
        ir_fn_t *to = copy_entry(self, order, err);
        if (to) describe(self, to, order);
        status = to ? take_over(self, to, err) : -1;
    }
    free(order);
    return status;
}
