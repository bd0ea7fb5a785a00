/* Texts that models write while they train: one a round at most. */
#include <inttypes.h>

#include "store/private.h"

int store_text_add(store_t *self, const store_leader_t *leader, uint64_t round, const char *prompt,
                   const char *text, err_t *err)
{
    if (round > INT64_MAX / 4)
        return err_set(err, ERR_ARG, "store: run %s: no round %" PRIu64, leader->run, round);
    if (store_leader_begin(self, leader, err) < 0) return -1;
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "INSERT INTO text_sample (run_id, round, prompt, text, written_ms) "
                        "VALUES ($1, $2, $3, $4, now_ms()) ON CONFLICT DO NOTHING",
                        sql_text(leader->run), sql_int((int64_t)round), sql_text(prompt),
                        sql_text(text));
    return sql_end(self->db, n < 0 ? -1 : 0, err);
}
