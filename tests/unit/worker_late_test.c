/* Leases that rounds close without: what was trained is handed in under later names, and sent once. */
#include "worker_rig.h"

static void a_late_lease_is_trained_once(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    int n_step = 0;
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    trainer_t *first = trainer_make(rig, "a"), *neighbour = trainer_make(rig, "a");
    outcome_t r0 = train(rig, first, 0, ""), r1 = train(rig, first, 1, r0.state);
    outcome_t late = hand_in_late(rig, first, r0.state, &n_step);
    same(&r1, &late);
    assert_int_equal(n_step, 0);
    late = hand_in_late(rig, first, r0.state, &n_step); /* asked for once more */
    same(&r1, &late);
    assert_int_equal(n_step, 0);
    late = hand_in_late(rig, neighbour, r0.state, &n_step); /* who has not got it trains it */
    same(&r1, &late);
    assert_true(n_step > 0);
    train(rig, first, 0, ""); /* something else since */
    rig->lease.start = rig->lease.count;
    rig->lease.step_base = STEPS;
    late = hand_in_late(rig, first, r0.state, &n_step);
    same(&r1, &late);
    assert_true(n_step > 0);
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    err_t err = {0};
    rig->lease.lag = 3;
    assert_int_equal(trainer_lease(first, &rig->lease, &done, &err), -1);
    rig->lease.round = 0, rig->lease.lag = 1;
    assert_int_equal(trainer_lease(first, &rig->lease, &done, &err), -1);
    trainer_free(first);
    trainer_free(neighbour);
    rig_free(rig);
}

static bool yes(void *user)
{
    (void)user;
    return true;
}

/* Its round closes while it is trained: nothing is sent under that name, and all of it under the next one. */
static void an_outdated_lease_is_sent_once(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    int n_step = 0;
    server_delta_t delta;
    err_t err = {0};
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    trainer_t *first = trainer_make(rig, "a"), *late = trainer_make(rig, "b");
    outcome_t r1 = train(rig, first, 0, "");
    int sent = data_server_delta(rig->server, &delta);
    late->hooks = (trainer_hooks_t){.outdated = yes};
    assert_int_equal(trainer_lease(late, &rig->lease, &done, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    assert_int_equal(data_server_delta(rig->server, &delta), sent);
    outcome_t handed = hand_in_late_by(rig, late, "", 1, &n_step);
    same(&r1, &handed);
    assert_int_equal(n_step, 0);
    assert_int_equal(data_server_delta(rig->server, &delta), sent + 1);
    trainer_free(first);
    trainer_free(late);
    rig_free(rig);
}

int main(void)
{
    log_init("worker_late_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_lease_is_trained_once),
        cmocka_unit_test(an_outdated_lease_is_sent_once),
    };
    int failed = cmocka_run_group_tests_name("worker_late", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
