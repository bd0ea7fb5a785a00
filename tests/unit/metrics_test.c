/* The metrics service: values and their text format, the bounded queue, the writer's thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metrics/writer.h"
#include "metrics_rig.h"
#include "msg/publish.h"
#include "msg/refusals.h"
#include "store/store.h"
#include "temp.h"

static void say_step(fixture_t *self, const char *worker, uint64_t sequence)
{
    Msg__StepStats stats = MSG__STEP_STATS__INIT;
    stats.step = 41;
    stats.loss = 2.5;
    stats.tokens_per_s = 800;
    Msg__Event event = event_of(worker, "demo", MSG__EVENT__BODY_STEP);
    event.sequence = sequence;
    event.step = &stats;
    metrics_on_event(&self->state, &event, 5000);
}

static void say_left(fixture_t *self, const char *worker)
{
    Msg__MemberChange change = MSG__MEMBER_CHANGE__INIT;
    change.id = (char *)worker;
    change.kind = "worker";
    change.reason = "it said \"bye\"";
    Msg__Event event = event_of("shepherd", "demo", MSG__EVENT__BODY_MEMBER);
    event.member = &change;
    metrics_on_event(&self->state, &event, 5000);
}

/* --- values --- */

static void values_of_events(void **state)
{
    fixture_t *self = *state;
    say_round(self, "demo", 2, 3.25, 0);
    assert_false(shows(self, "pcp_validation_loss"));
    say_round(self, "demo", 3, 3.125, 3.5);
    say_round(self, "demo", 4, 3.0625, 0);
    assert_true(value_of(self, "pcp_loss{run=\"demo\"}") == 3.0625);
    assert_true(value_of(self, "pcp_validation_loss{run=\"demo\"}") == 3.5); /* stays */
    assert_true(value_of(self, "pcp_round{run=\"demo\"}") == 4);
    assert_true(value_of(self, "pcp_rounds{run=\"demo\"}") == 10);
    assert_true(value_of(self, "pcp_tokens_total{run=\"demo\"}") == 16384);
    assert_true(value_of(self, "pcp_tokens_per_second{run=\"demo\"}") == 1234.5);
    assert_true(value_of(self, "pcp_round_seconds{run=\"demo\"}") == 0.25);
    assert_true(value_of(self, "pcp_shepherd_silent_seconds{run=\"demo\"}") == 1);
    say_commit(self, 0, 1u << 20);
    say_commit(self, 11, 1ull << 45);
    assert_true(value_of(self, "pcp_received_bytes_total{run=\"demo\",shard=\"11\"}") ==
                (double)(1ull << 45));
    assert_true(value_of(self, "pcp_sent_bytes_total{run=\"demo\",shard=\"0\"}") == 2 << 20);
    assert_true(value_of(self, "pcp_refused_chunks_total{run=\"demo\",shard=\"0\"}") == 3);
    assert_true(value_of(self, "pcp_commit_seconds{run=\"demo\",shard=\"0\"}") == 0.125);
    say_step(self, "w1", 0);
    assert_true(value_of(self, "pcp_worker_loss{run=\"demo\",worker=\"w1\"}") == 2.5);
    assert_true(value_of(self, "pcp_worker_step{run=\"demo\",worker=\"w1\"}") == 41);
}

static void members_by_state(void **state)
{
    fixture_t *self = *state;
    say_status(self, 3);
    assert_true(value_of(self, "pcp_workers{run=\"demo\",state=\"busy\"}") == 3);
    assert_true(value_of(self, "pcp_members{run=\"demo\",kind=\"compiler\",state=\"idle\"}") == 1);
    assert_true(value_of(self, "pcp_phase{run=\"demo\",phase=\"train\"}") == 1);
    say_status(self, 1);
    assert_true(value_of(self, "pcp_phase{run=\"demo\",phase=\"commit\"}") == 1);
    assert_false(shows(self, "phase=\"train\""));
    assert_true(value_of(self, "pcp_run_running{run=\"demo\"}") == 1);
    say_step(self, "w1", 0);
    say_step(self, "w2", 0);
    say_left(self, "w1");
    metrics_tick(&self->state, 6000, 6000);
    assert_false(shows(self, "worker=\"w1\""));
    assert_true(shows(self, "worker=\"w2\""));
    say_done(self);
    assert_true(value_of(self, "pcp_run_running{run=\"demo\"}") == 0);
    assert_false(shows(self, "pcp_workers{"));
    assert_false(shows(self, "pcp_phase{"));
}

