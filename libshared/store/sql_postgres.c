/* PostgreSQL through libpq's asynchronous calls, so that a server that hangs costs a bounded time.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/secret.h"
#include "store/sql_postgres.h"

enum { OID_INT8 = 20, OID_TEXT = 25, OID_FLOAT8 = 701 }; /* of pg_type: part of the protocol */

/* A client that vanishes without a word in mid-transaction keeps its locks at the server until this
 * is over: a stand-by leader waits for it. Our own transactions never pause. */
enum { IDLE_IN_TRANSACTION_MS = 2000 };
/* The server gives up first, so that a slow statement does not cost the connection. */
enum { GRACE_MS = 250 };

void pg_disconnect(void *state)
{
    pg_t *self = state;
    PQfinish(self->conn);
    self->conn = NULL;
    self->prepared.n = 0;
}

int pg_lost(pg_t *self, const char *why, err_t *err)
{
    int n = (int)strcspn(why, "\n");
    err_set(err, ERR_NET, "store: PostgreSQL at %s: %.*s", PQhost(self->conn), n, why);
    pg_disconnect(self);
    return -1;
}

static void *pg_open(const char *url, const sql_limits_t *limits, err_t *err)
{
    char *why = NULL;
    PQconninfoOption *parsed = PQconninfoParse(url, &why);
    if (!parsed) {
        /* libpq's text may quote the URL with its password, so only its kind is passed on. */
        const char *colon = why ? strchr(why, ':') : NULL;
        err_set(err, ERR_ARG,
                "store: the PostgreSQL URL is malformed%.*s; write "
                "postgresql://USER@HOST:PORT/DATABASE",
                colon && !strchr(url, '@') ? (int)strcspn(colon, "\n") : 0, colon ? colon : "");
        PQfreemem(why);
        return NULL;
    }
    PQconninfoFree(parsed);
    pg_t *self = mem_calloc(1, sizeof *self);
    self->url = mem_strdup(url);
    self->limits = *limits;
    return self;
}

static void quiet(void *user, const PGresult *result)
{
    (void)user; /* notices of migrations: nothing to act on */
    (void)result;
}

static bool pg_connected(const void *state)
{
    return ((const pg_t *)state)->conn != NULL;
}

int pg_wait(pg_t *self, short events, int64_t deadline, err_t *err)
{
    for (;;) {
        int64_t left = deadline - clock_mono_ms();
        if (left <= 0) return pg_lost(self, "no answer within the time-out", err);
        struct pollfd p = {.fd = PQsocket(self->conn), .events = events};
        int n = poll(&p, 1, left > 1000 ? 1000 : (int)left);
        if (n > 0) return 0;
        if (n < 0 && errno != EINTR) return pg_lost(self, strerror(errno), err);
    }
}

/* Where the URL was read of a file that says another by now: its password was changed. Returns, caller frees. */
static char *present_url(const pg_t *self)
{
    char *url = secret_again(self->url);
    PQconninfoOption *parsed = strncmp(url, "postgres", 8) == 0 ? PQconninfoParse(url, NULL) : NULL;
    if (!parsed) { /* half written, or no URL: libpq's error might quote it */
        free(url);
        return mem_strdup(self->url);
    }
    PQconninfoFree(parsed);
    return url;
}

static int start(pg_t *self, err_t *err)
{
    /* Before dbname, so that the URL's own values win. */
    char *url = present_url(self);
    const char *keys[] = {"application_name", "client_encoding", "dbname", NULL};
    const char *values[] = {"pcp", "UTF8", url, NULL};
    int64_t deadline = clock_mono_ms() + self->limits.connect_ms;
    self->conn = PQconnectStartParams(keys, values, 1);
    free(url);
    if (!self->conn) return err_set(err, ERR_MEMORY, "store: libpq is out of memory");
    PostgresPollingStatusType want = PGRES_POLLING_WRITING;
    while (PQstatus(self->conn) != CONNECTION_BAD && want != PGRES_POLLING_OK) {
        if (want == PGRES_POLLING_FAILED) break;
        if (pg_wait(self, want == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline, err) < 0)
            return -1;
        want = PQconnectPoll(self->conn);
    }
    if (PQstatus(self->conn) != CONNECTION_OK)
        return pg_lost(self, PQerrorMessage(self->conn), err);
    PQsetNoticeReceiver(self->conn, quiet, NULL);
    PQsetnonblocking(self->conn, 1);
    return 0;
}

