/* Profiles: events are kept as they come, one list a thread, so that watching takes no lock. */
#include "runtime/profile.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

typedef VEC(exec_event_t) events_t;

struct profile {
    exec_t *exec;
    int threads;
    events_t steps;    /* whole steps, by the caller */
    events_t *range;   /* [threads] */
    VEC(size_t) first; /* of each turn in `steps` */
    VEC(double) begin; /* of each turn; clock_mono_s */
    VEC(double) end;
};

static void watch(void *user, const exec_event_t *event)
{
    profile_t *self = user;
    if (event->thread < 0)
        VEC_PUSH(&self->steps, *event);
    else if (event->thread < self->threads)
        VEC_PUSH(&self->range[event->thread], *event);
}

profile_t *profile_new(exec_t *exec)
{
    profile_t *self = mem_calloc(1, sizeof *self);
    self->exec = exec;
    self->threads = exec_threads(exec);
    self->range = mem_calloc((size_t)self->threads, sizeof *self->range);
    return self;
}

void profile_destroy(profile_t **self_p)
{
    profile_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    exec_watch(self->exec, NULL, NULL);
    for (int t = 0; t < self->threads; t++) VEC_FREE(&self->range[t]);
    free(self->range);
    VEC_FREE(&self->steps);
    VEC_FREE(&self->first);
    VEC_FREE(&self->begin);
    VEC_FREE(&self->end);
    free(self);
}

void profile_begin(profile_t *self)
{
    exec_watch(self->exec, watch, self);
    VEC_PUSH(&self->first, self->steps.n);
    VEC_PUSH(&self->begin, clock_mono_s());
}

void profile_end(profile_t *self)
{
    VEC_PUSH(&self->end, clock_mono_s());
    exec_watch(self->exec, NULL, NULL);
}

/* --- rows ------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x, size_t n)
{
    if (n == 0) return 0;
    qsort(x, n, sizeof *x, compare);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double profile_turn_seconds(const profile_t *self)
{
    size_t n = self->end.n;
    double *x = mem_calloc(n + 1, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = self->end.at[i] - self->begin.at[i];
    double middle = median(x, n);
    free(x);
    return middle;
}

/* Programs of one plan lie in one array. */
static int by_step(const void *a, const void *b)
{
    const profile_row_t *x = a, *y = b;
    if (x->program != y->program) return x->program < y->program ? -1 : 1;
    return x->step - y->step;
}

static profile_row_t *find_row(profile_row_t *rows, int n, const exec_event_t *event)
{
    profile_row_t key = {.program = event->program, .step = event->step};
    return bsearch(&key, rows, (size_t)n, sizeof *rows, by_step);
}

/* A row for each (program, step) among the events, sorted. */
static profile_row_t *list_rows(const profile_t *self, int *n)
{
    size_t n_event = self->steps.n, kept = 0;
    profile_row_t *rows = mem_calloc(n_event + 1, sizeof *rows);
    for (size_t i = 0; i < n_event; i++) {
        rows[i].program = self->steps.at[i].program;
        rows[i].step = self->steps.at[i].step;
    }
    qsort(rows, n_event, sizeof *rows, by_step);
    for (size_t i = 0; i < n_event; i++) {
        if (kept == 0 || by_step(&rows[kept - 1], &rows[i]) != 0) rows[kept++] = rows[i];
    }
    *n = (int)kept;
    return rows;
}

profile_row_t *profile_rows(const profile_t *self, int *n)
{
    size_t turns = self->end.n;
    profile_row_t *rows = list_rows(self, n);
    double *seconds = mem_calloc((size_t)*n * turns + 1, sizeof *seconds); /* [row][turn] */
    for (size_t t = 0; t < turns; t++) {
        size_t end = t + 1 < turns ? self->first.at[t + 1] : self->steps.n;
        for (size_t i = self->first.at[t]; i < end; i++) {
            const exec_event_t *event = &self->steps.at[i];
            profile_row_t *row = find_row(rows, *n, event);
            seconds[(size_t)(row - rows) * turns + t] += event->end - event->begin;
            row->calls += 1 / (double)turns;
        }
    }
    for (int t = 0; t < self->threads; t++)
        for (size_t i = 0; i < self->range[t].n; i++) {
            const exec_event_t *event = &self->range[t].at[i];
            profile_row_t *row = find_row(rows, *n, event);
            if (!row) continue;
            row->busy += event->end - event->begin;
            row->cpu += event->cpu / (double)turns;
        }
    for (int i = 0; i < *n; i++) {
        const plan_step_t *step = &rows[i].program->step[rows[i].step];
        double all = 0;
        for (size_t t = 0; t < turns; t++) all += seconds[(size_t)i * turns + t];
        rows[i].busy /= all > 0 ? all * self->threads : 1;
        rows[i].seconds = median(seconds + (size_t)i * turns, turns);
        rows[i].flops = step->flops * rows[i].calls;
        rows[i].bytes = step->bytes * rows[i].calls;
    }
    free(seconds);
    return rows;
}

/* --- trace ------------------------------------------------------------------------------------ */

/* Lane 0 has whole steps, lane t + 1 the ranges of thread t. */
static void add_event(str_t *out, const exec_event_t *event, double origin)
{
    static const char *const kinds[] = {[STEP_KERNEL] = "kernel",
                                        [STEP_GEMM] = "product",
                                        [STEP_COPY] = "copy",
                                        [STEP_LOOP] = "loop"};
    const plan_step_t *step = &event->program->step[event->step];
    json_t *json = json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:{s:s, s:i, s:f, s:f}}", "name",
                             step->label ? step->label : kinds[step->kind], "cat",
                             kinds[step->kind], "ph", "X", "ts", (event->begin - origin) * 1e6,
                             "dur", (event->end - event->begin) * 1e6, "pid", 1, "tid",
                             event->thread + 1, "args", "program", event->program->name, "step",
                             event->step, "flops", step->flops, "bytes", step->bytes);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(12));
    str_add(out, ",\n");
    str_add(out, text ? text : "{}");
    free(text);
    json_decref(json);
}

int profile_write_trace(const profile_t *self, const char *path, err_t *err)
{
    double origin = self->begin.n ? self->begin.at[0] : 0;
    str_t out = {0};
    str_add(&out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                  "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":0,"
                  "\"args\":{\"name\":\"steps\"}}");
    for (int t = 0; t < self->threads; t++)
        str_addf(&out,
                 ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%d,"
                 "\"args\":{\"name\":\"thread %d\"}}",
                 t + 1, t);
    for (size_t i = 0; i < self->steps.n; i++) add_event(&out, &self->steps.at[i], origin);
    for (int t = 0; t < self->threads; t++)
        for (size_t i = 0; i < self->range[t].n; i++)
            add_event(&out, &self->range[t].at[i], origin);
    str_add(&out, "\n]}\n");
    int status = file_write_atomic(path, out.at, out.n, err);
    str_fini(&out);
    return status;
}
