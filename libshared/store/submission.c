/* Submitted runs and the front that leads the cluster: a lease in the database with a fence that
 * grows, as the leadership of a run (leader.c). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/private.h"

#define STATES "queued running paused done failed cancelled"

static int check_term(const char *holder, int64_t ttl_ms, err_t *err)
{
    if (store_check_id("front's name", holder, err) < 0) return -1;
    if (ttl_ms >= 1 && ttl_ms <= 3600000) return 0;
    return err_set(err, ERR_ARG, "store: a front's term of %" PRId64 " ms is not in [1, 3600000]",
                   ttl_ms);
}

int store_front_acquire(store_t *self, const char *holder, int64_t ttl_ms, bool *won,
                        store_leader_t *out, err_t *err)
{
    if (check_term(holder, ttl_ms, err) < 0) return -1;
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(
        self->db, err, &rows,
        "INSERT INTO cluster (name, holder, fence, expires_ms, guarded_ms) "
        "VALUES ('cluster', $1, 1, now_ms() + $2, now_ms()) "
        "ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = cluster.fence + 1, "
        "expires_ms = excluded.expires_ms, guarded_ms = excluded.guarded_ms "
        "WHERE cluster.expires_ms <= now_ms() "
        "OR (cluster.guarded_ms > now_ms() AND cluster.expires_ms = $3) "
        "RETURNING holder, fence",
        sql_text(holder), sql_int(ttl_ms), sql_int(store_term_stale(self, ttl_ms)));
    bool mine = n > 0;
    if (n == 0)
        n = SQL_RUN(
            self->db, err, &rows,
            "SELECT holder, fence, expires_ms, CASE WHEN guarded_ms > now_ms() THEN 1 ELSE 0 END "
            "FROM cluster WHERE name = $1",
            sql_text("cluster"));
    if (n > 0 && !mine) store_term_seen(self, &rows);
    if (n > 0) {
        *won = mine;
        *out = (store_leader_t){.fence = sql_cell_int(&rows, 0, 1)};
        sql_cell_copy(&rows, 0, 0, out->holder, sizeof out->holder);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

static int deposed(const store_leader_t *front, err_t *err)
{
    return err_set(err, ERR_FENCE,
                   "store: %s no longer leads the cluster (fence %" PRId64 " is old)",
                   front->holder, front->fence);
}

int store_front_renew(store_t *self, const store_leader_t *front, int64_t ttl_ms, err_t *err)
{
    if (check_term(front->holder, ttl_ms, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE cluster SET expires_ms = now_ms() + $3, guarded_ms = now_ms() "
                        "WHERE holder = $1 AND fence = $2",
                        sql_text(front->holder), sql_int(front->fence), sql_int(ttl_ms));
    return n < 0 ? -1 : n == 0 ? deposed(front, err) : 0;
}

int store_front_release(store_t *self, const store_leader_t *front, err_t *err)
{
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE cluster SET expires_ms = 0 WHERE holder = $1 AND fence = $2",
                        sql_text(front->holder), sql_int(front->fence));
    return n < 0 ? -1 : 0;
}

int store_front_begin(store_t *self, const store_leader_t *front, err_t *err)
{
    if (sql_begin(self->db, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE cluster SET guarded_ms = now_ms() WHERE holder = $1 AND fence = $2",
                        sql_text(front->holder), sql_int(front->fence));
    if (n > 0) return 0;
    sql_rollback(self->db);
    return n < 0 ? -1 : deposed(front, err);
}

static int add(store_t *self, const store_submission_t *s, err_t *err)
{
    if (SQL_RUN(self->db, err, NULL,
                "INSERT INTO submission (id, number, key, spec_hash, state, n_workers, n_shards, "
                "n_rounds, created_ms) VALUES ($1, $2, $3, $4, 'queued', $5, $6, $7, now_ms()) "
                "ON CONFLICT (id) DO NOTHING",
                sql_text(s->id), sql_int(s->number), sql_text(s->key), sql_text(s->spec_hash),
                sql_int((int64_t)s->n_workers), sql_int((int64_t)s->n_shards),
                sql_int((int64_t)s->n_rounds)) < 0)
        return -1;
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT id FROM submission WHERE id = $1 AND key = $2 AND spec_hash = $3",
                        sql_text(s->id), sql_text(s->key), sql_text(s->spec_hash));
    sql_rows_fini(&rows);
    if (n != 0) return n < 0 ? -1 : 0;
    return err_set(err, ERR_STATE, "store: run %s was submitted with another key or other files",
                   s->id);
}

int store_submission_add(store_t *self, const store_leader_t *front,
                         const store_submission_t *submission, err_t *err)
{
    const store_submission_t *s = submission;
    if (store_check_id("run id", s->id, err) < 0 || store_check_id("run's key", s->key, err) < 0)
        return -1;
    if (s->n_workers > INT64_MAX || s->n_shards > INT64_MAX || s->n_rounds > INT64_MAX)
        return err_set(err, ERR_ARG, "store: run %s wants more than can be counted", s->id);
    if (store_front_begin(self, front, err) < 0) return -1;
    return sql_end(self->db, add(self, s, err), err);
}

/* The table `run` says so, too, if a shepherd has made its row: nobody else will, for the shepherd
 * is gone, or told to go. `running` and `done` are the shepherd's own to write. */
