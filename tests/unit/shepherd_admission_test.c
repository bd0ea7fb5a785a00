/* Which updates a round takes: by what the shards say has arrived, the same under every leader. */
#include <math.h>

#include "base/log.h"
#include "shepherd/round/work.h"
#include "shepherd_rig.h"

/* The worker asks for work and calls it done; what the shard says of it comes later. */
static Msg__Lease done(rig_t *rig, uint8_t from, double loss, double compute_s)
{
    ask(rig, from);
    const msg_envelope_t *last = NULL;
    count(rig, from, BODY(LEASE), &last);
    Msg__Lease lease = *last->lease;
    SAY(rig, from, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
        body.round = lease.round; body.replica = lease.replica; body.fence = lease.fence;
        body.steps = 3; body.tokens = 60; body.mean_loss = loss; body.compute_s = compute_s;
        body.sent_bytes = 48; body.received_bytes = 96);
    return lease;
}

static void done_with_norm(rig_t *rig, uint8_t from, double norm2, double loss, const char *reason)
{
    done(rig, from, loss, 1);
    inspected(rig, norm2, reason);
}

/* The newest record of that kind that waits. */
static const record_t *find_record(const rig_t *rig, record_kind_t kind)
{
    for (size_t i = rig->records.n; i-- > 0;)
        if (rig->records.at[i]->kind == kind) return rig->records.at[i];
    fail_msg("no record %s", record_name(kind));
    return NULL;
}

static void nothing_counts_before_the_shards_have_it(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    keep_records(rig);
    Msg__Lease lease = done(rig, W1, 1, 1);
    const Msg__Inspect *asked = only(rig, A, BODY(INSPECT))->inspect;
    assert_true(asked->round == 0 && asked->replica == lease.replica && asked->weight == 3);
    assert_int_equal(rig->state.round.lease[0].state, WORK_ISSUED);
    assert_int_equal(rig->records.n, 1); /* RECORD_ISSUE */
    /* Said again, for the question or its answer was lost: asked again, and that is all. */
    SAY(rig, W1, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
        body.fence = lease.fence; body.steps = 3; body.tokens = 60; body.mean_loss = 1;
        body.compute_s = 1; body.sent_bytes = 48; body.received_bytes = 96);
    assert_int_equal(count(rig, A, BODY(INSPECT), NULL), 2);
    inspected(rig, 9, "");
    assert_int_equal(rig->state.round.lease[0].state, WORK_DONE);
    const record_t *record = find_record(rig, RECORD_DONE);
    assert_true(record->done.norm2 == 9 && record->done.steps == 3);
    assert_true(record->done.sent_bytes == 48 && record->done.received_bytes == 96);
    inspected(rig, 1e9, "outlier"); /* late: it is admitted */
    assert_int_equal(rig->state.round.lease[0].state, WORK_DONE);
    rig_free(rig);
}

/* A shard that was started again may lack what it had acknowledged. */
static void what_has_not_arrived_is_given_again(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    Msg__Lease lease = done(rig, W1, 1, 1);
    SAY(rig, A, INSPECTED, inspected, Msg__Inspected body = MSG__INSPECTED__INIT;
        body.fence = lease.fence);
    only(rig, W1, BODY(REVOKE));
    assert_int_equal(rig->state.round.lease[0].state, WORK_OPEN);
    assert_int_equal(rig->state.round.lease[0].fence, lease.fence + 1);
    const member_row_t *w1 = member_by_id(&rig->state.roster, "w1");
    assert_false(w1->blame.refused || blame_rests(w1, rig->now)); /* an accident is free */
    rig_free(rig);
}

static void strange_updates_are_rejected(void **unused)
{
    (void)unused;
    static const struct {
        double norm2, loss;
        const char *shard_says, *reason;
    } rows[] = {{1e6, 1, "", "outlier"},     {NAN, 1, "", "finite"},   {1, INFINITY, "", "finite"},
                {0, 1, "finite", "finite"},  {0, 1, "shape", "shape"}, {0, 1, "hash", "hash"},
                {0, 1, "outlier", "outlier"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig_t *rig = training(2, 9, 2);
        rig->config.outlier = 10;
        for (uint32_t round = 0; round < 2; round++) {
            for (uint8_t w = W1; w <= W2; w++) done_with_norm(rig, w, 1 + round, 1, "");
            committed(rig, round, "");
            forget_sent(rig);
        }
        keep_records(rig);
        done_with_norm(rig, W2, rows[i].norm2, rows[i].loss, rows[i].shard_says);
        assert_string_equal(find_record(rig, RECORD_REJECTION)->text, rows[i].reason);
        assert_string_equal(find_record(rig, RECORD_REJECTION)->worker, "w2");
        only(rig, W2, BODY(LEASE_ACK));
        done_with_norm(rig, W1, 2, 1, "");
        all_written(rig);
        const Msg__Commit *commit = only(rig, A, BODY(COMMIT))->commit; /* without it */
        assert_int_equal(commit->n_shares, 1);
        uint32_t out = 1 - commit->shares[0]->replica;
        uint64_t start = rig->state.round.lease[out].range.start;
        committed(rig, 2, "");
        assert_int_equal(rig->state.round.lease[0].range.start, start); /* its windows come again */
        rig_free(rig);
    }
}

/* A worker that finds out by itself says so. */
static void who_knows_that_it_diverged_is_left_out(void **unused)
{
    (void)unused;
    rig_t *rig = training(2, 9, 2);
    keep_records(rig);
    ask(rig, W1);
    const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease;
    SAY(rig, W1, LEASE_FAILED, lease_failed, Msg__LeaseFailed body = MSG__LEASE_FAILED__INIT;
        body.replica = lease->replica; body.fence = lease->fence; body.fatal = body.numeric = true;
        body.error = "the loss is nan");
    assert_false(rig->state.finished);
    assert_string_equal(find_record(rig, RECORD_REJECTION)->text, "finite");
    assert_string_equal(find_record(rig, RECORD_REJECTION)->detail, "the loss is nan");
    assert_int_equal(rig->state.round.lease[lease->replica].state, WORK_DROPPED);
    rig_free(rig);
}

static void what_is_all_of_a_round_is_trained_again(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    int n = 0;
    for (; n < 5; n++) {
        done_with_norm(rig, W1, 1, 1, "finite");
        for (int i = 0; i < 5; i++) { /* it rests in between, longer each time */
            tick(rig, 100);
            beat(rig, W1, 0);
            beat(rig, A, 0);
        }
        forget_sent(rig);
    }
    assert_false(rig->state.finished); /* another worker may come */
    for (int64_t end = rig->now + rig->config.timeout_ms;
         rig->now <= end && !rig->state.finished;) {
        tick(rig, 100);
        ask(rig, W1);
        beat(rig, A, 0);
    }
    assert_int_equal(count(rig, W1, BODY(LEASE), NULL), 0);
    assert_true(rig->state.finished);
    assert_int_equal(rig->state.exit_status, 1);
    rig_free(rig);
}

static void an_old_fence_has_its_row(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 2);
    ask(rig, W1);
    Msg__Lease old = *only(rig, W1, BODY(LEASE))->lease;
    work_reopen(&rig->state, 0);
    keep_records(rig);
    lease_done(rig, W1, &old, 1);
    assert_string_equal(find_record(rig, RECORD_REJECTION)->text, "fence");
    assert_int_equal(find_record(rig, RECORD_REJECTION)->fence, old.fence);
    assert_string_equal(find_record(rig, RECORD_REJECTION)->worker, "w1");
    only(rig, W1, BODY(LEASE_ACK)); /* it need not say so again */
    rig_free(rig);
}

