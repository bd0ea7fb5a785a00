/* What lets another leader go on: decisions that are made once, groups that are written once, and
 * all of it read back. tests/cluster/store.sh runs it on PostgreSQL too. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/report.h"
#include "store_help.h"

/* Round 0 with two leases of ten windows, both done under fence 1. */
static void two_done(ledger_test_t *f)
{
    data_range_t cursor = {.start = 20};
    store_lease_t two[] = {{.replica = 0, .range = {.start = 0, .count = 10}},
                           {.replica = 1, .range = {.start = 10, .count = 10}}};
    memset(two[1].state_in, 'a', HASH_HEX - 1);
    STORE_OK(store_round_open(f->store, &f->boss, 0, &cursor, two, 2, err));
    for (uint32_t k = 0; k < 2; k++) {
        STORE_OK(store_lease_issue(f->store, &f->boss, 0, k, 1, "w1", "cpu:x", err));
        STORE_OK(store_help_done(f->store, &f->boss, k, 1, 10 - k, "0b5", err));
    }
}

static void test_decide(void **state)
{
    ledger_test_t *f = *state;
    two_done(f);
    store_t *s = f->store;
    store_commit_entry_t both[] = {{.replica = 0, .fence = 1, .done_windows = 10},
                                   {.replica = 1, .fence = 1, .done_windows = 9}};
    store_commit_entry_t wrong = {.replica = 1, .fence = 1, .done_windows = 10};
    STORE_REFUSED(ERR_STATE, store_round_decide(s, &f->boss, 0, &wrong, 1, err)); /* too much */
    wrong = (store_commit_entry_t){.replica = 1, .fence = 2, .done_windows = 9};
    STORE_REFUSED(ERR_STATE, store_round_decide(s, &f->boss, 0, &wrong, 1, err));
    wrong = (store_commit_entry_t){.replica = 2, .fence = 1, .done_windows = 9};
    STORE_REFUSED(ERR_STATE, store_round_decide(s, &f->boss, 0, &wrong, 1, err));
    STORE_REFUSED(ERR_STATE, store_round_decide(s, &f->boss, 1, both, 2, err)); /* no round */
    STORE_REFUSED(ERR_ARG, store_round_decide(s, &f->boss, 0, both, 0, err));
    for (int i = 0; i < 2; i++) STORE_OK(store_round_decide(s, &f->boss, 0, both, 2, err));
    STORE_REFUSED(ERR_STATE, store_round_decide(s, &f->boss, 0, both, 1, err)); /* otherwise */
    store_round_t round;
    bool found;
    STORE_OK(store_round_latest(s, "r", &round, &found, err));
    assert_string_equal(round.state, "decided");
    store_round_fini(&round);
    /* A shard has lost replica 1: it is given again, and the decision stays what it was. */
    STORE_REFUSED(ERR_STATE, store_lease_reopen(s, &f->boss, 0, 1, 0, err));
    STORE_OK(store_lease_reopen(s, &f->boss, 0, 1, 1, err));
    STORE_OK(store_lease_issue(s, &f->boss, 0, 1, 2, "w2", "cpu:x", err));
    STORE_OK(store_help_done(s, &f->boss, 1, 2, 9, "0b5", err));
    both[1].fence = 2;
    STORE_OK(store_round_decide(s, &f->boss, 0, both, 2, err));
    /* The commit is of the decision. */
    store_commit_t commit = {.entries = both, .n_entry = 1, .tokens = 640, .loss = 1};
    STORE_REFUSED(ERR_STATE, store_round_commit(s, &f->boss, &commit, err));
    commit.n_entry = 2;
    STORE_OK(store_round_commit(s, &f->boss, &commit, err));
    STORE_OK(store_round_decide(s, &f->boss, 0, both, 2, err)); /* said late: as it is */
    assert_int_equal(ledger_windows(s), 19);
}

