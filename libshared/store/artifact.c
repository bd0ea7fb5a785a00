/* Artifacts: what the object directory holds and what each was made from. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/private.h"

#define ARTIFACT_KINDS "module plan tokens init checkpoint state"
#define ARTIFACT_COLUMNS "hash, kind, key, n_bytes, detail"

int store_artifact_put(store_t *self, const store_artifact_t *a, char hash[HASH_HEX], err_t *err)
{
    if (store_check_id("artifact's hash", a->hash, err) < 0 ||
        store_check_word("kind of artifact", a->kind, ARTIFACT_KINDS, err) < 0)
        return -1;
    if (a->n_bytes < 0)
        return err_set(err, ERR_ARG, "store: artifact %s has %" PRId64 " bytes", a->hash,
                       a->n_bytes);
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "INSERT INTO artifact (hash, kind, key, n_bytes, detail, created_ms) "
                        "VALUES ($1, $2, $3, $4, $5, now_ms()) ON CONFLICT DO NOTHING",
                        sql_text(a->hash), sql_text(a->kind), sql_text(a->key), sql_int(a->n_bytes),
                        sql_text(a->detail ? a->detail : "{}"));
    if (n >= 0)
        n = SQL_RUN(self->db, err, &rows,
                    "SELECT hash FROM artifact WHERE (kind = $2 AND key = $3) OR hash = $1 "
                    "ORDER BY CASE WHEN key = $3 THEN 0 ELSE 1 END LIMIT 1",
                    sql_text(a->hash), sql_text(a->kind), sql_text(a->key));
    if (n > 0 && hash) sql_cell_copy(&rows, 0, 0, hash, HASH_HEX);
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

static int take(int64_t n, sql_rows_t *rows, store_artifact_t *out, bool *found)
{
    if (n >= 0) *found = n > 0;
    if (n > 0) {
        *out = (store_artifact_t){.n_bytes = sql_cell_int(rows, 0, 3)};
        sql_cell_copy(rows, 0, 0, out->hash, sizeof out->hash);
        sql_cell_copy(rows, 0, 1, out->kind, sizeof out->kind);
        out->key = sql_cell(rows, 0, 2) ? sql_cell_dup(rows, 0, 2) : NULL;
        out->detail = sql_cell_dup(rows, 0, 4);
    }
    sql_rows_fini(rows);
    return n < 0 ? -1 : 0;
}

int store_artifact_get(store_t *self, const char *hash, store_artifact_t *out, bool *found,
                       err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT " ARTIFACT_COLUMNS " FROM artifact WHERE hash = $1",
                        sql_text(hash));
    return take(n, &rows, out, found);
}

int store_artifact_find(store_t *self, const char *kind, const char *key, store_artifact_t *out,
                        bool *found, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT " ARTIFACT_COLUMNS " FROM artifact WHERE kind = $1 AND key = $2",
                        sql_text(kind), sql_text(key));
    return take(n, &rows, out, found);
}

void store_artifact_fini(store_artifact_t *self)
{
    free(self->key);
    free(self->detail);
    self->key = self->detail = NULL;
}
