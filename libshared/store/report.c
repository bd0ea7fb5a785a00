/* Reports: a table of queries, and rows of any of them as texts. */
#include "store/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "store/private.h"

/* A mean over $2 rounds is one row: of a short run $2 is 1 and the mean the value itself. */
#define PER_ROUND(columns, rest) \
    "SELECT max(round), " columns " FROM " rest " GROUP BY (round - 1) / $2 ORDER BY 1"

#define RUNNING \
    "($1 = '' OR run = $1) AND run IN (SELECT run FROM pcp_runs WHERE state = 'running')"

/* $1 is the run or '', $2 the rounds of a row (by_round) or the rows at most. Columns: a name and,
 * behind a colon, n number, t time, j JSON. */
static const struct {
    const char *name;
    bool of_run, by_round;
    const char *columns, *query;
} reports[] = {
    {"runs", false, false,
     "run state reason rounds_planned:n rounds:n tokens:n loss:n validation_loss:n checkpoint "
     "leader created_at:t started_at:t finished_at:t",
     "SELECT run, state, reason, rounds_planned, rounds, tokens, loss, validation_loss, "
     "checkpoint, leader, created_at, started_at, finished_at FROM pcp_runs "
     "WHERE $1 = '' OR run = $1 ORDER BY created_at DESC LIMIT $2"},
    {"options", true, false, "options:j", "SELECT options FROM pcp_runs WHERE run = $1 LIMIT $2"},
    {"queue", false, false,
     "run number:n state reason workers_wanted:n shards:n rounds_planned:n created_at:t",
     "SELECT run, number, state, reason, workers_wanted, shards, rounds_planned, created_at "
     "FROM pcp_submissions WHERE ($1 = '' OR run = $1) AND state IN ('queued', 'paused') "
     "ORDER BY number LIMIT $2"},
    {"waiting", false, false, "state n:n",
     "SELECT state, count(*) FROM pcp_submissions WHERE ($1 = '' OR run = $1) "
     "AND state IN ('queued', 'paused') GROUP BY state ORDER BY state LIMIT $2"},
    {"lost", false, false, "run transfer_ms:n wait_ms:n recover_ms:n other_ms:n",
     "SELECT run, coalesce(sum(transfer_ms), 0), coalesce(sum(wait_ms), 0), "
     "coalesce(sum(recover_ms), 0), coalesce(sum(other_ms), 0) FROM pcp_round_time "
     "WHERE state = 'committed' AND " RUNNING " GROUP BY run ORDER BY run LIMIT $2"},
    {"rejected", false, false, "run reason n:n",
     "SELECT run, reason, count(*) FROM pcp_rejections WHERE " RUNNING
     " GROUP BY run, reason ORDER BY run, reason LIMIT $2"},
    {"saved", false, false, "run created_at:t",
     "SELECT run, max(created_at) FROM pcp_checkpoints WHERE state = 'good' AND " RUNNING
     " GROUP BY run ORDER BY run LIMIT $2"},
    {"loss", true, true, "round:n loss:n tokens:n committed_at:t",
     PER_ROUND("avg(loss), sum(tokens), max(committed_at)", "pcp_loss WHERE run = $1")},
    {"validation", true, true, "round:n validation_loss:n",
     PER_ROUND("avg(validation_loss)", "pcp_validation WHERE run = $1")},
    {"speed", true, true, "round:n tokens_per_second:n",
     PER_ROUND("avg(tokens_per_second)", "pcp_speed WHERE run = $1")},
    {"time", true, true,
     "round:n total_ms:n compute_ms:n transfer_ms:n wait_ms:n recover_ms:n other_ms:n",
     PER_ROUND("avg(total_ms), avg(compute_ms), avg(transfer_ms), avg(wait_ms), avg(recover_ms), "
               "avg(other_ms)",
               "pcp_round_time WHERE run = $1 AND state = 'committed'")},
    {"wire", true, true, "round:n received_bytes:n sent_bytes:n",
     PER_ROUND("avg(received_bytes), avg(sent_bytes)", "pcp_wire WHERE run = $1")},
    {"open", true, false, "round:n state waits_for opened_at:t",
     "SELECT round, state, waits_for, opened_at FROM pcp_round_time "
     "WHERE run = $1 AND state <> 'committed' ORDER BY round DESC LIMIT $2"},
    {"workers", false, false,
     "worker kind state reason run supervisor host device target n_starts:n first_at:t "
     "changed_at:t memory_bytes:n steps_per_second:n",
     "SELECT worker, kind, state, reason, run, supervisor, host, device, target, n_starts, "
     "first_at, changed_at, memory_bytes, steps_per_second FROM pcp_workers w WHERE $1 = '' OR run "
     "= $1 "
     "OR EXISTS (SELECT 1 FROM pcp_leases l WHERE l.run = $1 AND l.worker = w.worker) "
     "ORDER BY worker LIMIT $2"},
    {"leases", true, false,
     "round:n replica:n worker state loss:n n_steps:n n_windows:n compute_ms:n sent_bytes:n "
     "received_bytes:n issued_at:t done_at:t",
     "SELECT round, replica, worker, state, loss, n_steps, n_windows, compute_ms, sent_bytes, "
     "received_bytes, issued_at, done_at FROM pcp_leases WHERE run = $1 "
     "ORDER BY round DESC, replica LIMIT $2"},
    {"checkpoints", true, false, "round:n state path n_bytes:n reason hash created_at:t",
     "SELECT round, state, path, n_bytes, reason, hash, created_at FROM pcp_checkpoints "
     "WHERE run = $1 ORDER BY round DESC, created_at DESC LIMIT $2"},
    {"samples", true, false, "round:n prompt text written_at:t",
     "SELECT round, prompt, text, written_at FROM pcp_texts WHERE run = $1 ORDER BY round DESC "
     "LIMIT $2"},
    {"ledger", true, false,
     "epoch:n epoch_windows:n committed_windows:n doubled_windows:n skipped_windows:n "
     "exactly_once:n complete:n",
     "SELECT epoch, epoch_windows, committed_windows, doubled_windows, skipped_windows, "
     "exactly_once, complete FROM pcp_ledger WHERE run = $1 ORDER BY epoch DESC LIMIT $2"},
    {"rejections", true, false, "round:n replica:n worker reason detail created_at:t",
     "SELECT round, replica, worker, reason, detail, created_at FROM pcp_rejections "
     "WHERE run = $1 ORDER BY created_at DESC LIMIT $2"},
    {"events", false, false, "id:n told_at:t level service member name run round:n detail:j",
     "SELECT id, told_at, level, service, member, name, run, round, detail FROM pcp_events "
     "WHERE $1 = '' OR run = $1 ORDER BY id DESC LIMIT $2"},
};
enum { N_REPORTS = sizeof reports / sizeof *reports, CONNECT_MS = 2000, STATEMENT_MS = 3000 };

