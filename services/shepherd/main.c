/* pcp-shepherd: configuration, sockets, loop. The run itself is in shepherd.c and its neighbours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "base/str.h"
#include "ckpt/checkpoint.h"
#include "msg/control.h"
#include "msg/keyring.h"
#include "msg/vouch.h"
#include "shepherd/front/front.h"
#include "shepherd/loop.h"

/* NULL: nothing is kept. */
static zactor_t *open_recorder(const shepherd_config_t *config, recorder_options_t *options)
{
    if (strcmp(config->store, "none") == 0) return NULL;
    *options = (recorder_options_t){.url = config->store,
                                    .run = config->run,
                                    .holder = config->id,
                                    .config = shepherd_config_result(config),
                                    .n_rounds = (uint64_t)config->rounds,
                                    .ttl_ms = config->leader_ttl_ms,
                                    .relaxed = !config->store_sync,
                                    .lengthen = config->lengthen,
                                    .migrate = str_starts(config->store, "sqlite:")};
    return recorder_new(options);
}

static int open_sockets(loop_t *self, const shepherd_config_t *config, err_t *err)
{
    if (file_make_dirs(config->run_dir, err) < 0) return -1;
    self->control = endpoint_open(endpoint_bind(ZMQ_ROUTER, config->bind), err);
    if (!self->control) return -1;
    self->telemetry = endpoint_open(endpoint_bind(ZMQ_SUB, config->telemetry), err);
    if (!self->telemetry) return -1;
    self->events = endpoint_open(endpoint_bind(ZMQ_PUB, config->events), err);
    if (!self->events) return -1;
    self->state.ports.telemetry = zsock_endpoint(self->telemetry);
    self->courier = courier_new(config);
    return self->courier ? 0 : err_set(err, ERR_STATE, "no courier actor");
}

static int open_herald(loop_t *self, const shepherd_config_t *config, err_t *err)
{
    if (!config->liveness || !*config->liveness) return 0;
    liveness_t *liveness = liveness_open(config->liveness, 0, err);
    if (!liveness) return -1;
    self->herald = herald_new(liveness);
    return 0;
}

static void close_sockets(loop_t *self)
{
    courier_destroy(&self->courier);
    recorder_destroy(&self->recorder);
    zactor_destroy(&self->herald);
    zsock_destroy(&self->control);
    zsock_destroy(&self->telemetry);
    zsock_destroy(&self->events);
}

static int run(shepherd_config_t *config, err_t *err)
{
    shepherd_config_fill(config);
    int signal_fd = service_start("shepherd", &config->common, &shepherd_table, config, err);
    if (signal_fd < 0) return -1;
    loop_t loop = {0};
    recorder_options_t recorder = {0};
    int status = -1;
    int rc = shepherd_init(&loop.state, config, err);
    if (rc == 0) rc = open_sockets(&loop, config, err);
    if (rc == 0) rc = open_herald(&loop, config, err);
    if (rc == 0) loop.recorder = open_recorder(config, &recorder);
    if (rc == 0 && loop_run(&loop, signal_fd, err) == 0) status = loop.state.exit_status;
    close_sockets(&loop);
    take_over(&recorder); /* what the threads borrowed */
    take_over(config);
    shepherd_fini(&loop.state);
    free((char *)recorder.config);
    return status;
}

/* Other flags belong to a cluster: the word decides before they are read. */
static bool is_cluster(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--cluster") == 0) return true;
    return false;
}

static int cluster(int argc, char **argv, err_t *err)
{
    front_config_t config = {0};
    int status = 0, go = service_configure(&front_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (go == SERVICE_GO) status = front_run_all(&config, err);
    config_fini(&front_table, &config);
    return status;
}

/* Checkpoints are signed, and taken from who may sign them. */
static const checkpoint_seals_t seals = {vouch_checkpoint, vouch_check_checkpoint};

static int one_run(int argc, char **argv, err_t *err)
{
    shepherd_config_t config = {0};
    int status = 0, go = service_configure(&shepherd_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (keyring_own()) checkpoint_use_seals(&seals);
    if (go == SERVICE_GO) status = run(&config, err);
    config_fini(&shepherd_table, &config);
    return status;
}

int main(int argc, char **argv)
{
    err_t err = {0};
    int status = is_cluster(argc, argv) ? cluster(argc, argv, &err) : one_run(argc, argv, &err);
    if (status < 0) {
        fprintf(stderr, "pcp-shepherd: %s\n", err.text);
        status = 1;
    }
    service_end();
    return status;
}
