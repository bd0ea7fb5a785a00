/* Rounds that close without a lease, which a later one counts (late "next"), or drops at last. */
#include "shepherd_rig.h"

#include "base/log.h"

enum { LATE = 2 }; /* the replica that W3 trains */

/* Three replicas on three workers; W3's is in hand when the round closes by its quorum. */
static rig_t *closed_without(int64_t rounds, Msg__Lease *late)
{
    rig_t *rig = training(3, rounds, 3);
    err_t err = {0};
    config_set(&shepherd_table, &rig->config, "late", "next", &err);
    rig->config.quorum = 2;
    rig->config.deadline_s = 1;
    for (uint8_t w = W1; w <= W3; w++) ask(rig, w);
    *late = *only(rig, W3, BODY(LEASE))->lease;
    late->state = late->plan = NULL;
    assert_true(late->replica == LATE && late->lag == 0);
    for (uint8_t w = W1; w <= W2; w++) lease_done(rig, w, only(rig, w, BODY(LEASE))->lease, 1);
    keep_records(rig);
    all_written(rig);
    forget_sent(rig);
    tick(rig, 1100);
    return rig;
}

/* And the next one is open: W3's lease in it. */
static rig_t *next_round(int64_t rounds, Msg__Lease *late, Msg__Lease *next)
{
    rig_t *rig = closed_without(rounds, late);
    all_written(rig);
    committed(rig, 0, "");
    all_written(rig);
    *next = *only(rig, W3, BODY(LEASE))->lease;
    next->state = next->plan = NULL;
    return rig;
}

static void the_next_round_counts_it(void **unused)
{
    (void)unused;
    Msg__Lease late;
    rig_t *rig = closed_without(4, &late);
    assert_int_equal(rig->records.n, 1); /* no rejection */
    const record_t *decision = rig->records.at[0];
    assert_int_equal(decision->kind, RECORD_DECIDE);
    assert_int_equal(decision->n_entry, 3);
    assert_true(decision->entries[LATE].replica == LATE && decision->entries[LATE].late);
    assert_true(!decision->entries[0].late && decision->entries[0].done_windows == 6);
    assert_int_equal(count(rig, W3, BODY(REVOKE), NULL), 0);
    lease_done(rig, W3, &late, 1);
    SAY(rig, W3, LEASE_FAILED, lease_failed, Msg__LeaseFailed body = MSG__LEASE_FAILED__INIT;
        body.replica = LATE; body.fence = late.fence; body.error = "wrong round");
    assert_int_equal(count(rig, W3, BODY(LEASE_ACK), NULL), 0); /* it keeps what it has */
    all_written(rig);
    const Msg__Commit *commit = only(rig, A, BODY(COMMIT))->commit;
    assert_true(commit->n_shares == 2 && commit->shares[1]->replica == 1);
    committed(rig, 0, "");
    for (uint8_t w = W1; w <= W2; w++) ask(rig, w);
    assert_int_equal(count(rig, W3, BODY(LEASE), NULL), 0); /* not before it is written */
    const record_t *open = rig->records.at[rig->records.n - 1];
    assert_int_equal(open->kind, RECORD_OPEN);
    assert_true(open->leases[LATE].lag == 1 && open->leases[0].lag == 0);
    assert_true(open->leases[LATE].range.start == 12 && open->leases[LATE].range.count == 6);
    assert_true(open->leases[0].range.start == 18 && open->leases[1].range.start == 24);
    all_written(rig);
    /* No credit is needed; it is the same work. */
    const Msg__Lease *next = only(rig, W3, BODY(LEASE))->lease;
    assert_true(next->round == 1 && next->lag == 1 && next->replica == LATE && next->fence > 0);
    assert_true(next->start == late.start && next->count == late.count &&
                next->step_base == late.step_base && next->inner_steps == late.inner_steps);
    const Msg__Lease *own = only(rig, W1, BODY(LEASE))->lease;
    assert_true(own->round == 1 && own->lag == 0 && own->step_base == 3);
    assert_int_equal(rig->state.ranges.returned.n, 0);
    lease_done(rig, W3, &late, 1); /* under the old name: heard, nothing more */
    assert_int_equal(only(rig, W3, BODY(LEASE_ACK))->lease_ack->round, 0);
    lease_done(rig, W3, next, 1);
    for (uint8_t w = W1; w <= W2; w++) lease_done(rig, w, only(rig, w, BODY(LEASE))->lease, 1);
    forget_sent(rig);
    all_written(rig);
    assert_int_equal(only(rig, A, BODY(COMMIT))->commit->n_shares, 3);
    committed(rig, 1, "");
    all_written(rig);
    assert_true(rig->state.round.number == 2 && rig->state.round.lease[LATE].lag == 0);
    assert_int_equal(rig->state.round.lease[0].range.start, 30);
    rig_free(rig);
}