/* The last result of what was sent, or the first that failed; NULL: the connection is gone. */
static PGresult *collect(pg_t *self, err_t *err)
{
    int64_t deadline = clock_mono_ms() + self->limits.statement_ms + GRACE_MS;
    PGresult *kept = NULL;
    for (;;) {
        int unsent = PQflush(self->conn);
        if (unsent < 0 || (unsent == 0 && !PQisBusy(self->conn))) {
            PGresult *next = PQgetResult(self->conn);
            if (!next) return kept;
            bool failed = kept && PQresultStatus(kept) == PGRES_FATAL_ERROR;
            PQclear(failed ? next : kept);
            kept = failed ? kept : next;
            if (PQstatus(self->conn) == CONNECTION_BAD) return kept;
            continue;
        }
        short events = unsent > 0 ? POLLIN | POLLOUT : POLLIN;
        if (pg_wait(self, events, deadline, err) < 0) {
            PQclear(kept);
            return NULL;
        }
        if (!PQconsumeInput(self->conn)) {
            PQclear(kept);
            pg_lost(self, PQerrorMessage(self->conn), err);
            return NULL;
        }
    }
}

static const struct {
    const char *state; /* an SQLSTATE or the beginning of one */
    err_code_t code;
} codes[] = {
    {"08", ERR_NET},       {"53", ERR_NET},       {"57", ERR_NET},       {"58", ERR_NET},
    {"40", ERR_NET},       {"55P03", ERR_NET},    {"26", ERR_NET},       {"25006", ERR_NET},
    {"22", ERR_ARG},       {"23", ERR_STATE},     {"42P01", ERR_SCHEMA}, {"42703", ERR_SCHEMA},
    {"42883", ERR_SCHEMA}, {"3F000", ERR_SCHEMA},
};

/* Take the result: 0 when it is good. Statements a server has forgotten (26) and servers that are
 * leaving (57P) need a new connection. */
int pg_judge(pg_t *self, PGresult *result, err_t *err)
{
    if (!result) {
        if (self->conn) pg_lost(self, PQerrorMessage(self->conn), err);
        return -1;
    }
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return 0;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorMessage(result);
    err_code_t code = ERR_STATE;
    for (size_t i = 0; state && i < sizeof codes / sizeof *codes; i++)
        if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0) code = codes[i].code;
    bool gone = PQstatus(self->conn) == CONNECTION_BAD || !state || strncmp(state, "57P", 3) == 0 ||
                strncmp(state, "26", 2) == 0;
    if (gone) return pg_lost(self, *text ? text : "the connection was lost", err);
    return err_set(err, code, "store: PostgreSQL: %.*s", (int)strcspn(text, "\n"), text);
}

int pg_finish(pg_t *self, int sent, PGresult **result, err_t *err)
{
    if (!sent) return pg_lost(self, PQerrorMessage(self->conn), err);
    PGresult *r = collect(self, err);
    int rc = pg_judge(self, r, err);
    if (rc < 0 || !result)
        PQclear(r);
    else
        *result = r;
    return rc;
}

