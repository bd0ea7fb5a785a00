/* The shepherd's slow work, done by an actor: files and bulk transfers. */
#ifndef SHEPHERD_COURIER_H
#define SHEPHERD_COURIER_H

#include <czmq.h>

#include "base/err.h"
#include "base/hash.h"
#include "ckpt/checkpoint.h"
#include "ckpt/ledger.h"
#include "ckpt/safetensors.h"
#include "msg/data_client.h"
#include "outer/outer.h"
#include "shepherd/bulk/layout.h"
#include "shepherd/config.h"

typedef enum {
    COURIER_PUBLISH,    /* module and token files into the object service */
    COURIER_INIT,       /* the init file's values to the aggregators */
    COURIER_SAVE,       /* the last checkpoint */
    COURIER_CHECKPOINT, /* one while training goes on, of the result that the shards hold */
    COURIER_LEDGER,     /* which checkpoint to go on from, and its ledger */
    COURIER_RESTORE,    /* that checkpoint to the aggregators */
    COURIER_WAITS,      /* no job, a piece of news: what the present one waits for */
    COURIER_COUNT,
} courier_kind_t;

typedef struct {
    char hash[HASH_HEX]; /* of its manifest */
} checkpoint_name_t;

/* A job owns everything in it. */
typedef struct {
    courier_kind_t kind;
    char **endpoints; /* aggregators by shard */
    size_t n_endpoint;
    uint64_t run_hash, attempt; /* attempt: INIT, RESTORE: of ASSIGN */
    uint32_t round;
    uint64_t tokens;         /* trained so far, for the manifest */
    double loss, validation; /* the latest; NaN: unknown */
    layout_t layout;         /* INIT, SAVE, CHECKPOINT, RESTORE */
    char module_hash[HASH_HEX];
    bool has_ledger; /* SAVE, CHECKPOINT: the run can go on from it */
    ledger_t ledger;
    int *state_fd; /* its states that lie on this machine (at_hand.h); NULL: none does */
    char *path;    /* RESTORE: the round's directory */
    /* LEDGER: back from the middle of the run. Without --resume only these, the run's own, count:
     * the directory may have another run's. That there is none is no error then. */
    bool back;
    checkpoint_name_t *good;
    size_t n_good;
} courier_job_t;

typedef struct {
    courier_kind_t kind;
    err_t err; /* ERR_OK: done; WAITS: the text says for what, "" for nothing any more */
    char module_hash[HASH_HEX], train_hash[HASH_HEX], validation_hash[HASH_HEX];
    char tokenizer_hash[HASH_HEX]; /* PUBLISH; "": the run has none */
    char init_hash[HASH_HEX];      /* INIT */
    uint64_t train_tokens, validation_tokens;
    /* SAVE, CHECKPOINT: what was written; LEDGER: what was found, NULL: no checkpoint yet */
    char *checkpoint;
    char checkpoint_hash[HASH_HEX]; /* of its manifest */
    uint64_t checkpoint_bytes;
    checkpoint_list_t pruned; /* older ones that are gone now */
    uint32_t round;
    ledger_t ledger; /* LEDGER */
} courier_result_t;

courier_job_t *courier_job_new(courier_kind_t kind, char *const *endpoints, size_t n);
void courier_job_destroy(courier_job_t **self_p);

/* Who does a job is asked and told, as in msg/data_client.h. */
typedef struct {
    bool (*stopped)(void *user);
    void (*waits)(void *user, const char *text); /* may be NULL */
    void *user;
} courier_ear_t;

/* Do one job; blocks. */
void courier_do(const shepherd_config_t *config, const courier_job_t *job, const courier_ear_t *ear,
                courier_result_t *result);

/* Actor: send it jobs with courier_start (takes the job); results arrive on its pipe as pointers,
 * courier_take returns one. `config` is borrowed and read-only. */
zactor_t *courier_new(const shepherd_config_t *config);
void courier_start(zactor_t *self, courier_job_t *job);
courier_result_t *courier_take(zactor_t *self); /* caller destroys */
void courier_result_destroy(courier_result_t **self_p);
void courier_destroy(zactor_t **self_p); /* with what nobody took */

/* --- courier_save.c --- */
int courier_save(const shepherd_config_t *config, const courier_job_t *job, data_client_t *client,
                 courier_result_t *result, err_t *err);

/* --- courier_restore.c --- */
int courier_find(const shepherd_config_t *config, const courier_job_t *job,
                 courier_result_t *result, err_t *err);
int courier_restore(const shepherd_config_t *config, const courier_job_t *job,
                    data_client_t *client, err_t *err);
/* What state s of the outer rule for this parameter is called in state.safetensors: the first one as
 * the parameter, the others with ":NAME" behind. Returns, caller frees. */
char *courier_state_name(const layout_tensor_t *param, const outer_rule_t *rule, size_t s);

#endif
