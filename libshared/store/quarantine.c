/* Workers that were found to lie, and what draws the leases that are looked at. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/private.h"

int store_audit_seed(store_t *self, const store_leader_t *leader, const char *fresh,
                     char seed[HASH_HEX], err_t *err)
{
    sql_rows_t rows = {0};
    if (store_leader_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "INSERT INTO audit_seed (run_id, seed) VALUES ($1, $2) "
                        "ON CONFLICT DO NOTHING",
                        sql_text(leader->run), sql_text(fresh));
    if (n >= 0)
        n = SQL_RUN(self->db, err, &rows, "SELECT seed FROM audit_seed WHERE run_id = $1",
                    sql_text(leader->run));
    if (n > 0) sql_cell_copy(&rows, 0, 0, seed, HASH_HEX);
    sql_rows_fini(&rows);
    return sql_end(self->db, n < 0 ? -1 : 0, err);
}

int store_quarantine_add(store_t *self, const store_leader_t *leader, const store_liar_t *liar,
                         err_t *err)
{
    if (store_check_id("worker", liar->name, err) < 0 ||
        store_check_id("worker", liar->member, err) < 0)
        return -1;
    if (liar->round > INT64_MAX / 4)
        return err_set(err, ERR_ARG, "store: run %s: no round %" PRIu64, leader->run, liar->round);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(
        self->db, err, NULL,
        "INSERT INTO quarantine (name, since_ms, member, run_id, round, replica, fence, digest, "
        "agreed, witnesses) SELECT $1, now_ms(), $2, $3, $4, $5, $6, $7, $8, $9 "
        "WHERE NOT EXISTS (SELECT 1 FROM quarantine q WHERE q.name = $1 AND q.trusted_ms IS NULL) "
        "ON CONFLICT DO NOTHING",
        sql_text(liar->name), sql_text(liar->member), sql_text(leader->run),
        sql_int((int64_t)liar->round), sql_int(liar->replica), sql_int(liar->fence),
        sql_text(liar->digest), sql_text(liar->agreed), sql_text(liar->witnesses));
    return sql_end(self->db, n < 0 ? -1 : 0, err);
}

int store_quarantine_lift(store_t *self, const store_leader_t *leader, const char *name,
                          const char *by, bool *lifted, err_t *err)
{
    if (store_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "UPDATE quarantine SET trusted_ms = now_ms(), trusted_by = $2 "
                        "WHERE trusted_ms IS NULL AND (name = $1 OR member = $1)",
                        sql_text(name), sql_text(by));
    if (lifted) *lifted = n > 0;
    return sql_end(self->db, n < 0 ? -1 : 0, err);
}

int store_quarantine_names(store_t *self, char **names, err_t *err)
{
    sql_rows_t rows = {0};
    str_t text = {0};
    int64_t n = sql_run(self->db,
                        "SELECT DISTINCT name FROM quarantine WHERE trusted_ms IS NULL "
                        "ORDER BY name",
                        NULL, 0, &rows, err);
    for (size_t i = 0; n > 0 && i < rows.n_row; i++) str_addf(&text, "%s\n", sql_cell(&rows, i, 0));
    sql_rows_fini(&rows);
    if (n >= 0) *names = mem_strdup(str_text(&text));
    str_fini(&text);
    return n < 0 ? -1 : 0;
}
