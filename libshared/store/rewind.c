/* Back to a checkpoint: what the store knows of later rounds is void. */
#include <inttypes.h>
#include <stdlib.h>

#include "store/pieces.h"
#include "store/private.h"

/* Tables with a row per round, children before parents. */
static const char *const voids[] = {
    "DELETE FROM ledger WHERE run_id = $1 AND round >= $2",
    "DELETE FROM checkpoint WHERE run_id = $1 AND round >= $2",
    "DELETE FROM text_sample WHERE run_id = $1 AND round >= $2",
    "DELETE FROM rejection WHERE run_id = $1 AND round >= $2",
    "DELETE FROM lease WHERE run_id = $1 AND round >= $2",
    "DELETE FROM round WHERE run_id = $1 AND round >= $2",
};

static int run_data(store_t *self, const char *run, uint64_t *n_windows, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows, "SELECT n_windows FROM run WHERE id = $1",
                        sql_text(run));
    int rc = n < 0 ? -1 : 0;
    if (rc == 0 && (n == 0 || !sql_cell(&rows, 0, 0)))
        rc = err_set(err, ERR_STATE, "store: run %s does not know its data yet (store_run_data)",
                     run);
    if (rc == 0) *n_windows = (uint64_t)sql_cell_int(&rows, 0, 0);
    sql_rows_fini(&rows);
    return rc;
}

/* The part of one epoch below `end` that is not returned counts as trained, in one round. */
static int fill_epoch(store_t *self, const char *run, const store_rewind_t *to,
                      const pieces_t *returned, uint64_t epoch, uint64_t end, err_t *err)
{
    uint64_t at = 0;
    while (at < end) {
        uint64_t next = end, behind = end;
        for (size_t i = 0; i < returned->n; i++) {
            const data_range_t *r = &returned->at[i];
            if (r->epoch != epoch || r->start < at || r->start >= next) continue;
            next = r->start;
            behind = r->start + r->count;
        }
        if (next > at &&
            SQL_RUN(self->db, err, NULL,
                    "INSERT INTO ledger (run_id, epoch, first_window, n_windows, round, replica, "
                    "fence, worker_id) VALUES ($1, $2, $3, $4, $5, 0, 0, 'checkpoint')",
                    sql_text(run), sql_int((int64_t)epoch), sql_int((int64_t)at),
                    sql_int((int64_t)(next - at)), sql_int((int64_t)to->round - 1)) < 0)
            return -1;
        at = behind;
    }
    return 0;
}

/* One row stands for all the rounds that the store has not seen. */
static int stand_in(store_t *self, const store_leader_t *leader, const store_rewind_t *to,
                    const pieces_t *returned, uint64_t n_windows, err_t *err)
{
    if (SQL_RUN(self->db, err, NULL,
                "INSERT INTO round (run_id, round, state, leader_fence, cursor_epoch, "
                "cursor_window, opened_ms, committed_ms, n_tokens) VALUES ($1, $2, 'committed', "
                "$3, $4, $5, now_ms(), now_ms(), $6)",
                sql_text(leader->run), sql_int((int64_t)to->round - 1), sql_int(leader->fence),
                sql_int((int64_t)to->cursor.epoch), sql_int((int64_t)to->cursor.start),
                sql_int((int64_t)to->tokens)) < 0)
        return -1;
    for (uint64_t e = 0; e <= to->cursor.epoch; e++)
        if (fill_epoch(self, leader->run, to, returned, e,
                       e < to->cursor.epoch ? n_windows : to->cursor.start, err) < 0)
            return -1;
    return 0;
}

static int forget(store_t *self, const store_leader_t *leader, uint64_t round, err_t *err)
{
    for (size_t i = 0; i < sizeof voids / sizeof *voids; i++)
        if (SQL_RUN(self->db, err, NULL, voids[i], sql_text(leader->run), sql_int((int64_t)round)) <
            0)
            return -1;
    /* The parameters that late leases went on from are gone; their windows are returned ones. */
    if (SQL_RUN(self->db, err, NULL, "UPDATE lease SET late = 0 WHERE run_id = $1 AND late > 0",
                sql_text(leader->run)) < 0)
        return -1;
    return SQL_RUN(self->db, err, NULL, "DELETE FROM returned WHERE run_id = $1",
                   sql_text(leader->run)) < 0
               ? -1
               : 0;
}

