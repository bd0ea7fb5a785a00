/* Databases for the store's tests. */
#include "store_help.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "store/private.h"
#include "temp.h"

static const sql_limits_t limits = {.connect_ms = 5000, .statement_ms = 20000};
static const char search_path[] = "?options=-csearch_path%3D";

bool store_help_postgres(void)
{
    const char *url = getenv("PCP_TEST_STORE");
    return url && *url;
}

static sql_t *raw_open(const char *url)
{
    err_t err = {0};
    sql_t *db = sql_open(url, &limits, &err);
    if (!db) fail_msg("%s", err.text);
    return db;
}

void store_help_script(const char *url, const char *text)
{
    sql_t *db = raw_open(url);
    STORE_OK(sql_script(db, text, err));
    sql_destroy(&db);
}

bool store_help_refused(const char *url, const char *text)
{
    err_t fault = {0};
    sql_t *db = raw_open(url);
    int rc = sql_script(db, text, &fault);
    sql_destroy(&db);
    return rc < 0 && fault.code == ERR_STATE;
}

int64_t store_help_count(const char *url, const char *query)
{
    sql_t *db = raw_open(url);
    sql_rows_t rows = {0};
    err_t err = {0};
    if (SQL_RUN(db, &err, &rows, query) < 1) fail_msg("%s: %s", query, err.text);
    int64_t n = sql_cell_int(&rows, 0, 0);
    sql_rows_fini(&rows);
    sql_destroy(&db);
    return n;
}

char *store_help_new(void)
{
    static int serial;
    if (!store_help_postgres()) {
        char *dir = temp_dir();
        char *url = mem_printf("sqlite://%s/store.db", dir);
        free(dir);
        return url;
    }
    const char *server = getenv("PCP_TEST_STORE");
    char *create = mem_printf("CREATE SCHEMA t%d_%d", (int)getpid(), ++serial);
    store_help_script(server, create);
    free(create);
    return mem_printf("%s%st%d_%d", server, search_path, (int)getpid(), serial);
}

void store_help_drop(char **url_p)
{
    char *at = strstr(*url_p, search_path);
    if (at) {
        char *drop = mem_printf("DROP SCHEMA %s CASCADE", at + strlen(search_path));
        store_help_script(getenv("PCP_TEST_STORE"), drop);
        free(drop);
    } else {
        char *dir = mem_strdup(*url_p + strlen("sqlite://"));
        *strrchr(dir, '/') = '\0';
        temp_remove(&dir);
    }
    free(*url_p);
    *url_p = NULL;
}

store_t *store_help_open(const char *url, bool migrated)
{
    err_t err = {0};
    store_options_t options = {.statement_ms = 20000};
    store_t *store = store_open(url, &options, &err);
    if (!store) fail_msg("%s", err.text);
    if (migrated && store_migrate(store, 0, &err) < 0) fail_msg("%s", err.text);
    return store;
}

store_leader_t store_help_run(store_t *store, uint64_t n_windows)
{
    store_run_spec_t spec = {.id = "r", .config = "{}"};
    store_leader_t leader = {0};
    char id[STORE_ID];
    bool won = false;
    STORE_OK(store_run_submit(store, &spec, id, NULL, err));
    STORE_OK(store_leader_acquire(store, "r", "boss", 60000, &won, &leader, err));
    assert_true(won);
    STORE_OK(store_run_move(store, "r", "running", NULL, &leader, err));
    STORE_OK(store_run_data(store, &leader, n_windows, err));
    return leader;
}

void store_help_abandon(store_t *store, const store_leader_t *leader)
{
    if (store_leader_begin(store, leader, NULL) == 0 &&
        SQL_RUN(
            store->db, NULL, NULL,
            "INSERT INTO ledger (run_id, epoch, first_window, n_windows, round, replica, fence, "
            "worker_id) VALUES ('r', 0, 0, 10, 0, 0, 1, 'w')") == 1)
        raise(SIGKILL);
    _exit(1); /* the test sees that nothing was killed */
}

int store_set_up(void **state)
{
    store_test_t *f = calloc(1, sizeof *f);
    f->url = store_help_new();
    f->store = store_help_open(f->url, true);
    *state = f;
    return 0;
}

int store_tear_down(void **state)
{
    store_test_t *f = *state;
    store_destroy(&f->store);
    store_help_drop(&f->url);
    free(f);
    return 0;
}

int ledger_set_up(void **state)
{
    ledger_test_t *f = calloc(1, sizeof *f);
    f->url = store_help_new();
    f->store = store_help_open(f->url, true);
    f->boss = store_help_run(f->store, LEDGER_EPOCH);
    *state = f;
    return 0;
}

int ledger_tear_down(void **state)
{
    ledger_test_t *f = *state;
    store_destroy(&f->store);
    store_help_drop(&f->url);
    free(f);
    return 0;
}

void ledger_open(ledger_test_t *self, uint64_t r)
{
    data_range_t cursor = {.start = 10 * r + 10};
    store_lease_t lease = {.fence = 1, .range = {.start = 10 * r, .count = 10}};
    STORE_OK(store_round_open(self->store, &self->boss, r, &cursor, &lease, 1, err));
}

store_commit_t ledger_commit(uint64_t r)
{
    static const store_commit_entry_t all_of_it = {.replica = 0, .fence = 1, .done_windows = 10};
    return (store_commit_t){.round = r,
                            .entries = &all_of_it,
                            .n_entry = 1,
                            .loss = 2.5,
                            .tokens = 640,
                            .compute_ms = 5,
                            .transfer_ms = -1,
                            .wait_ms = 0,
                            .recover_ms = 0};
}

uint64_t ledger_windows(store_t *store)
{
    store_ledger_t ledger;
    STORE_OK(store_ledger_get(store, "r", 0, &ledger, err));
    assert_int_equal(ledger.doubled_windows, 0);
    return ledger.committed_windows;
}

int store_help_done(store_t *store, const store_leader_t *leader, uint32_t replica, uint32_t fence,
                    uint64_t windows, const char *state, err_t *err)
{
    store_done_t done = {.replica = replica,
                         .fence = fence,
                         .windows = windows,
                         .loss = 1.5,
                         .tokens = 640,
                         .state_out = state,
                         .steps = 3,
                         .norm2 = (1.0 + replica) * (1 + replica),
                         .compute_s = 0.5,
                         .sent_bytes = 1000,
                         .received_bytes = -1,
                         .download_ms = 20,
                         .upload_ms = -1};
    return store_lease_done(store, leader, &done, err);
}
