/* Checkpoints while training goes on. */
#ifndef SHEPHERD_CHECKPOINTS_H
#define SHEPHERD_CHECKPOINTS_H

#include "shepherd/bulk/courier.h"

typedef struct shepherd shepherd_t;

typedef struct {
    char hash[HASH_HEX];
} forget_t;

typedef struct {
    uint32_t at;                     /* asked for: parameters that enter this round; 0: none */
    courier_job_t *job;              /* of a result that the shards hold; the courier's when busy */
    bool busy, holding;              /* holding: COMMIT of the open round says so */
    ledger_t ledger;                 /* of the boundary before the open round, if known */
    bool ledger_known, ledger_whole; /* whole: no inner state is with its worker only */
    VEC(forget_t) forget;            /* inner states that no lease begins with any more */
} checkpoints_t;

void checkpoint_fini(checkpoints_t *self);
/* Fills in the ledger of the round that the job saves, if it is known */
void checkpoint_ledger(const checkpoints_t *self, courier_job_t *job);
/* This inner state was followed by another. */
void checkpoint_forget_state(checkpoints_t *self, const char *hash);

/* Is a checkpoint of the parameters that enter `round` due? Then the leases of the round before
 * keep their states as objects. */
bool checkpoint_due(const shepherd_t *self, uint32_t round);
bool checkpoint_hold(const shepherd_t *self); /* shall COMMIT of the open round hold its result? */
/* Why nobody can ask for a checkpoint now; NULL: somebody can */
const char *checkpoint_refusal(const shepherd_t *self);
void checkpoint_ask(shepherd_t *self); /* an operator wants one */
/* The run has reached a new round and draws its leases next; `held`: the shards hold the parameters
 * of this round, to be saved. */
void checkpoint_boundary(shepherd_t *self, bool held);
void checkpoint_start(shepherd_t *self); /* the store has recorded the end of the round before */
courier_job_t *checkpoint_job(const shepherd_t *self, courier_kind_t kind);
void checkpoint_done(shepherd_t *self, const courier_result_t *result);
void checkpoint_record(shepherd_t *self, const courier_result_t *result);
/* Tell the shards of states that nobody needs, and that they need not hold. */
void checkpoint_forget(shepherd_t *self, bool hold);

#endif
