/* A run fails for its own reasons only: what one worker does or does not do costs it that worker.
 */
#include "shepherd_rig.h"

/* Answers to heartbeats are many, and nobody looks at them. */
static void forget_beats(rig_t *rig)
{
    size_t n = 0;
    for (size_t i = 0; i < rig->n_sent; i++)
        if (rig->sent[i].message->body_case == BODY(HEARTBEAT))
            msg_free(&rig->sent[i].message);
        else
            rig->sent[n++] = rig->sent[i];
    rig->n_sent = n;
}

/* Time passes; everybody whose peer is named in `alive` gives a sign of life, and asks for work
 * when `asks`. */
static void pass(rig_t *rig, int64_t ms, const char *alive, bool asks)
{
    for (int64_t end = rig->now + ms; rig->now < end && !rig->state.finished;) {
        tick(rig, end - rig->now < 100 ? end - rig->now : 100);
        for (const char *at = alive; *at && !rig->state.finished; at++) {
            bool works = asks && *at >= W1 && *at <= W4;
            beat(rig, (uint8_t)*at, 0);
            if (works && !rig->state.finished) ask(rig, (uint8_t)*at);
        }
        forget_beats(rig);
    }
}

#define ALIVE(...) ((const char[]){A, C, __VA_ARGS__, 0})

static const Msg__Lease *last_lease(const rig_t *rig, uint8_t to)
{
    const msg_envelope_t *last = NULL;
    return count(rig, to, BODY(LEASE), &last) ? last->lease : NULL;
}

static void fails(rig_t *rig, uint8_t from, const Msg__Lease *lease, bool fatal)
{
    SAY(rig, from, LEASE_FAILED, lease_failed, Msg__LeaseFailed body = MSG__LEASE_FAILED__INIT;
        body.round = lease->round; body.replica = lease->replica; body.fence = lease->fence;
        body.fatal = fatal; body.error = "the shapes are wrong");
}

static void one_workers_fatal_is_its_own_affair(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 2);
    ask(rig, W1);
    ask(rig, W2);
    uint8_t liar = last_lease(rig, W1) ? W1 : W2, honest = (uint8_t)(W1 + W2 - liar);
    fails(rig, liar, last_lease(rig, liar), true);
    const Msg__Fault *fault = only(rig, liar, BODY(FAULT))->fault;
    assert_int_equal(fault->code, MSG__FAULT__CODE__REFUSED);
    assert_non_null(strstr(fault->text, "the shapes are wrong"));
    pass(rig, 20000, ALIVE(W1, W2), true);
    assert_int_equal(count(rig, liar, BODY(LEASE), NULL), 1);
    assert_false(rig->state.finished);
    lease_done(rig, honest, last_lease(rig, honest), 1);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    rig_free(rig);
}

static void what_all_call_wrong_is_wrong(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 2);
    hello(rig, L, MSG__KIND__KIND_CLI, "cli");
    for (int i = 0; i < 2; i++) {
        ask(rig, W1);
        ask(rig, W2);
        uint8_t holder = rig->state.round.lease[0].holder ==
                                 member_by_id(&rig->state.roster, "w1")->serial
                             ? W1
                             : W2;
        fails(rig, holder, last_lease(rig, holder), true);
    }
    pass(rig, rig->config.timeout_ms - 500, ALIVE(W1, W2, L), true);
    assert_false(rig->state.finished); /* another may come */
    pass(rig, 1000, ALIVE(W1, W2, L), true);
    assert_int_equal(rig->state.exit_status, 1);
    const msg_envelope_t *last = NULL;
    assert_true(count(rig, L, BODY(RUN_EVENT), &last) > 0);
    assert_non_null(strstr(last->run_event->run_failed->reason, "the shapes are wrong"));
    rig_free(rig);
}

