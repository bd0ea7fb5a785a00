/* Flags of pcp-shepherd --cluster. */
#ifndef SHEPHERD_FRONT_CONFIG_H
#define SHEPHERD_FRONT_CONFIG_H

#include "base/config.h"
#include "msg/service.h"

typedef struct {
    service_options_t common;
    bool cluster;
    char *runs_dir, *socket_dir, *bind, *telemetry, *events, *store, *liveness, *id, *keep_state;
    int64_t heartbeat_ms, timeout_ms, leader_ttl_ms, most_runs, upload_gib, log_mib;
    double shard_wait_s;
} front_config_t;

extern const config_table_t front_table;

/* What was not given: places in the runs' directory, a name. */
void front_config_fill(front_config_t *config);

/* What the table cannot say. */
int front_config_check(const front_config_t *self, err_t *err);

#endif
