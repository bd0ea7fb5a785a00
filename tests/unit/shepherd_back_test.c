/* An inner state that nobody has: the run goes back to a checkpoint, and no lease is ever trained
 * without the state that it names. */
#include "shepherd_rig.h"

enum { BACK_MS = 5000 };

static char state_name[3][HASH_HEX];

/* Two replicas, two workers, round 2 is open; its leases name the states 1.. and 2... */
static rig_t *in_round_2(void)
{
    rig_t *rig = training(2, 9, 2);
    rig->config.timeout_ms = BACK_MS - 1000;
    do_round(rig, 0, W2);
    do_round(rig, 1, W2);
    for (int k = 0; k < 2; k++) {
        memset(state_name[k], '1' + k, HASH_HEX - 1);
        memcpy(rig->state.round.lease[k].state_in, state_name[k], HASH_HEX);
    }
    keep_records(rig);
    return rig;
}

static Msg__Lease lease_of(rig_t *rig, uint8_t worker)
{
    forget_sent(rig);
    ask(rig, worker);
    return *only(rig, worker, BODY(LEASE))->lease;
}

static void refuse(rig_t *rig, uint8_t from, uint32_t replica)
{
    Msg__Lease lease = MSG__LEASE__INIT;
    lease.round = rig->state.round.number;
    lease.fence = rig->state.round.lease[replica].fence;
    SAY(rig, from, LEASE_FAILED, lease_failed, Msg__LeaseFailed body = MSG__LEASE_FAILED__INIT;
        body.round = lease.round; body.replica = replica; body.fence = lease.fence;
        body.lost_state = state_name[replica]; body.error = "not here");
}

/* All have refused replica 0; the time-out is over, with everybody alive. */
static void lose(rig_t *rig)
{
    lease_of(rig, W1);
    lease_of(rig, W2);
    uint32_t first =
        rig->state.round.lease[0].holder ==
                member_by_peer(&rig->state.roster, &(msg_peer_t){.n = 5, .at = {W1}})->serial
            ? 0
            : 1;
    uint8_t holder = first == 0 ? W1 : W2, other = first == 0 ? W2 : W1;
    refuse(rig, holder, 0);
    assert_true(rig->state.round.lease[0].state == WORK_OPEN);
    Msg__Lease done = MSG__LEASE__INIT; /* the other one is through with its own */
    done.round = 2, done.replica = 1, done.fence = rig->state.round.lease[1].fence,
    done.inner_steps = 3;
    lease_done(rig, other, &done, 1);
    all_written(rig);
    assert_int_equal(lease_of(rig, other).replica, 0); /* it may have the state */
    refuse(rig, other, 0);
    forget_sent(rig);
    ask(rig, W1);
    ask(rig, W2);
    assert_int_equal(count(rig, 0, BODY(LEASE), NULL), 0); /* nobody is asked twice */
    assert_int_equal(rig->state.phase, PHASE_TRAIN);
    all_written(rig);
}

static void wait_out(rig_t *rig)
{
    for (int ms = 0; ms <= BACK_MS; ms += 500) {
        beat(rig, A, 0), beat(rig, C, 0), beat(rig, W1, 0), beat(rig, W2, 0);
        tick(rig, 500);
    }
}

static courier_result_t found(rig_t *rig, uint32_t round)
{
    assert_true(rig->job && rig->job->back);
    courier_result_t result = courier(rig, COURIER_LEDGER);
    if (round == 0) return result;
    result.checkpoint = mem_strdup("c/round-000001");
    result.ledger = (ledger_t){.run = mem_strdup("run"),
                               .round = round,
                               .tokens = 120,
                               .cursor = {.start = 12},
                               .n_state = 2,
                               .state = mem_calloc(3, HASH_HEX)};
    memset(result.ledger.state[0], '7', HASH_HEX - 1);
    memset(result.ledger.state[1], '8', HASH_HEX - 1);
    return result;
}

static void give(rig_t *rig, courier_result_t *result)
{
    shepherd_on_courier(&rig->state, result);
    ledger_fini(&result->ledger);
    free(result->checkpoint);
}

/* From the chosen checkpoint until leases may be given. */
static void restore(rig_t *rig, courier_kind_t kind)
{
    tick(rig, 10);
    courier_result_t published = courier(rig, COURIER_PUBLISH);
    give(rig, &published);
    const Msg__Assign *assign = only(rig, A, BODY(ASSIGN))->assign;
    assert_false(assign->keep);
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    courier_result_t ready = courier(rig, kind);
    give(rig, &ready);
    assert_false(rig->state.recovery.backing);
}

