/* What was admitted before: the norms that later updates are measured by, and who is how fast. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shepherd/round/admission.h"

enum { FEW_NORMS = 4, MOST_NORMS = 64, MOST_SPEEDS = 8192 };

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
    for (size_t i = 0; i < self->speeds.n; i++)
        if (strcmp(self->speeds.at[i].worker, worker) == 0) return &self->speeds.at[i];
    return NULL;
}

static speed_t *speed_row(admission_t *self, const char *worker)
{
    speed_t row = {0}, *old = find_speed(self, worker);
    if (old) return old;
    snprintf(row.worker, sizeof row.worker, "%s", worker);
    if (self->speeds.n == MOST_SPEEDS)
        memmove(self->speeds.at, self->speeds.at + 1, --self->speeds.n * sizeof *self->speeds.at);
    VEC_PUSH(&self->speeds, row);
    return &self->speeds.at[self->speeds.n - 1];
}

void admission_remember(admission_t *self, const char *worker, uint32_t steps, double compute_s)
{
    if (steps > 0 && compute_s > 0) speed_row(self, worker)->speed = steps / compute_s;
}

double admission_speed(const admission_t *self, const char *worker)
{
    const speed_t *row = find_speed(self, worker);
    return row ? row->speed : 0;
}

static int by_worker(const void *a, const void *b)
{
    return strcmp((*(const speed_t *const *)a)->worker, (*(const speed_t *const *)b)->worker);
}

static int to_worker(const void *name, const void *row)
{
    return strcmp(name, (*(const speed_t *const *)row)->worker);
}

void admission_speeds(const admission_t *self, const char *const *workers, size_t n, double *speeds)
{
    size_t n_row = self->speeds.n;
    const speed_t **rows = mem_calloc(n_row + 1, sizeof *rows);
    for (size_t i = 0; i < n_row; i++) rows[i] = &self->speeds.at[i];
    qsort(rows, n_row, sizeof *rows, by_worker);
    for (size_t k = 0; k < n; k++) {
        const speed_t **row = bsearch(workers[k], rows, n_row, sizeof *rows, to_worker);
        speeds[k] = row ? (*row)->speed : 0;
    }
    free(rows);
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

static double usual_step_ms(const admission_t *self)
{
    size_t n = self->speeds.n;
    if (n == 0) return 0;
    double *all = mem_calloc(n, sizeof *all);
    for (size_t i = 0; i < n; i++) all[i] = step_ms(&self->speeds.at[i]);
    qsort(all, n, sizeof *all, by_value);
    double middle = all[n / 2];
    free(all);
    return middle;
}

double admission_expected_ms(const admission_t *self, const char *worker, double steps,
                             double least)
{
    enum { SLOWEST = 64 }; /* times the usual: what a worker says of itself goes no further */
    const speed_t *row = find_speed(self, worker);
    double own = row ? step_ms(row) : 0;
    if (!row || own > row->step_ms) {
        double usual = usual_step_ms(self);
        if (!row || own > SLOWEST * usual) own = row ? SLOWEST * usual : usual;
    }
    return own * (steps > least ? steps : least);
}

void admission_committed(admission_t *self, const round_t *round)
{
    for (int64_t k = 0; k < round->replicas; k++) {
        const work_t *lease = &round->lease[k];
        if (lease->state == WORK_DONE)
            remember_norm(self, round->number, lease->norm2, lease->steps);
    }
}

void admission_load(admission_t *self, const store_updates_t *updates)
{
    self->norms.n = self->speeds.n = 0;
    for (size_t i = 0; i < updates->n; i++) {
        const store_update_t *u = &updates->at[i];
        admission_remember(self, u->worker, u->steps, u->compute_s);
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
