/* The shepherd's handlers without sockets: a scripted cluster speaks to it, its answers are
 * recorded. */
#include <math.h>

#include "shepherd_rig.h"

#include "base/log.h"
#include "outer/codec.h"

/* --- tests --- */

static void a_run_from_hello_to_bye(void **unused)
{
    (void)unused;
    rig_t *rig = training(2, 2, 2);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint8_t w = W1; w <= W2; w++) {
            ask(rig, w);
            if (count(rig, w, BODY(LEASE), NULL) == 0) fail_msg("worker %d has no lease", w);
            const Msg__Lease *lease = only(rig, w, BODY(LEASE))->lease;
            assert_int_equal(lease->round, round);
            assert_int_equal(lease->replica, w - W1); /* it keeps its replica */
            assert_int_equal(lease->fence, 1);
            assert_int_equal(lease->count, 3 * 2);
            uint64_t position = (uint64_t)round * 12 + lease->replica * 6;
            assert_int_equal(lease->epoch, position / 40); /* (401 - 1) / 10 windows */
            assert_int_equal(lease->start, position % 40);
            assert_int_equal(lease->step_base, round * 3);
            assert_int_equal(lease->schedule->total_steps, 6);
            assert_int_equal(lease->weight, 3);
            assert_int_equal(lease->codec, codec_find("f32", NULL)->id);
            assert_int_equal(lease->bounds[1], 12);
            lease_done(rig, w, lease, 2 + lease->replica);
        }
        const Msg__Commit *commit = only(rig, A, BODY(COMMIT))->commit;
        assert_int_equal(commit->round, round);
        assert_int_equal(commit->n_shares, 2);
        assert_int_equal(commit->shares[1]->weight, 3);
        forget_sent(rig);
        committed(rig, round, "");
        assert_true(rig->state.progress.summary.loss == 2.5);
    }
    /* Validation at the end: (81 - 1) / 10 / 2 = 4 batches, a part each, whoever is there. */
    for (uint64_t part = 0; part < 4; part++) {
        uint8_t w = part < 2 ? W1 : W2;
        forget_sent(rig);
        ask(rig, w);
        const Msg__Eval *eval = only(rig, w, BODY(EVAL))->eval;
        assert_int_equal(eval->round, 2);
        assert_int_equal(eval->first_batch, part);
        assert_int_equal(eval->n_batch, 1);
        assert_false(eval->tokens->shuffle);
        SAY(rig, w, EVAL_DONE, eval_done, Msg__EvalDone body = MSG__EVAL_DONE__INIT; body.round = 2;
            body.part = eval->part; body.fence = eval->fence; body.loss = w == W1 ? 1 : 4;
            body.tokens = w == W1 ? 10 : 20);
    }
    assert_true(rig->state.progress.val_loss == 3); /* (20 + 160) / 60: by tokens */
    assert_int_equal(rig->job->round, 2);
    courier_result_t saved = courier(rig, COURIER_SAVE);
    saved.checkpoint = "run/checkpoint/round-000002";
    shepherd_on_courier(&rig->state, &saved);
    assert_true(rig->state.finished);
    assert_int_equal(rig->state.exit_status, 0);
    for (uint8_t peer = A; peer <= W2; peer++) only(rig, peer, BODY(BYE));
    rig_free(rig);
}

/* All leases of the open round are done by one worker, and committed. */
static void one_round(rig_t *rig, uint32_t round)
{
    forget_sent(rig);
    ask(rig, W1);
    const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease;
    rig->now += 1000;
    lease_done(rig, W1, lease, 2);
    committed(rig, round, "");
}

/* Of a long text a sample is validated on: whole batches, the same each time; the time left counts
 * it. */
