/* Roles: entry and loss, rules of the caller, attributes; the table. */
#include "compile/roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "compile/groups.h"
#include "compile/lora.h"
#include "compile/roles_in.h"

/* --- entry and loss --- */

static const ir_fn_t *find_entry(const ir_module_t *module, const char *name, err_t *err)
{
    const ir_fn_t *fn = name ? ir_module_find(module, name) : ir_module_entry(module, err);
    if (fn || !name) return fn;
    str_t known = {0};
    for (int i = 0; i < module->n_fn; i++)
        if (!module->fn[i]->is_private)
            str_addf(&known, "%s@%s", known.n ? ", " : "", module->fn[i]->name);
    err_set(err, ERR_ARG, "--entry %s: there is no such function; public ones are %.300s", name,
            str_text(&known));
    str_fini(&known);
    return NULL;
}

static bool is_loss(const ir_fn_t *fn, int r)
{
    const ir_type_t *type = ir_type_of(fn, fn->body->result[r]);
    return type->rank == 0 && dtype_is_float(type->dtype);
}

/* The result that is the loss; -1 with the error. */
static int find_loss(const ir_fn_t *fn, int asked, err_t *err)
{
    char text[IR_TYPE_TEXT];
    int n = fn->body->n_result, only = -1, n_scalar = 0;
    if (n < 1)
        return err_set(err, ERR_TYPE,
                       "@%s returns nothing; one of its results must be the loss, a float scalar",
                       fn->name);
    if (asked >= n)
        return err_set(err, ERR_ARG, "--loss-result %d: @%s has %d result%s (from 0)", asked,
                       fn->name, n, n == 1 ? "" : "s");
    if (asked >= 0 && !is_loss(fn, asked))
        return err_set(err, ERR_TYPE, "--loss-result %d: it is %s, expected a float scalar", asked,
                       ir_type_text(ir_type_of(fn, fn->body->result[asked]), text));
    if (asked >= 0 || is_loss(fn, 0)) return asked < 0 ? 0 : asked;
    for (int r = 0; r < n; r++) {
        n_scalar += is_loss(fn, r);
        if (is_loss(fn, r)) only = r;
    }
    if (n_scalar == 1) return only;
    return err_set(err, ERR_TYPE,
                   "@%s returns %s; the loss must be a float scalar such as tensor<f32>%s",
                   fn->name, ir_type_text(ir_type_of(fn, fn->body->result[0]), text),
                   n_scalar ? ": several results are, say which with --loss-result N" : "");
}

/* --- the rows --- */

typedef struct {
    ir_module_t *module;
    const ir_fn_t *fn;
    int n, loss;
    roles_row_t *row;
    const char **exported; /* names by the exporter; NULL where there is none */
} assign_t;

static const char *exported_name(const ir_attrs_t *attrs)
{
    static const char *const names[] = {"pcp.name", "jax.arg_info", "ttir.name", "pcp.loc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = attr_text(attrs, names[i], NULL);
        if (text && *text) return text;
    }
    return NULL;
}

static void make_rows(assign_t *a)
{
    arena_t *arena = a->module->arena;
    for (int i = 0; i < a->n; i++) {
        const ir_value_t *value = &a->fn->value[ir_fn_param(a->fn, i)];
        const char *given = attr_text(&a->fn->param_attrs[i], "pcp.name", NULL);
        a->exported[i] = exported_name(&a->fn->param_attrs[i]);
        a->row[i] = (roles_row_t){.index = i, .type = value->type};
        a->row[i].name = given ? given : arena_printf(arena, "arg%d", i);
        a->row[i].shown = a->exported[i] ? a->exported[i]
                          : value->name  ? arena_printf(arena, "%%%s", value->name)
                                         : a->row[i].name;
    }
}

static bool row_is_called(const assign_t *a, int i, const char *pattern, size_t n)
{
    const ir_value_t *value = &a->fn->value[ir_fn_param(a->fn, i)];
    char number[16], arg[20];
    snprintf(number, sizeof number, "%d", i);
    snprintf(arg, sizeof arg, "arg%d", i);
    const char *const names[] = {number,         arg,         a->exported[i],
                                 a->row[i].name, value->name, a->row[i].shown};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (names[k] && roles_name_matches(pattern, n, names[k])) return true;
    return false;
}

