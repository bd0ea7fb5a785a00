/* The flags of the metrics service. */
#ifndef METRICS_CONFIG_H
#define METRICS_CONFIG_H

#include "msg/service.h"

typedef struct {
    service_options_t common;
    char *events, *http, *web, *web_store, *store, *id;
    char *tokens, *tls_cert, *tls_key;
    char *track, *track_experiment, *track_token_file;
    bool open;         /* other machines may ask without a token */
    bool list_metrics; /* do nothing but print them */
    int64_t stale_ms, keep_s, queue, store_days;
} metrics_config_t;

extern const config_table_t metrics_table;

#endif
