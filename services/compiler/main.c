/* pcp-compiler: configuration and loop. The jobs are in compiler.c. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/loop.h"

static int run(compiler_config_t *config, err_t *err)
{
    if (!config->id) config->id = service_id("compiler");
    int signal_fd = service_start("compiler", &config->common, &compiler_table, config, err);
    if (signal_fd < 0) return -1;
    loop_t loop = {.config = config};
    if (compiler_init(&loop.compiler, config->cache_dir, err) < 0) return -1;
    return loop_run(&loop, signal_fd, err);
}

int main(int argc, char **argv)
{
    compiler_config_t config = {0};
    err_t err = {0};
    int status = 0, go = service_configure(&compiler_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (go == SERVICE_GO && run(&config, &err) < 0) {
        fprintf(stderr, "pcp-compiler: %s\n", err.text);
        status = 1;
    }
    config_fini(&compiler_table, &config);
    zsys_shutdown();
    return status;
}
