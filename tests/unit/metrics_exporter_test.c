/* What /metrics shows besides last values: histograms, the process, and runs that leave it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/version.h"
#include "metrics_rig.h"

static void say_commit(fixture_t *self, uint32_t shard, uint64_t bytes)
{
    Msg__CommitStats stats = MSG__COMMIT_STATS__INIT;
    stats.shard = shard;
    stats.bytes_in = bytes;
    stats.bytes_out = 2 * bytes;
    stats.refused = 3;
    stats.seconds = 0.125;
    Msg__Event event = event_of("aggregator-0", "demo", MSG__EVENT__BODY_COMMIT);
    event.commit = &stats;
    metrics_on_event(&self->state, &event, 5000);
}

static void say_status(fixture_t *self, uint32_t busy)
{
    Msg__MemberCount count[2] = {MSG__MEMBER_COUNT__INIT, MSG__MEMBER_COUNT__INIT};
    Msg__MemberCount *list[2] = {&count[0], &count[1]};
    count[0].kind = "worker", count[0].state = "busy", count[0].count = busy;
    count[1].kind = "compiler", count[1].state = "idle", count[1].count = 1;
    Msg__Status status = MSG__STATUS__INIT;
    status.phase = busy > 1 ? "train" : "commit";
    status.round = 2;
    status.rounds = 10;
    status.n_members = 2;
    status.members = list;
    Msg__Event event = event_of("shepherd", "demo", MSG__EVENT__BODY_STATUS);
    event.status = &status;
    metrics_on_event(&self->state, &event, 5000);
}

static void say_done(fixture_t *self)
{
    Msg__RunDone done = MSG__RUN_DONE__INIT;
    done.checkpoint = "run/checkpoint";
    Msg__Event event = event_of("shepherd", "demo", MSG__EVENT__BODY_RUN_DONE);
    event.run_done = &done;
    metrics_on_event(&self->state, &event, 5000);
}

/* The value of a line "key value" in the exposed text; fails the test when the line is not there.
 */
static double value_of(fixture_t *self, const char *key)
{
    str_t text = {0};
    metrics_expose(&self->state, 6000, &text);
    char *start = mem_printf("\n%s ", key);
    const char *found = strstr(str_text(&text), start);
    if (!found) print_message("no line \"%s\" in:\n%s", key, str_text(&text));
    assert_non_null(found);
    double value = strtod(found + strlen(start), NULL);
    free(start);
    str_fini(&text);
    return value;
}

static bool shows(fixture_t *self, const char *key)
{
    str_t text = {0};
    metrics_expose(&self->state, 6000, &text);
    bool found = strstr(str_text(&text), key) != NULL;
    str_fini(&text);
    return found;
}

/* What was heard of a run that is over leaves soon, unless it goes on. */
static void finished_runs_leave(void **state)
{
    fixture_t *self = *state;
    self->state.keep_over_ms = 2000;
    say_round(self, "demo", 1, 3, 0);
    say_round(self, "other", 1, 3, 0);
    say_commit(self, 0, 100);
    say_done(self);
    metrics_tick(&self->state, 6900, 0);
    assert_true(value_of(self, "pcp_run_running{run=\"demo\"}") == 0);
    assert_true(shows(self, "pcp_sent_bytes_total{run=\"demo\""));
    metrics_tick(&self->state, 8000, 0);
    assert_false(shows(self, "run=\"demo\""));
    assert_true(shows(self, "pcp_loss{run=\"other\"}"));
    say_done(self);
    say_status(self, 1); /* resumed */
    metrics_tick(&self->state, 10000, 0);
    assert_true(value_of(self, "pcp_run_running{run=\"demo\"}") == 1);
}

static void histograms_count(void **state)
{
    fixture_t *self = *state;
    for (uint32_t i = 0; i < 3; i++) say_round(self, "demo", i + 1, 3, 0); /* 0.25 s each */
    say_commit(self, 7, 1);                                                /* 0.125 s */
    const struct {
        const char *key;
        double value;
    } rows[] = {
        {"pcp_round_duration_seconds_bucket{run=\"demo\",le=\"0.1\"}", 0},
        {"pcp_round_duration_seconds_bucket{run=\"demo\",le=\"0.25\"}", 3}, /* up to and with */
        {"pcp_round_duration_seconds_bucket{run=\"demo\",le=\"1800\"}", 3},
        {"pcp_round_duration_seconds_bucket{run=\"demo\",le=\"+Inf\"}", 3},
        {"pcp_round_duration_seconds_sum{run=\"demo\"}", 0.75},
        {"pcp_round_duration_seconds_count{run=\"demo\"}", 3},
        {"pcp_commit_duration_seconds_bucket{run=\"demo\",shard=\"7\",le=\"0.1\"}", 0},
        {"pcp_commit_duration_seconds_bucket{run=\"demo\",shard=\"7\",le=\"0.25\"}", 1},
        {"pcp_commit_duration_seconds_count{run=\"demo\",shard=\"7\"}", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (value_of(self, rows[i].key) != rows[i].value) fail_msg("%s", rows[i].key);
    assert_true(shows(self, "# TYPE pcp_round_duration_seconds histogram\n"));
}

static void process_and_build(void **state)
{
    fixture_t *self = *state;
    char *build = mem_printf("pcp_build_info{version=\"%s\"}", pcp_version);
    assert_true(value_of(self, build) == 1);
    free(build);
    double resident = value_of(self, "process_resident_memory_bytes");
    assert_true(resident > 1e6 && resident < 1e11);
    double began = value_of(self, "process_start_time_seconds");
    assert_true(began > 1e9 && began <= (double)time(NULL) + 1);
    double files = value_of(self, "process_open_fds");
    int extra = dup(1);
    assert_true(files >= 3 && value_of(self, "process_open_fds") == files + 1);
    close(extra);
    assert_true(value_of(self, "process_cpu_seconds_total") >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finished_runs_leave, setup, teardown),
        cmocka_unit_test_setup_teardown(histograms_count, setup, teardown),
        cmocka_unit_test_setup_teardown(process_and_build, setup, teardown),
    };
    return cmocka_run_group_tests_name("metrics_exporter", tests, NULL, NULL);
}
