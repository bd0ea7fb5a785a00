/* A round from its opening to its end: when it may begin, what it waits for, when it is complete. */
#ifndef SHEPHERD_ROUNDS_H
#define SHEPHERD_ROUNDS_H

#include "shepherd/records/recorder.h"
#include "shepherd/roster/roster.h"
#include "shepherd/round/admission.h"
#include "shepherd/round/round.h"

typedef struct shepherd shepherd_t;

/* --- rounds.c --- */
void rounds_begin(shepherd_t *self);  /* after INIT: when enough workers are ready */
void rounds_check(shepherd_t *self);  /* is the round complete? */
void rounds_save(shepherd_t *self);   /* the checkpoint that the run ends with */
void rounds_copied(shepherd_t *self); /* no copy of a state is waited for any more */
/* --- waiting.c --- */
void rounds_waiting(shepherd_t *self); /* now and then: log what the run waits for */

/* --- progress.c --- */
void rounds_validate(shepherd_t *self); /* open the validation that is due, if one is */
/* Seconds that the rest of the run takes, by what this shepherd has seen; with validations. */
double rounds_eta(const shepherd_t *self);
double rounds_speed(const shepherd_t *self);
void commit_summary(shepherd_t *self); /* publish the waiting summary */

/* --- commit.c --- */
void commit_decide(shepherd_t *self);
void commit_send(shepherd_t *self, const member_row_t *only); /* NULL: to all shards */
/* true: a round is open; the caller checks whether there is anything to do in it. */
bool commit_recorded(shepherd_t *self, const recorder_result_t *result);
void on_committed(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- late.c: leases that a round closes without, and a later one counts --- */
/* The open round closes: does this lease go on? If so, the round drops the lease and marks it as
 * late. */
bool late_keep(shepherd_t *self, uint32_t replica);
/* `next`, made the lease as which `late` goes on */
work_t late_next(const work_t *late, work_t next);
/* The longest lag that leases of the next round will have, as the open one was decided. */
uint32_t late_longest(const round_t *round);
/* Does a member hold a late lease, under one of its older names? Then it may go on with it. */
bool late_held(shepherd_t *self, const member_row_t *row, const Msg__Holding *holding);
/* Is this an answer about a late lease whose round is not open? It is acknowledged later. */
bool late_waits(const shepherd_t *self, uint32_t round, uint32_t replica);
/* --- overdue.c --- */
/* Now and then: takes work from workers that do not end it in time */
void overdue_check(shepherd_t *self);

/* --- done.c --- */
/* The work an answer is about, if the sender holds it under this fence; else NULL, counted. */
work_t *work_held_by(shepherd_t *self, const msg_peer_t *from, bool eval, uint32_t round,
                     uint32_t index, uint32_t fence);
void work_acknowledge(shepherd_t *self, const msg_peer_t *to, uint32_t round, uint32_t replica,
                      uint32_t fence);
/* A lease is done and admitted. */
void work_done(shepherd_t *self, uint32_t replica, const inspection_t *done, double norm2);
void work_recorded(shepherd_t *self, const recorder_result_t *result); /* acknowledge a lease */

/* --- answers.c --- */
void on_lease_done(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_copied(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_eval_done(void *state, const msg_peer_t *from, const msg_envelope_t *message);
#endif
