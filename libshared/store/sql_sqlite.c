/* SQLite: a file in WAL mode, so that readers and one writer do not disturb each other, or memory.
 */
#include <sqlite3.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/sql.h"

typedef struct {
    const char *statement; /* identity */
    sqlite3_stmt *stmt;
} prepared_t;

typedef struct {
    char *path;
    int64_t busy_ms;
    bool relaxed, read_only, existing;
    bool spoiled; /* the connection is of no more use: another one, once its file can be used again
                   */
    sqlite3 *db;  /* NULL: not open */
    VEC(prepared_t) prepared;
} lite_t;

static err_code_t classify(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR: return ERR_NET; /* what an operator mends; nothing is lost by waiting */
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return ERR_IO;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ERR_CORRUPT;
    case SQLITE_ERROR:
        return ERR_SCHEMA; /* at prepare: our statements are correct, the tables are not */
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE: return ERR_ARG;
    case SQLITE_NOMEM: return ERR_MEMORY;
    default: return ERR_STATE;
    }
}

static bool is_disk(int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY: return true;
    default: return false;
    }
}

/* A path that no file can be at; SQLite does not say so. */
static const char *misplaced(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) return S_ISDIR(info.st_mode) ? "is a directory, not a file" : NULL;
    char *dir = mem_strdup(path), *slash = strrchr(dir, '/');
    if (slash) slash[slash == dir] = '\0';
    bool none = slash && (stat(dir, &info) < 0 ? errno == ENOENT || errno == ENOTDIR
                                               : !S_ISDIR(info.st_mode));
    free(dir);
    return none ? "its directory does not exist: make it, or correct the path" : NULL;
}

static int fail(lite_t *self, int code, err_t *err)
{
    const char *why = self->db ? sqlite3_errmsg(self->db) : sqlite3_errstr(code);
    const char *wrong = (code & 0xff) == SQLITE_CANTOPEN ? misplaced(self->path) : NULL;
    if (is_disk(code)) self->spoiled = strcmp(self->path, ":memory:") != 0;
    if (wrong) return err_set(err, classify(code), "store: %s: %s", self->path, wrong);
    if (!is_disk(code)) return err_set(err, classify(code), "store: %s: %s", self->path, why);
    return err_set(err, classify(code),
                   "store: %s: %s: make room, or the file's disk and directory writable again",
                   self->path, why);
}

static void *lite_open(const char *url, const sql_limits_t *limits, err_t *err)
{
    const char *path = url + strlen("sqlite://");
    if (!*path || strchr(path, '?')) {
        err_set(err, ERR_ARG,
                "store: \"%s\" names no file; write sqlite:///PATH (absolute), "
                "sqlite://PATH (relative) or sqlite://:memory:",
                url);
        return NULL;
    }
    lite_t *self = mem_calloc(1, sizeof *self);
    self->path = mem_strdup(path);
    self->busy_ms = limits->statement_ms;
    self->relaxed = limits->relaxed;
    self->read_only = limits->read_only;
    self->existing = limits->existing;
    return self;
}

static void lite_disconnect(void *state)
{
    lite_t *self = state;
    for (size_t i = 0; i < self->prepared.n; i++) sqlite3_finalize(self->prepared.at[i].stmt);
    self->prepared.n = 0;
    sqlite3_close(self->db);
    self->db = NULL;
    self->spoiled = false;
}

/* After the last use of what a call had prepared. */
static void drop_spoiled(lite_t *self)
{
    if (self->spoiled) lite_disconnect(self);
}

static void now_ms(sqlite3_context *context, int n, sqlite3_value **args)
{
    (void)n;
    (void)args;
    sqlite3_result_int64(context, clock_wall_ms());
}

static int lite_script(void *state, const char *text, err_t *err)
{
    lite_t *self = state;
    int code = sqlite3_exec(self->db, text, NULL, NULL, NULL);
    int rc = code == SQLITE_OK ? 0 : fail(self, code, err);
    drop_spoiled(self);
    return rc;
}

/* WAL mode is a property of the file; the first program to open a new one sets it. SQLite refuses
 * that at once while another connection is at the file, without its busy handler: it is repeated
 * here for as long as a statement may wait. */
static int set_wal(lite_t *self, err_t *err)
{
    int64_t deadline = clock_mono_ms() + self->busy_ms;
    int code;
    while ((code = sqlite3_exec(self->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL)) ==
               SQLITE_BUSY &&
           clock_mono_ms() < deadline)
        sqlite3_sleep(5);
    return code == SQLITE_OK ? 0 : fail(self, code, err);
}

static int lite_connect(void *state, err_t *err)
{
    lite_t *self = state;
    /* Who only reads a file in WAL mode still maps its index. */
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX;
    if (!self->existing) flags |= SQLITE_OPEN_CREATE;
    if (self->existing && strcmp(self->path, ":memory:") != 0 && access(self->path, F_OK) < 0 &&
        errno == ENOENT)
        return err_set(
            err, ERR_SCHEMA,
            "store: %s: no such file: correct the path (`pcp db migrate` makes a new one)",
            self->path);
    int code = sqlite3_open_v2(self->path, &self->db, flags, NULL);
    if (code == SQLITE_OK) code = sqlite3_busy_timeout(self->db, (int)self->busy_ms);
    if (code == SQLITE_OK)
        code = sqlite3_create_function(self->db, "now_ms", 0, SQLITE_UTF8, NULL, now_ms, NULL,
                                       NULL);
    int rc = code == SQLITE_OK ? 0 : fail(self, code, err);
    /* FULL: what was committed survives a power cut, as it does in PostgreSQL. NORMAL: the kill of
     * a process only. */
    if (rc == 0 && self->read_only) rc = lite_script(self, "PRAGMA query_only = ON;", err);
    if (rc == 0 && !self->read_only) rc = set_wal(self, err);
    if (rc == 0 && !self->read_only)
        rc = lite_script(
            self, self->relaxed ? "PRAGMA synchronous = NORMAL;" : "PRAGMA synchronous = FULL;",
            err);
    if (rc == 0) rc = lite_script(self, "PRAGMA foreign_keys = ON;", err);
    if (rc < 0) lite_disconnect(self);
    return rc;
}

