/* pcp-worker: configuration and loop. The training is in trainer.c. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "worker/confine.h"
#include "worker/loop.h"

static int run(worker_config_t *config, err_t *err)
{
    if (!config->id) config->id = service_id("worker");
    if (!config->target) config->target = mem_strdup(target_host());
    if (!config->state_dir) config->state_dir = mem_printf("%s/state", config->cache_dir);
    if (target_runs_here(config->target, err) < 0) return -1;
    cage_t cage;
    if (confine(config, &cage, err) < 0) return -1;
    int signal_fd = service_start("worker", &config->common, &worker_table, config, err);
    if (signal_fd < 0) return -1;
    log_context("worker=%s", config->id);
    log_event(LOG_INFO, "cage", "calls=%d paths=%d", cage.filter, cage.paths);
    loop_t loop = {.config = config};
    if (trainer_init(&loop.trainer, config->cache_dir, config->state_dir, (int)config->threads,
                     err) < 0)
        return -1;
    loop.trainer.pin = config->pin;
    bool busy = false;
    int rc = loop_run(&loop, signal_fd, &busy, err);
    if (busy) { /* deep in a step: nobody waits for what it may still bring */
        log_event(LOG_WARN, "broken_off", "grace_ms=%lld", (long long)config->grace_ms);
        zclock_sleep(100); /* BYE is on its way */
        _exit(0);
    }
    trainer_fini(&loop.trainer);
    return rc;
}

int main(int argc, char **argv)
{
    worker_config_t config = {0};
    err_t err = {0};
    int status = 0, go = service_configure(&worker_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (go == SERVICE_GO && run(&config, &err) < 0) {
        fprintf(stderr, "pcp-worker: %s\n", err.text);
        status = 1;
    }
    config_fini(&worker_table, &config);
    service_end();
    return status;
}
