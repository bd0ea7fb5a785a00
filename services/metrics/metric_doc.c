/* The page of metrics: one line for each row of metric_list.h. */
#include "metrics/metric_doc.h"

#include "metrics/series.h"

static const char head[] =
    "# Metrics\n\n"
    "Written by `pcp-metrics --list-metrics > docs/metrics.md` from "
    "services/metrics/metric_list.h;\n"
    "tests/cluster/metrics.sh fails when it is stale.\n\n"
    "`pcp-metrics` serves these at /metrics. Names are stable. The store has the ones marked * as "
    "samples (view\n"
    "`pcp_samples`): with each round, those with the label `worker` once a second. A run's leave "
    "five "
    "minutes after\n"
    "its end. \"Of the records\": read from `--store` (or `--web-store`) every five seconds; "
    "without one they are "
    "absent.\n\n"
    "| name | type | labels | meaning |\n"
    "|---|---|---|---|\n";

static void add_labels(str_t *out, scope_t scope)
{
    const char *const *label = scope_labels(scope), *before = "";
    for (int i = 0; i < 3; i++) {
        if (label[i]) str_addf(out, "%s%s", before, label[i]);
        if (label[i]) before = ", ";
    }
}

void metric_doc(str_t *out)
{
    str_add(out, head);
    for (int m = 0; m < M_COUNT; m++) {
        const metric_row_t *row = metric_row((metric_t)m);
        str_addf(out, "| %s%s | %s | ", row->name, row->stored ? " *" : "", row->type);
        add_labels(out, row->scope);
        str_addf(out, " | %s |\n", row->help);
    }
}
