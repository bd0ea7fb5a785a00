/* What `pcp compare` prints. */
#ifndef PCP_COMPARE_PRINT_H
#define PCP_COMPARE_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "tools/compare.h"

typedef struct {
    const char *model;
    const trial_t *trial;       /* [n] */
    const compare_side_t *side; /* [n], the first is the reference */
    int n;
    int64_t n_step;
} compare_report_t;

/* Tables: every so many steps (1 at least) and the last one, then the sides. */
void compare_print(const compare_report_t *report, int64_t every, FILE *out);

/* All of it as one JSON object. Numbers that are not finite are null. Returns, caller decrefs. */
json_t *compare_json(const compare_report_t *report);

#endif
