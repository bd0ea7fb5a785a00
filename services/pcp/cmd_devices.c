/* pcp devices: what this build can compile for, and what this machine can run. */
#include <stdio.h>

#include "codegen/backend.h"
#include "pcp/cmd.h"
#include "runtime/device.h"

static const config_table_t table = {
    .usage =
        "usage: pcp devices\n\n"
        "Prints this machine's devices, and the targets that plans can be compiled for: those\n"
        "marked * run here, the one marked ** is what this machine's workers take by themselves.",
    .no_env = true,
};

static void print_devices(void)
{
    const device_ops_t *ops;
    device_info_t info;
    printf("%-8s %-44s %10s %8s\n", "device", "what", "memory", "threads");
    for (int i = 0; (ops = device_row(i)); i++)
        for (int ordinal = 0; ops->info(ordinal, &info); ordinal++) {
            char name[32];
            snprintf(name, sizeof name, "%s:%d", ops->prefix, ordinal);
            printf("%-8s %-44s %6.1f GiB %8d\n", name, info.text,
                   (double)info.memory_bytes / (1 << 30), info.threads);
        }
}

static void print_targets(void)
{
    const target_t *t, *host = target_find(target_host(), NULL);
    printf("\ntargets\n");
    for (int i = 0; (t = target_row(i)); i++)
        printf("  %-2s %s\n",
               t == host                              ? "**"
               : target_runs_here(t->name, NULL) == 0 ? "*"
                                                      : "",
               t->name);
}

static int devices(const void *options, const config_args_t *args, err_t *err)
{
    (void)options, (void)args, (void)err;
    print_devices();
    print_targets();
    return 0;
}

int cmd_devices(int argc, char **argv)
{
    char nothing = 0;
    err_t err = {0};
    return cmd_run(&table, &nothing, argc, argv, devices, &err);
}
