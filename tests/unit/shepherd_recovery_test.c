/* What the shepherd writes before it acts, what a successor goes on with, and how rounds close
 * early. */
#include <math.h>

#include "shepherd_rig.h"

#include "base/log.h"

/* --- The order of truth --- */

static void nothing_is_done_before_it_is_written(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 2);
    keep_records(rig);
    reach_training(rig, 1);
    written(rig, RECORD_OBJECTS);
    written(rig, RECORD_DATA);
    ask(rig, W1);
    assert_int_equal(count(rig, W1, BODY(LEASE), NULL), 0); /* its range is not written */
    written(rig, RECORD_OPEN);
    const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease; /* RECORD_ISSUE may follow */
    lease_done(rig, W1, lease, 1);
    written(rig, RECORD_ISSUE);
    assert_int_equal(count(rig, W1, BODY(LEASE_ACK), NULL), 0);
    assert_int_equal(count(rig, A, BODY(COMMIT), NULL), 0);
    lease_done(rig, W1, lease, 1); /* said again meanwhile: not acknowledged either */
    assert_int_equal(count(rig, W1, BODY(LEASE_ACK), NULL), 0);
    written(rig, RECORD_DONE);
    assert_int_equal(only(rig, W1, BODY(LEASE_ACK))->lease_ack->fence, 1);
    assert_int_equal(count(rig, A, BODY(COMMIT), NULL), 0);
    assert_int_equal(rig->records.at[0]->entries[0].done_windows, 6);
    written(rig, RECORD_DECIDE);
    assert_int_equal(only(rig, A, BODY(COMMIT))->commit->n_shares, 1);
    lease_done(rig, W1, lease, 1); /* its ACK was lost */
    assert_int_equal(count(rig, W1, BODY(LEASE_ACK), NULL), 2);
    committed(rig, 0, "");
    forget_sent(rig);
    ask(rig, W1);
    assert_int_equal(rig->records.at[0]->commit.tokens, 60);
    written(rig, RECORD_COMMIT);
    assert_int_equal(count(rig, W1, BODY(LEASE), NULL), 0);
    assert_int_equal(rig->records.at[0]->leases[0].range.start, 6);
    written(rig, RECORD_OPEN);
    assert_int_equal(only(rig, W1, BODY(LEASE))->lease->round, 1);
    rig_free(rig);
}

static void the_end_is_written_too(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    keep_records(rig);
    shepherd_fail(&rig->state, "no luck");
    only(rig, W1, BODY(BYE));
    assert_false(rig->state.finished);
    assert_string_equal(rig->records.at[0]->text, "failed");
    assert_string_equal(rig->records.at[0]->detail, "no luck");
    tick(rig, 5000);
    assert_false(rig->state.finished);
    tick(rig, 5000); /* the store does not answer: not for ever */
    assert_true(rig->state.finished);
    rig_free(rig);

    rig = training(1, 1, 1);
    recorder_result_t result = {.event = RECORDER_FAILED, .err = {.code = ERR_FENCE}};
    forget_sent(rig);
    shepherd_on_recorder(&rig->state, &result);
    assert_true(rig->state.finished);
    assert_int_equal(rig->state.exit_status, SHEPHERD_EXIT_DEPOSED);
    assert_int_equal(rig->n_sent, 0); /* the members are another's */
    rig_free(rig);
}

/* --- Another's run --- */

enum { TERM = 3, BASE = 2 * 4096 };

static void claim(rig_t *rig, uint32_t round)
{
    Msg__ShardState shard = MSG__SHARD_STATE__INIT;
    shard.run_hash = rig->state.run_hash;
    shard.shards = 1;
    shard.round = round;
    SAY(rig, A, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_AGGREGATOR; body.id = "a0"; body.endpoint = "ipc://data";
        body.shard = &shard);
}

static void say_holding(rig_t *rig, uint8_t from, const char *id, uint32_t round, uint32_t replica,
                        uint32_t fence)
{
    Msg__Holding holding = MSG__HOLDING__INIT;
    holding.run_hash = rig->state.run_hash;
    holding.round = round;
    holding.replica = replica;
    holding.fence = fence;
    SAY(rig, from, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_WORKER; body.id = (char *)id; body.target = "cpu:x";
        body.holding = fence ? &holding : NULL);
}

