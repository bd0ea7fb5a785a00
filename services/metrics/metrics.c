/* Events to values and records, by the rows of metric_list.h. */
#include "metrics/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/version.h"
#include "metrics/process.h"
#include "msg/happening.h"

void metrics_fini(metrics_t *self)
{
    series_table_destroy(&self->series);
}

enum { KEEP_OVER_MS = 300000 }; /* of a run that is over: time for some scrapes of its end */

/* --- records for the store --- */

static void add_sample(metrics_t *self, const series_t *row, metric_t metric, int64_t time_ms,
                       int64_t round)
{
    if (!self->queue) return;
    record_t record = {.time_ms = time_ms,
                       .round = round,
                       .name = metric_row(metric)->name,
                       .value = row->value[metric]};
    memcpy(record.run, row->run, sizeof record.run);
    snprintf(record.member, sizeof record.member, "%s", *row->label ? row->label : "shepherd");
    queue_push(self->queue, &record);
}

/* What the shepherd writes into the run's records, too. */
static void add_event(metrics_t *self, const Msg__Event *event, const series_t *run)
{
    happening_t what;
    if (!self->queue || !run || !happening_of(event, &what)) return;
    record_t record = {.is_event = true,
                       .time_ms = event->time_ms,
                       .round = what.round,
                       .name = what.name,
                       .level = what.level,
                       .service = what.service,
                       .detail = what.detail,
                       .key = what.key};
    memcpy(record.run, run->run, sizeof record.run);
    snprintf(record.member, sizeof record.member, "%s", what.member);
    queue_push(self->queue, &record);
}

/* --- where values come from --- */

/* What happens, to whom. */
typedef struct {
    metrics_t *self;
    const Msg__Event *event; /* NULL: none, it is the start or a scrape */
    bool starts, scraped;
    const Msg__MemberCount *member; /* of a row of members */
    const Msg__Refusal *refusal;    /* of a row of refusals */
    series_t *row;
    metric_t metric;
    int64_t now_ms;
} heard_t;

typedef bool source_fn(const heard_t *h, const Msg__Event *e, double *value);

static bool give(double *out, double value)
{
    *out = value;
    return true;
}

static bool first(const heard_t *h)
{
    return h->event && !(h->row->has >> h->metric & 1);
}

