/* The metrics service's state, events said to it, and what it shows of them. For metrics_test.c and metrics_exporter_test.c. */
#ifndef METRICS_RIG_H
#define METRICS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "metrics/metrics.h"

enum { KEEP_MS = 60000, QUEUE = 64 };

typedef struct {
    metrics_t state;
    queue_t queue;
} fixture_t;

static int setup(void **state)
{
    fixture_t *self = mem_calloc(1, sizeof *self);
    queue_init(&self->queue, QUEUE);
    metrics_init(&self->state, &self->queue, KEEP_MS);
    *state = self;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *self = *state;
    metrics_fini(&self->state);
    queue_fini(&self->queue);
    free(self);
    return 0;
}

/* --- events to say --- */

static Msg__Event event_of(const char *source, const char *run, int body)
{
    Msg__Event event = MSG__EVENT__INIT;
    event.source = (char *)source;
    event.run = (char *)run;
    event.time_ms = 1000;
    event.body_case = (Msg__Event__BodyCase)body;
    return event;
}

static void say_round(fixture_t *self, const char *run, uint32_t round, double loss, double val)
{
    Msg__RoundStats stats = MSG__ROUND_STATS__INIT;
    stats.round = round;
    stats.rounds = 10;
    stats.loss = loss;
    stats.has_val_loss = val > 0;
    stats.val_loss = val;
    stats.tokens = 4096ull * round;
    stats.tokens_per_s = 1234.5;
    stats.seconds = 0.25;
    stats.eta_s = 7;
    Msg__Event event = event_of("shepherd", run, MSG__EVENT__BODY_ROUND);
    event.round = &stats;
    metrics_on_event(&self->state, &event, 5000);
}

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
    status.audits = 11, status.audited_parts = 12, status.audits_skipped = 13;
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

/* --- what is shown --- */

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

#endif
