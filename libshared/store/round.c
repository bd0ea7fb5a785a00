/* Rounds and leases while they are open. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/pieces.h"
#include "store/private.h"

static int check_leases(const store_leader_t *leader, uint64_t round, const data_range_t *cursor,
                        const store_lease_t *leases, size_t n, err_t *err)
{
    const uint64_t most = INT64_MAX / 4; /* so that ends of ranges do not overflow */
    if (round > most || cursor->epoch > most || cursor->start > most || n == 0)
        return err_set(err, ERR_ARG,
                       "store: run %s: round %" PRIu64 " has no leases, or its numbers "
                       "are out of range",
                       leader->run, round);
    for (size_t i = 0; i < n; i++) {
        const data_range_t *r = &leases[i].range;
        if (r->count == 0 || r->count > most || r->start > most || r->epoch > most)
            return err_set(err, ERR_ARG,
                           "store: run %s: the range of replica %" PRIu32
                           " is empty or out of range",
                           leader->run, leases[i].replica);
    }
    return 0;
}

static int no_round(const store_leader_t *leader, uint64_t round, err_t *err)
{
    return err_set(err, ERR_STATE, "store: run %s has no open round %" PRIu64, leader->run, round);
}

/* The run runs, its data is known, and round - 1 is committed. *n_windows: of an epoch. */
static int may_open(store_t *self, const char *run, uint64_t round, uint64_t *n_windows, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(
        self->db, err, &rows,
        "SELECT state, n_windows, (SELECT count(*) FROM round WHERE run_id = $1 AND "
        "round = $2 - 1 AND state = 'committed'), "
        "(SELECT count(*) FROM round WHERE run_id = $1 AND round > $2) "
        "FROM run WHERE id = $1",
        sql_text(run), sql_int((int64_t)round));
    int rc = n < 0 ? -1 : 0;
    if (n == 0) rc = err_set(err, ERR_STATE, "store: there is no run \"%s\"", run);
    if (n > 0 && strcmp(sql_cell(&rows, 0, 0), "running") != 0)
        rc = err_set(err, ERR_STATE, "store: run %s is %s: no round opens", run,
                     sql_cell(&rows, 0, 0));
    else if (n > 0 && !sql_cell(&rows, 0, 1))
        rc = err_set(err, ERR_STATE, "store: run %s does not know its data yet (store_run_data)",
                     run);
    else if (n > 0 &&
             ((round > 0 && sql_cell_int(&rows, 0, 2) != 1) || sql_cell_int(&rows, 0, 3) > 0))
        rc = err_set(err, ERR_STATE, "store: run %s: round %" PRIu64 " does not follow its rounds",
                     run, round);
    if (rc == 0) *n_windows = (uint64_t)sql_cell_int(&rows, 0, 1);
    sql_rows_fini(&rows);
    return rc;
}

static const store_lease_t *find_lease(const store_leases_t *leases, uint32_t replica)
{
    for (size_t i = 0; i < leases->n; i++)
        if (leases->at[i].replica == replica) return &leases->at[i];
    return NULL;
}

/* The round is there already: success if it has the same ranges. */
static int same_round(store_t *self, const store_leader_t *leader, uint64_t round,
                      const store_lease_t *leases, size_t n, err_t *err)
{
    store_leases_t old = {0};
    if (store_lease_list(self, leader->run, round, &old, err) < 0) return -1;
    bool same = old.n == n;
    for (size_t i = 0; same && i < n; i++) {
        const store_lease_t *o = find_lease(&old, leases[i].replica);
        const data_range_t *r = &leases[i].range;
        same = o && o->range.epoch == r->epoch && o->range.start == r->start &&
               o->range.count == r->count;
    }
    store_leases_fini(&old);
    if (same) return 0;
    return err_set(err, ERR_STATE, "store: run %s: round %" PRIu64 " was opened with other ranges",
                   leader->run, round);
}

