/* Subcommands of pcp: one row in main.c's table and one file cmd_<name>.c each. */
#ifndef PCP_CMD_H
#define PCP_CMD_H

#include "base/config.h"
#include "base/err.h"

/* What a subcommand returns, and pcp's exit status. */
enum { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

/* Where the cluster is: the same flag, PCP_SHEPHERD and default (where pcp-shepherd --cluster listens by
 * itself) for all that talk to it. `type` has a char *shepherd; a table without an environment says
 * .env_field = "shepherd". */
#define CMD_SHEPHERD_FIELD(type)                                                             \
    {                                                                                        \
        "shepherd", CONFIG_STRING, offsetof(type, shepherd), "ipc://runs/control",           \
            "control endpoint of the cluster's front, or of the shepherd of a run, which "   \
            "listens at ipc://run/control by itself; \"A,B\" with stand-bys [PCP_SHEPHERD]", \
            0, 0, NULL, false                                                                \
    }

/* The operator's key, beside CMD_SHEPHERD_FIELD: `type` has a char *key_file. */
#define CMD_KEY_FIELD(type)                                                            \
    {                                                                                  \
        "key_file", CONFIG_STRING, offsetof(type, key_file), NULL,                     \
            "file of the operator's key (pcp keys issue) [PCP_KEY]", 0, 0, NULL, false \
    }

/* argv[0] is the subcommand's name. */
typedef int cmd_fn(int argc, char **argv);

cmd_fn cmd_audit, cmd_check, cmd_checkpoint, cmd_compare, cmd_compile, cmd_db, cmd_devices,
    cmd_doctor, cmd_eval, cmd_generate, cmd_keys, cmd_model, cmd_ops, cmd_options, cmd_profile,
    cmd_runs, cmd_tokenizer, cmd_top, cmd_train, cmd_worker;
cmd_fn cmd_backup, cmd_completion, cmd_restore;

/* Print what args asks of `pcp COMMAND`: help, version, page for man. */
void cmd_answer(const config_table_t *table, const config_args_t *args, const char *command);

/* This process uses the key of that file, or of PCP_KEY, from now on, if there is one. */
int cmd_key(const char *path, err_t *err);

/* Load flags into `target`, and the key that they or the environment name; prints --help and errors
 * itself. Returns CMD_OK to go on, or with *done
 * set the status to leave with. */
int cmd_load(const config_table_t *table, void *target, int argc, char **argv, config_args_t *args,
             bool *done);

/* The frame of most subcommands: load flags into `options` (zeroed by the caller), run `body` on
 * them, print its error, free. Returns what to leave with; err (not NULL) keeps the body's error.
 */
typedef int cmd_body_fn(const void *options, const config_args_t *args, err_t *err);
int cmd_run(const config_table_t *table, void *options, int argc, char **argv, cmd_body_fn *body,
            err_t *err);

/* ERR_ARG where an operand was given and is empty, as it is by a shell's variable that is not set: the files would lie
 * in "/". `what`: to give. NULL, not given, is well. (Of flags config_load says so.) */
int cmd_named(const char *name, const char *operand, const char *what, err_t *err);

/* "pcp train: TEXT" on stderr; returns CMD_FAILED (CMD_USAGE for ERR_ARG). */
int cmd_fail(const char *command, const err_t *err);

/* What the parser left out or took otherwise than the file has it, a line of stderr each. */
struct ir_module;
void cmd_notes(const char *path, const struct ir_module *module);

/* For member_options_t: a line on stderr while the cluster is tried again. */
void cmd_unreachable(void *state, const char *text);

#endif