/* Who made what counts, for which target; a repeat by another target than the first is said. */
static void test_targets(void **state)
{
    ledger_test_t *f = *state;
    store_t *s = f->store;
    static const struct {
        const char *first, *then, *before;
        int other, moved;
    } rows[] = {{"cpu:a", "cpu:a", "", 0, 0},
                {"cpu:a", "gpu:b", "cpu:a", 1, 1},
                {"gpu:b", "gpu:b", "gpu:b", 0, 0},
                {"cpu:a", "gpu:b", "gpu:b", 1, 0},
                {"", "cpu:a", "gpu:b", 0, 1}}; /* a program before this one gave it first */
    for (uint64_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        ledger_open(f, r);
        STORE_OK(store_lease_issue(s, &f->boss, r, 0, 2, "w1", rows[r].first, err));
        STORE_OK(store_lease_reopen(s, &f->boss, r, 0, 2, err));
        STORE_OK(store_lease_issue(s, &f->boss, r, 0, 3, "w2", rows[r].then, err));
        store_done_t done = {.round = r, .fence = 3, .windows = 10, .loss = 1, .tokens = 1};
        STORE_OK(store_lease_done(s, &f->boss, &done, err));
        store_leases_t list;
        STORE_OK(store_lease_list(s, "r", r, &list, err));
        assert_string_equal(list.at[0].target, rows[r].then);
        store_leases_fini(&list);
        store_commit_t commit = ledger_commit(r);
        store_commit_entry_t entry = commit.entries[0];
        entry.fence = 3;
        commit.entries = &entry;
        STORE_OK(store_round_commit(s, &f->boss, &commit, err));
        char *query = mem_printf(
            "SELECT count(*) FROM pcp_targets WHERE round = %d AND worker = 'w2' "
            "AND target = '%s' AND before = '%s' AND other_target = %d AND moved = %d",
            (int)r + 1, rows[r].then, rows[r].before, rows[r].other, rows[r].moved);
        if (store_help_count(f->url, query) != 1) fail_msg("row %d", (int)r);
        free(query);
    }
}

/* A lease that goes on into the next round: decided once, opened with the same windows. */
static void test_late(void **state)
{
    ledger_test_t *f = *state;
    store_t *s = f->store;
    data_range_t cursor = {.start = 20};
    store_lease_t two[] = {{.replica = 0, .range = {.start = 0, .count = 10}},
                           {.replica = 1, .range = {.start = 10, .count = 10}}};
    STORE_OK(store_round_open(s, &f->boss, 0, &cursor, two, 2, err));
    for (uint32_t k = 0; k < 2; k++)
        STORE_OK(store_lease_issue(s, &f->boss, 0, k, 1, "w1", "cpu:x", err));
    STORE_OK(store_help_done(s, &f->boss, 0, 1, 10, "0b5", err));
    store_commit_entry_t both[] = {{.replica = 0, .fence = 1, .done_windows = 10},
                                   {.replica = 1, .fence = 1, .late = true}};
    STORE_REFUSED(ERR_ARG,
                  store_round_decide(s, &f->boss, 0, &both[1], 1, err)); /* nothing counts */
    store_commit_entry_t done = {.replica = 0, .fence = 1, .late = true};
    store_commit_entry_t wrong[] = {done, {.replica = 1, .fence = 1, .done_windows = 1}};
    STORE_REFUSED(ERR_STATE, store_round_decide(s, &f->boss, 0, wrong, 2, err));
    for (int i = 0; i < 2; i++) STORE_OK(store_round_decide(s, &f->boss, 0, both, 2, err));
    STORE_REFUSED(ERR_STATE, store_round_decide(s, &f->boss, 0, both, 1, err)); /* otherwise */
    store_commit_t commit = {.entries = both, .n_entry = 1, .tokens = 640, .loss = 1};
    STORE_OK(store_round_commit(s, &f->boss, &commit, err));
    store_resume_t r;
    STORE_OK(store_resume(s, &f->boss, &r, err));
    assert_true(r.leases.n == 2 && !r.leases.at[0].late && r.leases.at[1].late);
    assert_true(r.returned.n == 1 && r.returned.at[0].start == 10 && r.returned.at[0].count == 10);
    store_resume_fini(&r);
    cursor.start = 30;
    two[0].range.start = 20;
    two[1].lag = 1;
    STORE_OK(store_round_open(s, &f->boss, 1, &cursor, two, 2, err));
    STORE_OK(store_resume(s, &f->boss, &r, err));
    assert_true(r.leases.at[0].lag == 0 && r.leases.at[1].lag == 1 && !r.leases.at[1].late);
    assert_int_equal(r.returned.n, 0);
    store_resume_fini(&r);
    /* A step back to before it: nothing waits any more. */
    data_range_t back = {.start = 10, .count = 10};
    store_rewind_t to = {
        .round = 1, .tokens = 640, .cursor = {.start = 20}, .returned = &back, .n_returned = 1};
    STORE_OK(store_run_rewind(s, &f->boss, &to, err));
    STORE_OK(store_resume(s, &f->boss, &r, err));
    assert_true(r.leases.n == 2 && !r.leases.at[1].late && r.returned.n == 1);
    store_resume_fini(&r);
}

