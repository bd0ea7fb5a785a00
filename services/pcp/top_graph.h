/* Curves in cells: eight dots to a cell (Unicode's braille), or one sign where only ASCII is. */
#ifndef PCP_TOP_GRAPH_H
#define PCP_TOP_GRAPH_H

#include <stddef.h>

#include "pcp/top_canvas.h"

typedef struct {
    size_t n;
    const double *x, *y; /* by rising x; a NaN is left out. Borrowed */
    top_style_t style;
} top_curve_t;

typedef struct {
    int row, column, rows, columns;              /* where, with the scale at the left */
    double floor;                                /* the scale goes down to this, if it is no NaN */
    void (*number)(double value, char text[32]); /* as the scale writes them */
} top_graph_t;

enum { TOP_SCALE = 9 }; /* columns of the scale */

/* Draw curves over each other on one scale; without a point, nothing but the words `none`. */
void top_graph_draw(top_canvas_t *canvas, const top_graph_t *graph, const top_curve_t *curves,
                    size_t n_curve, const char *none);

#endif
