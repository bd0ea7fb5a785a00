/* Ranges in pieces; the ledger's and the returned ranges' rows. */
#include "store/pieces.h"

#include <inttypes.h>
#include <stdlib.h>

int pieces_add(pieces_t *self, const data_range_t *range, uint64_t n_windows, err_t *err)
{
    if (range->start >= n_windows || range->count / n_windows > 1000000)
        return err_set(err, ERR_ARG,
                       "store: a range of %" PRIu64 " windows from %" PRIu64
                       " does not fit epochs of %" PRIu64 " windows",
                       range->count, range->start, n_windows);
    data_range_t rest = *range;
    while (rest.count > 0) {
        data_range_t piece = rest;
        if (piece.count > n_windows - piece.start) piece.count = n_windows - piece.start;
        VEC_PUSH(self, piece);
        rest = (data_range_t){
            .epoch = rest.epoch + 1, .start = 0, .count = rest.count - piece.count};
    }
    return 0;
}

static bool overlap(const data_range_t *a, const data_range_t *b)
{
    return a->epoch == b->epoch && a->start < b->start + b->count && b->start < a->start + a->count;
}

bool pieces_overlap(const pieces_t *self, const data_range_t *piece)
{
    for (size_t i = 0; i < self->n; i++)
        if (overlap(&self->at[i], piece)) return true;
    return false;
}

int ledger_free(store_t *self, const char *run, const data_range_t *piece, err_t *err)
{
    /* Committed ranges do not overlap, so only the last one that begins before ours, and those that
     * begin inside ours, can touch it: both are found in the index. */
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT first_window, n_windows, round FROM ledger WHERE run_id = $1 AND "
                        "epoch = $2 AND first_window < $3 + $4 ORDER BY first_window DESC LIMIT 1",
                        sql_text(run), sql_int((int64_t)piece->epoch),
                        sql_int((int64_t)piece->start), sql_int((int64_t)piece->count));
    int rc = n < 0 ? -1 : 0;
    if (n > 0 && sql_cell_int(&rows, 0, 0) + sql_cell_int(&rows, 0, 1) > (int64_t)piece->start)
        rc = err_set(err, ERR_STATE,
                     "store: run %s, epoch %" PRIu64 ": windows %" PRIu64 " to %" PRIu64
                     " overlap the ledger, committed by round %s",
                     run, piece->epoch, piece->start, piece->start + piece->count - 1,
                     sql_cell(&rows, 0, 2));
    sql_rows_fini(&rows);
    return rc;
}

int returned_add(store_t *self, const char *run, uint64_t round, const data_range_t *piece,
                 err_t *err)
{
    return SQL_RUN(self->db, err, NULL,
                   "INSERT INTO returned (run_id, epoch, first_window, n_windows, round) "
                   "VALUES ($1, $2, $3, $4, $5)",
                   sql_text(run), sql_int((int64_t)piece->epoch), sql_int((int64_t)piece->start),
                   sql_int((int64_t)piece->count), sql_int((int64_t)round)) < 0
               ? -1
               : 0;
}

/* What of the returned range `old` lies outside `piece` goes back. */
static int put_back(store_t *self, const char *run, uint64_t round, const data_range_t *old,
                    const data_range_t *piece, err_t *err)
{
    uint64_t old_end = old->start + old->count, end = piece->start + piece->count;
    data_range_t left = *old, right = *old;
    if (old->start < piece->start) {
        left.count = piece->start - old->start;
        if (returned_add(self, run, round, &left, err) < 0) return -1;
    }
    if (old_end <= end) return 0;
    right.start = end;
    right.count = old_end - end;
    return returned_add(self, run, round, &right, err);
}

int returned_take(store_t *self, const char *run, uint64_t round, const data_range_t *piece,
                  err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "DELETE FROM returned WHERE run_id = $1 AND epoch = $2 AND "
                        "first_window < $3 + $4 AND first_window + n_windows > $3 "
                        "RETURNING first_window, n_windows",
                        sql_text(run), sql_int((int64_t)piece->epoch),
                        sql_int((int64_t)piece->start), sql_int((int64_t)piece->count));
    int rc = n < 0 ? -1 : 0;
    for (size_t i = 0; rc == 0 && i < rows.n_row; i++) {
        data_range_t old = {.epoch = piece->epoch,
                            .start = (uint64_t)sql_cell_int(&rows, i, 0),
                            .count = (uint64_t)sql_cell_int(&rows, i, 1)};
        rc = put_back(self, run, round, &old, piece, err);
    }
    sql_rows_fini(&rows);
    return rc;
}

int store_returned_list(store_t *self, const char *run, store_ranges_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT epoch, first_window, n_windows FROM returned WHERE run_id = $1 "
                        "ORDER BY epoch, first_window",
                        sql_text(run));
    if (n >= 0)
        *out = (store_ranges_t){.n = (size_t)n, .at = mem_calloc((size_t)n, sizeof *out->at)};
    for (size_t i = 0; i < rows.n_row; i++)
        out->at[i] = (data_range_t){.epoch = (uint64_t)sql_cell_int(&rows, i, 0),
                                    .start = (uint64_t)sql_cell_int(&rows, i, 1),
                                    .count = (uint64_t)sql_cell_int(&rows, i, 2)};
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

void store_ranges_fini(store_ranges_t *self)
{
    free(self->at);
    *self = (store_ranges_t){0};
}

int store_ledger_get(store_t *self, const char *run, uint64_t epoch, store_ledger_t *out,
                     err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT committed_windows, doubled_windows, missing_windows, exactly_once, "
                        "complete "
                        "FROM pcp_ledger WHERE run = $1 AND epoch = $2",
                        sql_text(run), sql_int((int64_t)epoch));
    if (n >= 0) *out = (store_ledger_t){0};
    if (n > 0)
        *out = (store_ledger_t){.committed_windows = (uint64_t)sql_cell_int(&rows, 0, 0),
                                .doubled_windows = (uint64_t)sql_cell_int(&rows, 0, 1),
                                .missing_windows = (uint64_t)sql_cell_int(&rows, 0, 2),
                                .exactly_once = sql_cell_int(&rows, 0, 3) == 1,
                                .complete = sql_cell_int(&rows, 0, 4) == 1};
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}
