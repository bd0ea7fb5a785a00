/* The configuration table of the compiler. */
#include "compiler/config.h"

#define TEXT(key, text, words)                                                           \
    {                                                                                    \
        .name = #key, .kind = CONFIG_STRING, .offset = offsetof(compiler_config_t, key), \
        .fallback = text, .help = words                                                  \
    }

static const config_field_t fields[] = {
    TEXT(shepherd, "ipc://run/control",
         "control endpoint of a run's shepherd, or of a cluster's front, which listens at "
         "ipc://runs/control by itself"),
    TEXT(cache_dir, "run/plans", "directory of finished plans"),
    {.name = "plans_limit",
     .kind = CONFIG_INT,
     .offset = offsetof(compiler_config_t, plans_limit),
     .fallback = "4Gi",
     .max = 1e15,
     .help = "bytes of the disk that they may take, what was used longest ago goes; 0: any"},
    TEXT(id, NULL, "unique in the cluster [compiler-HOST-RANDOM]"),
    {.name = "once",
     .kind = CONFIG_BOOL,
     .offset = offsetof(compiler_config_t, once),
     .fallback = "false",
     .help = "leave when the run is over"},
    {.name = "slots",
     .kind = CONFIG_INT,
     .offset = offsetof(compiler_config_t, slots),
     .fallback = "1",
     .min = 1,
     .max = 64,
     .help = "jobs that it can do at the same time, also of several runs"},
    {.name = "tune",
     .kind = CONFIG_BOOL,
     .offset = offsetof(compiler_config_t, tune),
     .fallback = "false",
     .help = "choose kernels of products by measuring them on this machine"},
    TEXT(tune_table, NULL, "choose them by this table (of pcp compile --tune), measuring nothing"),
    {.name = "compile_timeout_s",
     .kind = CONFIG_INT,
     .offset = offsetof(compiler_config_t, compile_timeout_s),
     .fallback = "1800",
     .min = 1,
     .max = 1000000,
     .help = "seconds after which a compilation is given up"},
    {.name = "compile_memory",
     .kind = CONFIG_INT,
     .offset = offsetof(compiler_config_t, compile_memory),
     .fallback = "0",
     .max = 1e15,
     .help = "bytes that each process of a compilation may take (8Gi); 0: 3/4 of this machine's "
             "memory"},
    SERVICE_FIELDS(compiler_config_t),
};

const config_table_t compiler_table = {
    .usage = "pcp-compiler --shepherd ENDPOINT --cache-dir DIR\n"
             "Asks the shepherd for compile jobs and answers plans.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};
