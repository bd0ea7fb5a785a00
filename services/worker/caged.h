/* What a job's end says of the runner that its plan ran in. A part of the trainer (worker/trainer.h). */
#ifndef WORKER_CAGED_H
#define WORKER_CAGED_H

#include "worker/trainer.h"

/* After each job, whose plan and seal these are; outcome: its error, or one without a code. Calls that a cage has refused are
 * told, by plan and signer. What ran in a runner that is gone is dropped. */
void caged_after(trainer_t *self, const char *plan, const char *seal, const err_t *outcome);

uint64_t caged_refusals(const trainer_t *self); /* since the start */

#endif
