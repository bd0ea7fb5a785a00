/* The configuration table of the front. */
#include "shepherd/front/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "msg/limits.h"

#define AT(key) offsetof(front_config_t, key)
#define TEXT(key, text, words)                                                                  \
    {                                                                                           \
        .name = #key, .kind = CONFIG_STRING, .offset = AT(key), .fallback = text, .help = words \
    }
#define SECRET(key, text, words)                                                                 \
    {                                                                                            \
        .name = #key, .kind = CONFIG_STRING, .offset = AT(key), .fallback = text, .help = words, \
        .secret = true                                                                           \
    }
#define WHOLE(key, text, low, high, words)                                                    \
    {                                                                                         \
        .name = #key, .kind = CONFIG_INT, .offset = AT(key), .fallback = text, .help = words, \
        .min = low, .max = high                                                               \
    }

static const config_field_t fields[] = {
    {.name = "cluster",
     .kind = CONFIG_BOOL,
     .offset = AT(cluster),
     .fallback = "false",
     .help = "serve the runs that pcp run submits, instead of one run.json"},
    TEXT(runs_dir, "runs", "directory of the runs: a folder each; stand-bys share it"),
    TEXT(socket_dir, NULL,
         "private directory of sockets to the runs' shepherds [a new one in /tmp]"),
    TEXT(bind, NULL, "control endpoint [ipc://RUNS_DIR/control]"),
    TEXT(telemetry, NULL, "where members send telemetry, for each run: any free port [of --bind]"),
    TEXT(events, NULL, "where events of all runs are published [ipc://RUNS_DIR/events]"),
    SECRET(store, NULL, "URL of the cluster's records [sqlite://RUNS_DIR/pcp.db]"),
    SECRET(liveness, NULL, "URL of a Redis where operators see who is alive [none]"),
    TEXT(id, NULL, "name among shepherds [shepherd-HOST-RANDOM]"),
    WHOLE(most_runs, "16", 1, 1000, "runs that are active at the same time, at most"),
    WHOLE(log_mib, "16", 1, 1000000,
          "a run's log that is longer begins anew; the one before stays, as shepherd.log.1"),
    WHOLE(upload_gib, "64", 1, 1000000, "largest submission"),
    WHOLE(heartbeat_ms, "500", 10, 60000, "members send a heartbeat this often"),
    WHOLE(timeout_ms, "4000", 50, 600000, "a member silent for this long is lost"),
    WHOLE(leader_ttl_ms, "1500", 30, 3600000, "a stand-by takes over after such a silence"),
    {.name = "shard_wait_s",
     .kind = CONFIG_FLOAT,
     .offset = AT(shard_wait_s),
     .fallback = "60",
     .max = 1e6,
     .help = "how long a lost aggregator may stay away"},
    {.name = "keep_state",
     .kind = CONFIG_ENUM,
     .offset = AT(keep_state),
     .fallback = "local",
     .help = "where workers keep inner states",
     .words = "memory|local|object"},
    SERVICE_FIELDS(front_config_t),
};

const config_table_t front_table = {
    .usage = "pcp-shepherd --cluster --store URL --runs-dir DIR --bind ENDPOINT --events ENDPOINT\n"
             "Serves a cluster: keeps the table of runs, starts a shepherd for each active one,\n"
             "shares workers, aggregators and compilers out among them.\n"
             "Several with one store and runs directory: one leads, the others stand by.\n"
             "Exit status: 0 stopped by a signal, 1 failed, 4 the store has another schema,\n"
             "5 another one has taken over.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

static void set_default(char **field, const char *prefix, const char *dir, const char *name)
{
    if (*field && **field) return;
    free(*field);
    *field = mem_printf("%s%s/%s", prefix, dir, name);
}

void front_config_fill(front_config_t *config)
{
    set_default(&config->bind, "ipc://", config->runs_dir, "control");
    set_default(&config->events, "ipc://", config->runs_dir, "events");
    set_default(&config->store, "sqlite://", config->runs_dir, "pcp.db");
    const char *colon = strrchr(config->bind, ':');
    bool given = config->telemetry && *config->telemetry;
    if (!given && str_starts(config->bind, "tcp://")) {
        free(config->telemetry);
        config->telemetry = mem_printf("%.*s:*", (int)(colon - config->bind), config->bind);
    }
    if (config->id && *config->id) return;
    free(config->id);
    config->id = service_id("shepherd");
}

int front_config_check(const front_config_t *self, err_t *err)
{
    if (self->timeout_ms <= self->heartbeat_ms)
        return err_set(err, ERR_ARG, "timeout_ms %lld must be above heartbeat_ms %lld",
                       (long long)self->timeout_ms, (long long)self->heartbeat_ms);
    if (strlen(self->id) >= MSG_ID_BYTES)
        return err_set(err, ERR_ARG, "id \"%s\": 1 to %d bytes", self->id, MSG_ID_BYTES - 1);
    if (strcmp(self->store, "none") == 0)
        return err_set(err, ERR_ARG, "store none: a cluster needs records of its runs");
    return 0;
}
