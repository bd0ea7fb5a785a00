/* Four reports, one after the other. */
#include "metrics/totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "msg/asker.h"

struct totals_reader {
    store_t *store; /* the thread's */
    asker_t *asker;
    bool asked;
    int64_t asked_ms;
};

typedef struct {
    bool read;
    totals_t totals;
} reading_t;

static int read_all(store_t *store, totals_t *out)
{
    static const struct {
        const char *name;
        size_t offset;
    } reports[] = {{"waiting", offsetof(totals_t, waiting)},
                   {"lost", offsetof(totals_t, lost)},
                   {"rejected", offsetof(totals_t, rejected)},
                   {"saved", offsetof(totals_t, saved)}};
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        if (store_report(store, reports[i].name, "", STORE_REPORT_ROWS,
                         (report_t *)((char *)out + reports[i].offset), NULL) < 0)
            return -1;
    return 0;
}

static void read_totals(void *user, void *question)
{
    reading_t *reading = question;
    reading->read = read_all(user, &reading->totals) == 0;
}

static void drop(void *question)
{
    reading_t *reading = question;
    totals_fini(&reading->totals);
    free(reading);
}

totals_reader_t *totals_new(const char *url, err_t *err)
{
    store_t *store = store_report_open(url, err);
    if (!store) return NULL;
    totals_reader_t *self = mem_calloc(1, sizeof *self);
    self->store = store;
    self->asked_ms = INT64_MIN / 2;
    self->asker = asker_new(read_totals, drop, store);
    return self;
}

void totals_destroy(totals_reader_t **self_p)
{
    totals_reader_t *self = *self_p;
    if (!self) return;
    asker_destroy(&self->asker);
    store_destroy(&self->store);
    free(self);
    *self_p = NULL;
}

zsock_t *totals_socket(totals_reader_t *self)
{
    return asker_socket(self->asker);
}

void totals_tick(totals_reader_t *self, int64_t now_ms)
{
    if (self->asked || now_ms - self->asked_ms < TOTALS_MS) return;
    self->asked = true;
    self->asked_ms = now_ms;
    asker_ask(self->asker, mem_calloc(1, sizeof(reading_t)));
}

bool totals_receive(totals_reader_t *self, totals_t *out)
{
    reading_t *reading = asker_receive(self->asker);
    if (!reading) return false;
    self->asked = false;
    bool read = reading->read;
    if (read) {
        *out = reading->totals;
        reading->totals = (totals_t){0};
    }
    drop(reading);
    return read;
}

void totals_fini(totals_t *self)
{
    store_report_fini(&self->waiting);
    store_report_fini(&self->lost);
    store_report_fini(&self->rejected);
    store_report_fini(&self->saved);
}

/* --- values --- */

typedef struct {
    metrics_t *metrics;
    int64_t now_ms;
} to_t;

static void set(const to_t *to, scope_t scope, const char *run, const char *label, metric_t metric,
                double value)
{
    if (isfinite(value) && run && label)
        series_set(series_get(to->metrics->series, scope, run, label, to->now_ms), metric, value);
}

/* Of both states, so that the last run to leave the queue leaves a 0. */
static void apply_waiting(const to_t *to, const report_t *report)
{
    static const char *const states[] = {"queued", "paused"};
    for (size_t s = 0; s < 2; s++) {
        double n = 0;
        for (size_t i = 0; i < report->n_row; i++) {
            const char *state = store_report_cell(report, i, "state");
            if (state && strcmp(state, states[s]) == 0) n = store_report_number(report, i, "n");
        }
        set(to, SCOPE_QUEUE, "", states[s], M_QUEUED_RUNS, n);
    }
}

static void apply_lost(const to_t *to, const report_t *report)
{
    static const char *const reasons[][2] = {{"transfer", "transfer_ms"},
                                             {"wait", "wait_ms"},
                                             {"recover", "recover_ms"},
                                             {"other", "other_ms"}};
    for (size_t i = 0; i < report->n_row; i++)
        for (size_t r = 0; r < sizeof reasons / sizeof *reasons; r++)
            set(to, SCOPE_LOST, store_report_cell(report, i, "run"), reasons[r][0], M_LOST_SECONDS,
                store_report_number(report, i, reasons[r][1]) / 1000);
}

/* "2026-01-31T23:59:59.123Z" as seconds since 1970; NaN. */
static double seconds_of(const char *iso)
{
    struct tm t = {0};
    double seconds = 0;
    if (!iso || sscanf(iso, "%4d-%2d-%2dT%2d:%2d:%lf", &t.tm_year, &t.tm_mon, &t.tm_mday,
                       &t.tm_hour, &t.tm_min, &seconds) != 6)
        return NAN;
    t.tm_year -= 1900, t.tm_mon--;
    return (double)timegm(&t) + seconds;
}

void totals_apply(const totals_t *self, metrics_t *metrics, int64_t now_ms)
{
    const to_t to = {metrics, now_ms};
    apply_waiting(&to, &self->waiting);
    apply_lost(&to, &self->lost);
    for (size_t i = 0; i < self->rejected.n_row; i++)
        set(&to, SCOPE_REJECTED, store_report_cell(&self->rejected, i, "run"),
            store_report_cell(&self->rejected, i, "reason"), M_REJECTIONS,
            store_report_number(&self->rejected, i, "n"));
    for (size_t i = 0; i < self->saved.n_row; i++)
        set(&to, SCOPE_SAVED, store_report_cell(&self->saved, i, "run"), "", M_CHECKPOINT_TIME,
            seconds_of(store_report_cell(&self->saved, i, "created_at")));
}
