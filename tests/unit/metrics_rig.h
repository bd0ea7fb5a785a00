/* The metrics service's state, and events said to it. For metrics_test.c and metrics_exporter_test.c. */
#ifndef METRICS_RIG_H
#define METRICS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

#endif
