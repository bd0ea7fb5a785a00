/* The worker's flags. */
#ifndef WORKER_CONFIG_H
#define WORKER_CONFIG_H

#include "msg/service.h"

typedef struct {
    service_options_t common;
    char *shepherd, *cache_dir, *state_dir, *id, *target, *device, *supervisor;
    bool pin;
    int64_t memory_limit, cache_limit, threads, alive_fd, grace_ms;
    bool once, fetch_ahead;
    char *cage;
} worker_config_t;

extern const config_table_t worker_table;

#endif