static int move_run(store_t *self, const char *id, const char *state, const char *reason,
                    err_t *err)
{
    bool ours = strcmp(state, "paused") == 0 || strcmp(state, "cancelled") == 0 ||
                strcmp(state, "failed") == 0;
    if (!ours) return 0;
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "UPDATE run SET state = $2, reason = $3, finished_ms = CASE WHEN $2 <> "
        "'paused' THEN coalesce(finished_ms, now_ms()) END WHERE id = $1 AND EXISTS "
        "(SELECT 1 FROM run_transition t WHERE t.before = run.state AND t.after = "
        "$2)",
        sql_text(id), sql_text(state), sql_text(reason ? reason : ""));
    return n < 0 ? -1 : 0;
}

int store_submission_move(store_t *self, const store_leader_t *front, const char *id,
                          const char *state, const char *reason, err_t *err)
{
    if (store_check_id("run id", id, err) < 0 ||
        store_check_word("state of a submitted run", state, STATES, err) < 0)
        return -1;
    if (store_front_begin(self, front, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE submission SET state = $2, reason = $3, "
                        "started_ms = CASE WHEN $2 = 'running' THEN coalesce(started_ms, now_ms()) "
                        "ELSE started_ms END, "
                        "finished_ms = CASE WHEN $2 IN ('done', 'failed', 'cancelled') "
                        "THEN coalesce(finished_ms, now_ms()) END WHERE id = $1",
                        sql_text(id), sql_text(state), sql_text(reason ? reason : ""));
    int rc = n < 0 ? -1 : 0;
    if (n == 0) rc = err_set(err, ERR_STATE, "store: there is no submitted run \"%s\"", id);
    if (rc == 0) rc = move_run(self, id, state, reason, err);
    return sql_end(self->db, rc, err);
}

static store_submission_t take(const sql_rows_t *rows, size_t r)
{
    store_submission_t s = {.number = sql_cell_int(rows, r, 1)};
    sql_cell_copy(rows, r, 0, s.id, sizeof s.id);
    sql_cell_copy(rows, r, 2, s.key, sizeof s.key);
    sql_cell_copy(rows, r, 3, s.spec_hash, sizeof s.spec_hash);
    sql_cell_copy(rows, r, 4, s.state, sizeof s.state);
    s.reason = sql_cell_dup(rows, r, 5);
    s.n_workers = (uint64_t)sql_cell_int(rows, r, 6);
    s.n_shards = (uint64_t)sql_cell_int(rows, r, 7);
    s.n_rounds = (uint64_t)sql_cell_int(rows, r, 8);
    s.created_ms = sql_cell_int(rows, r, 9);
    s.started_ms = sql_cell_int(rows, r, 10);
    s.finished_ms = sql_cell_int(rows, r, 11);
    int64_t rounds = sql_cell_int(rows, r, 12), tokens = sql_cell_int(rows, r, 13);
    s.figures = (store_figures_t){
        .rounds = rounds > 0 ? (uint64_t)rounds : 0,
        .tokens = tokens > 0 ? (uint64_t)tokens : 0,
        .loss = sql_cell_float(rows, r, 14),
        .validation_loss = sql_cell_float(rows, r, 15),
        .tokens_per_s = sql_cell_float(rows, r, 16),
        .checkpoint = sql_cell(rows, r, 17) ? sql_cell_dup(rows, r, 17) : NULL,
    };
    return s;
}

int store_submission_list(store_t *self, store_submissions_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT s.id, s.number, s.key, s.spec_hash, s.state, s.reason, "
                        "s.n_workers, s.n_shards, s.n_rounds, s.created_ms, s.started_ms, "
                        "s.finished_ms, r.rounds, r.tokens, r.loss, r.validation_loss, "
                        "(SELECT p.tokens_per_second FROM pcp_speed p WHERE p.run = s.id "
                        "ORDER BY p.round DESC LIMIT 1), r.checkpoint "
                        "FROM submission s LEFT JOIN pcp_runs r ON r.run = s.id "
                        "WHERE s.number >= $1 ORDER BY s.number",
                        sql_int(0));
    if (n >= 0) {
        *out = (store_submissions_t){.n = (size_t)n, .at = mem_calloc((size_t)n, sizeof *out->at)};
        for (size_t i = 0; i < out->n; i++) out->at[i] = take(&rows, i);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

void store_submissions_fini(store_submissions_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        free(self->at[i].reason);
        free(self->at[i].figures.checkpoint);
    }
    free(self->at);
    *self = (store_submissions_t){0};
}
