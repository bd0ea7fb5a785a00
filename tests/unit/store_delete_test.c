/* Deleting a submitted run: all that is recorded of it goes, in slices; nothing of another's does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store_help.h"

/* Tables with rows of runs; those of the second line are not a run's own. */
static const char *const tables[] = {"leadership", "round",      "lease",  "ledger",  "returned",
                                     "rejection",  "checkpoint", "rewind", "replicas"};
enum {
    N_TABLES = sizeof tables / sizeof *tables,
    N_OTHERS = 4 /* worker, event, sample, quarantine */
};
enum { N_LEASES = 12000 }; /* more than a slice */

typedef struct {
    ledger_test_t ledger;
    store_leader_t front;
} fixture_t;

static void submit(fixture_t *f, const char *id, int64_t number, const char *state)
{
    store_submission_t row = {.number = number, .n_workers = 1, .n_shards = 1};
    snprintf(row.id, sizeof row.id, "%s", id);
    snprintf(row.key, sizeof row.key, "%s", id);
    memset(row.spec_hash, 'a', HASH_HEX - 1);
    STORE_OK(store_submission_add(f->ledger.store, &f->front, &row, err));
    STORE_OK(store_submission_move(f->ledger.store, &f->front, id, state, NULL, err));
}

/* Rows of run `r` in every table. */
static const char fill[] =
    "UPDATE run SET module_hash = 'm', train_hash = 't', validation_hash = '', "
    "tokenizer_hash = 'z' WHERE id = 'r';"
    "INSERT INTO text_sample (run_id, round, prompt, text, written_ms) VALUES ('r', 0, '', 'x', 1);"
    "INSERT INTO ledger (run_id, epoch, first_window, n_windows, round, replica, fence, worker_id) "
    "VALUES ('r', 0, 0, 10, 0, 0, 1, 'w');"
    "INSERT INTO returned (run_id, epoch, first_window, n_windows, round) "
    "VALUES ('r', 0, 50, 10, 0);"
    "INSERT INTO rejection (run_id, round, replica, fence, worker_id, reason, created_ms) "
    "VALUES ('r', 0, 0, 1, 'w', 'late', 1);"
    "INSERT INTO checkpoint (run_id, round, hash, path, n_bytes, state, created_ms) "
    "VALUES ('r', 0, 'h', 'p', 1, 'good', 1);"
    "INSERT INTO rewind (run_id, number, from_round, to_round, checkpoint, reason, leader_fence, "
    "begun_ms) VALUES ('r', 1, 0, 0, '', 'why', 1, 1);"
    "INSERT INTO replicas (run_id, round, n, reason, leader_fence, decided_ms) "
    "VALUES ('r', 0, 1, 'why', 1, 1);"
    "UPDATE lease SET state_in = 'old', state_out = 'new' WHERE run_id = 'r';"
    "INSERT INTO lease (run_id, round, replica, fence, epoch, first_window, n_windows, state) "
    "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 12000) "
    "SELECT 'r', 0, i, 1, 0, 10 * i, 10, 'dropped' FROM k;";

static int set_up(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    void *ledger = NULL;
    bool won;
    assert_int_equal(ledger_set_up(&ledger), 0);
    f->ledger = *(ledger_test_t *)ledger;
    free(ledger);
    STORE_OK(store_front_acquire(f->ledger.store, "a", 60000, &won, &f->front, err));
    ledger_open(&f->ledger, 0);
    submit(f, "r", 1, "failed");
    store_help_script(f->ledger.url, fill);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_t *f = *state;
    store_destroy(&f->ledger.store);
    store_help_drop(&f->ledger.url);
    free(f);
    return 0;
}

static int64_t rows_in(const fixture_t *f, const char *table, const char *column)
{
    char query[128];
    snprintf(query, sizeof query, "SELECT count(*) FROM %s WHERE %s = 'r'", table, column);
    return store_help_count(f->ledger.url, query);
}

