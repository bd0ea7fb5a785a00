/* Inner states that stay with their workers: what leases say of them, who is asked for copies and when, what a checkpoint
 * waits for and what happens when a copy does not come. */
#include <errno.h>

#include "shepherd_rig.h"

#include "base/log.h"

/* The state that replica k has at the beginning of a round. */
static const char *state_of(uint32_t round, uint32_t k)
{
    static char names[8][HASH_HEX];
    static int next;
    char *name = names[next++ % 8];
    snprintf(name, HASH_HEX, "%032x%032x", round, k);
    return name;
}

static rig_t *training_with_copies(int64_t rounds, int64_t checkpoint_every)
{
    rig_t *rig = training(2, rounds, 2);
    rig->config.checkpoint_every = checkpoint_every;
    for (size_t i = 0; i < rig->state.roster.members.n; i++)
        rig->state.roster.members.at[i]->copies = true;
    return rig;
}

/* Both workers train their leases, which keep their states as `keep` says; and the round is committed. */
static void a_round(rig_t *rig, uint32_t round, Msg__StateKeep keep)
{
    forget_sent(rig);
    for (uint8_t w = W1; w <= W2; w++) {
        ask(rig, w);
        const Msg__Lease *lease = only(rig, w, BODY(LEASE))->lease;
        assert_int_equal(lease->round, round);
        assert_int_equal(lease->keep_state, keep);
        SAY(rig, w, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
            body.round = lease->round; body.replica = lease->replica; body.fence = lease->fence;
            body.steps = lease->inner_steps; body.tokens = 60; body.mean_loss = 1;
            body.state = (char *)state_of(round + 1, lease->replica));
        inspected(rig, 1, "");
    }
    forget_sent(rig);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    committed(rig, round, "");
}

/* The replica whose state that worker was asked for. */
static const char *asked(rig_t *rig, uint8_t w, uint32_t round)
{
    const Msg__Copy *copy = only(rig, w, BODY(COPY))->copy;
    assert_int_equal(copy->run_hash, rig->state.run_hash);
    assert_int_equal(copy->n_data, 1);
    assert_string_equal(copy->data[0], "ipc://data");
    bool known = strcmp(copy->state, state_of(round, 0)) == 0 ||
                 strcmp(copy->state, state_of(round, 1)) == 0;
    assert_true(known);
    return strcmp(copy->state, state_of(round, 0)) == 0 ? state_of(round, 0) : state_of(round, 1);
}

static void copied(rig_t *rig, uint8_t from, const char *state, const char *error)
{
    SAY(rig, from, COPIED, copied, Msg__Copied body = MSG__COPIED__INIT;
        body.run_hash = rig->state.run_hash; body.state = (char *)state;
        body.error = (char *)error);
}

/* The leases before a checkpoint leave their states where they are; the checkpoint is written when copies of both are
 * there, while the next round trains. */
static void a_checkpoint_waits_for_copies(void **unused)
{
    (void)unused;
    rig_t *rig = training_with_copies(6, 2);
    a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
    assert_int_equal(count(rig, 0, BODY(COPY), NULL), 0);
    a_round(rig, 1, MSG__STATE_KEEP__STATE_LOCAL);
    const char *one = asked(rig, W1, 2), *two = asked(rig, W2, 2);
    assert_string_not_equal(one, two);
    assert_null(rig->job);
    copied(rig, W1, one, "");
    copied(rig, W1, one, ""); /* again: it is one still */
    assert_null(rig->job);
    copied(rig, W1, two, ""); /* nor may another say so, or that it is lost */
    copied(rig, W1, two, "it is nowhere");
    assert_null(rig->job);
    a_round(rig, 2, MSG__STATE_KEEP__STATE_LOCAL);
    copied(rig, W2, two, "");
    assert_non_null(rig->job);
    assert_int_equal(rig->job->round, 2);
    assert_true(rig->job->has_ledger);
    assert_string_equal(rig->job->ledger.state[0], state_of(2, 0));
    assert_string_equal(rig->job->ledger.state[1], state_of(2, 1));
    rig_free(rig);
}

