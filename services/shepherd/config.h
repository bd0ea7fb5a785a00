/* run.json and the shepherd's flags: one table (proto/PROTOCOL.md explains the run's keys). */
#ifndef SHEPHERD_CONFIG_H
#define SHEPHERD_CONFIG_H

#include "base/config.h"
#include "msg/limits.h"
#include "msg/service.h"
#include "optim/optim.h"
#include "options/train.h"

typedef struct {
    service_options_t common;
    TRAIN_OPTIONS(OPTION_MEMBER, )
    char *run_dir, *bind, *telemetry, *events;
    int64_t averaged_from; /* of the flat vector: states of the model begin there; 0: none */
    int64_t heartbeat_ms, timeout_ms;
    char *run, *model, *init, *train_tokens, *validation_tokens;
    int64_t vocab, workers_wait_s;
    char *checkpoint, *tokenizer;
    char *store, *liveness, *id, *keep_state, *state_dir;
    char *resume; /* NULL: do not */
    bool store_sync, lengthen;
    int64_t leader_ttl_ms;
    double shard_wait_s, work_wait_s, target_wait_s;
} shepherd_config_t;

extern const config_table_t shepherd_table;

/* What the table cannot say: required keys, things that exclude each other. */
int shepherd_config_check(const shepherd_config_t *self, err_t *err);

/* replicas is "auto": decided for each round (replicas.c). */
bool shepherd_is_auto(const shepherd_config_t *self);
/* Replicas of any round: that many, or at most that many with "auto". */
int64_t shepherd_most(const shepherd_config_t *self);

/* What was not given: places in the run directory, a name. */
void shepherd_config_fill(shepherd_config_t *config);

/* Those fields that make the run what it is, as JSON: shepherds of one run must agree on them.
 * Returns, caller frees. */
char *shepherd_config_result(const shepherd_config_t *self);

train_spec_t shepherd_spec(const shepherd_config_t *self);

#endif
