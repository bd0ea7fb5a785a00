/* A scripted cluster around the shepherd's handlers: what it says goes through the route table,
 * what the shepherd answers is recorded. For shepherd_test.c and its neighbours. */
#ifndef SHEPHERD_RIG_H
#define SHEPHERD_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* Not every test program uses everything. */
#pragma GCC diagnostic ignored "-Wunused-function"

enum { MAX_SENT = 1024 };

typedef struct {
    uint8_t to; /* the peer's number */
    msg_envelope_t *message;
} sent_t;

typedef struct {
    shepherd_config_t config;
    shepherd_t state;
    sent_t sent[MAX_SENT];
    size_t n_sent;
    courier_job_t *job;      /* the last one started, not yet answered */
    VEC(record_t *) records; /* for the store, not yet answered; only after keep_records */
    VEC(record_t *) told;    /* events and workers that come and go: nobody waits for these */
    bool ended[256];         /* by peer: its connection has */
    int64_t now;
} rig_t;

static void record(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    rig_t *rig = user;
    assert_true(rig->n_sent < MAX_SENT);
    message->version = MSG_VERSION;
    size_t n;
    uint8_t *bytes = msg_pack(message, &n);
    rig->sent[rig->n_sent++] = (sent_t){to->at[0], msg_unpack(bytes, n, NULL)};
    free(bytes);
}

static void take_job(void *user, courier_job_t *job)
{
    rig_t *rig = user;
    assert_null(rig->job);
    rig->job = job;
}

static bool reaches(void *user, const msg_peer_t *peer)
{
    return !((rig_t *)user)->ended[peer->at[0]];
}

static void take_record(void *user, record_t *record)
{
    rig_t *rig = user;
    if (record->kind >= RECORD_EVENT)
        VEC_PUSH(&rig->told, record);
    else
        VEC_PUSH(&rig->records, record);
}

/* The last status that was told. */
static Msg__Status published;

static void take_status(void *user, Msg__Event *event)
{
    (void)user;
    if (event->body_case == MSG__EVENT__BODY_STATUS) published = *event->status;
}

/* From now on the store's answers are the test's to give. */
static void keep_records(rig_t *rig)
{
    rig->state.ports.record = take_record;
}

/* The leases that are linked from there are those of this home, and each once. */
static void check_homes(const shepherd_t *self, uint32_t first, const member_row_t *home)
{
    size_t n = 0, n_linked = 0;
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        const member_row_t *row = lease->home ? member_by_serial(&self->roster, lease->home) : NULL;
        n += row == home;
    }
    for (uint32_t at = first, before = 0; at; before = at, at = self->round.lease[at - 1].next) {
        const work_t *lease = &self->round.lease[at - 1];
        assert_true(++n_linked <= n);
        assert_int_equal(lease->before, before);
        assert_ptr_equal(lease->home ? member_by_serial(&self->roster, lease->home) : NULL, home);
    }
    assert_int_equal(n_linked, n);
    if (home) assert_int_equal(home->n_home, n);
}

/* What is counted as it changes is what counting finds: states of leases and parts, work of members;
 * and each member is found by its peer and its id, and its leases by it. */
static void check_counts(rig_t *rig)
{
    shepherd_t *self = &rig->state;
    round_t was = self->round;
    uint32_t held[64];
    size_t n = self->roster.members.n;
    assert_true(n <= sizeof held / sizeof *held);
    for (size_t i = 0; i < n; i++) {
        held[i] = self->roster.members.at[i]->n_work;
        check_homes(self, self->roster.members.at[i]->homes, self->roster.members.at[i]);
    }
    check_homes(self, self->round.homeless, NULL);
    bool stirred = self->round.stirred;
    work_count(self);
    self->round.stirred = stirred;
    assert_int_equal(was.n_absent, self->round.n_absent);
    assert_memory_equal(was.n_lease, self->round.n_lease, sizeof was.n_lease);
    assert_memory_equal(was.n_part, self->round.n_part, sizeof was.n_part);
    for (size_t i = 0; i < n; i++) {
        member_row_t *row = self->roster.members.at[i];
        assert_int_equal(held[i], row->n_work);
        assert_ptr_equal(member_by_peer(&self->roster, &row->peer), row);
        assert_ptr_equal(member_by_id(&self->roster, row->id), row);
    }
}

