/* The compiler's flags. */
#ifndef COMPILER_CONFIG_H
#define COMPILER_CONFIG_H

#include "msg/service.h"

typedef struct {
    service_options_t common;
    char *shepherd, *cache_dir, *id;
    bool once;
    int64_t slots, plans_limit;
    bool tune;
    char *tune_table;
    int64_t compile_timeout_s, compile_memory;
} compiler_config_t;

extern const config_table_t compiler_table;

#endif