/* Leases, parts of validations, and what nobody could compare, each by itself. */
static void audits_by_kind(void **state)
{
    fixture_t *self = *state;
    say_status(self, 1);
    assert_true(value_of(self, "pcp_audited_leases_total{run=\"demo\"}") == 11);
    assert_true(value_of(self, "pcp_audited_parts_total{run=\"demo\"}") == 12);
    assert_true(value_of(self, "pcp_audits_skipped_total{run=\"demo\"}") == 13);
}

static void refusals_by_reason(void **state)
{
    fixture_t *self = *state;
    refusals_t told = {0};
    Msg__Event event = MSG__EVENT__INIT;
    for (int i = 0; i < 3; i++) refusals_count(REFUSAL_EXPIRED);
    refusals_count(REFUSAL_BYTES);
    assert_true(refusals_event(&told, 5000, &event));
    assert_false(refusals_event(&told, 5999, &event)); /* once a second */
    event.source = "front";
    metrics_on_event(&self->state, &event, 5000);
    assert_true(
        value_of(self, "pcp_refusals_total{run=\"\",service=\"front\",reason=\"expired\"}") == 3);
    assert_true(value_of(self, "pcp_refusals_total{run=\"\",service=\"front\",reason=\"bytes\"}") ==
                1);
    assert_true(value_of(self, "pcp_refusals_total{run=\"\",service=\"front\",reason=\"role\"}") ==
                0);
    assert_false(shows(self, "pcp_run_running")); /* that makes no run */
    refusals_count(REFUSAL_EXPIRED);
    assert_true(refusals_event(&told, 6000, &event));
    metrics_on_event(&self->state, &event, 6000);
    assert_true(
        value_of(self, "pcp_refusals_total{run=\"\",service=\"front\",reason=\"expired\"}") == 4);
}

/* A run that nobody hears of would be an alarm. */
static void a_fronts_workers_are_no_run(void **state)
{
    fixture_t *self = *state;
    Msg__Event event = MSG__EVENT__INIT;
    Msg__WorkerState change = MSG__WORKER_STATE__INIT;
    change.id = "w1";
    change.restarts = 2;
    event.body_case = MSG__EVENT__BODY_WORKER;
    event.worker = &change;
    event.source = "front";
    metrics_on_event(&self->state, &event, 5000);
    assert_true(value_of(self, "pcp_worker_restarts_total{run=\"\",worker=\"w1\"}") == 2);
    assert_false(shows(self, "pcp_run_running"));
    assert_false(shows(self, "pcp_shepherd_silent_seconds"));
}

static void series_are_forgotten(void **state)
{
    fixture_t *self = *state;
    say_round(self, "demo", 1, 3, 0);
    metrics_tick(&self->state, 5000 + KEEP_MS, 0);
    assert_true(shows(self, "pcp_loss{run=\"demo\"}"));
    metrics_tick(&self->state, 6001 + KEEP_MS, 0);
    assert_false(shows(self, "pcp_loss{run=\"demo\"}"));
}

static void gaps_are_counted(void **state)
{
    fixture_t *self = *state;
    say_step(self, "w1", 7); /* the first one tells nothing about those before */
    assert_true(value_of(self, "pcp_telemetry_dropped_total") == 0);
    say_step(self, "w1", 8);
    say_step(self, "w2", 1);
    say_step(self, "w1", 12);
    assert_true(value_of(self, "pcp_telemetry_dropped_total") == 3);
    say_step(self, "w1", 1); /* started again */
    say_step(self, "w1", 3);
    assert_true(value_of(self, "pcp_telemetry_dropped_total") == 4);
    metrics_on_malformed(&self->state);
    assert_true(value_of(self, "pcp_telemetry_malformed_total") == 1);
    assert_true(value_of(self, "pcp_telemetry_events_total") == 6);
}

static void series_are_bounded(void **state)
{
    fixture_t *self = *state;
    char run[32];
    for (int i = 0; i < SERIES_MOST + 99; i++) { /* one series is the build's */
        snprintf(run, sizeof run, "run-%d", i);
        say_round(self, run, 1, 3, 0);
    }
    assert_int_equal(series_count(self->state.series), SERIES_MOST);
    assert_true(value_of(self, "pcp_series_refused_total") == 100);
}

