/* pcp-metrics: configuration and loop. What events do is in metrics.c. */
#include <stdio.h>
#include <stdlib.h>

#include "metrics/loop.h"
#include "metrics/metric_doc.h"

static int run(metrics_config_t *config, err_t *err)
{
    if (!config->id) config->id = service_id("metrics");
    int signal_fd = service_start("metrics", &config->common, &metrics_table, config, err);
    if (signal_fd < 0) return -1;
    loop_t loop = {.config = config};
    return loop_run(&loop, signal_fd, err) < 0 ? -1 : loop.exit_status;
}

static int list_metrics(void)
{
    str_t page = {0};
    metric_doc(&page);
    bool written = fputs(str_text(&page), stdout) >= 0 && fflush(stdout) == 0;
    str_fini(&page);
    return written ? 0 : 1;
}

int main(int argc, char **argv)
{
    metrics_config_t config = {0};
    err_t err = {0};
    int status = 0, go = service_configure(&metrics_table, &config, argc, argv);
    if (go == SERVICE_BAD) status = 2;
    if (go == SERVICE_GO && config.list_metrics) {
        status = list_metrics();
    } else if (go == SERVICE_GO) {
        status = run(&config, &err);
        if (status < 0) {
            fprintf(stderr, "pcp-metrics: %s\n", err.text);
            status = 1;
        }
    }
    config_fini(&metrics_table, &config);
    service_end();
    return status;
}