static void but_no_later_one(void **unused)
{
    (void)unused;
    Msg__Lease late, next;
    rig_t *rig = next_round(4, &late, &next);
    for (uint8_t w = W1; w <= W2; w++) {
        ask(rig, w);
        lease_done(rig, w, only(rig, w, BODY(LEASE))->lease, 1);
    }
    all_written(rig);
    tick(rig, 1100);
    assert_int_equal(only(rig, W3, BODY(REVOKE))->revoke->fence, next.fence);
    assert_int_equal(rig->records.at[0]->kind, RECORD_REJECTION);
    assert_string_equal(rig->records.at[0]->text, "late");
    written(rig, RECORD_REJECTION);
    assert_int_equal(rig->records.at[0]->n_entry, 2);
    all_written(rig);
    committed(rig, 1, "");
    all_written(rig);
    /* Its windows come first in the next round, from that round's parameters. */
    assert_true(rig->state.round.lease[0].range.start == late.start &&
                rig->state.round.lease[0].lag == 0);
    assert_int_equal(rig->state.round.lease[LATE].lag, 0);
    rig_free(rig);
}

/* The round that is open closes without W3's lease; what W3 has of the next one. */
static void closes_again(rig_t *rig, uint32_t lag, Msg__Lease *next)
{
    for (uint8_t w = W1; w <= W2; w++) {
        ask(rig, w);
        lease_done(rig, w, only(rig, w, BODY(LEASE))->lease, 1);
    }
    keep_records(rig);
    all_written(rig);
    forget_sent(rig);
    tick(rig, 1100);
    assert_int_equal(count(rig, W3, BODY(REVOKE), NULL), 0);
    const record_t *decision = rig->records.at[rig->records.n - 1];
    assert_int_equal(decision->kind, RECORD_DECIDE);
    all_written(rig);
    assert_int_equal(only(rig, A, BODY(COMMIT))->commit->lag, lag);
    committed(rig, rig->state.round.number, "");
    all_written(rig);
    if (next) *next = *only(rig, W3, BODY(LEASE))->lease;
    if (next) next->state = next->plan = NULL;
}

static void as_many_rounds_as_it_may(void **unused)
{
    (void)unused;
    Msg__Lease late, next;
    rig_t *rig = next_round(8, &late, &next);
    rig->config.late_rounds = 3;
    for (uint32_t lag = 2; lag <= 3; lag++) {
        closes_again(rig, lag, &next);
        assert_true(next.round == lag && next.lag == lag && next.replica == LATE);
        assert_true(next.start == late.start && next.count == late.count &&
                    next.step_base == late.step_base && next.inner_steps == late.inner_steps);
    }
    /* W3 comes again, and has heard of no later name. */
    for (uint32_t name = 0; name <= 1; name++) {
        Msg__Holding holding = MSG__HOLDING__INIT;
        holding.run_hash = rig->state.run_hash;
        holding.round = name;
        holding.replica = LATE;
        holding.fence = late.fence;
        uint8_t w = name ? W3 : W4;
        forget_sent(rig);
        SAY(rig, w, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
            body.kind = MSG__KIND__KIND_WORKER; body.id = "w3"; body.target = "cpu:x";
            body.incarnation = 1; body.holding = &holding);
        assert_int_equal(count(rig, w, BODY(REVOKE), NULL), 0);
        all_written(rig);
        next = *only(rig, w, BODY(LEASE))->lease;
        assert_true(next.round == 3 && next.lag == 3 && next.start == late.start);
        next.state = next.plan = NULL;
    }
    forget_sent(rig);
    for (uint8_t w = W1; w <= W2; w++) {
        ask(rig, w);
        lease_done(rig, w, only(rig, w, BODY(LEASE))->lease, 1);
    }
    all_written(rig);
    tick(rig, 1100);
    only(rig, W3, BODY(REVOKE)); /* that was the last one that could count it */
    assert_string_equal(rig->records.at[0]->text, "late");
    rig_free(rig);
}