static void a_validation_reads_a_sample(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 10, 1);
    rig->config.validate_every = 2;
    rig->config.validate_tokens = 59; /* 2 batches of 20 tokens, of 4 */
    one_round(rig, 0);
    /* 1 s and 60 tokens a round: a validation is taken to last 40 / (3 x 60) s; 5 are to come. */
    assert_true(fabs(rig->state.progress.summary.eta_s - (9 + 5 * 40 / 180.0)) < 1e-9);
    Msg__Eval seen[2];
    for (uint32_t round = 1; round <= 3; round += 2) {
        one_round(rig, round);
        for (uint64_t part = 0; part < 2; part++) {
            forget_sent(rig);
            ask(rig, W1);
            const Msg__Eval *eval = only(rig, W1, BODY(EVAL))->eval;
            assert_int_equal(eval->first_batch, part);
            assert_int_equal(eval->n_batch, 1);
            assert_true(eval->tokens->shuffle);
            if (round > 1) assert_int_equal(eval->tokens->seed, seen[part].fence);
            seen[part] = (Msg__Eval){.fence = (uint32_t)eval->tokens->seed};
            rig->now += 4000;
            SAY(rig, W1, EVAL_DONE, eval_done, Msg__EvalDone body = MSG__EVAL_DONE__INIT;
                body.round = round + 1; body.part = eval->part; body.fence = eval->fence;
                body.loss = 1; body.tokens = 20);
        }
        assert_true(rig->state.progress.has_val_loss);
        if (round == 1) one_round(rig, 2);
    }
    /* 8 s a validation, 3 to come (rounds 6, 8, 10), and 6 rounds of 1 s. */
    assert_true(fabs(rig->state.progress.summary.eta_s - (6 + 3 * 8)) < 1e-9);
    rig_free(rig);
}