store_t *store_report_open(const char *url, err_t *err)
{
    const store_options_t options = {
        .connect_ms = CONNECT_MS, .statement_ms = STATEMENT_MS, .read_only = true};
    return store_open(url, &options, err);
}

static int find(const char *name)
{
    int i = 0;
    while (i < N_REPORTS && strcmp(reports[i].name, name) != 0) i++;
    return i < N_REPORTS ? i : -1;
}

bool store_report_known(const char *name, bool *of_run)
{
    int i = find(name);
    if (i >= 0) *of_run = reports[i].of_run;
    return i >= 0;
}

const char *store_report_name(size_t i)
{
    return i < N_REPORTS ? reports[i].name : NULL;
}

/* --- columns and cells --- */

static report_column_t next_column(const char **spec)
{
    report_column_t column = {0};
    size_t n = strcspn(*spec, " "), word = strcspn(*spec, " :");
    const char mark = word < n ? (*spec)[word + 1] : '\0';
    column.kind = mark == 'n'   ? REPORT_NUMBER
                  : mark == 't' ? REPORT_TIME
                  : mark == 'j' ? REPORT_JSON
                                : REPORT_TEXT;
    snprintf(column.name, sizeof column.name, "%.*s", (int)word, *spec);
    *spec += n + ((*spec)[n] == ' ');
    return column;
}

