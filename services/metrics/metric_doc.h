/* docs/metrics.md, written from the rows of metric_list.h. */
#ifndef METRICS_METRIC_DOC_H
#define METRICS_METRIC_DOC_H

#include "base/str.h"

/* Append the whole page, in markdown. */
void metric_doc(str_t *out);

#endif
