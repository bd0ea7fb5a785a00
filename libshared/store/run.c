/* Runs: submitted once, moved along the transitions that the table run_transition allows. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/private.h"

#define RUN_STATES "pending running paused done failed cancelled"
#define RUN_COLUMNS \
    "id, key, state, config, reason, n_rounds, n_windows, created_ms, started_ms, finished_ms"

/* Whichever of the two is there already: of shepherds that begin a run at once, one does. */
static int insert_run(store_t *self, const store_run_spec_t *spec, const char *key,
                      const char *hash, err_t *err)
{
    return (int)SQL_RUN(self->db, err, NULL,
                        "INSERT INTO run (id, key, config, config_hash, n_rounds, created_ms) "
                        "VALUES ($1, $2, $3, $4, $5, now_ms()) ON CONFLICT DO NOTHING",
                        sql_text(spec->id), sql_text(key), sql_text(spec->config), sql_text(hash),
                        sql_int((int64_t)spec->n_rounds));
}

int store_run_submit(store_t *self, const store_run_spec_t *spec, char id[STORE_ID], bool *created,
                     err_t *err)
{
    const char *key = spec->key ? spec->key : spec->id;
    if (store_check_id("run id", spec->id, err) < 0 || store_check_id("run's key", key, err) < 0)
        return -1;
    if (!spec->config || spec->n_rounds > INT64_MAX)
        return err_set(err, ERR_ARG, "store: run %s has no config, or too many rounds", spec->id);
    char hash[HASH_HEX];
    hash_content(spec->config, strlen(spec->config), hash);
    sql_rows_t rows = {0};
    int n = insert_run(self, spec, key, hash, err);
    int64_t found = n < 0
                        ? -1
                        : SQL_RUN(self->db, err, &rows,
                                  "SELECT id, config_hash FROM run WHERE key = $1", sql_text(key));
    int rc = found < 0 ? -1 : 0;
    if (found == 0)
        rc = err_set(err, ERR_STATE,
                     "store: there is a run \"%s\" already, of another key than \"%s\"", spec->id,
                     key);
    if (rc == 0 && strcmp(sql_cell(&rows, 0, 1), hash) != 0)
        rc = err_set(err, ERR_STATE, "store: key \"%s\" was used for run %s with another config",
                     key, sql_cell(&rows, 0, 0));
    if (rc == 0) {
        sql_cell_copy(&rows, 0, 0, id, STORE_ID);
        if (created) *created = n > 0;
    }
    sql_rows_fini(&rows);
    return rc;
}

static store_run_t take_run(const sql_rows_t *rows, size_t r)
{
    store_run_t run = {0};
    sql_cell_copy(rows, r, 0, run.id, sizeof run.id);
    sql_cell_copy(rows, r, 1, run.key, sizeof run.key);
    sql_cell_copy(rows, r, 2, run.state, sizeof run.state);
    run.config = sql_cell_dup(rows, r, 3);
    run.reason = sql_cell_dup(rows, r, 4);
    run.n_rounds = (uint64_t)sql_cell_int(rows, r, 5);
    run.n_windows = sql_cell(rows, r, 6) ? (uint64_t)sql_cell_int(rows, r, 6) : 0;
    run.created_ms = sql_cell_int(rows, r, 7);
    run.started_ms = sql_cell_int(rows, r, 8);
    run.finished_ms = sql_cell_int(rows, r, 9);
    return run;
}

static int no_run(const char *id, err_t *err)
{
    return err_set(err, ERR_STATE, "store: there is no run \"%s\"", id);
}

int store_run_get(store_t *self, const char *id, store_run_t *out, err_t *err)
{
    if (store_check_id("run id", id, err) < 0) return -1;
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows, "SELECT " RUN_COLUMNS " FROM run WHERE id = $1",
                        sql_text(id));
    if (n > 0) *out = take_run(&rows, 0);
    sql_rows_fini(&rows);
    return n < 0 ? -1 : n == 0 ? no_run(id, err) : 0;
}