bool store_report_time(const char *text, char out[STORE_WORD])
{
    struct tm t = {0};
    double seconds = 0;
    int end = 0, zone_h = 0, zone_m = 0;
    if (sscanf(text, "%4d-%2d-%2d%*1[ T]%2d:%2d:%lf%n", &t.tm_year, &t.tm_mon, &t.tm_mday,
               &t.tm_hour, &t.tm_min, &seconds, &end) != 6 ||
        seconds < 0 || seconds >= 61)
        return false;
    const char *zone = text + end;
    bool offset = *zone == '+' || *zone == '-';
    if (offset && sscanf(zone + 1, "%2d:%2d", &zone_h, &zone_m) < 1) return false;
    if (!offset && *zone && strcmp(zone, "Z") != 0) return false;
    t.tm_year -= 1900, t.tm_mon--;
    int64_t ms = (int64_t)timegm(&t) * 1000 + (int64_t)(seconds * 1000 + 0.5);
    ms -= (*zone == '-' ? -1 : 1) * (zone_h * 60 + zone_m) * 60000ll;
    time_t whole = (time_t)(ms / 1000 - (ms % 1000 < 0));
    struct tm utc;
    if (!gmtime_r(&whole, &utc) || utc.tm_year + 1900 > 9999 || utc.tm_year < -900) return false;
    size_t n = strftime(out, STORE_WORD, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + n, STORE_WORD - n, ".%03dZ", (int)(ms - (int64_t)whole * 1000));
    return true;
}

/* As JSON writes numbers: no NaN, no Infinity. */
static bool is_number(const char *text)
{
    size_t digits = strspn(text + (*text == '-'), "0123456789");
    return digits > 0 && strspn(text, "-+.eE0123456789") == strlen(text);
}

static char *cell_of(const sql_rows_t *rows, size_t i, size_t c, report_kind_t kind)
{
    const char *text = sql_cell(rows, i, c);
    char time[STORE_WORD];
    if (!text) return NULL;
    if (kind == REPORT_TIME) return store_report_time(text, time) ? mem_strdup(time) : NULL;
    return kind != REPORT_NUMBER || is_number(text) ? mem_strdup(text) : NULL;
}

static void take_rows(report_t *out, const sql_rows_t *rows, const char *columns, size_t n_row)
{
    out->n_row = n_row;
    out->n_column = rows->n_column;
    out->column = mem_calloc(rows->n_column + 1, sizeof *out->column);
    out->cell = mem_calloc(n_row * rows->n_column + 1, sizeof *out->cell);
    for (size_t c = 0; c < rows->n_column; c++) out->column[c] = next_column(&columns);
    for (size_t i = 0; i < n_row * rows->n_column; i++) {
        size_t c = i % rows->n_column;
        out->cell[i] = cell_of(rows, i / rows->n_column, c, out->column[c].kind);
    }
}

void store_report_fini(report_t *self)
{
    for (size_t i = 0; i < self->n_row * self->n_column; i++) free(self->cell[i]);
    free(self->cell);
    free(self->column);
    *self = (report_t){0};
}

const char *store_report_cell(const report_t *self, size_t row, const char *column)
{
    size_t c = 0;
    while (c < self->n_column && strcmp(self->column[c].name, column) != 0) c++;
    bool there = row < self->n_row && c < self->n_column;
    return there ? self->cell[row * self->n_column + c] : NULL;
}

