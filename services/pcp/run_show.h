/* What pcp run prints. */
#ifndef PCP_RUN_SHOW_H
#define PCP_RUN_SHOW_H

#include <stdbool.h>

#include "msg/envelope.h"
#include "pcp/output.h"

/* A table, or an array. */
void run_show_list(Msg__RunInfo *const *runs, size_t n, output_t format);
/* Lines "what value", or an object. */
void run_show_one(const Msg__RunInfo *info, output_t format);

/* Nothing more will happen by itself: done, failed, cancelled. */
bool run_show_over(const Msg__RunInfo *info);

#endif