static void a_lost_workers_lease_goes_to_the_spare(void **unused)
{
    (void)unused;
    rig_t *rig = training(2, 1, 3);
    for (uint8_t w = W1; w <= W3; w++) ask(rig, w);
    Msg__Lease old = *only(rig, W1, BODY(LEASE))->lease;
    assert_int_equal(count(rig, W3, BODY(LEASE), NULL), 0);
    SAY(rig, W1, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    const Msg__Fence *fence = only(rig, A, BODY(FENCE))->fence;
    assert_int_equal(fence->replica, old.replica);
    assert_int_equal(fence->fence, 2);
    const Msg__Lease *again = only(rig, W3, BODY(LEASE))->lease;
    assert_int_equal(again->replica, old.replica);
    assert_int_equal(again->fence, 2);
    assert_int_equal(again->start, old.start);
    /* What comes under the old fence, or from one that does not hold it, changes nothing. */
    hello(rig, W1, MSG__KIND__KIND_WORKER, "w1");
    old.fence = 1;
    lease_done(rig, W1, &old, 9);
    old.fence = 2;
    lease_done(rig, W1, &old, 9);
    assert_int_equal(rig->state.round.stale, 2);
    assert_int_equal(rig->state.round.lease[again->replica].state, WORK_ISSUED);
    lease_done(rig, W3, again, 1);
    lease_done(rig, W2, only(rig, W2, BODY(LEASE))->lease, 1);
    const Msg__Commit *commit = only(rig, A, BODY(COMMIT))->commit;
    assert_int_equal(commit->shares[again->replica]->fence, 2);
    lease_done(rig, W3, again, 1); /* twice, as until its row is written */
    assert_int_equal(rig->state.round.stale, 2);
    lease_done(rig, W2, again, 1); /* not its own */
    assert_int_equal(rig->state.round.stale, 3);
    rig_free(rig);
}

static void silence_and_sleep(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    ask(rig, W1);
    only(rig, W1, BODY(LEASE));
    for (int i = 0; i < 60; i++) { /* the aggregator and the compiler speak, the worker does not */
        tick(rig, 100);
        beat(rig, A, 0);
        beat(rig, C, 0);
    }
    assert_int_equal(members_count(&rig->state.roster, MSG__KIND__KIND_WORKER), 0);
    assert_int_equal(rig->state.round.lease[0].state, WORK_OPEN);
    tick(rig, 3600000); /* the shepherd itself slept: nobody is blamed */
    assert_int_equal(members_count(&rig->state.roster, MSG__KIND__KIND_AGGREGATOR), 1);
    assert_false(rig->state.finished);
    beat(rig, W1, 1);
    const Msg__Fault *fault = only(rig, W1, BODY(FAULT))->fault;
    assert_int_equal(fault->code, MSG__FAULT__CODE__UNKNOWN_PEER);
    rig_free(rig);
}

static void who_leaves_takes_nobody_along(void **unused)
{
    (void)unused;
    rig_t *rig = training(4, 1, 4);
    SAY(rig, W2, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "enough");
    assert_int_equal(member_place(&rig->state.roster, 0), rig->state.roster.members.n);
    for (size_t i = 0; i < rig->state.roster.members.n; i++) {
        uint32_t serial = rig->state.roster.members.at[i]->serial;
        assert_int_equal(member_place(&rig->state.roster, serial), i);
        assert_ptr_equal(member_by_serial(&rig->state.roster, serial),
                         rig->state.roster.members.at[i]);
        assert_true(i == 0 || serial > rig->state.roster.members.at[i - 1]->serial);
    }
    const uint8_t left[] = {W1, W3, W4};
    for (int i = 0; i < 3; i++) ask(rig, left[i]);
    for (int i = 0; i < 3; i++) only(rig, left[i], BODY(LEASE));
    lease_done(rig, W4, only(rig, W4, BODY(LEASE))->lease, 1);
    ask(rig, W4); /* what W2 would have trained */
    assert_int_equal(count(rig, W4, BODY(LEASE), NULL), 2);
    rig_free(rig);
}

static void a_lost_lease_message_heals(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    ask(rig, W1);
    only(rig, W1, BODY(LEASE));
    beat(rig, W1, 1); /* crossed with the lease: means nothing yet */
    only(rig, W1, BODY(LEASE));
    for (int i = 0; i < 31; i++) {
        tick(rig, 100);
        beat(rig, A, 0);
        beat(rig, W1, 0);
    }
    beat(rig, W1, 1); /* idle long after: it never got it */
    const msg_envelope_t *last = NULL;
    assert_int_equal(count(rig, W1, BODY(LEASE), &last), 2);
    assert_int_equal(last->lease->fence, 2);
    rig_free(rig);
}

static void bad_hellos_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        int kind;
        const char *id, *target, *endpoint, *words;
    } rows[] = {
        {MSG__KIND__KIND_WORKER, "", "cpu:x", "", "id"},
        {MSG__KIND__KIND_WORKER,
         "0123456789012345678901234567890123456789012345678901234567890123456789", "cpu:x", "",
         "id"},
        {MSG__KIND__KIND_WORKER, "w", "", "", "target"},
        {MSG__KIND__KIND_AGGREGATOR, "a", "", "", "endpoint"},
        {99, "x", "", "", "kind"},
        {MSG__KIND__KIND_NONE, "x", "", "", "kind"},
    };
    rig_t *rig = rig_new(1, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SAY(rig, 1, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
            body.kind = (Msg__Kind)rows[i].kind; body.id = (char *)rows[i].id;
            body.target = (char *)rows[i].target; body.endpoint = (char *)rows[i].endpoint);
        const Msg__Fault *fault = only(rig, 1, BODY(FAULT))->fault;
        assert_int_equal(fault->code, MSG__FAULT__CODE__REFUSED);
        assert_non_null(strstr(fault->text, rows[i].words));
        forget_sent(rig);
    }
    assert_int_equal(rig->state.roster.members.n, 0);
    hello(rig, W1, MSG__KIND__KIND_WORKER, "same");
    hello(rig, W2, MSG__KIND__KIND_WORKER, "same"); /* another connection of its */
    assert_int_equal(rig->state.roster.members.n, 1);
    hello(rig, W2, MSG__KIND__KIND_WORKER, "same"); /* repeated: only answered */
    assert_int_equal(count(rig, W2, BODY(WELCOME), NULL), 2);
    assert_int_equal(rig->state.roster.members.at[0]->serial, 2);
    rig_free(rig);
}