/* It calls leases done of which nothing arrives, as often as it gets one. */
static void nothing_sent_is_soon_nothing_given(void **unused)
{
    (void)unused;
    for (int others = 0; others < 2; others++) {
        rig_t *rig = training(1, 1, 1);
        int given = 0;
        for (int64_t end = rig->now + 10000; rig->now < end && !rig->state.finished;) {
            ask(rig, W1);
            const Msg__Lease *lease = last_lease(rig, W1);
            if (lease) {
                given++;
                SAY(rig, W1, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
                    body.round = lease->round; body.fence = lease->fence; body.steps = 3;
                    body.tokens = 60; body.mean_loss = 1);
                const Msg__Inspect asked = *only(rig, A, BODY(INSPECT))->inspect;
                SAY(rig, A, INSPECTED, inspected, Msg__Inspected body = MSG__INSPECTED__INIT;
                    body.round = asked.round; body.replica = asked.replica;
                    body.fence = asked.fence);
            }
            if (others && given == 3 && !member_by_id(&rig->state.roster, "w2"))
                hello(rig, W2, MSG__KIND__KIND_WORKER, "w2");
            if (others && given >= 3) ask(rig, W2);
            if (last_lease(rig, W2)) break;
            forget_sent(rig);
            pass(rig, 10, ALIVE(W1, W2), false);
        }
        assert_int_equal(given, others ? 4 : 5);
        if (others) lease_done(rig, W2, last_lease(rig, W2), 1);
        assert_int_equal(rig->state.phase, others ? PHASE_COMMIT : PHASE_DONE);
        rig_free(rig);
    }
}

/* What may pass is tried again and again, with pauses that grow; the log says why nothing moves. */
static void trouble_that_may_pass_stops_no_run(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    keep_records(rig);
    all_written(rig);
    int given = 0;
    for (int64_t end = rig->now + 300000; rig->now < end;) {
        ask(rig, W1);
        const Msg__Lease *lease = last_lease(rig, W1);
        if (lease) fails(rig, W1, lease, false);
        given += lease != NULL;
        forget_sent(rig);
        pass(rig, 100, ALIVE(W1), false);
        for (size_t i = 0; i < rig->records.n && given > 8; i++)
            if (rig->records.at[i]->kind == RECORD_WAITS)
                assert_non_null(strstr(rig->records.at[i]->text, "w1 rests: the shapes are wrong"));
        all_written(rig);
        assert_false(rig->state.finished);
    }
    assert_true(given > 8 && given < 20);
    while (!last_lease(rig, W1)) pass(rig, 100, ALIVE(W1), true);
    all_written(rig);
    lease_done(rig, W1, last_lease(rig, W1), 1);
    all_written(rig);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    rig_free(rig);
}

/* A run whose round 0 is done: each worker has taken `ms` for three steps. */
static rig_t *measured(int64_t rounds, int n_worker, int64_t ms)
{
    rig_t *rig = rig_new(n_worker, rounds);
    rig->config.workers = n_worker;
    rig->config.validate_every = 1;
    rig->config.validate_tokens = 40; /* two parts */
    reach_training(rig, n_worker);
    char alive[8] = {A, C};
    for (int i = 0; i < n_worker; i++) alive[2 + i] = (char)(W1 + i);
    for (int i = 0; i < n_worker; i++) ask(rig, (uint8_t)(W1 + i));
    pass(rig, ms, alive, false);
    for (int i = 0; i < n_worker; i++)
        lease_done(rig, (uint8_t)(W1 + i), last_lease(rig, (uint8_t)(W1 + i)), 1);
    forget_sent(rig);
    committed(rig, 0, "");
    return rig;
}

static void a_validation_without_answer_is_given_again(void **unused)
{
    (void)unused;
    rig_t *rig = measured(3, 2, 3000);
    keep_records(rig);
    ask(rig, W1);
    ask(rig, W2);
    const Msg__Eval lost = *only(rig, W1, BODY(EVAL))->eval;
    const Msg__Eval *other = only(rig, W2, BODY(EVAL))->eval;
    SAY(rig, W2, EVAL_DONE, eval_done, Msg__EvalDone body = MSG__EVAL_DONE__INIT; body.round = 1;
        body.part = other->part; body.fence = other->fence; body.tokens = 40);
    bool named = false;
    forget_sent(rig);
    pass(rig, 59000, ALIVE(W1, W2), false);
    for (size_t i = 0; i < rig->records.n; i++)
        named |= rig->records.at[i]->kind == RECORD_WAITS &&
                 strstr(rig->records.at[i]->text, "the validation of round 1: part 0 on w1, for");
    assert_true(named);
    ask(rig, W2); /* W1 lives, and says nothing of its part */
    all_written(rig);
    lease_done(rig, W2, last_lease(rig, W2), 1);
    ask(rig, W2); /* free again */
    assert_int_equal(count(rig, W2, BODY(EVAL), NULL), 0);
    pass(rig, 2000, ALIVE(W1, W2), false);
    const Msg__Eval *again = only(rig, W2, BODY(EVAL))->eval;
    assert_true(again->part == lost.part && again->fence == lost.fence + 1);
    SAY(rig, W1, EVAL_DONE, eval_done, Msg__EvalDone body = MSG__EVAL_DONE__INIT; body.round = 1;
        body.part = lost.part; body.fence = lost.fence; body.tokens = 40);
    assert_int_equal(rig->state.round.eval.at[lost.part].state, WORK_ISSUED); /* too late */
    rig_free(rig);
}