/* A lease's row, its range free of the ledger and of the round's other leases. */
static int add_lease(store_t *self, const char *run, uint64_t round, uint64_t n_windows,
                     const store_lease_t *lease, pieces_t *taken, err_t *err)
{
    pieces_t mine = {0};
    int rc = pieces_add(&mine, &lease->range, n_windows, err);
    for (size_t i = 0; rc == 0 && i < mine.n; i++) {
        rc = pieces_overlap(taken, &mine.at[i])
                 ? err_set(err, ERR_STATE,
                           "store: run %s, round %" PRIu64 ": the range of replica %" PRIu32
                           " overlaps another replica's",
                           run, round, lease->replica)
                 : ledger_free(self, run, &mine.at[i], err);
        if (rc == 0) rc = returned_take(self, run, round, &mine.at[i], err);
        if (rc == 0) VEC_PUSH(taken, mine.at[i]);
    }
    if (rc == 0 &&
        SQL_RUN(
            self->db, err, NULL,
            "INSERT INTO lease (run_id, round, replica, fence, epoch, first_window, "
            "n_windows, state, state_in, lag) VALUES ($1, $2, $3, $4, $5, $6, $7, 'open', $8, $9)",
            sql_text(run), sql_int((int64_t)round), sql_int(lease->replica), sql_int(lease->fence),
            sql_int((int64_t)lease->range.epoch), sql_int((int64_t)lease->range.start),
            sql_int((int64_t)lease->range.count), sql_text(lease->state_in),
            sql_int(lease->lag)) < 0)
        rc = -1;
    VEC_FREE(&mine);
    return rc;
}

static int open_round(store_t *self, const store_leader_t *leader, uint64_t round,
                      const data_range_t *cursor, const store_lease_t *leases, size_t n, err_t *err)
{
    uint64_t n_windows = 0;
    int64_t there = SQL_RUN(self->db, err, NULL,
                            "SELECT round FROM round WHERE run_id = $1 AND round = $2",
                            sql_text(leader->run), sql_int((int64_t)round));
    if (there < 0) return -1;
    if (there > 0) return same_round(self, leader, round, leases, n, err);
    if (may_open(self, leader->run, round, &n_windows, err) < 0) return -1;
    if (SQL_RUN(
            self->db, err, NULL,
            "INSERT INTO round (run_id, round, state, leader_fence, cursor_epoch, cursor_window, "
            "opened_ms) VALUES ($1, $2, 'open', $3, $4, $5, now_ms())",
            sql_text(leader->run), sql_int((int64_t)round), sql_int(leader->fence),
            sql_int((int64_t)cursor->epoch), sql_int((int64_t)cursor->start)) < 0)
        return -1;
    pieces_t taken = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_lease(self, leader->run, round, n_windows, &leases[i], &taken, err);
    VEC_FREE(&taken);
    return rc;
}

int store_round_open(store_t *self, const store_leader_t *leader, uint64_t round,
                     const data_range_t *cursor, const store_lease_t *leases, size_t n, err_t *err)
{
    if (check_leases(leader, round, cursor, leases, n, err) < 0) return -1;
    if (store_leader_begin(self, leader, err) < 0) return -1;
    return sql_end(self->db, open_round(self, leader, round, cursor, leases, n, err), err);
}