/* --- the text format --- */

static void whole_text(void **state)
{
    (void)state;
    series_table_t *table = series_table_new();
    series_set(series_get(table, SCOPE_WORKER, "b", "w1", 0), M_WORKER_LOSS, 0.0 / 0.0);
    series_set(series_get(table, SCOPE_WORKER, "a", "w\"\\\n\xc3", 0), M_WORKER_LOSS, 1.0 / 0.0);
    series_set(series_get(table, SCOPE_WORKER, "a", "w1", 0), M_WORKER_LOSS, -0.1);
    series_set(series_get(table, SCOPE_RUN, "a", "", 0), M_TOKENS, 123456789012345.0);
    series_set(series_get(table, SCOPE_RUN, "a", "", 0), M_LOSS, 1e-7);
    str_t text = {0};
    series_expose(table, &text);
    const char *begin = strstr(str_text(&text), "# HELP pcp_loss ");
    assert_non_null(begin);
    assert_string_equal(begin, "# HELP pcp_loss Mean training loss of the last finished round.\n"
                               "# TYPE pcp_loss gauge\n"
                               "pcp_loss{run=\"a\"} 1e-07\n"
                               "# HELP pcp_tokens_total Tokens trained in finished rounds.\n"
                               "# TYPE pcp_tokens_total counter\n"
                               "pcp_tokens_total{run=\"a\"} 123456789012345\n"
                               "# HELP pcp_worker_loss Training loss of the worker's last step.\n"
                               "# TYPE pcp_worker_loss gauge\n"
                               "pcp_worker_loss{run=\"a\",worker=\"w\\\"\\\\__\"} +Inf\n"
                               "pcp_worker_loss{run=\"a\",worker=\"w1\"} -0.1\n"
                               "pcp_worker_loss{run=\"b\",worker=\"w1\"} NaN\n");
    str_fini(&text);
    series_table_destroy(&table);
}

static void names_are_regular(void **state)
{
    (void)state;
    for (int i = 0; i < M_COUNT; i++) {
        const char *name = metric_row((metric_t)i)->name;
        assert_non_null(name);
        bool process = strncmp(name, "process_", 8) == 0; /* as all exporters call them */
        if (!process) assert_memory_equal(name, "pcp_", 4);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
        for (int j = 0; j < i; j++) assert_string_not_equal(name, metric_row((metric_t)j)->name);
    }
}

/* --- the queue --- */

static void queue_is_bounded_and_ordered(void **state)
{
    (void)state;
    queue_t queue;
    queue_init(&queue, 5);
    record_t out[8];
    double next_in = 0, next_out = 0;
    for (int turn = 0; turn < 100; turn++) {
        for (int i = 0; i < turn % 4; i++) {
            record_t record = {.value = next_in, .detail = mem_strdup("{}")};
            bool full = queue.n == 5;
            assert_int_equal(queue_push(&queue, &record), !full);
            next_in += !full;
        }
        size_t n = queue_take(&queue, out, (size_t)(turn % 3));
        for (size_t i = 0; i < n; i++) {
            assert_true(out[i].value == next_out++);
            record_fini(&out[i]);
        }
        assert_true(queue.n <= 5);
    }
    assert_true(queue.dropped > 0);
    assert_int_equal(queue.n, (size_t)(next_in - next_out));
    queue_fini(&queue);
}

/* Samples of a round's event: all that are stored of runs. */
static size_t per_round(void)
{
    size_t n = 0;
    for (int m = 0; m < M_COUNT; m++)
        n += metric_row((metric_t)m)->stored && metric_row((metric_t)m)->scope == SCOPE_RUN;
    return n;
}

