/* Who is silent is lost, who cannot be heard is not: by a clock of the test's. */
#include "shepherd_rig.h"

#include "shepherd/roster/pace.h"

enum { N = 20, STEP = 100 };

/* N workers, each with a lease. */
static rig_t *crowd(void)
{
    rig_t *rig = rig_new(N, 3);
    rig->config.workers = N;
    reach_training(rig, N);
    for (int i = 0; i < N; i++) ask(rig, (uint8_t)(W1 + i));
    assert_int_equal(rig->state.round.n_lease[WORK_ISSUED], N);
    forget_sent(rig);
    return rig;
}

/* For so long the aggregator, the compiler and workers from `first` on say something. */
static void pass(rig_t *rig, int64_t ms, int first)
{
    for (int64_t at = 0; at < ms; at += STEP) {
        tick(rig, STEP);
        beat(rig, A, 0);
        beat(rig, C, 0);
        for (int i = first; i < N; i++) beat(rig, (uint8_t)(W1 + i), 0);
        forget_sent(rig);
    }
}

static size_t here(const rig_t *rig)
{
    return members_count(&rig->state.roster, MSG__KIND__KIND_WORKER);
}

/* All are held up, or we are: when they are heard again, nothing was lost and nothing given again. */
static void a_held_up_shepherd_loses_nobody(void **unused)
{
    (void)unused;
    rig_t *rig = crowd();
    pass(rig, 7000, N);
    assert_int_equal(here(rig), N);
    for (int i = 0; i < N; i++) ask(rig, (uint8_t)(W1 + i)); /* any message is a sign of life */
    pass(rig, 2000, 0);
    assert_int_equal(here(rig), N);
    assert_int_equal(rig->state.roster.silence.doubt_ms, 0);
    assert_int_equal(rig->state.round.n_lease[WORK_ISSUED], N);
    for (int k = 0; k < N; k++) assert_int_equal(rig->state.round.lease[k].fence, 1);
    rig_free(rig);
}

/* Six of ten die: they are found after two time-outs, the others stay. */
static void many_dead_are_found(void **unused)
{
    (void)unused;
    rig_t *rig = crowd();
    int dead = N * 6 / 10;
    pass(rig, rig->config.timeout_ms + 1000, dead);
    assert_int_equal(here(rig), N); /* in doubt */
    pass(rig, rig->config.timeout_ms, dead);
    assert_int_equal(here(rig), N - dead);
    assert_int_equal(rig->state.round.n_lease[WORK_OPEN], dead);
    assert_non_null(member_by_id(&rig->state.roster, "w20"));
    rig_free(rig);
}

/* Those who come back late keep the others from being lost; but not for ever. */
static void who_comes_back_prolongs_the_doubt(void **unused)
{
    (void)unused;
    rig_t *rig = crowd();
    pass(rig, 5000, N);
    for (int i = 0; i < 3; i++) {
        beat(rig, (uint8_t)(W1 + i), 0);
        pass(rig, 3000, N);
        assert_int_equal(here(rig), N);
    }
    pass(rig, 2000, N);
    assert_int_equal(here(rig), 0);
    rig_free(rig);
}

/* One who speaks now and then does not keep the dead alive. */
static void a_doubt_ends(void **unused)
{
    (void)unused;
    rig_t *rig = crowd();
    int64_t most = 16 * rig->config.timeout_ms + 5000, began = rig->now;
    while (here(rig) > N / 2 && rig->now - began < 2 * most) {
        int64_t round = (rig->now - began) / 4100;
        beat(rig, (uint8_t)(W1 + round % 10), 0); /* each is silent for longer than it may */
        pass(rig, 4100 / 2 / STEP * STEP, N);
    }
    assert_true(rig->now - began > 2 * rig->config.timeout_ms);
    assert_true(rig->now - began < most);
    rig_free(rig);
}

/* A few are lost as ever: by their silence alone. */
static void a_few_are_lost_at_once(void **unused)
{
    (void)unused;
    rig_t *rig = crowd();
    pass(rig, rig->config.timeout_ms + 500, 3);
    assert_int_equal(here(rig), N - 3);
    rig_free(rig);
}

/* What waits unread may be a sign of life. */
static void nobody_is_lost_while_messages_wait(void **unused)
{
    (void)unused;
    rig_t *rig = crowd();
    rig->state.unread = true;
    pass(rig, 2 * rig->config.timeout_ms, 3);
    assert_int_equal(here(rig), N);
    rig->state.unread = false;
    pass(rig, 500, 3);
    assert_int_equal(here(rig), N - 3);
    rig->state.unread = true; /* without end */
    pass(rig, 6 * rig->config.timeout_ms, 5);
    assert_int_equal(here(rig), N - 5);
    rig_free(rig);
}

static void idle(rig_t *rig, uint64_t answered)
{
    SAY(rig, W1, HEARTBEAT, heartbeat, Msg__Heartbeat body = MSG__HEARTBEAT__INIT; body.credit = 1;
        body.answered = answered);
}

/* An idle worker's words that are older than the lease mean nothing, however late they are read. */
static void old_words_lose_no_work(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 1);
    reach_training(rig, 1);
    beat(rig, W1, 0); /* number 7 */
    ask(rig, W1);
    only(rig, W1, BODY(LEASE));
    for (int i = 0; i < 50; i++) {
        tick(rig, STEP);
        beat(rig, A, 0);
        beat(rig, W1, 0);
    }
    idle(rig, 7); /* it had heard nothing that was said after the lease */
    only(rig, W1, BODY(LEASE));
    idle(rig, 8);
    assert_int_equal(count(rig, W1, BODY(LEASE), NULL), 2);
    rig_free(rig);
}

/* The more there are, the less often each; never so seldom that three would not fit into the time-out. */
static void the_pace(void **unused)
{
    (void)unused;
    assert_int_equal(pace_ms(1, 500, 4000), 500);
    assert_int_equal(pace_ms(2000, 500, 4000), 500);
    assert_int_equal(pace_ms(4000, 500, 4000), 1000);
    assert_int_equal(pace_ms(10000, 500, 4000), 1333);
    assert_int_equal(pace_ms(100000, 10, 50), 16);
    assert_int_equal(pace_ms(100000, 500, 900), 500); /* as an operator wants it */
    rig_t *rig = crowd();
    beat(rig, W1, 0);
    assert_int_equal(only(rig, W1, BODY(HEARTBEAT))->heartbeat->pace_ms, rig->config.heartbeat_ms);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_held_up_shepherd_loses_nobody),
        cmocka_unit_test(many_dead_are_found),
        cmocka_unit_test(who_comes_back_prolongs_the_doubt),
        cmocka_unit_test(a_doubt_ends),
        cmocka_unit_test(a_few_are_lost_at_once),
        cmocka_unit_test(nobody_is_lost_while_messages_wait),
        cmocka_unit_test(old_words_lose_no_work),
        cmocka_unit_test(the_pace),
    };
    return cmocka_run_group_tests_name("shepherd, silence", tests, NULL, NULL);
}
