/* The configuration table of the supervisor. */
#include "supervisor/config.h"

#include <string.h>

#include "msg/limits.h"

#define AT(key) offsetof(supervisor_config_t, key)
#define TEXT(key, text, words)                                                                  \
    {                                                                                           \
        .name = #key, .kind = CONFIG_STRING, .offset = AT(key), .fallback = text, .help = words \
    }
#define WHOLE(key, text, low, high, words)                                                    \
    {                                                                                         \
        .name = #key, .kind = CONFIG_INT, .offset = AT(key), .fallback = text, .help = words, \
        .min = low, .max = high                                                               \
    }

static const config_field_t fields[] = {
    TEXT(shepherd, "ipc://run/control",
         "control endpoint of a run's shepherd, or of a cluster's front, which listens at "
         "ipc://runs/control by itself; \"A,B\": of several, of whom one leads"),
    TEXT(cache_dir, "run/cache",
         "directory for plans and tokens, a folder in it per worker, and for inner states"),
    TEXT(log_dir, "run/logs", "directory for the workers' logs"),
    WHOLE(log_mib, "16", 1, 1000000,
          "a log that is longer begins anew; the one before stays, as ID.log.1"),
    TEXT(id, NULL,
         "unique in the cluster [supervisor-HOST-RANDOM]; its workers are ID-w0, ID-w1, ..."),
    TEXT(target, NULL, "what plans are compiled for [the best of this machine]"),
    TEXT(devices, NULL,
         "a worker for each device: all, or a list (cpu,vulkan:0 or cuda:0,1); pcp devices lists "
         "them"),
    {.name = "scale",
     .kind = CONFIG_INT,
     .offset = AT(scale),
     .fallback = "auto",
     .help = "workers to keep running; auto: one, or one for each of devices, which more share",
     .min = 0,
     .max = FLEET_MAX,
     .words = "auto"},
    WHOLE(threads, "0", 0, 4096, "threads per worker; 0: cores / scale, at least 1"),
    WHOLE(heartbeat_timeout_ms, "4000", 200, 600000,
          "a worker without a sign of life for so long is killed"),
    WHOLE(start_timeout_ms, "30000", 200, 600000, "the same until its first sign of life"),
    WHOLE(stagger_ms, "100", 0, 60000, "between the first starts"),
    WHOLE(grace_s, "25", 0, 3600, "from SIGTERM to SIGKILL"),
    WHOLE(backoff_ms, "250", 1, 600000,
          "wait before the second restart in a row; then doubled each time"),
    WHOLE(backoff_max_ms, "15000", 1, 600000, "longest wait before a restart"),
    WHOLE(stable_ms, "10000", 1, 3600000,
          "a life this long ends the row: the next restart is at once"),
    WHOLE(max_exits, "5", 1, RESTART_MAX_EXITS,
          "a worker that ends so often within window_s is given up"),
    WHOLE(window_s, "30", 1, 86400, "of max_exits"),
    {.name = "once",
     .kind = CONFIG_BOOL,
     .offset = AT(once),
     .fallback = "false",
     .help = "leave when the run is over"},
    SERVICE_FIELDS(supervisor_config_t),
};

const config_table_t supervisor_table = {
    .usage = "pcp-supervisor --shepherd ENDPOINT --scale N\n"
             "Keeps N workers running on this machine: starts, watches, restarts, drains them.\n"
             "Exit status: 0 all workers left in time, 1 error, 2 usage, 3 some had to be killed\n"
             "after the grace period, 4 every worker is given up after a crash loop.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

int supervisor_config_check(const supervisor_config_t *self, err_t *err)
{
    enum { SUFFIX_BYTES = sizeof "-w4095" };
    if (!*self->id || strlen(self->id) + SUFFIX_BYTES > MSG_ID_BYTES)
        return err_set(err, ERR_ARG, "id \"%s\": 1 to %d bytes, as the workers' ids begin with it",
                       self->id, MSG_ID_BYTES - SUFFIX_BYTES);
    if (self->target && self->devices)
        return err_set(err, ERR_ARG,
                       "give target or devices: a device's target stands with it "
                       "(vulkan:spirv1.3@1)");
    if (strchr(self->id, '/'))
        return err_set(err, ERR_ARG, "id \"%s\": no \"/\", as it names the workers' logs",
                       self->id);
    return 0;
}

fleet_policy_t supervisor_policy(const supervisor_config_t *self)
{
    return (fleet_policy_t){
        .restart = {.base_ms = self->backoff_ms,
                    .max_ms = self->backoff_max_ms,
                    .stable_ms = self->stable_ms,
                    .window_ms = self->window_s * 1000,
                    .max_exits = (int)self->max_exits},
        .stagger_ms = self->stagger_ms,
        .first_beat_ms = self->start_timeout_ms,
        .timeout_ms = self->heartbeat_timeout_ms,
        .grace_ms = self->grace_s * 1000,
        .once = self->once,
    };
}
