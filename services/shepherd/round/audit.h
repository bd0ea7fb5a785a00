/* Audit by re-execution, of leases and of parts of validations. A lease is a function: whoever trains it on its target gets the same bits. So
 * a share of the leases (option `audit`) that their workers call done is trained again by another
 * worker, and the digests of what came are compared. Where two differ a third one decides; where
 * there is none, both are suspected. Who differs from two that agree gets no more work (quarantine),
 * and what it has contributed to the open round is trained again by others. A round closes when
 * nothing in it is under audit any more; an audit that nobody does for too long is given up.
 *
 * Which leases are looked at is drawn by (round, replica) with a seed that is in the store and that
 * workers do not see: the next leader draws the same. What was found out is not in the store; the
 * next leader asks again.
 *
 * A part of a validation is one, too: it is given to a second worker, and to a third where two differ, before what they say
 * of it is taken. Likewise a part whose loss is not a number, drawn or not.
 *
 * Liars who agree with each other are believed. Who has one key counts once, whatever its ids. */
#ifndef SHEPHERD_AUDIT_H
#define SHEPHERD_AUDIT_H

#include "base/hash.h"
#include "base/vec.h"
#include "shepherd/records/records.h"
#include "shepherd/roster/roster.h"
#include "shepherd/round/round.h"

typedef struct shepherd shepherd_t;

/* What somebody made of the lease. */
typedef struct {
    char worker[MSG_ID_BYTES], name[MSG_ID_BYTES]; /* its id; its key's name, or its id */
    char digest
        [HASH_HEX]; /* of pseudo-gradient, inner state, steps and loss; "": it could not tell */
} testimony_t;

typedef struct {
    bool open;             /* the round waits for it */
    uint32_t fence, steps; /* of the contribution */
    char target[MSG_ID_BYTES];
    VEC(testimony_t) heard;  /* first the contribution's own; or nobody yet */
    char truth[HASH_HEX];    /* two agree on it; "": not known */
    char (*shard)[HASH_HEX]; /* what each shard says of the contribution; "": nothing yet */
    uint32_t auditor;        /* serial of who trains it again now; 0: nobody */
    int64_t given_ms, asked_ms;
    int64_t since_ms; /* since when the next one is looked for */
} audit_t;

/* What somebody says of a part of a validation; its digest is the numbers themselves. */
typedef struct {
    testimony_t said;
    double loss;
    uint64_t tokens;
} estimate_t;

typedef struct {
    VEC(estimate_t) heard; /* empty: it is not under audit, or not yet */
    char target[MSG_ID_BYTES];
    bool known; /* two agree on what was taken */
} part_audit_t;

typedef struct {
    double rate;
    char seed[HASH_HEX];
    audit_t *at; /* by replica; NULL: rate is 0 */
    size_t n_open;
    VEC(part_audit_t) part; /* of the open validation */
    char *listed;           /* who is in quarantine by the store: names, each with a line break */
    VEC(blamed_t) found;    /* by us, and the store's list has not named them yet: `id` is a name */
    /* Since this shepherd began: what two have told, what was given up before, and liars. */
    uint64_t n_leases, n_parts, n_skipped, n_found;
} audits_t;

/* --- audit.c --- */
void audits_init(audits_t *self, size_t most, double rate);
void audits_fini(audits_t *self, size_t most);
void audits_open(shepherd_t *self); /* another round begins */
/* The lease is done and admitted: if it is drawn, the shards are asked for its digest. */
void audits_begin(shepherd_t *self, uint32_t replica);
void audits_ask_again(shepherd_t *self, uint32_t replica); /* when it is time to */
/* What it says: the shards' digests as one, the inner state's, the steps, the mean loss. */
void audits_say(testimony_t *self, const char *digest, const char *state, uint32_t steps,
                double loss);
void audits_release(shepherd_t *self, uint32_t auditor); /* it is gone, or lost it */
void audits_take_back(shepherd_t *self, audit_t *audit);
/* Of (round, replica): is it looked at? */
bool audits_drawn(const audits_t *self, uint32_t round, uint32_t replica);
bool audits_drawn_part(const audits_t *self, uint32_t round, uint32_t part);
/* By id, as audits know it: of its key, or the id itself. */
void audits_name(const shepherd_t *self, const char *worker, char name[MSG_ID_BYTES]);

/* --- audit_wait.c: since_ms is since when somebody else may have it --- */
/* It has that target, may work, and has left nothing unanswered since it last ended something. */
bool audits_may_ask(const member_row_t *row, const char *target);
/* Will such a worker take it? Who is at work is waited for, who asks for none for work_wait_s. */
bool audits_await(const shepherd_t *self, const member_row_t *row, int64_t since_ms);
/* May one of that target come (back)? After a change of leaders workers do so one after the other; target_wait_s. */
bool audits_await_comers(const shepherd_t *self, const char *target, int64_t since_ms);

/* --- audit_work.c --- */
/* Audits to workers who are free, with an end to those that nobody can do. */
void audits_give(shepherd_t *self, char **endpoints);
/* What auditors say; the caller checks whether the round is complete. */
void audits_answered(shepherd_t *self, const msg_peer_t *from, const Msg__LeaseDone *done);
/* INSPECTED: is it the answer to audits_begin? */
bool audits_inspected(shepherd_t *self, const Msg__Inspected *answer);
void audits_failed(shepherd_t *self, const msg_peer_t *from, const Msg__LeaseFailed *failed);
void audits_forgive(shepherd_t *self, int64_t slept_ms); /* that nobody was heard meanwhile */
void audits_tick(shepherd_t *self);

/* --- audit_eval.c --- */
void audits_open_parts(shepherd_t *self); /* another validation begins; none: 0 parts */
/* Its holder has said this of the part, which is done, or open for another one. */
void audits_estimated(shepherd_t *self, work_t *part, const Msg__EvalDone *done);
/* Its holder has failed at it, and is not asked again where it is under audit. */
void audits_part_failed(shepherd_t *self, const work_t *part);
/* The number of a part of the open validation, and what was heard of it; NULL: without audits. */
uint32_t audits_part_index(const shepherd_t *self, const work_t *part);
part_audit_t *audits_part(const shepherd_t *self, const work_t *part);
/* A row for what its holder says of it, until the next one. Audits look at it. */
estimate_t *audits_hear_part(const shepherd_t *self, const work_t *part);
/* Is it under audit? Then only some may have it. */
bool audits_has_part(const shepherd_t *self, const work_t *part);
bool audits_may_estimate(const shepherd_t *self, const work_t *part, const member_row_t *row);
/* What a liar has said of parts is void. */
void audits_doubt_parts(shepherd_t *self, const testimony_t *liar);
/* Take what was said of parts that nobody else can do. */
void audits_tick_parts(shepherd_t *self);

/* --- verdict.c --- */
/* One more has been heard: is it known now who is right? */
void audits_judge(shepherd_t *self, uint32_t replica);
/* Nobody is left who could say more. */
void audits_give_up(shepherd_t *self, uint32_t replica);
/* What a liar has contributed to the open round is made anew, as far as it was not confirmed. */
void audits_replace(shepherd_t *self, const testimony_t *liar);

/* --- quarantine.c --- */
void quarantine_add(shepherd_t *self, const liar_t *liar);
void quarantine_met(shepherd_t *self, const member_row_t *row); /* it has joined: is it listed? */
void quarantine_listed(shepherd_t *self, const char *names);    /* by the store */
/* Whoever has this name or id may work again; false: nobody has who is in quarantine. */
bool quarantine_lift(shepherd_t *self, const char *name, const member_row_t *by);

#endif
