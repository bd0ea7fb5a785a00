/* A run that is to have more rounds than it was submitted with. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "store/private.h"

/* The same configuration, but for more rounds. */
static bool is_longer(const char *old, const char *new)
{
    json_t *a = json_loads(old ? old : "", 0, NULL), *b = json_loads(new, 0, NULL);
    json_int_t had = json_integer_value(json_object_get(a, "rounds"));
    json_int_t has = json_integer_value(json_object_get(b, "rounds"));
    json_object_del(a, "rounds");
    json_object_del(b, "rounds");
    bool longer = a && b && has > had && json_equal(a, b);
    json_decref(a);
    json_decref(b);
    return longer;
}

static int lengthen(store_t *self, const store_run_spec_t *spec, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows, "SELECT config FROM run WHERE id = $1",
                        sql_text(spec->id));
    bool longer = n > 0 && is_longer(sql_cell(&rows, 0, 0), spec->config);
    sql_rows_fini(&rows);
    if (n < 0) return -1;
    if (!longer) return 0;
    char hash[HASH_HEX];
    hash_content(spec->config, strlen(spec->config), hash);
    n = SQL_RUN(self->db, err, NULL,
                "UPDATE run SET config = $2, config_hash = $3, n_rounds = $4, "
                "finished_ms = CASE WHEN state = 'done' THEN NULL ELSE finished_ms END, "
                "state = CASE WHEN state = 'done' THEN 'paused' ELSE state END WHERE id = $1",
                sql_text(spec->id), sql_text(spec->config), sql_text(hash),
                sql_int((int64_t)spec->n_rounds));
    return n < 0 ? -1 : 0;
}

int store_run_lengthen(store_t *self, const store_run_spec_t *spec, err_t *err)
{
    if (store_check_id("run id", spec->id, err) < 0 || store_begin(self, NULL, err) < 0) return -1;
    return sql_end(self->db, lengthen(self, spec, err), err);
}
