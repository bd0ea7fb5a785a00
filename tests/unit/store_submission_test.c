/* The store's table of submitted runs: who may add and move one, what is known of it.
 * tests/cluster/store.sh runs it on PostgreSQL too. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store_help.h"

/* Submitted runs, and the front that leads. */
static void test_submissions(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    store_leader_t a, b;
    bool won;
    store_submissions_t list;
    store_submission_t one = {
        .id = "one", .key = "k'1", .number = 1, .n_workers = 4, .n_shards = 2};
    store_submission_t two = {.id = "two", .key = "k2", .number = 2, .n_workers = 1, .n_shards = 1};
    memset(one.spec_hash, 'a', HASH_HEX - 1);
    memset(two.spec_hash, 'b', HASH_HEX - 1);
    STORE_OK(store_front_acquire(s, "a", 60000, &won, &a, err));
    assert_true(won && a.fence == 1);
    STORE_OK(store_front_acquire(s, "b", 60000, &won, &b, err));
    assert_false(won);
    assert_string_equal(b.holder, "a");
    STORE_OK(store_front_acquire(s, "a", 60000, &won, &b, err)); /* a namesake */
    assert_false(won);
    STORE_OK(store_submission_add(s, &a, &one, err));
    STORE_OK(store_submission_add(s, &a, &one, err)); /* a repeat */
    STORE_OK(store_submission_add(s, &a, &two, err));
    one.spec_hash[0] = 'c'; /* another run of that name, and another of that key */
    STORE_REFUSED(ERR_STATE, store_submission_add(s, &a, &one, err));
    snprintf(one.id, sizeof one.id, "three");
    one.number = 3;
    STORE_REFUSED(ERR_STATE, store_submission_add(s, &a, &one, err));
    STORE_OK(store_submission_move(s, &a, "one", "running", NULL, err));
    STORE_OK(store_submission_move(s, &a, "one", "failed", "it's broken", err));
    STORE_REFUSED(ERR_ARG, store_submission_move(s, &a, "one", "pending", NULL, err));
    STORE_REFUSED(ERR_STATE, store_submission_move(s, &a, "nobody", "done", NULL, err));
    /* The next front: the first's writes are refused. */
    STORE_OK(store_front_renew(s, &a, 60000, err));
    STORE_OK(store_front_release(s, &a, err));
    STORE_OK(store_front_acquire(s, "b", 60000, &won, &b, err));
    assert_true(won && b.fence == 2);
    STORE_REFUSED(ERR_FENCE, store_front_renew(s, &a, 60000, err));
    STORE_REFUSED(ERR_FENCE, store_submission_move(s, &a, "two", "done", NULL, err));
    STORE_REFUSED(ERR_FENCE, store_submission_add(s, &a, &two, err));
    STORE_OK(store_submission_list(s, &list, err));
    assert_int_equal(list.n, 2);
    const store_submission_t *first = &list.at[0];
    assert_string_equal(first->id, "one");
    assert_string_equal(first->key, "k'1");
    assert_string_equal(first->state, "failed");
    assert_string_equal(first->reason, "it's broken");
    assert_true(first->n_workers == 4 && first->n_shards == 2 && first->number == 1);
    assert_true(first->started_ms >= first->created_ms && first->finished_ms >= first->started_ms);
    assert_string_equal(list.at[1].state, "queued");
    assert_true(list.at[1].started_ms == -1 && list.at[1].finished_ms == -1);
    store_submissions_fini(&list);
}