/* The news is lost, then the worker itself: it is asked again, and not for ever. The parameters are saved all the
 * same. */
static void a_copy_that_does_not_come(void **unused)
{
    (void)unused;
    rig_t *rig = training_with_copies(6, 1);
    a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
    const char *one = asked(rig, W1, 1);
    forget_sent(rig);
    for (int i = 0; i < 3; i++) {
        beat(rig, W1, 0);
        beat(rig, W2, 0);
        tick(rig, 1000);
    }
    asked(rig, W1, 1);
    copied(rig, W1, one, "");
    SAY(rig, W2, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "its machine is gone");
    assert_null(rig->job);
    for (int i = 0; i < 20; i++) {
        beat(rig, W1, 0);
        SAY(rig, A, HEARTBEAT, heartbeat, Msg__Heartbeat body = MSG__HEARTBEAT__INIT);
        tick(rig, 1000);
    }
    assert_non_null(rig->job);
    assert_int_equal(rig->job->kind, COURIER_CHECKPOINT);
    assert_int_equal(rig->state.copies.last, 0);
    rig_free(rig);
}

/* The worker is here, trains and sends no copy, ever: after a hundred rounds, and half an hour, the parameters are saved
 * without. */
static void a_worker_that_keeps_its_state(void **unused)
{
    (void)unused;
    rig_t *rig = training_with_copies(300, 1);
    uint32_t round = 0;
    for (; !rig->job; round++) {
        a_round(rig, round, MSG__STATE_KEEP__STATE_LOCAL);
        if (round == 0) copied(rig, W1, asked(rig, W1, 1), "");
        for (int i = 0; i < 20; i++) {
            beat(rig, W1, 0);
            beat(rig, W2, 0);
            SAY(rig, A, HEARTBEAT, heartbeat, Msg__Heartbeat body = MSG__HEARTBEAT__INIT);
            tick(rig, 1000);
        }
        assert_in_range(round, 0, 250);
    }
    assert_in_range(round, 100, 250);
    rig_free(rig);
}

/* The signal's checkpoint waits for the states of its boundary, too; half a minute, and no longer. */
static void the_last_checkpoint(void **unused)
{
    (void)unused;
    for (int late = 0; late < 2; late++) {
        rig_t *rig = training_with_copies(6, 0);
        a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
        forget_sent(rig);
        shepherd_on_signal(&rig->state);
        assert_int_equal(rig->state.phase, PHASE_SAVE);
        const char *one = asked(rig, W1, 1), *two = asked(rig, W2, 1);
        assert_null(rig->job);
        copied(rig, W1, one, "");
        assert_null(rig->job);
        if (!late) copied(rig, W2, two, "");
        for (int i = 0; late && i < 32; i++) {
            beat(rig, W1, 0);
            beat(rig, W2, 0);
            SAY(rig, A, HEARTBEAT, heartbeat, Msg__Heartbeat body = MSG__HEARTBEAT__INIT);
            assert_null(rig->job);
            tick(rig, 1000);
            forget_sent(rig);
        }
        assert_non_null(rig->job);
        assert_int_equal(rig->job->kind, COURIER_SAVE);
        assert_int_equal(rig->job->round, 1);
        rig_free(rig);
    }
}

static void aggregator_goes(rig_t *rig)
{
    SAY(rig, A, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "it was killed");
    tick(rig, 100);
}

static void aggregator_returns(rig_t *rig, uint32_t round)
{
    Msg__ShardState shard = MSG__SHARD_STATE__INIT;
    shard.run_hash = rig->state.run_hash;
    shard.shards = 1;
    shard.round = round;
    SAY(rig, A, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_AGGREGATOR; body.id = "a0"; body.endpoint = "ipc://data";
        body.shard = &shard);
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    tick(rig, 100);
}

