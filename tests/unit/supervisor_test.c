/* The supervisor's state machines without processes: time is passed in, starts and kills are
 * recorded. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/fleet.h"
#include "supervisor/processes.h"

static const restart_policy_t policy = {
    .base_ms = 100, .max_ms = 1000, .stable_ms = 5000, .window_ms = 60000, .max_exits = 9};

/* --- back-off --- */

static void the_first_end_restarts_at_once(void **unused)
{
    (void)unused;
    restart_t self = {0};
    assert_int_equal(restart_wait(&self, &policy, 1000, 10, 0.9), 0);
}

static void waits_double_up_to_a_bound(void **unused)
{
    (void)unused;
    static const int64_t least[] = {0, 50, 100, 200, 400, 500, 500};
    static const int64_t most[] = {0, 100, 200, 400, 800, 1000, 1000};
    restart_t low = {0}, high = {0};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(restart_wait(&low, &policy, 1000 * i, 10, 0), least[i]);
        int64_t wait = restart_wait(&high, &policy, 1000 * i, 10, 0.999999);
        assert_in_range(wait, least[i], most[i]);
        if (most[i]) assert_true(wait >= most[i] - 2); /* jitter reaches the whole upper half */
    }
}

static void a_stable_life_ends_the_row(void **unused)
{
    (void)unused;
    restart_t self = {0};
    for (int i = 0; i < 4; i++) restart_wait(&self, &policy, 1000 * i, 10, 0);
    assert_int_equal(restart_wait(&self, &policy, 10000, policy.stable_ms, 0), 0);
    assert_int_equal(restart_wait(&self, &policy, 10100, 100, 0), 50);
}

static void too_many_ends_within_the_window_are_the_last(void **unused)
{
    (void)unused;
    restart_t fast = {0}, slow = {0};
    for (int i = 0; i < policy.max_exits - 1; i++) {
        assert_true(restart_wait(&fast, &policy, 1000 * i, 10, 0) >= 0);
        assert_true(restart_wait(&slow, &policy, 8000 * i, 10, 0) >= 0);
    }
    assert_int_equal(restart_wait(&fast, &policy, 8000, 10, 0), RESTART_NEVER);
    for (int i = policy.max_exits - 1; i < 100; i++) /* 8 ends in 64 s for ever */
        assert_true(restart_wait(&slow, &policy, 8000 * i, 10, 0) >= 0);
}

static void one_end_may_be_too_many(void **unused)
{
    (void)unused;
    restart_policy_t strict = policy;
    strict.max_exits = 1;
    restart_t self = {0};
    assert_int_equal(restart_wait(&self, &strict, 0, 1000000, 0), RESTART_NEVER);
}

/* --- the fleet --- */

typedef struct {
    fleet_policy_t policy;
    fleet_t fleet;
    int64_t now;
    int n_spawn[4], n_term[4], n_kill[4];
    bool broken; /* nothing can be started */
} rig_t;

static int spawn(void *user, int worker, err_t *err)
{
    rig_t *rig = user;
    if (rig->broken) return err_set(err, ERR_IO, "no such program");
    rig->n_spawn[worker]++;
    return 0;
}

static void kill_worker(void *user, int worker, int signal)
{
    rig_t *rig = user;
    if (signal == SIGTERM) rig->n_term[worker]++;
    if (signal == SIGKILL) rig->n_kill[worker]++;
}

static void changed(void *user, int worker, const char *reason)
{
    (void)user, (void)worker;
    assert_non_null(reason);
}

static double chance(void *user)
{
    (void)user;
    return 0.5;
}

/* Time goes on in ticks; the workers of `alive` show life in each. */
static void pass(rig_t *rig, int64_t ms, const char *alive)
{
    for (int64_t end = rig->now + ms; rig->now < end;) {
        rig->now += 10;
        fleet_tick(&rig->fleet, rig->now);
        for (const char *w = alive; *w; w++) fleet_alive(&rig->fleet, *w - '0');
    }
}

static void begin(rig_t *rig, int n, const char *alive)
{
    *rig = (rig_t){.policy = {.restart = policy,
                              .stagger_ms = 100,
                              .first_beat_ms = 3000,
                              .timeout_ms = 1000,
                              .grace_ms = 2000}};
    fleet_ops_t ops = {spawn, kill_worker, changed, chance, rig};
    fleet_init(&rig->fleet, &rig->policy, &ops, n, 0);
    pass(rig, 500, alive);
}

static slot_state_t state_of(const rig_t *rig, int worker)
{
    return rig->fleet.slots.at[worker].state;
}

static void starts_are_staggered(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 0, "");
    fleet_scale(&rig.fleet, 3);
    pass(&rig, 90, "");
    assert_int_equal(rig.n_spawn[0], 1);
    assert_int_equal(rig.n_spawn[1], 0);
    pass(&rig, 100, "");
    assert_int_equal(rig.n_spawn[1], 1);
    assert_int_equal(rig.n_spawn[2], 0);
    pass(&rig, 100, "");
    assert_int_equal(rig.n_spawn[2], 1);
    fleet_fini(&rig.fleet);
}

