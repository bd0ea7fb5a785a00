/* Asking a running shepherd for a checkpoint. */
#ifndef PCP_CHECKPOINT_NOW_H
#define PCP_CHECKPOINT_NOW_H

#include <stdint.h>

#include "base/err.h"

/* `run`: which one of a cluster; NULL: the only active one. ERR_NET: no answer in time; ERR_STATE:
 * the shepherd's reason. It is written while training goes on; the event "checkpoint" in the
 * shepherd's log names it. */
int checkpoint_now(const char *shepherd, const char *run, int64_t wait_ms, err_t *err);

#endif
