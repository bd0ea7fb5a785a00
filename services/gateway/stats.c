/* Series in a list: there are a few of each model. */
#include "gateway/stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

static const double bounds[] = {METRIC_BUCKETS};
enum { BUCKETS = sizeof bounds / sizeof *bounds + 1 };

#define ROW(id, name_, type_, labels_, help_) [STATS_##id] = {name_, #type_, labels_, help_},
static const struct {
    const char *name, *type, *labels, *help;
} rows[STATS_COUNT] = {METRICS(ROW)};

typedef struct {
    metric_t metric;
    char *labels;    /* model="x",end="y" */
    double value;    /* of a histogram the sum */
    uint64_t *count; /* [BUCKETS], NULL: none */
} series_t;

struct stats {
    VEC(series_t) series;
};

stats_t *stats_new(void)
{
    return mem_calloc(1, sizeof(stats_t));
}

void stats_destroy(stats_t **self_p)
{
    stats_t *self = *self_p;
    if (!self) return;
    for (size_t i = 0; i < self->series.n; i++) {
        free(self->series.at[i].labels);
        free(self->series.at[i].count);
    }
    VEC_FREE(&self->series);
    free(self);
    *self_p = NULL;
}

/* NAME="value" of the next label of a list "a, b"; returns what is behind it. */
static const char *add_label(str_t *out, const char *names, const char *value)
{
    size_t n = strcspn(names, ",");
    if (!value || n == 0) return names;
    if (out->n > 0) str_add(out, ",");
    str_addn(out, names, n);
    str_add(out, "=\"");
    for (const char *c = value; *c; c++) {
        bool plain = *c >= ' ' && *c <= '~' && *c != '"' && *c != '\\';
        str_addn(out, plain ? c : "_", 1);
    }
    str_add(out, "\"");
    return names + n + strspn(names + n, ", ");
}

static series_t *find(stats_t *self, metric_t metric, const char *a, const char *b)
{
    str_t labels = {0};
    add_label(&labels, add_label(&labels, rows[metric].labels, a), b);
    series_t *found = NULL;
    for (size_t i = 0; !found && i < self->series.n; i++) {
        series_t *one = &self->series.at[i];
        if (one->metric == metric && strcmp(one->labels, str_text(&labels)) == 0) found = one;
    }
    if (!found) {
        series_t fresh = {.metric = metric, .labels = mem_strdup(str_text(&labels))};
        VEC_PUSH(&self->series, fresh);
        found = &self->series.at[self->series.n - 1];
    }
    str_fini(&labels);
    return found;
}

void stats_add(stats_t *self, metric_t metric, const char *a, const char *b, double by)
{
    find(self, metric, a, b)->value += by;
}

void stats_set(stats_t *self, metric_t metric, const char *a, const char *b, double value)
{
    find(self, metric, a, b)->value = value;
}

void stats_observe(stats_t *self, metric_t metric, const char *a, double seconds)
{
    series_t *s = find(self, metric, a, NULL);
    size_t i = 0;
    if (!s->count) s->count = mem_calloc(BUCKETS, sizeof *s->count);
    while (i + 1 < BUCKETS && seconds > bounds[i]) i++;
    s->count[i]++;
    s->value += seconds;
}

/* Those of the metric, or whose labels begin so; NULL: of any. */
static void drop(stats_t *self, metric_t metric, const char *labels)
{
    size_t n = 0;
    for (size_t i = 0; i < self->series.n; i++) {
        series_t *one = &self->series.at[i];
        bool goes = labels ? str_starts(one->labels, labels) : one->metric == metric;
        if (!goes) {
            self->series.at[n++] = *one;
            continue;
        }
        free(one->labels);
        free(one->count);
    }
    self->series.n = n;
}

void stats_clear(stats_t *self, metric_t metric)
{
    drop(self, metric, NULL);
}

void stats_forget_model(stats_t *self, const char *model)
{
    str_t labels = {0};
    add_label(&labels, "model", model);
    drop(self, 0, str_text(&labels));
    str_fini(&labels);
}

static void expose_histogram(const series_t *s, str_t *out)
{
    const char *name = rows[s->metric].name, *comma = *s->labels ? "," : "";
    uint64_t n = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        n += s->count[i];
        str_addf(out, "%s_bucket{%s%sle=\"", name, s->labels, comma);
        if (i + 1 < BUCKETS)
            str_addf(out, "%g\"} %llu\n", bounds[i], (unsigned long long)n);
        else
            str_addf(out, "+Inf\"} %llu\n", (unsigned long long)n);
    }
    str_addf(out, "%s_sum{%s} %.9g\n", name, s->labels, s->value);
    str_addf(out, "%s_count{%s} %llu\n", name, s->labels, (unsigned long long)n);
}

void stats_expose(const stats_t *self, str_t *out)
{
    for (int m = 0; m < STATS_COUNT; m++) {
        str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", rows[m].name, rows[m].help, rows[m].name,
                 rows[m].type);
        for (size_t i = 0; i < self->series.n; i++) {
            const series_t *s = &self->series.at[i];
            if ((int)s->metric != m) continue;
            if (s->count)
                expose_histogram(s, out);
            else if (*s->labels)
                str_addf(out, "%s{%s} %.15g\n", rows[m].name, s->labels, s->value);
            else
                str_addf(out, "%s %.15g\n", rows[m].name, s->value);
        }
    }
}

void stats_list(str_t *out)
{
    str_add(out, "| name | type | labels | meaning |\n|---|---|---|---|\n");
    for (int m = 0; m < STATS_COUNT; m++)
        str_addf(out, "| %s | %s | %s | %s |\n", rows[m].name, rows[m].type, rows[m].labels,
                 rows[m].help);
}
