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
