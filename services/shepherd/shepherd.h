/* The shepherd's state and what can happen to it.
 *
 * One struct, three tables (members, plans, leases), one phase (phase.h). Handlers take the state and a
 * message; they answer through `out` and hand slow work to `courier`, so that tests run them
 * without sockets.
 *
 * docs/recovery.md says what survives what. Without a recorder everything counts as recorded at
 * once. */
#ifndef SHEPHERD_SHEPHERD_H
#define SHEPHERD_SHEPHERD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "msg/envelope.h"
#include "shepherd/bulk/courier.h"
#include "shepherd/bulk/layout.h"
#include "shepherd/config.h"
#include "shepherd/phase.h"
#include "shepherd/records/recorder.h"

/* What the shepherd holds against a worker (blame.c, overdue.c). It counts failures
 * that follow each other without a success. */
typedef struct {
    uint8_t strikes, lies; /* failures; failures that it hid, or that are no accident */
    uint8_t overdue;       /* pieces of work that it did not end in time */
    bool refused;          /* it gets no more work */
    int64_t rest_ms;       /* it gets no work before this time */
    char why[160];         /* the reason for the last strike */
} blame_t;

typedef struct {
    char id[MSG_ID_BYTES];
    uint64_t incarnation;
    blame_t blame;
} blamed_t;

typedef struct {
    uint32_t serial; /* never used twice; leases refer to members by it */
    char *id, *target, *endpoint, *supervisor, *host;
    uint32_t pid, threads;
    uint64_t incarnation; /* random number of its process; 0: it told none */
    Msg__Kind kind;
    msg_peer_t peer;
    int64_t heard_ms, issued_ms; /* last sign of life, last work given */
    uint32_t credit;
    int shard;        /* aggregators: which, -1: spare */
    bool answered;    /* aggregators: ASSIGNED or COMMITTED of the present phase */
    int64_t asked_ms; /* aggregators: when ASSIGN or COMMIT was sent last */
    char busy[256];   /* aggregators: why this one cannot answer yet; "" */
    char waits[256];  /* aggregators: why this one keeps others waiting; "" */
    bool holds;       /* aggregators: the state files hold the shard and round in `held` */
    struct {
        uint32_t shard, round;
    } held;
    blame_t blame; /* workers */
} member_row_t;

typedef enum { PLAN_WANTED, PLAN_ASKED, PLAN_READY, PLAN_FAILED } plan_state_t;
typedef struct {
    char *target;
    plan_state_t state;
    uint32_t compiler; /* serial, when asked */
    uint32_t failed;   /* serial of the compiler that failed last */
    int attempts;
    bool unknown; /* a compiler said that no compiler here knows the target */
    char *why;    /* PLAN_FAILED: the text with which workers of the target are refused */
    char hash[HASH_HEX];
} plan_row_t;

enum { WORK_WITNESSES = 3 };
typedef enum { WORK_OPEN, WORK_ISSUED, WORK_DONE, WORK_DROPPED } work_state_t;
typedef struct {
    work_state_t state;
    uint32_t holder; /* serial of the worker, when issued; 0: `worker`, which is not back yet */
    uint32_t home;   /* training: the worker that has this replica's inner state; 0: none */
    uint32_t fence;  /* raised each time the work is given again */
    int failures, overdue;
    uint32_t avoid; /* serial of a worker who gets it only when there is no other */
    uint64_t witness[WORK_WITNESSES]; /* training: workers whose update was rejected, by name */
    bool timed;                       /* training: the worker began it when it was given */
    uint64_t begin, n;                /* validation: batches */
    data_range_t range;               /* training: windows */
    uint64_t want, done_windows;      /* training: of the range, from its beginning */
    char worker[MSG_ID_BYTES];        /* training: who had it last */
    char state_in[HASH_HEX], state_out[HASH_HEX]; /* training: inner state before and after */
    uint32_t floor; /* when adoptable: work given under a fence up to this one is void */
    bool adoptable; /* a leader before us may have given the lease: its worker may keep it */
    bool recorded;  /* the store has recorded the finished work */
    bool decided;   /* the round's decision counts it */
    bool late;      /* the round's decision leaves it to the next round (late.c) */
    uint32_t lag;   /* 1: a late lease: it begins with the parameters of the round before */
    bool carry;     /* a late lease whose `worker` may be training it and was not told yet */
    double loss;    /* of the finished work */
    uint64_t tokens;
    double compute_s, transfer_s, download_s, upload_s;
    uint32_t steps; /* training, of the finished work, as all below; 0: unknown */
    double norm2;   /* squared norm of its update, as the shards received it */
    int64_t sent_bytes, received_bytes;  /* by the worker; negative: unknown */
    int64_t first_ms, given_ms, done_ms; /* given first, given last, done */
} work_t;

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
    uint32_t replica, fence;
    const char *worker, *reason, *detail; /* reason: a word, shape hash fence finite outlier late */
} rejection_t;