int store_round_latest(store_t *self, const char *run, store_round_t *out, bool *found, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(
        self->db, err, &rows,
        "SELECT round, CASE WHEN state = 'open' AND decided_ms IS NOT NULL THEN "
        "'decided' ELSE state END, cursor_epoch, cursor_window, parameters_hash, loss, "
        "validation_loss, n_tokens, waits_for, now_ms() - opened_ms FROM round WHERE run_id = $1 "
        "ORDER BY round DESC LIMIT 1",
        sql_text(run));
    if (n >= 0) *found = n > 0;
    if (n > 0) {
        *out = (store_round_t){
            .round = (uint64_t)sql_cell_int(&rows, 0, 0),
            .cursor = {.epoch = (uint64_t)sql_cell_int(&rows, 0, 2),
                       .start = (uint64_t)sql_cell_int(&rows, 0, 3)},
            .loss = sql_cell_float(&rows, 0, 5),
            .validation_loss = sql_cell_float(&rows, 0, 6),
            .tokens = sql_cell(&rows, 0, 7) ? (uint64_t)sql_cell_int(&rows, 0, 7) : 0,
            .waits_for = sql_cell_dup(&rows, 0, 8),
            .age_ms = sql_cell_int(&rows, 0, 9),
        };
        sql_cell_copy(&rows, 0, 1, out->state, sizeof out->state);
        sql_cell_copy(&rows, 0, 4, out->parameters_hash, sizeof out->parameters_hash);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

void store_round_fini(store_round_t *self)
{
    free(self->waits_for);
    self->waits_for = NULL;
}

int store_round_waits(store_t *self, const store_leader_t *leader, uint64_t round, const char *what,
                      err_t *err)
{
    if (store_leader_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE round SET waits_for = $3 WHERE run_id = $1 AND round = $2",
                        sql_text(leader->run), sql_int((int64_t)round), sql_text(what));
    return sql_end(self->db, n < 0 ? -1 : n == 0 ? no_round(leader, round, err) : 0, err);
}

int store_round_validation(store_t *self, const store_leader_t *leader, uint64_t round, double loss,
                           err_t *err)
{
    if (store_leader_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE round SET validation_loss = $3 WHERE run_id = $1 AND round = $2",
                        sql_text(leader->run), sql_int((int64_t)round), sql_float(loss));
    return sql_end(self->db, n < 0 ? -1 : n == 0 ? no_round(leader, round, err) : 0, err);
}

int store_lease_list(store_t *self, const char *run, uint64_t round, store_leases_t *out,
                     err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT replica, fence, epoch, first_window, n_windows, state, worker_id, "
                        "done_windows, loss, n_tokens, decided_windows, state_in, state_out, "
                        "n_steps, norm2, compute_seconds, late, lag, now_ms() - issued_ms, target "
                        "FROM lease WHERE run_id = $1 AND round = $2 "
                        "ORDER BY replica",
                        sql_text(run), sql_int((int64_t)round));
    if (n >= 0)
        *out = (store_leases_t){.n = (size_t)n, .at = mem_calloc((size_t)n, sizeof *out->at)};
    for (size_t i = 0; i < rows.n_row; i++) {
        store_lease_t *l = &out->at[i];
        l->replica = (uint32_t)sql_cell_int(&rows, i, 0);
        l->fence = (uint32_t)sql_cell_int(&rows, i, 1);
        l->range.epoch = (uint64_t)sql_cell_int(&rows, i, 2);
        l->range.start = (uint64_t)sql_cell_int(&rows, i, 3);
        l->range.count = (uint64_t)sql_cell_int(&rows, i, 4);
        sql_cell_copy(&rows, i, 5, l->state, sizeof l->state);
        sql_cell_copy(&rows, i, 6, l->worker, sizeof l->worker);
        l->done_windows = (uint64_t)sql_cell_int(&rows, i, 7);
        l->loss = sql_cell_float(&rows, i, 8);
        l->tokens = sql_cell(&rows, i, 9) ? (uint64_t)sql_cell_int(&rows, i, 9) : 0;
        l->decided_windows = sql_cell_int(&rows, i, 10);
        sql_cell_copy(&rows, i, 11, l->state_in, sizeof l->state_in);
        sql_cell_copy(&rows, i, 12, l->state_out, sizeof l->state_out);
        l->steps = sql_cell(&rows, i, 13) ? (uint32_t)sql_cell_int(&rows, i, 13) : 0;
        l->norm2 = sql_cell_float(&rows, i, 14);
        l->compute_s = sql_cell_float(&rows, i, 15);
        l->late = sql_cell_int(&rows, i, 16) > 0;
        l->lag = (uint32_t)sql_cell_int(&rows, i, 17);
        l->issued_age_ms = sql_cell_int(&rows, i, 18);
        sql_cell_copy(&rows, i, 19, l->target, sizeof l->target);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

void store_leases_fini(store_leases_t *self)
{
    free(self->at);
    *self = (store_leases_t){0};
}

static int refused(const store_leader_t *leader, uint64_t round, uint32_t replica, uint32_t fence,
                   err_t *err)
{
    return err_set(err, ERR_STATE,
                   "store: run %s, round %" PRIu64 ", replica %" PRIu32
                   ": the lease is closed, or fence %" PRIu32 " is old",
                   leader->run, round, replica, fence);
}

int store_lease_issue(store_t *self, const store_leader_t *leader, uint64_t round, uint32_t replica,
                      uint32_t fence, const char *worker, const char *target, err_t *err)
{
    if (store_check_id("worker", worker, err) < 0 || store_leader_begin(self, leader, err) < 0)
        return -1;
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "UPDATE lease SET state = 'issued', fence = $4, worker_id = $5, target = $6, "
        "first_target = CASE WHEN first_target = '' THEN $6 ELSE first_target END, "
        "done_windows = 0, issued_ms = now_ms() WHERE run_id = $1 AND round = $2 AND "
        "replica = $3 AND state IN ('open', 'issued') AND "
        "(fence < $4 OR (fence = $4 AND state = 'issued' AND worker_id = $5))",
        sql_text(leader->run), sql_int((int64_t)round), sql_int(replica), sql_int(fence),
        sql_text(worker), sql_text(target));
    return sql_end(self->db,
                   n < 0    ? -1
                   : n == 0 ? refused(leader, round, replica, fence, err)
                            : 0,
                   err);
}

int store_lease_done(store_t *self, const store_leader_t *leader, const store_done_t *done,
                     err_t *err)
{
    if (done->windows > INT64_MAX || done->tokens > INT64_MAX)
        return err_set(err, ERR_ARG, "store: %" PRIu64 " windows, %" PRIu64 " tokens of one lease",
                       done->windows, done->tokens);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "UPDATE lease SET state = 'done', done_windows = $5, loss = $6, n_tokens = $7, "
        "state_out = $8, n_steps = $9, norm2 = $10, compute_seconds = $11, sent_bytes = $12, "
        "received_bytes = $13, download_ms = $14, upload_ms = $15, done_ms = now_ms() WHERE run_id "
        "= $1 AND round = $2 AND "
        "replica = $3 AND fence = $4 AND state IN ('issued', 'done')",
        sql_text(leader->run), sql_int((int64_t)done->round), sql_int(done->replica),
        sql_int(done->fence), sql_int((int64_t)done->windows), sql_float(done->loss),
        sql_int((int64_t)done->tokens), sql_text(done->state_out ? done->state_out : ""),
        sql_maybe_int(done->steps ? (int64_t)done->steps : -1), sql_float(done->norm2),
        sql_float(done->compute_s), sql_maybe_int(done->sent_bytes),
        sql_maybe_int(done->received_bytes), sql_maybe_int(done->download_ms),
        sql_maybe_int(done->upload_ms));
    return sql_end(self->db,
                   n < 0    ? -1
                   : n == 0 ? refused(leader, done->round, done->replica, done->fence, err)
                            : 0,
                   err);
}

int store_lease_reopen(store_t *self, const store_leader_t *leader, uint64_t round,
                       uint32_t replica, uint32_t fence, err_t *err)
{
    if (store_leader_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "UPDATE lease SET state = 'open', fence = $4, done_windows = 0, state_out = '' "
        "WHERE run_id = $1 AND round = $2 AND replica = $3 AND fence <= $4 AND "
        "state IN ('open', 'issued', 'done')",
        sql_text(leader->run), sql_int((int64_t)round), sql_int(replica), sql_int(fence));
    return sql_end(self->db,
                   n < 0    ? -1
                   : n == 0 ? refused(leader, round, replica, fence, err)
                            : 0,
                   err);
}