static void only_supervisors_report_deaths(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 2);
    SAY(rig, W2, GONE, gone, Msg__Gone body = MSG__GONE__INIT; body.member = "w1");
    assert_int_equal(members_count(&rig->state.roster, MSG__KIND__KIND_WORKER), 2);
    hello(rig, L, MSG__KIND__KIND_CLI, "cli");
    SAY(rig, L, GONE, gone, Msg__Gone body = MSG__GONE__INIT; body.member = "w1");
    assert_int_equal(members_count(&rig->state.roster, MSG__KIND__KIND_WORKER), 1);
    assert_true(count(rig, L, BODY(RUN_EVENT), NULL) >= 1); /* the CLI hears of it */
    rig_free(rig);
}

static void every_answer_is_a_sign_of_life(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    int64_t limit = rig->config.timeout_ms, begin = rig->now;
    while (rig->now < begin + 8 * limit) { /* rounds so fast that no heartbeat is due */
        committed(rig, 0, "");
        SAY(rig, W1, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT);
        SAY(rig, C, PLAN_REPLY, plan_reply, Msg__PlanReply body = MSG__PLAN_REPLY__INIT);
        forget_sent(rig);
        tick(rig, limit / 4);
    }
    assert_int_equal(rig->state.roster.members.n, 3);
    assert_false(rig->state.finished);
    rig_free(rig);
}

static void say_hello(rig_t *rig, uint8_t from, Msg__Kind kind, const char *id,
                      const char *supervisor, uint32_t pid)
{
    SAY(rig, from, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT; body.kind = kind;
        body.id = (char *)id; body.target = "cpu:x"; body.supervisor = (char *)supervisor;
        body.pid = pid);
}

static void control(rig_t *rig, uint8_t from, Msg__Control__Verb verb, const char *member)
{
    SAY(rig, from, CONTROL, control, Msg__Control body = MSG__CONTROL__INIT; body.verb = verb;
        body.member = (char *)member);
}

static void operators_reach_supervisors(void **unused)
{
    (void)unused;
    enum { S1 = 10, S2 = 11 };
    static const struct {
        const char *member;
        uint32_t parts;
        int first, second; /* messages to S1, to S2 */
        const char *error;
    } rows[] = {
        {"", 2, 1, 1, ""},
        {"north", 1, 1, 0, ""},
        {"north-w0", 1, 1, 0, ""},
        {"south-w7", 1, 0, 1, ""}, /* away at present */
        {"alone", 0, 0, 0, "no supervisor has started"},
        {"nobody", 0, 0, 0, "no such worker"},
        {"northern-w1", 0, 0, 0, "no such worker"},
    };
    rig_t *rig = training(1, 1, 1);
    say_hello(rig, W3, MSG__KIND__KIND_WORKER, "north-w0", "north", 70);
    say_hello(rig, W2, MSG__KIND__KIND_WORKER, "alone", "", 71);
    say_hello(rig, S1, MSG__KIND__KIND_SUPERVISOR, "north", "", 72);
    say_hello(rig, S2, MSG__KIND__KIND_SUPERVISOR, "south", "", 73);
    hello(rig, L, MSG__KIND__KIND_CLI, "cli");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        forget_sent(rig);
        control(rig, L, MSG__CONTROL__VERB__DRAIN, rows[i].member);
        const Msg__ControlReply *reply = only(rig, L, BODY(CONTROL_REPLY))->control_reply;
        assert_int_equal(reply->parts, rows[i].parts);
        assert_non_null(strstr(reply->error, rows[i].error));
        assert_int_equal(!*reply->error, !*rows[i].error);
        assert_int_equal(count(rig, S1, BODY(CONTROL), NULL), rows[i].first);
        assert_int_equal(count(rig, S2, BODY(CONTROL), NULL), rows[i].second);
        if (rows[i].first)
            assert_string_equal(only(rig, S1, BODY(CONTROL))->control->client, "cli");
    }
    forget_sent(rig);
    control(rig, L, MSG__CONTROL__VERB__LIST, "");
    assert_int_equal(only(rig, L, BODY(CONTROL_REPLY))->control_reply->n_workers, 3);
    forget_sent(rig);
    control(rig, W2, MSG__CONTROL__VERB__DRAIN, "north-w0"); /* a worker has no say */
    assert_int_equal(count(rig, S1, BODY(CONTROL), NULL), 0);
    SAY(rig, S1, CONTROL_REPLY, control_reply, Msg__ControlReply body = MSG__CONTROL_REPLY__INIT;
        body.client = "cli");
    assert_int_equal(count(rig, L, BODY(CONTROL_REPLY), NULL), 1);
    SAY(rig, W2, CONTROL_REPLY, control_reply, Msg__ControlReply body = MSG__CONTROL_REPLY__INIT;
        body.client = "cli");
    assert_int_equal(count(rig, L, BODY(CONTROL_REPLY), NULL), 1);
    rig_free(rig);
}

