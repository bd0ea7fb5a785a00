/* The trail of what operators have done: a chain of hashes.
 *
 *   hash = hash_content(before, seq, time_ms, who, key_name, public_key, action, object, detail)
 *
 * each as its text with its length in front ("5:pause"), so that no two rows have the same bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/private.h"

enum { FIELDS = 9, PAGE = 500 };

static void hash_fields(const char *const field[FIELDS], char hash[HASH_HEX])
{
    str_t text = {0};
    for (int i = 0; i < FIELDS; i++) str_addf(&text, "%zu:%s", strlen(field[i]), field[i]);
    hash_content(str_text(&text), text.n, hash);
    str_fini(&text);
}

/* The next number, and the hash of the row before: whoever else adds one waits until we are done. */
static int lock_end(store_t *self, int64_t *seq, int64_t *time_ms, char before[HASH_HEX],
                    err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = sql_run(self->db,
                        "INSERT INTO trail_end (number, seq, hash) VALUES (1, 0, '') "
                        "ON CONFLICT DO NOTHING",
                        NULL, 0, NULL, err);
    if (n >= 0)
        n = sql_run(self->db,
                    "UPDATE trail_end SET seq = seq + 1 WHERE number = 1 "
                    "RETURNING seq, hash, now_ms()",
                    NULL, 0, &rows, err);
    if (n > 0) {
        *seq = sql_cell_int(&rows, 0, 0);
        sql_cell_copy(&rows, 0, 1, before, HASH_HEX);
        *time_ms = sql_cell_int(&rows, 0, 2);
    }
    sql_rows_fini(&rows);
    return n > 0 ? 0 : -1;
}

static int add(store_t *self, const store_deed_t *deed, err_t *err)
{
    int64_t seq, time_ms;
    char before[HASH_HEX], hash[HASH_HEX], number[24], time[24];
    if (lock_end(self, &seq, &time_ms, before, err) < 0) return -1;
    snprintf(number, sizeof number, "%" PRId64, seq);
    snprintf(time, sizeof time, "%" PRId64, time_ms);
    hash_fields((const char *const[FIELDS]){before, number, time, deed->who, deed->key_name,
                                            deed->public_key, deed->action, deed->object,
                                            deed->detail},
                hash);
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "INSERT INTO trail (seq, time_ms, who, key_name, public_key, action, "
                        "object, detail, before, hash) "
                        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                        sql_int(seq), sql_int(time_ms), sql_text(deed->who),
                        sql_text(deed->key_name), sql_text(deed->public_key),
                        sql_text(deed->action), sql_text(deed->object), sql_text(deed->detail),
                        sql_text(before), sql_text(hash));
    if (n >= 0)
        n = SQL_RUN(self->db, err, NULL, "UPDATE trail_end SET hash = $1 WHERE number = 1",
                    sql_text(hash));
    return n < 0 ? -1 : 0;
}

int store_trail_add(store_t *self, const store_leader_t *leader, const store_deed_t *deed,
                    err_t *err)
{
    if (store_begin(self, leader, err) < 0) return -1;
    return sql_end(self->db, add(self, deed, err), err);
}

int store_trail_together(store_t *self, err_t *err)
{
    if (sql_begin(self->db, err) < 0) return -1;
    sql_group_open(self->db);
    return 0;
}

int store_trail_end(store_t *self, int rc, err_t *err)
{
    return sql_group_end(self->db, rc, err);
}

/* --- Reading --- */

static void take(const sql_rows_t *rows, size_t r, store_trail_row_t *out)
{
    static const size_t at[] = {2, 3, 4, 5, 6, 7};
    char **texts[] = {&out->who,    &out->key_name, &out->public_key,
                      &out->action, &out->object,   &out->detail};
    out->seq = sql_cell_int(rows, r, 0);
    out->time_ms = sql_cell_int(rows, r, 1);
    for (size_t i = 0; i < 6; i++) *texts[i] = sql_cell_dup(rows, r, at[i]);
    sql_cell_copy(rows, r, 8, out->before, HASH_HEX);
    sql_cell_copy(rows, r, 9, out->hash, HASH_HEX);
}

int store_trail_read(store_t *self, int64_t after, store_trail_t *out, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT seq, time_ms, who, key_name, public_key, action, object, detail, "
                        "before, hash FROM trail WHERE seq > $1 ORDER BY seq LIMIT $2",
                        sql_int(after), sql_int(PAGE));
    if (n >= 0) {
        *out = (store_trail_t){.n = (size_t)n, .at = mem_calloc((size_t)n + 1, sizeof *out->at)};
        for (size_t i = 0; i < out->n; i++) take(&rows, i, &out->at[i]);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

void store_trail_fini(store_trail_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        store_trail_row_t *r = &self->at[i];
        char *texts[] = {r->who, r->key_name, r->public_key, r->action, r->object, r->detail};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free(texts[k]);
    }
    free(self->at);
    *self = (store_trail_t){0};
}

static bool follows(const store_trail_row_t *row, const store_trail_check_t *so_far)
{
    char number[24], time[24], hash[HASH_HEX];
    snprintf(number, sizeof number, "%" PRId64, row->seq);
    snprintf(time, sizeof time, "%" PRId64, row->time_ms);
    hash_fields((const char *const[FIELDS]){row->before, number, time, row->who, row->key_name,
                                            row->public_key, row->action, row->object, row->detail},
                hash);
    return row->seq == so_far->n + 1 && strcmp(row->before, so_far->hash) == 0 &&
           strcmp(row->hash, hash) == 0;
}

/* The rows behind those that were checked already. */
static int check_rows(store_t *self, store_trail_check_t *out, err_t *err)
{
    for (bool more = true; more && !out->broken;) {
        store_trail_t page;
        if (store_trail_read(self, out->n, &page, err) < 0) return -1;
        more = page.n > 0;
        for (size_t i = 0; i < page.n && !out->broken; i++) {
            if (follows(&page.at[i], out)) {
                out->n++;
                memcpy(out->hash, page.at[i].hash, HASH_HEX);
            } else {
                out->broken = out->n + 1;
            }
        }
        store_trail_fini(&page);
    }
    return 0;
}

/* The last row is the one that was written last, and there are no rows that reading does not come by. */
static int check_end(store_t *self, const store_trail_check_t *so_far, bool *fits, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = sql_run(self->db,
                        "SELECT (SELECT count(*) FROM trail), "
                        "coalesce((SELECT seq FROM trail_end WHERE number = 1), 0), "
                        "coalesce((SELECT hash FROM trail_end WHERE number = 1), '')",
                        NULL, 0, &rows, err);
    *fits = n > 0 && sql_cell_int(&rows, 0, 0) == so_far->n &&
            sql_cell_int(&rows, 0, 1) == so_far->n &&
            strcmp(sql_cell(&rows, 0, 2), so_far->hash) == 0;
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}

/* An end that does not fit may be that of rows which were added meanwhile: it is broken where there are none. */
int store_trail_check(store_t *self, store_trail_check_t *out, err_t *err)
{
    bool fits;
    *out = (store_trail_check_t){0};
    for (int64_t judged = -1;;) {
        if (check_rows(self, out, err) < 0) return -1;
        if (out->broken) return 0;
        if (out->n == judged) break;
        judged = out->n;
        if (check_end(self, out, &fits, err) < 0) return -1;
        if (fits) return 0;
    }
    out->broken = out->n + 1;
    return 0;
}