static void the_run_goes_back(void **unused)
{
    (void)unused;
    rig_t *rig = in_round_2();
    lose(rig);
    uint32_t fence = rig->state.round.lease[0].fence;
    wait_out(rig);
    assert_int_equal(rig->state.phase, PHASE_GATHER);
    courier_result_t result = found(rig, 1);
    give(rig, &result);
    tick(rig, 10);
    assert_null(rig->job); /* the shards keep what they have until the store knows */
    const record_t *back = rig->records.at[0];
    assert_true(back->kind == RECORD_BACK && back->from == 2 && back->round == 1);
    assert_non_null(strstr(back->detail, "inner state 111111111111 of replica 0"));
    assert_string_equal(back->text, "c/round-000001");
    written(rig, RECORD_BACK);
    forget_sent(rig);
    restore(rig, COURIER_RESTORE);
    written(rig, RECORD_OBJECTS);
    written(rig, RECORD_DATA);
    assert_true(rig->records.at[0]->round == 1 && rig->records.at[0]->cursor.start == 12);
    written(rig, RECORD_REWIND);
    assert_int_equal(rig->records.at[0]->round, 1);
    forget_sent(rig);
    written(rig, RECORD_OPEN); /* both workers are free since they refused */
    const Msg__Lease *again = only(rig, W1, BODY(LEASE))->lease;
    assert_true(again->round == 1 && again->start == 12 + 6 * again->replica);
    assert_int_equal(again->state[0], again->replica == 0 ? '7' : '8');
    assert_true(again->fence > fence); /* nothing of the rounds that are void can count */
    rig_free(rig);
}

/* What a shard that had been away was told, to keep what it holds, is no longer so. */
static void nothing_is_kept_on_the_way_back(void **unused)
{
    (void)unused;
    rig_t *rig = in_round_2();
    Msg__ShardState shard = MSG__SHARD_STATE__INIT;
    shard.run_hash = rig->state.run_hash;
    shard.shards = 1;
    shard.round = 2;
    SAY(rig, A, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    forget_sent(rig);
    SAY(rig, A, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_AGGREGATOR; body.id = "a0"; body.endpoint = "ipc://data";
        body.shard = &shard);
    assert_true(only(rig, A, BODY(ASSIGN))->assign->keep);
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    lose(rig);
    wait_out(rig);
    courier_result_t result = found(rig, 1);
    give(rig, &result);
    written(rig, RECORD_BACK);
    forget_sent(rig);
    restore(rig, COURIER_RESTORE); /* not kept */
    rig_free(rig);
}

static void who_has_the_state_takes_the_lease(void **unused)
{
    (void)unused;
    rig_t *rig = in_round_2();
    lose(rig);
    tick(rig, 1000);
    hello(rig, W3, MSG__KIND__KIND_WORKER, "w3");
    assert_int_equal(lease_of(rig, W3).replica, 0);
    wait_out(rig); /* (w3 says nothing and is lost) */
    assert_int_equal(rig->state.phase, PHASE_GATHER);
    rig_free(rig);

    rig = in_round_2();
    lose(rig);
    tick(rig, 1000);
    hello(rig, W3, MSG__KIND__KIND_WORKER, "w3");
    Msg__Lease lease = lease_of(rig, W3);
    lease.inner_steps = 3;
    lease_done(rig, W3, &lease, 1);
    all_written(rig);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    rig_free(rig);
}

static void without_a_checkpoint_it_begins_again(void **unused)
{
    (void)unused;
    rig_t *rig = in_round_2();
    lose(rig);
    wait_out(rig);
    courier_result_t result = found(rig, 0);
    give(rig, &result);
    assert_string_equal(rig->records.at[0]->text, "");
    written(rig, RECORD_BACK);
    forget_sent(rig);
    restore(rig, COURIER_INIT);
    all_written(rig);
    assert_int_equal(rig->state.round.number, 0);
    const Msg__Lease *again = only(rig, W1, BODY(LEASE))->lease;
    assert_true(again->round == 0 && again->start == 6 * again->replica && !*again->state);
    rig_free(rig);
}

static void it_does_not_go_back_for_ever(void **unused)
{
    (void)unused;
    rig_t *rig = in_round_2();
    rig->state.recovery.backs = 3;
    lose(rig);
    wait_out(rig);
    assert_int_equal(rig->state.phase, PHASE_DONE);
    assert_int_equal(rig->state.exit_status, 1);
    assert_string_equal(rig->records.at[rig->records.n - 1]->text, "failed");
    assert_non_null(strstr(rig->records.at[rig->records.n - 1]->detail, "went back 3 times"));
    rig_free(rig);
}

static void one_that_cannot_be_read_is_left_out(void **unused)
{
    (void)unused;
    rig_t *rig = in_round_2();
    lose(rig);
    wait_out(rig);
    courier_result_t result = found(rig, 1);
    give(rig, &result);
    written(rig, RECORD_BACK);
    tick(rig, 10);
    forget_sent(rig);
    courier_result_t published = courier(rig, COURIER_PUBLISH);
    give(rig, &published);
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT);
    courier_result_t torn = courier(rig, COURIER_RESTORE);
    err_set(&torn.err, ERR_CORRUPT, "torn");
    give(rig, &torn);
    assert_int_equal(rig->state.phase, PHASE_GATHER);
    tick(rig, 10);
    result = found(rig, 0);
    give(rig, &result);
    all_written(rig);
    forget_sent(rig);
    restore(rig, COURIER_INIT);
    rig_free(rig);
}