static bool lite_connected(const void *state)
{
    return ((const lite_t *)state)->db != NULL;
}

static sqlite3_stmt *prepare(lite_t *self, const char *statement, err_t *err)
{
    for (size_t i = 0; i < self->prepared.n; i++)
        if (self->prepared.at[i].statement == statement) return self->prepared.at[i].stmt;
    prepared_t row = {.statement = statement};
    int code = sqlite3_prepare_v3(self->db, statement, -1, SQLITE_PREPARE_PERSISTENT, &row.stmt,
                                  NULL);
    if (code != SQLITE_OK) {
        fail(self, code, err);
        return NULL;
    }
    VEC_PUSH(&self->prepared, row);
    return row.stmt;
}

static int bind(sqlite3_stmt *stmt, const sql_value_t *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "$%zu", i + 1);
        int at = sqlite3_bind_parameter_index(stmt, name);
        const sql_value_t *v = &args[i];
        int code = SQLITE_OK;
        if (v->null)
            code = sqlite3_bind_null(stmt, at);
        else if (v->kind == SQL_INT)
            code = sqlite3_bind_int64(stmt, at, v->i);
        else if (v->kind == SQL_FLOAT)
            code = sqlite3_bind_double(stmt, at, v->f);
        else
            code = sqlite3_bind_text(stmt, at, v->text, -1, SQLITE_STATIC);
        if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
}

/* As text that gives the same number back. */
static char *column_text(sqlite3_stmt *stmt, int column)
{
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_NULL: return NULL;
    case SQLITE_FLOAT: return mem_printf("%.17g", sqlite3_column_double(stmt, column));
    case SQLITE_INTEGER: return mem_printf("%" PRId64, (int64_t)sqlite3_column_int64(stmt, column));
    default: return mem_strdup((const char *)sqlite3_column_text(stmt, column));
    }
}

static int64_t lite_run(void *state, const char *statement, const sql_value_t *args, size_t n,
                        sql_rows_t *rows, err_t *err)
{
    lite_t *self = state;
    sqlite3_stmt *stmt = prepare(self, statement, err);
    if (!stmt) drop_spoiled(self);
    if (!stmt) return -1;
    int code = bind(stmt, args, n);
    int n_column = sqlite3_column_count(stmt);
    int64_t n_row = 0;
    if (rows) rows->n_column = (size_t)n_column;
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        for (int c = 0; rows && c < n_column; c++) VEC_PUSH(&rows->cell, column_text(stmt, c));
        n_row++;
        code = SQLITE_OK;
    }
    if (rows) rows->n_row = (size_t)n_row;
    int64_t count = n_column > 0 ? n_row : sqlite3_changes(self->db);
    if (code != SQLITE_DONE) count = fail(self, code, err);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    drop_spoiled(self);
    return count;
}

/* SQLite's own copying: of a database that others write to meanwhile it copies one moment. */
static int lite_copy_file(void *state, const char *path, bool back, err_t *err)
{
    lite_t *self = state;
    sqlite3 *other = NULL;
    int flags = back ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(path, &other, flags | SQLITE_OPEN_FULLMUTEX, NULL);
    if (code == SQLITE_OK) code = sqlite3_busy_timeout(other, (int)self->busy_ms);
    sqlite3 *from = back ? other : self->db, *to = back ? self->db : other;
    sqlite3_backup *copy = code == SQLITE_OK ? sqlite3_backup_init(to, "main", from, "main") : NULL;
    if (copy) {
        while ((code = sqlite3_backup_step(copy, -1)) == SQLITE_BUSY || code == SQLITE_LOCKED)
            sqlite3_sleep(5);
        code = sqlite3_backup_finish(copy);
    } else if (code == SQLITE_OK)
        code = sqlite3_errcode(to);
    /* One file is to be all of it. */
    if (code == SQLITE_OK && !back)
        code = sqlite3_exec(other, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    int rc = 0;
    if (code != SQLITE_OK)
        rc = err_set(err, classify(code), "store: %s %s %s: %s", self->path, back ? "from" : "to",
                     path, sqlite3_errstr(code));
    sqlite3_close(other);
    return rc;
}

static void lite_destroy(void *state)
{
    lite_t *self = state;
    lite_disconnect(self);
    VEC_FREE(&self->prepared);
    free(self->path);
    free(self);
}

/* IMMEDIATE takes the write lock at once: a transaction that begins by reading would be refused
 * when another writer comes between. */
const sql_driver_t sql_sqlite = {
    .dialect = SQL_SQLITE,
    .begin = "BEGIN IMMEDIATE",
    .open = lite_open,
    .connect = lite_connect,
    .connected = lite_connected,
    .run = lite_run,
    .script = lite_script,
    .copy_file = lite_copy_file,
    .disconnect = lite_disconnect,
    .destroy = lite_destroy,
};