/* The store has written the oldest record, which is of this kind. */
static void written(rig_t *rig, record_kind_t kind)
{
    assert_true(rig->records.n > 0);
    record_t *record = rig->records.at[0];
    if (record->kind != kind)
        fail_msg("record %s, not %s", record_name(record->kind), record_name(kind));
    recorder_result_t result = {.event = RECORDED,
                                .kind = kind,
                                .round = record->round,
                                .replica = record->replica,
                                .fence = record->fence};
    record_destroy(&record);
    memmove(rig->records.at, rig->records.at + 1, --rig->records.n * sizeof *rig->records.at);
    rig->state.now_ms = rig->now;
    shepherd_on_recorder(&rig->state, &result);
    shepherd_dispatch(&rig->state);
    check_counts(rig);
}

static void all_written(rig_t *rig)
{
    while (rig->records.n > 0) written(rig, rig->records.at[0]->kind);
}

static void forget_sent(rig_t *rig)
{
    for (size_t i = 0; i < rig->n_sent; i++) msg_free(&rig->sent[i].message);
    rig->n_sent = 0;
}

/* How many messages of a kind went to a peer (0: any), and the last of them. */
static int count(const rig_t *rig, uint8_t to, msg_kind_t kind, const msg_envelope_t **last)
{
    int n = 0;
    for (size_t i = 0; i < rig->n_sent; i++) {
        if ((to && rig->sent[i].to != to) || rig->sent[i].message->body_case != kind) continue;
        n++;
        if (last) *last = rig->sent[i].message;
    }
    return n;
}

#define BODY(kind) MSG__ENVELOPE__BODY_##kind

static const msg_envelope_t *only(const rig_t *rig, uint8_t to, msg_kind_t kind)
{
    const msg_envelope_t *found = NULL;
    if (count(rig, to, kind, &found) != 1)
        fail_msg("%d messages %s to peer %d", count(rig, to, kind, NULL), msg_kind_name(kind), to);
    return found;
}

/* A message of peer `from` through the route table, as from a socket. */
static void say(rig_t *rig, uint8_t from, msg_envelope_t *message)
{
    msg_peer_t peer = {.n = 5, .at = {from}};
    message->version = MSG_VERSION;
    message->id = 7;
    size_t n;
    uint8_t *bytes = msg_pack(message, &n);
    rig->state.now_ms = rig->now;
    msg_dispatch(&shepherd_hears, &rig->state, &peer, bytes, n, &rig->state.count, NULL);
    if (!rig->state.finished) shepherd_dispatch(&rig->state);
    check_counts(rig);
    free(bytes);
}

#define SAY(rig, from, KIND, field, ...)           \
    do {                                           \
        __VA_ARGS__;                               \
        msg_envelope_t say_ = MSG__ENVELOPE__INIT; \
        say_.body_case = BODY(KIND);               \
        say_.field = &body;                        \
        say(rig, from, &say_);                     \
    } while (0)

/* From one process for each id, over whatever connection. */
static void hello(rig_t *rig, uint8_t from, Msg__Kind kind, const char *id)
{
    SAY(rig, from, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT; body.kind = kind;
        body.incarnation = 1; body.id = (char *)id;
        body.target = (char *)(kind == MSG__KIND__KIND_WORKER ? "cpu:x" : "");
        body.endpoint = (char *)(kind == MSG__KIND__KIND_AGGREGATOR ? "ipc://data" : ""));
}

static void ask(rig_t *rig, uint8_t from)
{
    SAY(rig, from, WORK_REQUEST, work_request, Msg__WorkRequest body = MSG__WORK_REQUEST__INIT;
        body.credit = 1);
}

static void beat(rig_t *rig, uint8_t from, uint32_t credit)
{
    SAY(rig, from, HEARTBEAT, heartbeat, Msg__Heartbeat body = MSG__HEARTBEAT__INIT;
        body.credit = credit);
}

static void tick(rig_t *rig, int64_t ms)
{
    rig->now += ms;
    shepherd_tick(&rig->state, rig->now);
    check_counts(rig);
}

