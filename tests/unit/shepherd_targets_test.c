/* Targets in one run: a lease that is given again goes to a worker of its target first, what another one
 * trained is said, and members tell which device they train on. */
#include <math.h>

#include "shepherd_rig.h"

static void hello_for(rig_t *rig, uint8_t from, const char *id, const char *target)
{
    SAY(rig, from, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_WORKER; body.incarnation = from; body.id = (char *)id;
        body.target = (char *)target);
}

/* Two replicas, at w1 (cpu:x) and w2 (gpu:x), both in hand; w3, a spare of `spare`. */
static rig_t *mixed(const char *spare)
{
    rig_t *rig = rig_new(2, 3);
    rig->config.workers = 1;
    reach_training(rig, 1);
    hello_for(rig, W2, "w2", "gpu:x");
    ask(rig, C);
    plan_reply_for(rig, "gpu:x", "", false);
    hello_for(rig, W3, "w3", spare);
    /* Both replicas began at the only worker of that moment; the second one moves. */
    ask(rig, W1);
    const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease;
    work_t *other = &rig->state.round.lease[1 - lease->replica];
    work_home(&rig->state, other, member_by_id(&rig->state.roster, "w2")->serial);
    ask(rig, W2);
    only(rig, W2, BODY(LEASE));
    ask(rig, W3);
    assert_int_equal(count(rig, W3, BODY(LEASE), NULL), 0);
    assert_string_equal(other->target, "gpu:x");
    forget_sent(rig);
    return rig;
}

