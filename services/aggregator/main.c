/* pcp-aggregator: configuration, sockets, loop. What it does is in aggregator.c and its neighbours.
 */
#include <stdio.h>
#include <stdlib.h>

#include "aggregator/loop.h"
#include "base/mem.h"
#include "msg/control.h"

static int serve(loop_t *loop, const aggregator_config_t *config, int signal_fd, err_t *err)
{
    if (aggregator_init(&loop->state, config->object_dir, config->state_dir, err) < 0) return -1;
    loop->data = control_bind(ZMQ_ROUTER, config->bind, err);
    if (!loop->data) return -1;
    bool given = config->advertise && *config->advertise;
    return loop_run(loop, given ? config->advertise : zsock_endpoint(loop->data), signal_fd, err);
}

static int run(aggregator_config_t *config, err_t *err)
{
    if (!config->id) config->id = service_id("aggregator");
    if (!config->state_dir) config->state_dir = mem_printf("%s.state", config->object_dir);
    int signal_fd = service_start("aggregator", &config->common, &aggregator_table, config, err);
    if (signal_fd < 0) return -1;
    loop_t loop = {.config = config};
    int rc = serve(&loop, config, signal_fd, err);
    /* Pending answers borrow snapshots and files: end the socket first. */
    zsock_destroy(&loop.data);
    aggregator_fini(&loop.state);
    return rc;
}

int main(int argc, char **argv)
{
    aggregator_config_t config = {0};
    err_t err = {0};
    int status = 0, go = service_configure(&aggregator_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (go == SERVICE_GO && run(&config, &err) < 0) {
        fprintf(stderr, "pcp-aggregator: %s\n", err.text);
        status = 1;
    }
    config_fini(&aggregator_table, &config);
    zsys_shutdown();
    return status;
}
