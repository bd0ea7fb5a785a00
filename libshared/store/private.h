/* What the store's files share. Internal to store/. */
#ifndef STORE_PRIVATE_H
#define STORE_PRIVATE_H

#include "base/str.h"
#include "store/sql.h"
#include "store/store.h"

enum { STORE_BATCH = 32 }; /* rows of one insert statement of telemetry */

/* Another's term that was written in what is now the future, as it was seen last, and since when it has been so. */
typedef struct {
    int64_t expires_ms, since_ms; /* since_ms 0: none was seen */
} store_seen_t;

struct store {
    sql_t *db;
    store_seen_t seen;
    char *insert_events, *insert_samples; /* statements of STORE_BATCH rows */
};

/* Names from outside: ERR_ARG unless 1 to 127 bytes without control characters. */
int store_check_id(const char *what, const char *id, err_t *err);
/* `word` is one of `words` ("a b c"). */
int store_check_word(const char *what, const char *word, const char *words, err_t *err);

/* A term ends by the database's clock, and one that began before the clock was put back would end late by as much. So it is over, too,
 * when nobody has renewed it for a term of ours: then its expires_ms is returned, else -1. */
int64_t store_term_stale(const store_t *self, int64_t ttl_ms);
/* The row of another's term: holder, fence, expires_ms, and 1 if it was written in the future. */
void store_term_seen(store_t *self, const sql_rows_t *rows);

/* Begin a transaction that holds only while `leader` leads: its guard locks the run's row of
 * leadership, so that leaders' writes follow one another and an old one is ERR_FENCE. End it with
 * sql_end. */
int store_leader_begin(store_t *self, const store_leader_t *leader, err_t *err);

/* The same for the front that leads the cluster (submission.c). */
int store_front_begin(store_t *self, const store_leader_t *front, err_t *err);

/* All that work on a run do so no more, inside a transaction. */
int store_workers_leave(store_t *self, const char *run, const char *state, const char *reason,
                        err_t *err);

/* A migration's text without what is about pcp_reader: its GRANTs, and the block that makes the
 * role. Returns, caller frees. */
char *store_without_reader(const char *text);
/* Grant pcp_reader, if it is there, all views that it lacks. */
int store_reader_grant(store_t *self, err_t *err);

/* sql_begin, or store_leader_begin when there is a leader. */
int store_begin(store_t *self, const store_leader_t *leader, err_t *err);

#endif
