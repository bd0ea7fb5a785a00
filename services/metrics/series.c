/* Rows by key in a hash; the text format. */
#include "metrics/series.h"

#include <czmq.h>
#include <math.h>

#include "base/mem.h"

struct series_table {
    zhashx_t *rows; /* "scope run label" -> series_t, owned */
    series_t self;  /* of SCOPE_SELF */
};

/* Of the rows in metric_list.h, but their sources (metrics.c). */
enum { LIVE, STORED };
#define SCOPE_LABELS(scope, run, label, label2) [SCOPE_##scope] = {run, label, label2},
#define METRIC_ROW(id, name, type, scope, stored, source, help) \
    [M_##id] = {name, #type, help, SCOPE_##scope, stored},
static const char *const labels[SCOPE_COUNT][3] = {SCOPES(SCOPE_LABELS)};
static const metric_row_t metrics[M_COUNT] = {METRICS(METRIC_ROW)};
_Static_assert(M_COUNT <= 64, "series_t.has has a bit for each metric");

const metric_row_t *metric_row(metric_t metric)
{
    return &metrics[metric];
}

const char *const *scope_labels(scope_t scope)
{
    return labels[scope];
}

static const double bounds[] = {METRIC_BUCKETS};
enum { N_BOUNDS = sizeof bounds / sizeof *bounds };
_Static_assert(N_BOUNDS + 1 == SERIES_BUCKETS, "SERIES_BUCKETS counts METRIC_BUCKETS and one more");

static void free_histograms(series_t *row)
{
    for (histogram_t *h = row->histograms, *next; h; h = next) {
        next = h->next;
        free(h);
    }
}

static void row_free(void **item)
{
    free_histograms(*item);
    free(*item);
    *item = NULL;
}

series_table_t *series_table_new(void)
{
    series_table_t *self = mem_calloc(1, sizeof *self);
    self->rows = zhashx_new();
    zhashx_set_destructor(self->rows, row_free);
    return self;
}

void series_table_destroy(series_table_t **self_p)
{
    if (!*self_p) return;
    zhashx_destroy(&(*self_p)->rows);
    free_histograms(&(*self_p)->self);
    free(*self_p);
    *self_p = NULL;
}

/* What Prometheus and a terminal can show; ids from outside may hold anything. */
static void copy_label(char out[SERIES_LABEL], const char *text)
{
    size_t n = 0;
    for (; text[n] && n < SERIES_LABEL - 1; n++)
        out[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '_';
    out[n] = '\0';
}

series_t *series_get(series_table_t *self, scope_t scope, const char *run, const char *label,
                     int64_t now_ms)
{
    series_t fresh = {.scope = scope};
    copy_label(fresh.run, run);
    copy_label(fresh.label, label);
    char key[2 * SERIES_LABEL + 16];
    snprintf(key, sizeof key, "%d\t%s\t%s", (int)scope, fresh.run, fresh.label);
    series_t *row = zhashx_lookup(self->rows, key);
    if (!row && zhashx_size(self->rows) >= SERIES_MOST) {
        series_add(&self->self, M_SERIES_REFUSED, 1);
        return NULL;
    }
    if (!row) {
        row = mem_calloc(1, sizeof *row);
        *row = fresh;
        zhashx_insert(self->rows, key, row);
    }
    row->heard_ms = now_ms;
    return row;
}

static void count(series_t *row, metric_t metric, double value)
{
    histogram_t *h = row->histograms;
    while (h && h->metric != metric) h = h->next;
    if (!h) {
        h = mem_calloc(1, sizeof *h);
        *h = (histogram_t){.next = row->histograms, .metric = metric};
        row->histograms = h;
    }
    size_t i = 0;
    while (i < N_BOUNDS && !(value <= bounds[i])) i++;
    h->in[i]++;
    h->n++;
    h->sum += value;
}

void series_set(series_t *row, metric_t metric, double value)
{
    if (!row) return;
    if (strcmp(metrics[metric].type, "histogram") == 0) count(row, metric, value);
    row->value[metric] = value;
    row->has |= (uint64_t)1 << metric;
    row->fresh = true;
}

series_t *series_self(series_table_t *self)
{
    return &self->self;
}

void series_add(series_t *row, metric_t metric, double amount)
{
    if (row) series_set(row, metric, row->value[metric] + amount);
}

static void forget(series_table_t *self, bool (*old)(const series_t *row, const void *what),
                   const void *what)
{
    zlistx_t *keys = zhashx_keys(self->rows); /* copies: rows go while we walk */
    for (const char *key = zlistx_first(keys); key; key = zlistx_next(keys))
        if (old(zhashx_lookup(self->rows, key), what)) zhashx_delete(self->rows, key);
    zlistx_destroy(&keys);
}

static bool heard_before(const series_t *row, const void *what)
{
    return row->heard_ms < *(const int64_t *)what;
}

void series_forget(series_table_t *self, int64_t before_ms)
{
    forget(self, heard_before, &before_ms);
}

static bool same_group(const series_t *row, const void *what)
{
    const series_t *group = what;
    return row->scope == group->scope && strcmp(row->run, group->run) == 0;
}

void series_forget_scope(series_table_t *self, scope_t scope, const char *run)
{
    series_t group = {.scope = scope};
    copy_label(group.run, run);
    forget(self, same_group, &group);
}

typedef struct {
    series_table_t *table;
    int64_t before_ms;
} over_t;

static bool of_old_run(const series_t *row, const void *what)
{
    const over_t *over = what;
    char key[2 * SERIES_LABEL + 16];
    snprintf(key, sizeof key, "%d\t%s\t", (int)SCOPE_RUN, row->run);
    const series_t *run = zhashx_lookup(over->table->rows, key);
    return run && row != run && run->over && run->heard_ms < over->before_ms;
}

static bool is_old_run(const series_t *row, const void *what)
{
    return row->scope == SCOPE_RUN && row->over &&
           row->heard_ms < ((const over_t *)what)->before_ms;
}

void series_forget_over(series_table_t *self, int64_t before_ms)
{
    over_t over = {self, before_ms};
    forget(self, of_old_run,
           &over); /* what is of the run goes first: its row says that it is over */
    forget(self, is_old_run, &over);
}

size_t series_count(const series_table_t *self)
{
    return zhashx_size(self->rows);
}

series_t *series_first(series_table_t *self)
{
    return zhashx_first(self->rows);
}

series_t *series_next(series_table_t *self)
{
    return zhashx_next(self->rows);
}

/* --- the text format --- */

static int by_labels(const void *a, const void *b)
{
    const series_t *x = *(series_t *const *)a, *y = *(series_t *const *)b;
    if (x->scope != y->scope) return x->scope < y->scope ? -1 : 1;
    int order = strcmp(x->run, y->run);
    return order ? order : strcmp(x->label, y->label);
}

static void add_label(str_t *out, const char *before, const char *name, const char *value)
{
    str_addf(out, "%s%s=\"", before, name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\') str_addn(out, "\\", 1);
        str_addn(out, value, 1);
    }
    str_addn(out, "\"", 1);
}

/* The label "compiler busy" of two names is two. `le`: one more, or NULL. */
static void add_labels(str_t *out, const series_t *row, const char *le)
{
    const char *const *name = labels[row->scope], *space = strchr(row->label, ' ');
    const char *before = "{";
    if (name[0]) add_label(out, before, name[0], row->run), before = ",";
    if (name[1] && name[2] && space) {
        char first[SERIES_LABEL];
        snprintf(first, sizeof first, "%.*s", (int)(space - row->label), row->label);
        add_label(out, before, name[1], first);
        add_label(out, ",", name[2], space + 1);
        before = ",";
    } else if (name[1]) {
        add_label(out, before, name[1], row->label), before = ",";
    }
    if (le) add_label(out, before, "le", le), before = ",";
    if (*before == ',') str_add(out, "}");
}

static void add_value(str_t *out, double value)
{
    if (isnan(value))
        str_add(out, " NaN\n");
    else if (isinf(value))
        str_add(out, value > 0 ? " +Inf\n" : " -Inf\n");
    else
        str_addf(out, " %.15g\n", value);
}

static void add_row(str_t *out, const char *name, const char *part, const series_t *row,
                    const char *le, double value)
{
    str_addf(out, "%s%s", name, part);
    add_labels(out, row, le);
    add_value(out, value);
}

/* Buckets count all values up to their bound. */
static void add_histogram(str_t *out, metric_t metric, const series_t *row)
{
    const histogram_t *h = row->histograms;
    const char *name = metrics[metric].name;
    while (h && h->metric != metric) h = h->next;
    uint64_t n = 0;
    for (size_t i = 0; h && i < SERIES_BUCKETS; i++) {
        char le[32] = "+Inf";
        if (i < N_BOUNDS) snprintf(le, sizeof le, "%g", bounds[i]);
        n += h->in[i];
        add_row(out, name, "_bucket", row, le, (double)n);
    }
    if (h) add_row(out, name, "_sum", row, NULL, h->sum);
    if (h) add_row(out, name, "_count", row, NULL, (double)h->n);
}

void series_expose(series_table_t *self, str_t *out)
{
    size_t n = 0;
    series_t **rows = mem_calloc(zhashx_size(self->rows) + 1, sizeof *rows);
    rows[n++] = &self->self;
    for (series_t *row = zhashx_first(self->rows); row; row = zhashx_next(self->rows))
        rows[n++] = row;
    qsort(rows, n, sizeof *rows, by_labels);
    for (int m = 0; m < M_COUNT; m++) {
        bool titled = false;
        for (size_t i = 0; i < n; i++) {
            if (rows[i]->scope != metrics[m].scope || !(rows[i]->has >> m & 1)) continue;
            if (!titled)
                str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", metrics[m].name, metrics[m].help,
                         metrics[m].name, metrics[m].type);
            titled = true;
            if (rows[i]->histograms && strcmp(metrics[m].type, "histogram") == 0)
                add_histogram(out, (metric_t)m, rows[i]);
            else
                add_row(out, metrics[m].name, "", rows[i], NULL, rows[i]->value[m]);
        }
    }
    free(rows);
}