/* Leases of three steps took 20 s: after eight times that, if somebody is free to take it. */
static void a_lease_without_end_is_given_again(void **unused)
{
    (void)unused;
    rig_t *rig = measured(3, 2, 20000);
    for (uint8_t w = W1; w <= W2; w++) {
        ask(rig, w);
        const Msg__Eval *eval = only(rig, w, BODY(EVAL))->eval;
        SAY(rig, w, EVAL_DONE, eval_done, Msg__EvalDone body = MSG__EVAL_DONE__INIT; body.round = 1;
            body.part = eval->part; body.fence = eval->fence; body.tokens = 40);
    }
    ask(rig, W1);
    ask(rig, W2);
    const Msg__Lease lost = *only(rig, W1, BODY(LEASE))->lease;
    pass(rig, 20000, ALIVE(W1, W2), false);
    lease_done(rig, W2, only(rig, W2, BODY(LEASE))->lease, 1);
    forget_sent(rig);
    pass(rig, 139000, ALIVE(W1, W2), false);
    ask(rig, W2);
    assert_int_equal(count(rig, W2, BODY(LEASE), NULL), 0);
    pass(rig, 3000, ALIVE(W1, W2), false);
    const Msg__Lease *again = only(rig, W2, BODY(LEASE))->lease;
    assert_true(again->replica == lost.replica && again->fence > lost.fence);
    only(rig, W1, BODY(REVOKE));
    /* W2 gets twice the time: this lease was broken off before. */
    forget_sent(rig);
    ask(rig, W1);
    pass(rig, 310000, ALIVE(W1, W2), false);
    assert_int_equal(count(rig, W2, BODY(REVOKE), NULL), 0);
    pass(rig, 20000, ALIVE(W1, W2), false);
    only(rig, W2, BODY(REVOKE));
    rig_free(rig);
}

/* One who asks for nothing holds up nobody who does, and has no place until it asks. */
static void a_home_that_asks_for_nothing_is_lost(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 2, 2);
    ask(rig, W2); /* the replica is W1's */
    pass(rig, 50000, ALIVE(W1, W2), false);
    assert_int_equal(count(rig, W2, BODY(LEASE), NULL), 0);
    pass(rig, 20000, ALIVE(W1, W2), false);
    only(rig, W2, BODY(LEASE));
    assert_true(member_by_id(&rig->state.roster, "w1")->mute);
    ask(rig, W1);
    assert_false(member_by_id(&rig->state.roster, "w1")->mute);
    rig_free(rig);
}

/* A spare that rests after failures would only make the lease wait. */
static void a_lease_goes_to_no_spare_that_rests(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 2, 3);
    const work_t *lease = &rig->state.round.lease[0];
    uint32_t lost = member_by_id(&rig->state.roster, "w1")->serial;
    member_row_t *first = member_by_id(&rig->state.roster, "w2");
    assert_int_equal(work_spare(&rig->state, lease, lost), first->serial);
    first->blame.rest_ms = rig->now + 1000;
    assert_int_equal(work_spare(&rig->state, lease, lost),
                     member_by_id(&rig->state.roster, "w3")->serial);
    rig_free(rig);
}

static void slow_work_is_left_alone_where_nobody_else_is_free(void **unused)
{
    (void)unused;
    rig_t *rig = measured(3, 1, 1000);
    ask(rig, W1);
    only(rig, W1, BODY(EVAL));
    pass(rig, 7200000, ALIVE(W1), false);
    assert_int_equal(rig->state.round.eval.at[0].fence, 1);
    assert_false(rig->state.finished);
    rig_free(rig);
}

