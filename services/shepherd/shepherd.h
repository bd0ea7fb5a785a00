/* The shepherd's state and what can happen to it.
 *
 * One struct, three tables (members, plans, leases), one phase. Handlers take the state and a
 * message; they answer through `out` and hand slow work to `courier`, so that tests run them
 * without sockets.
 *
 *   GATHER -> PUBLISH -> COMPILE -> ASSIGN -> INIT -> TRAIN <-> COMMIT -> SAVE -> DONE
 *   aggregators  objects   first plan  ranges  values    leases   outer step  checkpoint */
#ifndef SHEPHERD_SHEPHERD_H
#define SHEPHERD_SHEPHERD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "msg/envelope.h"
#include "shepherd/config.h"
#include "shepherd/courier.h"
#include "shepherd/layout.h"

typedef enum {
    PHASE_GATHER,
    PHASE_PUBLISH,
    PHASE_COMPILE,
    PHASE_ASSIGN,
    PHASE_INIT,
    PHASE_TRAIN,
    PHASE_COMMIT,
    PHASE_SAVE,
    PHASE_DONE,
    PHASE_COUNT,
} phase_t;

typedef struct {
    uint32_t serial; /* never used twice; leases refer to members by it */
    char *id, *target, *endpoint, *supervisor, *host;
    uint32_t pid, threads;
    Msg__Kind kind;
    msg_peer_t peer;
    int64_t heard_ms, issued_ms; /* last sign of life, last work given */
    uint32_t credit;
    int shard;     /* aggregators: which, -1: spare */
    bool answered; /* aggregators: ASSIGNED or COMMITTED of the present phase */
} member_row_t;

typedef enum { PLAN_WANTED, PLAN_ASKED, PLAN_READY, PLAN_FAILED } plan_state_t;
typedef struct {
    char *target;
    plan_state_t state;
    uint32_t compiler; /* serial, when asked */
    int attempts;
    char hash[HASH_HEX];
} plan_row_t;

typedef enum { WORK_OPEN, WORK_ISSUED, WORK_DONE } work_state_t;
typedef struct {
    work_state_t state;
    uint32_t holder; /* serial of the worker, when issued */
    uint32_t home;   /* training: the worker that has this replica's inner state; 0: none */
    uint32_t fence;  /* raised each time the work is given again */
    int failures;
    uint64_t begin, n; /* validation: batches */
    double loss;       /* of the finished work */
    uint64_t tokens;
} work_t;

typedef struct {
    const shepherd_config_t *config;
    msg_out_t out;
    void (*publish)(void *user, Msg__Event *event); /* telemetry out; may be NULL */
    void (*start)(void *user, courier_job_t *job);  /* takes the job */
    void *user;                                     /* of both */
    const char *telemetry;                          /* told in WELCOME */

    phase_t phase;
    int64_t now_ms, tick_ms;
    uint32_t last_serial;
    VEC(member_row_t) members;
    VEC(plan_row_t) plans;
    layout_t layout;
    uint64_t run_hash;
    char *spec;     /* training spec as JSON */
    uint32_t codec; /* outer/codec.h */
    char module_hash[HASH_HEX], train_hash[HASH_HEX], validation_hash[HASH_HEX];
    uint64_t train_tokens, validation_tokens;

    uint32_t round;               /* that is open: its parameters are being trained */
    work_t *lease;                /* one per replica */
    VEC(work_t) eval;             /* open validation of the parameters that enter `round` */
    uint64_t cursor;              /* windows consumed by committed rounds */
    uint64_t tokens;              /* trained in committed rounds */
    int64_t started_ms, round_ms; /* first round, present round */
    int64_t ready_ms;             /* training could have begun, but for missing workers */
    int64_t waiting_ms;           /* when the log last said what is waited for */
    bool summary_waits;           /* the last round's summary waits for its validation */
    Msg__RoundStats summary;
    double val_loss;
    bool has_val_loss;
    uint64_t stale; /* answers under an old fence */

    int64_t status_ms; /* when the last status was published */
    bool stopping;     /* a signal came: save and leave */
    bool finished;     /* main leaves its loop */
    int exit_status;   /* 0 done, 1 failed, 3 stopped */
    msg_count_t count;
} shepherd_t;

/* A zeroed struct; config, telemetry and the callbacks' user are borrowed. */
int shepherd_init(shepherd_t *self, const shepherd_config_t *config, err_t *err);
void shepherd_fini(shepherd_t *self);

extern const msg_route_t shepherd_routes[MSG_KIND_COUNT];

void shepherd_tick(shepherd_t *self, int64_t now_ms);
void shepherd_on_courier(shepherd_t *self, const courier_result_t *result);
void shepherd_on_signal(shepherd_t *self);
/* Publish an event, and send it to every CLI, reliably. Fills in source and run. */
void shepherd_tell(shepherd_t *self, Msg__Event *event);
void shepherd_fail(shepherd_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- members.c --- */
member_row_t *member_by_peer(shepherd_t *self, const msg_peer_t *peer); /* NULL: unknown */
/* The same for the sender of a message: a sign of its life. */
member_row_t *member_heard(shepherd_t *self, const msg_peer_t *from);
member_row_t *member_by_serial(shepherd_t *self, uint32_t serial);
member_row_t *member_by_id(shepherd_t *self, const char *id);
/* The sender's row, or NULL after telling it that it is unknown. */
member_row_t *member_known(shepherd_t *self, const msg_peer_t *from, uint64_t reply_to);
void member_drop(shepherd_t *self, uint32_t serial, const char *reason);
void members_expire(shepherd_t *self);
void members_dismiss(shepherd_t *self, const char *reason); /* BYE to all */
size_t members_count(const shepherd_t *self, Msg__Kind kind);
/* Endpoints of the assigned aggregators by shard: shards strings, borrowed; caller frees the array.
 */
char **members_endpoints(const shepherd_t *self);
const char *member_kind_name(Msg__Kind kind);
void on_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_gone(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_work_request(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- status.c --- */
void status_tick(shepherd_t *self); /* publish a status when a second has passed */

/* --- supervisors.c --- */
void on_control_request(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_control_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_run_event(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- plans.c --- */
void plans_want(shepherd_t *self, const char *target);
void plans_dispatch(shepherd_t *self);
void plans_forget_compiler(shepherd_t *self, uint32_t serial);
const char *plans_ready(const shepherd_t *self, const char *target); /* hash; NULL: not yet */
void on_plan_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- rounds.c, work.c --- */
void rounds_begin(shepherd_t *self);   /* after INIT: when enough workers are ready */
void rounds_waiting(shepherd_t *self); /* now and then: log what the run waits for */
void rounds_dispatch(shepherd_t *self);
void rounds_check(shepherd_t *self);   /* is the round complete? */
void rounds_summary(shepherd_t *self); /* publish the waiting summary */
void rounds_committed(shepherd_t *self);
void work_release(shepherd_t *self, uint32_t holder); /* reopen what a lost worker held */
bool work_held(const shepherd_t *self, uint32_t holder);
void work_dispatch(shepherd_t *self);
void work_open_round(shepherd_t *self);
void work_open_eval(shepherd_t *self);
uint64_t work_windows(const shepherd_t *self); /* of one lease */
void on_assigned(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_committed(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_lease_done(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_eval_done(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_lease_failed(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
