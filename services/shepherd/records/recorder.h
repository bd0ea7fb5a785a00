/* The recorder: an actor that owns the store. It becomes the run's leader, tells what the store
 * knows of the run, and writes records in order, each group in one transaction, until each is in:
 * while the database is gone it keeps them and tries again with back-off.
 *
 * Not waiting for RECORD_ISSUE before a LEASE is sent is safe: fences of a term lie above all those
 * of the terms before (recorder_fence), so that a new leader never gives a fence that was used,
 * recorded or not; and the aggregators add up what the decision names, nothing else. RECORD_OPEN
 * must be waited for, as it fixes the ranges; RECORD_DONE before LEASE_ACK; RECORD_DECIDE before
 * COMMIT. */
#ifndef SHEPHERD_RECORDER_H
#define SHEPHERD_RECORDER_H

#include <czmq.h>

#include "shepherd/records/record.h"

typedef struct {
    const char *url, *run, *holder;
    const char *config; /* JSON: what of the configuration makes the run's result */
    uint64_t n_rounds;
    int64_t ttl_ms; /* a leader's term; renewed at a third */
    bool relaxed;   /* store_options_t */
    bool lengthen;  /* the run may have fewer rounds: from now on it has these */
    bool migrate;   /* make the tables; else they must be there (ERR_SCHEMA) */
} recorder_options_t;

typedef enum {
    RECORDED,            /* a record is in: kind, round, replica, fence */
    RECORDER_STANDBY,    /* somebody else leads: `holder`; said once */
    RECORDER_LEADS,      /* we lead: `leader`, `run`, `resume`, `audit_seed` */
    RECORDER_QUARANTINE, /* `names`, when they have changed; before RECORDER_LEADS, too */
    RECORDER_LOST,       /* the database is gone: err; said once, as is */
    RECORDER_BACK,
    RECORDER_FAILED, /* err: ERR_FENCE: another leads; ERR_SCHEMA; else fatal. The last message */
} recorder_event_t;

typedef struct {
    recorder_event_t event;
    err_t err;
    record_kind_t kind;
    uint64_t round;
    uint32_t replica, fence;
    char holder[STORE_ID];
    store_leader_t leader;
    store_run_t run;
    store_resume_t resume;
    char audit_seed[HASH_HEX];
    char *names; /* as store_quarantine_names */
} recorder_result_t;

/* `options` is borrowed, with all its texts. */
zactor_t *recorder_new(const recorder_options_t *options);
void recorder_write(zactor_t *self, record_t *record); /* takes it */
recorder_result_t *recorder_take(zactor_t *self);      /* caller destroys */
void recorder_result_destroy(recorder_result_t **self_p);
void recorder_destroy(zactor_t **self_p); /* with what nobody took */

/* The first fence of leases in a leader's term, less one. */
uint32_t recorder_fence(const store_leader_t *leader);

#endif
