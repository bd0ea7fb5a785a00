/* What all subcommands have in common: flags, help, errors. */
#include "pcp/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "ckpt/checkpoint.h"
#include "ir/ir.h"
#include "msg/keyring.h"
#include "msg/vouch.h"

void cmd_answer(const config_table_t *table, const config_args_t *args, const char *command)
{
    char *name = mem_printf("pcp %s", command);
    config_answer(table, args, name, stdout);
    free(name);
}

int cmd_key(const char *path, err_t *err)
{
    const keyring_options_t options = {.key = path && *path ? path : getenv("PCP_KEY")};
    err_t fault = {0};
    if (keyring_load(&options, &fault) < 0 || keyring_start(&fault) < 0)
        return err_set(err, fault.code, "the operator's key: %s", fault.text);
    atexit(keyring_end);
    static const checkpoint_seals_t seals = {vouch_checkpoint, vouch_check_checkpoint};
    if (keyring_own()) checkpoint_use_seals(&seals);
    return 0;
}

/* The table has a key_file: this process uses its key from now on. */
static int take_key(const config_table_t *table, const void *target, err_t *err)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        const config_field_t *field = &table->fields[i];
        if (strcmp(field->name, "key_file") != 0) continue;
        if (cmd_key(*(char *const *)((const char *)target + field->offset), err) < 0) return -1;
    }
    return 0;
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
    if (take_key(table, target, &err) < 0) {
        fprintf(stderr, "pcp %s: %s\n", argv[0], err.text);
        return CMD_USAGE;
    }
    *done = false;
    return CMD_OK;
}

int cmd_named(const char *name, const char *operand, const char *what, err_t *err)
{
    if (!name || *name) return 0;
    return err_set(err, ERR_ARG, "%s: the name is empty: give %s", operand, what);
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
    char *notes = mem_strdup(module->notes ? module->notes : "");
    utf8_plain(notes, true); /* names are the model's */
    for (const char *at = notes; *at;) {
        const char *end = strchr(at, '\n');
        fprintf(stderr, "note: %s: %.*s\n", path, (int)(end - at), at);
        at = end + 1;
    }
    free(notes);
}