static void a_crashed_worker_starts_again_without_a_tick(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 2, "01");
    assert_int_equal(state_of(&rig, 0), SLOT_RUNNING);
    fleet_ended(&rig.fleet, 0, ENDED_CRASHED, "crashed");
    assert_int_equal(rig.n_spawn[0], 2);
    assert_int_equal(state_of(&rig, 0), SLOT_STARTING);
    assert_int_equal(rig.fleet.slots.at[0].restarts, 1);
    assert_int_equal(state_of(&rig, 1), SLOT_RUNNING);
    fleet_fini(&rig.fleet);
}

static void silence_is_death(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 2, "01");
    pass(&rig, 980, "0");
    assert_int_equal(rig.n_kill[1], 0);
    pass(&rig, 60, "0");
    assert_int_equal(rig.n_kill[1], 1);
    assert_int_equal(rig.n_kill[0], 0);
    pass(&rig, 500, "0"); /* one signal is enough */
    assert_int_equal(rig.n_kill[1], 1);
    fleet_ended(&rig.fleet, 1, ENDED_CRASHED, "killed");
    pass(&rig, 10, "0");
    assert_int_equal(rig.n_spawn[1], 2);
    pass(&rig, 2900, "0"); /* a new process may take longer until its first sign */
    assert_int_equal(rig.n_kill[1], 1);
    pass(&rig, 200, "0");
    assert_int_equal(rig.n_kill[1], 2);
    fleet_fini(&rig.fleet);
}

static void own_sleep_is_forgiven(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 1, "0");
    rig.now += 3600000;
    pass(&rig, 500, "");
    assert_int_equal(rig.n_kill[0], 0);
    pass(&rig, 600, "");
    assert_int_equal(rig.n_kill[0], 1);
    fleet_fini(&rig.fleet);
}

static void a_crash_loop_is_given_up(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 2, "01");
    for (int i = 0; i < 2 * policy.max_exits && state_of(&rig, 0) != SLOT_FAILED; i++) {
        fleet_ended(&rig.fleet, 0, ENDED_CRASHED, "crashed");
        pass(&rig, 1000, "1");
    }
    assert_int_equal(state_of(&rig, 0), SLOT_FAILED);
    assert_int_equal(rig.n_spawn[0], policy.max_exits);
    assert_int_equal(fleet_end(&rig.fleet), FLEET_WORKS); /* the other one lives */
    fleet_drain(&rig.fleet, 1);
    assert_int_equal(fleet_end(&rig.fleet), FLEET_WORKS);
    fleet_ended(&rig.fleet, 1, ENDED_CLEAN, "left");
    assert_int_equal(fleet_end(&rig.fleet), FLEET_FAILED);
    fleet_restart(&rig.fleet, 0); /* an operator forgives */
    pass(&rig, 20, "0");
    assert_int_equal(state_of(&rig, 0), SLOT_RUNNING);
    fleet_ended(&rig.fleet, 0, ENDED_CRASHED, "crashed");
    assert_int_equal(state_of(&rig, 0), SLOT_STARTING);
    fleet_fini(&rig.fleet);
}

static void a_worker_without_a_device_is_given_up_at_once(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 2, "01");
    fleet_ended(&rig.fleet, 0, ENDED_HOPELESS, "no driver");
    assert_int_equal(state_of(&rig, 0), SLOT_FAILED);
    pass(&rig, 10000, "1");
    assert_int_equal(rig.n_spawn[0], 1);
    fleet_restart(&rig.fleet, 0); /* it was mended */
    pass(&rig, 20, "0");
    assert_int_equal(rig.n_spawn[0], 2);
    fleet_fini(&rig.fleet);
}

static void a_lost_device_is_given_time(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 1, "0");
    pass(&rig, 10000, "0"); /* also after a long life */
    for (int i = 0; i < 2; i++) {
        fleet_ended(&rig.fleet, 0, ENDED_LOST, "lost");
        assert_int_equal(state_of(&rig, 0), SLOT_WAITING);
        assert_true(rig.fleet.slots.at[0].start_ms >= rig.now + (50 << i));
        pass(&rig, 300, "");
        assert_int_equal(rig.n_spawn[0], 2 + i);
        pass(&rig, 20, "0");
    }
    fleet_fini(&rig.fleet);
}

static void what_cannot_start_is_given_up(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 0, "");
    rig.broken = true;
    fleet_scale(&rig.fleet, 1);
    pass(&rig, 10000, "");
    assert_int_equal(state_of(&rig, 0), SLOT_FAILED);
    assert_int_equal(fleet_end(&rig.fleet), FLEET_FAILED);
    fleet_fini(&rig.fleet);
}

static void restart_is_no_crash(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 1, "0");
    for (int i = 0; i < 3 * policy.max_exits; i++) {
        fleet_restart(&rig.fleet, 0);
        assert_int_equal(rig.n_term[0], i + 1);
        assert_int_equal(state_of(&rig, 0), SLOT_DRAINING);
        pass(&rig, 50, "");
        fleet_ended(&rig.fleet, 0, ENDED_CLEAN, "left");
        assert_int_equal(rig.n_spawn[0], i + 2);
        pass(&rig, 20, "0");
    }
    assert_int_equal(rig.n_kill[0], 0);
    fleet_fini(&rig.fleet);
}

