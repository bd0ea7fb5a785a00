/* What the shepherd tells aggregators of leases: who has each, under which fence, together, and again to who comes back. */
#include "shepherd_rig.h"

#include "base/log.h"

/* The aggregator says, in the middle of a round, what it knows. */
static void assigned(rig_t *rig, bool holders)
{
    SAY(rig, A, ASSIGNED, assigned, Msg__Assigned body = MSG__ASSIGNED__INIT;
        body.holders = holders);
}

static rig_t *announcing(int64_t replicas, int n_worker)
{
    rig_t *rig = training(replicas, 2, n_worker);
    assigned(rig, true);
    forget_sent(rig);
    return rig;
}

/* The last word that was sent of a replica; NULL: none. */
static const Msg__Holder *told(const rig_t *rig, uint32_t replica)
{
    const Msg__Holder *found = NULL;
    for (size_t i = 0; i < rig->n_sent; i++) {
        if (rig->sent[i].to != A || rig->sent[i].message->body_case != BODY(FENCE)) continue;
        const Msg__Fence *fence = rig->sent[i].message->fence;
        for (size_t h = 0; h < fence->n_holders; h++)
            if (fence->holders[h]->replica == replica) found = fence->holders[h];
    }
    return found;
}

static void assert_told(const rig_t *rig, uint32_t replica, uint32_t fence, const char *worker)
{
    const Msg__Holder *holder = told(rig, replica);
    assert_non_null(holder);
    assert_int_equal(holder->fence, fence);
    assert_string_equal(holder->worker, worker);
}

static void leases_are_announced_with_their_holders(void **unused)
{
    (void)unused;
    rig_t *rig = announcing(2, 3);
    for (uint8_t w = W1; w <= W3; w++) ask(rig, w);
    assert_int_equal(count(rig, A, BODY(FENCE), NULL), 2); /* one for each that asked and got one */
    assert_told(rig, only(rig, W1, BODY(LEASE))->lease->replica, 1, "w1");
    uint32_t lost = only(rig, W1, BODY(LEASE))->lease->replica;
    assert_told(rig, only(rig, W2, BODY(LEASE))->lease->replica, 1, "w2");
    forget_sent(rig);
    SAY(rig, W1, BYE, bye, Msg__Bye body = MSG__BYE__INIT); /* the spare has it at once */
    assert_int_equal(only(rig, A, BODY(FENCE))->fence->fence, 0);
    assert_told(rig, lost, 2, "w3");
    forget_sent(rig);
    assigned(rig, true); /* started again: all of them, in one message */
    assert_int_equal(only(rig, A, BODY(FENCE))->fence->n_holders, 2);
    assert_told(rig, lost, 2, "w3");
    assert_told(rig, 1 - lost, 1, "w2");
    forget_sent(rig);
    SAY(rig, W3, BYE, bye, Msg__Bye body = MSG__BYE__INIT); /* nobody is left */
    assert_told(rig, lost, 3, "");
    rig_free(rig);
}

/* What was given for one message is told in one. */
static void many_are_told_together(void **unused)
{
    (void)unused;
    enum { REPLICAS = 8 };
    rig_t *rig = announcing(REPLICAS, 1);
    beat(rig, W1, REPLICAS);
    assert_int_equal(count(rig, W1, BODY(LEASE), NULL), REPLICAS);
    assert_int_equal(only(rig, A, BODY(FENCE))->fence->n_holders, REPLICAS);
    for (uint32_t k = 0; k < REPLICAS; k++) assert_told(rig, k, 1, "w1");
    rig_free(rig);
}

static void an_older_aggregator_hears_of_fences_that_rise(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 2, 2);
    ask(rig, W1);
    assert_int_equal(count(rig, A, BODY(FENCE), NULL), 0);
    SAY(rig, W1, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    const Msg__Fence *fence = only(rig, A, BODY(FENCE))->fence;
    assert_true(fence->fence == 2 && fence->n_holders == 0);
    forget_sent(rig);
    assigned(rig, false);
    fence = only(rig, A, BODY(FENCE))->fence;
    assert_true(fence->fence == 2 && fence->n_holders == 0);
    rig_free(rig);
}

/* Back in the middle of a round, and what it was told, or its answer, is lost on the way. */
static void who_is_back_is_asked_until_it_answers(void **unused)
{
    (void)unused;
    rig_t *rig = announcing(1, 2);
    ask(rig, W1);
    Msg__ShardState shard = MSG__SHARD_STATE__INIT;
    shard.run_hash = rig->state.run_hash;
    shard.shards = 1;
    forget_sent(rig);
    SAY(rig, A, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_AGGREGATOR; body.incarnation = 2; body.id = "back";
        body.endpoint = "ipc://data"; body.shard = &shard);
    assert_int_equal(count(rig, A, BODY(ASSIGN), NULL), 1);
    for (int i = 0; i < 3; i++) {
        forget_sent(rig);
        tick(rig, MSG_RESEND_MS);
        assert_true(only(rig, A, BODY(ASSIGN))->assign->keep);
        assert_int_equal(count(rig, A, BODY(FENCE), NULL), 0);
    }
    forget_sent(rig);
    assigned(rig, true);
    assert_told(rig, 0, 1, "w1");
    forget_sent(rig);
    tick(rig, MSG_RESEND_MS);
    assert_int_equal(count(rig, A, BODY(ASSIGN), NULL), 0);
    rig_free(rig);
}

int main(void)
{
    log_init("shepherd_announcing_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leases_are_announced_with_their_holders),
        cmocka_unit_test(many_are_told_together),
        cmocka_unit_test(who_is_back_is_asked_until_it_answers),
        cmocka_unit_test(an_older_aggregator_hears_of_fences_that_rise),
    };
    return cmocka_run_group_tests_name("shepherd_announcing", tests, NULL, NULL);
}
