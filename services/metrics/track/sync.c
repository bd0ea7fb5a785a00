/* Run by run: find or make it there, send rounds behind its cursor, tell its state. */
#include "metrics/track/sync.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/report.h"

enum { ROUNDS = MLFLOW_METRICS / 3 }; /* of a batch: a round has three values at most */

typedef struct {
    char run[STORE_ID];
    mlflow_run_t there;
    char told[STORE_WORD];  /* the state that was told last, by us */
    bool refused, complete; /* complete: it is over, and all of it was sent */
} known_t;

struct sync {
    char *experiment, id[MLFLOW_ID];
    VEC(known_t) known;
};

/* Where one pass is. */
typedef struct {
    sync_t *sync;
    poster_t *poster;
    store_t *store;
} pass_t;

sync_t *sync_new(const char *experiment)
{
    sync_t *self = mem_calloc(1, sizeof *self);
    self->experiment = mem_strdup(experiment);
    return self;
}

void sync_destroy(sync_t **self_p)
{
    sync_t *self = *self_p;
    if (!self) return;
    VEC_FREE(&self->known);
    free(self->experiment);
    free(self);
    *self_p = NULL;
}

/* "2026-01-31T23:59:59.123Z"; 0: it is no time. */
static int64_t milliseconds(const char *iso)
{
    struct tm t = {0};
    int ms = 0;
    if (!iso || sscanf(iso, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &t.tm_year, &t.tm_mon, &t.tm_mday,
                       &t.tm_hour, &t.tm_min, &t.tm_sec, &ms) != 7)
        return 0;
    t.tm_year -= 1900, t.tm_mon--;
    return (int64_t)timegm(&t) * 1000 + ms;
}

static const char *text_of(const report_t *report, size_t row, const char *column)
{
    const char *text = store_report_cell(report, row, column);
    return text ? text : "";
}

static known_t *known(sync_t *self, const char *run)
{
    for (size_t i = 0; i < self->known.n; i++)
        if (strcmp(self->known.at[i].run, run) == 0) return &self->known.at[i];
    known_t row = {0};
    snprintf(row.run, sizeof row.run, "%s", run);
    VEC_PUSH(&self->known, row);
    return &self->known.at[self->known.n - 1];
}

/* --- one run --- */

static int send_options(const pass_t *pass, const known_t *row, const mlflow_run_t *there,
                        err_t *err)
{
    report_t options = {0};
    if (store_report(pass->store, "options", row->run, 1, &options, err) < 0) return -1;
    json_t *json = json_loads(text_of(&options, 0, "options"), 0, NULL);
    int rc = mlflow_options(pass->poster, there, json, err);
    json_decref(json);
    store_report_fini(&options);
    return rc;
}

static int begin(const pass_t *pass, known_t *row, int64_t start_ms, err_t *err)
{
    bool found = false;
    mlflow_run_t there = {0};
    if (*row->there.id) return 0;
    if (mlflow_find(pass->poster, pass->sync->id, row->run, &there, &found, err) < 0) return -1;
    if (!found && mlflow_create(pass->poster, pass->sync->id, row->run, start_ms, &there, err) < 0)
        return -1;
    if (!there.has_cursor && send_options(pass, row, &there, err) < 0) return -1;
    row->there = there;
    log_event(LOG_INFO, "tracked", "run=%s there=%s sent=%lld", row->run, there.id,
              (long long)there.sent);
    return 0;
}

/* Values that are none (the records do not know them) are no metrics. */
static void add(json_t *batch, const char *key, const report_t *rounds, size_t i,
                const char *column)
{
    double value = store_report_number(rounds, i, column);
    int64_t step = (int64_t)store_report_number(rounds, i, "round");
    if (isfinite(value))
        mlflow_add(batch, key, value, step, milliseconds(text_of(rounds, i, "committed_at")));
}

