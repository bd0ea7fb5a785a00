/* Migrations: from nothing and from every older version, by several programs at once, refused where
 * the database is another's. tests/cluster/store.sh runs it on PostgreSQL too. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/migrations.h"
#include "store_help.h"

static int set_up(void **state)
{
    *state = store_help_new();
    return 0;
}

static int tear_down(void **state)
{
    char *url = *state;
    store_help_drop(&url);
    return 0;
}

static void expect_version(store_t *s, int version)
{
    store_schema_t schema;
    STORE_OK(store_schema(s, &schema, err));
    assert_int_equal(schema.present, version);
    assert_int_equal(schema.known, n_migrations);
}

/* What the program carries is what the directory holds. */
static void test_files(void **state)
{
    (void)state;
    struct dirent *entry;
    int n_files = 0;
    DIR *dir = opendir("deploy/postgres");
    assert_non_null(dir);
    while ((entry = readdir(dir))) n_files += str_ends(entry->d_name, ".sql");
    closedir(dir);
    assert_int_equal(n_files, n_migrations);
    for (int i = 0; i < n_migrations; i++) {
        char number[16], *path = mem_printf("deploy/postgres/%s.sql", migrations[i].name);
        size_t n;
        snprintf(number, sizeof number, "%04d_", i + 1);
        assert_true(str_starts(migrations[i].name, number));
        char *text = file_read(path, &n, NULL);
        assert_non_null(text);
        assert_string_equal(text, migrations[i].text);
        free(text);
        free(path);
    }
}

static void test_empty(void **state)
{
    store_t *s = store_help_open(*state, false);
    store_run_t run;
    expect_version(s, 0);
    STORE_REFUSED(ERR_SCHEMA, store_check(s, err));
    STORE_REFUSED(ERR_SCHEMA, store_run_get(s, "r", &run, err));
    STORE_OK(store_migrate(s, 0, err));
    expect_version(s, n_migrations);
    STORE_OK(store_check(s, err));
    STORE_OK(store_migrate(s, 0, err)); /* nothing to do */
    STORE_OK(store_migrate(s, 1, err));
    expect_version(s, n_migrations);
    STORE_REFUSED(ERR_ARG, store_migrate(s, n_migrations + 1, err));
    store_destroy(&s);
}

static void test_older(void **state)
{
    store_t *s = store_help_open(*state, false);
    for (int version = 1; version <= n_migrations; version++) {
        if (version > 1) STORE_REFUSED(ERR_SCHEMA, store_check(s, err));
        STORE_OK(store_migrate(s, version, err));
        expect_version(s, version);
        /* A program of that version writes. */
        char name[16], id[STORE_ID];
        snprintf(name, sizeof name, "v%d", version);
        store_run_spec_t spec = {.id = name, .config = "{}"};
        STORE_OK(store_run_submit(s, &spec, id, NULL, err));
    }
    STORE_OK(store_check(s, err));
    store_runs_t runs;
    STORE_OK(store_run_list(s, NULL, 100, &runs, err)); /* nothing was lost on the way */
    assert_int_equal(runs.n, n_migrations);
    store_runs_fini(&runs);
    store_destroy(&s);
}

typedef struct {
    const char *url;
    err_t err;
} migrator_t;

static void *migrate(void *user)
{
    migrator_t *m = user;
    store_t *s = store_open(m->url, NULL, &m->err);
    if (s) store_migrate(s, 0, &m->err);
    store_destroy(&s);
    return NULL;
}

