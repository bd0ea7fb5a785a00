/* A submitted run leaves the records, in slices: a long run has more rows than one statement may
 * take the time for, and whoever leads must renew its term meanwhile. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/private.h"

enum { SLICE = 5000, OBJECTS = 4096, DELETED = 4096 };

/* Tables with many rows a run; those that others refer to come last. Others say ON DELETE CASCADE.
 * Events and samples stay: they are the metrics' history. */
#define SLICE_OF(table, run, key)                                                           \
    "DELETE FROM " table " WHERE " run " = $1 AND (" key ") IN (SELECT " key " FROM " table \
    " WHERE " run " = $1 ORDER BY " key " LIMIT $2)"
static const char *const slices[] = {
    SLICE_OF("ledger", "run_id", "epoch, first_window"),
    SLICE_OF("returned", "run_id", "epoch, first_window"),
    SLICE_OF("rejection", "run_id", "round, replica, fence, worker_id, reason"),
    SLICE_OF("checkpoint", "run_id", "round, hash"),
    SLICE_OF("lease", "run_id", "round, replica"),
    SLICE_OF("rewind", "run_id", "number"),
    SLICE_OF("replicas", "run_id", "round"),
    SLICE_OF("round", "run_id", "round"),
    SLICE_OF("leadership", "run_id", "run_id"),
    SLICE_OF("run", "id", "id"),
    SLICE_OF("submission", "id", "id"),
};

/* Marked, so that everybody sees why rounds are missing; 0: it is not in the table. */
static int mark(store_t *self, const char *id, err_t *err)
{
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE submission SET reason = 'being deleted' WHERE id = $1 AND state IN "
                        "('done', 'failed', 'cancelled')",
                        sql_text(id));
    if (n != 0) return n < 0 ? -1 : 1;
    sql_rows_t rows = {0};
    n = SQL_RUN(self->db, err, &rows, "SELECT id FROM submission WHERE id = $1", sql_text(id));
    sql_rows_fini(&rows);
    if (n <= 0) return (int)n;
    return err_set(err, ERR_STATE, "store: run %s is not over: cancel it first", id);
}

static int delete_slice(store_t *self, const char *id, bool *done, err_t *err)
{
    int64_t left = SLICE;
    int there = mark(self, id, err);
    for (size_t i = 0; there > 0 && left > 0 && i < sizeof slices / sizeof *slices; i++) {
        int64_t n = SQL_RUN(self->db, err, NULL, slices[i], sql_text(id), sql_int(left));
        if (n < 0) return -1;
        left -= n;
    }
    *done = left > 0;
    return there < 0 ? -1 : 0;
}

int store_submission_delete(store_t *self, const store_leader_t *front, const char *id, bool *done,
                            err_t *err)
{
    bool all = false;
    if (store_check_id("run id", id, err) < 0 || store_front_begin(self, front, err) < 0) return -1;
    if (sql_end(self->db, delete_slice(self, id, &all, err), err) < 0) return -1;
    *done = all;
    return 0;
}

int store_submission_objects(store_t *self, const char *id, store_hashes_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    if (store_check_id("run id", id, err) < 0) return -1;
    int64_t n = SQL_RUN(
        self->db, err, &rows,
        "SELECT u.hash FROM ("
        "SELECT module_hash AS hash FROM run WHERE id = $1 "
        "UNION SELECT train_hash FROM run WHERE id = $1 "
        "UNION SELECT validation_hash FROM run WHERE id = $1 "
        "UNION SELECT tokenizer_hash FROM run WHERE id = $1 "
        "UNION SELECT state_in FROM lease WHERE run_id = $1 AND round >= "
        "(SELECT max(round) - 1 FROM round WHERE run_id = $1) "
        "UNION SELECT state_out FROM lease WHERE run_id = $1 AND round >= "
        "(SELECT max(round) - 1 FROM round WHERE run_id = $1)) u "
        "WHERE u.hash <> '' AND NOT EXISTS (SELECT 1 FROM run o WHERE o.id <> $1 AND "
        "((o.state IN ('pending', 'running') AND o.module_hash IS NULL) OR "
        "(o.state NOT IN ('done', 'cancelled') AND "
        "(o.module_hash = u.hash OR o.train_hash = u.hash OR o.validation_hash = u.hash OR "
        "o.tokenizer_hash = u.hash)))) "
        "LIMIT $2",
        sql_text(id), sql_int(OBJECTS));
    if (n >= 0) {
        *out = (store_hashes_t){.n = (size_t)n, .at = mem_calloc((size_t)n + 1, sizeof *out->at)};
        for (size_t i = 0; i < out->n; i++) sql_cell_copy(&rows, i, 0, out->at[i], HASH_HEX);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

/* The trail has a row of each, which is never taken out. */
int store_submissions_deleted(store_t *self, store_ids_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT object FROM trail WHERE action = 'delete' GROUP BY object "
                        "ORDER BY max(seq) DESC LIMIT $1",
                        sql_int(DELETED));
    if (n >= 0) {
        *out = (store_ids_t){.n = (size_t)n, .at = mem_calloc((size_t)n + 1, sizeof *out->at)};
        for (size_t i = 0; i < out->n; i++) sql_cell_copy(&rows, i, 0, out->at[i], STORE_ID);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

void store_ids_fini(store_ids_t *self)
{
    free(self->at);
    *self = (store_ids_t){0};
}

void store_hashes_fini(store_hashes_t *self)
{
    free(self->at);
    *self = (store_hashes_t){0};
}
