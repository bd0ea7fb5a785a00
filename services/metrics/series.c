/* Rows by key in a hash; the table of metrics; the text format. */
#include "metrics/series.h"

#include <czmq.h>
#include <math.h>

#include "base/mem.h"

struct series_table {
    zhashx_t *rows; /* "scope run label" -> series_t, owned */
    series_t self;  /* of SCOPE_SELF */
};

static const struct {
    const char *name, *type, *help;
    scope_t scope;
    const char *label; /* beside run; NULL: none */
} metrics[M_COUNT] = {
    [M_EVENTS] = {"pcp_telemetry_events_total", "counter", "Events heard.", SCOPE_SELF, NULL},
    [M_LOST] = {"pcp_telemetry_dropped_total", "counter",
                "Events that were sent and did not arrive.", SCOPE_SELF, NULL},
    [M_MALFORMED] = {"pcp_telemetry_malformed_total", "counter", "Messages that were no events.",
                     SCOPE_SELF, NULL},
    [M_SERIES_REFUSED] = {"pcp_series_refused_total", "counter",
                          "Values without a place because there are too many series.", SCOPE_SELF,
                          NULL},
    [M_STORE_UP] = {"pcp_store_up", "gauge", "1 when the store answered last time.", SCOPE_SELF,
                    NULL},
    [M_STORE_QUEUE] = {"pcp_store_queue", "gauge", "Records that wait for the store.", SCOPE_SELF,
                       NULL},
    [M_STORE_WRITTEN] = {"pcp_store_written_total", "counter",
                         "Records the store has taken: samples and events.", SCOPE_SELF, NULL},
    [M_STORE_DROPPED] = {"pcp_store_dropped_total", "counter",
                         "Records dropped: the queue was full or the store refused them.",
                         SCOPE_SELF, NULL},
    [M_RUNNING] = {"pcp_run_running", "gauge", "1 while the run is neither done nor failed.",
                   SCOPE_RUN, NULL},
    [M_SILENT] = {"pcp_shepherd_silent_seconds", "gauge", "Time since the shepherd was last heard.",
                  SCOPE_RUN, NULL},
    [M_LOSS] = {"pcp_loss", "gauge", "Mean training loss of the last finished round.", SCOPE_RUN,
                NULL},
    [M_VALIDATION_LOSS] = {"pcp_validation_loss", "gauge", "Last validation loss.", SCOPE_RUN,
                           NULL},
    [M_ROUND] = {"pcp_round", "gauge", "Finished rounds.", SCOPE_RUN, NULL},
    [M_ROUNDS] = {"pcp_rounds", "gauge", "Rounds of the whole run.", SCOPE_RUN, NULL},
    [M_TOKENS] = {"pcp_tokens_total", "counter", "Tokens trained in finished rounds.", SCOPE_RUN,
                  NULL},
    [M_TOKENS_PER_S] = {"pcp_tokens_per_second", "gauge", "Speed of the last finished round.",
                        SCOPE_RUN, NULL},
    [M_ROUND_SECONDS] = {"pcp_round_seconds", "gauge", "Duration of the last finished round.",
                         SCOPE_RUN, NULL},
    [M_ETA] = {"pcp_eta_seconds", "gauge", "Time left at the speed so far.", SCOPE_RUN, NULL},
    [M_WORKERS] = {"pcp_workers", "gauge", "Workers by state: preparing, idle, busy.",
                   SCOPE_MEMBERS, "state"},
    [M_MEMBERS] = {"pcp_members", "gauge", "Members other than workers, by kind and state.",
                   SCOPE_MEMBERS, "kind"},
    [M_PHASE] = {"pcp_phase", "gauge",
                 "1 for what the run does, or waits for: gather aggregators, compile plans, train "
                 "leases, commit outer steps, ...",
                 SCOPE_MEMBERS, "phase"},
    [M_WORKER_LOSS] = {"pcp_worker_loss", "gauge", "Training loss of the worker's last step.",
                       SCOPE_WORKER, "worker"},
    [M_WORKER_TOKENS_PER_S] = {"pcp_worker_tokens_per_second", "gauge",
                               "Speed of the worker's last step.", SCOPE_WORKER, "worker"},
    [M_WORKER_STEP] = {"pcp_worker_step", "gauge", "Last step of the worker, counted over the run.",
                       SCOPE_WORKER, "worker"},
    [M_RECEIVED] = {"pcp_received_bytes_total", "counter", "Bytes an aggregator received.",
                    SCOPE_SHARD, "shard"},
    [M_SENT] = {"pcp_sent_bytes_total", "counter", "Bytes an aggregator sent.", SCOPE_SHARD,
                "shard"},
    [M_REFUSED] = {"pcp_refused_chunks_total", "counter",
                   "Chunks refused: old fence, wrong round, damaged.", SCOPE_SHARD, "shard"},
    [M_COMMIT_SECONDS] = {"pcp_commit_seconds", "gauge", "Duration of the shard's last outer step.",
                          SCOPE_SHARD, "shard"},
};

const char *metric_name(metric_t metric)
{
    return metrics[metric].name;
}

static void row_free(void **item)
{
    free(*item);
    *item = NULL;
}

series_table_t *series_table_new(void)
{
    series_table_t *self = mem_calloc(1, sizeof *self);
    self->rows = zhashx_new();
    zhashx_set_destructor(self->rows, row_free);
    static const metric_t from_zero[] = {M_EVENTS, M_LOST, M_MALFORMED, M_SERIES_REFUSED};
    for (size_t i = 0; i < sizeof from_zero / sizeof *from_zero; i++)
        series_set(&self->self, from_zero[i], 0);
    return self;
}

void series_table_destroy(series_table_t **self_p)
{
    if (!*self_p) return;
    zhashx_destroy(&(*self_p)->rows);
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

void series_set(series_t *row, metric_t metric, double value)
{
    if (!row) return;
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

/* A label "compiler busy" of pcp_members is two: kind and state. */
static void add_labels(str_t *out, metric_t metric, const series_t *row)
{
    if (row->scope == SCOPE_SELF) return;
    add_label(out, "{", "run", row->run);
    const char *name = metrics[metric].label, *space = strchr(row->label, ' ');
    if (name && row->scope == SCOPE_MEMBERS && space) {
        char kind[SERIES_LABEL];
        snprintf(kind, sizeof kind, "%.*s", (int)(space - row->label), row->label);
        if (metric == M_MEMBERS) add_label(out, ",", "kind", kind);
        add_label(out, ",", "state", space + 1);
    } else if (name) {
        add_label(out, ",", name, row->label);
    }
    str_add(out, "}");
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
            str_add(out, metrics[m].name);
            add_labels(out, (metric_t)m, rows[i]);
            add_value(out, rows[i]->value[m]);
        }
    }
    free(rows);
}