static courier_result_t courier(rig_t *rig, courier_kind_t kind)
{
    assert_non_null(rig->job);
    assert_int_equal(rig->job->kind, kind);
    courier_job_destroy(&rig->job);
    courier_result_t result = {.kind = kind, .train_tokens = 401, .validation_tokens = 81};
    memset(result.module_hash, 'a', HASH_HEX - 1);
    memset(result.train_hash, 'b', HASH_HEX - 1);
    memset(result.validation_hash, 'c', HASH_HEX - 1);
    return result;
}

/* Peers: 1 aggregator, 2 compiler, 3.. workers. */
enum { A = 1, C = 2, W1 = 3, W2 = 4, W3 = 5, W4 = 6, L = 9 };

static void plan_reply_for(rig_t *rig, const char *target, const char *error, bool model_at_fault)
{
    int64_t dims[2] = {3, 4}, rows[2] = {2, 10};
    Msg__TensorInfo w = MSG__TENSOR_INFO__INIT, x = MSG__TENSOR_INFO__INIT;
    w.name = "w";
    w.dtype = "f32";
    w.n_dims = 2;
    w.dims = dims;
    x.name = "x";
    x.dtype = "i64";
    x.n_dims = 2;
    x.dims = rows;
    Msg__TensorInfo y = x, *params[] = {&w}, *batch[] = {&x, &y};
    y.name = "y";
    char hash[HASH_HEX] = "";
    memset(hash, 'd', HASH_HEX - 1);
    SAY(rig, C, PLAN_REPLY, plan_reply, Msg__PlanReply body = MSG__PLAN_REPLY__INIT;
        body.job = (char *)target; body.error = (char *)error; body.model_at_fault = model_at_fault;
        body.plan = *error ? "" : hash; body.params = params; body.n_params = *error ? 0 : 1;
        body.batch = batch; body.n_batch = *error ? 0 : 2);
}

static void plan_reply(rig_t *rig, const char *error, bool model_at_fault)
{
    plan_reply_for(rig, "cpu:x", error, model_at_fault);
}

static rig_t *rig_new(int64_t replicas, int64_t rounds)
{
    rig_t *rig = calloc(1, sizeof *rig);
    err_t err = {0};
    char name[] = "test", *argv[] = {name};
    config_args_t args = {0};
    assert_int_equal(config_load(&shepherd_table, &rig->config, NULL, 1, argv, &args, &err), 0);
    config_args_fini(&args);
    config_set(&shepherd_table, &rig->config, "model", "m.mlir", &err);
    config_set(&shepherd_table, &rig->config, "init", "i.safetensors", &err);
    config_set(&shepherd_table, &rig->config, "train_tokens", "t.u16", &err);
    rig->config.workers = 1;
    rig->config.replicas = replicas;
    rig->config.rounds = rounds;
    rig->config.inner_steps = 3;
    rig->config.shuffle = false;
    rig->config.validate_every = 0; /* tests that want validations say so */
    rig->now = 1000;
    rig->state.ports.out = (msg_out_t){record, rig};
    rig->state.ports.start = take_job;
    rig->state.ports.reaches = reaches;
    rig->state.ports.user = rig;
    assert_int_equal(shepherd_init(&rig->state, &rig->config, &err), 0);
    tick(rig, 0);
    return rig;
}

static void rig_free(rig_t *rig)
{
    forget_sent(rig);
    courier_job_destroy(&rig->job);
    for (size_t i = 0; i < rig->records.n; i++) record_destroy(&rig->records.at[i]);
    VEC_FREE(&rig->records);
    for (size_t i = 0; i < rig->told.n; i++) record_destroy(&rig->told.at[i]);
    VEC_FREE(&rig->told);
    shepherd_fini(&rig->state);
    config_fini(&shepherd_table, &rig->config);
    free(rig);
}

