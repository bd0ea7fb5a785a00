/* The trail of what operators have done, and who is in quarantine: on SQLite, and in tests/cluster/store.sh on
 * PostgreSQL. Each row of the trail covers the one before; what was changed by hand is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store_help.h"

static store_deed_t deed(const char *action, const char *object)
{
    return (store_deed_t){.who = "pcp-run-1",
                          .key_name = "ann",
                          .public_key = "00ff",
                          .action = action,
                          .object = object,
                          .detail = "{}"};
}

static void add(store_t *store, const char *action, const char *object)
{
    store_deed_t row = deed(action, object);
    STORE_OK(store_trail_add(store, NULL, &row, err));
}

static int64_t broken(store_t *store, int64_t whole)
{
    store_trail_check_t check;
    STORE_OK(store_trail_check(store, &check, err));
    assert_int_equal(check.n, whole);
    return check.broken;
}

/* What only the database's owner can do. */
static void by_hand(const store_test_t *f, const char *statement)
{
    char text[600];
    bool postgres = store_help_postgres();
    snprintf(text, sizeof text, "%s %s; %s",
             postgres ? "ALTER TABLE trail DISABLE TRIGGER USER;"
                      : "DROP TRIGGER IF EXISTS trail_not_changed; DROP TRIGGER IF EXISTS "
                        "trail_not_deleted;",
             statement, postgres ? "ALTER TABLE trail ENABLE TRIGGER USER;" : "");
    store_help_script(f->url, text);
}

static void rows_follow_each_other(void **state)
{
    const store_test_t *f = *state;
    assert_int_equal(broken(f->store, 0), 0);
    add(f->store, "submit", "r1");
    add(f->store, "pause", "r1");
    store_trail_t page;
    STORE_OK(store_trail_read(f->store, 0, &page, err));
    assert_int_equal(page.n, 2);
    assert_string_equal(page.at[0].before, "");
    assert_string_equal(page.at[1].before, page.at[0].hash);
    assert_string_equal(page.at[1].action, "pause");
    assert_string_equal(page.at[1].key_name, "ann");
    store_trail_fini(&page);
    assert_int_equal(broken(f->store, 2), 0);
}

/* Which runs were deleted, each once, the last one first. */
static void it_knows_deleted_runs(void **state)
{
    const store_test_t *f = *state;
    static const char *const deeds[][2] = {
        {"delete", "r1"}, {"cancel", "r2"}, {"delete", "r3"}, {"submit", "r1"}, {"delete", "r1"},
    };
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        add(f->store, deeds[i][0], deeds[i][1]);
    store_ids_t found;
    STORE_OK(store_submissions_deleted(f->store, &found, err));
    assert_int_equal(found.n, 2);
    assert_string_equal(found.at[0], "r1");
    assert_string_equal(found.at[1], "r3");
    store_ids_fini(&found);
}

/* With the action, or not at all. */
static void a_deed_that_failed_is_not_in_it(void **state)
{
    const store_test_t *f = *state;
    err_t err = {0};
    assert_int_equal(store_trail_together(f->store, &err), 0);
    store_deed_t row = deed("cancel", "r1");
    assert_int_equal(store_trail_add(f->store, NULL, &row, &err), 0);
    err_set(&err, ERR_STATE, "the action failed");
    assert_int_equal(store_trail_end(f->store, -1, &err), -1);
    add(f->store, "submit", "r2");
    assert_int_equal(broken(f->store, 1), 0);
}

static void nobody_changes_it_by_accident(void **state)
{
    const store_test_t *f = *state;
    add(f->store, "submit", "r1");
    assert_true(store_help_refused(f->url, "UPDATE trail SET who = 'x'"));
    assert_true(store_help_refused(f->url, "DELETE FROM trail"));
    if (store_help_postgres()) assert_true(store_help_refused(f->url, "TRUNCATE trail"));
    assert_int_equal(broken(f->store, 1), 0);
}

static void what_was_changed_is_found(void **state)
{
    static const struct {
        const char *statement;
        int64_t broken;
    } rows[] = {
        {"UPDATE trail SET who = 'nobody' WHERE seq = 3", 3},
        {"UPDATE trail SET time_ms = time_ms + 1 WHERE seq = 1", 1},
        {"UPDATE trail SET detail = '{}', object = 'r9' WHERE seq = 5", 5},
        {"DELETE FROM trail WHERE seq = 2", 2},
        {"DELETE FROM trail WHERE seq = 6", 6}, /* the last */
        {"UPDATE trail SET action = 'subm', object = 'itr4' WHERE seq = 4", 4},
        {"DELETE FROM trail; DELETE FROM trail_end WHERE seq < 0", 1},
        {"UPDATE trail_end SET seq = 7", 7},
        {"UPDATE trail_end SET hash = 'ff'", 7},
    };
    const store_test_t *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        by_hand(f, "DELETE FROM trail; DELETE FROM trail_end");
        char run[16];
        for (int k = 1; k <= 6; k++) {
            snprintf(run, sizeof run, "r%d", k);
            add(f->store, "submit", run);
        }
        assert_int_equal(broken(f->store, 6), 0);
        by_hand(f, rows[i].statement);
        assert_int_equal(broken(f->store, rows[i].broken - 1), rows[i].broken);
    }
}

