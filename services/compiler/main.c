/* pcp-compiler: configuration and loop. The jobs are in compiler.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/memory.h"
#include "base/scratch.h"
#include "compiler/loop.h"
#include "compiler/sample.h"
#include "compiler/task.h"

/* What a compilation may take of the machine's, or container's, memory. */
static int64_t most_memory(void)
{
    uint64_t bytes = memory_bytes();
    return bytes < UINT64_MAX ? (int64_t)(bytes / 4 * 3) : 0;
}

static int run(compiler_config_t *config, err_t *err)
{
    if (!config->id) config->id = service_id("compiler");
    int signal_fd = service_start("compiler", &config->common, &compiler_table, config, err);
    if (signal_fd < 0) return -1;
    int swept = scratch_sweep(NULL, "cc"); /* of compilers that were killed */
    if (swept > 0) log_event(LOG_INFO, "swept", "folders=%d", swept);
    size_t n = (size_t)config->slots;
    loop_t *slots = mem_calloc(n, sizeof *slots);
    int64_t memory = config->compile_memory > 0 ? config->compile_memory : most_memory();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        slots[i].config = config;
        slots[i].id = n > 1 ? mem_printf("%s-s%zu", config->id, i) : mem_strdup(config->id);
        rc = compiler_init(&slots[i].compiler, config->cache_dir, err);
        slots[i].compiler.cache_limit = (uint64_t)config->plans_limit;
        slots[i].compiler.tune = config->tune;
        slots[i].compiler.tune_table = config->tune_table;
        slots[i].compiler.limits = (child_limits_t){config->compile_timeout_s, memory, NULL};
    }
    if (rc == 0) rc = loop_run(slots, n, signal_fd, err);
    for (size_t i = 0; i < n; i++) free((char *)slots[i].id);
    free(slots);
    return rc;
}

int main(int argc, char **argv)
{
    compiler_config_t config = {0};
    err_t err = {0};
    if (argc > 1 && strcmp(argv[1], TASK_COMMAND) == 0) return task_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], SAMPLE_COMMAND) == 0) return sample_main(argc, argv);
    int status = 0, go = service_configure(&compiler_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (go == SERVICE_GO && run(&config, &err) < 0) {
        fprintf(stderr, "pcp-compiler: %s\n", err.text);
        status = 1;
    }
    config_fini(&compiler_table, &config);
    service_end();
    return status;
}