int store_run_list(store_t *self, const char *state, size_t limit, store_runs_t *out, err_t *err)
{
    if (state && store_check_word("state of a run", state, RUN_STATES, err) < 0) return -1;
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT " RUN_COLUMNS " FROM run WHERE $1 = '' OR state = $1 "
                        "ORDER BY created_ms DESC, id LIMIT $2",
                        sql_text(state ? state : ""), sql_count(limit));
    if (n >= 0) {
        *out = (store_runs_t){.n = (size_t)n, .at = mem_calloc((size_t)n, sizeof *out->at)};
        for (size_t i = 0; i < out->n; i++) out->at[i] = take_run(&rows, i);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

void store_run_fini(store_run_t *self)
{
    free(self->config);
    free(self->reason);
    self->config = self->reason = NULL;
}

void store_runs_fini(store_runs_t *self)
{
    for (size_t i = 0; i < self->n; i++) store_run_fini(&self->at[i]);
    free(self->at);
    *self = (store_runs_t){0};
}

/* Inside a transaction. */
static int move(store_t *self, const char *id, const char *state, const char *reason, err_t *err)
{
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "UPDATE run SET state = $2, reason = $3, "
        "started_ms = CASE WHEN $2 = 'running' THEN coalesce(started_ms, now_ms()) ELSE started_ms "
        "END, "
        "finished_ms = CASE WHEN $2 IN ('done', 'failed', 'cancelled') THEN now_ms() END "
        "WHERE id = $1 AND EXISTS (SELECT 1 FROM run_transition t "
        "WHERE t.before = run.state AND t.after = $2)",
        sql_text(id), sql_text(state), sql_text(reason ? reason : ""));
    if (n > 0 && strcmp(state, "running") != 0) /* nobody works on it any more */
        return store_workers_leave(self, id, "gone", state, err);
    if (n != 0) return n < 0 ? -1 : 0;
    sql_rows_t rows = {0};
    n = SQL_RUN(self->db, err, &rows, "SELECT state FROM run WHERE id = $1", sql_text(id));
    int rc = n < 0 ? -1 : n == 0 ? no_run(id, err) : 0;
    if (rc == 0 && strcmp(sql_cell(&rows, 0, 0), state) != 0)
        rc = err_set(err, ERR_STATE, "store: run %s is %s and cannot become %s", id,
                     sql_cell(&rows, 0, 0), state);
    sql_rows_fini(&rows);
    return rc;
}

int store_run_move(store_t *self, const char *id, const char *state, const char *reason,
                   const store_leader_t *leader, err_t *err)
{
    if (store_check_id("run id", id, err) < 0 ||
        store_check_word("state of a run", state, RUN_STATES, err) < 0)
        return -1;
    if (leader && strcmp(leader->run, id) != 0)
        return err_set(err, ERR_ARG, "store: the leader of run %s cannot move run %s", leader->run,
                       id);
    if (store_begin(self, leader, err) < 0) return -1;
    return sql_end(self->db, move(self, id, state, reason, err), err);
}

int store_run_data(store_t *self, const store_leader_t *leader, uint64_t n_windows, err_t *err)
{
    if (n_windows == 0 || n_windows > INT64_MAX / 2)
        return err_set(err, ERR_ARG, "store: an epoch of %" PRIu64 " windows", n_windows);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE run SET n_windows = $2 "
                        "WHERE id = $1 AND (n_windows IS NULL OR n_windows = $2)",
                        sql_text(leader->run), sql_int((int64_t)n_windows));
    int rc = n < 0 ? -1 : 0;
    if (n == 0)
        rc = err_set(err, ERR_STATE,
                     "store: run %s has another number of windows than %" PRIu64
                     ": its data has changed",
                     leader->run, n_windows);
    return sql_end(self->db, rc, err);
}

int store_run_init(store_t *self, const store_leader_t *leader, const char *hash, err_t *err)
{
    if (store_check_id("hash of the initial values", hash, err) < 0 ||
        store_leader_begin(self, leader, err) < 0)
        return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE run SET init_hash = $2 "
                        "WHERE id = $1 AND (init_hash IS NULL OR init_hash = $2)",
                        sql_text(leader->run), sql_text(hash));
    int rc = n < 0 ? -1 : 0;
    if (n == 0)
        rc = err_set(err, ERR_STATE,
                     "store: run %s began with other initial values: put the file back as it was",
                     leader->run);
    return sql_end(self->db, rc, err);
}
