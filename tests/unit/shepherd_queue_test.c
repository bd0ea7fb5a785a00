/* A front's queue and its lists of runs. */
#include "front_rig.h"

/* --- The queue --- */

static front_run_t *queue(rig_t *rig, const char *id, unsigned shards)
{
    store_submission_t row = {.number = (int64_t)rig->front.runs.n + 1,
                              .n_workers = 1,
                              .n_shards = shards,
                              .state = "queued",
                              .spec_hash = SPEC};
    snprintf(row.id, sizeof row.id, "%s", id);
    snprintf(row.key, sizeof row.key, "%s", id);
    front_run_t *run = front_run_new(&rig->front, &row);
    front_write(&rig->front, run, CLERK_ADD, ++rig->front.last_ticket);
    turn(rig, has_runs, rig->front.runs.n);
    return run;
}

static void balance(rig_t *rig)
{
    rig->front.now_ms += 1000;
    front_balance(&rig->front);
}

static void overtaking(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    for (unsigned i = 1; i <= 4; i++) join(rig, i, MSG__KIND__KIND_AGGREGATOR);
    for (unsigned i = 5; i <= 9; i++) join(rig, i, MSG__KIND__KIND_WORKER);
    join(rig, 10, MSG__KIND__KIND_COMPILER);
    front_run_t *huge = queue(rig, "huge", 256), *small = queue(rig, "small", 2);
    front_run_t *big = queue(rig, "big", 4), *late = queue(rig, "late", 1);
    asked_about(rig, MSG__RUN_ASK__VERB__WATCH, "late");
    size_t before = rig->heard.n;
    balance(rig);
    assert_false(huge->active);
    assert_non_null(strstr(huge->row.reason, "it needs 256, the cluster has 4"));
    assert_true(small->active); /* what cannot be served blocks nobody */
    assert_false(big->active);
    assert_non_null(strstr(big->row.reason, "it needs 4, 2 of 4 are free"));
    assert_false(late->active); /* and what can be is not starved */
    assert_non_null(strstr(late->row.reason, "its turn: run big"));
    assert_int_equal(rig->heard.n, before + 1); /* whoever watches is told */
    const Msg__RunInfo *told = rig->heard.at[before]->run_answer->runs[0];
    assert_string_equal(told->reason, late->row.reason);
    balance(rig);
    assert_int_equal(rig->heard.n, before + 1); /* once */
    small->active = false;
    front_run_move(small, "done", "", 0);
    balance(rig);
    assert_true(big->active);
    assert_false(late->active);
    assert_non_null(strstr(late->row.reason, "aggregators: it needs 1, 0 of 4 are free"));
    assert_int_equal(rig->heard.n, before + 2); /* the reason has changed */
    big->active = late->active = false;
    rig_destroy(rig);
}

/* More aggregators come than it was promised at first: it takes its place in the order. */
static void grown(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 1, MSG__KIND__KIND_AGGREGATOR);
    for (unsigned i = 5; i <= 9; i++) join(rig, i, MSG__KIND__KIND_WORKER);
    join(rig, 10, MSG__KIND__KIND_COMPILER);
    front_run_t *first = queue(rig, "first", 2), *second = queue(rig, "second", 1);
    join(rig, 2, MSG__KIND__KIND_AGGREGATOR);
    balance(rig);
    assert_true(first->active);
    assert_false(second->active);
    first->active = false;
    rig_destroy(rig);
}

/* --- Lists --- */

static void pages(void **state)
{
    (void)state;
    enum { N = 3000 };
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    char reason[1000];
    memset(reason, 'x', sizeof reason - 1);
    reason[sizeof reason - 1] = '\0';
    for (int i = 1; i <= N; i++) {
        store_submission_t row = {.number = i, .state = "failed", .reason = reason};
        snprintf(row.id, sizeof row.id, "run-%d", i);
        snprintf(row.key, sizeof row.key, "run-%d", i);
        front_run_new(&rig->front, &row)->stored = true;
    }
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__LIST;
    int64_t next = N;
    int n_page = 0;
    for (bool more = true; more; n_page++) {
        const Msg__RunAnswer *answer = asked(rig, &ask);
        assert_true(answer->n_runs > 0);
        for (size_t i = 0; i < answer->n_runs; i++)
            assert_int_equal(answer->runs[i]->number, next--);
        ask.before = next + 1;
        more = answer->more;
    }
    assert_int_equal(next, 0);
    assert_true(n_page > 3);
    assert_true(rig->most_bytes < MSG_CONTROL_BYTES);
    ask.before = 0;
    ask.limit = 7;
    const Msg__RunAnswer *answer = asked(rig, &ask);
    assert_int_equal(answer->n_runs, 7);
    assert_true(answer->more);
    ask.before = 1;
    assert_int_equal(asked(rig, &ask)->n_runs, 0);
    rig_destroy(rig);
}

int main(void)
{
    log_init("test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overtaking),
        cmocka_unit_test(grown),
        cmocka_unit_test(pages),
    };
    int failed = cmocka_run_group_tests_name("shepherd_queue", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