/* The aggregator is killed while the run's last checkpoint waits for copies, and again while it is written: it is waited
 * for, and what failed for want of it is done again. What fails without such a reason ends the run. */
static void the_last_checkpoint_waits_for_aggregators(void **unused)
{
    (void)unused;
    rig_t *rig = training_with_copies(6, 0);
    a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
    forget_sent(rig);
    shepherd_on_signal(&rig->state);
    const char *one = asked(rig, W1, 1), *two = asked(rig, W2, 1);
    aggregator_goes(rig);
    copied(rig, W1, one, "no answer for 30 s");
    copied(rig, W2, two, "");
    forget_sent(rig);
    tick(rig, 2000);
    assert_int_equal(count(rig, 0, BODY(COPY), NULL), 0); /* nobody could take one */
    assert_null(rig->job);
    aggregator_returns(rig, 1);
    tick(rig, 2000);
    assert_string_equal(asked(rig, W1, 1), one);
    copied(rig, W1, one, "");

    aggregator_goes(rig);
    courier_result_t failed = courier(rig, COURIER_SAVE);
    failed.err = (err_t){.code = ERR_NET, .text = "no answer for 30 s"};
    shepherd_on_courier(&rig->state, &failed);
    assert_int_equal(rig->state.phase, PHASE_SAVE);
    assert_null(rig->job);
    aggregator_returns(rig, 1);
    failed.kind = courier(rig, COURIER_SAVE).kind;
    shepherd_on_courier(&rig->state, &failed);
    assert_int_equal(rig->state.phase, PHASE_DONE);
    rig_free(rig);
}

/* Who stops a run does not wait for an aggregator as long as a run does that goes on. */
static void a_stop_without_its_aggregator(void **unused)
{
    (void)unused;
    rig_t *rig = training_with_copies(6, 0);
    a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
    aggregator_goes(rig);
    shepherd_on_signal(&rig->state);
    for (int s = 0; s < 9; s++) {
        beat(rig, W1, 0);
        beat(rig, W2, 0);
        tick(rig, 1000);
        assert_int_not_equal(rig->state.phase, PHASE_DONE);
    }
    tick(rig, 1000);
    assert_int_equal(rig->state.phase, PHASE_DONE);
    assert_int_equal(rig->state.exit_status, 3);
    rig_free(rig);
}

/* state_every above checkpoint_every: checkpoints between have no states, and nobody is asked for any; 1: every
 * boundary's are copied, whether there is a checkpoint or not, and what is not needed any more is deleted. */
static void how_often(void **unused)
{
    (void)unused;
    rig_t *rig = training_with_copies(9, 1);
    rig->config.state_every = 3;
    for (uint32_t round = 0; round < 6; round++) {
        a_round(rig, round, MSG__STATE_KEEP__STATE_LOCAL);
        bool due = round == 0 || round == 3;
        assert_int_equal(count(rig, 0, BODY(COPY), NULL), due ? 2 : 0);
        for (uint8_t w = W1; due && w <= W2; w++) copied(rig, w, asked(rig, w, round + 1), "");
        assert_int_equal(rig->job->has_ledger, due);
        courier_result_t made = courier(rig, COURIER_CHECKPOINT);
        made.round = round + 1;
        made.checkpoint = "run/checkpoint/round";
        shepherd_on_courier(&rig->state, &made);
    }
    rig_free(rig);

    rig = training_with_copies(9, 0);
    rig->config.state_every = 1;
    a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
    char one[HASH_HEX], two[HASH_HEX];
    snprintf(one, sizeof one, "%s", asked(rig, W1, 1));
    snprintf(two, sizeof two, "%s", asked(rig, W2, 1));
    copied(rig, W1, one, "");
    a_round(rig, 1, MSG__STATE_KEEP__STATE_LOCAL);
    assert_int_equal(count(rig, 0, BODY(COPY), NULL), 0); /* those are not there yet */
    copied(rig, W2, two, "");
    a_round(rig, 2, MSG__STATE_KEEP__STATE_LOCAL);
    asked(rig, W1, 3);
    copied(rig, W1, one, ""); /* which nobody begins with any more */
    a_round(rig, 3, MSG__STATE_KEEP__STATE_LOCAL);
    const Msg__Forget *forget = only(rig, A, BODY(FORGET))->forget;
    bool found = false;
    for (size_t i = 0; i < forget->n_objects; i++) found |= !strcmp(forget->objects[i], one);
    assert_true(found);
    rig_free(rig);
}