static void stopping_has_a_limit(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 2, "01");
    fleet_stop(&rig.fleet);
    assert_int_equal(rig.n_term[0] + rig.n_term[1], 2);
    fleet_ended(&rig.fleet, 0, ENDED_CLEAN, "left");
    pass(&rig, 1900, ""); /* silence is no matter: it ends its step */
    assert_int_equal(rig.n_kill[1], 0);
    assert_int_equal(fleet_end(&rig.fleet), FLEET_WORKS);
    pass(&rig, 200, "");
    assert_int_equal(rig.n_kill[1], 1);
    fleet_ended(&rig.fleet, 1, ENDED_CRASHED, "killed");
    assert_int_equal(fleet_end(&rig.fleet), FLEET_EMPTY);
    assert_int_equal(rig.fleet.n_killed, 1);
    fleet_scale(&rig.fleet, 4); /* too late */
    fleet_restart(&rig.fleet, 0);
    pass(&rig, 1000, "");
    assert_int_equal(rig.n_spawn[0], 1);
    fleet_fini(&rig.fleet);
}

static void scale_goes_up_and_down(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 2, "01");
    fleet_scale(&rig.fleet, 1);
    assert_int_equal(state_of(&rig, 1), SLOT_DRAINING);
    fleet_ended(&rig.fleet, 1, ENDED_CLEAN, "left");
    assert_int_equal(state_of(&rig, 1), SLOT_DRAINED);
    assert_int_equal(fleet_end(&rig.fleet), FLEET_WORKS);
    fleet_scale(&rig.fleet, 3);
    pass(&rig, 300, "012");
    for (int i = 0; i < 3; i++) assert_int_equal(state_of(&rig, i), SLOT_RUNNING);
    fleet_scale(&rig.fleet, 2);
    fleet_scale(&rig.fleet, 3); /* changed our mind while it leaves */
    fleet_ended(&rig.fleet, 2, ENDED_CLEAN, "left");
    assert_int_equal(rig.n_spawn[2], 2);
    fleet_scale(&rig.fleet, 0);
    for (int i = 0; i < 3; i++) fleet_ended(&rig.fleet, i, ENDED_CLEAN, "left");
    assert_int_equal(fleet_end(&rig.fleet), FLEET_WORKS); /* waits to be scaled up again */
    fleet_fini(&rig.fleet);
}

static void once_ends_with_the_work(void **unused)
{
    (void)unused;
    rig_t rig;
    begin(&rig, 2, "01");
    rig.policy.once = true;
    fleet_ended(&rig.fleet, 0, ENDED_CLEAN, "left");
    assert_int_equal(state_of(&rig, 0), SLOT_DRAINED);
    fleet_ended(&rig.fleet, 1, ENDED_CRASHED, "crashed");
    assert_int_equal(fleet_end(&rig.fleet), FLEET_WORKS);
    fleet_ended(&rig.fleet, 1, ENDED_CLEAN, "left");
    assert_int_equal(fleet_end(&rig.fleet), FLEET_EMPTY);
    fleet_fini(&rig.fleet);
}

/* --- names --- */

static void ids_name_workers(void **unused)
{
    (void)unused;
    supervisor_config_t config = {.id = "node-w1"};
    processes_t self = {.config = &config};
    char id[PROCESSES_ID_BYTES];
    assert_string_equal(processes_id(&self, 12, id), "node-w1-w12");
    assert_int_equal(processes_worker(&self, id), 12);
    static const char *const others[] = {"",         "node-w1",        "node-w1-w", "node-w1-w1x",
                                         "node-w12", "node-w1-w12345", "other-w1",  "node-w1-w-1"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(processes_worker(&self, others[i]), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_end_restarts_at_once),
        cmocka_unit_test(waits_double_up_to_a_bound),
        cmocka_unit_test(a_stable_life_ends_the_row),
        cmocka_unit_test(too_many_ends_within_the_window_are_the_last),
        cmocka_unit_test(one_end_may_be_too_many),
        cmocka_unit_test(starts_are_staggered),
        cmocka_unit_test(a_crashed_worker_starts_again_without_a_tick),
        cmocka_unit_test(silence_is_death),
        cmocka_unit_test(own_sleep_is_forgiven),
        cmocka_unit_test(a_crash_loop_is_given_up),
        cmocka_unit_test(a_worker_without_a_device_is_given_up_at_once),
        cmocka_unit_test(a_lost_device_is_given_time),
        cmocka_unit_test(what_cannot_start_is_given_up),
        cmocka_unit_test(restart_is_no_crash),
        cmocka_unit_test(stopping_has_a_limit),
        cmocka_unit_test(scale_goes_up_and_down),
        cmocka_unit_test(once_ends_with_the_work),
        cmocka_unit_test(ids_name_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
