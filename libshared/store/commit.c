/* Closing a round: its row, its leases, the ledger and the returned ranges in one transaction,
 * under the leader's fence. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/pieces.h"
#include "store/private.h"

static int by_replica(const void *a, const void *b)
{
    const store_commit_entry_t *x = a, *y = b;
    return x->replica < y->replica ? -1 : x->replica > y->replica;
}

/* What makes two commits the same: which leases count, under which fence, how far. */
static int commit_hash(const store_commit_t *commit, char hash[HASH_HEX], err_t *err)
{
    str_t text = {0};
    store_commit_entry_t *sorted = mem_calloc(commit->n_entry, sizeof *sorted);
    if (commit->n_entry) memcpy(sorted, commit->entries, commit->n_entry * sizeof *sorted);
    qsort(sorted, commit->n_entry, sizeof *sorted, by_replica);
    str_addf(&text, "%" PRIu64, commit->round);
    int rc = 0;
    for (size_t i = 0; i < commit->n_entry; i++) {
        const store_commit_entry_t *e = &sorted[i];
        if (i > 0 && sorted[i - 1].replica == e->replica)
            rc = err_set(err, ERR_ARG, "store: round %" PRIu64 " commits replica %" PRIu32 " twice",
                         commit->round, e->replica);
        str_addf(&text, " %" PRIu32 ":%" PRIu32 ":%" PRIu64, e->replica, e->fence, e->done_windows);
    }
    hash_content(text.at, text.n, hash);
    str_fini(&text);
    free(sorted);
    return rc;
}

/* 1: committed already with these entries; 0: open, *n_windows is set. */
static int look(store_t *self, const char *run, const store_commit_t *commit, const char *hash,
                uint64_t *n_windows, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT o.state, o.commit_hash, r.n_windows FROM round o "
                        "JOIN run r ON r.id = o.run_id WHERE o.run_id = $1 AND o.round = $2",
                        sql_text(run), sql_int((int64_t)commit->round));
    int rc = n < 0 ? -1 : 0;
    if (n == 0)
        rc = err_set(err, ERR_STATE, "store: run %s has no round %" PRIu64, run, commit->round);
    if (n > 0 && strcmp(sql_cell(&rows, 0, 0), "committed") == 0)
        rc = strcmp(sql_cell(&rows, 0, 1), hash) == 0
                 ? 1
                 : err_set(err, ERR_STATE,
                           "store: run %s: round %" PRIu64 " was committed with other entries", run,
                           commit->round);
    if (rc == 0) *n_windows = (uint64_t)sql_cell_int(&rows, 0, 2);
    sql_rows_fini(&rows);
    return rc;
}

static int add_ledger(store_t *self, const char *run, uint64_t round, const store_lease_t *lease,
                      const data_range_t *piece, err_t *err)
{
    if (ledger_free(self, run, piece, err) < 0) return -1;
    return SQL_RUN(
               self->db, err, NULL,
               "INSERT INTO ledger (run_id, epoch, first_window, n_windows, round, replica, fence, "
               "worker_id, target) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
               sql_text(run), sql_int((int64_t)piece->epoch), sql_int((int64_t)piece->start),
               sql_int((int64_t)piece->count), sql_int((int64_t)round), sql_int(lease->replica),
               sql_int(lease->fence), sql_text(lease->worker), sql_text(lease->target)) < 0
               ? -1
               : 0;
}

/* The first `done` windows into the ledger, the rest back. */
static int settle_range(store_t *self, const char *run, uint64_t round, uint64_t n_windows,
                        const store_lease_t *lease, uint64_t done, err_t *err)
{
    pieces_t pieces = {0};
    int rc = pieces_add(&pieces, &lease->range, n_windows, err);
    for (size_t i = 0; rc == 0 && i < pieces.n; i++) {
        data_range_t kept = pieces.at[i], rest = pieces.at[i];
        if (kept.count > done) kept.count = done;
        rest.start += kept.count;
        rest.count -= kept.count;
        done -= kept.count;
        if (kept.count > 0) rc = add_ledger(self, run, round, lease, &kept, err);
        if (rc == 0 && rest.count > 0) rc = returned_add(self, run, round, &rest, err);
    }
    VEC_FREE(&pieces);
    return rc;
}

static int settle_lease(store_t *self, const char *run, const store_commit_t *commit,
                        uint64_t n_windows, const store_lease_t *lease, err_t *err)
{
    const store_commit_entry_t *entry = NULL;
    for (size_t i = 0; i < commit->n_entry && !entry; i++)
        if (commit->entries[i].replica == lease->replica) entry = &commit->entries[i];
    if (entry && (entry->fence != lease->fence || entry->done_windows > lease->range.count))
        return err_set(err, ERR_STATE,
                       "store: run %s, round %" PRIu64 ", replica %" PRIu32 ": the commit "
                       "names fence %" PRIu32 " and %" PRIu64
                       " windows, the lease has fence %" PRIu32 " and %" PRIu64,
                       run, commit->round, lease->replica, entry->fence, entry->done_windows,
                       lease->fence, lease->range.count);
    uint64_t done = entry ? entry->done_windows : 0;
    if (SQL_RUN(self->db, err, NULL,
                "UPDATE lease SET state = $4, done_windows = $5, "
                "done_ms = coalesce(done_ms, now_ms()) "
                "WHERE run_id = $1 AND round = $2 AND replica = $3",
                sql_text(run), sql_int((int64_t)commit->round), sql_int(lease->replica),
                sql_text(done ? "committed" : "dropped"), sql_int((int64_t)done)) < 0)
        return -1;
    return settle_range(self, run, commit->round, n_windows, lease, done, err);
}