static void test_resume(void **state)
{
    ledger_test_t *f = *state;
    store_t *s = f->store;
    store_resume_t r;
    STORE_OK(store_resume(s, &f->boss, &r, err));
    assert_false(r.has_objects || r.has_round);
    assert_true(r.tokens == 0 && isnan(r.loss));
    store_resume_fini(&r);
    store_objects_t objects = {
        .module_hash = "aa", .train_hash = "bb", .train_tokens = 101, .tokenizer_hash = "cc"};
    for (int i = 0; i < 2; i++) STORE_OK(store_run_objects(s, &f->boss, &objects, err));
    objects.train_hash[0] = 'c';
    STORE_REFUSED(ERR_STATE, store_run_objects(s, &f->boss, &objects, err));
    two_done(f);
    store_commit_entry_t one = {.replica = 0, .fence = 1, .done_windows = 10};
    STORE_OK(store_round_decide(s, &f->boss, 0, &one, 1, err));
    STORE_OK(store_resume(s, &f->boss, &r, err));
    assert_true(r.has_objects && r.has_round && r.objects.train_tokens == 101);
    assert_string_equal(r.objects.train_hash, "bb");
    assert_string_equal(r.objects.tokenizer_hash, "cc");
    assert_string_equal(r.round.state, "decided");
    assert_true(r.leases.n == 2 && r.leases.at[0].decided_windows == 10 &&
                r.leases.at[1].decided_windows == -1);
    assert_int_equal(strlen(r.leases.at[1].state_in), HASH_HEX - 1);
    assert_string_equal(r.leases.at[1].state_out, "0b5");
    assert_true(r.leases.at[1].steps == 3 && r.leases.at[1].norm2 == 4);
    assert_true(r.updates.n == 2 && !r.updates.at[0].committed);
    assert_true(r.updates.at[1].replica == 1 && r.updates.at[1].norm2 == 4);
    store_resume_fini(&r);
    store_commit_t commit = {.entries = &one, .n_entry = 1, .tokens = 640, .loss = 1};
    STORE_OK(store_round_commit(s, &f->boss, &commit, err));
    STORE_OK(store_resume(s, &f->boss, &r, err));
    assert_string_equal(r.round.state, "committed");
    /* Only what was committed is a measure for later updates. */
    assert_true(r.updates.n == 2 && r.updates.at[0].committed && r.updates.at[0].replica == 0);
    assert_string_equal(r.updates.at[0].worker, "w1");
    assert_true(r.updates.at[0].steps == 3 && r.updates.at[0].compute_s == 0.5);
    assert_true(r.updates.at[0].sent_bytes == 1000 && r.updates.at[0].received_bytes == -1);
    assert_true(r.updates.at[0].download_ms == 20 && r.updates.at[0].upload_ms == -1);
    /* Done, and not counted: its worker is told apart. */
    assert_true(r.updates.at[1].dropped && !r.updates.at[0].dropped);
    assert_true(r.updates.at[1].replica == 1 && !r.updates.at[1].committed);
    assert_int_equal(
        store_help_count(f->url, "SELECT sent_bytes FROM pcp_leases WHERE "
                                 "replica = 0 AND received_bytes IS NULL AND download_ms = 20 AND "
                                 "upload_ms IS NULL"),
        1000);
    assert_true(r.tokens == 640 && r.loss == 1 && isnan(r.validation_loss));
    assert_true(r.returned.n == 1 && r.returned.at[0].start == 10 && r.returned.at[0].count == 10);
    store_resume_fini(&r);
}