static void news_of_a_death_may_come_late(void **unused)
{
    (void)unused;
    enum { S1 = 10 };
    rig_t *rig = training(1, 1, 1);
    say_hello(rig, W3, MSG__KIND__KIND_WORKER, "n-w0", "n", 70);
    say_hello(rig, S1, MSG__KIND__KIND_SUPERVISOR, "n", "", 72);
    rig->ended[W3] = true;
    say_hello(rig, W2, MSG__KIND__KIND_WORKER, "n-w0", "n", 71); /* its successor is faster */
    SAY(rig, S1, GONE, gone, Msg__Gone body = MSG__GONE__INIT; body.member = "n-w0"; body.pid = 70);
    assert_int_equal(members_count(&rig->state.roster, MSG__KIND__KIND_WORKER), 2);
    SAY(rig, S1, GONE, gone, Msg__Gone body = MSG__GONE__INIT; body.member = "n-w0"; body.pid = 71);
    assert_int_equal(members_count(&rig->state.roster, MSG__KIND__KIND_WORKER), 1);
    rig_free(rig);
}

static void supervisors_events_are_told(void **unused)
{
    (void)unused;
    enum { S1 = 10 };
    rig_t *rig = training(1, 1, 1);
    say_hello(rig, S1, MSG__KIND__KIND_SUPERVISOR, "n", "", 72);
    hello(rig, L, MSG__KIND__KIND_CLI, "cli");
    forget_sent(rig);
    Msg__WorkerState worker = MSG__WORKER_STATE__INIT;
    worker.id = "n-w0";
    worker.state = "failed";
    for (uint8_t from = W1; from <= S1; from += S1 - W1) /* a worker's word does not count */
        SAY(rig, from, RUN_EVENT, run_event, Msg__Event body = MSG__EVENT__INIT;
            body.body_case = MSG__EVENT__BODY_WORKER; body.worker = &worker);
    assert_string_equal(only(rig, L, BODY(RUN_EVENT))->run_event->worker->state, "failed");
    Msg__RunDone done = MSG__RUN_DONE__INIT; /* nor a supervisor's about the run */
    SAY(rig, S1, RUN_EVENT, run_event, Msg__Event body = MSG__EVENT__INIT;
        body.body_case = MSG__EVENT__BODY_RUN_DONE; body.run_done = &done);
    assert_int_equal(count(rig, L, BODY(RUN_EVENT), NULL), 1);
    rig_free(rig);
}

