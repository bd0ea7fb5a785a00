/* Each curve is a polyline over dots; a cell collects the dots that fall into it. */
#include "pcp/top_graph.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum { BRAILLE = 0x2800, WIDE = 2, HIGH = 4 }; /* dots of a cell */

typedef struct {
    double x0, x1, y0, y1;
} range_t;

/* A cell's dots while they are collected: WIDE x HIGH of them, or one. */
typedef struct {
    top_canvas_t *canvas;
    const top_graph_t *graph;
    range_t range;
    int wide, high; /* dots of a cell */
    int columns;    /* cells, without the scale */
    top_style_t style;
} plot_t;

static bool is_point(const top_curve_t *curve, size_t i)
{
    return isfinite(curve->x[i]) && isfinite(curve->y[i]);
}

/* False: there is no point. */
static bool find_range(const top_curve_t *curves, size_t n_curve, double floor, range_t *r)
{
    bool any = false;
    for (size_t c = 0; c < n_curve; c++)
        for (size_t i = 0; i < curves[c].n; i++) {
            if (!is_point(&curves[c], i)) continue;
            double x = curves[c].x[i], y = curves[c].y[i];
            if (!any) *r = (range_t){x, x, y, y};
            any = true;
            r->x0 = fmin(r->x0, x), r->x1 = fmax(r->x1, x);
            r->y0 = fmin(r->y0, y), r->y1 = fmax(r->y1, y);
        }
    if (any && isfinite(floor)) r->y0 = fmin(r->y0, floor);
    return any;
}

/* Where in [0, n) a value of [low, high] lies. */
static int place(double value, double low, double high, int n)
{
    if (high <= low) return n / 2;
    int at = (int)((value - low) / (high - low) * (n - 1) + 0.5);
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

static void set_dot(const plot_t *self, int x, int y)
{
    /* Unicode counts the upper six dots column by column, then the lowest two. */
    static const uint32_t bits[HIGH][WIDE] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const top_graph_t *g = self->graph;
    int row = g->row + y / self->high, column = g->column + TOP_SCALE + x / self->wide;
    const top_canvas_t *canvas = self->canvas;
    uint32_t code = '*';
    if (self->wide > 1) {
        uint32_t has = canvas->cell[(size_t)row * (size_t)canvas->columns + (size_t)column].code;
        code = (has >= BRAILLE && has < BRAILLE + 256 ? has : BRAILLE) | bits[y % HIGH][x % WIDE];
    }
    top_canvas_set(self->canvas, row, column, self->style, code);
}

/* From one point to the next; in ASCII too many signs hide the shape, so only one a column. */
static void line(const plot_t *self, int x0, int y0, int x1, int y1)
{
    int dx = abs(x1 - x0), dy = abs(y1 - y0);
    int steps = self->wide > 1 && dy > dx ? dy : dx;
    for (int i = 0; i <= steps; i++) {
        double t = steps ? (double)i / steps : 1;
        set_dot(self, x0 + (int)lround(t * (x1 - x0)), y0 + (int)lround(t * (y1 - y0)));
    }
}

static void draw_curve(plot_t *self, const top_curve_t *curve)
{
    int wide = self->columns * self->wide, high = self->graph->rows * self->high;
    int before_x = -1, before_y = -1;
    self->style = curve->style;
    for (size_t i = 0; i < curve->n; i++) {
        if (!is_point(curve, i)) continue;
        int x = place(curve->x[i], self->range.x0, self->range.x1, wide);
        int y = high - 1 - place(curve->y[i], self->range.y0, self->range.y1, high);
        line(self, before_x < 0 ? x : before_x, before_x < 0 ? y : before_y, x, y);
        before_x = x, before_y = y;
    }
}

static void draw_scale(const plot_t *self)
{
    const top_graph_t *g = self->graph;
    char text[32];
    for (int i = 0; i < g->rows; i++)
        top_canvas_set(self->canvas, g->row + i, g->column + TOP_SCALE - 1, TOP_FAINT,
                       self->wide > 1 ? 0x2502 : '|');
    g->number(self->range.y1, text);
    top_canvas_put_right(self->canvas, g->row, g->column, TOP_SCALE - 2, TOP_FAINT, text);
    g->number(self->range.y0, text);
    if (g->rows > 1 && self->range.y0 < self->range.y1)
        top_canvas_put_right(self->canvas, g->row + g->rows - 1, g->column, TOP_SCALE - 2,
                             TOP_FAINT, text);
}

void top_graph_draw(top_canvas_t *canvas, const top_graph_t *graph, const top_curve_t *curves,
                    size_t n_curve, const char *none)
{
    plot_t plot = {.canvas = canvas,
                   .graph = graph,
                   .wide = canvas->ascii ? 1 : WIDE,
                   .high = canvas->ascii ? 1 : HIGH,
                   .columns = graph->columns - TOP_SCALE};
    bool fits = graph->rows > 0 && plot.columns > 0 && graph->row >= 0 && graph->column >= 0 &&
                graph->row + graph->rows <= canvas->rows &&
                graph->column + graph->columns <= canvas->columns;
    if (!fits) return;
    if (!find_range(curves, n_curve, graph->floor, &plot.range)) {
        top_canvas_put(canvas, graph->row, graph->column + 2, graph->columns - 2, TOP_FAINT, none);
        return;
    }
    draw_scale(&plot);
    for (size_t c = 0; c < n_curve; c++) draw_curve(&plot, &curves[c]);
}