/* What a decision names is not judged again: the same norm may look strange to another history. */
static void a_decision_is_not_judged_again(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 9, 1);
    rig->config.outlier = 10;
    for (uint32_t round = 0; round < 5; round++) {
        done_with_norm(rig, W1, 1, 1, "");
        committed(rig, round, "");
        forget_sent(rig);
    }
    rig->state.round.decided = rig->state.round.lease[0].decided = true;
    done_with_norm(rig, W1, 1e6, 1, "");
    assert_int_equal(rig->state.round.lease[0].state, WORK_DONE);
    rig_free(rig);
}

/* A leader that reads the history from the store judges as the one that lived through it. */
static void the_next_leader_judges_the_same(void **unused)
{
    (void)unused;
    enum { ROUNDS = 40, K = 2 };
    rig_t *rig = training(K, 99, 2);
    rig->config.validate_every = 0;
    store_update_t past[ROUNDS * K] = {{0}};
    size_t n = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        double norm2[K] = {1 + round, 2 + round};
        for (uint8_t w = W2; w >= W1; w--) { /* not in the order of the replicas */
            Msg__Lease lease = done(rig, w, 1, w == W1 ? 1 : 2);
            inspected(rig, norm2[lease.replica], "");
            store_update_t *u = &past[n + lease.replica];
            *u = (store_update_t){.round = round,
                                  .replica = lease.replica,
                                  .steps = 3,
                                  .committed = true,
                                  .norm2 = norm2[lease.replica],
                                  .compute_s = w == W1 ? 1 : 2};
            snprintf(u->worker, sizeof u->worker, "w%d", w - W1 + 1);
        }
        n += K;
        committed(rig, round, "");
        forget_sent(rig);
    }
    rig_t *next = rig_new(K, 99);
    past[n - 1].committed = false; /* done, in the open round: no measure yet */
    admission_load(&next->state.admission, &(store_updates_t){n, past});
    assert_int_equal(next->state.admission.norms.n, 64);
    past[n - 1].committed = true;
    admission_load(&next->state.admission, &(store_updates_t){n, past});
    assert_int_equal(next->state.admission.norms.n, rig->state.admission.norms.n);
    for (size_t i = 0; i < next->state.admission.norms.n; i++) {
        assert_true(next->state.admission.norms.at[i].norm ==
                    rig->state.admission.norms.at[i].norm);
        assert_int_equal(next->state.admission.norms.at[i].round,
                         rig->state.admission.norms.at[i].round);
    }
    for (int w = 1; w <= K; w++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", w);
        assert_true(admission_speed(&next->state.admission, id) == 3.0 / w);
        assert_true(admission_speed(&rig->state.admission, id) == 3.0 / w);
    }
    admission_rewind(&next->state.admission, ROUNDS - 1); /* back to a checkpoint */
    assert_int_equal(next->state.admission.norms.at[next->state.admission.norms.n - 1].round,
                     ROUNDS - 2);
    rig_free(next);
    rig_free(rig);
}

int main(void)
{
    log_init("shepherd_admission_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_counts_before_the_shards_have_it),
        cmocka_unit_test(what_has_not_arrived_is_given_again),
        cmocka_unit_test(strange_updates_are_rejected),
        cmocka_unit_test(who_knows_that_it_diverged_is_left_out),
        cmocka_unit_test(what_is_all_of_a_round_is_trained_again),
        cmocka_unit_test(an_old_fence_has_its_row),
        cmocka_unit_test(a_decision_is_not_judged_again),
        cmocka_unit_test(the_next_leader_judges_the_same),
    };
    return cmocka_run_group_tests_name("shepherd, admission", tests, NULL, NULL);
}
