/* Plans: one for each target that workers have. */
#ifndef SHEPHERD_PLANS_H
#define SHEPHERD_PLANS_H

#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"
#include "msg/envelope.h"
#include "shepherd/roster/roster.h"

typedef struct shepherd shepherd_t;

typedef enum { PLAN_WANTED, PLAN_ASKED, PLAN_READY, PLAN_FAILED } plan_state_t;
typedef struct {
    char *target;
    char *key; /* name of the key whose worker came with it first; NULL: it has none */
    plan_state_t state;
    uint32_t compiler; /* serial, when asked */
    uint32_t failed;   /* serial of the compiler that failed last */
    int attempts;
    int64_t
        rest_ms; /* that one's disk is full: until then it is not asked again; 0: nothing is wrong */
    bool unknown;    /* a compiler said that no compiler here knows the target */
    uint64_t places; /* PLAN_ASKED: of the aggregators that were to take its object */
    bool moved;      /* those are others by now: it will be where workers do not look */
    int64_t left_ms; /* when a worker of the target left last; 0: none did */
    bool refuses;    /* workers of the target that are here have not been told yet */
    char *
        why; /* PLAN_FAILED: the text with which workers of the target are refused; rest_ms: for what it waits */
    char hash[HASH_HEX];
    char *seal;             /* the compiler's signature; "": without keys */
    uint64_t revoked_since; /* keyring_revoked_since when that was judged */
} plan_row_t;

typedef struct {
    VEC(plan_row_t) rows;
} plans_t;

void plans_fini(plans_t *self);
/* A worker has come. `key`: the name of its key; NULL: none. */
void plans_want(plans_t *self, const roster_t *roster, const char *target, const char *key);
/* Plans asked of this compiler are wanted again */
void plans_lost(plans_t *self, uint32_t serial);
bool plans_asked(const plans_t *self, uint32_t serial); /* of that compiler */
/* The objects of plans may be gone: compile all of them again */
void plans_forget(plans_t *self);
/* The shards are at these places now (members_places). */
void plans_moved(plans_t *self, uint64_t places);
const char *plans_ready(const plans_t *self, const char *target); /* hash; NULL: not yet */
const char *plans_seal(const plans_t *self, const char *target);  /* of one that is ready */
/* Why workers of this target, that have this key, are refused; NULL: they are not. There are so many targets at most, but
 * those that failed make room when nobody has them any more; and fewer of one key, so that one alone locks nobody out. */
const char *plans_refusal(const plans_t *self, const roster_t *roster, const char *target,
                          const char *key);
/* A compiler has come that may know targets which others did not */
void plans_retry(plans_t *self);
void plans_missing(const plans_t *self, str_t *text); /* targets that are refused, and why */
plan_row_t *plans_find(const plans_t *self, const char *target);   /* NULL: nobody has it */
size_t plans_workers(const plans_t *self, const roster_t *roster); /* that have a plan */

/* --- compile.c --- */
void plans_dispatch(shepherd_t *self);
void plans_forget_compiler(shepherd_t *self, uint32_t serial); /* it is gone */
/* Judge the signatures of all that are ready again, for more keys may be revoked: what they have
 * signed is compiled again. Is there such a one? */
bool plans_void(shepherd_t *self);
void on_plan_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
