/* pcp ops: the table of ops that docs/ops.md is. */
#include <stdio.h>

#include "base/str.h"
#include "compile/op_table.h"
#include "pcp/cmd.h"

static const config_table_t table = {
    .usage =
        "usage: pcp ops\n\n"
        "Prints every op with what interpreter, reverse rules and plan compiler make of it, in\n"
        "markdown. docs/ops.md is its output.",
    .no_env = true,
};

int cmd_ops(int argc, char **argv)
{
    config_args_t args = {0};
    char nothing = 0;
    bool done;
    int status = cmd_load(&table, &nothing, argc, argv, &args, &done);
    if (!done && args.n_operands > 0) {
        err_t err = {0};
        err_set(&err, ERR_ARG, "takes no operands (try --help)");
        status = cmd_fail("ops", &err);
    } else if (!done) {
        str_t out = {0};
        op_table_print(&out);
        fputs(str_text(&out), stdout);
        str_fini(&out);
    }
    config_args_fini(&args);
    return status;
}
