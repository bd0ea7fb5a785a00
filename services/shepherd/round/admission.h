/* Admission: an update counts once every shard has said what arrived there. */
#ifndef SHEPHERD_ADMISSION_H
#define SHEPHERD_ADMISSION_H

#include "base/index.h"
#include "shepherd/roster/roster.h"
#include "shepherd/round/round.h"

typedef struct shepherd shepherd_t;

/* What LEASE_DONE said of a lease that the shards are asked about. */
typedef struct {
    bool waits;
    uint32_t round, fence, steps;
    uint64_t windows, tokens;
    double loss, compute_s, transfer_s, download_s, upload_s;
    int64_t sent_bytes, received_bytes;
    char state[HASH_HEX];
    double *norm2; /* by shard; negative: it has not answered */
} inspection_t;

typedef struct {
    uint32_t round;
    double norm; /* per step */
} norm_t;

typedef struct {
    char worker[MSG_ID_BYTES];
    double speed;        /* steps/s of its last lease, as it says; 0: unknown */
    double down_s, up_s; /* of its last lease's transfers, for each byte, as it says; 0: unknown */
    bool dropped;        /* its last lease did not count: too late, or rejected */
    double step_ms;      /* of all its time for a lease, as we saw it; 0: unknown */
} speed_t;

typedef struct {
    inspection_t *inspection; /* by replica */
    VEC(norm_t) norms;        /* of the last updates committed, by round, then replica */
    VEC(speed_t) speeds;      /* also of workers that are away */
    index_t *by_worker;       /* places in them */
    size_t oldest;            /* where the next new worker's goes once they are as many as may be */
    double usual_step_ms;     /* of all of them; negative: not known since one has changed */
} admission_t;

/* --- updates.c; most: replicas of any round --- */
void admission_init(admission_t *self, size_t most);
void admission_fini(admission_t *self, size_t most);
/* What later updates are measured by, and who is how fast: kept, and read back from the store. */
void admission_committed(admission_t *self, const round_t *round);
void admission_load(admission_t *self, const store_updates_t *updates);
void admission_rewind(admission_t *self, uint32_t round); /* forget it, and those behind it */
const speed_t *admission_measured(const admission_t *self, const char *worker); /* NULL: never */
double admission_speed(const admission_t *self, const char *worker); /* steps/s; 0: unknown */
/* What so many steps, `least` at least, take the worker from LEASE to LEASE_DONE, by its last lease;
 * by those of others where it has none; 0: unknown. */
double admission_expected_ms(admission_t *self, const char *worker, double steps, double least);
void admission_timed(admission_t *self, const work_t *lease); /* it is done */
void admission_remember(admission_t *self, const char *worker, uint32_t steps, double compute_s);
/* Bytes and milliseconds of a lease each way, as the store keeps them; negative: unknown. */
typedef struct {
    int64_t received_bytes, sent_bytes, download_ms, upload_ms;
} carried_t;
void admission_carried(admission_t *self, const char *worker, const carried_t *carried);
double admission_usual_norm(const admission_t *self); /* per step; INFINITY: too few are known */

/* --- admission.c --- */

/* LEASE_DONE, the first or a repeat: ask the shards. */
void admission_ask(shepherd_t *self, const Msg__LeaseDone *done, uint64_t windows);
void admission_ask_again(shepherd_t *self, const member_row_t *aggregator); /* it came back */
void admission_reject(shepherd_t *self, uint32_t replica, const char *reason, const char *detail);
void admission_stale(shepherd_t *self, const member_row_t *worker, const Msg__LeaseDone *done);
bool admission_waits(const shepherd_t *self, uint32_t replica); /* for the shards' answers */
void on_inspected(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