static void nor_behind_the_last(void **unused)
{
    (void)unused;
    Msg__Lease late;
    rig_t *rig = closed_without(1, &late);
    only(rig, W3, BODY(REVOKE));
    assert_string_equal(rig->records.at[0]->text, "late");
    written(rig, RECORD_REJECTION);
    assert_int_equal(rig->records.at[0]->n_entry, 2);
    rig_free(rig);
}

static void it_is_given_again_where_its_worker_dies(void **unused)
{
    (void)unused;
    for (int before = 0; before < 2; before++) { /* the next round opens, or after that */
        Msg__Lease late, next = MSG__LEASE__INIT;
        rig_t *rig = before ? closed_without(4, &late) : next_round(4, &late, &next);
        SAY(rig, W3, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
        all_written(rig);
        if (before) committed(rig, 0, "");
        all_written(rig);
        forget_sent(rig);
        for (int turn = 0; turn < 2; turn++) {
            ask(rig, W1);
            all_written(rig);
            const msg_envelope_t *last = NULL;
            assert_int_equal(count(rig, W1, BODY(LEASE), &last), turn + 1);
            const Msg__Lease *lease = last->lease;
            if (lease->replica == LATE) {
                assert_true(lease->lag == 1 && lease->fence > next.fence && lease->round == 1);
                assert_true(lease->start == late.start && lease->step_base == 0);
                next.inner_steps = 1; /* seen */
            }
            lease_done(rig, W1, lease, 1);
            all_written(rig);
        }
        ask(rig, W2);
        assert_int_equal(next.inner_steps, 1);
        rig_free(rig);
    }
}

static void what_nobody_can_train_again_is_dropped(void **unused)
{
    (void)unused;
    Msg__Lease late, next;
    rig_t *rig = next_round(4, &late, &next);
    for (int i = 0; i < 3; i++) {
        const work_t *lease = &rig->state.round.lease[LATE];
        assert_true(lease->state == WORK_ISSUED && lease->lag == 1);
        SAY(rig, W3, LEASE_FAILED, lease_failed, Msg__LeaseFailed body = MSG__LEASE_FAILED__INIT;
            body.round = 1; body.replica = LATE; body.fence = lease->fence;
            body.error = "round 1 is open");
        ask(rig, W3);
    }
    assert_int_equal(rig->state.round.lease[LATE].state, WORK_DROPPED);
    bool told = false;
    for (size_t i = 0; i < rig->records.n; i++)
        told |= rig->records.at[i]->kind == RECORD_REJECTION;
    assert_true(told && !rig->state.finished);
    rig_free(rig);
}

static void a_new_connection_keeps_it(void **unused)
{
    (void)unused;
    Msg__Lease late, next;
    rig_t *rig = closed_without(4, &late);
    Msg__Holding holding = MSG__HOLDING__INIT;
    holding.run_hash = rig->state.run_hash;
    holding.replica = LATE;
    holding.fence = late.fence;
    for (int opened = 0; opened < 2; opened++) {
        uint8_t w = opened ? W3 : W4; /* a new connection each time */
        SAY(rig, w, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
            body.kind = MSG__KIND__KIND_WORKER; body.id = "w3"; body.target = "cpu:x";
            body.incarnation = 1; body.holding = &holding);
        assert_int_equal(count(rig, w, BODY(REVOKE), NULL), 0);
        all_written(rig);
        if (!opened) committed(rig, 0, "");
        all_written(rig);
        next = *only(rig, w, BODY(LEASE))->lease; /* the second time: the first was lost */
        assert_true(next.round == 1 && next.lag == 1 && next.start == late.start);
        forget_sent(rig);
    }
    rig_free(rig);
}

int main(void)
{
    log_init("shepherd_late_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_round_counts_it),
        cmocka_unit_test(but_no_later_one),
        cmocka_unit_test(as_many_rounds_as_it_may),
        cmocka_unit_test(nor_behind_the_last),
        cmocka_unit_test(it_is_given_again_where_its_worker_dies),
        cmocka_unit_test(what_nobody_can_train_again_is_dropped),
        cmocka_unit_test(a_new_connection_keeps_it),
    };
    return cmocka_run_group_tests_name("shepherd_late", tests, NULL, NULL);
}
