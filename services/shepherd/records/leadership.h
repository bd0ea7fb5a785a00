/* Who leads, as the owner of a store sees it: the one state machine of the recorder (a run's
 * shepherd) and of the clerk (a cluster's front).
 *
 *   OPEN -> PREPARE -> ACQUIRE -> LOAD -> RENEW <-> WRITE
 *   the url  tables,    who        what    our term,  one piece
 *            our row    leads?     is in   when due   at a time
 *
 *   A step that the database does not answer is taken again after a back-off: 50 ms, twice as long
 *   each time, up to 2 s and a third of a term, with jitter. In RENEW and WRITE the other one has
 *   its turn in between. While another leads, ACQUIRE is tried six times a term; when the database
 *   was away, after a whole term, so that who led before can come back. Other errors are the end.
 *
 * The machine is leadership_went: no clock, no socket, no store. leadership_run drives it. */
#ifndef SHEPHERD_LEADERSHIP_H
#define SHEPHERD_LEADERSHIP_H

#include <czmq.h>

#include "base/err.h"

/* The step to take next, which is the machine's state. */
typedef enum {
    LEADERSHIP_OPEN,
    LEADERSHIP_PREPARE,
    LEADERSHIP_ACQUIRE,
    LEADERSHIP_LOAD,
    LEADERSHIP_RENEW,
    LEADERSHIP_WRITE,
    LEADERSHIP_END, /* none: it has failed */
    LEADERSHIP_IMPOSSIBLE,
} leadership_step_t;

/* How a step went. */
typedef enum {
    WENT_WELL,
    WENT_OTHER, /* ACQUIRE: somebody else leads */
    WENT_IDLE,  /* RENEW, WRITE: nothing was to do, or the database had no part in it */
    WENT_AWAY,  /* the database did not answer; it will do again */
    WENT_BAD,   /* it never will be done */
} leadership_went_t;

typedef struct {
    int64_t ttl_ms; /* of a term; renewed at a third; given by the owner */
    leadership_step_t step;
    bool leads;       /* our term has begun */
    bool stands_by;   /* told so */
    int64_t renew_ms; /* when to renew next */
    int64_t wait_ms;  /* present back-off; 0: the database answers */
} leadership_t;

/* What the owner is told, in this order; then nothing is done for rest_ms. */
typedef struct {
    bool lost;    /* the database is gone; said once */
    bool why;     /* it is gone still, for another reason than was said */
    bool back;    /* it answers again */
    bool standby; /* somebody else leads; said once */
    bool leads;   /* we lead, and know what is there */
    bool failed;  /* the last news */
    int64_t rest_ms;
} leadership_news_t;

/* The transition table: the step after one that went so; LEADERSHIP_IMPOSSIBLE: it cannot. */
leadership_step_t leadership_next(leadership_step_t step, leadership_went_t went);

/* What an error of the present step means: AWAY or BAD. */
leadership_went_t leadership_error(const leadership_t *self, const err_t *err);

/* The present step, which began at begun_ms, went so. Asserts that it can. */
leadership_news_t leadership_went(leadership_t *self, leadership_went_t went, int64_t begun_ms,
                                  int64_t now_ms);

/* The owner of a store: all on the actor's thread. */
typedef struct {
    /* Take the step once; *went is WENT_WELL. Returns -1 with err where it fails. */
    int (*take)(void *user, leadership_step_t step, leadership_went_t *went, err_t *err);
    /* Pass the news on; err: of `lost`, `why` and `failed`. */
    void (*tell)(void *user, const leadership_news_t *news, const err_t *err);
    void (*took)(void *user, leadership_step_t step); /* then: it did not fail */
    void (*queue)(void *user, void *item);            /* takes what leadership_hand was given */
    bool (*has_work)(void *user);                     /* something is queued */
    void *user;
} leadership_owner_t;

/* Lead, or wait to, and write, until the actor's pipe says that it is to end. true: then; false: it
 * had failed before that. */
bool leadership_run(leadership_t *self, const leadership_owner_t *owner, zsock_t *pipe);

/* From outside the actor: hand it something to write. Takes it. */
void leadership_hand(zactor_t *actor, void *item);

#endif