static int apply_rule(assign_t *a, const char *rule, size_t n, const char *from, err_t *err)
{
    const char *equal = NULL;
    for (size_t i = 0; i < n; i++)
        if (rule[i] == '=') equal = rule + i;
    size_t n_name = equal ? (size_t)(equal - rule) : 0, n_role = n - n_name - 1;
    while (n_name > 0 && rule[n_name - 1] == ' ') n_name--;
    while (equal && n_role > 0 && equal[1] == ' ') equal++, n_role--;
    if (!equal || n_name == 0 || n_role == 0)
        return err_set(err, ERR_ARG, "%s %.*s: expected NAME=ROLE", from, (int)n, rule);
    const char *role = arena_strndup(a->module->arena, equal + 1, n_role);
    if (strcmp(role, "state:result") == 0) role = "state";
    int n_row = 0;
    for (int i = 0; i < a->n; i++) {
        if (!row_is_called(a, i, rule, n_name)) continue;
        a->row[i].role = role;
        a->row[i].why = from;
        n_row++;
    }
    if (n_row > 0) return 0;
    return err_set(err, ERR_ARG, "%s %.*s: no argument of @%s is called %.*s; the first is %s",
                   from, (int)n, rule, a->fn->name, (int)n_name, rule,
                   a->n ? a->row[0].shown : "none");
}

/* Rules between separators; `comments`: from # to the end of a line. */
static int apply_rules(assign_t *a, const char *text, const char *separators, const char *from,
                       bool comments, err_t *err)
{
    for (const char *at = text; at && *at;) {
        size_t n = strcspn(at, separators), use = n;
        if (comments) {
            const char *hash = memchr(at, '#', n);
            use = hash ? (size_t)(hash - at) : n;
        }
        const char *rule = at;
        while (use > 0 && strchr(" \t\r", *rule)) rule++, use--;
        while (use > 0 && strchr(" \t\r", rule[use - 1])) use--;
        if (use > 0 && apply_rule(a, rule, use, from, err) < 0) return -1;
        at += n;
        at += *at != '\0';
    }
    return 0;
}

/* What the caller and the attributes say. */
static int apply_given(assign_t *a, const roles_options_t *o, err_t *err)
{
    for (int i = 0; i < a->n; i++) {
        const char *role = attr_text(&a->fn->param_attrs[i], "pcp.role", NULL);
        bool named = attr_find(&a->fn->param_attrs[i], "pcp.name");
        bool is_float = dtype_is_inexact(a->row[i].type.dtype);
        if (!role && !named) continue;
        a->row[i].role = role ? role : is_float ? "param" : "batch";
        a->row[i].why = attr_find(&a->fn->param_attrs[i], ROLES_VALUE) ? "a constant of the text"
                        : role                                         ? "pcp.role"
                                                                       : "pcp.name, and its type";
    }
    if (o->file) {
        size_t n;
        char *text = file_read(o->file, &n, err);
        int status = text ? apply_rules(a, text, "\n", "the roles file", true, err) : -1;
        free(text);
        if (status < 0) return err_prefix(err, "%s: ", o->file);
    }
    return apply_rules(a, o->rules, ",", "--role", false, err);
}

/* What would be trained and is called so. */
static int freeze(assign_t *a, const char *text, err_t *err)
{
    for (const char *at = text; at && *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        int n_row = 0;
        for (int i = 0; i < a->n; i++) {
            if (strcmp(a->row[i].role, "param") != 0 || !row_is_called(a, i, at, n)) continue;
            a->row[i].role = "frozen";
            a->row[i].why = "--freeze";
            a->row[i].unsure = NULL;
            n_row++;
        }
        if (n_row == 0 && n > 0)
            return err_set(err, ERR_ARG, "--freeze %.*s: no parameter of @%s is called so", (int)n,
                           at, a->fn->name);
        at += n;
    }
    return 0;
}

static bool all_settled(const assign_t *a)
{
    for (int i = 0; i < a->n; i++)
        if (!a->row[i].role || strcmp(a->row[i].role, "state") == 0) return false;
    return true;
}

static int infer(assign_t *a, err_t *err)
{
    roles_uses_t uses;
    if (all_settled(a)) return 0;
    if (roles_uses(a->module, a->fn->name, a->loss, &uses, err) < 0) return -1;
    const infer_input_t input = {.arena = a->module->arena,
                                 .fn = a->fn,
                                 .loss = a->loss,
                                 .row = a->row,
                                 .exported = a->exported,
                                 .uses = &uses};
    roles_infer(&input);
    roles_uses_fini(&uses);
    return 0;
}