#define FROM(kind, number) (e && e->body_case == MSG__EVENT__BODY_##kind && give(value, number))
#define FROM_IF(kind, is, number) \
    (e && e->body_case == MSG__EVENT__BODY_##kind && (is) && give(value, number))
#define FIRST(number) (first(h) && give(value, number))
#define SCRAPED_IF(is, number) (h->scraped && (is) && give(value, number))
#define COUNTED ((void)h, (void)e, (void)value, false)
#define COUNTED_FROM_0 (h->starts && ((void)e, give(value, 0)))

#define METRIC_SOURCE(id, name, type, scope, stored, source, help)                \
    static bool source_##id(const heard_t *h, const Msg__Event *e, double *value) \
    {                                                                             \
        (void)h, (void)e;                                                         \
        return source;                                                            \
    }
METRICS(METRIC_SOURCE)

#define METRIC_SOURCE_OF(id, name, type, scope, stored, source, help) [M_##id] = source_##id,
static source_fn *const sources[M_COUNT] = {METRICS(METRIC_SOURCE_OF)};

/* Of the events that have one, from 1; -1. */
static int64_t round_of(const Msg__Event *event)
{
    if (!event) return -1;
    if (event->body_case == MSG__EVENT__BODY_ROUND) return event->round->round;
    return event->body_case == MSG__EVENT__BODY_COMMIT ? (int64_t)event->commit->round + 1 : -1;
}

/* Each metric of the row's scope that has a new value. */
static void measure(heard_t *h, series_t *row)
{
    h->row = row;
    int64_t round = round_of(h->event);
    for (int m = 0; row && m < M_COUNT; m++) {
        const metric_row_t *metric = metric_row((metric_t)m);
        double value;
        h->metric = (metric_t)m;
        if (metric->scope != row->scope || !sources[m](h, h->event, &value)) continue;
        series_set(row, h->metric, value);
        if (metric->stored && round >= 0)
            add_sample(h->self, row, h->metric, h->event->time_ms, round);
    }
}

void metrics_init(metrics_t *self, queue_t *queue, int64_t keep_ms)
{
    *self = (metrics_t){.series = series_table_new(),
                        .queue = queue,
                        .keep_ms = keep_ms,
                        .keep_over_ms = keep_ms < KEEP_OVER_MS ? keep_ms : KEEP_OVER_MS};
    heard_t h = {.self = self, .starts = true};
    measure(&h, series_self(self->series));
    series_get(self->series, SCOPE_BUILD, "", pcp_version, INT64_MAX); /* it stays */
}

/* --- events --- */

static void measure_row(heard_t *h, scope_t scope, const char *label)
{
    measure(h, series_get(h->self->series, scope, h->event->run, label, h->now_ms));
}

static void on_commit(heard_t *h)
{
    char shard[16];
    snprintf(shard, sizeof shard, "%u", h->event->commit->shard);
    measure_row(h, SCOPE_SHARD, shard);
}

static void on_member(const heard_t *h)
{
    const Msg__MemberChange *change = h->event->member;
    if (!change->joined && strcmp(change->kind, "worker") == 0) {
        series_t *row = series_get(h->self->series, SCOPE_WORKER, h->event->run, change->id,
                                   h->now_ms);
        if (row) row->heard_ms = INT64_MIN; /* forgotten at the next tick */
    }
}

/* What the last status said. */
static void forget_status(const heard_t *h)
{
    static const scope_t scopes[] = {SCOPE_WORKERS, SCOPE_MEMBERS, SCOPE_PHASE};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        series_forget_scope(h->self->series, scopes[i], h->event->run);
}

static void on_status(heard_t *h, series_t *run)
{
    if (run) run->over = false; /* it goes on, or again */
    const Msg__Status *status = h->event->status;
    forget_status(h);
    if (*status->phase) measure_row(h, SCOPE_PHASE, status->phase);
    for (size_t i = 0; i < status->n_members; i++) {
        h->member = status->members[i];
        bool worker = strcmp(h->member->kind, "worker") == 0;
        char *label = worker ? mem_printf("%.20s", h->member->state)
                             : mem_printf("%.20s %.20s", h->member->kind, h->member->state);
        measure_row(h, worker ? SCOPE_WORKERS : SCOPE_MEMBERS, label);
        free(label);
    }
}

/* Of a process, whatever run it serves. */
static void on_refusals(heard_t *h)
{
    enum { MOST_REASONS = 32 };
    const Msg__Refusals *all = h->event->refusals;
    for (size_t i = 0; i < all->n_by_reason && i < MOST_REASONS; i++) {
        h->refusal = all->by_reason[i];
        char *label = mem_printf("%.60s %.20s", h->event->source, h->refusal->reason);
        measure_row(h, SCOPE_REFUSALS, label);
        free(label);
    }
}

/* How many events of this source were lost on the way: the gap in its sequence. A lower number than
 * before is a source that started again. */
static void count_lost(const heard_t *h)
{
    if (!h->event->sequence) return;
    series_t *source = series_get(h->self->series, SCOPE_SOURCE, h->event->run, h->event->source,
                                  h->now_ms);
    if (!source) return;
    if (source->sequence && h->event->sequence > source->sequence + 1)
        series_add(series_self(h->self->series), M_LOST,
                   (double)(h->event->sequence - source->sequence - 1));
    source->sequence = h->event->sequence;
}

void metrics_on_event(metrics_t *self, const Msg__Event *event, int64_t now_ms)
{
    heard_t h = {.self = self, .event = event, .now_ms = now_ms};
    /* What a front tells of workers, and what it refuses, is of no run. */
    bool runs = *event->run && event->body_case != MSG__EVENT__BODY_REFUSALS;
    series_t *run = runs ? series_get(self->series, SCOPE_RUN, event->run, "", now_ms) : NULL;
    self->heard_ms = now_ms;
    series_add(series_self(self->series), M_EVENTS, 1);
    count_lost(&h);
    add_event(self, event, run);
    if (run) measure(&h, run);
    switch (event->body_case) {
    case MSG__EVENT__BODY_STEP: measure_row(&h, SCOPE_WORKER, event->source); break;
    case MSG__EVENT__BODY_COMMIT: on_commit(&h); break;
    case MSG__EVENT__BODY_WORKER: measure_row(&h, SCOPE_RESTARTS, event->worker->id); break;
    case MSG__EVENT__BODY_MEMBER: on_member(&h); break;
    case MSG__EVENT__BODY_RUN_DONE:
    case MSG__EVENT__BODY_RUN_FAILED:
        forget_status(&h);
        if (run) run->over = true;
        break;
    case MSG__EVENT__BODY_STATUS: on_status(&h, run); break;
    case MSG__EVENT__BODY_REFUSALS: on_refusals(&h); break;
    default: break;
    }
}

void metrics_on_malformed(metrics_t *self)
{
    series_add(series_self(self->series), M_MALFORMED, 1);
}

/* --- time and text --- */

void metrics_tick(metrics_t *self, int64_t now_ms, int64_t wall_ms)
{
    if (now_ms - self->second_ms < 1000) return;
    self->second_ms = now_ms;
    series_forget(self->series, now_ms - self->keep_ms);
    series_forget_over(self->series, now_ms - self->keep_over_ms);
    for (series_t *row = series_first(self->series); row; row = series_next(self->series)) {
        if (row->scope != SCOPE_WORKER || !row->fresh) continue;
        row->fresh = false;
        for (int m = 0; m < M_COUNT; m++)
            if (metric_row((metric_t)m)->stored && row->has >> m & 1)
                add_sample(self, row, (metric_t)m, wall_ms, -1);
    }
}

void metrics_expose(metrics_t *self, int64_t now_ms, str_t *out)
{
    heard_t h = {.self = self, .scraped = true, .now_ms = now_ms};
    measure(&h, series_self(self->series));
    for (series_t *row = series_first(self->series); row; row = series_next(self->series)) {
        bool fresh = row->fresh; /* a scrape is no news for the store */
        measure(&h, row);
        row->fresh = fresh;
    }
    series_expose(self->series, out);
}
