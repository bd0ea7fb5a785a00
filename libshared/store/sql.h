/* The store's own door to a database: prepared statements and transactions, the same for PostgreSQL
 * (libpq) and SQLite. Internal to store/; everybody else uses store/store.h.
 *
 * Statements are written once, in the dialect both understand: parameters $1..$n, ON CONFLICT,
 * RETURNING, now_ms() for the database's clock. A connection is opened by the first call that needs
 * it and again after it was lost. Nothing here waits longer than the options say. One thread. */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

typedef enum { SQL_POSTGRES, SQL_SQLITE } sql_dialect_t;
typedef enum { SQL_INT, SQL_FLOAT, SQL_TEXT } sql_kind_t;

typedef struct {
    sql_kind_t kind;
    bool null;
    int64_t i;
    double f;
    const char *text; /* borrowed */
} sql_value_t;

sql_value_t sql_int(int64_t value);
sql_value_t sql_float(double value);      /* NaN: NULL */
sql_value_t sql_text(const char *value);  /* NULL: NULL */
sql_value_t sql_maybe_int(int64_t value); /* negative: NULL */
sql_value_t sql_count(size_t value);      /* at most INT64_MAX */

/* What a query found: n_row x n_column texts, row after row; NULL where the database says NULL.
 * Zero it before, free it with sql_rows_fini. */
typedef struct {
    size_t n_row, n_column;
    VEC(char *) cell;
} sql_rows_t;

const char *sql_cell(const sql_rows_t *self, size_t row, size_t column);  /* NULL: NULL */
int64_t sql_cell_int(const sql_rows_t *self, size_t row, size_t column);  /* NULL: -1 */
double sql_cell_float(const sql_rows_t *self, size_t row, size_t column); /* NULL: NaN */
char *sql_cell_dup(const sql_rows_t *self, size_t row, size_t column);    /* NULL: "" */
void sql_cell_copy(const sql_rows_t *self, size_t row, size_t column, char *to, size_t size);
void sql_rows_fini(sql_rows_t *self);

typedef struct {
    int64_t connect_ms, statement_ms;
    bool relaxed;             /* SQLite: a power cut may take the last transactions */
    bool read_only, existing; /* existing: a file that is not there is not made */
} sql_limits_t;

/* A backend: `state` is its own, made by `open` from the URL without connecting. */
typedef struct {
    sql_dialect_t dialect;
    const char *begin;
    void *(*open)(const char *url, const sql_limits_t *limits, err_t *err);
    int (*connect)(void *state, err_t *err);
    bool (*connected)(const void *state); /* false after a call lost the connection */
    int64_t (*run)(void *state, const char *statement, const sql_value_t *args, size_t n,
                   sql_rows_t *rows, err_t *err);
    int (*script)(void *state, const char *text, err_t *err);
    /* NULL where the backend has the other way */
    int (*copy_out)(void *state, const char *statement, int fd, const char *path, err_t *err);
    int (*copy_in)(void *state, const char *statement, int fd, const char *path, err_t *err);
    int (*copy_file)(void *state, const char *path, bool back, err_t *err);
    void (*disconnect)(void *state);
    void (*destroy)(void *state);
} sql_driver_t;

extern const sql_driver_t sql_postgres, sql_sqlite;

typedef struct sql sql_t;

/* Check the URL (ERR_ARG) and prepare to connect. Returns, caller destroys. */
sql_t *sql_open(const char *url, const sql_limits_t *limits, err_t *err);
void sql_destroy(sql_t **self_p);
sql_dialect_t sql_dialect(const sql_t *self);

/* Run one statement. `statement` must outlive `self` and be the same pointer each time it is meant
 * (a string literal): it is prepared once a connection, and each parameter keeps its kind. Returns
 * the number of rows found or changed; -1 with
 *   ERR_NET      the server is gone, starting, stopping, too slow or out of room, or the disk of
 *                SQLite's file is full or fails: try again later. The outcome of a statement outside
 *                a transaction, and of a commit, is then unknown
 *   ERR_STATE    a constraint or a permission refuses it
 *   ERR_ARG      a value does not fit its column
 *   ERR_SCHEMA   a table or column is missing
 *   ERR_IO       SQLite's file cannot be opened or written: wrong, or (once it could be) for now
 *   ERR_CORRUPT  it is no database */
int64_t sql_run(sql_t *self, const char *statement, const sql_value_t *args, size_t n,
                sql_rows_t *rows, err_t *err);

/* sql_run with the parameters in place; `rows` may be NULL. */
#define SQL_RUN(self, err, rows, statement, ...)                 \
    sql_run(self, statement, (const sql_value_t[]){__VA_ARGS__}, \
            sizeof((const sql_value_t[]){__VA_ARGS__}) / sizeof(sql_value_t), rows, err)

/* Several statements without parameters (migrations, settings). Errors as sql_run. */
int sql_script(sql_t *self, const char *text, err_t *err);

/* For dumps (dump.c). PostgreSQL: COPY ... TO STDOUT into the file behind fd, COPY ... FROM STDIN
 * from there on to its end; an error of the file names `path`. */
int sql_copy_out(sql_t *self, const char *statement, int fd, const char *path, err_t *err);
int sql_copy_in(sql_t *self, const char *statement, int fd, const char *path, err_t *err);
/* SQLite: the whole database, as of one moment, into a file; `back`: in its place comes what the
 * file holds. Not within a transaction. */
int sql_copy_file(sql_t *self, const char *path, bool back, err_t *err);

/* A transaction. After an error in it call sql_rollback; until then every statement is refused, so
 * that none runs outside. A commit that ends with ERR_NET may have happened. */
int sql_begin(sql_t *self, err_t *err);
int sql_commit(sql_t *self, err_t *err);
void sql_rollback(sql_t *self);

/* Commit when rc >= 0, roll back otherwise; returns 0 or -1. */
int sql_end(sql_t *self, int rc, err_t *err);

/* Several transactions as one: those begun between these calls become parts of the one that is
 * open, and none counts when one of them fails. */
void sql_group_open(sql_t *self);
int sql_group_end(sql_t *self, int rc, err_t *err);
bool sql_grouped(const sql_t *self);

#endif
