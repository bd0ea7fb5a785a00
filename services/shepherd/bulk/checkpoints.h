/* Checkpoints while training goes on. */
#ifndef SHEPHERD_CHECKPOINTS_H
#define SHEPHERD_CHECKPOINTS_H

#include "shepherd/bulk/courier.h"
#include "shepherd/roster/roster.h"

typedef struct shepherd shepherd_t;

typedef struct {
    char hash[HASH_HEX];
} forget_t;

typedef struct {
    uint32_t at;                     /* asked for: of this round or the next that can be; 0: none */
    courier_job_t *job;              /* of a result that the shards hold; the courier's when busy */
    uint32_t round;                  /* of the job, while it is busy */
    bool last;                       /* the run ends with it: a signal came while it was written */
    bool cut;                        /* an aggregator was lost while the last one was being saved */
    bool busy, holding;              /* holding: COMMIT of the open round says so */
    ledger_t ledger;                 /* of the boundary before the open round, if known */
    bool ledger_known, ledger_whole; /* whole: no inner state is with its worker only */
    bool at_hand;                    /* its states lie on this machine (at_hand.h) */
    VEC(forget_t) forget;            /* inner states that no lease begins with any more */
} checkpoints_t;

void checkpoint_fini(checkpoints_t *self);
/* Fills in the ledger of the round that the job saves, if it is known, and opens what of it is on this machine */
void checkpoint_ledger(const shepherd_t *self, courier_job_t *job);
/* This inner state was followed by another. */
void checkpoint_forget_state(checkpoints_t *self, const char *hash);

/* An object that came late: the shards may drop it, unless a lease begins or ends with it. */
void checkpoint_unwanted(shepherd_t *self, const char *hash);

/* Is a checkpoint of the parameters that enter `round` due? */
bool checkpoint_due(const shepherd_t *self, uint32_t round);
/* Does this worker's lease of the open round have to send the state that it ends with to the object service, for a
 * checkpoint? Not where the workers keep them on this machine, as they kept those that the leases begin with, nor where
 * the worker (NULL: one of this program's age) is asked for a copy later. */
bool checkpoint_wants_objects(const shepherd_t *self, const member_row_t *worker);
/* Do the states of a boundary lie with workers elsewhere, so that a checkpoint needs copies (copies.h)? */
bool checkpoint_copies(const shepherd_t *self);
bool checkpoint_hold(const shepherd_t *self); /* shall COMMIT of the open round hold its result? */
/* Why nobody can ask for a checkpoint now; NULL: somebody can */
const char *checkpoint_refusal(const shepherd_t *self);
void checkpoint_ask(shepherd_t *self); /* an operator wants one */
/* The run has reached a new round and draws its leases next; `held`: the shards hold the parameters
 * of this round, to be saved. */
void checkpoint_boundary(shepherd_t *self, bool held);
/* The store has recorded the end of the round before; or copies of states have come. What is still waited for puts it off. */
void checkpoint_start(shepherd_t *self);
courier_job_t *checkpoint_job(const shepherd_t *self, courier_kind_t kind);
void checkpoint_done(shepherd_t *self, const courier_result_t *result);
void checkpoint_record(shepherd_t *self, const courier_result_t *result);
/* Tell the shards of states that nobody needs, and that they need not hold. */
void checkpoint_forget(shepherd_t *self, bool hold);

#endif
