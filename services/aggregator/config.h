/* The aggregator's flags. */
#ifndef AGGREGATOR_CONFIG_H
#define AGGREGATOR_CONFIG_H

#include "msg/service.h"

typedef struct {
    service_options_t common;
    char *shepherd, *bind, *advertise, *object_dir, *state_dir, *id;
    bool once;
    int64_t slots;
} aggregator_config_t;

extern const config_table_t aggregator_table;

#endif