/* Rows of a program of version 10 are as good as ours, and read by the views of ours. */
static void test_views_of_older(void **state)
{
    store_t *s = store_help_open(*state, false);
    STORE_OK(store_migrate(s, 10, err));
    store_help_script(
        *state,
        "INSERT INTO run (id, key, config, config_hash, state, n_windows, created_ms, started_ms, "
        "finished_ms) VALUES ('r', 'r', '{}', '', 'done', 20, 1000, 2000, 9000);"
        "INSERT INTO round (run_id, round, state, leader_fence, cursor_epoch, cursor_window, "
        "opened_ms, committed_ms, loss, n_tokens, compute_ms, recover_ms) VALUES "
        "('r', 0, 'committed', 1, 0, 10, 2000, 4000, 3.5, 640, 500, 0),"
        "('r', 1, 'committed', 1, 0, 20, 4000, 6500, 2.5, 640, 5000, 0);"
        "INSERT INTO ledger VALUES ('r', 0, 0, 10, 0, 0, 1, 'w'), ('r', 0, 10, 10, 1, 0, 1, 'w');"
        "INSERT INTO worker (id, kind, state, first_ms, seen_ms) VALUES ('w', 'worker', 'idle', 1, "
        "2);"
        "INSERT INTO event (time_ms, level, service, member, name) VALUES (1, 'info', 'shepherd', "
        "'s', 'old'), (1, 'info', 'shepherd', 's', 'old');"
        "INSERT INTO rewind VALUES ('r', 1, 7, 5, '', 'why', 1, 1000, 2000);"
        "INSERT INTO replicas VALUES ('r', 0, 2, 'why', 1, 1000);"
        "INSERT INTO checkpoint VALUES ('r', 1, 'h', '/c/round-2', 5, 'good', '', 7000);");
    STORE_OK(store_migrate(s, 0, err));
    const struct {
        const char *query;
        int64_t value;
    } rows[] = {
        {"SELECT sum(round) FROM pcp_loss", 3},
        {"SELECT CAST(tokens_per_second AS bigint) FROM pcp_speed WHERE round = 1", 320},
        {"SELECT rounds FROM pcp_runs WHERE tokens = 1280 AND loss = 2.5 AND checkpoint = "
         "'/c/round-2' AND finished_at > started_at",
         2},
        {"SELECT other_ms FROM pcp_round_time WHERE round = 1 AND committed_at > opened_at", 1500},
        {"SELECT other_ms FROM pcp_round_time WHERE round = 2", 0},
        {"SELECT exactly_once + complete FROM pcp_ledger", 2},
        {"SELECT count(*) FROM pcp_workers WHERE state = 'idle' AND first_at IS NOT NULL", 1},
        {"SELECT count(*) FROM pcp_events WHERE told_at IS NOT NULL", 2},
        {"SELECT from_round * 100 + to_round FROM pcp_rewinds WHERE done_at > begun_at", 806},
        {"SELECT round * 100 + replicas FROM pcp_replicas", 102},
        {"SELECT round FROM pcp_checkpoints WHERE created_at IS NOT NULL", 2},
        {"SELECT count(*) FROM pcp_submissions", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (store_help_count(*state, rows[i].query) != rows[i].value)
            fail_msg("%s: not %d", rows[i].query, (int)rows[i].value);
    store_destroy(&s);
}

static void test_at_once(void **state)
{
    enum { N = 5 };
    migrator_t m[N] = {0};
    pthread_t threads[N];
    for (int i = 0; i < N; i++) {
        m[i].url = *state;
        assert_int_equal(pthread_create(&threads[i], NULL, migrate, &m[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        assert_string_equal(m[i].err.text, "");
    }
    store_t *s = store_help_open(*state, false);
    STORE_OK(store_check(s, err));
    store_destroy(&s);
}

/* A migration that fails leaves the version before it, whole. */
static void test_failing(void **state)
{
    store_t *s = store_help_open(*state, false);
    STORE_OK(store_migrate(s, 1, err));
    store_help_script(*state, "CREATE TABLE ledger (mine text)");
    err_t why = {0};
    assert_int_equal(store_migrate(s, 0, &why), -1);
    assert_true(why.code != ERR_NET && strstr(why.text, "0002_rounds"));
    expect_version(s, 1);
    store_help_script(*state, "DROP TABLE ledger");
    STORE_OK(store_migrate(s, 0, err));
    store_destroy(&s);
}

static void test_foreign(void **state)
{
    store_t *s = store_help_open(*state, true);
    char *newer = mem_printf("INSERT INTO schema_migration (version, name, hash, applied_ms) "
                             "VALUES (%d, 'future', 'h', 0)",
                             n_migrations + 1);
    store_help_script(*state, newer);
    free(newer);
    expect_version(s, n_migrations + 1);
    STORE_REFUSED(ERR_SCHEMA, store_check(s, err));
    STORE_REFUSED(ERR_SCHEMA, store_migrate(s, 0, err));
    store_help_script(*state, "DELETE FROM schema_migration WHERE name = 'future'");
    STORE_OK(store_check(s, err));
    store_help_script(*state, "UPDATE schema_migration SET hash = 'other' WHERE version = 1");
    STORE_REFUSED(ERR_SCHEMA, store_check(s, err));
    STORE_REFUSED(ERR_SCHEMA, store_migrate(s, 0, err));
    store_help_script(*state, "DELETE FROM schema_migration WHERE version = 1");
    STORE_REFUSED(ERR_SCHEMA, store_check(s, err));
    store_destroy(&s);
}

/* Who only looks reads every view and no table. */
static void test_reader(void **state)
{
    store_t *s = store_help_open(*state, true);
    store_destroy(&s);
    assert_int_equal(
        store_help_count(*state,
                         "SELECT count(*) FROM pg_views WHERE schemaname = current_schema() "
                         "AND NOT has_table_privilege('pcp_reader', "
                         "quote_ident(schemaname) || '.' || viewname, 'SELECT')"),
        0);
    assert_in_range(
        store_help_count(*state,
                         "SELECT count(*) FROM pg_views WHERE schemaname = current_schema()"),
        10, 100);
    assert_int_equal(
        store_help_count(*state,
                         "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() "
                         "AND has_table_privilege('pcp_reader', "
                         "quote_ident(schemaname) || '.' || tablename, "
                         "'SELECT, INSERT, UPDATE, DELETE')"),
        0);
    store_help_script(*state,
                      "SET ROLE pcp_reader; SELECT * FROM pcp_ledger; SELECT * FROM pcp_runs");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files), TEST(test_empty),   TEST(test_older),
        TEST(test_views_of_older),    TEST(test_at_once), TEST(test_failing),
        TEST(test_foreign),
    };
    const struct CMUnitTest roles[] = {TEST(test_reader)};
    int failed = cmocka_run_group_tests_name("store, schema", tests, NULL, NULL);
    if (store_help_postgres())
        failed += cmocka_run_group_tests_name("store, reader", roles, NULL, NULL);
    return failed;
}
