/* What the store knows of a run that another leader has begun. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/private.h"

int store_run_objects(store_t *self, const store_leader_t *leader, const store_objects_t *o,
                      err_t *err)
{
    if (store_check_id("module's hash", o->module_hash, err) < 0 ||
        store_check_id("tokens' hash", o->train_hash, err) < 0)
        return -1;
    if (o->train_tokens > INT64_MAX || o->validation_tokens > INT64_MAX)
        return err_set(err, ERR_ARG, "store: run %s: too many tokens", leader->run);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "UPDATE run SET module_hash = $2, train_hash = $3, validation_hash = $4, train_tokens = "
        "$5, "
        "validation_tokens = $6, tokenizer_hash = $7 WHERE id = $1 AND (module_hash IS NULL OR "
        "(module_hash = $2 AND "
        "train_hash = $3 AND validation_hash = $4))",
        sql_text(leader->run), sql_text(o->module_hash), sql_text(o->train_hash),
        sql_text(o->validation_hash), sql_int((int64_t)o->train_tokens),
        sql_int((int64_t)o->validation_tokens), sql_text(o->tokenizer_hash));
    int rc = n < 0 ? -1 : 0;
    if (n == 0)
        rc = err_set(err, ERR_STATE,
                     "store: run %s began with another model or other tokens: its files have "
                     "changed",
                     leader->run);
    return sql_end(self->db, rc, err);
}

/* More than any run keeps. */
enum { CHECKPOINTS = 4096 };

