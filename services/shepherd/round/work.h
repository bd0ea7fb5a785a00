/* Work for workers: leases of replicas and parts of a validation, opened, given, taken back. */
#ifndef SHEPHERD_WORK_H
#define SHEPHERD_WORK_H

#include "shepherd/roster/roster.h"
#include "shepherd/round/round.h"

typedef struct shepherd shepherd_t;

/* --- move.c --- */
/* The one way in which a lease or part changes its state or its holder while the round is open. The
 * counts of states, and those of members, follow. */
void work_move(shepherd_t *self, work_t *work, work_state_t state, uint32_t holder);
void work_count(shepherd_t *self); /* anew: leases or parts were replaced */
/* The one way in which a lease changes its home while the round is open; 0: none. */
void work_home(shepherd_t *self, work_t *lease, uint32_t worker);

/* --- opening.c --- */
void work_open_round(shepherd_t *self);
void work_open_eval(shepherd_t *self);

/* --- taking.c --- */
/* Reopen what a worker held that is lost, or gets no more work; other homes for its leases. */
void work_release(shepherd_t *self, const member_row_t *holder);
void work_gone(shepherd_t *self, const char *worker); /* the same of one that never came back */
void work_reopen(shepherd_t *self, uint32_t replica); /* a lease, under a higher fence */
void work_reopen_eval(shepherd_t *self, work_t *part);
/* Its holder has failed at it: reopened, and from the second time on for another worker, if any. */
void work_again(shepherd_t *self, uint32_t replica);
void work_again_eval(shepherd_t *self, work_t *part);
void work_revoke(shepherd_t *self, uint32_t replica); /* its holder is to drop it */

/* --- announcing.c: to the aggregators, who has which lease --- */
void work_announce(shepherd_t *self,
                   uint32_t replica);                 /* it has a holder: with the next work_tell */
void work_raised(shepherd_t *self, uint32_t replica); /* its fence has risen: likewise */
void work_tell(shepherd_t *self);
void work_fences(shepherd_t *self, const member_row_t *aggregator); /* tell it all of them */

/* --- keeping.c --- */
/* What a lease that is given to this worker now says of it; NULL: to any */
Msg__StateKeep work_keep_state(const shepherd_t *self, const member_row_t *worker);
uint64_t work_state_bytes(
    const shepherd_t *self); /* of one: two moments and what the codec left out */
/* A round has ended: how often are states to be copied (bulk/copies.h)? */
void work_measure_copies(shepherd_t *self);

/* --- coming.c --- */
/* A worker has not got the state that the replica's lease, issued to it, begins with. true: a copy is on its way from who made
 * it; the lease is open again and waits for that. */
bool coming_wait(shepherd_t *self, uint32_t replica, uint32_t refuser);
void coming_moved(shepherd_t *self,
                  const char *worker); /* it has gone, and hands over what it made */
void coming_heard(shepherd_t *self, const char *worker, const Msg__Copied *copied);
void coming_tick(shepherd_t *self);

/* --- giving.c: to members_endpoints --- */
bool work_free(const shepherd_t *self, const member_row_t *row); /* it could take work now */
void work_give_lease(shepherd_t *self, uint32_t replica, member_row_t *worker, char **endpoints);
/* The lease once more, for another worker, who sends nothing up. */
void work_give_audit(shepherd_t *self, uint32_t replica, member_row_t *worker, char **endpoints);
void work_give_eval(shepherd_t *self, uint32_t part, member_row_t *worker, char **endpoints);

/* --- dispatch.c --- */
/* Give what there is to give: all of it, or, where nothing but credit has changed since the last time,
 * to those who have asked (work_asks). */
void work_dispatch(shepherd_t *self);
void work_asks(shepherd_t *self, const member_row_t *worker); /* it has got credit */

/* --- homes.c --- */
bool work_ready(const shepherd_t *self, const member_row_t *row); /* it has a plan, and may */
void work_settle(shepherd_t *self); /* each replica gets a worker, and keeps it where it can */
/* The idle spare that a replica gets whose worker, `lost`, is gone; 0: there is none. */
uint32_t work_spare(const shepherd_t *self, const work_t *lease, uint32_t lost);

/* --- targets.c --- */
bool work_same_target(const work_t *lease, const member_row_t *row); /* or it has none yet */
/* A worker of that target may come (back): since the time given, or since one was lost or we have taken the run
 * over, it is less than target_wait_s. */
bool work_waits_for(const shepherd_t *self, const char *target, int64_t since_ms);
/* May that worker have the replica now? For target_wait_s after a worker of its target was lost, or the lease was
 * to be given again, or we have taken the run over, only one of its target. */
bool work_suits(const shepherd_t *self, const work_t *lease, const member_row_t *row);
void work_note_target(shepherd_t *self, uint32_t replica, const member_row_t *worker);

#endif
