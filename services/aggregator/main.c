/* pcp-aggregator: configuration, slots. What it does is in aggregator.c and its neighbours. */
#include <stdio.h>
#include <stdlib.h>

#include "aggregator/slots.h"
#include "base/mem.h"

static int run(aggregator_config_t *config, err_t *err)
{
    if (!config->id) config->id = service_id("aggregator");
    if (!config->state_dir) config->state_dir = mem_printf("%s.state", config->object_dir);
    int signal_fd = service_start("aggregator", &config->common, &aggregator_table, config, err);
    if (signal_fd < 0) return -1;
    slots_t slots;
    int rc = slots_init(&slots, config, err);
    if (rc == 0) rc = slots_run(&slots, signal_fd, err);
    slots_fini(&slots);
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
    service_end();
    return status;
}
