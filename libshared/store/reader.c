/* The role pcp_reader in PostgreSQL, which may look at the views and at nothing else. Migrations make it
 * and grant it what it needs; where the migrating user may not make roles, they run without that part,
 * and a later migration, once there is the role, makes up for it. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "store/private.h"

int store_reader(store_t *self, store_reader_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    *out = STORE_READER_NONE;
    if (sql_dialect(self->db) == SQL_SQLITE) return 0;
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pcp_reader')::int, "
                        "(SELECT (rolcreaterole OR rolsuper)::int FROM pg_roles "
                        "WHERE rolname = current_user)");
    bool there = sql_cell_int(&rows, 0, 0) == 1, may = sql_cell_int(&rows, 0, 1) == 1;
    sql_rows_fini(&rows);
    if (n < 0) return -1;
    *out = there ? STORE_READER_THERE : may ? STORE_READER_MAY_BE : STORE_READER_MISSING;
    return 0;
}

/* Behind the line at which `text` stands that begins the statement's last one. */
static const char *behind(const char *text, const char *last)
{
    const char *end = strstr(text, last);
    end = end ? strchr(end + strlen(last) - 1, '\n') : NULL;
    return end ? end + 1 : text + strlen(text);
}

char *store_without_reader(const char *text)
{
    str_t out = {0};
    while (*text) {
        const char *next = behind(text, "\n");
        if (str_starts(text, "GRANT ")) {
            text = behind(text, ";");
        } else if (str_starts(text, "DO $$")) {
            text = behind(text, "\nEND $$;");
        } else {
            str_addn(&out, text, (size_t)(next - text));
            text = next;
        }
    }
    str_add(&out, "");
    return out.at;
}

int store_reader_grant(store_t *self, err_t *err)
{
    /* Views that were made while the role was not there; of others' there is nothing to grant. */
    static const char grant[] =
        "DO $$ DECLARE one record; BEGIN "
        "IF NOT has_schema_privilege('pcp_reader', current_schema(), 'USAGE') THEN "
        "EXECUTE format('GRANT USAGE ON SCHEMA %I TO pcp_reader', current_schema()); END IF; "
        "FOR one IN SELECT c.oid::regclass AS name FROM pg_class c "
        "WHERE c.relkind = 'v' AND c.relnamespace = current_schema()::regnamespace "
        "AND c.relname LIKE 'pcp\\_%' AND pg_has_role(c.relowner, 'USAGE') "
        "AND NOT has_table_privilege('pcp_reader', c.oid, 'SELECT') "
        "LOOP EXECUTE format('GRANT SELECT ON %s TO pcp_reader', one.name); END LOOP; END $$";
    store_reader_t reader;
    if (store_reader(self, &reader, err) < 0) return -1;
    return reader == STORE_READER_THERE ? sql_script(self->db, grant, err) : 0;
}