static int read_run(store_t *self, const char *run, store_resume_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(
        self->db, err, &rows,
        "SELECT module_hash, train_hash, validation_hash, train_tokens, "
        "validation_tokens, n_windows, (SELECT CAST(coalesce(sum(n_tokens), 0) AS "
        "bigint) FROM round WHERE run_id = $1 AND state = 'committed'), tokenizer_hash, "
        "(SELECT coalesce(max(round) + 1, 0) FROM text_sample WHERE run_id = $1) "
        "FROM run WHERE id = $1",
        sql_text(run));
    if (n > 0) {
        store_objects_t *o = &out->objects;
        out->has_objects = sql_cell(&rows, 0, 0) != NULL;
        sql_cell_copy(&rows, 0, 0, o->module_hash, sizeof o->module_hash);
        sql_cell_copy(&rows, 0, 1, o->train_hash, sizeof o->train_hash);
        sql_cell_copy(&rows, 0, 2, o->validation_hash, sizeof o->validation_hash);
        if (out->has_objects) {
            o->train_tokens = (uint64_t)sql_cell_int(&rows, 0, 3);
            o->validation_tokens = (uint64_t)sql_cell_int(&rows, 0, 4);
        }
        out->n_windows = sql_cell(&rows, 0, 5) ? (uint64_t)sql_cell_int(&rows, 0, 5) : 0;
        out->tokens = (uint64_t)sql_cell_int(&rows, 0, 6);
        sql_cell_copy(&rows, 0, 7, o->tokenizer_hash, sizeof o->tokenizer_hash);
        out->written = (uint64_t)sql_cell_int(&rows, 0, 8);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

static int read_losses(store_t *self, const char *run, store_resume_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT loss, validation_loss FROM round WHERE run_id = $1 AND "
                        "state = 'committed' ORDER BY round DESC LIMIT 1",
                        sql_text(run));
    out->loss = out->validation_loss = NAN;
    if (n > 0) {
        out->loss = sql_cell_float(&rows, 0, 0);
        out->validation_loss = sql_cell_float(&rows, 0, 1);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

/* Newest first, so that the limit drops the oldest; turned round on the way. */
static int read_updates(store_t *self, const char *run, store_updates_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT round, replica, state, worker_id, n_steps, norm2, "
                        "compute_seconds, received_bytes, sent_bytes, download_ms, upload_ms "
                        "FROM lease WHERE run_id = $1 AND ((n_steps IS NOT NULL AND "
                        "state IN ('done', 'committed')) OR (state = 'dropped' AND late = 0 AND "
                        "worker_id <> '')) ORDER BY round DESC, (state = 'dropped') DESC, "
                        "replica DESC LIMIT $2",
                        sql_text(run), sql_int(STORE_UPDATES));
    if (n >= 0)
        *out = (store_updates_t){.n = (size_t)n, .at = mem_calloc((size_t)n, sizeof *out->at)};
    for (size_t i = 0; i < rows.n_row; i++) {
        store_update_t *u = &out->at[rows.n_row - 1 - i];
        u->round = (uint64_t)sql_cell_int(&rows, i, 0);
        u->replica = (uint32_t)sql_cell_int(&rows, i, 1);
        u->committed = strcmp(sql_cell(&rows, i, 2), "committed") == 0;
        sql_cell_copy(&rows, i, 3, u->worker, sizeof u->worker);
        u->dropped = strcmp(sql_cell(&rows, i, 2), "dropped") == 0;
        u->steps = sql_cell(&rows, i, 4) ? (uint32_t)sql_cell_int(&rows, i, 4) : 0;
        u->norm2 = sql_cell_float(&rows, i, 5);
        u->compute_s = sql_cell_float(&rows, i, 6);
        u->received_bytes = sql_cell_int(&rows, i, 7);
        u->sent_bytes = sql_cell_int(&rows, i, 8);
        u->download_ms = sql_cell_int(&rows, i, 9);
        u->upload_ms = sql_cell_int(&rows, i, 10);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

static int read_rewind(store_t *self, const char *run, store_resume_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT reason, from_round FROM rewind WHERE run_id = $1 AND done_ms IS "
                        "NULL",
                        sql_text(run));
    if (n > 0) {
        out->rewind = sql_cell_dup(&rows, 0, 0);
        out->rewind_from = (uint64_t)sql_cell_int(&rows, 0, 1);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

/* Rounds that were open before a step back have been decided on, too. */
static int read_replicas(store_t *self, const char *run, store_resume_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT round, n FROM replicas WHERE run_id = $1 ORDER BY round",
                        sql_text(run));
    if (n > 0) out->sizes = mem_calloc((size_t)n, sizeof *out->sizes);
    for (size_t i = 0; i < rows.n_row; i++)
        out->sizes[out->n_size++] = (store_replicas_t){(uint64_t)sql_cell_int(&rows, i, 0),
                                                       (uint32_t)sql_cell_int(&rows, i, 1)};
    sql_rows_fini(&rows);
    if (n < 0) return -1;
    if (n > 0) out->sized = out->sizes[n - 1].round + 1;
    n = SQL_RUN(self->db, err, &rows,
                "SELECT coalesce(max(from_round), -1) FROM rewind WHERE run_id = $1",
                sql_text(run));
    uint64_t from = n > 0 ? (uint64_t)(sql_cell_int(&rows, 0, 0) + 1) : 0;
    sql_rows_fini(&rows);
    if (from > out->sized) out->sized = from;
    if (out->has_round && out->round.round + 1 > out->sized) out->sized = out->round.round + 1;
    return n < 0 ? -1 : 0;
}

static int read_all(store_t *self, const char *run, store_resume_t *out, err_t *err)
{
    if (read_run(self, run, out, err) < 0 || read_losses(self, run, out, err) < 0 ||
        store_round_latest(self, run, &out->round, &out->has_round, err) < 0)
        return -1;
    if (out->has_round && store_lease_list(self, run, out->round.round, &out->leases, err) < 0)
        return -1;
    if (read_updates(self, run, &out->updates, err) < 0 || read_rewind(self, run, out, err) < 0 ||
        read_replicas(self, run, out, err) < 0 ||
        store_checkpoint_list(self, run, "good", CHECKPOINTS, &out->good, err) < 0)
        return -1;
    return store_returned_list(self, run, &out->returned, err);
}

int store_resume(store_t *self, const store_leader_t *leader, store_resume_t *out, err_t *err)
{
    store_resume_t read = {0};
    if (store_leader_begin(self, leader, err) < 0) return -1;
    /* They say HELLO to the new leader. */
    int rc = store_workers_leave(self, leader->run, "lost", "not back at the new leader yet", err);
    if (rc < 0) return sql_end(self->db, rc, err);
    if (sql_end(self->db, read_all(self, leader->run, &read, err), err) < 0) {
        store_resume_fini(&read);
        return -1;
    }
    *out = read;
    return 0;
}

void store_resume_fini(store_resume_t *self)
{
    store_round_fini(&self->round);
    store_leases_fini(&self->leases);
    store_ranges_fini(&self->returned);
    free(self->updates.at);
    self->updates = (store_updates_t){0};
    free(self->rewind);
    self->rewind = NULL;
    free(self->sizes);
    self->sizes = NULL;
    self->n_size = 0;
    store_checkpoints_fini(&self->good);
}
