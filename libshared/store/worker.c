/* Workers and other members, as the cluster last saw them. */
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
               "capabilities, reason, run_id, incarnation, memory_bytes, first_ms, seen_ms) "
               "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now_ms(), now_ms()) "
               "ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, state = excluded.state, "
               "supervisor = excluded.supervisor, host = excluded.host, device = excluded.device, "
               "target = excluded.target, capabilities = excluded.capabilities, "
               "reason = excluded.reason, run_id = excluded.run_id, seen_ms = excluded.seen_ms, "
               "incarnation = excluded.incarnation, memory_bytes = excluded.memory_bytes, n_starts "
               "= worker.n_starts + CASE WHEN "
               "excluded.incarnation <> '' AND excluded.incarnation = worker.incarnation "
               "THEN 0 ELSE 1 END",
               sql_text(w->id), sql_text(w->kind), sql_text(w->state), sql_text(w->supervisor),
               sql_text(w->host), sql_text(w->device), sql_text(w->target), sql_text(fresh),
               sql_text(w->reason ? w->reason : ""), sql_text(*w->run ? w->run : NULL),
               sql_text(w->incarnation),
               sql_maybe_int(w->memory_bytes > 0 ? w->memory_bytes : -1)) < 0
               ? -1
               : 0;
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
