/* A sample of a model that trains, as a line on a terminal. */
#ifndef PCP_SAMPLE_LINE_H
#define PCP_SAMPLE_LINE_H

#include "pcp/progress.h"
#include "proto/telemetry.pb-c.h"

/* "sample of round 20: It was | the beginning ...": a line that stays. Control characters, which a model may
 * write as well, are shown as escapes. */
void sample_line(progress_t *progress, const Msg__Written *written);

#endif
