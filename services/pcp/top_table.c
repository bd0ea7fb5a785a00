/* Three tables. A column has a width, or what is left. */
#include "pcp/top_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pcp/top_text.h"

enum { WIDE = 80 }; /* columns from which tables show more */

top_table_t top_table_of(top_canvas_t *canvas, int row, int rows)
{
    return (top_table_t){.canvas = canvas, .row = row, .rows = rows};
}

/* Begin row `i`; -1: the title. */
static void begin(top_table_t *self, int i)
{
    self->row += i < 0 ? 0 : 1;
    self->column = 1;
}

/* One cell, a blank behind it; numbers (width below 0) end where their column ends. */
static void cell(top_table_t *self, int width, top_style_t style, const char *text)
{
    int wide = abs(width), left = self->canvas->columns - self->column;
    if (wide > left) wide = left;
    if (wide <= 0) return;
    if (width < 0)
        top_canvas_put_right(self->canvas, self->row, self->column, wide, style, text);
    else
        top_canvas_put(self->canvas, self->row, self->column, wide, style, text);
    self->column += wide + 1;
}

/* Ids begin alike ("supervisor-1d2b21a0-w0") and end apart: of one that is too long the end is shown. */
static void id_cell(top_table_t *self, int width, const char *id)
{
    char shown[64];
    size_t n = strlen(id), plain = 0;
    while (id[plain] > ' ' && id[plain] <= '~') plain++;
    if (plain == n && n > (size_t)width) { /* else its cells are not its bytes */
        snprintf(shown, sizeof shown, "~%s", id + n - (size_t)(width - 1));
        id = shown;
    }
    cell(self, width, TOP_PLAIN, id);
}

static void rest(top_table_t *self, top_style_t style, const char *text)
{
    cell(self, self->canvas->columns - self->column, style, text);
}

