/* The configuration table of the shepherd. */
#include "shepherd/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define FIELD(key, what, text, words_help)                                               \
    {                                                                                    \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(shepherd_config_t, key), \
        .fallback = text, .help = words_help                                             \
    }
#define RANGE(key, what, text, low, high, words_help)                                    \
    {                                                                                    \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(shepherd_config_t, key), \
        .fallback = text, .help = words_help, .min = low, .max = high                    \
    }
#define SECRET(key, text, words_help)                                                    \
    {                                                                                    \
        .name = #key, .kind = CONFIG_STRING, .offset = offsetof(shepherd_config_t, key), \
        .fallback = text, .help = words_help, .secret = true                             \
    }
#define WORDS(key, text, choice, words_help)                                           \
    {                                                                                  \
        .name = #key, .kind = CONFIG_ENUM, .offset = offsetof(shepherd_config_t, key), \
        .fallback = text, .help = words_help, .words = choice                          \
    }

static const config_former_t former_names[] = {
    {"data_layout", "layout"}, {"shards", "aggregators"}, {NULL, NULL}};

static const config_field_t fields[] = {
    FIELD(run_dir, STRING, "run", "directory of the run's sockets and files"),
    FIELD(bind, STRING, NULL, "control endpoint [ipc://RUN_DIR/control]"),
    FIELD(telemetry, STRING, NULL, "where members send telemetry [ipc://RUN_DIR/telemetry]"),
    FIELD(events, STRING, NULL, "where events are published [ipc://RUN_DIR/events]"),
    RANGE(heartbeat_ms, INT, "500", 10, 60000, "members send a heartbeat this often"),
    RANGE(timeout_ms, INT, "4000", 50, 600000, "a member silent for this long is lost"),
    SECRET(store, NULL, "URL of the run's records [sqlite://RUN_DIR/pcp.db]; none: keep none"),
    SECRET(liveness, NULL, "URL of a Redis where operators see who is alive [none]"),
    FIELD(lengthen, BOOL, "false", "the run was begun with fewer rounds, and may be over"),
    FIELD(store_sync, BOOL, "true", "SQLite: records survive a power cut, too"),
    FIELD(id, STRING, NULL, "name among shepherds [shepherd-HOST-RANDOM]"),
    RANGE(leader_ttl_ms, INT, "1500", 30, 3600000, "a stand-by takes over after such a silence"),
    RANGE(shard_wait_s, FLOAT, "60", 0, 1e6, "how long a lost aggregator may stay away"),
    RANGE(work_wait_s, FLOAT, "60", 0, 1e6,
          "work that takes too long is not given again before this"),
    RANGE(target_wait_s, FLOAT, "10", 0, 1e6,
          "a lost worker's lease is kept so long for another one of its target"),
    FIELD(run, STRING, "run", "id of the run"),
    FIELD(model, STRING, NULL, "StableHLO text of the model"),
    FIELD(init, STRING, NULL, "safetensors file with every parameter"),
    FIELD(train_tokens, STRING, NULL, "tokens to train on: NAME.u16, .u32 or .u8, little-endian"),
    FIELD(validation_tokens, STRING, NULL, "tokens to validate on"),
    RANGE(averaged_from, INT, "0", 0, 1e15,
          "elements of the parameters from this one on are the model's states: averaged; 0: none"),
    RANGE(vocab, INT, "65536", 1, 2147483648.0, "tokens are below this"),
    RANGE(workers_wait_s, INT, "60", 0, 1e6, "seconds after which it begins with fewer"),
    WORDS(keep_state, "local", "memory|local|object", "where workers keep inner states"),
    FIELD(state_dir, STRING, NULL,
          "the --state-dir of workers of this machine, for checkpoints to take states from [none]"),
    FIELD(tokenizer, STRING, NULL, "JSON file about the tokenizer, kept in the checkpoint"),
    FIELD(checkpoint, STRING, NULL, "directory for the checkpoint [RUN_DIR/checkpoint]"),
    FIELD(resume, STRING, NULL,
          "checkpoint to go on from where the aggregators hold nothing: PATH or latest"),
    TRAIN_OPTIONS(OPTION_FIELD, shepherd_config_t) SERVICE_FIELDS(shepherd_config_t),
};

const config_table_t shepherd_table = {
    .usage =
        "pcp-shepherd --run-dir DIR --config run.json [--bind ENDPOINT]\n"
        "Runs the rounds of one training run: members, leases, commits, checkpoint.\n"
        "Several with one run and store: one leads, the others stand by.\n"
        "pcp-shepherd --cluster serves several runs (pcp-shepherd --cluster --help).\n"
        "Exit status: 0 done, 1 failed, 3 stopped by a signal, 4 the store has another schema,\n"
        "5 another shepherd has taken over.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .former = former_names,
};

