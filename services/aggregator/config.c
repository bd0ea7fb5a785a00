/* The configuration table of the aggregator. */
#include "aggregator/config.h"

#define TEXT(key, text, words)                                                             \
    {                                                                                      \
        .name = #key, .kind = CONFIG_STRING, .offset = offsetof(aggregator_config_t, key), \
        .fallback = text, .help = words                                                    \
    }

static const config_field_t fields[] = {
    TEXT(shepherd, "ipc://run/control",
         "control endpoint of a run's shepherd, or of a cluster's front, which listens at "
         "ipc://runs/control by itself"),
    TEXT(bind, "ipc://run/data", "data endpoint (tcp://0.0.0.0:* takes any free port)"),
    TEXT(advertise, NULL, "data endpoint as others reach it [the bound one]"),
    TEXT(object_dir, "run/objects", "directory of the object store"),
    TEXT(state_dir, NULL, "directory that outlives the process [OBJECT_DIR.state]"),
    TEXT(id, NULL, "unique in the cluster [aggregator-HOST-RANDOM]"),
    {.name = "once",
     .kind = CONFIG_BOOL,
     .offset = offsetof(aggregator_config_t, once),
     .fallback = "false",
     .help = "leave when the run is over"},
    {.name = "slots",
     .kind = CONFIG_INT,
     .offset = offsetof(aggregator_config_t, slots),
     .fallback = "1",
     .min = 1,
     .max = 64,
     .help = "runs that it can serve at the same time; slot I has port + I"},
    SERVICE_FIELDS(aggregator_config_t),
};

const config_table_t aggregator_table = {
    .usage = "pcp-aggregator --shepherd ENDPOINT --bind ENDPOINT --object-dir DIR\n"
             "Owns a range of a run's parameters: serves them, sums pseudo-gradients, applies the\n"
             "outer step. Keeps the object store.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};
