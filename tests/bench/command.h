/* A bench as a command: its flags by table, --help, errors on standard error. */
#ifndef TESTS_BENCH_COMMAND_H
#define TESTS_BENCH_COMMAND_H

#include <stdio.h>

#include "base/config.h"

/* Read the flags into `options` and run; `run` gets both. Returns the exit status. */
static inline int bench_command(const char *name, const config_table_t *table, void *options,
                                int argc, char **argv,
                                int (*run)(const void *options, const config_args_t *args,
                                           err_t *err))
{
    config_args_t args = {0};
    err_t err = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    int status = config_load(table, options, NULL, argc, argv, &args, &err);
    if (status == 0 && args.asks)
        config_answer(table, &args, name, stdout);
    else if (status == 0)
        status = run(options, &args, &err);
    if (status < 0) fprintf(stderr, "%s: %s\n", name, err.text);
    config_args_fini(&args);
    config_fini(table, options);
    return status < 0;
}

#endif