/* What the store knows: round 4 with four leases: done by w1, issued to w2 and w3, open. */
static recorder_result_t known(const char *state)
{
    recorder_result_t result = {.event = RECORDER_LEADS, .leader = {.fence = TERM}};
    store_resume_t *r = &result.resume;
    snprintf(result.run.state, sizeof result.run.state, "running");
    r->has_objects = r->has_round = true;
    r->objects = (store_objects_t){.train_tokens = 401, .validation_tokens = 81};
    memset(r->objects.module_hash, 'a', HASH_HEX - 1);
    r->tokens = 960;
    r->loss = 1;
    r->validation_loss = 2;
    r->round = (store_round_t){.round = 4, .cursor = {.epoch = 3}};
    snprintf(r->round.state, sizeof r->round.state, "%s", state);
    static const struct {
        const char *state, *worker;
        int64_t decided;
    } rows[4] = {{"done", "w1", 6}, {"issued", "w2", -1}, {"issued", "w3", -1}, {"open", "", -1}};
    r->leases = (store_leases_t){.n = 4, .at = mem_calloc(4, sizeof *r->leases.at)};
    for (uint32_t k = 0; k < 4; k++) {
        store_lease_t *l = &r->leases.at[k];
        *l = (store_lease_t){.replica = k,
                             .fence = k < 3 ? 1 : 0,
                             .range = {.epoch = 2, .start = 16 + 6 * k, .count = 6},
                             .done_windows = k == 0 ? 6 : 0,
                             .decided_windows = strcmp(state, "open") == 0 ? -1 : rows[k].decided,
                             .loss = 1,
                             .tokens = 60};
        snprintf(l->state, sizeof l->state, "%s", rows[k].state);
        snprintf(l->worker, sizeof l->worker, "%s", rows[k].worker);
        memset(l->state_in, '0' + (char)k, HASH_HEX - 1);
    }
    return result;
}

static rig_t *successor_of(recorder_result_t result)
{
    rig_t *rig = rig_new(4, 9);
    rig->state.phase = PHASE_STANDBY;
    hello(rig, W1, MSG__KIND__KIND_WORKER, "w1");
    assert_int_equal(only(rig, W1, BODY(FAULT))->fault->code, MSG__FAULT__CODE__NOT_LEADER);
    forget_sent(rig);
    shepherd_on_recorder(&rig->state, &result);
    store_resume_fini(&result.resume);
    assert_int_equal(rig->state.phase, PHASE_GATHER);
    return rig;
}

static rig_t *successor(const char *state)
{
    return successor_of(known(state));
}

/* The shard and the compiler are there: ASSIGN says keep, nothing is published. */
static void take_over(rig_t *rig, uint32_t shard_round)
{
    hello(rig, C, MSG__KIND__KIND_COMPILER, "c0");
    claim(rig, shard_round);
    tick(rig, 10);
    assert_null(rig->job);
    ask(rig, C);
    plan_reply(rig, "", false);
    const Msg__Assign *assign = only(rig, A, BODY(ASSIGN))->assign;
    assert_true(assign->keep && assign->round == shard_round);
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    assert_null(rig->job);
}