/* A new front hears from the store how far each run is. */
static void test_submission_figures(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    store_leader_t front, boss = store_help_run(s, 100);
    bool won;
    store_submissions_t list;
    STORE_OK(store_front_acquire(s, "a", 60000, &won, &front, err));
    store_submission_t one = {.id = "r", .key = "k", .number = 1, .n_workers = 1, .n_shards = 1};
    store_submission_t two = {.id = "two", .key = "l", .number = 2, .n_workers = 1, .n_shards = 1};
    STORE_OK(store_submission_add(s, &front, &one, err));
    STORE_OK(store_submission_add(s, &front, &two, err));
    for (uint64_t r = 0; r < 2; r++) {
        data_range_t cursor = {.start = 10 * r + 10};
        store_lease_t lease = {.fence = 1, .range = {.start = 10 * r, .count = 10}};
        store_commit_entry_t all = {.replica = 0, .fence = 1, .done_windows = 10};
        store_commit_t commit = {.round = r,
                                 .entries = &all,
                                 .n_entry = 1,
                                 .loss = r ? 2.5 : 3.5,
                                 .tokens = 640,
                                 .compute_ms = 1};
        STORE_OK(store_round_open(s, &boss, r, &cursor, &lease, 1, err));
        usleep(5000); /* a speed needs time */
        STORE_OK(store_round_commit(s, &boss, &commit, err));
    }
    STORE_OK(store_round_validation(s, &boss, 0, 3.25, err));
    STORE_OK(store_checkpoint_add(s, &boss, 1, "hash", "/runs/r/checkpoint/round-2", 7, err));
    STORE_OK(store_submission_list(s, &list, err));
    const store_figures_t *f = &list.at[0].figures;
    assert_true(f->rounds == 2 && f->tokens == 1280 && f->loss == 2.5);
    assert_true(f->validation_loss == 3.25 && f->tokens_per_s > 1);
    assert_string_equal(f->checkpoint, "/runs/r/checkpoint/round-2");
    f = &list.at[1].figures;
    assert_true(f->rounds == 0 && f->tokens == 0 && isnan(f->loss) && !f->checkpoint);
    store_submissions_fini(&list);
}

/* What the front decides is in the table of runs, too; what the shepherd writes is its own. */
static void test_submission_and_run(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    store_leader_t front;
    bool won;
    STORE_OK(store_front_acquire(s, "a", 60000, &won, &front, err));
    store_submission_t one = {.id = "one", .key = "k", .number = 1, .n_workers = 1, .n_shards = 1};
    STORE_OK(store_submission_add(s, &front, &one, err));
    STORE_OK(store_submission_move(s, &front, "one", "paused", "", err)); /* no shepherd yet */
    store_run_spec_t spec = {.id = "one", .config = "{}"};
    char id[STORE_ID];
    STORE_OK(store_run_submit(s, &spec, id, NULL, err));
    STORE_OK(store_run_move(s, "one", "running", NULL, NULL, err));
    static const char *const moves[][3] = {
        {"paused", "paused", "paused"},    {"queued", "queued", "paused"},
        {"running", "running", "paused"}, /* its shepherd says so when it leads */
        {"failed", "failed", "failed"},    {"cancelled", "cancelled", "cancelled"},
        {"failed", "failed", "cancelled"}, /* no way back */
    };
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        store_run_t run;
        STORE_OK(store_submission_move(s, &front, "one", moves[i][0], "why", err));
        STORE_OK(store_run_get(s, "one", &run, err));
        assert_string_equal(run.state, moves[i][2]);
        if (strcmp(run.state, moves[i][0]) == 0) assert_string_equal(run.reason, "why");
        store_run_fini(&run);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, store_set_up, store_tear_down)

/* The list of revoked keys only grows, and is read when there is more of it. */
static void test_revoked(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    char *list = NULL;
    STORE_OK(store_revoked_get(s, 0, &list, err));
    assert_null(list);
    STORE_OK(store_revoked_put(s, "key one\n", err));
    STORE_OK(store_revoked_put(s, "key one\nkey 'two'\n", err));
    STORE_OK(store_revoked_put(s, "key one\n", err));
    STORE_OK(store_revoked_get(s, 8, &list, err));
    assert_string_equal(list, "key one\nkey 'two'\n");
    size_t n = strlen(list);
    free(list);
    STORE_OK(store_revoked_get(s, n, &list, err));
    assert_null(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_submissions),
        TEST(test_submission_and_run),
        TEST(test_submission_figures),
        TEST(test_revoked),
    };
    return cmocka_run_group_tests_name("store, submissions", tests, NULL, NULL);
}
