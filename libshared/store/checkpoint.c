/* Checkpoints: rows for files that are complete. */
#include <inttypes.h>
#include <stdlib.h>

#include "store/private.h"

#define CHECKPOINT_STATES "good bad pruned"

/* The manifest's round must be committed: rows never promise more than the ledger. */
static int add(store_t *self, const store_leader_t *leader, uint64_t round, const char *hash,
               const char *path, int64_t n_bytes, err_t *err)
{
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "SELECT round FROM round WHERE run_id = $1 AND round = $2 AND "
                        "state = 'committed'",
                        sql_text(leader->run), sql_int((int64_t)round));
    if (n == 0)
        return err_set(err, ERR_STATE,
                       "store: run %s: a checkpoint of round %" PRIu64 ", which is not committed",
                       leader->run, round);
    if (n > 0)
        n = SQL_RUN(
            self->db, err, NULL,
            "INSERT INTO checkpoint (run_id, round, hash, path, n_bytes, state, created_ms) "
            "VALUES ($1, $2, $3, $4, $5, 'good', now_ms()) ON CONFLICT DO NOTHING",
            sql_text(leader->run), sql_int((int64_t)round), sql_text(hash), sql_text(path),
            sql_int(n_bytes));
    return n < 0 ? -1 : 0;
}

int store_checkpoint_add(store_t *self, const store_leader_t *leader, uint64_t round,
                         const char *manifest_hash, const char *path, int64_t n_bytes, err_t *err)
{
    if (store_check_id("manifest's hash", manifest_hash, err) < 0) return -1;
    if (round > INT64_MAX || n_bytes < 0 || !path || !*path)
        return err_set(err, ERR_ARG, "store: checkpoint %s has no path, size or round",
                       manifest_hash);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    return sql_end(self->db, add(self, leader, round, manifest_hash, path, n_bytes, err), err);
}

int store_checkpoint_mark(store_t *self, const char *run, const char *manifest_hash,
                          const char *state, const char *reason, err_t *err)
{
    if (store_check_word("state of a checkpoint", state, CHECKPOINT_STATES, err) < 0) return -1;
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "UPDATE checkpoint SET state = $3, reason = $4 WHERE run_id = $1 AND hash = $2",
        sql_text(run), sql_text(manifest_hash), sql_text(state), sql_text(reason ? reason : ""));
    if (n == 0)
        return err_set(err, ERR_STATE, "store: run %s has no checkpoint %s", run, manifest_hash);
    return n < 0 ? -1 : 0;
}

int store_checkpoint_list(store_t *self, const char *run, const char *state, size_t limit,
                          store_checkpoints_t *out, err_t *err)
{
    if (state && store_check_word("state of a checkpoint", state, CHECKPOINT_STATES, err) < 0)
        return -1;
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(
        self->db, err, &rows,
        "SELECT round, hash, path, n_bytes, created_ms, state, reason FROM checkpoint "
        "WHERE run_id = $1 AND ($2 = '' OR state = $2) "
        "ORDER BY round DESC, created_ms DESC LIMIT $3",
        sql_text(run), sql_text(state ? state : ""), sql_count(limit));
    if (n >= 0)
        *out = (store_checkpoints_t){.n = (size_t)n, .at = mem_calloc((size_t)n, sizeof *out->at)};
    for (size_t i = 0; i < rows.n_row; i++) {
        store_checkpoint_t *c = &out->at[i];
        c->round = (uint64_t)sql_cell_int(&rows, i, 0);
        sql_cell_copy(&rows, i, 1, c->hash, sizeof c->hash);
        c->path = sql_cell_dup(&rows, i, 2);
        c->n_bytes = sql_cell_int(&rows, i, 3);
        c->created_ms = sql_cell_int(&rows, i, 4);
        sql_cell_copy(&rows, i, 5, c->state, sizeof c->state);
        c->reason = sql_cell_dup(&rows, i, 6);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

void store_checkpoints_fini(store_checkpoints_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        free(self->at[i].path);
        free(self->at[i].reason);
    }
    free(self->at);
    *self = (store_checkpoints_t){0};
}