/* Where the round was decided, the commit is of the decision. */
static int as_decided(const char *run, const store_commit_t *commit, const store_leases_t *leases,
                      err_t *err)
{
    bool decided = false, same = true;
    for (size_t i = 0; i < leases->n; i++) {
        int64_t want = leases->at[i].decided_windows, have = -1;
        for (size_t k = 0; k < commit->n_entry; k++)
            if (commit->entries[k].replica == leases->at[i].replica)
                have = (int64_t)commit->entries[k].done_windows;
        decided |= want >= 0;
        same &= want == have;
    }
    if (!decided || same) return 0;
    return err_set(err, ERR_STATE,
                   "store: run %s: round %" PRIu64 " is committed with other entries than decided",
                   run, commit->round);
}

static int settle_leases(store_t *self, const char *run, const store_commit_t *commit,
                         uint64_t n_windows, err_t *err)
{
    store_leases_t leases = {0};
    if (store_lease_list(self, run, commit->round, &leases, err) < 0) return -1;
    int rc = 0;
    size_t matched = 0;
    for (size_t i = 0; i < commit->n_entry; i++)
        for (size_t k = 0; k < leases.n; k++)
            matched += leases.at[k].replica == commit->entries[i].replica;
    if (matched != commit->n_entry)
        rc = err_set(err, ERR_STATE,
                     "store: run %s, round %" PRIu64 ": %zu of %zu entries have no lease", run,
                     commit->round, commit->n_entry - matched, commit->n_entry);
    if (rc == 0) rc = as_decided(run, commit, &leases, err);
    for (size_t i = 0; rc == 0 && i < leases.n; i++)
        rc = settle_lease(self, run, commit, n_windows, &leases.at[i], err);
    store_leases_fini(&leases);
    return rc;
}

static int close_round(store_t *self, const store_leader_t *leader, const store_commit_t *commit,
                       const char *hash, err_t *err)
{
    return SQL_RUN(
               self->db, err, NULL,
               "UPDATE round SET state = 'committed', leader_fence = $3, commit_hash = $4, "
               "parameters_hash = $5, loss = $6, n_tokens = $7, compute_ms = $8, transfer_ms = $9, "
               "wait_ms = $10, recover_ms = $11, received_bytes = $12, sent_bytes = $13, "
               "waits_for = '', committed_ms = now_ms() WHERE run_id = $1 AND round = $2",
               sql_text(leader->run), sql_int((int64_t)commit->round), sql_int(leader->fence),
               sql_text(hash), sql_text(commit->parameters_hash), sql_float(commit->loss),
               sql_int((int64_t)commit->tokens), sql_maybe_int(commit->compute_ms),
               sql_maybe_int(commit->transfer_ms), sql_maybe_int(commit->wait_ms),
               sql_maybe_int(commit->recover_ms), sql_maybe_int(commit->received_bytes),
               sql_maybe_int(commit->sent_bytes)) < 0
               ? -1
               : 0;
}

int store_round_commit(store_t *self, const store_leader_t *leader, const store_commit_t *commit,
                       err_t *err)
{
    char hash[HASH_HEX];
    if (commit->round > INT64_MAX || commit->tokens > INT64_MAX)
        return err_set(err, ERR_ARG, "store: round %" PRIu64 " of %" PRIu64 " tokens",
                       commit->round, commit->tokens);
    if (commit_hash(commit, hash, err) < 0 || store_leader_begin(self, leader, err) < 0) return -1;
    uint64_t n_windows = 0;
    int rc = look(self, leader->run, commit, hash, &n_windows, err);
    if (rc == 0) {
        rc = settle_leases(self, leader->run, commit, n_windows, err);
        if (rc == 0) rc = close_round(self, leader, commit, hash, err);
    }
    return sql_end(self->db, rc, err);
}

int store_rejection_add(store_t *self, const char *run, const store_rejection_t *r, err_t *err)
{
    if (store_check_id("run", run, err) < 0 || store_check_id("worker", r->worker, err) < 0 ||
        store_check_id("reason", r->reason, err) < 0)
        return -1;
    return SQL_RUN(
               self->db, err, NULL,
               "INSERT INTO rejection (run_id, round, replica, fence, worker_id, reason, detail, "
               "created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, now_ms()) ON CONFLICT DO NOTHING",
               sql_text(run), sql_int((int64_t)r->round), sql_int(r->replica), sql_int(r->fence),
               sql_text(r->worker), sql_text(r->reason), sql_text(r->detail ? r->detail : "")) < 0
               ? -1
               : 0;
}

int store_rejection_count(store_t *self, const char *run, uint64_t *n, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t rc = SQL_RUN(self->db, err, &rows, "SELECT count(*) FROM rejection WHERE run_id = $1",
                         sql_text(run));
    if (rc > 0) *n = (uint64_t)sql_cell_int(&rows, 0, 0);
    sql_rows_fini(&rows);
    return rc < 0 ? -1 : 0;
}
