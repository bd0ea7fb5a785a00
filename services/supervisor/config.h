/* The supervisor's flags. */
#ifndef SUPERVISOR_CONFIG_H
#define SUPERVISOR_CONFIG_H

#include "msg/service.h"
#include "supervisor/fleet.h"

typedef struct {
    service_options_t common;
    char *shepherd, *cache_dir, *log_dir, *id, *target, *devices;
    int64_t scale, threads, log_mib;
    int64_t heartbeat_timeout_ms, start_timeout_ms, stagger_ms, grace_s;
    int64_t backoff_ms, backoff_max_ms, stable_ms, max_exits, window_s;
    bool once;
} supervisor_config_t;

extern const config_table_t supervisor_table;

/* What the table cannot say: lengths, things that exclude each other. */
int supervisor_config_check(const supervisor_config_t *self, err_t *err);

fleet_policy_t supervisor_policy(const supervisor_config_t *self);

#endif
