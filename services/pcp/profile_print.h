/* The tables of `pcp profile`. */
#ifndef PCP_PROFILE_PRINT_H
#define PCP_PROFILE_PRINT_H

#include <stdio.h>

#include "runtime/profile.h"
#include "tools/peak.h"
#include "tools/trial.h"

typedef struct {
    const char *name;
    const trial_t *trial;
    const profile_t *profile;
    double *plain; /* [n_plain] seconds of steps that nobody watched; sorted by profile_print */
    int n_plain;
    double compile_seconds;
    peak_t peak; /* of the device; zeros: not measured */
} profile_summary_t;

/* Summary, then rows by kind of step, by equal steps, by step: the longest first, at most `top` (0:
 * all) in each of the last two. */
void profile_print(const profile_summary_t *summary, int top, FILE *out);

#endif
