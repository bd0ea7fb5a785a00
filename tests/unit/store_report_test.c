/* Reports: each of them against rows that are known, bounded, read only. tests/cluster/store.sh runs
 * it on PostgreSQL too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>

#include "store/report.h"
#include "store_help.h"

enum { ROUNDS = 25 };

/* Run `r` of 25 committed rounds of loss 100 - round, and one that is open. */
static const char fill[] =
    "INSERT INTO run (id, key, config, config_hash, state, n_windows, n_rounds, created_ms, "
    "started_ms) VALUES ('r', 'r', '{}', '', 'running', 900, 30, 1700000000123, 1700000001000);"
    "INSERT INTO round (run_id, round, state, leader_fence, cursor_epoch, cursor_window, "
    "opened_ms, committed_ms, loss, validation_loss, n_tokens, compute_ms, transfer_ms, wait_ms, "
    "recover_ms, received_bytes, sent_bytes) "
    "WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 24) "
    "SELECT 'r', i, 'committed', 1, 0, 10 * (i + 1), 1000 * i, 1000 * i + 500, 99 - i, "
    "CASE WHEN i % 5 = 4 THEN 50 - i END, 640, 300, 100, 50, 0, 7, 8 FROM k;"
    "INSERT INTO round (run_id, round, state, leader_fence, cursor_epoch, cursor_window, "
    "opened_ms, waits_for) VALUES ('r', 25, 'open', 1, 0, 260, 30000, 'a worker');"
    "INSERT INTO lease (run_id, round, replica, fence, epoch, first_window, n_windows, state, "
    "worker_id) VALUES ('r', 25, 0, 1, 0, 250, 10, 'issued', 'w2');"
    "INSERT INTO worker (id, kind, state, target, first_ms, seen_ms) VALUES "
    "('w1', 'worker', 'idle', 'cpu:x', 1, 2), ('w2', 'worker', 'lost', 'cpu:x', 1, 2);"
    "INSERT INTO ledger (run_id, epoch, first_window, n_windows, round, replica, fence, worker_id) "
    "VALUES ('r', 0, 0, 250, 0, 0, 1, 'w1');"
    "INSERT INTO rejection (run_id, round, replica, fence, worker_id, reason, created_ms) "
    "VALUES ('r', 0, 0, 1, 'w', 'late', 1);"
    "INSERT INTO checkpoint (run_id, round, hash, path, n_bytes, state, created_ms) "
    "VALUES ('r', 4, 'h', '/c', 11, 'good', 1700000000999);"
    "INSERT INTO text_sample (run_id, round, prompt, text, written_ms) "
    "VALUES ('r', 4, 'It', ' was', 1700000000999);"
    "INSERT INTO event (time_ms, level, service, member, name, run_id, round, detail) VALUES "
    "(1, 'info', 's', 'm', 'first', 'r', 1, '{}'), (2, 'warn', 's', 'm', 'second', 'r', 2, '{}'), "
    "(3, 'info', 's', 'm', 'other', 'q', 1, '{}');";

static int set_up(void **state)
{
    store_test_t *f;
    int rc = store_set_up(state);
    f = *state;
    store_help_script(f->url, fill);
    return rc;
}

/* The cell of a row by its column's name; "" for NULL. */
static const char *cell(const report_t *report, size_t row, const char *column)
{
    size_t c = 0;
    while (c < report->n_column && strcmp(report->column[c].name, column) != 0) c++;
    if (row >= report->n_row || c == report->n_column)
        fail_msg("no row %zu with a column %s", row, column);
    const char *text = store_report_cell(report, row, column);
    assert_true(text || isnan(store_report_number(report, row, column)));
    return text ? text : "";
}

static double number(const report_t *report, size_t row, const char *column)
{
    return strtod(cell(report, row, column), NULL);
}

static report_t ask(const store_test_t *f, const char *name, const char *run, int64_t most)
{
    report_t report;
    STORE_OK(store_report(f->store, name, run, most, &report, err));
    return report;
}

