/* The terminal of `pcp top`, by ncurses. One at a time; one thread. However this process ends, short of SIGKILL, the
 * terminal is given back as it was. */
#ifndef PCP_TOP_SCREEN_H
#define PCP_TOP_SCREEN_H

#include "base/err.h"
#include "pcp/top_canvas.h"

typedef enum {
    TOP_KEY_NONE, /* nothing more waits */
    TOP_KEY_OTHER,
    TOP_KEY_QUIT,
    TOP_KEY_UP,
    TOP_KEY_DOWN,
    TOP_KEY_FIRST,
    TOP_KEY_LAST,
    TOP_KEY_AGAIN,  /* read again */
    TOP_KEY_RESIZE, /* the terminal has another size */
} top_key_t;

/* Take the terminal of standard input and output. ERR_STATE: its kind (TERM) is not known. */
int top_screen_open(err_t *err);
void top_screen_close(void); /* harmless when it is not open */

/* SIGINT, SIGTERM, SIGHUP or SIGQUIT came: leave. */
bool top_screen_told_to_end(void);

void top_screen_size(int *rows, int *columns);
top_key_t top_screen_key(void);
/* Only what differs from the frame before is sent. */
void top_screen_show(const top_canvas_t *canvas);

/* Characters beyond ASCII may be shown: the locale says so. Sets the locale of characters, and nothing else of it. */
bool top_screen_utf8(void);

#endif
