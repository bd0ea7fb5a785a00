/* What pcp-metrics reads from the records, against rows that are known; restarts, which events tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <czmq.h>

#include "metrics/totals.h"
#include "store_help.h"

enum { KEEP_MS = 60000 };

/* Run r trains, q waits, d is done; three rounds, of which one is open. */
static const char fill[] =
    "INSERT INTO run (id, key, config, config_hash, state, n_windows, n_rounds, created_ms) VALUES "
    "('r', 'r', '{}', '', 'running', 900, 30, 1), ('d', 'd', '{}', '', 'done', 900, 1, 1);"
    "INSERT INTO round (run_id, round, state, leader_fence, cursor_epoch, cursor_window, "
    "opened_ms, "
    "committed_ms, loss, n_tokens, compute_ms, transfer_ms, wait_ms, recover_ms) VALUES "
    "('r', 0, 'committed', 1, 0, 10, 0, 1000, 1, 64, 500, 100, 200, 50), "
    "('r', 1, 'committed', 1, 0, 20, 1000, 2000, 1, 64, 500, 25, 300, 0), "
    "('d', 0, 'committed', 1, 0, 20, 1000, 2000, 1, 64, 500, 25, 300, 0);"
    "INSERT INTO rejection (run_id, round, replica, fence, worker_id, reason, created_ms) VALUES "
    "('r', 0, 0, 1, 'w', 'norm', 1), ('r', 0, 1, 1, 'w', 'norm', 1), ('r', 1, 1, 1, 'w', 'late', "
    "1);"
    "INSERT INTO checkpoint (run_id, round, hash, path, n_bytes, state, created_ms) VALUES "
    "('r', 0, 'h', '/c', 11, 'good', 1700000000500), ('r', 1, 'i', '/d', 11, 'pruned', "
    "1800000000000);"
    "INSERT INTO submission (id, number, key, spec_hash, state, n_workers, n_shards, n_rounds, "
    "created_ms) "
    "VALUES ('q', 7, 'q', '', 'queued', 1, 1, 9, 1);";

static int set_up(void **state)
{
    int rc = store_set_up(state);
    const store_test_t *f = *state;
    store_help_script(f->url, fill);
    return rc;
}

static void read_once(totals_reader_t *reader, int64_t now_ms, totals_t *out)
{
    totals_tick(reader, now_ms);
    zpoller_t *poller = zpoller_new(totals_socket(reader), NULL);
    assert_non_null(zpoller_wait(poller, 60000));
    zpoller_destroy(&poller);
    assert_true(totals_receive(reader, out));
}

static void has(const char *text, const char *line)
{
    if (!strstr(text, line)) fail_msg("no \"%s\" in\n%s", line, text);
}

static void values_are_the_records(void **state)
{
    const store_test_t *f = *state;
    metrics_t metrics;
    totals_t totals = {0};
    str_t text = {0};
    metrics_init(&metrics, NULL, KEEP_MS);
    totals_reader_t *reader = totals_new(f->url, NULL);
    read_once(reader, 1000, &totals);
    totals_apply(&totals, &metrics, 1000);
    totals_fini(&totals);
    metrics_expose(&metrics, 1000, &text);
    has(text.at, "\npcp_queued_runs{state=\"queued\"} 1\n");
    has(text.at, "\npcp_queued_runs{state=\"paused\"} 0\n");
    has(text.at, "\npcp_lost_seconds_total{run=\"r\",reason=\"transfer\"} 0.125\n");
    has(text.at, "\npcp_lost_seconds_total{run=\"r\",reason=\"wait\"} 0.5\n");
    has(text.at, "\npcp_lost_seconds_total{run=\"r\",reason=\"recover\"} 0.05\n");
    has(text.at, "\npcp_lost_seconds_total{run=\"r\",reason=\"other\"} 0.325\n");
    has(text.at, "\npcp_rejections_total{run=\"r\",reason=\"norm\"} 2\n");
    has(text.at, "\npcp_rejections_total{run=\"r\",reason=\"late\"} 1\n");
    has(text.at, "\npcp_checkpoint_time_seconds{run=\"r\"} 1700000000.5\n");
    assert_null(strstr(text.at, "run=\"d\"")); /* it is over */
    str_fini(&text);
    store_help_script(f->url,
                      "DELETE FROM submission; UPDATE round SET wait_ms = 400 WHERE round = 1");
    totals_tick(reader, 1000 + TOTALS_MS - 1); /* too soon */
    assert_false(totals_receive(reader, &totals));
    read_once(reader, 1000 + TOTALS_MS, &totals);
    totals_apply(&totals, &metrics, 1000);
    totals_fini(&totals);
    metrics_expose(&metrics, 1000, &text);
    has(text.at, "\npcp_queued_runs{state=\"queued\"} 0\n");
    has(text.at, "\npcp_lost_seconds_total{run=\"r\",reason=\"wait\"} 0.6\n");
    str_fini(&text);
    totals_destroy(&reader);
    metrics_fini(&metrics);
}

/* The store is no store: nothing is given, and a reading that was not received is freed. */
static void no_store(void **state)
{
    const store_test_t *f = *state;
    totals_t totals = {0};
    totals_reader_t *reader = totals_new("sqlite:///tmp/pcp-there-is-no-such-file.db", NULL);
    totals_tick(reader, 1000);
    zpoller_t *poller = zpoller_new(totals_socket(reader), NULL);
    assert_non_null(zpoller_wait(poller, 60000));
    assert_false(totals_receive(reader, &totals));
    zpoller_destroy(&poller);
    totals_destroy(&reader);
    assert_null(totals_new("mysql://host", NULL));
    reader = totals_new(f->url, NULL);
    totals_tick(reader, 1000);
    totals_destroy(&reader);
}

/* They stay when the worker leaves, which is when they matter. */
static void restarts(void **state)
{
    (void)state;
    metrics_t metrics;
    str_t text = {0};
    metrics_init(&metrics, NULL, KEEP_MS);
    Msg__WorkerState worker = MSG__WORKER_STATE__INIT;
    worker.id = (char *)"w1", worker.state = (char *)"running", worker.restarts = 2;
    Msg__Event event = MSG__EVENT__INIT;
    event.source = (char *)"supervisor", event.run = (char *)"r";
    event.body_case = MSG__EVENT__BODY_WORKER;
    event.worker = &worker;
    metrics_on_event(&metrics, &event, 1000);
    Msg__MemberChange change = MSG__MEMBER_CHANGE__INIT;
    change.id = (char *)"w1", change.kind = (char *)"worker";
    event.body_case = MSG__EVENT__BODY_MEMBER;
    event.member = &change;
    metrics_on_event(&metrics, &event, 1000);
    metrics_tick(&metrics, 2500, 2500);
    metrics_expose(&metrics, 2500, &text);
    has(text.at, "\npcp_worker_restarts_total{run=\"r\",worker=\"w1\"} 2\n");
    str_fini(&text);
    metrics_fini(&metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_are_the_records, set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(no_store, set_up, store_tear_down),
        cmocka_unit_test(restarts),
    };
    zsys_handler_set(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