/* A worker that does not know COPY sends its state with its lease before a checkpoint, as it always did; so does each
 * where others are to begin with it. */
static void who_cannot_copy(void **unused)
{
    (void)unused;
    rig_t *rig = training(2, 6, 2);
    rig->config.checkpoint_every = 2;
    a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
    a_round(rig, 1, MSG__STATE_KEEP__STATE_OBJECT);
    assert_int_equal(count(rig, 0, BODY(COPY), NULL), 0);
    assert_non_null(rig->job);
    assert_true(rig->job->has_ledger);
    rig_free(rig);

    rig = training_with_copies(6, 2);
    rig->config.audit = 1e-9;
    a_round(rig, 0, MSG__STATE_KEEP__STATE_OBJECT);
    rig_free(rig);
}

/* Its worker has not got the state that the lease begins with. */
static void refuse_state(rig_t *rig, uint8_t from, const Msg__Lease *lease)
{
    SAY(rig, from, LEASE_FAILED, lease_failed, Msg__LeaseFailed body = MSG__LEASE_FAILED__INIT;
        body.round = lease->round; body.replica = lease->replica; body.fence = lease->fence;
        body.lost_state = lease->state; body.error = "it is not here");
}

/* The lease that this worker had in the last round is another's now. */
static uint32_t swap_homes(rig_t *rig)
{
    work_t *lease = rig->state.round.lease;
    uint32_t first = lease[0].home, second = lease[1].home;
    work_home(&rig->state, &lease[0], second);
    work_home(&rig->state, &lease[1], first);
    return member_by_peer(&rig->state.roster, &(msg_peer_t){.n = 5, .at = {W1}})->serial == second
               ? 0
               : 1;
}

/* A replica has got another worker: the one that made its state is asked for a copy, the lease waits for it, and is nobody
 * else's meanwhile. */
static void a_state_on_its_way(void **unused)
{
    (void)unused;
    for (int lost = 0; lost < 2; lost++) {
        rig_t *rig = training_with_copies(6, 0);
        a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
        uint32_t k = swap_homes(rig); /* w1's now, which w2 has made */
        forget_sent(rig);
        ask(rig, W1);
        const Msg__Lease lease = *only(rig, W1, BODY(LEASE))->lease;
        assert_int_equal(lease.replica, k);
        assert_true(lease.hand_over);
        refuse_state(rig, W1, &lease);
        assert_string_equal(only(rig, W2, BODY(COPY))->copy->state, state_of(1, k));
        forget_sent(rig);
        ask(rig, W1);
        assert_int_equal(count(rig, W1, BODY(LEASE), NULL), 0);
        tick(rig, 2000); /* the news is lost: it is asked again */
        assert_string_equal(only(rig, W2, BODY(COPY))->copy->state, state_of(1, k));
        assert_int_equal(count(rig, W1, BODY(LEASE), NULL), 0);
        copied(rig, W1, state_of(1, k), "it is nowhere"); /* it was not asked */
        assert_int_equal(count(rig, W1, BODY(LEASE), NULL), 0);
        assert_string_equal(rig->state.round.lease[k].maker, "w2");
        copied(rig, W2, state_of(1, k), lost ? "its disk is gone" : "");
        const Msg__Lease *again = only(rig, W1, BODY(LEASE))->lease;
        assert_int_equal(again->replica, k);
        assert_true(again->fence > lease.fence);
        if (lost) { /* nobody has it, and nobody is asked once more */
            int asked_before = count(rig, W2, BODY(COPY), NULL);
            refuse_state(rig, W1, again);
            assert_int_equal(rig->state.round.refused.n, 1);
            assert_int_equal(count(rig, W2, BODY(COPY), NULL), asked_before);
        }
        rig_free(rig);
    }
}

