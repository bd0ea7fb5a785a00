/* Events to values and records. */
#include "metrics/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "msg/happening.h"

void metrics_init(metrics_t *self, queue_t *queue, int64_t keep_ms)
{
    *self = (metrics_t){.series = series_table_new(), .queue = queue, .keep_ms = keep_ms};
}

void metrics_fini(metrics_t *self)
{
    series_table_destroy(&self->series);
}

/* --- records for the store --- */

static void add_sample(metrics_t *self, const series_t *row, metric_t metric, const char *member,
                       int64_t time_ms, int64_t round)
{
    if (!self->queue || !row) return;
    record_t record = {.time_ms = time_ms,
                       .round = round,
                       .name = metric_name(metric),
                       .value = row->value[metric]};
    memcpy(record.run, row->run, sizeof record.run);
    snprintf(record.member, sizeof record.member, "%s", member);
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

/* --- events --- */

typedef struct {
    metrics_t *self;
    const Msg__Event *event;
    series_t *run; /* NULL: no room */
    int64_t now_ms;
} heard_t;

static void on_step(const heard_t *h)
{
    const Msg__StepStats *step = h->event->step;
    series_t *row = series_get(h->self->series, SCOPE_WORKER, h->event->run, h->event->source,
                               h->now_ms);
    series_set(row, M_WORKER_LOSS, step->loss);
    series_set(row, M_WORKER_TOKENS_PER_S, step->tokens_per_s);
    series_set(row, M_WORKER_STEP, (double)step->step);
}

static void on_round(const heard_t *h)
{
    const Msg__RoundStats *r = h->event->round;
    const struct {
        metric_t metric;
        double value;
        bool stored;
    } values[] = {
        {M_LOSS, r->loss, true},
        {M_TOKENS, (double)r->tokens, true},
        {M_TOKENS_PER_S, r->tokens_per_s, true},
        {M_ROUND_SECONDS, r->seconds, true},
        {M_ROUND, r->round, false},
        {M_ROUNDS, r->rounds, false},
        {M_ETA, r->eta_s, false},
        {M_VALIDATION_LOSS, r->val_loss, true},
    };
    size_t n = sizeof values / sizeof *values - (r->has_val_loss ? 0 : 1);
    for (size_t i = 0; i < n; i++) {
        series_set(h->run, values[i].metric, values[i].value);
        if (values[i].stored)
            add_sample(h->self, h->run, values[i].metric, "shepherd", h->event->time_ms, r->round);
    }
}

static void on_commit(const heard_t *h)
{
    const Msg__CommitStats *c = h->event->commit;
    char shard[16];
    snprintf(shard, sizeof shard, "%u", c->shard);
    series_t *row = series_get(h->self->series, SCOPE_SHARD, h->event->run, shard, h->now_ms);
    const struct {
        metric_t metric;
        double value;
    } values[] = {
        {M_RECEIVED, (double)c->bytes_in},
        {M_SENT, (double)c->bytes_out},
        {M_REFUSED, (double)c->refused},
        {M_COMMIT_SECONDS, c->seconds},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        series_set(row, values[i].metric, values[i].value);
        add_sample(h->self, row, values[i].metric, shard, h->event->time_ms, (int64_t)c->round + 1);
    }
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

static void on_over(const heard_t *h)
{
    series_set(h->run, M_RUNNING, 0);
    series_forget_scope(h->self->series, SCOPE_MEMBERS, h->event->run);
    if (h->event->body_case != MSG__EVENT__BODY_RUN_DONE) return;
    const Msg__RunDone *done = h->event->run_done;
    if (done->has_val_loss) series_set(h->run, M_VALIDATION_LOSS, done->val_loss);
}

static void on_status(const heard_t *h)
{
    const Msg__Status *status = h->event->status;
    series_table_t *series = h->self->series;
    series_set(h->run, M_ROUND, status->round);
    series_set(h->run, M_ROUNDS, status->rounds);
    series_forget_scope(series, SCOPE_MEMBERS, h->event->run);
    if (*status->phase)
        series_set(series_get(series, SCOPE_MEMBERS, h->event->run, status->phase, h->now_ms),
                   M_PHASE, 1);
    for (size_t i = 0; i < status->n_members; i++) {
        const Msg__MemberCount *m = status->members[i];
        char *label = mem_printf("%.20s %.20s", m->kind, m->state);
        bool worker = strcmp(m->kind, "worker") == 0;
        series_set(series_get(series, SCOPE_MEMBERS, h->event->run, label, h->now_ms),
                   worker ? M_WORKERS : M_MEMBERS, m->count);
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
    heard_t h = {self, event, series_get(self->series, SCOPE_RUN, event->run, "", now_ms), now_ms};
    self->heard_ms = now_ms;
    series_add(series_self(self->series), M_EVENTS, 1);
    count_lost(&h);
    if (h.run && !(h.run->has >> M_RUNNING & 1)) series_set(h.run, M_RUNNING, 1);
    add_event(self, event, h.run);
    switch (event->body_case) {
    case MSG__EVENT__BODY_STEP: on_step(&h); break;
    case MSG__EVENT__BODY_ROUND: on_round(&h); break;
    case MSG__EVENT__BODY_COMMIT: on_commit(&h); break;
    case MSG__EVENT__BODY_MEMBER: on_member(&h); break;
    case MSG__EVENT__BODY_RUN_DONE:
    case MSG__EVENT__BODY_RUN_FAILED: on_over(&h); break;
    case MSG__EVENT__BODY_STATUS:
        series_set(h.run, M_RUNNING, 1);
        on_status(&h);
        break;
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
    for (series_t *row = series_first(self->series); row; row = series_next(self->series)) {
        if (row->scope != SCOPE_WORKER || !row->fresh) continue;
        row->fresh = false;
        add_sample(self, row, M_WORKER_LOSS, row->label, wall_ms, -1);
        add_sample(self, row, M_WORKER_TOKENS_PER_S, row->label, wall_ms, -1);
    }
}

void metrics_expose(metrics_t *self, int64_t now_ms, str_t *out)
{
    for (series_t *row = series_first(self->series); row; row = series_next(self->series))
        if (row->scope == SCOPE_RUN)
            series_set(row, M_SILENT, (double)(now_ms - row->heard_ms) / 1000);
    if (self->queue) {
        series_t *own = series_self(self->series);
        series_set(own, M_STORE_QUEUE, (double)self->queue->n);
    }
    series_expose(self->series, out);
}