/* Each role as optim/ has it; result numbers as the text has them. */
static int parse_roles(const assign_t *a, optim_arg_t *parsed, err_t *err)
{
    int n_param = 0;
    for (int i = 0; i < a->n; i++) {
        const roles_row_t *row = &a->row[i];
        parsed[i] = (optim_arg_t){.type = row->type};
        if (strcmp(row->role, "state") == 0)
            return err_set(
                err, ERR_ARG,
                "argument %s is a state, but which result is its next value is not clear: "
                "--role %s=state:RESULT",
                row->shown, row->name);
        bool is_complex = dtype_is_complex(row->type.dtype) && strcmp(row->role, "param") == 0;
        if (is_complex) /* two reals, once it is trained (passes/real_signature.c) */
            parsed[i].is_param = true;
        else if (optim_role_parse(row->role, &parsed[i], err) < 0)
            return err_prefix(err, "argument %s ", row->shown);
        bool is_state = parsed[i].role == ARG_state;
        if (is_state && (parsed[i].next >= a->fn->body->n_result || parsed[i].next == a->loss))
            return err_set(err, ERR_ARG,
                           "argument %s has the role \"%s\", but @%s has %d results, of "
                           "which %d is the loss",
                           row->shown, row->role, a->fn->name, a->fn->body->n_result, a->loss);
        n_param += parsed[i].role == ARG_param;
    }
    if (n_param > 0) return 0;
    return err_set(err, ERR_TYPE,
                   "@%s has no argument to train: none has the role param (--role "
                   "NAME=param; weights that are constants of the text: --constants-as-params)",
                   a->fn->name);
}

/* --- what is said of the results --- */

static const char *dropped_results(const assign_t *a, const optim_arg_t *parsed)
{
    str_t text = {0};
    for (int r = 0; r < a->fn->body->n_result; r++) {
        bool used = r == a->loss;
        for (int i = 0; i < a->n; i++)
            used = used || (parsed[i].role == ARG_state && parsed[i].next == r);
        if (used) continue;
        char type[IR_TYPE_TEXT];
        const char *info = a->fn->result_attrs
                               ? attr_text(&a->fn->result_attrs[r], "jax.result_info", "")
                               : "";
        str_addf(&text, "%s%d (%s%s%s)", text.n ? ", " : "", r, info, *info ? ": " : "",
                 ir_type_text(ir_type_of(a->fn, a->fn->body->result[r]), type));
    }
    const char *kept = text.n ? arena_strdup(a->module->arena, text.at) : NULL;
    str_fini(&text);
    return kept;
}

static const ir_fn_t *begin(ir_module_t *module, const roles_options_t *options, err_t *err)
{
    const ir_fn_t *fn = find_entry(module, options->entry, err);
    if (!fn || !options->constants) return fn;
    const char *name = fn->name;
    return roles_hoist(module, name, err) < 0 ? NULL : ir_module_find(module, name);
}

static int assign(ir_module_t *module, const roles_options_t *options, roles_t *out, err_t *err)
{
    assign_t a = {.module = module, .fn = begin(module, options, err)};
    *out = (roles_t){0};
    if (!a.fn || (a.loss = find_loss(a.fn, options->loss_result, err)) < 0) return -1;
    a.n = a.fn->body->n_arg;
    a.row = ARENA_ARRAY(module->arena, roles_row_t, a.n + 1);
    a.exported = ARENA_ARRAY(module->arena, const char *, a.n + 1);
    optim_arg_t *parsed = ARENA_ARRAY(module->arena, optim_arg_t, a.n + 1);
    make_rows(&a);
    if (apply_given(&a, options, err) < 0 || infer(&a, err) < 0 ||
        freeze(&a, options->freeze, err) < 0 || parse_roles(&a, parsed, err) < 0)
        return -1;
    out->row = a.row;
    out->n = a.n;
    out->entry = a.fn->name;
    out->loss = arena_printf(module->arena, "%d", a.loss);
    out->dropped = dropped_results(&a, parsed);
    const roles_rewrite_t rewrite = {module, a.fn, a.loss, a.row, a.exported, parsed};
    return roles_rewrite(&rewrite, out, err);
}

