/* The open round: its leases, its validation, and where it is. */
#ifndef SHEPHERD_ROUND_H
#define SHEPHERD_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "data/range.h"
#include "msg/envelope.h"
#include "shepherd/records/record.h"

enum { WORK_WITNESSES = 3 };
typedef enum { WORK_OPEN, WORK_ISSUED, WORK_DONE, WORK_DROPPED, WORK_STATES } work_state_t;
typedef struct {
    work_state_t state; /* and holder: work_move changes them and counts */
    uint32_t holder;    /* serial of the worker, when issued; 0: `worker`, which is not back yet */
    uint32_t home; /* training: the worker that has this replica's inner state; 0: none. Changed by
                           work_home, which keeps the leases of one home in a list: */
    uint32_t next, before; /* replicas, plus one; 0: it is the last, the first */
    uint32_t fence;        /* raised each time the work is given again */
    int failures, overdue;
    uint32_t avoid; /* serial of a worker who gets it only when there is no other */
    uint64_t witness[WORK_WITNESSES]; /* training: workers whose update was rejected, by name */
    bool timed;                       /* training: the worker began it when it was given */
    uint64_t begin, n;                /* validation: batches */
    data_range_t range;               /* training: windows */
    uint64_t want, done_windows;      /* training: of the range, from its beginning */
    char worker[MSG_ID_BYTES];        /* training: who had it last */
    char target[MSG_ID_BYTES]; /* training: its target, also of the rounds before; "": unknown */
    int64_t reopened_ms;       /* training: since when it is to be given again; 0: it is not */
    char state_in[HASH_HEX], state_out[HASH_HEX]; /* training: inner state before and after */
    char maker
        [MSG_ID_BYTES]; /* training: who has made state_in; "": unknown, or a checkpoint has it */
    bool
        coming; /* training: a copy of state_in is on its way, and it is given to nobody (coming.c) */
    int64_t coming_ms,
        asked_ms;   /* training: since when, in this round; asked for, or tried, last */
    uint32_t floor; /* when adoptable: work given under a fence up to this one is void */
    bool adoptable; /* a leader before us may have given the lease: its worker may keep it */
    bool recorded;  /* the store has recorded the finished work */
    bool decided;   /* the round's decision counts it */
    bool late;      /* the round's decision leaves it to the next round (late.c) */
    uint32_t lag;   /* of a late lease: it begins with the parameters of so many rounds before */
    bool carry;     /* a late lease whose `worker` may be training it and was not told yet */
    double loss;    /* of the finished work */
    uint64_t tokens;
    double compute_s, transfer_s, download_s, upload_s;
    uint32_t steps; /* training, of the finished work, as all below; 0: unknown */
    double norm2;   /* squared norm of its update, as the shards received it */
    int64_t sent_bytes, received_bytes;  /* by the worker; negative: unknown */
    int64_t first_ms, given_ms, done_ms; /* given first, given last, done */
} work_t;

/* This worker has not got the inner state that the replica's lease begins with. */
typedef struct {
    uint32_t replica, worker; /* its serial */
    int64_t since_ms;         /* the first of this replica's */
} refusal_t;

/* A worker that has gone to another run, and sends copies of what it has made for this one. */
typedef struct {
    char id[MSG_ID_BYTES];
    int64_t since_ms;
} moved_t;

typedef struct {
    uint32_t number;  /* of the open one: its parameters are being trained */
    uint32_t first;   /* of this shepherd */
    int64_t replicas; /* of the open round; 0: not decided yet */
    work_t *lease;    /* one per replica */
    VEC(work_t) eval; /* open validation of the parameters that enter the round */
    uint32_t n_lease[WORK_STATES], n_part[WORK_STATES]; /* how many of them are in which state */
    VEC(refusal_t) refused;                             /* in the open round */
    VEC(moved_t) moved;                                 /* a row for each name, oldest first */
    VEC(uint32_t) untold; /* replicas whose holder or fence the aggregators are to be told */
    uint32_t n_absent;    /* leases that are issued to nobody who is here (holder 0) */
    uint32_t homeless;    /* the first lease whose home is not here, plus one */
    bool stirred;         /* something was opened: all who are free may get work, not only ... */
    VEC(uint32_t) asked;  /* ... those who have asked for it since work was given last: serials */
    bool opened;          /* the leases are in the store */
    bool decided;         /* the decision is in the store */
    record_kind_t awaits; /* PHASE_OPEN: the record that ends it */
    uint32_t fence_base;  /* all fences of our term are above it */
    uint32_t fence_top;   /* highest fence of our term in rounds that are void */
    uint64_t stale;       /* answers under an old fence */
    int64_t started_ms, begun_ms; /* first round, present round */
    int64_t opened_ms;  /* of a round that another leader opened: when, before our term; 0 */
    int64_t outage_ms;  /* of the open round: taking over, and waiting for lost shards */
    int64_t resumed_ms; /* we have taken the run over then; 0: we began it */
    int64_t ready_ms;   /* training could have begun, but for missing workers */
    int64_t waiting_ms; /* when the log last said what is waited for */
    char waits[256];    /* what it said */
    int64_t overdue_ms; /* when work was last looked at for being overdue */
} round_t;

void round_fini(round_t *self);
/* Has that worker refused the replica's lease? */
bool round_refused(const round_t *self, uint32_t replica, uint32_t worker);
/* That worker has not got this state, with which the replica's lease begins; false: it does not. */
bool round_refuse(round_t *self, uint32_t replica, uint32_t worker, const char *state,
                  int64_t now_ms);
/* Mean loss by tokens of the work that is done. */
double round_loss(const work_t *work, size_t n, uint64_t *tokens);

#endif
