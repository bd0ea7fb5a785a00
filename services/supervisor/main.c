/* pcp-supervisor: configuration and loop. What becomes of the workers is in fleet.c. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "supervisor/inherit.h"
#include "supervisor/loop.h"

static int run(supervisor_config_t *config, int *status, err_t *err)
{
    bool chosen = config->id != NULL;
    if (!chosen) config->id = service_id("supervisor");
    if (supervisor_config_check(config, err) < 0) return -1;
    int signal_fd = service_start("supervisor", &config->common, &supervisor_table, config, err);
    if (signal_fd < 0) return -1;
    loop_t *loop = mem_calloc(1, sizeof *loop);
    loop->config = config;
    int rc = processes_init(&loop->processes, config, err), alive = -1;
    if (rc == 0 && !chosen) rc = alive = inherit_caches(config, err);
    if (rc >= 0) rc = loop_run(loop, signal_fd, status, err);
    processes_fini(&loop->processes);
    if (alive >= 0) close(alive); /* behind our workers' end: they use what the next one takes */
    free(loop);
    return rc;
}

int main(int argc, char **argv)
{
    supervisor_config_t config = {0};
    err_t err = {0};
    int status = 0, go = service_configure(&supervisor_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (go == SERVICE_GO && run(&config, &status, &err) < 0) {
        fprintf(stderr, "pcp-supervisor: %s\n", err.text);
        status = err.code == ERR_ARG ? 2 : 1;
    }
    config_fini(&supervisor_table, &config);
    service_end();
    return status;
}
