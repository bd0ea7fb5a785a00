/* Leases and evaluations from the first byte to the last: what the worker's thread does. */
#ifndef WORKER_TRAINER_H
#define WORKER_TRAINER_H

#include <stdatomic.h>

#include "base/err.h"
#include "msg/data_client.h"
#include "outer/codec.h"
#include "proto/control.pb-c.h"
#include "worker/ahead.h"
#include "worker/engine.h"
#include "worker/params.h"
#include "worker/states.h"
#include "worker/tokens.h"

enum { TRAINER_PLAN_BYTES = 1 << 30 };

/* News on the way, both ways. All but `stopped` may be NULL. */
typedef struct {
    bool (*stopped)(void *user);  /* the work is void */
    bool (*draining)(void *user); /* bank the steps that are done, at least one */
    bool (*outdated)(void *user); /* rounds closed without the lease, which has another name now */
    void (*stepped)(void *user, uint64_t step, float loss, double tokens_per_s);
    void (*degraded)(void *user, const char *text, bool over); /* a change of states.h's */
    void *user;
} trainer_hooks_t;

/* A lease is a function: what the engine holds at its end is its result, under whatever round it is
 * counted. */
typedef struct {
    bool here; /* the engine has its end, `start` of the trainer its beginning or, has_delta, */
    bool has_delta; /* the pseudo-gradient made of both */
    bool fresh;     /* as LEASE_DONE says */
    bool audit;     /* nothing of it was sent */
    uint64_t run, epoch, first, count;
    uint32_t round, replica, inner_steps; /* round: whose parameters it began with */
    char state[HASH_HEX];                 /* it began with */
    uint64_t steps, tokens;               /* trained */
    double mean_loss, last_loss, compute_s, fetch_s;
    uint64_t ahead_bytes; /* as fetch_s: the trainer's, when it was trained */
} trainer_result_t;

typedef struct {
    const char *cache_dir;
    exec_options_t device; /* threads by trainer_init; the rest may be set after it */
    int leave; /* exit.h's status that the process must end with, as its device is of no use; 0 */
    trainer_hooks_t hooks; /* of the present job */
    data_client_t *client; /* for endpoints and run below */
    struct {
        uint64_t sent, received;
        uint64_t ahead; /* and those that came by another client and it has not told of yet */
    } told;             /* its bytes that a LEASE_DONE has told of */
    char **endpoints;
    size_t n_endpoint;
    uint64_t run;
    engine_t *engine;
    char plan[HASH_HEX];    /* of the engine */
    uint64_t told_refusals; /* of the cages of its runners (runtime/runner.h) */
    bool plan_refused;      /* the last work's: its signature (msg/vouch.h) */
    states_t states;
    tokens_t *train, *validation;
    params_t params;
    bool fetch_ahead; /* may the next round's be fetched while this one's update goes up? */
    ahead_t *ahead;
    ahead_t *windows_ahead; /* of the next lease, while this one is trained */
    uint64_t cache_limit;   /* bytes that each token file may take of the disk; 0: any */
    uint64_t ahead_bytes;   /* of the present lease: what had come so and was right */
    float *start;           /* flat: the parameters at the beginning, then the pseudo-gradient */
    const codec_t *codec;   /* of the present lease */
    float *error;           /* that the codec had left out before it; NULL: no codec kept any */
    bool start_here; /* `start` are the parameters of this round, of a validation's other part */
    uint32_t start_round;
    trainer_result_t result;
    data_sent_t sent; /* of the result: what came of it at the aggregators */
    atomic_bool
        sends;      /* an update is on its way up: what nobody waits for holds still (copying.h) */
    double fetch_s; /* of the present lease: what it begins with, down */
    double send_s;  /* and what it ends with, up */
    char state[HASH_HEX];     /* that the last lease ended with */
    char digest[HASH_HEX];    /* of the last audit */
    char in_engine[HASH_HEX]; /* the state that is still in the engine; empty: of no name */
} trainer_t;

/* The directories are borrowed, and made. */
int trainer_init(trainer_t *self, const char *cache_dir, const char *state_dir, int threads,
                 err_t *err);
void trainer_fini(trainer_t *self);
void trainer_forget(trainer_t *self); /* the run is over: drop everything but the cache */

/* Do a lease whose message may be anything: every field is checked. A late one, or one that was
 * audited, that is still in the engine is only handed in. On success *done is filled in (its strings point into the
 * trainer, until the next call); done->steps is smaller than the lease's when it was drained, and
 * the pseudo-gradient then weighs so much less. ERR_STATE: stopped, or drained before the first
 * step; the aggregator's wrong round or old fence. */
int trainer_lease(trainer_t *self, const Msg__Lease *lease, Msg__LeaseDone *done, err_t *err);
int trainer_eval(trainer_t *self, const Msg__Eval *eval, Msg__EvalDone *done, err_t *err);

/* Would this error come on any machine? */
bool trainer_is_fatal(err_code_t code);

#endif
