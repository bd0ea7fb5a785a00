/* PostgreSQL's COPY between a table and a file, without blocking for longer than the limits say.
 * Its text format says the same at every version of the server. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/sql_postgres.h"

enum { PIECE_BYTES = 1 << 16 };

/* Each step may take as long as a statement; all of them together take what they take. */
static int64_t deadline(const pg_t *self)
{
    return clock_mono_ms() + self->limits.statement_ms;
}

static int read_more(pg_t *self, err_t *err)
{
    if (pg_wait(self, POLLIN, deadline(self), err) < 0) return -1;
    return PQconsumeInput(self->conn) ? 0 : pg_lost(self, PQerrorMessage(self->conn), err);
}

static int send_more(pg_t *self, err_t *err)
{
    if (pg_wait(self, POLLIN | POLLOUT, deadline(self), err) < 0) return -1;
    bool alive = PQconsumeInput(self->conn) && PQflush(self->conn) >= 0;
    return alive ? 0 : pg_lost(self, PQerrorMessage(self->conn), err);
}

/* Send the statement; 0 when the server has begun to copy the way that is wanted. */
static int begin(pg_t *self, const char *statement, ExecStatusType wanted, err_t *err)
{
    if (!PQsendQuery(self->conn, statement)) return pg_lost(self, PQerrorMessage(self->conn), err);
    int unsent;
    while ((unsent = PQflush(self->conn)) > 0)
        if (send_more(self, err) < 0) return -1;
    if (unsent < 0) return pg_lost(self, PQerrorMessage(self->conn), err);
    while (PQisBusy(self->conn))
        if (read_more(self, err) < 0) return -1;
    PGresult *result = PQgetResult(self->conn);
    if (result && PQresultStatus(result) == wanted) {
        PQclear(result);
        return 0;
    }
    int rc = pg_judge(self, result, err);
    PQclear(result);
    if (rc == 0) rc = err_set(err, ERR_STATE, "store: PostgreSQL: %s: is no COPY", statement);
    while (self->conn && (result = PQgetResult(self->conn))) PQclear(result);
    return -1;
}

int pg_copy_out(void *state, const char *statement, int fd, const char *path, err_t *err)
{
    pg_t *self = state;
    if (begin(self, statement, PGRES_COPY_OUT, err) < 0) return -1;
    for (;;) {
        char *row = NULL;
        int n = PQgetCopyData(self->conn, &row, 1);
        if (n == 0 && read_more(self, err) < 0) return -1;
        if (n == -2) return pg_lost(self, PQerrorMessage(self->conn), err);
        if (n == -1) return pg_finish(self, 1, NULL, err);
        if (n <= 0) continue;
        int rc = file_write_all(fd, row, (size_t)n, path, err);
        PQfreemem(row);
        if (rc < 0) {
            pg_disconnect(self); /* nobody wants the rest */
            return -1;
        }
    }
}

static int put(pg_t *self, const char *bytes, int n, err_t *err)
{
    int done;
    while ((done = PQputCopyData(self->conn, bytes, n)) == 0)
        if (send_more(self, err) < 0) return -1;
    return done > 0 ? 0 : pg_lost(self, PQerrorMessage(self->conn), err);
}

int pg_copy_in(void *state, const char *statement, int fd, const char *path, err_t *err)
{
    pg_t *self = state;
    if (begin(self, statement, PGRES_COPY_IN, err) < 0) return -1;
    char *piece = mem_calloc(PIECE_BYTES, 1);
    ssize_t n;
    int rc = 0;
    while (rc == 0 && (n = read(fd, piece, PIECE_BYTES)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        rc = n < 0 ? err_set_errno(err, "%s: read", path) : put(self, piece, (int)n, err);
    }
    free(piece);
    if (rc < 0) {
        pg_disconnect(self);
        return -1;
    }
    int done;
    while ((done = PQputCopyEnd(self->conn, NULL)) == 0)
        if (send_more(self, err) < 0) return -1;
    if (done < 0) return pg_lost(self, PQerrorMessage(self->conn), err);
    if (pg_finish(self, 1, NULL, err) < 0) return err_prefix(err, "%s: ", path);
    return 0;
}
