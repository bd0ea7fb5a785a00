/* "replicas": "auto": as many as there are workers, decided when a round opens and written before
 * its leases; fewer only when workers were missing for long. */
#include "shepherd_rig.h"

enum { SHRINK_MS = 2000 };

/* A run that n_worker workers have begun; at most four replicas. */
static rig_t *begun(int n_worker)
{
    rig_t *rig = rig_new(1, 30);
    shepherd_fini(&rig->state); /* it was made for a fixed number */
    rig->state = (shepherd_t){.ports = {.out = {record, rig}, .start = take_job, .user = rig}};
    rig->config.replicas = CONFIG_WORD;
    rig->config.max_replicas = 4;
    rig->config.shrink_s = SHRINK_MS / 1000.0;
    rig->config.workers = n_worker;
    err_t err = {0};
    assert_int_equal(shepherd_init(&rig->state, &rig->config, &err), 0);
    tick(rig, 0);
    reach_training(rig, n_worker);
    return rig;
}

static void leave(rig_t *rig, uint8_t worker)
{
    SAY(rig, worker, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "drained");
}

/* Time passes for those who are there. */
static void pass(rig_t *rig, int64_t ms, uint8_t last)
{
    for (int64_t at = 0; at < ms; at += 500) {
        beat(rig, A, 0), beat(rig, C, 0);
        for (uint8_t w = W1; w <= last; w++) beat(rig, w, 0);
        tick(rig, 500);
    }
    forget_sent(rig);
}

static void name_states(rig_t *rig)
{
    for (int64_t k = 0; k < rig->state.round.replicas; k++)
        memset(rig->state.round.lease[k].state_in, '1' + (char)k, HASH_HEX - 1);
}

/* No window twice and none left out: the leases begin at `*at`, one behind the other. */
static void assert_ranges(const rig_t *rig, uint64_t *at)
{
    uint64_t epoch = layout_units(&rig->state.bulk.layout, rig->state.bulk.train_tokens);
    for (int64_t k = 0; k < rig->state.round.replicas; k++) {
        const data_range_t *range = &rig->state.round.lease[k].range;
        assert_int_equal(range->epoch * epoch + range->start, *at);
        *at += range->count;
    }
}

static void more_workers_are_more_replicas_from_the_next_round_on(void **unused)
{
    (void)unused;
    rig_t *rig = begun(2);
    uint64_t at = 0;
    assert_int_equal(rig->state.round.replicas, 2);
    assert_ranges(rig, &at);
    hello(rig, W3, MSG__KIND__KIND_WORKER, "w3");
    hello(rig, W4, MSG__KIND__KIND_WORKER, "w4");
    hello(rig, W4 + 1, MSG__KIND__KIND_WORKER, "w5"); /* beyond the bound */
    assert_int_equal(rig->state.round.replicas, 2);   /* the round is open */
    name_states(rig);
    do_round(rig, 0, W4);
    assert_int_equal(rig->state.round.replicas, 4);
    assert_ranges(rig, &at);
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < k; j++)
            assert_int_not_equal(rig->state.round.lease[k].home, rig->state.round.lease[j].home);
    assert_string_equal(rig->state.round.lease[2].state_in, ""); /* it begins afresh */
    do_round(rig, 1, W4);
    assert_int_equal(rig->state.round.replicas, 4);
    assert_ranges(rig, &at);
    assert_int_equal(rig->state.sizing.sizes.n, 2);
    rig_free(rig);
}

static void fewer_only_after_a_while(void **unused)
{
    (void)unused;
    rig_t *rig = begun(4);
    uint64_t at = 0;
    assert_ranges(rig, &at);
    leave(rig, W4);
    pass(rig, SHRINK_MS - 1000, W3);
    do_round(rig, 0, W3); /* three do the work of four */
    assert_int_equal(rig->state.round.replicas, 4);
    assert_ranges(rig, &at);
    hello(rig, W4, MSG__KIND__KIND_WORKER, "w4"); /* back, and gone again: it counts anew */
    tick(rig, 100);
    leave(rig, W4);
    pass(rig, SHRINK_MS - 1000, W3);
    do_round(rig, 1, W3);
    assert_int_equal(rig->state.round.replicas, 4);
    assert_ranges(rig, &at);
    leave(rig, W3);
    pass(rig, SHRINK_MS, W2);
    name_states(rig);
    forget_sent(rig);
    do_round(rig, 2, W2);
    assert_int_equal(rig->state.round.replicas, 2);
    assert_ranges(rig, &at);
    do_round(rig, 3, W2);
    hello(rig, W3, MSG__KIND__KIND_WORKER, "w3");
    do_round(rig, 4, W3);
    assert_int_equal(rig->state.round.replicas, 3);
    assert_string_equal(rig->state.round.lease[2].state_in, ""); /* not what it once was */
    rig_free(rig);
}