double store_report_number(const report_t *self, size_t row, const char *column)
{
    const char *text = store_report_cell(self, row, column);
    return text ? strtod(text, NULL) : NAN;
}

/* --- queries --- */

/* One number of one row; *found: there is a row. */
static int ask_number(store_t *self, const char *query, const char *run, int64_t *value,
                      bool *found, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows, query, sql_text(run));
    if (n > 0) *value = sql_cell_int(&rows, 0, 0);
    *found = n > 0;
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

static int check_ask(store_t *self, int i, const char *name, const char *run, int64_t most,
                     err_t *err)
{
    int64_t one;
    bool found;
    if (i < 0) return err_set(err, ERR_ARG, "store: there is no report \"%.40s\"", name);
    if (most < 1 || most > STORE_REPORT_ROWS)
        return err_set(err, ERR_ARG, "store: a report has 1 to %d rows", STORE_REPORT_ROWS);
    if (!*run && !reports[i].of_run) return 0;
    if (store_check_id("run id", run, err) < 0) return -1;
    if (ask_number(self, "SELECT 1 FROM pcp_runs WHERE run = $1", run, &one, &found, err) < 0)
        return -1;
    return found ? 0 : err_set(err, ERR_STATE, "there is no run \"%s\"", run);
}

int store_report(store_t *self, const char *name, const char *run, int64_t most, report_t *out,
                 err_t *err)
{
    int i = find(name);
    int64_t last = 0;
    bool found;
    if (check_ask(self, i, name, run, most, err) < 0) return -1;
    bool by_round = reports[i].by_round;
    if (by_round && ask_number(self, "SELECT max(round) FROM pcp_loss WHERE run = $1", run, &last,
                               &found, err) < 0)
        return -1;
    int64_t each = last > most ? (last + most - 1) / most : 1;
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows, reports[i].query, sql_text(run),
                        sql_int(by_round ? each : most + 1));
    if (n >= 0) {
        size_t n_row = rows.n_row < (size_t)most ? rows.n_row : (size_t)most;
        *out = (report_t){.more = rows.n_row > n_row,
                          .each = by_round ? each : 0,
                          .n_of = last > 0 ? (uint64_t)last : 0};
        take_rows(out, &rows, reports[i].columns, n_row);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

int store_report_rounds(store_t *self, const char *run, int64_t after, int64_t validated,
                        int64_t most, report_t *out, err_t *err)
{
    if (store_check_id("run id", run, err) < 0) return -1;
    if (most < 1 || most > STORE_REPORT_ROWS)
        return err_set(err, ERR_ARG, "store: a report has 1 to %d rows", STORE_REPORT_ROWS);
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(
        self->db, err, &rows,
        "SELECT l.round, l.loss, v.validation_loss, s.tokens_per_second, l.committed_at "
        "FROM pcp_loss l LEFT JOIN pcp_validation v ON v.run = l.run AND v.round = l.round "
        "LEFT JOIN pcp_speed s ON s.run = l.run AND s.round = l.round "
        "WHERE l.run = $1 AND (l.round > $2 OR v.round > $3) ORDER BY l.round LIMIT $4",
        sql_text(run), sql_int(after), sql_int(validated), sql_int(most));
    *out = (report_t){0};
    if (n >= 0)
        take_rows(out, &rows, "round:n loss:n validation_loss:n tokens_per_second:n committed_at:t",
                  rows.n_row);
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

int store_report_stamp(store_t *self, int64_t *stamp, err_t *err)
{
    bool lite = sql_dialect(self->db) == SQL_SQLITE;
    sql_rows_t rows = {0};
    int64_t n = lite ? SQL_RUN(self->db, err, &rows, "PRAGMA data_version")
                     : SQL_RUN(self->db, err, &rows,
                               "SELECT CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) "
                               "AS bigint)");
    if (n > 0) *stamp = sql_cell_int(&rows, 0, 0);
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}
