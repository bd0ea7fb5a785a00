/* pcp-worker: configuration and loop. The training is in trainer.c. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/log.h"
#include "base/mem.h"
#include "worker/confine.h"
#include "worker/loop.h"
#include "worker/place.h"

/* *status: what to leave with. */
static int run(worker_config_t *config, int *status, err_t *err)
{
    device_place_t place;
    loop_t loop = {.config = config};
    *status = 1;
    if (!config->id) config->id = service_id("worker");
    if (!config->state_dir) config->state_dir = mem_printf("%s/state", config->cache_dir);
    if (worker_place(config, &place, &loop.device, err) < 0) {
        if (err->code == ERR_UNSUPPORTED) *status = EXIT_DEVICE_MISSING;
        return -1;
    }
    cage_t cage;
    runners_t *runners = NULL;
    err_t why;
    if (confine_code(config, place.ops, &runners, &why, err) < 0) return -1;
    if (confine(config, &cage, err) < 0) return -1;
    int signal_fd = service_start("worker", &config->common, &worker_table, config, err);
    if (signal_fd < 0) return -1;
    log_context("worker=%s", config->id);
    confine_tell(config, &cage, &why);
    snprintf(loop.device_id, sizeof loop.device_id, "%s:%d", place.ops->prefix, place.ordinal);
    if (trainer_init(&loop.trainer, config->cache_dir, config->state_dir, (int)config->threads,
                     err) < 0)
        return -1;
    loop.trainer.fetch_ahead = config->fetch_ahead;
    loop.trainer.cache_limit = (uint64_t)config->cache_limit;
    loop.trainer.device.pin = config->pin;
    loop.trainer.device.runners = runners;
    loop.trainer.device.ordinal = place.ordinal;
    loop.trainer.device.memory_limit = (uint64_t)config->memory_limit;
    bool busy = false;
    int rc = loop_run(&loop, signal_fd, &busy, err);
    if (busy) { /* deep in a step: nobody waits for what it may still bring */
        log_event(LOG_WARN, "broken_off", "grace_ms=%lld", (long long)config->grace_ms);
        zclock_sleep(100); /* BYE is on its way */
        _exit(0);
    }
    *status = rc < 0 ? 1 : loop.trainer.leave;
    trainer_fini(&loop.trainer);
    runners_stop(&runners);
    return rc;
}

int main(int argc, char **argv)
{
    worker_config_t config = {0};
    err_t err = {0};
    runners_main(argc, argv);
    int status = 0, go = service_configure(&worker_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (go == SERVICE_GO && run(&config, &status, &err) < 0)
        fprintf(stderr, "pcp-worker: %s\n", err.text);
    config_fini(&worker_table, &config);
    service_end();
    return status;
}