/* The shards need not keep the inner states of replicas that are gone. */
static void states_of_gone_replicas_are_forgotten(void **unused)
{
    (void)unused;
    rig_t *rig = begun(2);
    memset(rig->state.round.lease[1].state_in, 'f', HASH_HEX - 1);
    keep_records(rig);
    ask(rig, W1), ask(rig, W2);
    for (uint32_t k = 0; k < 2; k++) {
        Msg__Lease lease = MSG__LEASE__INIT;
        lease.replica = k, lease.fence = rig->state.round.lease[k].fence, lease.inner_steps = 3;
        uint32_t w1 = member_by_peer(&rig->state.roster, &(msg_peer_t){.n = 5, .at = {W1}})->serial;
        lease_done(rig, rig->state.round.lease[k].holder == w1 ? W1 : W2, &lease, 1);
    }
    all_written(rig);
    memset(rig->state.round.lease[1].state_out, 'e', HASH_HEX - 1);
    leave(rig, W2);
    pass(rig, SHRINK_MS + 500, W1);
    committed(rig, 0, "");
    assert_int_equal(rig->state.round.replicas, 1);
    /* The number, then the round; no lease before both are written. */
    bool sized = false;
    ask(rig, W1);
    forget_sent(rig);
    while (rig->records.n > 0) {
        const record_t *next = rig->records.at[0];
        assert_int_equal(count(rig, 0, BODY(LEASE), NULL), 0);
        if (next->kind == RECORD_REPLICAS) {
            assert_true(next->replica == 1 && next->round == 1);
            assert_non_null(strstr(next->text, "1 workers are there, for "));
            sized = true;
        }
        bool opens = next->kind == RECORD_OPEN;
        if (opens) assert_true(sized && next->n_lease == 1);
        written(rig, next->kind);
        if (opens) break;
    }
    assert_int_equal(only(rig, W1, BODY(LEASE))->lease->round, 1);
    const Msg__Forget *forget = only(rig, A, BODY(FORGET))->forget;
    assert_int_equal(forget->n_objects, 2); /* what the round began with and what it gave */
    assert_int_equal(forget->objects[0][0], 'f');
    assert_int_equal(forget->objects[1][0], 'e');
    rig_free(rig);
}

/* Another has led, and gone back behind rounds that had two and then three replicas. */
static void what_was_decided_is_done_again(void **unused)
{
    (void)unused;
    rig_t *rig = begun(1);
    store_replicas_t rows[] = {{1, 2}, {3, 3}};
    const store_resume_t loaded = {.sizes = rows, .n_size = 2, .sized = 5};
    rig->state.sizing.sizes.n = 0;
    replicas_load(&rig->state.sizing, &loaded);
    static const int64_t want[] = {2, 2, 3, 3, 3, 3}; /* of rounds 1 to 6 */
    for (uint32_t r = 0; r < 6; r++) {
        do_round(rig, r, W1);
        assert_int_equal(rig->state.round.replicas, want[r]);
        assert_int_equal(rig->state.sizing.sizes.n, 2); /* nothing new is decided */
    }
    pass(rig, SHRINK_MS, W1);
    do_round(rig, 6, W1);
    assert_int_equal(rig->state.round.replicas, 1);
    rig_free(rig);
}

static void memory_cannot_move(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 1);
    err_t err = {0};
    assert_int_equal(config_set(&shepherd_table, &rig->config, "replicas", "auto", &err), 0);
    assert_int_equal(shepherd_config_check(&rig->config, &err), 0);
    assert_int_equal(config_set(&shepherd_table, &rig->config, "keep_state", "memory", &err), 0);
    assert_int_equal(shepherd_config_check(&rig->config, &err), -1);
    assert_non_null(strstr(err.text, "keep_state"));
    char *own = shepherd_config_result(&rig->config);
    assert_non_null(strstr(own, "\"replicas\": \"auto\""));
    assert_non_null(strstr(own, "max_replicas"));
    free(own);
    rig->config.replicas = 1;
    own = shepherd_config_result(&rig->config);
    assert_null(strstr(own, "max_replicas")); /* runs of before go on */
    free(own);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_workers_are_more_replicas_from_the_next_round_on),
        cmocka_unit_test(fewer_only_after_a_while),
        cmocka_unit_test(states_of_gone_replicas_are_forgotten),
        cmocka_unit_test(what_was_decided_is_done_again),
        cmocka_unit_test(memory_cannot_move),
    };
    return cmocka_run_group_tests_name("shepherd, replicas", tests, NULL, NULL);
}