static int prepare(pg_t *self, const char *statement, const sql_value_t *args, size_t n,
                   char name[24], err_t *err)
{
    size_t i = 0;
    while (i < self->prepared.n && self->prepared.at[i] != statement) i++;
    snprintf(name, 24, "s%zu", i);
    if (i < self->prepared.n) return 0;
    static const Oid oids[] = {
        [SQL_INT] = OID_INT8, [SQL_FLOAT] = OID_FLOAT8, [SQL_TEXT] = OID_TEXT};
    Oid *types = mem_calloc(n, sizeof *types);
    for (size_t k = 0; k < n; k++) types[k] = oids[args[k].kind];
    int sent = PQsendPrepare(self->conn, name, statement, (int)n, types);
    free(types);
    if (pg_finish(self, sent, NULL, err) < 0) return -1;
    VEC_PUSH(&self->prepared, statement);
    return 0;
}

static void take_rows(const PGresult *result, sql_rows_t *rows)
{
    rows->n_row = (size_t)PQntuples(result);
    rows->n_column = (size_t)PQnfields(result);
    for (int r = 0; r < (int)rows->n_row; r++)
        for (int c = 0; c < (int)rows->n_column; c++)
            VEC_PUSH(&rows->cell,
                     PQgetisnull(result, r, c) ? NULL : mem_strdup(PQgetvalue(result, r, c)));
}

static int64_t pg_run(void *state, const char *statement, const sql_value_t *args, size_t n,
                      sql_rows_t *rows, err_t *err)
{
    pg_t *self = state;
    char name[24];
    if (prepare(self, statement, args, n, name, err) < 0) return -1;
    enum { NUMBER = 32 };
    char(*numbers)[NUMBER] = mem_calloc(n, sizeof *numbers);
    const char **values = mem_calloc(n, sizeof *values);
    for (size_t i = 0; i < n; i++) {
        if (args[i].kind == SQL_INT) snprintf(numbers[i], NUMBER, "%" PRId64, args[i].i);
        if (args[i].kind == SQL_FLOAT) snprintf(numbers[i], NUMBER, "%.17g", args[i].f);
        values[i] = args[i].null ? NULL : args[i].kind == SQL_TEXT ? args[i].text : numbers[i];
    }
    PGresult *result = NULL;
    int sent = PQsendQueryPrepared(self->conn, name, (int)n, values, NULL, NULL, 0);
    free(values);
    free(numbers);
    if (pg_finish(self, sent, &result, err) < 0) return -1;
    bool found = PQresultStatus(result) == PGRES_TUPLES_OK;
    int64_t count = found ? PQntuples(result) : strtoll(PQcmdTuples(result), NULL, 10);
    if (found && rows) take_rows(result, rows);
    PQclear(result);
    return count;
}

static int pg_connect(void *state, err_t *err)
{
    pg_t *self = state;
    char statement[24], idle[24];
    if (start(self, err) < 0) return -1;
    snprintf(statement, sizeof statement, "%" PRId64, self->limits.statement_ms);
    snprintf(idle, sizeof idle, "%d", IDLE_IN_TRANSACTION_MS);
    const sql_value_t args[] = {sql_text(statement), sql_text(idle),
                                sql_text(self->limits.read_only ? "on" : "off")};
    int64_t n = pg_run(self,
                       "SELECT set_config('statement_timeout', $1, false), "
                       "set_config('idle_in_transaction_session_timeout', $2, false), "
                       "set_config('default_transaction_read_only', $3, false)",
                       args, 3, NULL, err);
    if (n < 0) pg_disconnect(self);
    return n < 0 ? -1 : 0;
}

static int pg_script(void *state, const char *text, err_t *err)
{
    pg_t *self = state;
    return pg_finish(self, PQsendQuery(self->conn, text), NULL, err);
}

static void pg_destroy(void *state)
{
    pg_t *self = state;
    pg_disconnect(self);
    VEC_FREE(&self->prepared);
    free(self->url);
    free(self);
}

const sql_driver_t sql_postgres = {
    .dialect = SQL_POSTGRES,
    .begin = "BEGIN",
    .open = pg_open,
    .connect = pg_connect,
    .connected = pg_connected,
    .run = pg_run,
    .script = pg_script,
    .copy_out = pg_copy_out,
    .copy_in = pg_copy_in,
    .disconnect = pg_disconnect,
    .destroy = pg_destroy,
};
