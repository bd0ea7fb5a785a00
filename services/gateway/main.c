/* pcp-gateway: configuration and loop. What requests do is in gateway.c. */
#include <stdio.h>

#include "gateway/loop.h"
#include "gateway/stats.h"

static int run(gateway_config_t *config, err_t *err)
{
    int signal_fd = service_start("gateway", &config->common, &gateway_table, config, err);
    return signal_fd < 0 ? -1 : loop_run(config, signal_fd, err);
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
