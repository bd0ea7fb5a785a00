/* Leadership of a run: a lease in the database with a fence that grows. A fence is given once, to
 * one process: names are what processes call themselves, and two may call themselves the same, so
 * that no name takes a term that is not over. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/private.h"

static int check_ttl(int64_t ttl_ms, err_t *err)
{
    if (ttl_ms >= 1 && ttl_ms <= 3600000) return 0;
    return err_set(err, ERR_ARG, "store: a leader's term of %" PRId64 " ms is not in [1, 3600000]",
                   ttl_ms);
}

int64_t store_term_stale(const store_t *self, int64_t ttl_ms)
{
    bool stale = self->seen.since_ms && clock_mono_ms() - self->seen.since_ms > ttl_ms;
    return stale ? self->seen.expires_ms : -1;
}

void store_term_seen(store_t *self, const sql_rows_t *rows)
{
    int64_t expires_ms = sql_cell_int(rows, 0, 2);
    bool same = self->seen.since_ms && self->seen.expires_ms == expires_ms;
    if (sql_cell_int(rows, 0, 3) == 0)
        self->seen.since_ms = 0;
    else if (!same)
        self->seen = (store_seen_t){expires_ms, clock_mono_ms()};
}

int store_leader_acquire(store_t *self, const char *run, const char *holder, int64_t ttl_ms,
                         bool *won, store_leader_t *out, err_t *err)
{
    if (store_check_id("run", run, err) < 0 || store_check_id("leader's name", holder, err) < 0 ||
        check_ttl(ttl_ms, err) < 0)
        return -1;
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(
        self->db, err, &rows,
        "INSERT INTO leadership (run_id, holder, fence, expires_ms, guarded_ms) "
        "SELECT id, $2, 1, now_ms() + $3, now_ms() FROM run WHERE id = $1 "
        "ON CONFLICT (run_id) DO UPDATE SET holder = excluded.holder, fence = leadership.fence + "
        "1, "
        "expires_ms = excluded.expires_ms, guarded_ms = excluded.guarded_ms, written = 0 "
        "WHERE leadership.expires_ms <= now_ms() "
        "OR (leadership.guarded_ms > now_ms() AND leadership.expires_ms = $4) "
        "RETURNING holder, fence",
        sql_text(run), sql_text(holder), sql_int(ttl_ms), sql_int(store_term_stale(self, ttl_ms)));
    bool mine = n > 0;
    if (n == 0)
        n = SQL_RUN(
            self->db, err, &rows,
            "SELECT holder, fence, expires_ms, CASE WHEN guarded_ms > now_ms() THEN 1 ELSE 0 END "
            "FROM leadership WHERE run_id = $1",
            sql_text(run));
    if (n > 0 && !mine) store_term_seen(self, &rows);
    if (n == 0) n = err_set(err, ERR_STATE, "store: there is no run \"%s\"", run);
    if (n > 0) {
        *won = mine;
        snprintf(out->run, sizeof out->run, "%s", run);
        sql_cell_copy(&rows, 0, 0, out->holder, sizeof out->holder);
        out->fence = sql_cell_int(&rows, 0, 1);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

static int deposed(const store_leader_t *leader, err_t *err)
{
    return err_set(err, ERR_FENCE, "store: %s no longer leads run %s (fence %" PRId64 " is old)",
                   leader->holder, leader->run, leader->fence);
}

int store_leader_renew(store_t *self, const store_leader_t *leader, int64_t ttl_ms, err_t *err)
{
    if (check_ttl(ttl_ms, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE leadership SET expires_ms = now_ms() + $4, guarded_ms = now_ms() "
                        "WHERE run_id = $1 AND holder = $2 AND fence = $3",
                        sql_text(leader->run), sql_text(leader->holder), sql_int(leader->fence),
                        sql_int(ttl_ms));
    return n < 0 ? -1 : n == 0 ? deposed(leader, err) : 0;
}

int store_leader_release(store_t *self, const store_leader_t *leader, err_t *err)
{
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE leadership SET expires_ms = 0 "
                        "WHERE run_id = $1 AND holder = $2 AND fence = $3",
                        sql_text(leader->run), sql_text(leader->holder), sql_int(leader->fence));
    return n < 0 ? -1 : 0;
}

int store_leader_begin(store_t *self, const store_leader_t *leader, err_t *err)
{
    if (sql_grouped(self->db)) return sql_begin(self->db, err); /* the group has looked */
    if (sql_begin(self->db, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE leadership SET guarded_ms = now_ms() "
                        "WHERE run_id = $1 AND holder = $2 AND fence = $3",
                        sql_text(leader->run), sql_text(leader->holder), sql_int(leader->fence));
    if (n > 0) return 0;
    sql_rollback(self->db);
    return n < 0 ? -1 : deposed(leader, err);
}

int store_group_begin(store_t *self, const store_leader_t *leader, int64_t number, bool *written,
                      err_t *err)
{
    if (store_leader_begin(self, leader, err) < 0) return -1;
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows, "SELECT written FROM leadership WHERE run_id = $1",
                        sql_text(leader->run));
    bool done = n > 0 && sql_cell_int(&rows, 0, 0) >= number;
    sql_rows_fini(&rows);
    if (n < 0 || done) {
        sql_rollback(self->db);
        if (n < 0) return -1;
    } else {
        sql_group_open(self->db);
    }
    *written = done;
    return 0;
}

int store_group_end(store_t *self, const store_leader_t *leader, int64_t number, int rc, err_t *err)
{
    if (rc >= 0 &&
        SQL_RUN(self->db, err, NULL, "UPDATE leadership SET written = $2 WHERE run_id = $1",
                sql_text(leader->run), sql_int(number)) < 0)
        rc = -1;
    return sql_group_end(self->db, rc, err);
}