static void events_fill_the_queue(void **state)
{
    fixture_t *self = *state;
    size_t n = per_round();
    assert_in_range(n, 5, QUEUE / 2); /* loss, tokens, speed, seconds, validation loss ... */
    say_round(self, "demo", 1, 3, 4);
    assert_int_equal(self->queue.n, n);
    say_step(self, "w1", 0);
    say_step(self, "w1", 0);
    metrics_tick(&self->state, 6000, 6000); /* one sample per second, not per step */
    assert_int_equal(self->queue.n, n + 2);
    metrics_tick(&self->state, 7000, 7000); /* nothing new from the worker */
    assert_int_equal(self->queue.n, n + 2);
    say_left(self, "w1");
    record_t out[QUEUE];
    assert_int_equal(queue_take(&self->queue, out, QUEUE), n + 3);
    assert_string_equal(out[0].name, "pcp_loss");
    assert_string_equal(out[0].run, "demo");
    assert_string_equal(out[0].member, "shepherd");
    assert_true(out[0].value == 3 && out[0].round == 1 && out[0].time_ms == 1000);
    assert_string_equal(out[n].member, "w1");
    assert_true(out[n + 2].is_event);
    assert_string_equal(out[n + 2].name, "member_left");
    assert_string_equal(
        out[n + 2].detail,
        "{\"member\":\"w1\",\"kind\":\"worker\",\"reason\":\"it said \\\"bye\\\"\"}");
    for (size_t i = 0; i < n + 3; i++) record_fini(&out[i]);
    for (int i = 0; i < 100; i++) say_left(self, "w1"); /* nobody empties it */
    assert_int_equal(self->queue.n, QUEUE);
    assert_int_equal(self->queue.dropped, 100 - QUEUE);
}

static void a_member_says_that_it_is_degraded(void **state)
{
    fixture_t *self = *state;
    for (int over = 0; over < 2; over++) {
        Msg__Degraded degraded = MSG__DEGRADED__INIT;
        degraded.kind = "aggregator";
        degraded.text = "the disk is full";
        degraded.over = over;
        Msg__Event event = MSG__EVENT__INIT;
        event.run = "demo";
        event.source = "a0";
        event.body_case = MSG__EVENT__BODY_DEGRADED;
        event.degraded = &degraded;
        metrics_on_event(&self->state, &event, 5000);
        record_t out[QUEUE];
        assert_int_equal(queue_take(&self->queue, out, QUEUE), 1);
        assert_string_equal(out[0].name, over ? "healed" : "degraded");
        assert_string_equal(out[0].level, over ? "info" : "error");
        assert_string_equal(out[0].service, "aggregator");
        assert_string_equal(out[0].member, "a0");
        assert_non_null(strstr(out[0].detail, "the disk is full"));
        record_fini(&out[0]);
    }
}

/* --- the writer --- */

static writer_news_t wait_news(zactor_t *writer)
{
    writer_news_t news = {0};
    zpoller_t *poller = zpoller_new(zactor_sock(writer), NULL);
    assert_non_null(zpoller_wait(poller, 10000));
    zpoller_destroy(&poller);
    assert_true(writer_receive(writer, &news));
    return news;
}

static writer_batch_t *make_batch(fixture_t *self)
{
    writer_batch_t *batch = mem_calloc(1, sizeof *batch);
    batch->n = queue_take(&self->queue, batch->at, WRITER_BATCH);
    return batch;
}

static void writer_writes(void **state)
{
    fixture_t *self = *state;
    char *dir = temp_dir(), *url = mem_printf("sqlite://%s/store.db", dir);
    err_t err = {0};
    uint64_t n_event = 0, n_sample = 0;
    writer_options_t options = {.url = url, .source = "metrics-test"};

    zactor_t *writer = writer_new(&options, &err); /* no tables yet */
    assert_non_null(writer);
    assert_int_equal(wait_news(writer).state, WRITER_SCHEMA);
    zactor_destroy(&writer);

    store_t *store = store_open(url, NULL, &err);
    assert_int_equal(store_migrate(store, 0, &err), 0);
    writer = writer_new(&options, &err);
    assert_int_equal(wait_news(writer).state, WRITER_UP); /* its first ping */
    say_round(self, "demo", 1, 3, 4);
    say_left(self, "w1");
    writer_give(writer, make_batch(self));
    writer_news_t news = wait_news(writer);
    assert_true(news.idle && news.state == WRITER_UP && news.written == per_round() + 1 &&
                news.dropped == 0);
    assert_int_equal(store_telemetry_count(store, "demo", &n_event, &n_sample, &err), 0);
    assert_int_equal(n_event, 1);
    assert_int_equal(n_sample, per_round());
    zactor_destroy(&writer);
    store_destroy(&store);
    free(url);
    temp_remove(&dir);
}