/* Its maker went to another run and sends a copy by itself: the lease is tried again now and then; not for ever. One that went
 * for good sends none. */
static void a_state_of_who_moved(void **unused)
{
    (void)unused;
    for (int moved = 0; moved < 2; moved++) {
        rig_t *rig = training_with_copies(6, 0);
        a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
        forget_sent(rig);
        SAY(rig, W2, BYE, bye, Msg__Bye body = MSG__BYE__INIT;
            body.reason = "another run needs it more"; body.hands_over = moved);
        ask(rig, W1);
        const Msg__Lease *first = only(rig, W1, BODY(LEASE))->lease;
        lease_done(rig, W1, first, 1);
        inspected(rig, 1, "");
        forget_sent(rig);
        ask(rig, W1);
        refuse_state(rig, W1, only(rig, W1, BODY(LEASE))->lease);
        assert_int_equal(rig->state.round.refused.n, !moved);
        int offered = 0;
        for (int s = 0; moved && s < 40; s++) {
            forget_sent(rig);
            SAY(rig, A, HEARTBEAT, heartbeat, Msg__Heartbeat body = MSG__HEARTBEAT__INIT);
            ask(rig, W1);
            tick(rig, 1000);
            const msg_envelope_t *last = NULL;
            int n = count(rig, W1, BODY(LEASE), &last);
            offered += n;
            if (n) refuse_state(rig, W1, last->lease);
            if (s == 10) assert_int_equal(rig->state.round.refused.n, 0);
        }
        if (!moved) assert_int_equal(rig->state.round.refused.n, 1);
        if (moved) assert_true(offered > 10);
        if (moved) assert_true(rig->state.recovery.backing); /* the copy did not come */
        rig_free(rig);
    }
}

/* Of what a worker calls an inner state only what can be one is forgotten: no text of another length, and nothing that
 * the run is made of. */
static void names_that_lie(void **unused)
{
    (void)unused;
    rig_t *rig = training_with_copies(9, 0);
    a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
    char none[HASH_HEX], longer[2 * HASH_HEX] = "", stranger[HASH_HEX];
    memset(none, 'z', HASH_HEX - 1);
    none[HASH_HEX - 1] = '\0';
    memset(longer, 'e', HASH_HEX + 7);
    snprintf(stranger, HASH_HEX, "%064x", 77);
    const bulk_t *bulk = &rig->state.bulk;
    const char *plan = rig->state.plans.rows.at[0].hash;
    assert_true(*plan && *bulk->train_hash);
    const char *const lies[] = {
        "x", none, longer, bulk->module_hash, bulk->train_hash, bulk->validation_hash, plan, ""};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) copied(rig, W1, lies[i], "");
    copied(rig, W1, stranger, "");
    for (uint32_t i = 0; i < 5000; i++) copied(rig, W1, state_of(1000 + i, 9), "");
    assert_true(rig->state.checkpoints.forget.n <= 5000);
    a_round(rig, 1, MSG__STATE_KEEP__STATE_LOCAL);
    const Msg__Forget *forget = only(rig, A, BODY(FORGET))->forget;
    bool found = false;
    for (size_t i = 0; i < forget->n_objects; i++) {
        assert_int_equal(strlen(forget->objects[i]), HASH_HEX - 1);
        found |= strcmp(forget->objects[i], stranger) == 0;
        for (size_t k = 0; k < sizeof lies / sizeof *lies; k++)
            assert_string_not_equal(forget->objects[i], lies[k]);
    }
    assert_true(found);
    rig_free(rig);
}