static void leave(rig_t *rig, uint8_t worker)
{
    SAY(rig, worker, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
}

static const work_t *of_target(const rig_t *rig, const char *target)
{
    for (int64_t k = 0; k < rig->state.round.replicas; k++)
        if (strcmp(rig->state.round.lease[k].target, target) == 0)
            return &rig->state.round.lease[k];
    return NULL;
}

static int told(const rig_t *rig, const char *name)
{
    int n = 0;
    for (size_t i = 0; i < rig->told.n; i++)
        n += rig->told.at[i]->kind == RECORD_EVENT && strcmp(rig->told.at[i]->text, name) == 0;
    return n;
}

/* A model may be nothing for one target, as of f64 for one that has none: its workers are refused, the run goes on. It ends
 * where there is no other target. */
static void nothing_for_one_target(void **unused)
{
    (void)unused;
    for (int alone = 0; alone < 2; alone++) {
        rig_t *rig = alone ? compiling(1) : training(1, 1, 1);
        const char *target = alone ? "cpu:x" : "gpu:x";
        if (!alone) {
            forget_sent(rig);
            hello_for(rig, W2, "w2", target);
            ask(rig, C);
            assert_string_equal(only(rig, C, BODY(COMPILE))->compile->target, target);
        }
        plan_reply_for(rig, target, "target has no f64", true);
        assert_int_equal(rig->state.finished, alone);
        if (!alone) {
            const Msg__Fault *fault = only(rig, W2, BODY(FAULT))->fault;
            assert_int_equal(fault->code, MSG__FAULT__CODE__REFUSED);
            assert_non_null(strstr(fault->text, "gpu:x: target has no f64"));
            assert_non_null(member_by_id(&rig->state.roster, "w1"));
        }
        rig_free(rig);
    }
}

/* A compiler that answers nonsense, or a plan of another model, ends no run that others train; it is asked again, and then its
 * target's workers are refused. */
static void another_plan_makes_no_sense(void **unused)
{
    (void)unused;
    char hash[HASH_HEX] = "";
    memset(hash, 'e', HASH_HEX - 1);
    for (int named = 0; named < 2; named++) {
        rig_t *rig = training(1, 1, 1);
        forget_sent(rig);
        hello_for(rig, W2, "w2", "gpu:x");
        for (int i = 1; i <= 3; i++) {
            ask(rig, C);
            assert_int_equal(count(rig, C, BODY(COMPILE), NULL), i);
            SAY(rig, C, PLAN_REPLY, plan_reply, Msg__PlanReply body = MSG__PLAN_REPLY__INIT;
                body.job = "gpu:x"; body.plan = named ? hash : "e");
            assert_false(rig->state.finished);
        }
        assert_int_equal(only(rig, W2, BODY(FAULT))->fault->code, MSG__FAULT__CODE__REFUSED);
        assert_non_null(member_by_id(&rig->state.roster, "w1"));
        rig_free(rig);
    }
}

/* States of models go up exactly where everybody knows how; one worker of before, and nobody's do: an audit of its lease has to
 * find the same bytes. */
static void exact_states(void **unused)
{
    (void)unused;
    for (int old = 0; old < 2; old++) {
        rig_t *rig = rig_new(2, 3);
        rig->config.workers = 1;
        reach_training(rig, 1);
        hello_for(rig, W2, "w2", "cpu:x");
        config_set(&shepherd_table, &rig->config, "codec", "int8", NULL);
        rig->config.averaged_from = 5;
        for (size_t i = 0; i < rig->state.roster.members.n; i++)
            rig->state.roster.members.at[i]->exact = true;
        member_by_id(&rig->state.roster, "w2")->exact = !old;
        rig->state.shards.exact_round = 0; /* not decided yet */
        ask(rig, W1);
        const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease;
        assert_int_equal(lease->exact_from, old ? 0 : 5);
        work_home(&rig->state, &rig->state.round.lease[1 - lease->replica],
                  member_by_id(&rig->state.roster, "w2")->serial);
        member_by_id(&rig->state.roster, "w2")->exact = old; /* too late for this round */
        ask(rig, W2);
        assert_int_equal(only(rig, W2, BODY(LEASE))->lease->exact_from, old ? 0 : 5);
        rig_free(rig);
    }
}

/* Down as well, from shards that do; a worker of before takes parameters instead of changes there. */
static void exact_states_down(void **unused)
{
    (void)unused;
    for (int known = 0; known < 4; known++) {
        bool shard = known & 1, worker = known & 2;
        rig_t *rig = rig_new(2, 3);
        rig->config.workers = 1;
        reach_training(rig, 1);
        rig->state.down_codec = 3;
        rig->config.averaged_from = 5;
        for (size_t i = 0; i < rig->state.roster.others.n; i++)
            rig->state.roster.others.at[i]->down_exact = shard;
        member_by_id(&rig->state.roster, "w1")->down_exact = worker;
        ask(rig, W1);
        const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease;
        assert_int_equal(lease->down_codec, shard && !worker ? 0 : 3);
        assert_int_equal(lease->down_exact_from, shard && worker ? 5 : 0);
        rig_free(rig);
    }
}

static void a_spare_of_the_target_takes_it_at_once(void **unused)
{
    (void)unused;
    rig_t *rig = mixed("gpu:x");
    leave(rig, W2);
    only(rig, W3, BODY(LEASE));
    assert_non_null(of_target(rig, "gpu:x"));
    rig_free(rig);
}

static void another_target_waits(void **unused)
{
    (void)unused;
    rig_t *rig = mixed("cpu:x");
    leave(rig, W2);
    assert_int_equal(count(rig, W3, BODY(LEASE), NULL), 0);
    for (int i = 0; i < 9; i++) {
        beat(rig, A, 0), beat(rig, C, 0), beat(rig, W1, 0), beat(rig, W3, 1);
        tick(rig, 1000);
        assert_int_equal(count(rig, W3, BODY(LEASE), NULL), 0);
    }
    keep_records(rig);
    beat(rig, A, 0), beat(rig, C, 0), beat(rig, W1, 0), beat(rig, W3, 1);
    tick(rig, 1000);
    only(rig, W3, BODY(LEASE));
    assert_null(of_target(rig, "gpu:x"));
    assert_int_equal(told(rig, "target_changed"), 1);
    rig_free(rig);
}

static void it_comes_back_in_time(void **unused)
{
    (void)unused;
    rig_t *rig = mixed("cpu:x");
    leave(rig, W2);
    hello_for(rig, W4, "w4", "gpu:x");
    keep_records(rig);
    ask(rig, W4);
    only(rig, W4, BODY(LEASE));
    assert_int_equal(count(rig, W3, BODY(LEASE), NULL), 0);
    assert_int_equal(told(rig, "target_changed"), 0);
    rig_free(rig);
}

static void nobody_waits_where_that_is_said(void **unused)
{
    (void)unused;
    rig_t *rig = mixed("cpu:x");
    rig->config.target_wait_s = 0;
    leave(rig, W2);
    only(rig, W3, BODY(LEASE));
    rig_free(rig);
}

/* A new round gives a replica whose worker is gone to a worker of its target, among those that are as
 * good. */
static void homes_are_of_the_target(void **unused)
{
    (void)unused;
    for (int other = 0; other < 2; other++) {
        rig_t *rig = mixed("cpu:x");
        shepherd_t *self = &rig->state;
        hello_for(rig, W4, "w4", "gpu:x");
        for (int64_t k = 0; k < 2; k++) {
            self->round.lease[k].home = 0;
            snprintf(self->round.lease[k].target, sizeof self->round.lease[k].target, "%s",
                     (k == 0) == (other == 0) ? "gpu:x" : "cpu:x");
        }
        work_settle(self);
        for (int64_t k = 0; k < 2; k++)
            assert_string_equal(member_by_serial(&self->roster, self->round.lease[k].home)->target,
                                self->round.lease[k].target);
        rig_free(rig);
    }
}

static void devices_are_told(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 2, 1);
    SAY(rig, W2, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_WORKER; body.id = "w2"; body.target = "cpu:x";
        body.device = "vulkan:1"; body.device_name = "Radeon \xc2\xb5"; body.steps_per_s = 2.5;
        body.device_bytes = 8ull << 30);
    hello(rig, L, MSG__KIND__KIND_CLI, "cli");
    ask(rig, W1);
    const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease;
    SAY(rig, W1, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
        body.fence = lease->fence; body.steps = 3; body.tokens = 60; body.compute_s = 0.5);
    inspected(rig, 1, "");
    SAY(rig, L, CONTROL, control, Msg__Control body = MSG__CONTROL__INIT;
        body.verb = MSG__CONTROL__VERB__LIST);
    const Msg__ControlReply *reply = only(rig, L, BODY(CONTROL_REPLY))->control_reply;
    assert_int_equal(reply->n_workers, 2);
    assert_string_equal(reply->workers[0]->device, ""); /* of an older version */
    assert_true(reply->workers[0]->steps_per_s == 6);
    assert_string_equal(reply->workers[1]->device, "vulkan:1");
    assert_string_equal(reply->workers[1]->device_name, "Radeon \xc2\xb5");
    assert_true(reply->workers[1]->device_bytes == 8ull << 30);
    assert_true(reply->workers[1]->steps_per_s == 2.5);
    rig_free(rig);
}