/* Is the round before committed here? 1: yes, or there is none. */
static int has_base(store_t *self, const char *run, uint64_t round, err_t *err)
{
    if (round == 0) return 1;
    return (int)SQL_RUN(self->db, err, NULL,
                        "SELECT round FROM round WHERE run_id = $1 AND round = $2 AND state = "
                        "'committed'",
                        sql_text(run), sql_int((int64_t)round - 1));
}

static int rewind_run(store_t *self, const store_leader_t *leader, const store_rewind_t *to,
                      err_t *err)
{
    uint64_t n_windows = 0, before = to->round ? to->round - 1 : 0;
    pieces_t returned = {0};
    int base = has_base(self, leader->run, to->round, err);
    int rc = base < 0 ? -1 : run_data(self, leader->run, &n_windows, err);
    /* A store that lacks rounds before is of no use. */
    if (rc == 0) rc = forget(self, leader, base ? to->round : 0, err);
    for (size_t i = 0; rc == 0 && i < to->n_returned; i++)
        rc = pieces_add(&returned, &to->returned[i], n_windows, err);
    for (size_t i = 0; rc == 0 && i < returned.n; i++)
        rc = returned_add(self, leader->run, before, &returned.at[i], err);
    if (rc == 0 && base == 0) rc = stand_in(self, leader, to, &returned, n_windows, err);
    if (rc == 0 && SQL_RUN(self->db, err, NULL,
                           "UPDATE rewind SET done_ms = now_ms(), leader_fence = $2 "
                           "WHERE run_id = $1 AND done_ms IS NULL",
                           sql_text(leader->run), sql_int(leader->fence)) < 0)
        rc = -1;
    VEC_FREE(&returned);
    return rc;
}

int store_run_rewind(store_t *self, const store_leader_t *leader, const store_rewind_t *to,
                     err_t *err)
{
    if (to->round > INT64_MAX / 4 || to->tokens > INT64_MAX || to->cursor.epoch > 1000000 ||
        to->cursor.start > INT64_MAX / 4)
        return err_set(err, ERR_ARG, "store: run %s: no checkpoint is of round %" PRIu64,
                       leader->run, to->round);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    return sql_end(self->db, rewind_run(self, leader, to, err), err);
}

static int begin_rewind(store_t *self, const store_leader_t *leader, const store_rewinding_t *what,
                        err_t *err)
{
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE rewind SET to_round = $2, checkpoint = $3, leader_fence = $4 "
                        "WHERE run_id = $1 AND done_ms IS NULL",
                        sql_text(leader->run), sql_int((int64_t)what->to),
                        sql_text(what->checkpoint), sql_int(leader->fence));
    if (n != 0) return n < 0 ? -1 : 0;
    n = SQL_RUN(self->db, err, NULL,
                "INSERT INTO rewind (run_id, number, from_round, to_round, checkpoint, reason, "
                "leader_fence, begun_ms) VALUES ($1, (SELECT coalesce(max(number), 0) + 1 FROM "
                "rewind WHERE run_id = $1), $2, $3, $4, $5, $6, now_ms())",
                sql_text(leader->run), sql_int((int64_t)what->from), sql_int((int64_t)what->to),
                sql_text(what->checkpoint), sql_text(what->reason), sql_int(leader->fence));
    return n < 0 ? -1 : 0;
}

int store_rewind_begin(store_t *self, const store_leader_t *leader, const store_rewinding_t *what,
                       err_t *err)
{
    if (what->from > INT64_MAX / 4 || what->to > INT64_MAX / 4)
        return err_set(err, ERR_ARG,
                       "store: run %s: no step back from round %" PRIu64 " to %" PRIu64,
                       leader->run, what->from, what->to);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    return sql_end(self->db, begin_rewind(self, leader, what, err), err);
}
