/* Inside tools/: candidates for each product, timed in turn. */
#ifndef TOOLS_TUNING_MEASURE_H
#define TOOLS_TUNING_MEASURE_H

#include "plan/kernel/tune.h"

/* Add the fastest candidate for each of n products to the table. Products too large to hold (a GiB)
 * get the usual way. Compiles all candidates at once; blocks for seconds. */
int tuning_measure(tune_t *table, const plan_gemm_step_t *product, int n, const char *target,
                   int threads, err_t *err);

#endif
