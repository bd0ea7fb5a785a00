/* A model's file, its roles, and the text that says both. */
#include "pcp/model_roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/print.h"
#include "parse/parse.h"
#include "pcp/cmd.h"

static void show(const roles_t *roles, bool quiet)
{
    bool unsure = roles->remark || roles->dropped;
    for (int i = 0; i < roles->n; i++) unsure = unsure || roles->row[i].unsure;
    if (quiet && !unsure && !roles->rewritten) return;
    str_t text = {0};
    roles_print(roles, &text);
    fputs(str_text(&text), stderr);
    str_fini(&text);
}

/* The module without the values of what were constants: initial values are no part of its text. */
static char *print(const ir_module_t *module, size_t *n)
{
    str_t text = {0};
    ir_attrs_t **kept = mem_calloc((size_t)module->n_fn + 1, sizeof *kept);
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f];
        int n_arg = fn->body->n_arg;
        kept[f] = fn->param_attrs;
        fn->param_attrs = ARENA_ARRAY(module->arena, ir_attrs_t, n_arg + 1);
        for (int i = 0; kept[f] && i < n_arg; i++)
            for (int k = 0; k < kept[f][i].n; k++)
                if (strcmp(kept[f][i].at[k].name, ROLES_VALUE) != 0)
                    attr_set(module->arena, &fn->param_attrs[i], kept[f][i].at[k]);
    }
    ir_print_module(module, &text);
    for (int f = 0; f < module->n_fn; f++) module->fn[f]->param_attrs = kept[f];
    free(kept);
    *n = text.n;
    return text.at;
}

int model_roles_text(const char *path, const roles_options_t *options, bool sure, bool quiet,
                     ir_module_t **module, file_view_t *text, err_t *err)
{
    roles_t roles;
    *module = NULL;
    *text = (file_view_t){0};
    if (parse_check_path(path, err) < 0 || file_view_open(path, text, err) < 0) return -1;
    const parse_options_t parse = {
        .constant_names = options->constants, .shapes = options->shapes, .mapped = text->mapped};
    *module = parse_stablehlo_with(text->at, text->n, path, &parse, err);
    if (*module) cmd_notes(path, *module);
    int status = *module ? 0 : -1;
    if (status == 0) {
        status = roles_assign(*module, options, &roles, err);
        if (status < 0) err_prefix(err, "%s: ", path);
    }
    if (status == 0) show(&roles, quiet);
    if (status == 0 && sure) status = roles_check(&roles, err);
    bool is_text = !parse_is_bytecode(text->at, text->n);
    if (status == 0 && is_text && !roles.rewritten && !options->shapes) return 0;
    file_view_close(text);
    if (status == 0) text->at = text->read = print(*module, &text->n);
    if (status < 0) ir_module_destroy(module);
    return status;
}
