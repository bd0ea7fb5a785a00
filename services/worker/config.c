/* The configuration table of the worker. */
#include "worker/config.h"

#define TEXT(key, text, words)                                                         \
    {                                                                                  \
        .name = #key, .kind = CONFIG_STRING, .offset = offsetof(worker_config_t, key), \
        .fallback = text, .help = words                                                \
    }

static const config_field_t fields[] = {
    TEXT(shepherd, "ipc://run/control",
         "control endpoint of a run's shepherd, or of a cluster's front, which listens at "
         "ipc://runs/control by itself; \"A,B\": of several, of whom one leads"),
    TEXT(cache_dir, "run/cache", "directory for plans and tokens"),
    TEXT(state_dir, NULL,
         "directory for inner optimizer states, shared by the workers of a machine "
         "[CACHE_DIR/state]"),
    TEXT(id, NULL, "unique in the cluster [worker-HOST-RANDOM]"),
    TEXT(target, NULL, "what plans are compiled for [the best of this machine]"),
    TEXT(device, NULL,
         "what trains: a kind (vulkan), with a number (vulkan:1), a target and a number "
         "(vulkan:spirv1.3@1); pcp devices lists them [the device of target]"),
    {.name = "memory_limit",
     .kind = CONFIG_INT,
     .offset = offsetof(worker_config_t, memory_limit),
     .fallback = "0",
     .help = "bytes of the device's memory that a plan may have (512Mi, 2Gi); 0: what it has",
     .min = 0,
     .max = 1e15},
    {.name = "cache_limit",
     .kind = CONFIG_INT,
     .offset = offsetof(worker_config_t, cache_limit),
     .fallback = "16Gi",
     .help =
         "bytes of the disk that a run's tokens may take (512Mi, 2Gi), what was used longest ago "
         "goes; those to validate on as many; 0: any",
     .min = 0,
     .max = 1e15},
    TEXT(supervisor, NULL, "id of the supervisor that starts this worker"),
    {.name = "threads",
     .kind = CONFIG_INT,
     .offset = offsetof(worker_config_t, threads),
     .fallback = "0",
     .help = "threads that compute; 0: one per core that the affinity mask and the container's "
             "quota leave",
     .min = 0,
     .max = 4096},
    {.name = "pin",
     .kind = CONFIG_BOOL,
     .offset = offsetof(worker_config_t, pin),
     .fallback = "false",
     .help = "bind them to cores: for the only worker of a machine or of a set of cores (taskset)"},
    {.name = "alive_fd",
     .kind = CONFIG_INT,
     .offset = offsetof(worker_config_t, alive_fd),
     .fallback = "-1",
     .help = "pipe for signs of life to the supervisor",
     .min = -1,
     .max = 65535},
    {.name = "grace_ms",
     .kind = CONFIG_INT,
     .offset = offsetof(worker_config_t, grace_ms),
     .fallback = "25000",
     .help = "SIGTERM: time to end the step and hand in what is trained",
     .min = 0,
     .max = 3600000},
    {.name = "once",
     .kind = CONFIG_BOOL,
     .offset = offsetof(worker_config_t, once),
     .fallback = "false",
     .help = "leave when the run is over"},
    {.name = "fetch_ahead",
     .kind = CONFIG_BOOL,
     .offset = offsetof(worker_config_t, fetch_ahead),
     .fallback = "true",
     .help = "fetch the next round's parameters while this round's update goes up, for memory of "
             "their size "
             "on the way (with --down-codec int8 a byte each)"},
    {.name = "cage",
     .kind = CONFIG_ENUM,
     .offset = offsetof(worker_config_t, cage),
     .fallback = "auto",
     .words = "auto|off|require",
     .help =
         "keep plans from programs, files and more (docs/security.md); auto: as the kernel can"},
    SERVICE_FIELDS(worker_config_t),
};

const config_table_t worker_table = {
    .usage =
        "pcp-worker --shepherd ENDPOINT --cache-dir DIR\n"
        "Leases replicas of a run, trains them by a plan, uploads pseudo-gradients.\n"
        "Exit status: 0 it left, 1 error, 2 usage, 10 its device is not there, 11 its device is\n"
        "lost, 12 its device has too little memory for the run's plan.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};
