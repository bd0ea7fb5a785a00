/* Workers and other members, as the cluster last saw them. */
#include <stdlib.h>

#include "store/private.h"

#define WORKER_STATES "joining idle busy draining lost gone"

int store_worker_join(store_t *self, const store_worker_t *w, err_t *err)
{
    if (store_check_id("worker", w->id, err) < 0 ||
        store_check_id("worker's kind", w->kind, err) < 0 ||
        store_check_word("state of a worker", w->state, WORKER_STATES, err) < 0)
        return -1;
    const char *fresh = w->capabilities ? w->capabilities : "{}";
    return SQL_RUN(
               self->db, err, NULL,
               "INSERT INTO worker (id, kind, state, supervisor, host, device, target, "
               "capabilities, reason, run_id, incarnation, first_ms, seen_ms) "
               "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now_ms(), now_ms()) "
               "ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, state = excluded.state, "
               "supervisor = excluded.supervisor, host = excluded.host, device = excluded.device, "
               "target = excluded.target, capabilities = excluded.capabilities, "
               "reason = excluded.reason, run_id = excluded.run_id, seen_ms = excluded.seen_ms, "
               "incarnation = excluded.incarnation, n_starts = worker.n_starts + CASE WHEN "
               "excluded.incarnation <> '' AND excluded.incarnation = worker.incarnation "
               "THEN 0 ELSE 1 END",
               sql_text(w->id), sql_text(w->kind), sql_text(w->state), sql_text(w->supervisor),
               sql_text(w->host), sql_text(w->device), sql_text(w->target), sql_text(fresh),
               sql_text(w->reason ? w->reason : ""), sql_text(*w->run ? w->run : NULL),
               sql_text(w->incarnation)) < 0
               ? -1
               : 0;
}

int store_worker_move(store_t *self, const char *id, const char *state, const char *run,
                      const char *reason, err_t *err)
{
    if (store_check_id("worker", id, err) < 0 ||
        store_check_word("state of a worker", state, WORKER_STATES, err) < 0)
        return -1;
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "UPDATE worker SET state = $2, run_id = $3, reason = $4, seen_ms = now_ms() "
        "WHERE id = $1",
        sql_text(id), sql_text(state), sql_text(run), sql_text(reason ? reason : ""));
    if (n == 0) return err_set(err, ERR_STATE, "store: there is no worker \"%s\"", id);
    return n < 0 ? -1 : 0;
}

/* One that has gone to another run meanwhile is no business of this one. */
int store_worker_leave(store_t *self, const store_leader_t *leader, const char *id,
                       const char *state, const char *reason, err_t *err)
{
    if (store_check_id("worker", id, err) < 0 ||
        store_check_word("state of a worker", state, WORKER_STATES, err) < 0 ||
        store_leader_begin(self, leader, err) < 0)
        return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE worker SET state = $2, run_id = NULL, reason = $3, "
                        "seen_ms = now_ms() WHERE id = $1 AND run_id = $4",
                        sql_text(id), sql_text(state), sql_text(reason), sql_text(leader->run));
    return sql_end(self->db, n < 0 ? -1 : 0, err);
}

int store_workers_leave(store_t *self, const char *run, const char *state, const char *reason,
                        err_t *err)
{
    return SQL_RUN(self->db, err, NULL,
                   "UPDATE worker SET state = $2, run_id = NULL, reason = $3, seen_ms = now_ms() "
                   "WHERE run_id = $1",
                   sql_text(run), sql_text(state), sql_text(reason)) < 0
               ? -1
               : 0;
}

static void take_worker(const sql_rows_t *rows, size_t r, store_worker_t *w)
{
    sql_cell_copy(rows, r, 0, w->id, sizeof w->id);
    sql_cell_copy(rows, r, 1, w->kind, sizeof w->kind);
    sql_cell_copy(rows, r, 2, w->state, sizeof w->state);
    sql_cell_copy(rows, r, 3, w->supervisor, sizeof w->supervisor);
    sql_cell_copy(rows, r, 4, w->host, sizeof w->host);
    sql_cell_copy(rows, r, 5, w->device, sizeof w->device);
    sql_cell_copy(rows, r, 6, w->target, sizeof w->target);
    sql_cell_copy(rows, r, 7, w->run, sizeof w->run);
    w->capabilities = sql_cell_dup(rows, r, 8);
    w->reason = sql_cell_dup(rows, r, 9);
    w->n_starts = sql_cell_int(rows, r, 10);
    w->first_ms = sql_cell_int(rows, r, 11);
    w->seen_ms = sql_cell_int(rows, r, 12);
}

int store_worker_list(store_t *self, const char *kind, size_t limit, store_workers_t *out,
                      err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT id, kind, state, supervisor, host, device, target, run_id, "
                        "capabilities, reason, n_starts, first_ms, seen_ms FROM worker "
                        "WHERE $1 = '' OR kind = $1 ORDER BY id LIMIT $2",
                        sql_text(kind ? kind : ""), sql_count(limit));
    if (n >= 0)
        *out = (store_workers_t){.n = (size_t)n, .at = mem_calloc((size_t)n, sizeof *out->at)};
    for (size_t i = 0; i < rows.n_row; i++) take_worker(&rows, i, &out->at[i]);
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

void store_workers_fini(store_workers_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        free(self->at[i].capabilities);
        free(self->at[i].reason);
    }
    free(self->at);
    *self = (store_workers_t){0};
}
