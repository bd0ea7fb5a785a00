/* Schema versions: each migration runs once, in order, in a transaction that records it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/migrations.h"
#include "store/private.h"

/* The SQLite form of a migration: deploy/postgres/0001_runs.sql tells the two rules. */
static char *for_sqlite(const char *text)
{
    static const char mark[] = "--postgres", other[] = "--sqlite ";
    str_t out = {0};
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *end = text + n;
        size_t next = n + (*end == '\n');
        bool postgres = n >= strlen(mark) && memcmp(end - strlen(mark), mark, strlen(mark)) == 0;
        size_t skip = str_starts(text, other) ? strlen(other) : 0;
        if (!postgres) str_addn(&out, text + skip, next - skip);
        text += next;
    }
    return out.at;
}

static const char CREATE_VERSIONS[] =
    "CREATE TABLE IF NOT EXISTS schema_migration (version bigint PRIMARY KEY, name text NOT NULL, "
    "hash text NOT NULL, applied_ms bigint NOT NULL)";
static const char READ_VERSIONS[] =
    "SELECT version, name, hash FROM schema_migration ORDER BY version";

/* The version that `rows` prove; ERR_SCHEMA when they are not a beginning of ours. A newer database
 * may have more rows. */
static int read_version(const sql_rows_t *rows, err_t *err)
{
    for (size_t i = 0; i < rows->n_row; i++) {
        const char *name = sql_cell(rows, i, 1);
        if (sql_cell_int(rows, i, 0) != (int64_t)i + 1)
            return err_set(err, ERR_SCHEMA, "store: migration %zu is missing in the database",
                           i + 1);
        if (i >= (size_t)n_migrations) continue;
        char hash[HASH_HEX];
        hash_content(migrations[i].text, strlen(migrations[i].text), hash);
        if (strcmp(name, migrations[i].name) != 0 || strcmp(sql_cell(rows, i, 2), hash) != 0)
            return err_set(err, ERR_SCHEMA,
                           "store: the database's migration %s is not this program's %s: another "
                           "program made these tables",
                           name, migrations[i].name);
    }
    return (int)rows->n_row;
}

int store_schema(store_t *self, store_schema_t *schema, err_t *err)
{
    sql_rows_t rows = {0};
    err_t why = {0};
    int present = 0;
    if (SQL_RUN(self->db, &why, &rows, READ_VERSIONS) >= 0)
        present = read_version(&rows, err);
    else if (why.code != ERR_SCHEMA) /* no such table: an empty database */
        present = err_set(err, why.code, "%s", why.text);
    sql_rows_fini(&rows);
    if (present < 0) return -1;
    *schema = (store_schema_t){.present = present, .known = n_migrations};
    return 0;
}

static int newer(int present, err_t *err)
{
    return err_set(err, ERR_SCHEMA,
                   "store: the database is at version %d, newer than this program's %d: update the "
                   "program",
                   present, n_migrations);
}

int store_check(store_t *self, err_t *err)
{
    store_schema_t schema;
    if (store_schema(self, &schema, err) < 0) return -1;
    if (schema.present > schema.known) return newer(schema.present, err);
    if (schema.present == 0 && SQL_RUN(self->db, err, NULL, "SELECT 1") < 0)
        return -1; /* there is no database at all */
    if (schema.present < schema.known)
        return err_set(err, ERR_SCHEMA,
                       "store: the database is at version %d, this program needs %d: run `pcp db "
                       "migrate`",
                       schema.present, schema.known);
    return 0;
}

/* The migration as this database takes it. Returns, caller frees; NULL with the error. */
static char *own_text(store_t *self, const migration_t *m, err_t *err)
{
    if (sql_dialect(self->db) == SQL_SQLITE) return for_sqlite(m->text);
    store_reader_t reader;
    if (store_reader(self, &reader, err) < 0) return NULL;
    return reader == STORE_READER_MISSING ? store_without_reader(m->text) : mem_strdup(m->text);
}

static int apply(store_t *self, int version, err_t *err)
{
    const migration_t *m = &migrations[version - 1];
    char hash[HASH_HEX];
    hash_content(m->text, strlen(m->text), hash);
    char *own = own_text(self, m, err);
    if (!own) return -1;
    int rc = sql_script(self->db, own, err);
    free(own);
    if (rc == 0 && SQL_RUN(self->db, err, NULL,
                           "INSERT INTO schema_migration (version, name, hash, applied_ms) "
                           "VALUES ($1, $2, $3, now_ms())",
                           sql_int(version), sql_text(m->name), sql_text(hash)) < 0)
        rc = -1;
    return rc < 0 ? err_prefix(err, "migration %s: ", m->name) : 0;
}

/* A transaction that no other migration runs beside: SQLite's excludes other writers already. */
static int begin_alone(store_t *self, err_t *err)
{
    if (sql_begin(self->db, err) < 0) return -1;
    if (sql_dialect(self->db) == SQL_SQLITE ||
        SQL_RUN(self->db, err, NULL, "SELECT pg_advisory_xact_lock($1)", sql_int(0x706370)) >= 0)
        return 0;
    (void)sql_end(self->db, -1, err);
    return -1;
}

/* One step in one transaction: 1 when there was something to do, 0 when not. */
static int step(store_t *self, int to, err_t *err)
{
    sql_rows_t rows = {0};
    int present = -1, rc = -1;
    if (begin_alone(self, err) < 0) return -1;
    if (SQL_RUN(self->db, err, NULL, CREATE_VERSIONS) < 0 ||
        SQL_RUN(self->db, err, &rows, READ_VERSIONS) < 0)
        goto done;
    present = read_version(&rows, err);
    if (present < 0) goto done;
    rc = present > n_migrations ? newer(present, err) : 0;
    if (rc == 0 && present < to) rc = apply(self, present + 1, err);
done:
    sql_rows_fini(&rows);
    if (sql_end(self->db, rc, err) < 0) return -1;
    return present < to;
}

static int grant_reader(store_t *self, err_t *err)
{
    if (sql_dialect(self->db) == SQL_SQLITE) return 0; /* has no roles */
    if (begin_alone(self, err) < 0) return -1;
    return sql_end(self->db, store_reader_grant(self, err), err);
}

int store_migrate(store_t *self, int to, err_t *err)
{
    if (to == 0) to = n_migrations;
    if (to < 0 || to > n_migrations)
        return err_set(err, ERR_ARG, "store: there is no schema version %d; the newest is %d", to,
                       n_migrations);
    int rc;
    while ((rc = step(self, to, err)) > 0) continue;
    return rc == 0 && to == n_migrations ? grant_reader(self, err) : rc;
}