/* It says that it is idle while it holds work, for ever. */
static void who_forgets_its_work_does_not_keep_it(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 2);
    ask(rig, W1);
    ask(rig, W2);
    uint8_t liar = last_lease(rig, W1) ? W1 : W2, honest = (uint8_t)(W1 + W2 - liar);
    for (int i = 0; i < 200 && !last_lease(rig, honest); i++) {
        tick(rig, 100);
        beat(rig, A, 0);
        beat(rig, C, 0);
        beat(rig, liar, 1);
        beat(rig, honest, 1);
    }
    assert_non_null(last_lease(rig, honest));
    rig_free(rig);
}

static void of_target(rig_t *rig, uint8_t from, const char *id, const char *target)
{
    SAY(rig, from, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_WORKER; body.id = (char *)id; body.target = (char *)target;
        body.incarnation = 1);
}

static void an_unknown_target_is_its_workers_affair(void **unused)
{
    (void)unused;
    for (int first = 0; first < 2; first++) { /* it is the first of the run, or comes later */
        rig_t *rig = first ? compiling(1) : training(1, 1, 1);
        if (first) {
            plan_reply(rig, "", false);
            forget_sent(rig);
        }
        of_target(rig, W2, "w2", "cpu:abacus");
        ask(rig, C);
        assert_string_equal(only(rig, C, BODY(COMPILE))->compile->target, "cpu:abacus");
        SAY(rig, C, PLAN_REPLY, plan_reply, Msg__PlanReply body = MSG__PLAN_REPLY__INIT;
            body.job = "cpu:abacus"; body.error = "no such target"; body.target_at_fault = true);
        const Msg__Fault *fault = only(rig, W2, BODY(FAULT))->fault;
        assert_int_equal(fault->code, MSG__FAULT__CODE__REFUSED);
        assert_non_null(strstr(fault->text, "cpu:abacus: no such target"));
        assert_null(member_by_id(&rig->state.roster, "w2"));
        forget_sent(rig);
        of_target(rig, W2, "w2", "cpu:abacus");
        assert_int_equal(only(rig, W2, BODY(FAULT))->fault->code, MSG__FAULT__CODE__REFUSED);
        assert_false(rig->state.finished);
        assert_non_null(member_by_id(&rig->state.roster, "w1"));
        hello(rig, W4, MSG__KIND__KIND_COMPILER, "c1"); /* this one may know it */
        of_target(rig, W2, "w2", "cpu:abacus");
        assert_non_null(member_by_id(&rig->state.roster, "w2"));
        rig_free(rig);
    }
}

static void a_new_process_gets_another_chance(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    ask(rig, W1);
    fails(rig, W1, last_lease(rig, W1), true);
    forget_sent(rig);
    hello(rig, W2, MSG__KIND__KIND_WORKER, "w1"); /* the same one, over a new connection */
    ask(rig, W2);
    assert_null(last_lease(rig, W2));
    rig->ended[W2] = true;
    SAY(rig, W3, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_WORKER; body.id = "w1"; body.target = "cpu:x";
        body.incarnation = 2);
    ask(rig, W3);
    assert_non_null(last_lease(rig, W3));
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_workers_fatal_is_its_own_affair),
        cmocka_unit_test(what_all_call_wrong_is_wrong),
        cmocka_unit_test(nothing_sent_is_soon_nothing_given),
        cmocka_unit_test(trouble_that_may_pass_stops_no_run),
        cmocka_unit_test(a_validation_without_answer_is_given_again),
        cmocka_unit_test(a_lease_without_end_is_given_again),
        cmocka_unit_test(a_home_that_asks_for_nothing_is_lost),
        cmocka_unit_test(a_lease_goes_to_no_spare_that_rests),
        cmocka_unit_test(slow_work_is_left_alone_where_nobody_else_is_free),
        cmocka_unit_test(who_forgets_its_work_does_not_keep_it),
        cmocka_unit_test(an_unknown_target_is_its_workers_affair),
        cmocka_unit_test(a_new_process_gets_another_chance),
    };
    return cmocka_run_group_tests_name("shepherd, blame", tests, NULL, NULL);
}
