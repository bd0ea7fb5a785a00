/* How a worker leaves: with what it has trained handed in, and copies of what others will begin with. */
#ifndef WORKER_LEAVING_H
#define WORKER_LEAVING_H

#include "worker/loop.h"

/* Copies of what this worker made last begin to go up; why, for the log. */
void leaving_hand_over(loop_t *self, const char *why);
/* Now and then while it drains: it leaves when all is handed in, or the grace period is over. */
void leaving_tick(loop_t *self, int64_t now);

#endif
