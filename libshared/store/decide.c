/* What is settled about a round before anybody acts on it: how many replicas it has, and which
 * leases its outer step sums. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/private.h"

static const store_commit_entry_t *find(const store_commit_entry_t *entries, size_t n,
                                        uint32_t replica)
{
    for (size_t i = 0; i < n; i++)
        if (entries[i].replica == replica) return &entries[i];
    return NULL;
}

/* What makes two decisions the same: replicas and windows. Fences may rise in between, for a lease
 * that is given again has the same result. */
static void decision_hash(const store_leases_t *leases, const store_commit_entry_t *entries,
                          size_t n, char hash[HASH_HEX])
{
    str_t text = {0};
    for (size_t i = 0; i < leases->n; i++) { /* by replica */
        const store_commit_entry_t *e = find(entries, n, leases->at[i].replica);
        if (e && e->late) str_addf(&text, "%" PRIu32 ":late ", e->replica);
        if (e && !e->late) str_addf(&text, "%" PRIu32 ":%" PRIu64 " ", e->replica, e->done_windows);
    }
    hash_content(text.n ? text.at : "", text.n, hash);
    str_fini(&text);
}

/* The round is there, open, and was not decided otherwise. 1: it is committed. */
static int look(store_t *self, const char *run, uint64_t round, const char *hash, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT state, decision_hash FROM round WHERE run_id = $1 AND round = $2",
                        sql_text(run), sql_int((int64_t)round));
    int rc = n < 0 ? -1 : 0;
    const char *old = n > 0 ? sql_cell(&rows, 0, 1) : NULL;
    if (n == 0)
        rc = err_set(err, ERR_STATE, "store: run %s has no round %" PRIu64, run, round);
    else if (n > 0 && old && strcmp(old, hash) != 0)
        rc = err_set(err, ERR_STATE, "store: run %s: round %" PRIu64 " was decided otherwise", run,
                     round);
    else if (n > 0 && strcmp(sql_cell(&rows, 0, 0), "committed") == 0)
        rc = old ? 1
                 : err_set(err, ERR_STATE, "store: run %s: round %" PRIu64 " is committed already",
                           run, round);
    sql_rows_fini(&rows);
    return rc;
}

static int take(store_t *self, const char *run, uint64_t round, const store_commit_entry_t *e,
                err_t *err)
{
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "UPDATE lease SET decided_windows = $5 WHERE run_id = $1 AND round = $2 AND "
        "replica = $3 AND fence = $4 AND state = 'done' AND done_windows >= $5",
        sql_text(run), sql_int((int64_t)round), sql_int(e->replica), sql_int(e->fence),
        sql_int((int64_t)e->done_windows));
    if (n != 0) return n < 0 ? -1 : 0;
    return err_set(err, ERR_STATE,
                   "store: run %s, round %" PRIu64 ": replica %" PRIu32 " has not done %" PRIu64
                   " windows under fence %" PRIu32,
                   run, round, e->replica, e->done_windows, e->fence);
}

/* It goes on into the next round. */
static int defer(store_t *self, const char *run, uint64_t round, const store_commit_entry_t *e,
                 err_t *err)
{
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE lease SET late = 1 WHERE run_id = $1 AND round = $2 AND "
                        "replica = $3 AND state IN ('open', 'issued')",
                        sql_text(run), sql_int((int64_t)round), sql_int(e->replica));
    if (n != 0) return n < 0 ? -1 : 0;
    return err_set(err, ERR_STATE,
                   "store: run %s, round %" PRIu64 ": replica %" PRIu32 " has no open lease", run,
                   round, e->replica);
}

static int decide(store_t *self, const store_leader_t *leader, uint64_t round,
                  const store_commit_entry_t *entries, size_t n, err_t *err)
{
    store_leases_t leases = {0};
    if (store_lease_list(self, leader->run, round, &leases, err) < 0) return -1;
    char hash[HASH_HEX];
    decision_hash(&leases, entries, n, hash);
    store_leases_fini(&leases);
    int rc = look(self, leader->run, round, hash, err);
    if (rc != 0) return rc;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = entries[i].late ? defer(self, leader->run, round, &entries[i], err)
                             : take(self, leader->run, round, &entries[i], err);
    if (rc == 0 && SQL_RUN(self->db, err, NULL,
                           "UPDATE round SET decided_ms = coalesce(decided_ms, now_ms()), "
                           "decision_hash = $3, leader_fence = $4 WHERE run_id = $1 AND round = $2",
                           sql_text(leader->run), sql_int((int64_t)round), sql_text(hash),
                           sql_int(leader->fence)) < 0)
        rc = -1;
    return rc;
}

int store_round_decide(store_t *self, const store_leader_t *leader, uint64_t round,
                       const store_commit_entry_t *entries, size_t n_entry, err_t *err)
{
    size_t n_late = 0;
    for (size_t i = 0; i < n_entry; i++) {
        n_late += entries[i].late;
        if ((entries[i].done_windows == 0) != entries[i].late ||
            entries[i].done_windows > INT64_MAX || find(entries, i, entries[i].replica))
            return err_set(err, ERR_ARG,
                           "store: run %s, round %" PRIu64 ": replica %" PRIu32
                           " is decided twice, or without windows",
                           leader->run, round, entries[i].replica);
    }
    if (n_entry == n_late || round > INT64_MAX)
        return err_set(err, ERR_ARG, "store: run %s: a decision without leases", leader->run);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    return sql_end(self->db, decide(self, leader, round, entries, n_entry, err), err);
}

/* --- The number of replicas --- */

static int set_replicas(store_t *self, const store_leader_t *leader,
                        const store_replicas_t *decided, const char *reason, err_t *err)
{
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "INSERT INTO replicas (run_id, round, n, reason, leader_fence, decided_ms) "
                        "VALUES ($1, $2, $3, $4, $5, now_ms()) ON CONFLICT DO NOTHING",
                        sql_text(leader->run), sql_int((int64_t)decided->round),
                        sql_int(decided->n), sql_text(reason), sql_int(leader->fence));
    if (n == 0)
        n = SQL_RUN(self->db, err, NULL,
                    "SELECT n FROM replicas WHERE run_id = $1 AND round = $2 AND n = $3",
                    sql_text(leader->run), sql_int((int64_t)decided->round), sql_int(decided->n));
    if (n != 0) return n < 0 ? -1 : 0;
    return err_set(err, ERR_STATE,
                   "store: run %s: another number than %" PRIu32
                   " was decided for the replicas of round %" PRIu64,
                   leader->run, decided->n, decided->round);
}

int store_replicas_set(store_t *self, const store_leader_t *leader, const store_replicas_t *decided,
                       const char *reason, err_t *err)
{
    if (decided->n == 0 || decided->round > INT64_MAX / 4)
        return err_set(err, ERR_ARG, "store: run %s: %" PRIu32 " replicas from round %" PRIu64,
                       leader->run, decided->n, decided->round);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    return sql_end(self->db, set_replicas(self, leader, decided, reason, err), err);
}