/* Before training: what ends the run, and what is tried again. */
static void compile_errors(void **unused)
{
    (void)unused;
    rig_t *rig = compiling(1);
    plan_reply(rig, "m.mlir:1:1: no", true);
    assert_true(rig->state.finished);
    assert_int_equal(rig->state.exit_status, 1);
    only(rig, W1, BODY(BYE));
    rig_free(rig);

    rig = compiling(1);
    for (int i = 1; i <= 3; i++) { /* a compiler without memory, say: three times and out */
        assert_false(rig->state.finished);
        assert_int_equal(count(rig, C, BODY(COMPILE), NULL), i);
        plan_reply(rig, "out of memory", false);
        if (!rig->state.finished) ask(rig, C);
    }
    assert_true(rig->state.finished);
    rig_free(rig);

    rig = compiling(1);
    SAY(rig, C, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    hello(rig, W2, MSG__KIND__KIND_COMPILER, "c1");
    ask(rig, W2);
    only(rig, W2, BODY(COMPILE));
    plan_reply(rig, "", false); /* from C, which is not asked any more */
    assert_int_equal(rig->state.phase, PHASE_COMPILE);
    rig_free(rig);
}

static void losses_that_end_the_run(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    SAY(rig, A, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    assert_false(rig->state.finished); /* it may come back */
    rig->state.shards.lost_ms -= 60000;
    tick(rig, 1);
    assert_true(rig->state.finished);
    assert_int_equal(rig->state.exit_status, 1);
    rig_free(rig);

    rig = training(1, 1, 1);
    ask(rig, W1);
    lease_done(rig, W1, only(rig, W1, BODY(LEASE))->lease, 1);
    committed(rig, 0, "replica 0 is not complete here");
    assert_true(rig->state.finished);
    rig_free(rig);

    rig = rig_new(1, 1);
    hello(rig, A, MSG__KIND__KIND_AGGREGATOR, "a0");
    tick(rig, 10);
    courier_result_t failed = courier(rig, COURIER_PUBLISH);
    err_set(&failed.err, ERR_IO, "t.u16: no such file");
    shepherd_on_courier(&rig->state, &failed);
    assert_true(rig->state.finished);
    rig_free(rig);
}

static void replicas_move_only_where_it_helps(void **unused)
{
    (void)unused;
    rig_t *rig = training(4, 10, 2);
    do_round(rig, 0, W2);
    uint32_t home[4];
    for (int k = 0; k < 4; k++) home[k] = rig->state.round.lease[k].home;
    assert_int_equal(home[0], home[2]); /* two each */
    hello(rig, W3, MSG__KIND__KIND_WORKER, "w3");
    do_round(rig, 1, W3); /* 2, 2, 0 cannot be done faster by moving one: nothing moves */
    for (int k = 0; k < 4; k++) assert_int_equal(rig->state.round.lease[k].home, home[k]);
    hello(rig, W4, MSG__KIND__KIND_WORKER, "w4");
    do_round(rig, 2, W4); /* with four, each has one; two replicas stay where they are */
    int stayed = 0;
    for (int k = 0; k < 4; k++) {
        stayed += rig->state.round.lease[k].home == home[k];
        for (int j = 0; j < k; j++)
            assert_int_not_equal(rig->state.round.lease[k].home, rig->state.round.lease[j].home);
    }
    assert_int_equal(stayed, 2);
    rig_free(rig);
}

static void patience_with_missing_workers_ends(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 1);
    rig->config.workers = 2;
    reach_training(rig, 1);
    ask(rig, W1);
    assert_int_equal(count(rig, W1, BODY(LEASE), NULL), 0);
    for (int64_t ms = 0; ms < rig->config.workers_wait_s * 1000; ms += 1000) {
        assert_int_equal(count(rig, W1, BODY(LEASE), NULL), 0);
        tick(rig, 1000);
        beat(rig, A, 0);
        beat(rig, C, 0);
        beat(rig, W1, 1);
    }
    only(rig, W1, BODY(LEASE));
    rig_free(rig);
}

static void signals(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 5, 1);
    shepherd_on_signal(&rig->state); /* nothing to save yet */
    assert_true(rig->state.finished);
    assert_int_equal(rig->state.exit_status, 3);
    rig_free(rig);

    rig = training(1, 5, 1);
    do_round(rig, 0, W1);
    shepherd_on_signal(&rig->state);
    assert_int_equal(rig->job->round, 1);
    courier_result_t saved = courier(rig, COURIER_SAVE);
    shepherd_on_courier(&rig->state, &saved);
    assert_int_equal(rig->state.exit_status, 3);
    rig_free(rig);
}

