/* The configuration table of the metrics service. */
#include "metrics/config.h"

#define TEXT(key, text, words)                                                          \
    {                                                                                   \
        .name = #key, .kind = CONFIG_STRING, .offset = offsetof(metrics_config_t, key), \
        .fallback = text, .help = words                                                 \
    }
#define COUNT(key, text, low, high, words)                                           \
    {                                                                                \
        .name = #key, .kind = CONFIG_INT, .offset = offsetof(metrics_config_t, key), \
        .fallback = text, .help = words, .min = low, .max = high                     \
    }

static const config_field_t fields[] = {
    TEXT(events, "ipc://run/events",
         "endpoints where shepherds publish events, with commas between; none: the page only"),
    TEXT(http, "127.0.0.1:9464",
         "HOST:PORT of /metrics, /healthz, /readyz; port 0 takes any; none: the page only"),
    TEXT(web, NULL,
         "HOST:PORT of the page; port 0 takes any; fd:N: a descriptor that listens [none]"),
    TEXT(tokens, NULL,
         "file of access tokens of /metrics and the page, lines NAME TOKEN, mode 0600; without it "
         "only "
         "this machine may connect [none]"),
    TEXT(tls_cert, NULL, "PEM file of a certificate and its chain: HTTPS alone [none]"),
    TEXT(tls_key, NULL, "PEM file of its key, mode 0600 [none]"),
    {.name = "open",
     .kind = CONFIG_BOOL,
     .offset = offsetof(metrics_config_t, open),
     .fallback = "false",
     .help = "other machines may ask without a token: the network says who can connect"},
    {.name = "web_store",
     .kind = CONFIG_STRING,
     .offset = offsetof(metrics_config_t, web_store),
     .help = "records that the page and metrics of records come from, postgresql://... or "
             "sqlite:///PATH, only read [that of --store]",
     .secret = true},
    {.name = "store",
     .kind = CONFIG_STRING,
     .offset = offsetof(metrics_config_t, store),
     .help = "postgresql://... or sqlite:///PATH to write samples and events to [none]",
     .secret = true},
    TEXT(track, NULL,
         "mlflow:http://HOST:PORT or mlflow:https://HOST: a tracker that gets losses and speed of "
         "the "
         "runs in the records [none]"),
    TEXT(track_experiment, "pcp", "of the tracker, that runs belong to"),
    TEXT(track_token_file, NULL, "its first line is the tracker's token [MLFLOW_TRACKING_TOKEN]"),
    TEXT(id, NULL, "unique in the cluster [metrics-HOST-RANDOM]"),
    COUNT(stale_ms, "5000", 100, 3600000,
          "/readyz says of a shepherd silent for this long that no run is active"),
    COUNT(keep_s, "3600", 1, 31536000, "series not heard of for this long are forgotten"),
    COUNT(queue, "16384", 16, 1048576, "records that wait for the store; more are dropped"),
    COUNT(store_days, "0", 0, 36500, "the store forgets samples and events this old; 0: never"),
    {.name = "list_metrics",
     .kind = CONFIG_BOOL,
     .offset = offsetof(metrics_config_t, list_metrics),
     .fallback = "false",
     .help = "print all metrics, the page docs/metrics.md; then leave"},
    SERVICE_FIELDS(metrics_config_t),
};

const config_table_t metrics_table = {
    .usage = "pcp-metrics --events ENDPOINT[,ENDPOINT...] [--http HOST:PORT] [--store URL]\n"
             "Listens to the events of shepherds: serves the last values to Prometheus, writes\n"
             "samples and events to a store. Training never waits for it.\n"
             "Exit status: 0 ended by a signal, 1 failed, 4 the store's schema is another.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};