/* A record that the store refuses costs itself, not those beside it. */
static void writer_keeps_the_others(void **state)
{
    fixture_t *self = *state;
    char *dir = temp_dir(), *url = mem_printf("sqlite://%s/store.db", dir);
    err_t err = {0};
    uint64_t n_event = 0, n_sample = 0;
    writer_options_t options = {.url = url, .source = "metrics-test"};
    store_t *store = store_open(url, NULL, &err);
    assert_int_equal(store_migrate(store, 0, &err), 0);
    zactor_t *writer = writer_new(&options, &err);
    assert_int_equal(wait_news(writer).state, WRITER_UP);
    for (int i = 0; i < 58; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", i);
        say_left(self, id);
    }
    writer_batch_t *batch = make_batch(self);
    assert_int_equal(batch->n, 58);
    batch->at[20].level = "dreadful"; /* the table knows no such level */
    writer_give(writer, batch);
    writer_news_t news = wait_news(writer);
    assert_true(news.idle && news.state == WRITER_UP && news.written == 57 && news.dropped == 1);
    say_left(self, "w20"); /* now it is written; and w2 a second time, as one row */
    say_left(self, "w2");
    writer_give(writer, make_batch(self));
    news = wait_news(writer);
    assert_true(news.idle && news.written == 2 && news.dropped == 0);
    assert_int_equal(store_telemetry_count(store, "demo", &n_event, &n_sample, &err), 0);
    assert_int_equal(n_event, 58);
    zactor_destroy(&writer);
    store_destroy(&store);
    free(url);
    temp_remove(&dir);
}

/* Whatever bytes a peer calls a text. */
static void texts_are_cleaned(void **state)
{
    (void)state;
    err_t err = {0};
    zsock_t *out = zsock_new(ZMQ_PUSH), *in = zsock_new(ZMQ_PULL);
    assert_int_equal(zsock_bind(in, "inproc://texts"), 0);
    assert_int_equal(zsock_connect(out, "inproc://texts"), 0);
    Msg__MemberCount one = MSG__MEMBER_COUNT__INIT, *list[] = {&one};
    one.kind = "wor\xE9ker";
    one.state = "";
    Msg__Status status = MSG__STATUS__INIT;
    status.phase = "a\x1b[2J\nb";
    status.n_members = 1;
    status.members = list;
    Msg__Event event = MSG__EVENT__INIT, *got = NULL;
    event.run = "demo\xFF";
    event.source = "caf\xC3\xA9";
    event.body_case = MSG__EVENT__BODY_STATUS;
    event.status = &status;
    publish_event(out, &event);
    zpoller_t *poller = zpoller_new(in, NULL);
    assert_non_null(zpoller_wait(poller, 10000));
    zpoller_destroy(&poller);
    assert_int_equal(publish_receive(in, &got, &err), 1);
    assert_string_equal(got->run, "demo\xEF\xBF\xBD");
    assert_string_equal(got->source, "caf\xC3\xA9");
    assert_string_equal(got->status->phase, "a\xEF\xBF\xBD[2J\nb");
    assert_string_equal(got->status->members[0]->kind, "wor\xEF\xBF\xBDker");
    assert_string_equal(got->status->members[0]->state, "");
    msg__event__free_unpacked(got, NULL);
    zsock_destroy(&out);
    zsock_destroy(&in);
}

static void writer_refuses_urls(void **state)
{
    (void)state;
    err_t err = {0};
    writer_options_t options = {.url = "mysql://x", .source = "metrics-test"};
    assert_null(writer_new(&options, &err));
    assert_int_equal(err.code, ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_of_events, setup, teardown),
        cmocka_unit_test_setup_teardown(members_by_state, setup, teardown),
        cmocka_unit_test_setup_teardown(audits_by_kind, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals_by_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fronts_workers_are_no_run, setup, teardown),
        cmocka_unit_test_setup_teardown(series_are_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(gaps_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(series_are_bounded, setup, teardown),
        cmocka_unit_test(whole_text),
        cmocka_unit_test(names_are_regular),
        cmocka_unit_test(queue_is_bounded_and_ordered),
        cmocka_unit_test_setup_teardown(events_fill_the_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_says_that_it_is_degraded, setup, teardown),
        cmocka_unit_test_setup_teardown(writer_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(writer_keeps_the_others, setup, teardown),
        cmocka_unit_test(texts_are_cleaned),
        cmocka_unit_test(writer_refuses_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