/* Each report answers, with the columns that it announces. */
static void every_report(void **state)
{
    const store_test_t *f = *state;
    size_t n = 0;
    for (const char *name; (name = store_report_name(n)); n++) {
        bool of_run;
        assert_true(store_report_known(name, &of_run));
        report_t report = ask(f, name, "r", 100);
        bool of_queue = strcmp(name, "queue") == 0 || strcmp(name, "waiting") == 0; /* "r" runs */
        if (!of_queue && report.n_row == 0) fail_msg("%s has no row", name);
        for (size_t c = 0; c < report.n_column; c++) assert_true(*report.column[c].name);
        store_report_fini(&report);
        if (of_run) continue;
        report = ask(f, name, "", 100);
        store_report_fini(&report);
    }
    assert_true(n >= 10);
}

static void rounds_are_put_together(void **state)
{
    const store_test_t *f = *state;
    report_t report = ask(f, "loss", "r", 100);
    assert_int_equal(report.n_row, ROUNDS);
    assert_true(report.each == 1 && report.n_of == ROUNDS);
    for (size_t i = 0; i < ROUNDS; i++) {
        assert_true(number(&report, i, "round") == (double)i + 1);
        assert_true(number(&report, i, "loss") == 99 - (double)i);
    }
    assert_string_equal(cell(&report, 0, "committed_at"), "1970-01-01T00:00:00.500Z");
    store_report_fini(&report);
    report = ask(f, "loss", "r", 10); /* 3 rounds a row: 9 rows, the last of one round */
    assert_int_equal(report.n_row, 9);
    assert_int_equal(report.each, 3);
    assert_true(number(&report, 0, "round") == 3 && number(&report, 0, "loss") == 98);
    assert_true(number(&report, 0, "tokens") == 3 * 640);
    assert_true(number(&report, 8, "round") == 25 && number(&report, 8, "loss") == 75);
    store_report_fini(&report);
    report = ask(f, "time", "r", 1);
    assert_int_equal(report.n_row, 1);
    assert_true(number(&report, 0, "total_ms") == 500 && number(&report, 0, "other_ms") == 50);
    store_report_fini(&report);
}

/* As they are, however many: for who follows a run. */
static void rounds_as_they_are(void **state)
{
    const store_test_t *f = *state;
    report_t report;
    STORE_OK(store_report_rounds(f->store, "r", 0, 0, 10, &report, err));
    assert_int_equal(report.n_row, 10);
    assert_true(number(&report, 9, "round") == 10 && number(&report, 9, "loss") == 90);
    assert_true(number(&report, 9, "validation_loss") == 41);
    assert_null(store_report_cell(&report, 8, "validation_loss"));
    assert_true(number(&report, 9, "tokens_per_second") == 1280);
    assert_string_equal(cell(&report, 9, "committed_at"), "1970-01-01T00:00:09.500Z");
    store_report_fini(&report);
    STORE_OK(store_report_rounds(f->store, "r", 24, 25, 10, &report, err));
    assert_true(report.n_row == 1 && number(&report, 0, "round") == 25);
    store_report_fini(&report);
    STORE_OK(store_report_rounds(f->store, "r", 25, 15, 10, &report, err)); /* late validations */
    assert_true(report.n_row == 2 && number(&report, 0, "round") == 20);
    store_report_fini(&report);
    STORE_REFUSED(ERR_ARG, store_report_rounds(f->store, "r", 0, 0, 0, &report, err));
}

static void rows_are_bounded(void **state)
{
    const store_test_t *f = *state;
    report_t report = ask(f, "events", "r", 1);
    assert_true(report.n_row == 1 && report.more);
    assert_string_equal(cell(&report, 0, "name"), "second");
    store_report_fini(&report);
    report = ask(f, "events", "r", 2);
    assert_true(report.n_row == 2 && !report.more);
    store_report_fini(&report);
    report = ask(f, "workers", "r", 100); /* w1 has no part in it */
    assert_int_equal(report.n_row, 1);
    assert_string_equal(cell(&report, 0, "worker"), "w2");
    store_report_fini(&report);
    report = ask(f, "open", "r", 1);
    assert_string_equal(cell(&report, 0, "waits_for"), "a worker");
    store_report_fini(&report);
}

