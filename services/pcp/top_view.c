/* From top to bottom: runs, the chosen one in words and as curves, its workers, its events. Each part is a
 * function that is told its rows. */
#include "pcp/top_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pcp/top_graph.h"
#include "pcp/top_table.h"
#include "pcp/top_text.h"

/* Besides what the parts show: the first and the last line, a title for each of four, the line in words. */
enum { LINES_AROUND = 7, LEAST_RUNS = 3, LEAST_GRAPH = 4, LEAST_WORKERS = 3 };
enum { SIDE_BY_SIDE = 100 }; /* columns from which the speed has a graph of its own */

typedef struct {
    int runs, graph, workers, events; /* rows of each, without titles */
} heights_t;

static int within(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

/* Who has less than its share leaves the rest to the events, which have a quarter at least. */
static heights_t share(const top_data_t *data, int rows)
{
    int body = rows - LINES_AROUND;
    int n_runs = (int)(data->runs.n_row + data->queue.n_row), n_workers = (int)data->workers.n_row;
    heights_t h;
    h.runs = within(n_runs, 1, within(body / 6, LEAST_RUNS, body));
    h.workers = within(n_workers, 1, within(body / 4, LEAST_WORKERS, body));
    h.graph = within(body / 3, LEAST_GRAPH, body);
    h.events = body - h.runs - h.workers - h.graph;
    return h;
}

/* --- the lines around --- */

static void draw_head(const top_view_t *self, top_canvas_t *canvas)
{
    char clock[32];
    top_clock(self->now_ms, clock);
    top_canvas_putf(canvas, 0, 0, canvas->columns - 10, TOP_BAR, " pcp top  %s", self->place);
    top_canvas_put(canvas, 0, canvas->columns - 9, 8, TOP_BAR, clock);
    top_canvas_paint(canvas, 0, 0, canvas->columns, TOP_BAR);
}

static void draw_foot(const top_view_t *self, top_canvas_t *canvas)
{
    int row = canvas->rows - 1;
    char read[32] = "";
    if (self->data) top_clock(self->data->read_ms, read);
    if (*self->error) {
        top_canvas_putf(canvas, row, 0, canvas->columns, TOP_BAD, "%s%s%s%s", *read ? "as of " : "",
                        read, *read ? ": " : "", self->error);
        return;
    }
    top_canvas_putf(canvas, row, 0, canvas->columns, TOP_FAINT, "%s%s%s",
                    self->keys ? " q quit   up/down choose run   r reread" : "",
                    self->keys && *read ? "   as of " : "", self->keys ? read : "");
}

/* --- runs --- */

static void draw_runs(const top_view_t *self, top_canvas_t *canvas, int row, int rows)
{
    top_table_t table = top_table_of(canvas, row, rows);
    top_table_runs(&table, self->data, top_data_find(self->data, self->data->run));
}

/* --- the chosen run --- */

static double last(const report_t *report, const char *column)
{
    return report->n_row ? store_report_number(report, report->n_row - 1, column) : NAN;
}

static int say(top_canvas_t *canvas, int row, int column, const char *word, const char *value)
{
    column += top_canvas_put(canvas, row, column, canvas->columns - column, TOP_FAINT, word);
    column += top_canvas_put(canvas, row, column + 1, canvas->columns - column - 1, TOP_STRONG,
                             value);
    return column + 3;
}

/* Speed, tokens, the newest checkpoint, and what it waits for or why it ended. */
static void draw_words(const top_view_t *self, top_canvas_t *canvas, int row)
{
    const top_data_t *data = self->data;
    size_t run = top_data_find(data, data->run);
    const char *reason = store_report_cell(&data->runs, run, "reason");
    const char *waits = store_report_cell(&data->open, 0, "waits_for");
    int64_t written_ms = top_time_ms(store_report_cell(&data->checkpoints, 0, "created_at"));
    char text[80], number[32];
    top_count(last(&data->speed, "tokens_per_second"), text);
    int column = say(canvas, row, 1, "tokens/s", text);
    top_count(store_report_number(&data->runs, run, "tokens"), text);
    column = say(canvas, row, column, "tokens", text);
    if (written_ms >= 0) {
        top_age((double)(self->now_ms > written_ms ? self->now_ms - written_ms : 0), number);
        snprintf(text, sizeof text, "%s, %s ago", store_report_cell(&data->checkpoints, 0, "round"),
                 number);
        column = say(canvas, row, column, "saved", text);
    }
    if (reason && *reason)
        say(canvas, row, column, "why", reason);
    else if (waits && *waits)
        say(canvas, row, column, "waits for", waits);
}

/* A report's column as numbers. Caller frees. */
static double *numbers(const report_t *report, const char *column)
{
    double *out = mem_calloc(report->n_row + 1, sizeof *out);
    for (size_t i = 0; i < report->n_row; i++) out[i] = store_report_number(report, i, column);
    return out;
}

typedef struct {
    const report_t *report;
    const char *column;
    top_style_t style;
} series_t;

static void draw_series(top_canvas_t *canvas, const top_graph_t *graph, const series_t *series,
                        size_t n)
{
    top_curve_t curves[2] = {{0}};
    double *values[2][2];
    for (size_t i = 0; i < n; i++) {
        values[i][0] = numbers(series[i].report, "round");
        values[i][1] = numbers(series[i].report, series[i].column);
        curves[i] = (top_curve_t){series[i].report->n_row, values[i][0], values[i][1],
                                  series[i].style};
    }
    top_graph_draw(canvas, graph, curves, n, "no round has ended yet");
    for (size_t i = 0; i < n; i++) {
        free(values[i][0]);
        free(values[i][1]);
    }
}

static void draw_loss(const top_data_t *data, top_canvas_t *canvas, int row, int rows, int columns)
{
    const series_t series[] = {{&data->loss, "loss", TOP_CURVE},
                               {&data->validation, "validation_loss", TOP_SECOND}};
    double first = store_report_number(&data->loss, 0, "round"), end = last(&data->loss, "round");
    int at = 1;
    at += top_canvas_put(canvas, row, at, columns - at, TOP_CURVE, "loss");
    if (data->validation.n_row)
        at += 2 + top_canvas_put(canvas, row, at + 2, columns - at - 2, TOP_SECOND, "validation");
    if (isfinite(first))
        at += 2 + top_canvas_putf(canvas, row, at + 2, columns - at - 2, TOP_FAINT,
                                  "rounds %.0f to %.0f", first, end);
    if (data->loss.each > 1)
        top_canvas_putf(canvas, row, at + 2, columns - at - 2, TOP_FAINT, "means of %lld",
                        (long long)data->loss.each);
    const top_graph_t graph = {
        .row = row + 1, .rows = rows, .columns = columns, .floor = NAN, .number = top_loss};
    draw_series(canvas, &graph, series, 2);
}

static void draw_speed(const top_data_t *data, top_canvas_t *canvas, int row, int rows, int column)
{
    const series_t series = {&data->speed, "tokens_per_second", TOP_CURVE};
    int columns = canvas->columns - column;
    top_canvas_put(canvas, row, column + 1, columns - 1, TOP_CURVE, "tokens/s");
    const top_graph_t graph = {.row = row + 1,
                               .column = column,
                               .rows = rows,
                               .columns = columns,
                               .floor = 0,
                               .number = top_count};
    draw_series(canvas, &graph, &series, 1);
}

static void draw_graphs(const top_data_t *data, top_canvas_t *canvas, int row, int rows)
{
    bool both = canvas->columns >= SIDE_BY_SIDE;
    int columns = both ? canvas->columns * 3 / 5 : canvas->columns;
    draw_loss(data, canvas, row, rows, columns);
    if (both) draw_speed(data, canvas, row, rows, columns + 1);
}

/* --- all of it --- */

static void draw_data(const top_view_t *self, top_canvas_t *canvas)
{
    const top_data_t *data = self->data;
    heights_t h = share(data, canvas->rows);
    int row = 1;
    draw_runs(self, canvas, row, h.runs);
    row += 1 + h.runs;
    draw_words(self, canvas, row++);
    draw_graphs(data, canvas, row, h.graph);
    row += 1 + h.graph;
    top_table_t workers = top_table_of(canvas, row, h.workers);
    top_table_workers(&workers, data);
    row += 1 + h.workers;
    top_table_t events = top_table_of(canvas, row, h.events);
    top_table_events(&events, data);
}

void top_view_draw(const top_view_t *self, top_canvas_t *canvas)
{
    if (canvas->rows < TOP_ROWS || canvas->columns < TOP_COLUMNS) {
        top_canvas_putf(canvas, 0, 0, canvas->columns, TOP_BAD, "pcp top needs %dx%d, not %dx%d",
                        TOP_COLUMNS, TOP_ROWS, canvas->columns, canvas->rows);
        return;
    }
    draw_head(self, canvas);
    draw_foot(self, canvas);
    if (self->data && (self->data->runs.n_row || self->data->queue.n_row))
        draw_data(self, canvas);
    else
        top_canvas_put(canvas, 2, 1, canvas->columns - 2, TOP_FAINT,
                       self->data     ? "There is no run yet."
                       : *self->error ? "Nothing could be read yet."
                                      : "Reading ...");
}