static void bad_devices_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        const char *device, *name;
        double speed;
    } rows[] = {{"vul kan", "", 0},          {"v\xff", "", 0},    {"v", "\xff", 0},
                {"v", "\x1b[2J", 0},         {"v", "", -1},       {"v", "", NAN},
                {"v", "", (double)INFINITY}, {"v\xc3\xbc", "", 0}};
    rig_t *rig = rig_new(1, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SAY(rig, W1, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
            body.kind = MSG__KIND__KIND_WORKER; body.id = "w"; body.target = "cpu:x";
            body.device = (char *)rows[i].device; body.device_name = (char *)rows[i].name;
            body.steps_per_s = rows[i].speed);
        assert_int_equal(only(rig, W1, BODY(FAULT))->fault->code, MSG__FAULT__CODE__REFUSED);
        forget_sent(rig);
    }
    assert_int_equal(rig->state.roster.members.n, 0);
    rig_free(rig);
}

/* A compiler would fetch the module from there. */
static void plans_wait_for_a_lost_aggregator(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 2, 1);
    leave(rig, A);
    hello_for(rig, W2, "w2", "gpu:x");
    ask(rig, C);
    assert_int_equal(count(rig, C, BODY(COMPILE), NULL), 0);
    rig_free(rig);
}

static void no_room(rig_t *rig, uint8_t compiler)
{
    SAY(rig, compiler, PLAN_REPLY, plan_reply, Msg__PlanReply body = MSG__PLAN_REPLY__INIT;
        body.job = "cpu:x"; body.error = "/tmp/k0.c: No space left on device"; body.for_now = true);
}

/* A compiler's disk is full: it is asked again now and then, as long as it takes, unless there is another one. */
static void a_compiler_without_room(void **unused)
{
    (void)unused;
    rig_t *rig = compiling(1);
    for (int i = 1; i <= 20; i++) {
        assert_int_equal(count(rig, C, BODY(COMPILE), NULL), i);
        no_room(rig, C);
        ask(rig, C);
        tick(rig, 100);
        assert_int_equal(count(rig, C, BODY(COMPILE), NULL), i); /* not at once */
        str_t text = {0};
        plans_missing(&rig->state.plans, &text);
        assert_non_null(strstr(str_text(&text), "compiler c0 has no room"));
        assert_non_null(strstr(str_text(&text), "/tmp/k0.c"));
        str_fini(&text);
        beat(rig, W1, 1);
        SAY(rig, A, HEARTBEAT, heartbeat, Msg__Heartbeat body = MSG__HEARTBEAT__INIT);
        tick(rig, 5000);
    }
    assert_false(rig->state.finished);
    no_room(rig, C);
    hello(rig, W2, MSG__KIND__KIND_COMPILER, "c1");
    ask(rig, W2);
    only(rig, W2, BODY(COMPILE));
    no_room(rig, W2);
    ask(rig, C);
    ask(rig, W2);
    plan_reply(rig, "", false);
    assert_int_equal(rig->state.phase, PHASE_ASSIGN);
    str_t text = {0};
    plans_missing(&rig->state.plans, &text);
    assert_int_equal(text.n, 0);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_plan_makes_no_sense),
        cmocka_unit_test(nothing_for_one_target),
        cmocka_unit_test(exact_states),
        cmocka_unit_test(exact_states_down),
        cmocka_unit_test(a_spare_of_the_target_takes_it_at_once),
        cmocka_unit_test(another_target_waits),
        cmocka_unit_test(it_comes_back_in_time),
        cmocka_unit_test(nobody_waits_where_that_is_said),
        cmocka_unit_test(homes_are_of_the_target),
        cmocka_unit_test(plans_wait_for_a_lost_aggregator),
        cmocka_unit_test(devices_are_told),
        cmocka_unit_test(bad_devices_are_refused),
        cmocka_unit_test(a_compiler_without_room),
    };
    return cmocka_run_group_tests_name("shepherd, targets", tests, NULL, NULL);
}
