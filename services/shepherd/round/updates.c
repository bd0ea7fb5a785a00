/* What was admitted before: the norms that later updates are measured by, and who is how fast. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "msg/limits.h"
#include "shepherd/round/admission.h"

enum { FEW_NORMS = 4, MOST_NORMS = 64, MOST_SPEEDS = MSG_MAX_MEMBERS };

void admission_init(admission_t *self, size_t most)
{
    self->inspection = mem_calloc(most, sizeof *self->inspection);
}

void admission_fini(admission_t *self, size_t most)
{
    for (size_t k = 0; self->inspection && k < most; k++) free(self->inspection[k].norm2);
    free(self->inspection);
    VEC_FREE(&self->norms);
    VEC_FREE(&self->speeds);
    index_destroy(&self->by_worker);
}

/* --- The past: norms and speeds --- */

static void remember_norm(admission_t *self, uint32_t round, double norm2, uint32_t steps)
{
    if (steps == 0 || !(norm2 > 0)) return; /* unknown, or an update of zeros: no measure */
    if (self->norms.n == MOST_NORMS)
        memmove(self->norms.at, self->norms.at + 1, --self->norms.n * sizeof *self->norms.at);
    norm_t norm = {round, sqrt(norm2) / steps};
    VEC_PUSH(&self->norms, norm);
}

static speed_t *find_speed(const admission_t *self, const char *worker)
{
    int at = self->by_worker ? index_find(self->by_worker, worker, strlen(worker)) : -1;
    return at < 0 ? NULL : &self->speeds.at[at];
}

static speed_t *speed_row(admission_t *self, const char *worker)
{
    speed_t row = {0}, *old = find_speed(self, worker);
    self->usual_step_ms = -1;
    if (old) return old;
    size_t at = self->speeds.n;
    if (!self->by_worker) self->by_worker = index_new();
    snprintf(row.worker, sizeof row.worker, "%s", worker);
    if (at < MOST_SPEEDS) {
        VEC_PUSH(&self->speeds, row);
    } else { /* in the place of the one that came first */
        at = self->oldest++ % MOST_SPEEDS;
        const char *gone = self->speeds.at[at].worker;
        index_remove(self->by_worker, gone, strlen(gone));
        self->speeds.at[at] = row;
    }
    index_add(self->by_worker, row.worker, strlen(row.worker), (int)at);
    return &self->speeds.at[at];
}

void admission_remember(admission_t *self, const char *worker, uint32_t steps, double compute_s)
{
    if (!(steps > 0 && compute_s > 0)) return;
    speed_t *row = speed_row(self, worker);
    row->speed = steps / compute_s;
    row->dropped = false;
}

static void per_byte(double *seconds, int64_t ms, int64_t bytes)
{
    if (ms >= 0 && bytes > 0) *seconds = (double)ms / 1000 / (double)bytes;
}

void admission_carried(admission_t *self, const char *worker, const carried_t *carried)
{
    speed_t *row = speed_row(self, worker);
    per_byte(&row->down_s, carried->download_ms, carried->received_bytes);
    per_byte(&row->up_s, carried->upload_ms, carried->sent_bytes);
}

const speed_t *admission_measured(const admission_t *self, const char *worker)
{
    return find_speed(self, worker);
}

double admission_speed(const admission_t *self, const char *worker)
{
    const speed_t *row = find_speed(self, worker);
    return row ? row->speed : 0;
}

void admission_timed(admission_t *self, const work_t *lease)
{
    double ms = (double)(lease->done_ms - lease->given_ms + 1); /* never 0: that is unknown */
    if (lease->steps) speed_row(self, lease->worker)->step_ms = ms / lease->steps;
}

/* The longer of what we saw and what it says of its computing alone. */
static double step_ms(const speed_t *row)
{
    double said = row->speed > 0 ? 1000 / row->speed : 0;
    return said > row->step_ms ? said : row->step_ms;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double usual_step_ms(admission_t *self)
{
    size_t n = 0;
    if (self->speeds.n == 0) return 0;
    if (self->usual_step_ms >= 0) return self->usual_step_ms;
    double *all = mem_calloc(self->speeds.n, sizeof *all);
    for (size_t i = 0; i < self->speeds.n; i++) {
        double own = step_ms(&self->speeds.at[i]);
        if (own > 0) all[n++] = own;
    }
    if (n) qsort(all, n, sizeof *all, by_value);
    double middle = n ? all[n / 2] : 0;
    free(all);
    self->usual_step_ms = middle;
    return middle;
}

double admission_expected_ms(admission_t *self, const char *worker, double steps, double least)
{
    enum { SLOWEST = 64 }; /* times the usual: what a worker says of itself goes no further */
    const speed_t *row = find_speed(self, worker);
    double own = row ? step_ms(row) : 0; /* 0: it has handed in nothing yet */
    if (own <= 0 || own > row->step_ms) {
        double usual = usual_step_ms(self);
        if (own <= 0 || own > SLOWEST * usual) own = own > 0 ? SLOWEST * usual : usual;
    }
    return own * (steps > least ? steps : least);
}

void admission_committed(admission_t *self, const round_t *round)
{
    for (int64_t k = 0; k < round->replicas; k++) {
        const work_t *lease = &round->lease[k];
        if (lease->state == WORK_DONE)
            remember_norm(self, round->number, lease->norm2, lease->steps);
        else if (lease->state == WORK_DROPPED && !lease->late && *lease->worker)
            speed_row(self, lease->worker)->dropped = true;
    }
}

void admission_load(admission_t *self, const store_updates_t *updates)
{
    self->norms.n = self->speeds.n = self->oldest = 0;
    index_destroy(&self->by_worker);
    for (size_t i = 0; i < updates->n; i++) {
        const store_update_t *u = &updates->at[i];
        if (u->dropped) {
            speed_row(self, u->worker)->dropped = true;
            continue;
        }
        carried_t carried = {u->received_bytes, u->sent_bytes, u->download_ms, u->upload_ms};
        admission_remember(self, u->worker, u->steps, u->compute_s);
        admission_carried(self, u->worker, &carried);
        if (u->committed) remember_norm(self, (uint32_t)u->round, u->norm2, u->steps);
    }
}

void admission_rewind(admission_t *self, uint32_t round)
{
    size_t n = 0;
    while (n < self->norms.n && self->norms.at[n].round < round) n++;
    self->norms.n = n;
}

static int by_size(const void *a, const void *b)
{
    double x = ((const norm_t *)a)->norm, y = ((const norm_t *)b)->norm;
    return x < y ? -1 : x > y;
}

double admission_usual_norm(const admission_t *self)
{
    size_t n = self->norms.n;
    if (n < FEW_NORMS) return INFINITY;
    norm_t sorted[MOST_NORMS];
    memcpy(sorted, self->norms.at, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    return sorted[n / 2].norm;
}