/* Texts of samples: one a round, and void with it. */
static void test_texts(void **state)
{
    ledger_test_t *f = *state;
    store_t *s = f->store;
    store_resume_t r;
    store_commit_entry_t both[] = {{.replica = 0, .fence = 1, .done_windows = 10},
                                   {.replica = 1, .fence = 1, .done_windows = 9}};
    store_commit_t commit = {.entries = both, .n_entry = 2, .tokens = 640, .loss = 1};
    two_done(f);
    STORE_OK(store_round_decide(s, &f->boss, 0, both, 2, err));
    STORE_OK(store_round_commit(s, &f->boss, &commit, err));
    STORE_OK(store_resume(s, &f->boss, &r, err));
    assert_int_equal(r.written, 0);
    store_resume_fini(&r);
    STORE_OK(store_text_add(s, &f->boss, 0, "It", " was '\xc3\xa9'\n", err));
    STORE_OK(store_text_add(s, &f->boss, 0, "It", "again", err));
    store_leader_t deposed = f->boss;
    deposed.fence--;
    STORE_REFUSED(ERR_FENCE, store_text_add(s, &deposed, 1, "It", "late", err));
    report_t found;
    STORE_OK(store_report(s, "samples", "r", 10, &found, err));
    assert_true(found.n_row == 1 && store_report_number(&found, 0, "round") == 1);
    assert_string_equal(store_report_cell(&found, 0, "prompt"), "It");
    assert_string_equal(store_report_cell(&found, 0, "text"), " was '\xc3\xa9'\n");
    assert_non_null(store_report_cell(&found, 0, "written_at"));
    store_report_fini(&found);
    STORE_OK(store_resume(s, &f->boss, &r, err));
    assert_int_equal(r.written, 1);
    store_resume_fini(&r);
    const store_rewind_t to = {.round = 0};
    STORE_OK(store_run_rewind(s, &f->boss, &to, err));
    assert_int_equal(store_help_count(f->url, "SELECT count(*) FROM text_sample"), 0);
}

static void test_groups(void **state)
{
    ledger_test_t *f = *state;
    store_t *s = f->store;
    bool written;
    two_done(f);
    for (int i = 0; i < 3; i++) { /* the repeats change nothing */
        STORE_OK(store_group_begin(s, &f->boss, 1, &written, err));
        assert_int_equal(written, i > 0);
        if (written) continue;
        STORE_OK(store_lease_reopen(s, &f->boss, 0, 0, 1, err));
        STORE_OK(store_lease_issue(s, &f->boss, 0, 0, 2, "w2", "cpu:x", err));
        STORE_OK(store_help_done(s, &f->boss, 0, 2, 10, NULL, err));
        STORE_OK(store_group_end(s, &f->boss, 1, 0, err));
    }
    /* One that fails takes the others with it. */
    STORE_OK(store_group_begin(s, &f->boss, 2, &written, err));
    assert_false(written);
    STORE_OK(store_lease_reopen(s, &f->boss, 0, 0, 2, err));
    STORE_REFUSED(ERR_STATE, store_lease_reopen(s, &f->boss, 0, 0, 1, err));
    STORE_REFUSED(ERR_STATE, store_group_end(s, &f->boss, 2, 0, err));
    store_leases_t leases;
    STORE_OK(store_lease_list(s, "r", 0, &leases, err));
    assert_string_equal(leases.at[0].state, "done");
    store_leases_fini(&leases);
    /* The next leader counts from 1 again; the old one is out. */
    store_leader_t old = f->boss;
    STORE_OK(store_leader_release(s, &old, err));
    STORE_OK(store_leader_acquire(s, "r", "boss", 60000, &written, &f->boss, err));
    assert_true(written && f->boss.fence > old.fence);
    STORE_REFUSED(ERR_FENCE, store_group_begin(s, &old, 2, &written, err));
    STORE_OK(store_group_begin(s, &f->boss, 1, &written, err));
    assert_false(written);
    STORE_OK(store_group_end(s, &f->boss, 1, 0, err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_decide, ledger_set_up, ledger_tear_down),
        cmocka_unit_test_setup_teardown(test_targets, ledger_set_up, ledger_tear_down),
        cmocka_unit_test_setup_teardown(test_late, ledger_set_up, ledger_tear_down),
        cmocka_unit_test_setup_teardown(test_resume, ledger_set_up, ledger_tear_down),
        cmocka_unit_test_setup_teardown(test_texts, ledger_set_up, ledger_tear_down),
        cmocka_unit_test_setup_teardown(test_groups, ledger_set_up, ledger_tear_down),
    };
    return cmocka_run_group_tests_name("store, recovery", tests, NULL, NULL);
}
