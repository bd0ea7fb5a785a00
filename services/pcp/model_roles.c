/* A model's file, its roles, and the text that says both. */
#include "pcp/model_roles.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
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

char *model_roles_text(const char *path, const roles_options_t *options, bool sure, bool quiet,
                       ir_module_t **module, size_t *n, err_t *err)
{
    roles_t roles;
    *module = NULL;
    char *text = parse_check_path(path, err) < 0 ? NULL : file_read(path, n, err);
    if (text) *module = parse_stablehlo(text, *n, path, err);
    if (*module) cmd_notes(path, *module);
    int status = *module ? 0 : -1;
    if (status == 0) {
        status = roles_assign(*module, options, &roles, err);
        if (status < 0) err_prefix(err, "%s: ", path);
    }
    if (status == 0) show(&roles, quiet);
    if (status == 0 && sure) status = roles_check(&roles, err);
    if (status == 0 && !roles.rewritten) return text;
    free(text);
    if (status < 0) return NULL;
    str_t printed = {0};
    ir_print_module(*module, &printed);
    *n = printed.n;
    return printed.at;
}