int shepherd_config_check(const shepherd_config_t *self, err_t *err)
{
    const struct {
        const char *key, *value;
    } needed[] = {
        {"model", self->model}, {"init", self->init}, {"train_tokens", self->train_tokens}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].value || !*needed[i].value)
            return err_set(err, ERR_ARG, "\"%s\" is not set: write it in run.json", needed[i].key);
    if (self->timeout_ms <= self->heartbeat_ms)
        return err_set(err, ERR_ARG, "timeout_ms %lld must be above heartbeat_ms %lld",
                       (long long)self->timeout_ms, (long long)self->heartbeat_ms);
    if (strlen(self->run) == 0 || strlen(self->run) >= MSG_ID_BYTES)
        return err_set(err, ERR_ARG, "run id \"%s\": 1 to %d bytes", self->run, MSG_ID_BYTES - 1);
    const train_rules_t rules = {.options = {TRAIN_OPTIONS(OPTION_TAKE, self)},
                                 .keep_state = self->keep_state};
    return train_rules_check(&rules, err);
}

bool shepherd_is_auto(const shepherd_config_t *self)
{
    return self->replicas == CONFIG_WORD;
}

int64_t shepherd_most(const shepherd_config_t *self)
{
    return train_most_replicas(self->replicas, self->workers, self->max_replicas);
}

train_spec_t shepherd_spec(const shepherd_config_t *self)
{
    const spec_options_t options = {TRAIN_SPEC_OPTIONS(OPTION_TAKE, self)};
    return train_spec_of(&options);
}

/* The order that runs of before were recorded in, by which they are known: leave it. */
static const char *const result_keys[] = {
    "data_layout",  "shuffle",  "vocab",          "seed",           "replicas",
    "inner_steps",  "rounds",   "shards",         "optimizer",      "lr",
    "min_lr",       "warmup",   "schedule",       "decay_fraction", "beta1",
    "beta2",        "eps",      "weight_decay",   "momentum",       "clip",
    "accumulate",   "outer_lr", "outer_momentum", "codec",          "precision",
    "max_replicas", /* the last: only with replicas auto */
};

enum { N_RESULT_KEY = sizeof result_keys / sizeof *result_keys };

static bool is_listed(const config_field_t *field)
{
    for (size_t i = 0; i < N_RESULT_KEY; i++)
        if (config_find(&shepherd_table, result_keys[i]) == field) return true;
    return false;
}

static bool at_default(const config_field_t *field, const shepherd_config_t *self)
{
    const config_table_t one = {.fields = field, .n_fields = 1};
    shepherd_config_t plain = {0};
    err_t none; /* options have a default, and it is valid */
    (void)config_set(&one, &plain, field->name, field->fallback, &none);
    char *is = config_print(&one, self, false), *was = config_print(&one, &plain, false);
    bool same = strcmp(is, was) == 0;
    free(is);
    free(was);
    config_fini(&one, &plain);
    return same;
}

/* An option that came later counts where it is used, so that runs of before go on. */
char *shepherd_config_result(const shepherd_config_t *self)
{
    config_field_t some[sizeof fields / sizeof *fields];
    size_t n = 0, n_key = N_RESULT_KEY - !shepherd_is_auto(self);
    for (size_t i = 0; i < n_key; i++) {
        some[n] = *config_find(&shepherd_table, result_keys[i]);
        some[n++].name = result_keys[i];
    }
    for (size_t i = 0; i < n_train_option_rows; i++) {
        const config_field_t *field = config_find(&shepherd_table, train_option_rows[i].field.name);
        if (train_option_rows[i].fixed && !is_listed(field) && !at_default(field, self))
            some[n++] = *field;
    }
    const config_table_t table = {.fields = some, .n_fields = n};
    return config_print(&table, self, false);
}

/* What was not given lies in the run directory. */
static void set_default(char **field, const char *prefix, const char *run_dir, const char *name)
{
    if (*field && **field) return;
    free(*field);
    *field = mem_printf("%s%s/%s", prefix, run_dir, name);
}

/* Members on other machines reach telemetry where they reach control: any free port of that
 * address. */
static void default_telemetry(shepherd_config_t *config)
{
    const char *colon = strrchr(config->bind, ':');
    bool given = config->telemetry && *config->telemetry;
    if (given || !str_starts(config->bind, "tcp://")) return;
    free(config->telemetry);
    config->telemetry = mem_printf("%.*s:*", (int)(colon - config->bind), config->bind);
}

void shepherd_config_fill(shepherd_config_t *config)
{
    set_default(&config->bind, "ipc://", config->run_dir, "control");
    default_telemetry(config);
    set_default(&config->telemetry, "ipc://", config->run_dir, "telemetry");
    set_default(&config->events, "ipc://", config->run_dir, "events");
    set_default(&config->checkpoint, "", config->run_dir, "checkpoint");
    set_default(&config->store, "sqlite://", config->run_dir, "pcp.db");
    if (!config->id || !*config->id) {
        free(config->id);
        config->id = service_id("shepherd");
    }
}