static void all_of_it(void **state)
{
    fixture_t *f = *state;
    store_t *s = f->ledger.store;
    bool done = false;
    int slices = 0;
    for (size_t i = 0; i < N_TABLES; i++) assert_true(rows_in(f, tables[i], "run_id") > 0);
    for (; !done; slices++) {
        STORE_OK(store_submission_delete(s, &f->front, "r", &done, err));
        assert_true(slices < 10);
        if (!done) assert_int_equal(rows_in(f, "submission", "id"), 1); /* last of all */
    }
    assert_true(slices >= 3);
    for (size_t i = 0; i < N_TABLES; i++) assert_int_equal(rows_in(f, tables[i], "run_id"), 0);
    assert_int_equal(rows_in(f, "text_sample", "run_id"), 0); /* with the run's row */
    assert_int_equal(rows_in(f, "run", "id"), 0);
    assert_int_equal(rows_in(f, "submission", "id"), 0);
    STORE_OK(store_submission_delete(s, &f->front, "r", &done, err)); /* a repeat */
    assert_true(done);
    submit(f, "r", 2, "running"); /* the name is free */
}

static void only_what_is_over(void **state)
{
    fixture_t *f = *state;
    store_t *s = f->ledger.store;
    static const char *const alive[] = {"queued", "running", "paused"};
    bool done;
    for (size_t i = 0; i < 3; i++) {
        STORE_OK(store_submission_move(s, &f->front, "r", alive[i], NULL, err));
        STORE_REFUSED(ERR_STATE, store_submission_delete(s, &f->front, "r", &done, err));
    }
    assert_int_equal(rows_in(f, "lease", "run_id"), N_LEASES + 1);
    store_leader_t other = f->front;
    other.fence++;
    STORE_REFUSED(ERR_FENCE, store_submission_delete(s, &other, "r", &done, err));
}

static bool has(const store_hashes_t *hashes, const char *hash)
{
    for (size_t i = 0; i < hashes->n; i++)
        if (strcmp(hashes->at[i], hash) == 0) return true;
    return false;
}

/* Model, tokens and the last inner states, but for what a run that may go on needs. */
static void objects(void **state)
{
    fixture_t *f = *state;
    store_t *s = f->ledger.store;
    store_hashes_t found;
    STORE_OK(store_submission_objects(s, "r", &found, err));
    assert_int_equal(found.n, 5);
    assert_true(has(&found, "z"));
    assert_true(has(&found, "m") && has(&found, "t") && has(&found, "old") && has(&found, "new"));
    store_hashes_fini(&found);
    store_run_spec_t spec = {.id = "other", .config = "{}"};
    char id[STORE_ID];
    STORE_OK(store_run_submit(s, &spec, id, NULL, err));
    STORE_OK(store_submission_objects(s, "r", &found, err)); /* who knows what it will need */
    assert_int_equal(found.n, 0);
    store_hashes_fini(&found);
    store_help_script(f->ledger.url, "UPDATE run SET module_hash = 'x', train_hash = 't', "
                                     "tokenizer_hash = 'z', state = 'paused' WHERE id = 'other'");
    STORE_OK(store_submission_objects(s, "r", &found, err));
    assert_true(found.n == 3 && !has(&found, "t") && !has(&found, "z"));
    store_hashes_fini(&found);
    store_help_script(f->ledger.url, "UPDATE run SET state = 'done' WHERE id = 'other'");
    STORE_OK(store_submission_objects(s, "r", &found, err));
    assert_int_equal(found.n, 5);
    store_hashes_fini(&found);
}

/* A new table of runs is deleted from with its run (ON DELETE CASCADE) or in slices, by a row of
 * store/delete.c and of `tables`. */
static void every_table(void **state)
{
    const fixture_t *f = *state;
    if (store_help_postgres()) skip();
    int64_t n = store_help_count(
        f->ledger.url,
        "SELECT count(*) FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table' "
        "AND p.name = 'run_id' AND NOT EXISTS (SELECT 1 FROM pragma_foreign_key_list(m.name) k "
        "WHERE k.\"from\" = 'run_id' AND k.\"table\" = 'run' AND k.on_delete = 'CASCADE')");
    assert_int_equal(n, N_TABLES + N_OTHERS);
}

/* What cascades goes, in SQLite too. */
static void cascades(void **state)
{
    fixture_t *f = *state;
    bool done = false;
    store_help_script(f->ledger.url,
                      "CREATE TABLE trial (run_id text REFERENCES run (id) ON DELETE CASCADE);"
                      "INSERT INTO trial VALUES ('r');");
    while (!done) STORE_OK(store_submission_delete(f->ledger.store, &f->front, "r", &done, err));
    assert_int_equal(rows_in(f, "trial", "run_id"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_of_it), TEST(only_what_is_over), TEST(objects), TEST(every_table), TEST(cascades),
    };
    return cmocka_run_group_tests_name("store_delete", tests, NULL, NULL);
}