static void leases_outlive_their_shepherd(void **unused)
{
    (void)unused;
    rig_t *rig = successor("open");
    const work_t *lease = rig->state.round.lease;
    static const uint32_t claims[] = {1, UINT32_MAX}; /* another's, by the store; nobody's */
    for (int i = 0; i < 2; i++) {
        say_holding(rig, W4, "w4", 4, 1, claims[i]);
        assert_int_equal(only(rig, W4, BODY(REVOKE))->revoke->fence, claims[i]);
        assert_true(lease[1].fence == 1 && lease[1].holder == 0);
        SAY(rig, W4, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
        forget_sent(rig);
    }
    say_holding(rig, W1, "w2", 4, 1, 1); /* back on another connection */
    assert_true(lease[1].state == WORK_ISSUED &&
                lease[1].home == member_by_id(&rig->state.roster, "w2")->serial);
    say_holding(rig, W2, "w9", 4, 3, 7); /* given, but that was not written in time */
    assert_true(lease[3].state == WORK_ISSUED && lease[3].fence == 7);
    assert_int_equal(count(rig, 0, BODY(REVOKE), NULL), 0);
    say_holding(rig, W3, "w3", 3, 2, 1); /* of an old round */
    assert_int_equal(only(rig, W3, BODY(REVOKE))->revoke->round, 3);
    assert_true(lease[2].state == WORK_OPEN && lease[2].fence > BASE); /* it has not got it */
    take_over(rig, 4);
    ask(rig, W3);
    const Msg__Lease *again = only(rig, W3, BODY(LEASE))->lease;
    assert_true(again->replica == 2 && again->fence > BASE && again->epoch == 2 &&
                again->start == 28 && again->count == 6 && again->state[0] == '2');
    lease_done(rig, W3, again, 1);
    Msg__Lease held = MSG__LEASE__INIT;
    held.round = 4, held.replica = 1, held.fence = 1, held.inner_steps = 3;
    lease_done(rig, W1, &held, 1);
    held.replica = 3, held.fence = 7;
    lease_done(rig, W2, &held, 1);
    const Msg__Commit *commit = only(rig, A, BODY(COMMIT))->commit;
    assert_int_equal(commit->n_shares, 4);
    assert_true(commit->shares[0]->fence == 1 && commit->shares[3]->fence == 7);
    rig_free(rig);
}

static void who_does_not_come_back_loses_its_lease(void **unused)
{
    (void)unused;
    rig_t *rig = successor("open");
    hello(rig, W1, MSG__KIND__KIND_WORKER, "w1");
    take_over(rig, 4);
    ask(rig, W1);
    assert_int_equal(only(rig, W1, BODY(LEASE))->lease->replica, 3); /* the only one that is free */
    rig->state.recovery.adopt_until_ms = rig->now;
    tick(rig, 10);
    assert_int_equal(rig->state.round.lease[1].state, WORK_OPEN);
    assert_int_equal(rig->state.round.lease[2].state, WORK_OPEN);
    say_holding(rig, W2, "w2", 4, 1, 1); /* too late */
    assert_int_equal(only(rig, W2, BODY(REVOKE))->revoke->replica, 1);
    rig_free(rig);
}

static void a_decision_is_repeated(void **unused)
{
    (void)unused;
    for (uint32_t applied = 0; applied < 2; applied++) {
        rig_t *rig = successor("decided");
        hello(rig, W1, MSG__KIND__KIND_WORKER, "w1");
        take_over(rig, 4 + applied);
        const Msg__Commit *commit = only(rig, A, BODY(COMMIT))->commit;
        assert_true(commit->round == 4 && commit->n_shares == 1 && commit->shares[0]->fence == 1);
        committed(rig, 4, "");
        assert_int_equal(rig->state.round.number, 5);
        ask(rig, W1);
        assert_int_equal(only(rig, W1, BODY(LEASE))->lease->round, 5);
        /* What was dropped is leased again first: 18 windows, 6 to each. */
        assert_int_equal(rig->state.round.lease[0].range.start, 22);
        assert_int_equal(rig->state.round.lease[2].range.start, 34);
        assert_int_equal(rig->state.round.lease[3].range.epoch, 3);
        rig_free(rig);
    }
}

/* The leader died between the decision, or the commit, and the opening of the round that counts the
 * lease of w2; or after that. */
static void a_late_lease_outlives_its_shepherd(void **unused)
{
    (void)unused;
    static const char *const states[] = {"decided", "committed", "open"};
    for (int i = 0; i < 3; i++) {
        recorder_result_t result = known(states[i]);
        store_lease_t *lease = &result.resume.leases.at[1];
        lease->late = i < 2;
        lease->lag = i == 2;
        snprintf(lease->state, sizeof lease->state, "%s", i == 1 ? "dropped" : "issued");
        if (i == 1) {
            result.resume.returned.at = mem_calloc(1, sizeof *result.resume.returned.at);
            result.resume.returned.at[result.resume.returned.n++] = lease->range;
        }
        rig_t *rig = successor_of(result);
        uint32_t round = i == 2 ? 4 : 5;
        say_holding(rig, W2, "w2", round - 1, 1, 1);
        assert_int_equal(count(rig, W2, BODY(REVOKE), NULL), 0);
        take_over(rig, i == 0 ? 4 : round);
        if (i == 0) assert_int_equal(only(rig, A, BODY(COMMIT))->commit->n_shares, 1);
        if (i == 0) committed(rig, 4, "");
        const Msg__Lease *next = only(rig, W2, BODY(LEASE))->lease;
        assert_true(next->round == round && next->lag == 1 && next->replica == 1);
        assert_true(next->start == 22 && next->count == 6 && next->fence > BASE);
        assert_int_equal(next->step_base, (round - 1) * 3);
        assert_true(next->state[0] == '1');
        rig_free(rig);
    }
}

static void what_a_shard_lost_is_given_again(void **unused)
{
    (void)unused;
    rig_t *rig = training(2, 2, 2);
    for (uint8_t w = W1; w <= W2; w++) {
        ask(rig, w);
        lease_done(rig, w, only(rig, w, BODY(LEASE))->lease, 1);
    }
    forget_sent(rig);
    uint32_t missing = 1;
    SAY(rig, A, COMMITTED, committed, Msg__Committed body = MSG__COMMITTED__INIT;
        body.error = "gone"; body.missing = &missing; body.n_missing = 1);
    ask(rig, W2);
    const Msg__Lease *again = only(rig, W2, BODY(LEASE))->lease;
    assert_true(again->replica == 1 && again->fence == 2);
    lease_done(rig, W2, again, 1);
    const Msg__Commit *commit = only(rig, A, BODY(COMMIT))->commit;
    assert_true(commit->n_shares == 2 && commit->shares[1]->fence == 2);
    rig_free(rig);
}

static void what_is_not_answered_is_said_again(void **unused)
{
    (void)unused;
    rig_t *rig = compiling(2);
    const msg_envelope_t *last = NULL;
    for (int i = 0; i < 31; i++) {
        tick(rig, 100);
        for (uint8_t peer = A; peer <= W1; peer++) beat(rig, peer, 0);
        only(rig, C, BODY(COMPILE)); /* it may be at it */
    }
    beat(rig, C, 1);
    assert_int_equal(count(rig, C, BODY(COMPILE), NULL), 2);
    assert_int_equal(rig->state.plans.rows.at[0].attempts, 1);
    plan_reply(rig, "", false);
    uint64_t attempt = only(rig, A, BODY(ASSIGN))->assign->attempt;
    assert_true(attempt != 0);
    tick(rig, MSG_RESEND_MS);
    assert_int_equal(count(rig, A, BODY(ASSIGN), &last), 2);
    assert_true(last->assign->attempt == attempt);
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    courier_result_t ready = courier(rig, COURIER_INIT);
    shepherd_on_courier(&rig->state, &ready);
    ask(rig, W1);
    lease_done(rig, W1, only(rig, W1, BODY(LEASE))->lease, 1);
    only(rig, A, BODY(COMMIT));
    tick(rig, MSG_RESEND_MS - 1);
    only(rig, A, BODY(COMMIT));
    tick(rig, 1);
    assert_int_equal(count(rig, A, BODY(COMMIT), &last), 2);
    assert_true(last->commit->round == 0 && last->commit->n_shares == 1);
    committed(rig, 0, "");
    assert_int_equal(rig->state.round.number, 1);
    tick(rig, MSG_RESEND_MS);
    assert_int_equal(count(rig, A, BODY(COMMIT), NULL), 2);
    assert_int_equal(count(rig, A, BODY(ASSIGN), NULL), 2);
    rig_free(rig);
}

static void late_answers_to_older_commits_mean_nothing(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 3, 1);
    do_round(rig, 0, W1);
    ask(rig, W1);
    lease_done(rig, W1, only(rig, W1, BODY(LEASE))->lease, 1);
    committed(rig, 0, "round 0 is not open here"); /* a COMMIT of it was on its way for long */
    committed(rig, 0, "");
    assert_false(rig->state.finished);
    assert_int_equal(rig->state.round.number, 1);
    committed(rig, 1, "");
    assert_int_equal(rig->state.round.number, 2);
    rig_free(rig);
}

