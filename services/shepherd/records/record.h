/* One write of the shepherd into the store, as plain data: made by handlers, done by the recorder.
 */
#ifndef SHEPHERD_RECORD_H
#define SHEPHERD_RECORD_H

#include "store/store.h"

typedef enum {
    RECORD_RUN,        /* text: the run's new state, detail: its reason */
    RECORD_OBJECTS,    /* objects */
    RECORD_DATA,       /* windows: of an epoch */
    RECORD_OPEN,       /* round, cursor, leases */
    RECORD_ISSUE,      /* round, replica, fence, text: worker, detail: its target */
    RECORD_DONE,       /* round, replica, fence, state, done */
    RECORD_REOPEN,     /* round, replica, fence: up to which nothing counts */
    RECORD_DECIDE,     /* round, entries */
    RECORD_COMMIT,     /* commit (its entries: entries) */
    RECORD_VALIDATION, /* round, loss */
    RECORD_WAITS,      /* round, text */
    RECORD_REJECTION,  /* round, replica, fence, text: reason, detail, worker */
    RECORD_CHECKPOINT, /* round, state: hash of the manifest, text: path, tokens: its bytes */
    RECORD_PRUNED,     /* state: hash of its manifest, text: why */
    RECORD_REWIND,     /* round, cursor, tokens, ranges: returned */
    RECORD_BACK,       /* round: to, from, text: checkpoint, detail: why */
    RECORD_REPLICAS,   /* round, replica: their number from then on, text: why */
    RECORD_WRITTEN,    /* round, text: the prompt, detail: what the model wrote behind it */
    RECORD_INIT,       /* state: hash of the initial values */
    RECORD_EVENT,      /* event (its texts: text, detail, worker, key) */
    RECORD_JOINED,     /* joined: a worker */
    RECORD_LEFT,       /* worker, text: its state, detail: why */
    RECORD_QUARANTINE, /* round, replica, fence, worker, key: its name, text: the digest of what it
                          said, state: of the others', detail: who they are */
    RECORD_TRUST, /* key: a name or id in quarantine, worker: who says so; and RECORD_TRAIL's */
    RECORD_TRAIL, /* worker: who, key_name, public_key, text: action, key: object, detail */
} record_kind_t;

typedef struct {
    record_kind_t kind;
    uint64_t round, from;
    uint32_t replica, fence;
    char *text, *detail, *worker, *key; /* owned */
    store_event_t event;
    store_worker_t *joined; /* owned */
    char key_name[STORE_ID], public_key[HASH_HEX];
    char state[HASH_HEX];
    uint64_t windows, tokens;
    double loss;
    store_done_t done; /* the rest of it */
    store_objects_t objects;
    data_range_t cursor;
    store_lease_t *leases; /* owned */
    size_t n_lease;
    data_range_t *ranges; /* owned */
    size_t n_range;
    store_commit_entry_t *entries; /* owned */
    size_t n_entry;
    store_commit_t commit;
} record_t;

/* A zeroed one of that kind. */
record_t *record_new(record_kind_t kind, uint64_t round);
void record_destroy(record_t **self_p);

/* Write it; errors as in store.h. */
int record_write(const record_t *self, store_t *store, const store_leader_t *leader, err_t *err);

/* "open", "done", ...: for logs. */
const char *record_name(record_kind_t kind);

#endif