/* The leader dies between the word to the store and the last shard. */
static void a_stand_by_does_it_again(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(2, 9);
    rig->state.phase = PHASE_STANDBY;
    recorder_result_t result = {.event = RECORDER_LEADS, .leader = {.fence = 3}};
    store_resume_t *r = &result.resume;
    snprintf(result.run.state, sizeof result.run.state, "running");
    r->has_round = true;
    r->round = (store_round_t){.round = 4};
    snprintf(r->round.state, sizeof r->round.state, "open");
    r->rewind = mem_strdup("a state is lost");
    r->rewind_from = 6;
    keep_records(rig);
    shepherd_on_recorder(&rig->state, &result);
    hello(rig, C, MSG__KIND__KIND_COMPILER, "c0");
    hello(rig, W1, MSG__KIND__KIND_WORKER, "w1");
    Msg__ShardState shard = MSG__SHARD_STATE__INIT; /* it holds the open round: of no use */
    shard.run_hash = rig->state.run_hash;
    shard.shards = 1;
    shard.round = 4;
    SAY(rig, A, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_AGGREGATOR; body.id = "a0"; body.endpoint = "ipc://data";
        body.shard = &shard);
    tick(rig, 10);
    courier_result_t chosen = found(rig, 1);
    give(rig, &chosen);
    assert_int_equal(rig->records.at[0]->from, 6);
    assert_string_equal(rig->records.at[0]->detail, "a state is lost");
    written(rig, RECORD_BACK);
    tick(rig, 10);
    assert_int_equal(rig->job->kind, COURIER_PUBLISH);
    rig_free(rig);
}

/* A store that was made from a checkpoint does not know the states of the round before. */
static void a_blank_round_is_not_gone_on_from(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(2, 9);
    rig->state.phase = PHASE_STANDBY;
    recorder_result_t result = {.event = RECORDER_LEADS, .leader = {.fence = 3}};
    snprintf(result.run.state, sizeof result.run.state, "running");
    result.resume.has_round = true;
    result.resume.round = (store_round_t){.round = 4};
    snprintf(result.resume.round.state, sizeof result.resume.round.state, "committed");
    shepherd_on_recorder(&rig->state, &result);
    assert_true(rig->state.recovery.backing);
    assert_int_equal(rig->state.recovery.from, 5);
    rig_free(rig);
}

/* An aggregator of before the way down had codecs would send parameters that nobody else has. */
static void an_older_aggregator_is_no_good_for_a_way_down(void **unused)
{
    (void)unused;
    for (uint32_t knows = 0; knows <= 3; knows += 3) {
        rig_t *rig = compiling(3);
        rig->state.down_codec = 3;
        plan_reply(rig, "", false);
        assert_int_equal(only(rig, A, BODY(ASSIGN))->assign->down_codec, 3);
        SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT;
            body.down_codec = knows);
        assert_int_equal(rig->state.finished, knows == 0);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_aggregator_is_no_good_for_a_way_down),
        cmocka_unit_test(the_run_goes_back),
        cmocka_unit_test(nothing_is_kept_on_the_way_back),
        cmocka_unit_test(who_has_the_state_takes_the_lease),
        cmocka_unit_test(without_a_checkpoint_it_begins_again),
        cmocka_unit_test(it_does_not_go_back_for_ever),
        cmocka_unit_test(one_that_cannot_be_read_is_left_out),
        cmocka_unit_test(a_stand_by_does_it_again),
        cmocka_unit_test(a_blank_round_is_not_gone_on_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