/* Whole rows in the place of others, their own hashes right: the one before does not fit. */
static void a_new_end_does_not_fit(void **state)
{
    const store_test_t *f = *state;
    for (int k = 1; k <= 5; k++) add(f->store, "submit", "r1");
    by_hand(f, "DELETE FROM trail WHERE seq > 3; UPDATE trail_end SET seq = 3, hash = 'ff'");
    add(f->store, "pause", "r1");
    assert_int_equal(broken(f->store, 3), 4);
}

/* One in front of the first, which no reading of rows behind a number comes by. */
static void a_row_that_nobody_reads_is_found(void **state)
{
    const store_test_t *f = *state;
    if (store_help_postgres()) skip(); /* its owner would have to drop the CHECK */
    add(f->store, "submit", "r1");
    by_hand(f, "PRAGMA ignore_check_constraints = ON; INSERT INTO trail SELECT -1, time_ms, who, "
               "key_name, public_key, action, object, detail, before, hash FROM trail");
    assert_int_equal(broken(f->store, 1), 2);
}

/* What is added between the last row that was read and the look at the end is not a row that is missing. */
static void rows_are_added_meanwhile(void **state)
{
    enum { ROWS = 300 };
    const store_test_t *f = *state;
    pid_t writer = fork();
    if (writer == 0) {
        store_t *store = store_help_open(f->url, false);
        store_deed_t row = deed("submit", "r1");
        int rc = 0;
        for (int k = 0; k < ROWS && rc == 0; k++) rc = store_trail_add(store, NULL, &row, NULL);
        _exit(rc < 0);
    }
    int status = -1;
    while (waitpid(writer, &status, WNOHANG) == 0) {
        store_trail_check_t check;
        STORE_OK(store_trail_check(f->store, &check, err));
        if (check.broken) fail_msg("row %d of a trail that is whole", (int)check.broken);
    }
    assert_int_equal(status, 0);
    assert_int_equal(broken(f->store, ROWS), 0);
}

static void quarantine_until_somebody_trusts(void **state)
{
    const store_test_t *f = *state;
    store_leader_t boss = store_help_run(f->store, 100);
    char seed[HASH_HEX], again[HASH_HEX], *names = NULL;
    STORE_OK(store_audit_seed(f->store, &boss, "aa", seed, err));
    STORE_OK(store_audit_seed(f->store, &boss, "bb", again, err));
    assert_string_equal(seed, "aa");
    assert_string_equal(again, "aa"); /* the run's for ever */
    store_liar_t liar = {.name = "ann",
                         .member = "ann-w1",
                         .round = 3,
                         .replica = 1,
                         .fence = 2,
                         .digest = "d",
                         .agreed = "e",
                         .witnesses = "bob-w1,cid-w1"};
    STORE_OK(store_quarantine_add(f->store, &boss, &liar, err));
    STORE_OK(store_quarantine_add(f->store, &boss, &liar, err)); /* once is enough */
    STORE_OK(store_quarantine_names(f->store, &names, err));
    assert_string_equal(names, "ann\n");
    free(names);
    assert_int_equal(store_help_count(f->url, "SELECT count(*) FROM pcp_quarantine"), 1);
    bool lifted = true;
    STORE_OK(store_quarantine_lift(f->store, NULL, "bob", "op", &lifted, err));
    assert_false(lifted);
    STORE_OK(store_quarantine_lift(f->store, NULL, "ann-w1", "op", &lifted, err)); /* by its id */
    assert_true(lifted);
    STORE_OK(store_quarantine_names(f->store, &names, err));
    assert_string_equal(names, "");
    free(names);
    assert_int_equal(store_help_count(f->url, "SELECT count(*) FROM quarantine"), 1); /* evidence */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, store_set_up, store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_follow_each_other),           TEST(it_knows_deleted_runs),
        TEST(a_deed_that_failed_is_not_in_it),  TEST(nobody_changes_it_by_accident),
        TEST(what_was_changed_is_found),        TEST(a_new_end_does_not_fit),
        TEST(quarantine_until_somebody_trusts), TEST(rows_are_added_meanwhile),
        TEST(a_row_that_nobody_reads_is_found),
    };
    return cmocka_run_group_tests_name("store_trail", tests, NULL, NULL);
}