/* Up to the point where leases are given; workers W1.. have joined but not asked for work. */
static void reach_training(rig_t *rig, int n_worker)
{
    hello(rig, A, MSG__KIND__KIND_AGGREGATOR, "a0");
    hello(rig, C, MSG__KIND__KIND_COMPILER, "c0");
    for (int i = 0; i < n_worker; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", i + 1);
        hello(rig, (uint8_t)(W1 + i), MSG__KIND__KIND_WORKER, id);
    }
    tick(rig, 10);
    courier_result_t published = courier(rig, COURIER_PUBLISH);
    shepherd_on_courier(&rig->state, &published);
    ask(rig, C);
    assert_string_equal(only(rig, C, BODY(COMPILE))->compile->target, "cpu:x");
    plan_reply(rig, "", false);
    const Msg__Assign *assign = only(rig, A, BODY(ASSIGN))->assign;
    assert_int_equal(assign->end, 12);
    assert_int_equal(assign->replicas, shepherd_most(&rig->config));
    assert_int_equal(assign->weight_max, (uint64_t)assign->replicas * 3);
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    courier_result_t ready = courier(rig, COURIER_INIT);
    shepherd_on_courier(&rig->state, &ready);
    forget_sent(rig);
}

/* One replica and worker, `rounds` rounds, up to the point where the compiler has its job. */
static rig_t *compiling(int64_t rounds)
{
    rig_t *rig = rig_new(1, rounds);
    hello(rig, A, MSG__KIND__KIND_AGGREGATOR, "a0");
    hello(rig, C, MSG__KIND__KIND_COMPILER, "c0");
    hello(rig, W1, MSG__KIND__KIND_WORKER, "w1");
    tick(rig, 10);
    courier_result_t published = courier(rig, COURIER_PUBLISH);
    shepherd_on_courier(&rig->state, &published);
    ask(rig, C);
    only(rig, C, BODY(COMPILE));
    return rig;
}

static rig_t *training(int64_t replicas, int64_t rounds, int n_worker)
{
    rig_t *rig = rig_new(replicas, rounds);
    rig->config.workers = n_worker;
    reach_training(rig, n_worker);
    return rig;
}

/* What the shard says of the lease that it was asked about last. */
static void inspected(rig_t *rig, double norm2, const char *reason)
{
    const msg_envelope_t *last = NULL;
    if (count(rig, A, BODY(INSPECT), &last) == 0) return; /* the lease is not the worker's */
    Msg__Inspect asked = *last->inspect;
    SAY(rig, A, INSPECTED, inspected, Msg__Inspected body = MSG__INSPECTED__INIT;
        body.round = asked.round; body.replica = asked.replica; body.fence = asked.fence;
        body.complete = !*reason; body.norm2 = norm2; body.reason = (char *)reason);
}

static void lease_done(rig_t *rig, uint8_t from, const Msg__Lease *lease, double loss)
{
    SAY(rig, from, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
        body.round = lease->round; body.replica = lease->replica; body.fence = lease->fence;
        body.steps = lease->inner_steps; body.tokens = 60; body.mean_loss = loss);
    inspected(rig, 1, "");
}

static void committed(rig_t *rig, uint32_t round, const char *error)
{
    SAY(rig, A, COMMITTED, committed, Msg__Committed body = MSG__COMMITTED__INIT;
        body.round = round; body.error = (char *)error);
}

/* Every worker asks for work and does what it holds, until the round is committed. */
static void do_round(rig_t *rig, uint32_t round, uint8_t last)
{
    for (int turn = 0; turn < 8 && rig->state.phase == PHASE_TRAIN; turn++) {
        for (uint8_t w = W1; w <= last; w++) {
            ask(rig, w);
            uint32_t serial =
                member_by_peer(&rig->state.roster, &(msg_peer_t){.n = 5, .at = {w}})->serial;
            for (uint32_t k = 0; k < (uint32_t)rig->state.round.replicas; k++) {
                const work_t *held = &rig->state.round.lease[k];
                if (held->state != WORK_ISSUED || held->holder != serial) continue;
                Msg__Lease lease = MSG__LEASE__INIT;
                lease.round = round;
                lease.replica = k;
                lease.fence = held->fence;
                lease.inner_steps = 3;
                lease_done(rig, w, &lease, 1);
            }
        }
        forget_sent(rig);
    }
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    committed(rig, round, "");
    forget_sent(rig);
}

#endif
