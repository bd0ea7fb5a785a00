/* What the files of the PostgreSQL backend share. Internal to store/. */
#ifndef STORE_SQL_POSTGRES_H
#define STORE_SQL_POSTGRES_H

#include <libpq-fe.h>

#include "store/sql.h"

typedef struct {
    char *url;
    sql_limits_t limits;
    PGconn *conn;               /* NULL: not connected */
    VEC(const char *) prepared; /* statement i is known to the server as "s<i>" */
} pg_t;

void pg_disconnect(void *state);
/* The connection is of no more use: ends it. Returns -1. */
int pg_lost(pg_t *self, const char *why, err_t *err);
/* Until the socket is ready for `events` (poll) or the time (clock_mono_ms) is over, which loses
 * the connection. */
int pg_wait(pg_t *self, short events, int64_t deadline, err_t *err);
/* 0 when what was sent (sent: libpq's answer) has a good result; *result (may be NULL) is then the
 * caller's. */
int pg_finish(pg_t *self, int sent, PGresult **result, err_t *err);
/* Is this result good? NULL: the connection is gone. */
int pg_judge(pg_t *self, PGresult *result, err_t *err);

/* COPY (sql_postgres_copy.c): the rows of a statement into a file, and back. */
int pg_copy_out(void *state, const char *statement, int fd, const char *path, err_t *err);
int pg_copy_in(void *state, const char *statement, int fd, const char *path, err_t *err);

#endif