static json_t *batch_of(const report_t *rounds, mlflow_run_t *there)
{
    json_t *batch = json_array();
    int64_t sent = there->sent, validated = there->validated;
    for (size_t i = 0; i < rounds->n_row; i++) {
        int64_t round = (int64_t)store_report_number(rounds, i, "round");
        bool is_valid = isfinite(store_report_number(rounds, i, "validation_loss"));
        if (round > sent) add(batch, "loss", rounds, i, "loss");
        if (round > sent) add(batch, "tokens_per_second", rounds, i, "tokens_per_second");
        if (round > validated && is_valid)
            add(batch, "validation_loss", rounds, i, "validation_loss");
        if (round > there->sent) there->sent = round;
        if (is_valid && round > there->validated) there->validated = round;
    }
    return batch;
}

static int send_rounds(const pass_t *pass, known_t *row, err_t *err)
{
    for (bool more = true; more;) {
        report_t rounds = {0};
        mlflow_run_t with = row->there;
        if (store_report_rounds(pass->store, row->run, with.sent, with.validated, ROUNDS, &rounds,
                                err) < 0)
            return -1;
        more = rounds.n_row == ROUNDS;
        json_t *batch = batch_of(&rounds, &with);
        int rc = rounds.n_row ? mlflow_send(pass->poster, &with, batch, err) : 0;
        json_decref(batch);
        store_report_fini(&rounds);
        if (rc < 0) return -1;
        row->there = with;
    }
    return 0;
}

static const char *status_of(const char *state)
{
    static const struct {
        const char *state, *status;
    } rows[] = {{"done", "FINISHED"},
                {"failed", "FAILED"},
                {"cancelled", "KILLED"},
                {"pending", "SCHEDULED"},
                {"paused", "SCHEDULED"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].state, state) == 0) return rows[i].status;
    return "RUNNING";
}

static int tell_state(const pass_t *pass, known_t *row, const report_t *runs, size_t i, err_t *err)
{
    const char *state = text_of(runs, i, "state"), *status = status_of(state);
    int64_t end_ms = milliseconds(store_report_cell(runs, i, "finished_at"));
    bool over = strcmp(status, "RUNNING") != 0 && strcmp(status, "SCHEDULED") != 0;
    if (strcmp(row->there.status, status) != 0 &&
        mlflow_status(pass->poster, &row->there, status, over ? end_ms : 0,
                      text_of(runs, i, "reason"), err) < 0)
        return -1;
    snprintf(row->told, sizeof row->told, "%s", state);
    row->complete = over;
    return 0;
}

static int sync_run(const pass_t *pass, const report_t *runs, size_t i, err_t *err)
{
    known_t *row = known(pass->sync, text_of(runs, i, "run"));
    bool same = strcmp(row->told, text_of(runs, i, "state")) == 0;
    int64_t start_ms = milliseconds(store_report_cell(runs, i, "started_at"));
    if (row->refused || (row->complete && same)) return 0;
    if (start_ms == 0) start_ms = milliseconds(store_report_cell(runs, i, "created_at"));
    int rc = begin(pass, row, start_ms, err);
    if (rc == 0) rc = send_rounds(pass, row, err);
    if (rc == 0) rc = tell_state(pass, row, runs, i, err);
    if (rc == 0 || (err->code != ERR_ARG && err->code != ERR_IO)) return rc;
    row->refused = true;
    log_event(LOG_ERROR, "not_tracked", "run=%s error=\"%s\"", row->run, err->text);
    return 0;
}

/* --- all of them --- */

int sync_pass(sync_t *self, poster_t *poster, store_t *store, err_t *err)
{
    const pass_t pass = {self, poster, store};
    report_t runs = {0};
    if (!*self->id && mlflow_experiment(poster, self->experiment, self->id, err) < 0) return -1;
    if (store_report(store, "runs", "", STORE_REPORT_ROWS, &runs, err) < 0) return -1;
    int rc = 0;
    for (size_t i = runs.n_row; rc == 0 && i-- > 0;) {
        *err = (err_t){0};
        rc = sync_run(&pass, &runs, i, err);
    }
    store_report_fini(&runs);
    return rc;
}
