/* What `pcp train` shows while it runs: on a terminal one line that is redrawn each round, and a
 * kept line whenever the validation loss was measured; elsewhere a plain line per round. One
 * thread. */
#ifndef PCP_PROGRESS_H
#define PCP_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#include "proto/telemetry.pb-c.h"

typedef struct {
    FILE *out;
    bool terminal;
    bool drawn; /* a redrawable line stands on the screen */
} progress_t;

/* `out` is borrowed. */
void progress_init(progress_t *self, FILE *out);
void progress_round(progress_t *self, const Msg__RoundStats *round);

/* A line of text that stays: "compiling ...", "worker-2 left: killed". */
void progress_note(progress_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* End the redrawn line, so that what follows starts on a line of its own. */
void progress_end(progress_t *self);

/* "1h02m", "3m20s", "45s" into buf. */
const char *progress_duration(double seconds, char buf[32]);

#endif