static void refusals(void **state)
{
    const store_test_t *f = *state;
    report_t report;
    STORE_REFUSED(ERR_STATE, store_report(f->store, "loss", "nope", 10, &report, err));
    STORE_REFUSED(ERR_STATE, store_report(f->store, "runs", "nope", 10, &report, err));
    STORE_REFUSED(ERR_ARG, store_report(f->store, "loss", "", 10, &report, err));
    STORE_REFUSED(ERR_ARG, store_report(f->store, "nope", "r", 10, &report, err));
    STORE_REFUSED(ERR_ARG, store_report(f->store, "loss", "r", 0, &report, err));
    STORE_REFUSED(ERR_ARG,
                  store_report(f->store, "loss", "r", STORE_REPORT_ROWS + 1, &report, err));
    STORE_REFUSED(ERR_STATE, store_report(f->store, "loss", "r' OR '1'='1", 10, &report, err));
}

/* Who only reads can do no more. */
static void read_only(void **state)
{
    const store_test_t *f = *state;
    store_options_t options = {.read_only = true};
    err_t why = {0};
    store_t *reader = store_open(f->url, &options, &why);
    report_t report;
    STORE_OK(store_report(reader, "loss", "r", 10, &report, err));
    store_report_fini(&report);
    store_event_t event = {1, "info", "s", "m", "told", "r", 1, NULL, NULL};
    assert_int_equal(store_event_add(reader, NULL, &event, &why), -1);
    store_destroy(&reader);
    assert_int_equal(store_help_count(f->url, "SELECT count(*) FROM event"), 3);
    if (store_help_postgres()) return;
    char *none = strdup("sqlite:///tmp/pcp-there-is-no-such-file.db");
    reader = store_open(none, &options, &why);
    assert_int_equal(store_report(reader, "runs", "", 10, &report, &why), -1);
    assert_int_equal(access(none + strlen("sqlite://"), F_OK), -1);
    store_destroy(&reader);
    free(none);
}

static void stamps(void **state)
{
    const store_test_t *f = *state;
    int64_t before, same, after;
    STORE_OK(store_report_stamp(f->store, &before, err));
    STORE_OK(store_report_stamp(f->store, &same, err));
    if (!store_help_postgres()) assert_true(before == same); /* a server has other writers */
    store_help_script(f->url, "UPDATE run SET reason = 'why' WHERE id = 'r'");
    STORE_OK(store_report_stamp(f->store, &after, err));
    assert_true(after != before);
}

static void times(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"2026-01-31 23:59:59.123", "2026-01-31T23:59:59.123Z"},
        {"2026-01-31 23:59:59.123456+00", "2026-01-31T23:59:59.123Z"},
        {"2026-02-01 01:29:59+01:30", "2026-01-31T23:59:59.000Z"},
        {"2026-01-31 18:59:59-05", "2026-01-31T23:59:59.000Z"},
        {"1969-12-31 23:59:59.5", "1969-12-31T23:59:59.500Z"},
        {"yesterday", NULL},
        {"2026-01-31 23:59:59 PM", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[STORE_WORD];
        assert_int_equal(store_report_time(rows[i].from, out), rows[i].to != NULL);
        if (rows[i].to) assert_string_equal(out, rows[i].to);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_report),
        TEST(rounds_are_put_together),
        TEST(rounds_as_they_are),
        TEST(rows_are_bounded),
        TEST(refusals),
        TEST(read_only),
        TEST(stamps),
        cmocka_unit_test(times),
    };
    return cmocka_run_group_tests_name("store_report", tests, NULL, NULL);
}
