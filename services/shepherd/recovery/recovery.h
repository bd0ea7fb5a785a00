/* Going on with what was: a run that another shepherd began, or one that goes back to a checkpoint.
 */
#ifndef SHEPHERD_RECOVERY_H
#define SHEPHERD_RECOVERY_H

#include "shepherd/bulk/courier.h"
#include "shepherd/records/recorder.h"
#include "shepherd/roster/roster.h"

typedef struct shepherd shepherd_t;

typedef struct {
    store_resume_t loaded;  /* what the store knew, until it is taken up */
    bool resumed;           /* the run was begun by another shepherd */
    int64_t adopt_until_ms; /* until then workers may come back with their leases */
    int64_t led_ms;         /* we lead since then, and have not gone on with the run yet; 0: done */
    bool restoring;         /* the run goes on from a checkpoint ... */
    char *path;             /* ... this one; NULL: from the beginning */
    bool backing, written;  /* on the way back to a checkpoint; the store knows where to */
    uint32_t from;          /* the round that was open */
    char *reason;
    int backs;                   /* since a round was committed */
    VEC(checkpoint_name_t) good; /* checkpoints of this run */
} recovery_t;

void recovery_fini(recovery_t *self);

/* --- resume.c --- */
void resume_run(shepherd_t *self, recorder_result_t *result);
void resume_round(shepherd_t *self); /* the shards are ready: go on where the run was */
/* A worker says which lease it holds (NULL: none): it keeps it, or is told to drop it. */
void resume_adopt(shepherd_t *self, const member_row_t *row, const Msg__Holding *holding);
void resume_expire(shepherd_t *self); /* who has not come back until now has lost its lease */

/* --- back.c: an inner state is lost, the run goes back to a checkpoint --- */
void back_check(shepherd_t *self);                     /* now and then: has everybody refused? */
void back_begin(shepherd_t *self, const char *reason); /* from the open round */
/* In PHASE_GATHER, `backing`. true: the aggregators may get their shards. */
bool back_gather(shepherd_t *self);
/* The courier has chosen the checkpoint: tell the store and the members */
void back_found(shepherd_t *self);
/* The courier must choose another checkpoint */
bool back_again(shepherd_t *self, const courier_result_t *result);
/* The run cannot go on from here: it goes back to a checkpoint, or fails where that did
 * not help. */
void back_or_fail(shepherd_t *self, const char *reason);

/* --- restore.c --- */
/* No shard holds the run: go on from a checkpoint, if so configured (false: it is not). */
bool checkpoint_resume(shepherd_t *self);
void checkpoint_found(shepherd_t *self, courier_result_t *result);
courier_job_t *checkpoint_restore(const shepherd_t *self);
void checkpoint_restored(shepherd_t *self);

/* --- failed.c --- */
void on_lease_failed(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