/* What is being written already of that round is not written again; unless it cannot be. Who trains is told to
 * stop. */
static void a_signal_while_a_checkpoint_is_written(void **unused)
{
    (void)unused;
    for (int fails = 0; fails < 2; fails++) {
        rig_t *rig = training(1, 5, 1);
        rig->config.checkpoint_every = 1;
        do_round(rig, 0, W1);
        courier_result_t made = courier(rig, COURIER_CHECKPOINT);
        made.round = 1;
        made.checkpoint = "run/checkpoint/round-000001";
        ask(rig, W1);
        forget_sent(rig);
        shepherd_on_signal(&rig->state);
        only(rig, W1, BODY(REVOKE));
        assert_null(rig->job);
        if (fails) err_set(&made.err, ERR_IO, "no room");
        shepherd_on_courier(&rig->state, &made);
        assert_int_equal(rig->state.finished, !fails);
        if (fails) {
            courier_result_t saved = courier(rig, COURIER_SAVE);
            saved.checkpoint = made.checkpoint;
            shepherd_on_courier(&rig->state, &saved);
        }
        assert_true(rig->state.finished);
        assert_int_equal(rig->state.exit_status, 3);
        rig_free(rig);
    }
}

/* What an operator asks for comes with the next round whose result can be held: not with one whose commit is out already,
 * nor with one at whose end another checkpoint is still being written. And it comes once. */
static void a_checkpoint_asked_for_while_a_round_ends(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 9, 1);
    rig->config.checkpoint_every = 0;
    ask(rig, W1);
    const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease;
    lease_done(rig, W1, lease, 1);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    checkpoint_ask(&rig->state);
    forget_sent(rig);
    committed(rig, 0, "");
    assert_null(rig->job);
    do_round(rig, 1, W1);
    assert_int_equal(rig->job->kind, COURIER_CHECKPOINT);
    assert_int_equal(rig->job->round, 2);
    checkpoint_ask(&rig->state);
    do_round(rig, 2, W1);
    /* The courier has it no more, and we have not heard of it. */
    courier_result_t made = courier(rig, COURIER_CHECKPOINT);
    do_round(rig, 3, W1);
    made.round = 2;
    made.checkpoint = "run/checkpoint/round-000002";
    shepherd_on_courier(&rig->state, &made);
    assert_null(rig->job);
    do_round(rig, 4, W1);
    assert_int_equal(rig->job->round, 5);
    made = courier(rig, COURIER_CHECKPOINT);
    made.round = 5;
    made.checkpoint = "run/checkpoint/round-000005";
    shepherd_on_courier(&rig->state, &made);
    do_round(rig, 5, W1);
    assert_null(rig->job);
    rig_free(rig);
}

int main(void)
{
    log_init("shepherd_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_from_hello_to_bye),
        cmocka_unit_test(a_validation_reads_a_sample),
        cmocka_unit_test(a_lost_workers_lease_goes_to_the_spare),
        cmocka_unit_test(silence_and_sleep),
        cmocka_unit_test(who_leaves_takes_nobody_along),
        cmocka_unit_test(a_lost_lease_message_heals),
        cmocka_unit_test(bad_hellos_are_refused),
        cmocka_unit_test(only_supervisors_report_deaths),
        cmocka_unit_test(every_answer_is_a_sign_of_life),
        cmocka_unit_test(operators_reach_supervisors),
        cmocka_unit_test(news_of_a_death_may_come_late),
        cmocka_unit_test(supervisors_events_are_told),
        cmocka_unit_test(compile_errors),
        cmocka_unit_test(losses_that_end_the_run),
        cmocka_unit_test(replicas_move_only_where_it_helps),
        cmocka_unit_test(patience_with_missing_workers_ends),
        cmocka_unit_test(signals),
        cmocka_unit_test(a_signal_while_a_checkpoint_is_written),
        cmocka_unit_test(a_checkpoint_asked_for_while_a_round_ends),
    };
    return cmocka_run_group_tests_name("shepherd", tests, NULL, NULL);
}
