/* Values, rows, and the rules of connections and transactions that both backends share. */
#include "store/sql.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "base/str.h"

struct sql {
    const sql_driver_t *driver;
    void *state;
    bool in_transaction;
    bool broken;  /* the open transaction has failed: only sql_rollback helps */
    bool grouped; /* the open transaction is a group */
};

sql_value_t sql_int(int64_t value)
{
    return (sql_value_t){.kind = SQL_INT, .i = value};
}

sql_value_t sql_maybe_int(int64_t value)
{
    return (sql_value_t){.kind = SQL_INT, .null = value < 0, .i = value};
}

sql_value_t sql_count(size_t value)
{
    return sql_int(value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

sql_value_t sql_float(double value)
{
    return (sql_value_t){.kind = SQL_FLOAT, .null = isnan(value), .f = value};
}

sql_value_t sql_text(const char *value)
{
    return (sql_value_t){.kind = SQL_TEXT, .null = !value, .text = value};
}

const char *sql_cell(const sql_rows_t *self, size_t row, size_t column)
{
    return row < self->n_row && column < self->n_column
               ? self->cell.at[row * self->n_column + column]
               : NULL;
}

int64_t sql_cell_int(const sql_rows_t *self, size_t row, size_t column)
{
    const char *text = sql_cell(self, row, column);
    return text ? strtoll(text, NULL, 10) : -1;
}

double sql_cell_float(const sql_rows_t *self, size_t row, size_t column)
{
    const char *text = sql_cell(self, row, column);
    return text ? strtod(text, NULL) : (double)NAN;
}

char *sql_cell_dup(const sql_rows_t *self, size_t row, size_t column)
{
    const char *text = sql_cell(self, row, column);
    return mem_strdup(text ? text : "");
}

void sql_cell_copy(const sql_rows_t *self, size_t row, size_t column, char *to, size_t size)
{
    const char *text = sql_cell(self, row, column);
    snprintf(to, size, "%s", text ? text : "");
}

void sql_rows_fini(sql_rows_t *self)
{
    for (size_t i = 0; i < self->cell.n; i++) free(self->cell.at[i]);
    VEC_FREE(&self->cell);
    self->n_row = self->n_column = 0;
}

sql_t *sql_open(const char *url, const sql_limits_t *limits, err_t *err)
{
    const sql_driver_t *driver = NULL;
    if (str_starts(url, "postgresql://") || str_starts(url, "postgres://")) driver = &sql_postgres;
    if (str_starts(url, "sqlite://")) driver = &sql_sqlite;
    if (!driver) {
        err_set(err, ERR_ARG,
                "store: no backend for \"%.*s...\"; give postgresql://HOST/DATABASE or "
                "sqlite:///PATH",
                secret_kind(url), url);
        return NULL;
    }
    void *state = driver->open(url, limits, err);
    if (!state) return NULL;
    sql_t *self = mem_calloc(1, sizeof *self);
    self->driver = driver;
    self->state = state;
    return self;
}

void sql_destroy(sql_t **self_p)
{
    sql_t *self = *self_p;
    if (!self) return;
    self->driver->destroy(self->state);
    free(self);
    *self_p = NULL;
}

sql_dialect_t sql_dialect(const sql_t *self)
{
    return self->driver->dialect;
}

/* Inside a transaction a lost connection cannot be replaced. */
static int ready(sql_t *self, err_t *err)
{
    if (self->broken)
        return err_set(err, ERR_STATE,
                       "store: this transaction has failed and must be rolled back");
    if (self->driver->connected(self->state)) return 0;
    if (self->in_transaction)
        return err_set(err, ERR_NET, "store: the connection was lost in a transaction");
    return self->driver->connect(self->state, err);
}

int64_t sql_run(sql_t *self, const char *statement, const sql_value_t *args, size_t n,
                sql_rows_t *rows, err_t *err)
{
    if (ready(self, err) < 0) return -1;
    int64_t count = self->driver->run(self->state, statement, args, n, rows, err);
    if (count < 0) self->broken = self->in_transaction;
    return count;
}

int sql_script(sql_t *self, const char *text, err_t *err)
{
    if (ready(self, err) < 0) return -1;
    int rc = self->driver->script(self->state, text, err);
    if (rc < 0) self->broken = self->in_transaction;
    return rc;
}

static int copied(sql_t *self, int rc)
{
    if (rc < 0) self->broken = self->in_transaction;
    return rc;
}

int sql_copy_out(sql_t *self, const char *statement, int fd, const char *path, err_t *err)
{
    assert(self->driver->copy_out);
    if (ready(self, err) < 0) return -1;
    return copied(self, self->driver->copy_out(self->state, statement, fd, path, err));
}

int sql_copy_in(sql_t *self, const char *statement, int fd, const char *path, err_t *err)
{
    assert(self->driver->copy_in);
    if (ready(self, err) < 0) return -1;
    return copied(self, self->driver->copy_in(self->state, statement, fd, path, err));
}

int sql_copy_file(sql_t *self, const char *path, bool back, err_t *err)
{
    assert(self->driver->copy_file && !self->in_transaction);
    if (ready(self, err) < 0) return -1;
    return self->driver->copy_file(self->state, path, back, err);
}

int sql_begin(sql_t *self, err_t *err)
{
    if (self->grouped) return ready(self, err);
    if (self->in_transaction)
        return err_set(err, ERR_STATE, "store: a transaction is open already");
    if (SQL_RUN(self, err, NULL, self->driver->begin) < 0) return -1;
    self->in_transaction = true;
    return 0;
}

int sql_commit(sql_t *self, err_t *err)
{
    if (self->grouped) return ready(self, err);
    int64_t rc = SQL_RUN(self, err, NULL, "COMMIT");
    if (rc < 0) {
        sql_rollback(self);
        return -1;
    }
    self->in_transaction = false;
    return 0;
}

void sql_rollback(sql_t *self)
{
    if (!self->in_transaction) return;
    if (self->grouped) { /* for the whole group to do */
        self->broken = true;
        return;
    }
    self->in_transaction = self->broken = false;
    /* A lost connection has taken its transaction with it; one that cannot roll back is of no use.
     */
    if (self->driver->connected(self->state) && SQL_RUN(self, NULL, NULL, "ROLLBACK") < 0)
        self->driver->disconnect(self->state);
}

int sql_end(sql_t *self, int rc, err_t *err)
{
    if (rc >= 0) return sql_commit(self, err);
    sql_rollback(self);
    return -1;
}

void sql_group_open(sql_t *self)
{
    self->grouped = self->in_transaction;
}

int sql_group_end(sql_t *self, int rc, err_t *err)
{
    self->grouped = false;
    if (rc >= 0 && self->broken)
        rc = err_set(err, ERR_STATE, "store: a part of this group of writes has failed");
    return sql_end(self, rc, err);
}

bool sql_grouped(const sql_t *self)
{
    return self->grouped;
}
