/* What a run is doing, in words for the display: from its shepherd's and workers' telemetry, which
 * may be lost; nothing but words depends on it. */
#ifndef PCP_TRAIN_PHASE_H
#define PCP_TRAIN_PHASE_H

#include "pcp/progress.h"
#include "proto/telemetry.pb-c.h"

/* An event; inner_steps are those of a round. Others than status and step are ignored. */
void train_phase_event(progress_t *progress, const Msg__Event *event, int64_t inner_steps);

#endif
