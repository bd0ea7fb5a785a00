/* The clerk: an actor that owns the front's store. It leads the cluster or waits to, tells what
 * runs there are, and writes notes in order, each until it is in: while the database is gone it
 * keeps them and tries again with back-off. */
#ifndef SHEPHERD_CLERK_H
#define SHEPHERD_CLERK_H

#include <czmq.h>

#include "store/store.h"

typedef struct {
    const char *url, *holder;
    int64_t ttl_ms; /* of a term; renewed at a third */
    bool migrate;   /* make the tables; else they must be there (ERR_SCHEMA) */
} clerk_options_t;

typedef enum {
    CLERK_ADD,    /* a new submission */
    CLERK_MOVE,   /* its new state: id, state and reason of the row count */
    CLERK_DELETE, /* all that is recorded of it: its id counts */
    CLERK_TELL,   /* an event of no run: of the row, key is its name, id whose, reason its detail */
    CLERK_TRUST,  /* the same, and who is called `name` leaves quarantine */
} clerk_verb_t;

/* Who asked for it; an empty id: nobody, the front itself. */
typedef struct {
    char id[STORE_ID], key_name[STORE_ID], public_key[HASH_HEX];
} clerk_actor_t;

/* One write. */
typedef struct {
    uint64_t ticket; /* told back */
    clerk_verb_t verb;
    store_submission_t row; /* reason owned */
    char name[STORE_ID];    /* CLERK_TRUST */
    bool lifted;            /* the same: it was in quarantine */
    clerk_actor_t actor;    /* the trail says that it did so */
    bool looked;            /* CLERK_DELETE: `objects` are known */
    store_hashes_t objects; /* owned */
} clerk_note_t;

typedef enum {
    CLERK_STANDBY, /* somebody else leads: `holder`; said once */
    CLERK_LEADS,   /* we lead: `runs`, `deleted` */
    CLERK_WRITTEN, /* the note `ticket` is in, or err says why it never will be */
    CLERK_LOST,    /* the database is gone: err; said once */
    CLERK_BACK,
    CLERK_FAILED, /* ERR_FENCE: another leads; ERR_SCHEMA; else fatal. The last message */
} clerk_event_t;

typedef struct {
    clerk_event_t event;
    err_t err;
    uint64_t ticket;
    char holder[STORE_ID];
    store_submissions_t runs;
    store_ids_t deleted;    /* runs that were */
    char name[STORE_ID];    /* CLERK_TRUST: who; else "" */
    bool lifted;            /* it was in quarantine */
    store_hashes_t objects; /* of a run that was deleted: nobody needs them any more */
} clerk_result_t;

/* `options` is borrowed, with its texts. Destroyed, it lets others lead at once. */
zactor_t *clerk_new(const clerk_options_t *options);
void clerk_write(zactor_t *self, clerk_note_t *note); /* takes it */
clerk_result_t *clerk_take(zactor_t *self);           /* caller destroys */
void clerk_result_destroy(clerk_result_t **self_p);
void clerk_destroy(zactor_t **self_p); /* with what nobody took */

#endif
