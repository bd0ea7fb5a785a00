/* What all subcommands have in common: flags, help, errors. */
#include "pcp/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/ir.h"

void cmd_answer(const config_table_t *table, const config_args_t *args, const char *command)
{
    char *name = mem_printf("pcp %s", command);
    config_answer(table, args, name, stdout);
    free(name);
}

int cmd_load(const config_table_t *table, void *target, int argc, char **argv, config_args_t *args,
             bool *done)
{
    err_t err = {0};
    *done = true;
    int loaded = config_load(table, target, NULL, argc, argv, args, &err);
    const char *shown = config_hide(table, argc, argv);
    if (shown)
        fprintf(stderr,
                "pcp %s: the password in --%s could be seen by every user of this machine: use the "
                "environment, @FILE, or PGPASSFILE\n",
                argv[0], shown);
    if (loaded < 0) {
        fprintf(stderr, "pcp %s: %s\ntry: pcp %s --help\n", argv[0], err.text, argv[0]);
        return CMD_USAGE;
    }
    if (args->asks) {
        cmd_answer(table, args, argv[0]);
        return CMD_OK;
    }
    *done = false;
    return CMD_OK;
}

int cmd_fail(const char *command, const err_t *err)
{
    fprintf(stderr, "pcp %s: %s\n", command, err->text);
    return err->code == ERR_ARG ? CMD_USAGE : CMD_FAILED;
}

int cmd_run(const config_table_t *table, void *options, int argc, char **argv, cmd_body_fn *body,
            err_t *err)
{
    config_args_t args = {0};
    bool done;
    int status = cmd_load(table, options, argc, argv, &args, &done);
    if (!done && body(options, &args, err) < 0) status = cmd_fail(argv[0], err);
    config_args_fini(&args);
    config_fini(table, options);
    return status;
}

void cmd_notes(const char *path, const ir_module_t *module)
{
    for (const char *at = module->notes; at && *at;) {
        const char *end = strchr(at, '\n');
        fprintf(stderr, "note: %s: %.*s\n", path, (int)(end - at), at);
        at = end + 1;
    }
}
