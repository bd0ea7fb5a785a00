/* The shepherd's slow work, done by an actor: files and bulk transfers. */
#ifndef SHEPHERD_COURIER_H
#define SHEPHERD_COURIER_H

#include <czmq.h>

#include "base/err.h"
#include "base/hash.h"
#include "shepherd/config.h"
#include "shepherd/layout.h"

typedef enum {
    COURIER_PUBLISH, /* module and token files into the object service */
    COURIER_INIT,    /* the init file's values to the aggregators */
    COURIER_SAVE,    /* the parameters of a round into a checkpoint */
} courier_kind_t;

/* A job owns everything in it. */
typedef struct {
    courier_kind_t kind;
    char **endpoints; /* aggregators by shard */
    size_t n_endpoint;
    uint64_t run_hash;
    uint32_t round;
    uint64_t tokens;         /* trained so far, for the manifest */
    double loss, validation; /* the latest; NaN: unknown */
    layout_t layout;         /* INIT, SAVE */
    char module_hash[HASH_HEX];
} courier_job_t;

typedef struct {
    courier_kind_t kind;
    err_t err; /* ERR_OK: done */
    char module_hash[HASH_HEX], train_hash[HASH_HEX], validation_hash[HASH_HEX];
    uint64_t train_tokens, validation_tokens;
    char *checkpoint; /* SAVE: the directory; freed by courier_result_destroy */
} courier_result_t;

courier_job_t *courier_job_new(courier_kind_t kind, char *const *endpoints, size_t n);
void courier_job_destroy(courier_job_t **self_p);

/* Do one job; blocks. `stopped` as in msg/data_client.h. */
void courier_do(const shepherd_config_t *config, const courier_job_t *job,
                bool (*stopped)(void *user), void *user, courier_result_t *result);

/* Actor: send it jobs with courier_start (takes the job); results arrive on its pipe as pointers,
 * courier_take returns one. `config` is borrowed and read-only. */
zactor_t *courier_new(const shepherd_config_t *config);
void courier_start(zactor_t *self, courier_job_t *job);
courier_result_t *courier_take(zactor_t *self); /* caller destroys */
void courier_result_destroy(courier_result_t **self_p);

#endif
