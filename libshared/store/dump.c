/* Dumps. PostgreSQL's are our own COPY of each table in one REPEATABLE READ transaction, so that no
 * program of the server's version is needed; the tables themselves come from the migrations. */
#include "store/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/private.h"

/* What has records, those before that others refer to. Not: run_transition and schema_migration,
 * which the migrations fill, and ledger_epoch, which the ledger's triggers do. store_dump_test proves it whole. */
#define TABLE(name)                                                     \
    {                                                                   \
#name, "COPY " #name " TO STDOUT", "COPY " #name " FROM STDIN", \
            "SELECT 1 FROM " #name " LIMIT 1"                           \
    }
static const struct {
    const char *name, *out, *in, *first;
} tables[] = {
    TABLE(run),
    TABLE(leadership),
    TABLE(worker),
    TABLE(artifact),
    TABLE(round),
    TABLE(lease),
    TABLE(ledger),
    TABLE(returned),
    TABLE(rewind),
    TABLE(rejection),
    TABLE(replicas),
    TABLE(checkpoint),
    TABLE(submission),
    TABLE(cluster),
    TABLE(event),
    TABLE(sample),
    TABLE(telemetry_source),
    TABLE(revoked),
    TABLE(text_sample),
    TABLE(quarantine),
    TABLE(audit_seed),
    TABLE(trail),
    TABLE(trail_end),
};
enum { N_TABLES = sizeof tables / sizeof *tables };

static bool is_sqlite(const store_t *self)
{
    return sql_dialect(self->db) == SQL_SQLITE;
}

static const char *kind(const store_t *self)
{
    return is_sqlite(self) ? "sqlite" : "postgresql";
}

int store_dump_size(store_t *self, int64_t *n_bytes, err_t *err)
{
    /* Indexes are counted and not dumped, which leaves room for what is written meanwhile. */
    static const char postgres[] =
        "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace";
    static const char sqlite[] =
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows, is_sqlite(self) ? sqlite : postgres);
    if (n >= 0) *n_bytes = sql_cell_int(&rows, 0, 0);
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

/* --- PostgreSQL --- */

static int dump_table(store_t *self, const char *dir, size_t table, err_t *err)
{
    char *path = mem_printf("%s/%s.copy", dir, tables[table].name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc = -1;
    if (fd < 0)
        err_set_errno(err, "%s", path);
    else
        rc = sql_copy_out(self->db, tables[table].out, fd, path, err);
    if (rc == 0 && fsync(fd) < 0) rc = err_set_errno(err, "%s: fsync", path);
    if (fd >= 0 && close(fd) < 0 && rc == 0) rc = err_set_errno(err, "%s: close", path);
    free(path);
    return rc;
}

static int dump_tables(store_t *self, const char *dir, err_t *err)
{
    if (sql_begin(self->db, err) < 0) return -1;
    int rc = sql_script(self->db, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", err);
    for (size_t i = 0; rc == 0 && i < N_TABLES; i++) rc = dump_table(self, dir, i, err);
    return sql_end(self->db, rc, err);
}

/* A table that the dump's version did not have has no file. */
static int load_table(store_t *self, const char *dir, size_t table, err_t *err)
{
    char *path = mem_printf("%s/%s.copy", dir, tables[table].name);
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    if (fd >= 0)
        rc = sql_copy_in(self->db, tables[table].in, fd, path, err);
    else if (errno != ENOENT)
        rc = err_set_errno(err, "%s", path);
    if (fd >= 0) close(fd);
    free(path);
    return rc;
}

static int load_tables(store_t *self, const char *dir, err_t *err)
{
    if (sql_begin(self->db, err) < 0) return -1;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < N_TABLES; i++) rc = load_table(self, dir, i, err);
    /* The numbers of new events go on behind those that were loaded. */
    if (rc == 0 && SQL_RUN(self->db, err, NULL,
                           "SELECT setval(pg_get_serial_sequence('event', 'id'), "
                           "coalesce((SELECT max(id) FROM event), 0) + 1, false)") < 0)
        rc = -1;
    return sql_end(self->db, rc, err);
}

/* --- Both --- */

static char *file_of(const char *dir)
{
    return mem_printf("%s/records.db", dir);
}

int store_dump(store_t *self, const char *dir, store_dump_t *out, err_t *err)
{
    store_schema_t schema;
    if (store_check(self, err) < 0 || store_schema(self, &schema, err) < 0) return -1;
    char *file = file_of(dir);
    int rc = is_sqlite(self) ? sql_copy_file(self->db, file, false, err)
                             : dump_tables(self, dir, err);
    free(file);
    if (rc < 0) return -1;
    *out = (store_dump_t){.version = schema.present};
    snprintf(out->kind, sizeof out->kind, "%s", kind(self));
    return 0;
}

/* How many of the tables have a row; *which: the first of them. */
static int occupied(store_t *self, const char **which, err_t *err)
{
    int n = 0;
    for (size_t i = 0; i < N_TABLES; i++) {
        sql_rows_t rows = {0};
        err_t why = {0};
        int64_t found = sql_run(self->db, tables[i].first, NULL, 0, &rows, &why);
        sql_rows_fini(&rows);
        if (found < 0 && why.code != ERR_SCHEMA) return err_set(err, why.code, "%s", why.text);
        if (found > 0 && n++ == 0) *which = tables[i].name;
    }
    return n;
}

int store_load_check(store_t *self, const store_dump_t *from, err_t *err)
{
    store_schema_t schema;
    const char *which = "";
    if (strcmp(from->kind, kind(self)) != 0)
        return err_set(err, ERR_STATE,
                       "store: the records are of %s and do not go into %s: give a --store of that "
                       "kind",
                       from->kind, kind(self));
    if (store_schema(self, &schema, err) < 0) return -1;
    if (from->version > schema.known)
        return err_set(err, ERR_SCHEMA,
                       "store: the records have schema version %d, newer than this program's %d: "
                       "update the program",
                       from->version, schema.known);
    if (schema.present != 0 && schema.present != from->version)
        return err_set(err, ERR_STATE,
                       "store: the database has tables of version %d, the records are of %d: give "
                       "an empty database, without tables; this brings it up to date afterwards",
                       schema.present, from->version);
    int n = schema.present ? occupied(self, &which, err) : 0;
    if (n > 0)
        return err_set(
            err, ERR_STATE,
            "store: the database is not empty (its table %s has rows): give an empty one", which);
    return n;
}

int store_load(store_t *self, const char *dir, const store_dump_t *from, err_t *err)
{
    char *file = file_of(dir);
    int rc;
    if (is_sqlite(self))
        rc = sql_copy_file(self->db, file, true, err);
    else if ((rc = store_migrate(self, from->version, err)) == 0)
        rc = load_tables(self, dir, err);
    free(file);
    if (rc == 0) rc = store_migrate(self, 0, err);
    return rc;
}

int store_load_moved(store_t *self, const char *from, const char *to, err_t *err)
{
    return SQL_RUN(self->db, err, NULL,
                   "UPDATE checkpoint SET path = $2 || substr(path, length($1) + 1) "
                   "WHERE substr(path, 1, length($1) + 1) = $1 || '/'",
                   sql_text(from), sql_text(to)) < 0
               ? -1
               : 0;
}
