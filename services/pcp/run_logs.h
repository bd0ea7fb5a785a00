/* pcp run logs. */
#ifndef PCP_RUN_LOGS_H
#define PCP_RUN_LOGS_H

#include <stdbool.h>

#include "pcp/run_talk.h"

/* Print the log of the run's shepherd, what is left of the one before first; tail not 0: only the last so many lines. follow:
 * then what comes, until the run is over. ERR_NET; ERR_STATE: there is no such run. */
int run_logs(run_talk_t *talk, const char *id, int64_t tail, bool follow, err_t *err);

#endif