typedef struct {
    uint32_t round;
    double norm; /* per step */
} norm_t;

typedef struct {
    char worker[MSG_ID_BYTES];
    double speed;   /* steps/s of its last lease, as it says; 0: unknown */
    double step_ms; /* of all its time for a lease, as we saw it; 0: unknown */
} speed_t;

typedef struct {
    char hash[HASH_HEX];
} forget_t;

/* This worker has not got the inner state that the replica's lease begins with. */
typedef struct {
    uint32_t replica, worker; /* its serial */
    int64_t since_ms;         /* the first of this replica's */
} refusal_t;

typedef struct {
    const shepherd_config_t *config;
    msg_out_t out;
    void (*publish)(void *user, Msg__Event *event);      /* telemetry out; may be NULL */
    void (*start)(void *user, courier_job_t *job);       /* takes the job */
    void (*record)(void *user, record_t *record);        /* takes it; NULL: no store */
    bool (*reaches)(void *user, const msg_peer_t *peer); /* its connection stands; NULL: it does */
    void *user;                                          /* of these */
    const char *telemetry;                               /* told in WELCOME */

    phase_t phase;
    int64_t now_ms, tick_ms;
    uint32_t last_serial;
    VEC(member_row_t) members; /* by serial */
    VEC(plan_row_t) plans;
    layout_t layout;
    uint64_t run_hash;
    char *spec;     /* training spec as JSON */
    uint32_t codec; /* outer/codec.h */
    char module_hash[HASH_HEX], train_hash[HASH_HEX], validation_hash[HASH_HEX];
    uint64_t train_tokens, validation_tokens;

    uint32_t round;        /* that is open: its parameters are being trained */
    uint32_t first_round;  /* of this shepherd */
    store_resume_t loaded; /* what the store knew, until it is taken up */
    int64_t replicas;      /* of the open round; 0: not decided yet */
    work_t *lease;         /* one per replica */
    VEC(work_t) eval;      /* open validation of the parameters that enter `round` */
    double speed;          /* tokens/s of the last round's training; 0: unknown */
    int64_t eval_begun_ms, eval_ms, evaluated_ms; /* it began; the last took; all took together */
    data_range_t cursor;                          /* behind all windows leased so far */
    VEC(data_range_t) returned; /* leased, not trained: leased again first; ordered, disjoint */
    bool decided;               /* the open round's decision is in the store */
    bool resumed;               /* the run was begun by another shepherd */
    bool opened;                /* the round's leases are in the store */
    record_kind_t awaits;       /* PHASE_OPEN: the record that ends it */
    uint32_t fence_base;        /* all fences of our term are above it */
    int64_t adopt_until_ms;     /* until then workers may come back with their leases */
    int64_t shard_lost_ms;      /* since when a shard has no aggregator; 0: all have */
    char *shard_reason, **shard_endpoint; /* why; where the lost ones were */
    bool has_objects;                     /* they are published */
    bool keeping;                         /* the shards hold the round: ASSIGN says keep */
    uint64_t attempt;                     /* at giving ranges; no other process has the same */
    char courier_waits[1024];             /* what the courier's job waits for; "" */
    bool courier_busy, store_lost, recorder_gone;
    char *store_fault;            /* why it was lost last */
    int64_t ending_ms;            /* the last record is on its way since then */
    uint64_t tokens;              /* trained in committed rounds */
    int64_t started_ms, round_ms; /* first round, present round */
    int64_t opened_ms;    /* with `resumed`: when the open round was, before our term; 0: in it */
    int64_t led_ms;       /* we lead since then, and have not gone on with the run yet; 0: done */
    int64_t outage_ms;    /* of the open round: taking over, and waiting for lost shards */
    int64_t ready_ms;     /* training could have begun, but for missing workers */
    int64_t waiting_ms;   /* when the log last said what is waited for */
    int64_t overdue_ms;   /* when work was last looked at for being overdue */
    int64_t barren_ms;    /* since when no worker can do anything; 0: some can */
    VEC(blamed_t) blamed; /* of workers that are away */
    bool summary_waits;   /* the last round's summary waits for its validation */
    Msg__RoundStats summary;
    double val_loss;
    bool has_val_loss;
    uint64_t stale;               /* answers under an old fence */
    inspection_t *inspection;     /* by replica */
    VEC(norm_t) norms;            /* of the last updates committed, by round, then replica */
    VEC(speed_t) speeds;          /* also of workers that are away */
    uint64_t bytes_in, bytes_out; /* of the shards, since the commit before */

    uint32_t checkpoint_at;          /* asked for: parameters that enter this round; 0: none */
    courier_job_t *checkpoint_job;   /* of a result that the shards hold; the courier's when busy */
    bool checkpoint_busy, holding;   /* holding: COMMIT of the open round says so */
    ledger_t ledger;                 /* of the boundary before the open round, if known */
    bool ledger_known, ledger_whole; /* whole: no inner state is with its worker only */
    VEC(forget_t) forget;            /* inner states that no lease begins with any more */
    bool restoring;                  /* the run goes on from a checkpoint ... */
    char *restore_path;              /* ... this one; NULL: from the beginning */

    VEC(refusal_t) refused;     /* in the open round */
    bool backing, back_written; /* on the way back to a checkpoint; the store knows where to */
    uint32_t back_from;         /* the round that was open */
    char *back_reason;
    int backs;                   /* since a round was committed */
    uint32_t fence_top;          /* highest fence of our term in rounds that are void */
    VEC(checkpoint_name_t) good; /* checkpoints of this run */

    /* "replicas": "auto" */
    VEC(store_replicas_t) sizes; /* their number, by the round from which on */
    uint32_t sized;              /* it is decided for the rounds before this one */
    int64_t few_ms;              /* since when workers are missing; 0: none is */

    int64_t status_ms; /* when the last status was published */
    bool stopping;     /* a signal came: save and leave */
    bool finished;     /* main leaves its loop */
    int exit_status;   /* 0 done, 1 failed, 3 stopped, 4 schema, 5 another leads */
    msg_count_t count;
} shepherd_t;

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
/* Publish an event, and send it to every CLI, reliably. Fills in source and run. */
void shepherd_tell(shepherd_t *self, Msg__Event *event);
void shepherd_fail(shepherd_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Statuses of pcp-shepherd besides 0, 1 and 3; STORE_EXIT_SCHEMA is 4. */
enum { SHEPHERD_EXIT_DEPOSED = 5 };
/* Begin slow work; its result comes to shepherd_on_courier. Takes the job. */
void shepherd_start(shepherd_t *self, courier_job_t *job);
/* Leave without a word to the members: another shepherd leads, or may. */
void shepherd_leave(shepherd_t *self, int exit_status);
/* The store says that the run has ended before. */
void shepherd_over(shepherd_t *self, bool done, const char *reason);
void shepherd_gather(shepherd_t *self); /* in PHASE_GATHER: are the aggregators there? */
void shepherd_begin(shepherd_t *self);  /* they are, for a fresh beginning: give them shards */

/* --- hello.c --- */
enum { HELLO_TEXT = 320 };
/* What is wrong with a HELLO, for the run's shepherd and the front alike; NULL: nothing. n_member
 * are there already. */
const char *hello_fault(const Msg__Hello *hello, size_t n_member);
bool hello_id_valid(const char *id); /* 1 to 63 bytes of the ids' alphabet */
/* A member's own process says HELLO once more. */
bool hello_same_process(const member_row_t *row, const Msg__Hello *hello);
/* What another is told who says HELLO with the holder's id. */
void hello_taken_text(const member_row_t *holder, char text[HELLO_TEXT]);

/* --- members.c --- */
/* A row of one who says HELLO; its texts are copies. */
member_row_t member_row_of(const Msg__Hello *hello, const msg_peer_t *from, uint32_t serial,
                           int64_t now_ms);
void member_row_fini(member_row_t *row);
member_row_t *member_by_peer(shepherd_t *self, const msg_peer_t *peer); /* NULL: unknown */
/* For shepherd_hears: what the sender of a message is registered as (its member is noted as alive),
 * and an answer to one that may not say it. */
msg_who_t member_who(void *state, const msg_peer_t *from);
void member_refuse(void *state, const msg_peer_t *from, uint64_t id, msg_who_t who,
                   const char *text);
member_row_t *member_by_serial(shepherd_t *self, uint32_t serial);
size_t member_place(const shepherd_t *self, uint32_t serial); /* in the table; its n: unknown */
member_row_t *member_by_id(shepherd_t *self, const char *id);
void member_drop(shepherd_t *self, uint32_t serial, const char *reason);
void members_expire(shepherd_t *self);
void members_dismiss(shepherd_t *self, const char *reason); /* says BYE to all members */
size_t members_count(const shepherd_t *self, Msg__Kind kind);
/* Endpoints of the assigned aggregators by shard: shards strings, borrowed; caller frees the array.
 */
char **members_endpoints(const shepherd_t *self);
bool members_shards_here(const shepherd_t *self); /* every shard has its aggregator */
void members_wait_for_shards(shepherd_t *self);   /* the run fails when they do not come in time */
void on_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_gone(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_work_request(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- checkpoints.c --- */
/* Is a checkpoint of the parameters that enter `round` due? Then the leases of the round before
 * keep their states as objects. */
bool checkpoint_due(const shepherd_t *self, uint32_t round);
bool checkpoint_hold(const shepherd_t *self); /* shall COMMIT of the open round hold its result? */
/* Why nobody can ask for a checkpoint now; NULL: somebody can */
const char *checkpoint_refusal(const shepherd_t *self);
void checkpoint_ask(shepherd_t *self); /* an operator wants one */
/* The run has reached a new round and draws its leases next; `held`: the shards hold the parameters
 * of this round, to be saved. */
void checkpoint_boundary(shepherd_t *self, bool held);
void checkpoint_start(shepherd_t *self); /* the store has recorded the end of the round before */
courier_job_t *checkpoint_job(const shepherd_t *self, courier_kind_t kind);
/* Fills in the ledger of the round that the job saves, if it is known */
void checkpoint_ledger(const shepherd_t *self, courier_job_t *job);
void checkpoint_done(shepherd_t *self, const courier_result_t *result);
void checkpoint_record(shepherd_t *self, const courier_result_t *result);
/* This inner state was followed by another; tell the shards of such, and that they need not hold.
 */
void checkpoint_forget_state(shepherd_t *self, const char *hash);
void checkpoint_forget(shepherd_t *self, bool hold);
/* No shard holds the run: go on from a checkpoint, if so configured (false: it is not). */
bool checkpoint_resume(shepherd_t *self);
void checkpoint_found(shepherd_t *self, courier_result_t *result);
courier_job_t *checkpoint_restore(const shepherd_t *self);
void checkpoint_restored(shepherd_t *self);
void checkpoint_fini(shepherd_t *self);

/* --- back.c: an inner state is lost, the run goes back to a checkpoint --- */
void back_refuse(shepherd_t *self, const Msg__LeaseFailed *failed, const member_row_t *worker);
bool back_refused(const shepherd_t *self, uint32_t replica, uint32_t worker); /* by that worker */
void back_forget(shepherd_t *self); /* a new round has begun: no worker has refused a lease of it */
void back_check(shepherd_t *self);  /* now and then: has everybody refused? */
void back_begin(shepherd_t *self, const char *reason); /* from the open round */
void back_gather(shepherd_t *self);                    /* in PHASE_GATHER, `backing` */
/* The courier has chosen the checkpoint: tell the store and the members */
void back_found(shepherd_t *self);
/* The courier must choose another checkpoint */
bool back_again(shepherd_t *self, const courier_result_t *result);
/* The run cannot go on from here: it goes back to a checkpoint, or fails where that did
 * not help. */
void back_or_fail(shepherd_t *self, const char *reason);
void back_fini(shepherd_t *self);

/* --- replicas.c: how many replicas a round has --- */
void replicas_init(shepherd_t *self);
void replicas_fini(shepherd_t *self);
void replicas_load(shepherd_t *self);             /* from `loaded`: the decisions so far */
void replicas_resume(shepherd_t *self, size_t n); /* a store or checkpoint has n leases or states */
void replicas_tick(shepherd_t *self);             /* now and then: are workers missing? */
void replicas_decide(shepherd_t *self);           /* a round opens next; writes what changes */

/* --- late.c: leases that a round closes without, and the next one counts --- */
/* The open round closes: does this lease go on? If so, the round drops the lease and marks it as
 * late. */
bool late_keep(shepherd_t *self, uint32_t replica);
/* `next`, made the lease as which `late` goes on */
work_t late_next(const work_t *late, work_t next);
/* Does a member hold a late lease, under the round before? Then the member may go on with it. */
bool late_held(shepherd_t *self, const member_row_t *row, const Msg__Holding *holding);
/* Is this an answer about a late lease whose round is not open? It is acknowledged later. */
bool late_waits(const shepherd_t *self, uint32_t round, uint32_t replica);
/* A late lease failed again and nobody can train it any more: the round drops it, with a row in the
 * records. false: it is no such lease. */
bool late_failed(shepherd_t *self, uint32_t replica, const char *error);

/* --- status.c --- */
void status_tick(shepherd_t *self); /* publish a status when a second has passed */

/* --- supervisors.c --- */
void on_control_request(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_control_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_run_event(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- plans.c --- */
void plans_want(shepherd_t *self, const char *target);
void plans_dispatch(shepherd_t *self);
void plans_missing(const shepherd_t *self, str_t *text); /* targets that are refused, and why */
void plans_fini(shepherd_t *self);
void plans_forget_compiler(shepherd_t *self, uint32_t serial);
/* Plans asked of this compiler are wanted again */
void plans_lost(shepherd_t *self, uint32_t serial);
bool plans_asked(const shepherd_t *self, uint32_t serial); /* of that compiler */
/* The objects of plans may be gone: compile all of them again */
void plans_forget(shepherd_t *self);
const char *plans_ready(const shepherd_t *self, const char *target); /* hash; NULL: not yet */
/* Why workers of this target are refused; NULL: they are not. */
const char *plans_refusal(const shepherd_t *self, const char *target);
/* A compiler has come that may know targets which others did not */
void plans_retry(shepherd_t *self);
void on_plan_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- shards.c: aggregators that come (back) with a range --- */
void shards_assign(shepherd_t *self, member_row_t *row);
void shards_hello(shepherd_t *self, member_row_t *row, const Msg__ShardState *held);
void shards_lost(shepherd_t *self, const member_row_t *gone, const char *reason);
/* The shepherd will ask this aggregator again */
void shards_busy(member_row_t *row, const char *reason);
void shards_repeat(shepherd_t *self);  /* ASSIGN or COMMIT, where the answer is long in coming */
bool shards_claimed(shepherd_t *self); /* resumed runs: every range is here, given to its holder */
void on_assigned(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- resume.c --- */
void resume_run(shepherd_t *self, recorder_result_t *result);
void resume_round(shepherd_t *self); /* the shards are ready: go on where the run was */
/* A worker says which lease it holds (NULL: none): it keeps it, or is told to drop it. */
void resume_adopt(shepherd_t *self, const member_row_t *row, const Msg__Holding *holding);
void resume_expire(shepherd_t *self); /* who has not come back until now has lost its lease */

/* --- records.c --- */
void records_write(shepherd_t *self, record_t *record); /* takes it */
record_t *records_open(const shepherd_t *self);
record_t *records_decide(const shepherd_t *self);
record_t *records_commit(const shepherd_t *self);
void records_issue(shepherd_t *self, uint32_t replica);
void records_done(shepherd_t *self, uint32_t replica);
void records_reopen(shepherd_t *self, uint32_t replica);
void records_reject(shepherd_t *self, const rejection_t *rejected);
void records_run(shepherd_t *self, const char *state, const char *reason);
void records_event(shepherd_t *self, const Msg__Event *event); /* those that are worth a row */
/* An event that members do not hear of. `detail` is taken. */
void records_happened(shepherd_t *self, const char *name, const char *member, json_t *detail);
/* A worker of this run; others are left out. */
void records_joined(shepherd_t *self, const member_row_t *row);
void records_left(shepherd_t *self, const member_row_t *row, const char *state, const char *reason);

/* --- ranges.c --- */
void ranges_plan(shepherd_t *self);   /* the windows of the round's leases; moves the cursor */
void ranges_settle(shepherd_t *self); /* at its end: what was not trained is returned */
void ranges_return(shepherd_t *self, const data_range_t *range);
uint64_t ranges_step(const shepherd_t *self); /* windows of one step */
uint32_t ranges_steps(const shepherd_t *self, uint64_t windows);

/* --- rounds.c --- */
size_t rounds_workers(const shepherd_t *self); /* that have a plan */
void rounds_begin(shepherd_t *self);           /* after INIT: when enough workers are ready */
void rounds_waiting(shepherd_t *self);         /* now and then: log what the run waits for */
void rounds_dispatch(shepherd_t *self);
void rounds_check(shepherd_t *self);    /* is the round complete? */
void rounds_validate(shepherd_t *self); /* open the validation that is due, if one is */
/* Seconds that the rest of the run takes, by what this shepherd has seen; with validations. */
double rounds_eta(const shepherd_t *self);
double rounds_speed(const shepherd_t *self);

/* --- commit.c --- */
void commit_decide(shepherd_t *self);
void commit_send(shepherd_t *self, const member_row_t *only); /* NULL: to all shards */
void commit_recorded(shepherd_t *self, const recorder_result_t *result);
void commit_summary(shepherd_t *self); /* publish the waiting summary */
double commit_loss(const work_t *work, size_t n, uint64_t *tokens); /* mean by tokens */
void on_committed(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- work.c --- */
void work_release(shepherd_t *self, uint32_t holder); /* reopen what a lost worker held */
void work_gone(shepherd_t *self, const char *worker); /* the same of one that never came back */
void work_reopen(shepherd_t *self, uint32_t replica); /* a lease, under a higher fence */
void work_reopen_eval(work_t *part);
/* Its holder has failed at it: reopened, and from the second time on for another worker, if any. */
void work_again(shepherd_t *self, uint32_t replica);
void work_again_eval(work_t *part);
void work_revoke(shepherd_t *self, uint32_t replica); /* its holder is to drop it */
bool work_held(const shepherd_t *self, uint32_t holder);
bool work_free(const shepherd_t *self, const member_row_t *row); /* it could take work now */
size_t work_homes(const shepherd_t *self, uint32_t serial);      /* replicas of a worker */
void work_dispatch(shepherd_t *self);
void work_open_round(shepherd_t *self);
void work_open_eval(shepherd_t *self);
void work_fences(shepherd_t *self, const member_row_t *aggregator); /* tell it all of them */

/* --- admission.c: an update counts once every shard has said what arrived there --- */
void admission_init(shepherd_t *self);
void admission_fini(shepherd_t *self);
/* LEASE_DONE, the first or a repeat: ask the shards. */
void admission_ask(shepherd_t *self, const Msg__LeaseDone *done, uint64_t windows);
void admission_ask_again(shepherd_t *self, const member_row_t *aggregator); /* it came back */
void admission_reject(shepherd_t *self, uint32_t replica, const char *reason, const char *detail);
void admission_stale(shepherd_t *self, const member_row_t *worker, const Msg__LeaseDone *done);
/* What later updates are measured by, and who is how fast: kept, and read back from the store. */
void admission_committed(shepherd_t *self);
void admission_load(shepherd_t *self, const store_updates_t *updates);
void admission_rewind(shepherd_t *self, uint32_t round); /* forget it, and those behind it */
double admission_speed(const shepherd_t *self, const char *worker); /* 0: unknown */
/* What so many steps take the worker from LEASE to LEASE_DONE, by its last lease; by those of
 * others where it has none; 0: unknown. */
double admission_expected_ms(const shepherd_t *self, const char *worker, double steps);
void admission_timed(shepherd_t *self, uint32_t replica);       /* its lease is done */
bool admission_waits(const shepherd_t *self, uint32_t replica); /* for the shards' answers */
void on_inspected(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- blame.c: workers that get no work for a while, or no more --- */
typedef enum {
    STRIKE_FAILED, /* the worker says that it failed */
    STRIKE_LIE,    /* the worker calls work done that is not there, or is of no use */
    STRIKE_FATAL,  /* the worker says that nobody could do the work */
} strike_t;
/* Count a strike against a worker whose work was given to others before. The worker may be refused
 * then, which opens all leases that it holds. */
void blame_strike(shepherd_t *self, uint32_t serial, strike_t kind, const char *why);
void blame_clear(shepherd_t *self, uint32_t serial); /* a lease of this worker was admitted */
bool blame_rests(const shepherd_t *self, const member_row_t *row);
/* Keep the blame of a member that leaves; blame_take gives it to the member when it comes back. */
void blame_keep(shepherd_t *self, const member_row_t *gone);
void blame_take(shepherd_t *self, member_row_t *come);
/* Now and then: fails the run when no worker is left that could work */
void blame_check(shepherd_t *self);
/* The shards rejected an update that this worker (NULL: it has gone) made for this lease. Have so
 * many proven workers made such updates for the lease that the fault is not theirs? */
bool blame_agreed(shepherd_t *self, uint32_t replica, const member_row_t *row);
/* Names the workers that get no work, and why */
void blame_missing(const shepherd_t *self, str_t *text);
void blame_fini(shepherd_t *self);

/* --- overdue.c --- */
/* Now and then: takes work from workers that do not end it in time */
void overdue_check(shepherd_t *self);

/* --- answers.c --- */
void work_acknowledge(shepherd_t *self, const msg_peer_t *to, uint32_t round, uint32_t replica,
                      uint32_t fence);
/* A lease is done and admitted. */
void work_done(shepherd_t *self, uint32_t replica, const inspection_t *done, double norm2);
void work_recorded(shepherd_t *self, const recorder_result_t *result); /* acknowledge a lease */
void on_lease_done(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_eval_done(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_lease_failed(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
