/* The frame of `pcp top`: what was read, drawn for a size. */
#ifndef PCP_TOP_VIEW_H
#define PCP_TOP_VIEW_H

#include "pcp/top_canvas.h"
#include "pcp/top_data.h"

enum { TOP_ROWS = 20, TOP_COLUMNS = 60 }; /* the least that a frame fits into */

typedef struct {
    const top_data_t *data; /* NULL: nothing was read yet */
    const char *place;      /* where from, without a password */
    const char *error;      /* why the last reading failed; "": it did not */
    int64_t now_ms;         /* since 1970 */
    bool keys;              /* the last line tells the keys */
} top_view_t;

/* Onto a blank canvas. One that is too small gets a line that says so. */
void top_view_draw(const top_view_t *self, top_canvas_t *canvas);

#endif