/* Adapters need to know what the parameters are called; then the module says it all, but for the order. */
static int add_adapters(ir_module_t *module, const char *text, roles_t *out, err_t *err)
{
    lora_t lora;
    const char *told, *remark = out->remark, *dropped = out->dropped;
    const roles_options_t as_it_says = {.loss_result = 0};
    if (lora_parse(text, module->arena, &lora, err) < 0 ||
        lora_rewrite(module, &lora, &told, err) < 0 || assign(module, &as_it_says, out, err) < 0)
        return -1;
    out->rewritten = true;
    out->dropped = dropped;
    out->remark = remark ? arena_printf(module->arena, "%s\n  %s", remark, told) : told;
    return 0;
}

/* Parameters are called as they are in checkpoints by now, adapters as well. */
static int add_groups(ir_module_t *module, const char *text, roles_t *out, err_t *err)
{
    const char *told;
    if (groups_apply(module, text, &told, err) < 0) return -1;
    if (!told) return 0;
    out->rewritten = true;
    out->remark = out->remark ? arena_printf(module->arena, "%s\n  %s", out->remark, told) : told;
    return 0;
}

int roles_assign(ir_module_t *module, const roles_options_t *options, roles_t *out, err_t *err)
{
    if (assign(module, options, out, err) < 0) return -1;
    if (options->lora && add_adapters(module, options->lora, out, err) < 0) return -1;
    return options->group && *options->group ? add_groups(module, options->group, out, err) : 0;
}

/* --- the table --- */

static void widths(const roles_t *self, int width[4])
{
    char text[IR_TYPE_TEXT];
    for (int i = 0; i < self->n; i++) {
        const roles_row_t *row = &self->row[i];
        int n[4] = {(int)strlen(row->shown), (int)strlen(row->name),
                    (int)strlen(ir_type_text(&row->type, text)), (int)strlen(row->role)};
        for (int k = 0; k < 4; k++)
            if (n[k] > width[k]) width[k] = n[k];
    }
}

/* So many rows from `i` on have one role for one reason; that many are one line of the table. */
enum { FOLD = 6 };
static int alike(const roles_t *self, int i)
{
    const roles_row_t *row = &self->row[i];
    int n = 1;
    while (i + n < self->n && !row->unsure && !row[n].unsure &&
           strcmp(row[n].role, row->role) == 0 && strcmp(row[n].why, row->why) == 0)
        n++;
    return n;
}

void roles_print(const roles_t *self, str_t *out)
{
    char text[IR_TYPE_TEXT];
    int w[4] = {8, 4, 4, 4};
    widths(self, w);
    str_addf(out, "@%s, loss: result %s\n", self->entry, self->loss);
    str_addf(out, "  %4s %-*s  %-*s  %-*s  %-*s  %s\n", "#", w[0], "argument", w[1], "name", w[2],
             "type", w[3], "role", "why");
    for (int i = 0, n; i < self->n; i += n) {
        const roles_row_t *row = &self->row[i];
        n = alike(self, i);
        if (n >= FOLD) {
            str_addf(out, "  %4d %-*s  .. %s, %d of them: %s  %s\n", row->index, w[0], row->shown,
                     row[n - 1].shown, n, row->role, row->why);
            continue;
        }
        n = 1;
        str_addf(out, "  %4d %-*s  %-*s  %-*s  %-*s  %s%s\n", row->index, w[0], row->shown, w[1],
                 row->name, w[2], ir_type_text(&row->type, text), w[3], row->role, row->why,
                 row->unsure ? " (unsure)" : "");
    }
    if (self->remark) str_addf(out, "  %s\n", self->remark);
    if (self->dropped) str_addf(out, "  results that nothing reads: %s\n", self->dropped);
    for (int i = 0; i < self->n; i++)
        if (self->row[i].unsure)
            str_addf(out, "  unsure: %s: %s\n", self->row[i].shown, self->row[i].unsure);
    utf8_plain(out->at, true); /* names are the model's */
}

int roles_check(const roles_t *self, err_t *err)
{
    str_t text = {0};
    int n = 0;
    for (int i = 0; i < self->n; i++) {
        const roles_row_t *row = &self->row[i];
        if (!row->unsure || ++n > 3) continue;
        str_addf(&text, "%s%s: %s (--role %s=%s)", n > 1 ? "; " : "", row->shown, row->unsure,
                 row->name, row->role);
    }
    if (n > 3) str_addf(&text, "; and %d more", n - 3);
    if (n > 0)
        err_set(err, ERR_ARG, "what these arguments are is not clear; say so: %s", str_text(&text));
    str_fini(&text);
    return n > 0 ? -1 : 0;
}