/* A lease that is done with a state of no such name has none, so that a checkpoint's ledger can be read again; with one
 * of the run's own objects, that object stays. */
static void a_lease_with_such_a_name(void **unused)
{
    (void)unused;
    char none[HASH_HEX];
    memset(none, 'z', HASH_HEX - 1);
    none[HASH_HEX - 1] = '\0';
    rig_t *rig = training_with_copies(9, 0);
    for (uint32_t round = 0; round < 3; round++) {
        forget_sent(rig);
        for (uint8_t w = W1; w <= W2; w++) {
            ask(rig, w);
            const Msg__Lease *lease = only(rig, w, BODY(LEASE))->lease;
            SAY(rig, w, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
                body.round = lease->round; body.replica = lease->replica; body.fence = lease->fence;
                body.steps = lease->inner_steps; body.tokens = 60; body.mean_loss = 1;
                body.state = lease->replica ? none : rig->state.bulk.module_hash);
            inspected(rig, 1, "");
        }
        committed(rig, round, "");
        assert_string_equal(rig->state.round.lease[1].state_in, "");
    }
    const Msg__Forget *forget = count(rig, A, BODY(FORGET), NULL)
                                    ? only(rig, A, BODY(FORGET))->forget
                                    : NULL;
    for (size_t i = 0; forget && i < forget->n_objects; i++)
        assert_string_not_equal(forget->objects[i], rig->state.bulk.module_hash);
    rig_free(rig);
}

/* A checkpoint that its disk had no room for is an event of the run, which says what and where. */
static void a_checkpoint_that_failed(void **unused)
{
    (void)unused;
    rig_t *rig = training_with_copies(9, 1);
    rig->config.state_every = 3;
    a_round(rig, 0, MSG__STATE_KEEP__STATE_LOCAL);
    for (uint8_t w = W1; w <= W2; w++) copied(rig, w, asked(rig, w, 1), "");
    courier_result_t made = courier(rig, COURIER_CHECKPOINT);
    made.round = 1;
    errno = ENOSPC;
    err_set_errno(&made.err, "run/checkpoint/.new/model.safetensors: write");
    rig->config.checkpoint = (char *)"run/checkpoint";
    rig->config.id = (char *)"s1";
    keep_records(rig);
    shepherd_on_courier(&rig->state, &made);
    rig->config.checkpoint = rig->config.id = NULL;
    assert_int_equal(rig->told.n, 1);
    const record_t *told = rig->told.at[0];
    assert_string_equal(told->text, "checkpoint_failed");
    assert_string_equal(told->event.level, "error");
    assert_non_null(strstr(told->detail, "run/checkpoint/.new/model.safetensors: write: No space"));
    assert_non_null(strstr(told->detail, "make room in run/checkpoint"));
    rig_free(rig);
}

int main(void)
{
    log_init("shepherd_copies_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_waits_for_copies),
        cmocka_unit_test(a_copy_that_does_not_come),
        cmocka_unit_test(a_worker_that_keeps_its_state),
        cmocka_unit_test(the_last_checkpoint),
        cmocka_unit_test(the_last_checkpoint_waits_for_aggregators),
        cmocka_unit_test(a_stop_without_its_aggregator),
        cmocka_unit_test(how_often),
        cmocka_unit_test(who_cannot_copy),
        cmocka_unit_test(a_state_on_its_way),
        cmocka_unit_test(a_state_of_who_moved),
        cmocka_unit_test(names_that_lie),
        cmocka_unit_test(a_lease_with_such_a_name),
        cmocka_unit_test(a_checkpoint_that_failed),
    };
    return cmocka_run_group_tests_name("shepherd_copies", tests, NULL, NULL);
}
