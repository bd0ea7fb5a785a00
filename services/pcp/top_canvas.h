/* A frame of `pcp top` in memory: cells of characters, so that the same frame goes to a terminal, to a pipe
 * and to a test. Text that comes from outside is made harmless here: no control character, nothing wider than
 * its place. One thread. */
#ifndef PCP_TOP_CANVAS_H
#define PCP_TOP_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef enum {
    TOP_PLAIN,
    TOP_STRONG,
    TOP_FAINT,
    TOP_BAR,  /* the first and last line, and the chosen run */
    TOP_GOOD, /* what works */
    TOP_WARN,
    TOP_BAD,    /* what failed */
    TOP_CURVE,  /* of the training loss, and of the speed */
    TOP_SECOND, /* of the validation loss */
    TOP_STYLES
} top_style_t;

typedef struct {
    uint32_t code; /* a code point; 0: the right half of a wide one */
    top_style_t style;
} top_cell_t;

typedef struct {
    int rows, columns;
    bool ascii; /* other characters become "?" */
    top_cell_t *cell;
} top_canvas_t;

/* Blank; rows and columns at least 1. */
void top_canvas_init(top_canvas_t *self, int rows, int columns, bool ascii);
void top_canvas_fini(top_canvas_t *self);

/* One character into one cell; outside of the frame: nothing. */
void top_canvas_set(top_canvas_t *self, int row, int column, top_style_t style, uint32_t code);

/* Text from `column` on, in at most `width` cells, and never outside of the frame; one that does not fit ends
 * with "…" ("~" where ascii). Returns the cells used. */
int top_canvas_put(top_canvas_t *self, int row, int column, int width, top_style_t style,
                   const char *text);
/* The same, at the right end of these cells. */
void top_canvas_put_right(top_canvas_t *self, int row, int column, int width, top_style_t style,
                          const char *text);
int top_canvas_putf(top_canvas_t *self, int row, int column, int width, top_style_t style,
                    const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Give `width` cells another style. */
void top_canvas_paint(top_canvas_t *self, int row, int column, int width, top_style_t style);

/* Append a row as UTF-8, without blanks at its end. */
void top_canvas_text(const top_canvas_t *self, int row, str_t *out);

#endif