static void a_lost_shard_comes_back(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 2, 1);
    ask(rig, W1);
    const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease;
    SAY(rig, A, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    lease_done(rig, W1, lease, 1);
    assert_int_equal(rig->state.phase, PHASE_TRAIN); /* nobody to commit to */
    claim(rig, 0);
    assert_true(only(rig, A, BODY(ASSIGN))->assign->keep);
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    inspected(rig, 1, ""); /* it is asked what it has, and has all */
    tick(rig, 10);
    only(rig, A, BODY(COMMIT));
    SAY(rig, A, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    claim(rig, 1); /* it had applied it, but could not say so */
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    assert_int_equal(count(rig, A, BODY(COMMIT), NULL), 2);
    committed(rig, 0, "");
    assert_int_equal(rig->state.round.number, 1);
    rig_free(rig);
}

/* What a round waits for is told in its row, one thing after the other. */
static void what_is_waited_for_is_told(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    keep_records(rig);
    ask(rig, W1);
    SAY(rig, A, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    for (int i = 0; i < 11; i++) {
        beat(rig, W1, 0);
        tick(rig, 1000);
    }
    const char *text = NULL;
    for (size_t i = 0; i < rig->records.n; i++)
        if (rig->records.at[i]->kind == RECORD_WAITS) text = rig->records.at[i]->text;
    assert_string_equal(text, "a lost aggregator; round 1 of 1 workers: replica 0 on w1");
    rig_free(rig);
}

/* After the last round none is open, however long its validation takes: no row could tell. */
static void a_long_last_validation(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    rig->config.validate_every = 1;
    do_round(rig, 0, W1);
    committed(rig, 0, "");
    keep_records(rig);
    ask(rig, W1);
    only(rig, W1, BODY(EVAL));
    for (int i = 0; i < 25; i++) {
        beat(rig, W1, 0);
        tick(rig, 1000);
    }
    assert_true(rig->state.round.eval.n > 0);
    assert_false(rig->state.round.opened);
    for (size_t i = 0; i < rig->records.n; i++)
        assert_int_not_equal(rig->records.at[i]->kind, RECORD_WAITS);
    rig_free(rig);
}

/* It starts over; the plan that comes meanwhile is not forgotten. */
static void a_shard_lost_before_the_first_round(void **unused)
{
    (void)unused;
    rig_t *rig = compiling(1);
    SAY(rig, A, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    hello(rig, A, MSG__KIND__KIND_AGGREGATOR, "a0");
    tick(rig, 10);
    plan_reply(rig, "", false);
    assert_int_equal(count(rig, A, BODY(ASSIGN), NULL), 0);
    courier_result_t published = courier(rig, COURIER_PUBLISH);
    shepherd_on_courier(&rig->state, &published);
    only(rig, A, BODY(ASSIGN));
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    assert_int_equal(rig->job->kind, COURIER_INIT);
    rig_free(rig);
}

/* --- Policies --- */

static void a_quorum_closes_the_round(void **unused)
{
    (void)unused;
    rig_t *rig = training(3, 3, 3);
    rig->config.quorum = 2;
    rig->config.deadline_s = 1;
    for (uint8_t w = W1; w <= W3; w++) ask(rig, w);
    Msg__Lease late = *only(rig, W3, BODY(LEASE))->lease;
    for (uint8_t w = W1; w <= W2; w++) lease_done(rig, w, only(rig, w, BODY(LEASE))->lease, 1);
    tick(rig, 900);
    assert_int_equal(rig->state.phase, PHASE_TRAIN);
    keep_records(rig);
    tick(rig, 200);
    assert_int_equal(only(rig, W3, BODY(REVOKE))->revoke->replica, late.replica);
    assert_string_equal(rig->records.at[0]->text, "late");
    written(rig, RECORD_REJECTION);
    assert_int_equal(rig->records.at[0]->n_entry, 2);
    all_written(rig);
    assert_int_equal(only(rig, A, BODY(COMMIT))->commit->n_shares, 2);
    committed(rig, 0, "");
    all_written(rig);
    /* Its windows come first in the next round. */
    assert_int_equal(rig->state.round.lease[0].range.start, late.start);
    assert_int_equal(rig->state.round.lease[1].range.start, 18);
    lease_done(rig, W3, &late, 1); /* not wanted, but heard */
    assert_int_equal(only(rig, W3, BODY(LEASE_ACK))->lease_ack->round, 0);
    rig_free(rig);
}

static void a_drained_worker_hands_in_what_it_has(void **unused)
{
    (void)unused;
    rig_t *rig = training(2, 3, 2);
    for (uint8_t w = W1; w <= W2; w++) ask(rig, w);
    const Msg__Lease *first = only(rig, W1, BODY(LEASE))->lease;
    SAY(rig, W1, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
        body.replica = first->replica; body.fence = 1; body.steps = 1; body.done_count = 2;
        body.tokens = 20; body.mean_loss = 5);
    inspected(rig, 1, "");
    lease_done(rig, W2, only(rig, W2, BODY(LEASE))->lease, 2);
    const Msg__Commit *commit = only(rig, A, BODY(COMMIT))->commit;
    assert_int_equal(commit->shares[first->replica]->weight, 1);
    assert_int_equal(commit->shares[1 - first->replica]->weight, 3);
    committed(rig, 0, "");
    assert_true(rig->state.progress.summary.loss == (5 * 20 + 2 * 60) / 80.0); /* by tokens */
    /* Two steps of replica 0's three are left: a short lease. */
    assert_true(rig->state.round.lease[0].range.start == first->start + 2 &&
                rig->state.round.lease[0].want == 4);
    assert_true(rig->state.round.lease[1].range.start == 12 && rig->state.round.lease[1].want == 6);
    rig_free(rig);
}

static void nonsense_is_not_done(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t steps;
        uint64_t done_count, tokens;
    } rows[] = {{0, 0, 60}, {3, 0, 0}, {3, 8, 60}, {2, 6, 60}, {1, 3, 60}, {4, 0, 60}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig_t *rig = training(1, 1, 1);
        ask(rig, W1);
        SAY(rig, W1, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
            body.fence = 1; body.steps = rows[i].steps; body.done_count = rows[i].done_count;
            body.tokens = rows[i].tokens);
        if (rig->state.round.lease[0].fence != 2) fail_msg("row %zu was taken", i);
        rig_free(rig);
    }
}

static void slow_workers_get_fewer_steps(void **unused)
{
    (void)unused;
    rig_t *rig = training(2, 3, 2);
    rig->config.balance = true;
    rig->config.inner_steps = 3;
    for (uint8_t w = W1; w <= W2; w++) {
        ask(rig, w);
        const Msg__Lease *lease = only(rig, w, BODY(LEASE))->lease;
        SAY(rig, w, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
            body.replica = lease->replica; body.fence = 1; body.steps = 3; body.tokens = 60;
            body.compute_s = w == W1 ? 1 : 1.4);
        inspected(rig, 1, "");
    }
    committed(rig, 0, "");
    assert_int_equal(rig->state.round.lease[0].want, 3 * 2);
    assert_int_equal(rig->state.round.lease[1].want, 2 * 2); /* floor(3 / 1.4) */
    assert_int_equal(rig->state.round.lease[1].range.start, 18);
    assert_int_equal(rig->state.ranges.cursor.start, 22);
    rig_free(rig);
}

int main(void)
{
    log_init("shepherd_recovery_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_done_before_it_is_written),
        cmocka_unit_test(the_end_is_written_too),
        cmocka_unit_test(leases_outlive_their_shepherd),
        cmocka_unit_test(who_does_not_come_back_loses_its_lease),
        cmocka_unit_test(a_decision_is_repeated),
        cmocka_unit_test(a_late_lease_outlives_its_shepherd),
        cmocka_unit_test(what_a_shard_lost_is_given_again),
        cmocka_unit_test(what_is_not_answered_is_said_again),
        cmocka_unit_test(late_answers_to_older_commits_mean_nothing),
        cmocka_unit_test(a_lost_shard_comes_back),
        cmocka_unit_test(what_is_waited_for_is_told),
        cmocka_unit_test(a_long_last_validation),
        cmocka_unit_test(a_shard_lost_before_the_first_round),
        cmocka_unit_test(a_quorum_closes_the_round),
        cmocka_unit_test(a_drained_worker_hands_in_what_it_has),
        cmocka_unit_test(nonsense_is_not_done),
        cmocka_unit_test(slow_workers_get_fewer_steps),
    };
    return cmocka_run_group_tests_name("shepherd, recovery", tests, NULL, NULL);
}
