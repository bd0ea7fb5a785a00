/* The shepherd's state and what can happen to it.
 *
 * One struct of parts, each with its header, and one phase (phase.h). Functions take the part that
 * they need; handlers take the whole and a message. They answer through `ports`, hand slow work to
 * the courier and rows to the recorder, so that tests run them without sockets.
 *
 * docs/recovery.md says what survives what. Without a recorder everything counts as recorded at
 * once. */
#ifndef SHEPHERD_SHEPHERD_H
#define SHEPHERD_SHEPHERD_H

#include "msg/envelope.h"
#include "shepherd/bulk/bulk.h"
#include "shepherd/bulk/checkpoints.h"
#include "shepherd/bulk/copies.h"
#include "shepherd/config.h"
#include "shepherd/phase.h"
#include "shepherd/ports.h"
#include "shepherd/records/records.h"
#include "shepherd/recovery/recovery.h"
#include "shepherd/roster/shards.h"
#include "shepherd/round/admission.h"
#include "shepherd/round/audit.h"
#include "shepherd/round/plans.h"
#include "shepherd/round/progress.h"
#include "shepherd/round/ranges.h"
#include "shepherd/round/replicas.h"
#include "shepherd/round/round.h"
#include "shepherd/round/samples.h"
#include "shepherd/telling.h"

typedef struct shepherd shepherd_t;

/* The whole: what it is given, where it is, and its parts, each with a header of its own. */
struct shepherd {
    const shepherd_config_t *config;
    ports_t ports;
    uint64_t run_hash;
    char *spec;                 /* training spec as JSON */
    uint32_t codec, down_codec; /* outer/codec.h, outer/change.h; 0: none */

    phase_t phase; /* changed by phase_change alone */
    int64_t now_ms, tick_ms;
    bool unread;     /* messages wait that were not read (loop.c) */
    bool stopping;   /* a signal came: save and leave */
    bool finished;   /* main leaves its loop */
    int exit_status; /* 0 done, 1 failed, 3 stopped, 4 schema, 5 another leads */
    msg_count_t count;

    roster_t roster;           /* who is there */
    shards_t shards;           /* aggregators and their ranges */
    bulk_t bulk;               /* what lies there */
    plans_t plans;             /* by target */
    round_t round;             /* the open one, its leases */
    ranges_t ranges;           /* what it trains */
    sizing_t sizing;           /* how many replicas it has */
    admission_t admission;     /* what its updates are judged by */
    audits_t audits;           /* what of them is trained again, and who lied */
    progress_t progress;       /* what is told of it */
    samples_t samples;         /* texts by its parameters */
    checkpoints_t checkpoints; /* of rounds that are committed */
    copies_t copies;           /* of inner states, on their way */
    recovery_t recovery;       /* going on, going back */
    records_t records;         /* what the store says */
};

/* A zeroed struct; config, telemetry and the callbacks' user are borrowed. */
int shepherd_init(shepherd_t *self, const shepherd_config_t *config, err_t *err);
void shepherd_fini(shepherd_t *self);

extern const msg_route_t shepherd_routes[MSG_KIND_COUNT]; /* what members say to a run's shepherd */
extern const msg_table_t shepherd_hears;

void shepherd_tick(shepherd_t *self, int64_t now_ms);
void shepherd_on_courier(shepherd_t *self, courier_result_t *result);
void shepherd_on_event(shepherd_t *self, const Msg__Event *event); /* a member's telemetry */
void shepherd_on_recorder(shepherd_t *self, recorder_result_t *result);
void shepherd_on_signal(shepherd_t *self);
/* Statuses of pcp-shepherd besides 0, 1 and 3; STORE_EXIT_SCHEMA is 4. */
enum { SHEPHERD_EXIT_DEPOSED = 5 };
void shepherd_dispatch(shepherd_t *self); /* after each message: begin rounds, give work */
void shepherd_gather(shepherd_t *self);   /* in PHASE_GATHER: are the aggregators there? */

/* --- status.c --- */
void status_tick(shepherd_t *self); /* publish a status when a second has passed */

#endif
