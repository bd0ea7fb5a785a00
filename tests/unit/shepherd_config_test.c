/* The shepherd's configuration: what it refuses, how rows are cut from tokens, plans for other shards. */
#include "shepherd_rig.h"

#include "base/log.h"
#include "outer/codec.h"

static void layouts(void **unused)
{
    (void)unused;
    int64_t dims[2] = {5000, 3}, rows[2] = {2, 8};
    Msg__TensorInfo w = MSG__TENSOR_INFO__INIT, x = MSG__TENSOR_INFO__INIT;
    w.name = "w", w.dtype = "f32", w.n_dims = 2, w.dims = dims;
    x.name = "x", x.dtype = "i32", x.n_dims = 2, x.dims = rows;
    Msg__TensorInfo *params[] = {&w, &w}, *batch[] = {&x, &x};
    Msg__PlanReply reply = MSG__PLAN_REPLY__INIT;
    reply.params = params, reply.n_params = 2, reply.batch = batch, reply.n_batch = 2;
    layout_t layout, copy;
    err_t err = {0};
    assert_int_equal(layout_from_plan(&reply, DATA_WINDOWS, 3, &layout, &err), 0);
    assert_int_equal(layout.total, 30000);
    assert_int_equal(layout.tensor[1].begin, 15000);
    assert_int_equal(layout.bounds[0], 0);
    assert_int_equal(layout.bounds[3], 30000);
    for (int s = 1; s < 3; s++) {
        assert_int_equal(layout.bounds[s] % CODEC_BLOCK, 0);
        assert_true(layout.bounds[s] > layout.bounds[s - 1]);
    }
    assert_int_equal(layout_units(&layout, 17), 2);
    assert_int_equal(layout_units(&layout, 16), 1);
    assert_int_equal(layout_units(&layout, 0), 0);
    layout_copy(&layout, &copy);
    assert_true(layout_equal(&layout, &copy));
    copy.tensor[1].name[0] = 'v';
    assert_false(layout_equal(&layout, &copy));
    layout_fini(&copy);
    layout_fini(&layout);
    dims[0] = -1;
    assert_int_equal(layout_from_plan(&reply, DATA_WINDOWS, 1, &layout, &err), -1);
    dims[0] = INT64_MAX;
    assert_int_equal(layout_from_plan(&reply, DATA_WINDOWS, 1, &layout, &err), -1);
    dims[0] = 1;
    w.dtype = "f33";
    assert_int_equal(layout_from_plan(&reply, DATA_WINDOWS, 1, &layout, &err), -1);
    w.dtype = "f32";
    reply.n_batch = 0;
    assert_int_equal(layout_from_plan(&reply, DATA_WINDOWS, 1, &layout, &err), -1);
    reply.n_params = 0;
    assert_int_equal(layout_from_plan(&reply, DATA_WINDOWS, 1, &layout, &err), -1);
}

static void configurations(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 1);
    err_t err = {0};
    rig->config.timeout_ms = rig->config.heartbeat_ms;
    assert_int_equal(shepherd_config_check(&rig->config, &err), -1);
    assert_non_null(strstr(err.text, "timeout_ms"));
    rig->config.timeout_ms = 4000;
    rig->config.deadline_s = 1;
    assert_int_equal(shepherd_config_check(&rig->config, &err), -1);
    assert_non_null(strstr(err.text, "set quorum"));
    rig->config.quorum = 1;
    assert_int_equal(shepherd_config_check(&rig->config, &err), 0);
    assert_int_equal(config_set(&shepherd_table, &rig->config, "init", "", &err), -1);
    assert_non_null(strstr(err.text, "init"));
    free(rig->config.init);
    rig->config.init = NULL;
    assert_int_equal(shepherd_config_check(&rig->config, &err), -1);
    assert_non_null(strstr(err.text, "init"));
    train_spec_t spec = shepherd_spec(&rig->config);
    assert_string_equal(spec.optimizer, "adamw");
    assert_true(spec.beta2 == 0.99 && spec.accumulate == 1);
    rig_free(rig);
}

/* An aggregator is lost while a plan is compiled: its object went to where the shards were. */
static void a_plan_for_other_shards(void **unused)
{
    (void)unused;
    rig_t *rig = compiling(1);
    forget_sent(rig);
    SAY(rig, A, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    SAY(rig, W3, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_AGGREGATOR; body.incarnation = 1; body.id = "a1";
        body.endpoint = "ipc://elsewhere");
    tick(rig, 10);
    courier_result_t published = courier(rig, COURIER_PUBLISH);
    shepherd_on_courier(&rig->state, &published);
    plan_reply(rig, "", false);
    assert_int_equal(count(rig, W3, BODY(ASSIGN), NULL), 0);
    assert_int_equal(rig->state.phase, PHASE_COMPILE);
    ask(rig, C);
    only(rig, C, BODY(COMPILE));
    plan_reply(rig, "", false);
    only(rig, W3, BODY(ASSIGN));
    rig_free(rig);
}

int main(void)
{
    log_init("shepherd_config_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(a_plan_for_other_shards),
        cmocka_unit_test(configurations),
    };
    return cmocka_run_group_tests_name("shepherd_config", tests, NULL, NULL);
}
