/* pcp-gateway: configuration and loop. What requests do is in gateway.c. */
#include <stdio.h>

#include "gateway/loop.h"
#include "gateway/loop_join.h"
#include "gateway/stats.h"

static int run(gateway_config_t *config, err_t *err)
{
    bool joins = config->join != NULL;
    if (joins && config->members)
        return err_set(err, ERR_ARG, "--join and --members: a member has no members of its own");
    if (!config->id) config->id = service_id("inference");
    int signal_fd = service_start("gateway", &config->common, &gateway_table, config, err);
    if (signal_fd < 0) return -1;
    return joins ? loop_join_run(config, signal_fd, err) : loop_run(config, signal_fd, err);
}

static int list_metrics(void)
{
    str_t page = {0};
    stats_list(&page);
    bool written = fputs(str_text(&page), stdout) >= 0 && fflush(stdout) == 0;
    str_fini(&page);
    return written ? 0 : 1;
}

int main(int argc, char **argv)
{
    gateway_config_t config = {0};
    err_t err = {0};
    int status = 0, go = service_configure(&gateway_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (go == SERVICE_GO && config.list_metrics) {
        status = list_metrics();
    } else if (go == SERVICE_GO && run(&config, &err) < 0) {
        fprintf(stderr, "pcp-gateway: %s\n", err.text);
        status = 1;
    }
    config_fini(&gateway_table, &config);
    service_end();
    return status;
}
