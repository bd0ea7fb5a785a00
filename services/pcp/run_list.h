/* pcp run list, page by page. */
#ifndef PCP_RUN_LIST_H
#define PCP_RUN_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "pcp/output.h"
#include "pcp/run_talk.h"

/* Print the newest `limit` runs, or all; on stderr that there are more. ERR_NET, ERR_STATE. */
int run_list(run_talk_t *talk, int64_t limit, bool all, output_t format, err_t *err);

#endif