static top_style_t style_of(const char *state)
{
    static const struct {
        const char *state;
        top_style_t style;
    } rows[] = {{"running", TOP_GOOD}, {"busy", TOP_GOOD},      {"done", TOP_GOOD},
                {"failed", TOP_BAD},   {"lost", TOP_BAD},       {"error", TOP_BAD},
                {"warn", TOP_WARN},    {"queued", TOP_WARN},    {"paused", TOP_WARN},
                {"gone", TOP_FAINT},   {"cancelled", TOP_FAINT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(state, rows[i].state) == 0) return rows[i].style;
    return TOP_PLAIN;
}

/* --- runs --- */

enum { W_RUN = 17, W_STATE = 9, W_ROUND = 11, W_LOSS = 8 };

typedef struct {
    const report_t *report;
    size_t row;
} run_row_t;

static const char *text_of(const report_t *report, size_t row, const char *column)
{
    const char *text = store_report_cell(report, row, column);
    return text ? text : "";
}

/* Both are newest first: the queue by number, so read from its end. Caller frees. */
static run_row_t *merge(const top_data_t *data, size_t *n)
{
    run_row_t *out = mem_calloc(data->runs.n_row + data->queue.n_row + 1, sizeof *out);
    size_t run = 0, queued = data->queue.n_row;
    *n = 0;
    while (run < data->runs.n_row || queued > 0) {
        const char *name = queued ? text_of(&data->queue, queued - 1, "run") : "";
        if (queued && top_data_find(data, name) < data->runs.n_row) {
            queued--; /* it has been running: it stands among the runs */
            continue;
        }
        bool take_queued = queued && (run == data->runs.n_row ||
                                      strcmp(text_of(&data->queue, queued - 1, "created_at"),
                                             text_of(&data->runs, run, "created_at")) > 0);
        out[(*n)++] = take_queued ? (run_row_t){&data->queue, --queued}
                                  : (run_row_t){&data->runs, run++};
    }
    return out;
}

static void run_titles(top_table_t *self, size_t n)
{
    char title[64];
    snprintf(title, sizeof title, n == 1 ? "RUN" : "RUN (%zu)", n);
    begin(self, -1);
    bool wide = self->canvas->columns >= WIDE;
    cell(self, wide ? W_RUN + 12 : W_RUN, TOP_STRONG, title);
    cell(self, W_STATE, TOP_STRONG, "STATE");
    cell(self, -W_ROUND, TOP_STRONG, "ROUND");
    cell(self, -W_LOSS, TOP_STRONG, "LOSS");
    cell(self, -W_LOSS, TOP_STRONG, "VALID.");
    if (wide) rest(self, TOP_STRONG, " WHY");
}

static void run_row(top_table_t *self, run_row_t at, bool chosen)
{
    const report_t *r = at.report;
    const char *state = text_of(r, at.row, "state"),
               *planned = text_of(r, at.row, "rounds_planned");
    const char *rounds = text_of(r, at.row, "rounds");
    char round[64], loss[32], validation[32], why[200];
    bool wide = self->canvas->columns >= WIDE, endless = strcmp(planned, "0") == 0;
    snprintf(round, sizeof round, "%s%s%s", *rounds ? rounds : "0", endless ? "" : "/",
             endless ? "" : planned);
    top_loss(store_report_number(r, at.row, "loss"), loss);
    top_loss(store_report_number(r, at.row, "validation_loss"), validation);
    snprintf(why, sizeof why, " %s", text_of(r, at.row, "reason"));
    cell(self, wide ? W_RUN + 12 : W_RUN, TOP_PLAIN, text_of(r, at.row, "run"));
    cell(self, W_STATE, style_of(state), state);
    cell(self, -W_ROUND, TOP_PLAIN, round);
    cell(self, -W_LOSS, TOP_PLAIN, loss);
    cell(self, -W_LOSS, TOP_PLAIN, validation);
    if (wide) rest(self, TOP_PLAIN, why);
    if (!chosen) return;
    top_canvas_put(self->canvas, self->row, 0, 1, TOP_BAR, ">");
    top_canvas_paint(self->canvas, self->row, 0, self->canvas->columns, TOP_BAR);
}

void top_table_runs(top_table_t *self, const top_data_t *data, size_t chosen)
{
    size_t n, at = 0, rows = (size_t)self->rows;
    run_row_t *runs = merge(data, &n);
    while (at < n && !(runs[at].report == &data->runs && runs[at].row == chosen)) at++;
    size_t first = at < rows || at >= n ? 0 : at - rows + 1;
    run_titles(self, n);
    for (size_t i = first; i < n && i < first + rows; i++) {
        begin(self, (int)i);
        run_row(self, runs[i], i == at);
    }
    free(runs);
}

/* --- workers --- */

enum { W_WORKER = 15, W_FIGURE = 7, W_AGE = 7 };

static int presence(const report_t *workers, size_t row)
{
    const char *state = text_of(workers, row, "state");
    return strcmp(state, "gone") == 0 ? 2 : strcmp(state, "lost") == 0 ? 1 : 0;
}

static int by_presence(const void *a, const void *b, void *workers)
{
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    int order = presence(workers, one) - presence(workers, other);
    return order ? order : one < other ? -1 : 1;
}

static void worker_titles(top_table_t *self, const report_t *workers)
{
    char title[64];
    bool wide = self->canvas->columns >= WIDE;
    size_t n_busy = 0, n_here = 0;
    for (size_t i = 0; i < workers->n_row; i++) {
        n_here += presence(workers, i) == 0;
        n_busy += strcmp(text_of(workers, i, "state"), "busy") == 0;
    }
    snprintf(title, sizeof title, "WORKER %zu/%zu busy", n_busy, n_here);
    begin(self, -1);
    cell(self, wide ? W_WORKER + 8 : W_WORKER, TOP_STRONG, title);
    cell(self, W_STATE, TOP_STRONG, "STATE");
    cell(self, -W_FIGURE, TOP_STRONG, "LOSS");
    cell(self, -W_FIGURE, TOP_STRONG, "STEPS/S");
    if (wide) cell(self, -W_AGE, TOP_STRONG, "SINCE");
    rest(self, TOP_STRONG, " DEVICE");
}

/* The newest lease of this worker that has ended; n_row: none. */
static size_t lease_of(const report_t *leases, const char *worker)
{
    size_t i = 0;
    while (i < leases->n_row && (strcmp(text_of(leases, i, "worker"), worker) != 0 ||
                                 !store_report_cell(leases, i, "loss")))
        i++;
    return i;
}

static void worker_row(top_table_t *self, const top_data_t *data, size_t row)
{
    const report_t *r = &data->workers;
    const char *worker = text_of(r, row, "worker"), *state = text_of(r, row, "state");
    const char *device = text_of(r, row, "device");
    size_t lease = lease_of(&data->leases, worker);
    bool wide = self->canvas->columns >= WIDE;
    double ms = store_report_number(&data->leases, lease, "compute_ms");
    double bytes = store_report_number(r, row, "memory_bytes");
    char loss[32], speed[32], since[32], memory[32] = "", what[200];
    top_loss(store_report_number(&data->leases, lease, "loss"), loss);
    top_count(ms > 0 ? store_report_number(&data->leases, lease, "n_steps") * 1000 / ms : NAN,
              speed);
    top_age((double)(data->read_ms - top_time_ms(text_of(r, row, "changed_at"))), since);
    if (bytes > 0) snprintf(memory, sizeof memory, " %.1f GiB", bytes / (1 << 30));
    snprintf(what, sizeof what, " %s%s%s%s", text_of(r, row, "target"), memory, *device ? " " : "",
             device);
    id_cell(self, wide ? W_WORKER + 8 : W_WORKER, worker);
    cell(self, W_STATE, style_of(state), state);
    cell(self, -W_FIGURE, TOP_PLAIN, loss);
    cell(self, -W_FIGURE, TOP_PLAIN, speed);
    if (wide) cell(self, -W_AGE, TOP_PLAIN, since);
    rest(self, TOP_PLAIN, what);
}

void top_table_workers(top_table_t *self, const top_data_t *data)
{
    size_t n = data->workers.n_row, *order = mem_calloc(n + 1, sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = i;
    qsort_r(order, n, sizeof *order, by_presence, (void *)&data->workers);
    worker_titles(self, &data->workers);
    for (size_t i = 0; i < n && i < (size_t)self->rows; i++) {
        begin(self, (int)i);
        worker_row(self, data, order[i]);
    }
    free(order);
}

/* --- events --- */

enum { W_CLOCK = 8, W_EVENT = 14, W_WHO = 14 };

static void event_row(top_table_t *self, const report_t *r, size_t row)
{
    char clock[32];
    str_t detail = {0};
    const char *level = text_of(r, row, "level");
    top_clock(top_time_ms(store_report_cell(r, row, "told_at")), clock);
    top_detail(&detail, store_report_cell(r, row, "detail"));
    cell(self, W_CLOCK, TOP_FAINT, clock);
    cell(self, W_EVENT, style_of(level), text_of(r, row, "name"));
    id_cell(self, W_WHO, text_of(r, row, "member"));
    rest(self, TOP_PLAIN, str_text(&detail));
    str_fini(&detail);
}

void top_table_events(top_table_t *self, const top_data_t *data)
{
    begin(self, -1);
    cell(self, W_CLOCK, TOP_STRONG, "TIME");
    cell(self, W_EVENT, TOP_STRONG, "EVENT");
    cell(self, W_WHO, TOP_STRONG, "WHO");
    rest(self, TOP_STRONG, "WHAT");
    for (size_t i = 0; i < data->events.n_row && i < (size_t)self->rows; i++) {
        begin(self, (int)i);
        event_row(self, &data->events, i);
    }
}
