/* The flags of the gateway. */
#ifndef GATEWAY_CONFIG_H
#define GATEWAY_CONFIG_H

#include "infer/infer.h"
#include "msg/service.h"

typedef struct {
    service_options_t common;
    char *http, *model, *chat_template, *tokens, *tls_cert, *tls_key, *weights, *keep, *activations,
        *members, *join, *id;
    int64_t batch, queue, connections, body_bytes, drain_s, context, threads, member_wait_s,
        plans_limit;
    double timeout_s;
    bool follow;
    bool list_metrics; /* do nothing but print them */
} gateway_config_t;

extern const config_table_t gateway_table;

#endif
