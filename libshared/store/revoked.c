/* The list of revoked keys: one row, which only grows (one of equal length is another authority's). The store does not judge it: readers know
 * whose signature it must have. */
#include "store/private.h"

#include <string.h>

int store_revoked_put(store_t *self, const char *list, err_t *err)
{
    int64_t n = SQL_RUN(self->db, err, NULL,
                        "INSERT INTO revoked (number, list, written_ms) VALUES (1, $1, now_ms()) "
                        "ON CONFLICT (number) DO UPDATE SET list = excluded.list, "
                        "written_ms = excluded.written_ms "
                        "WHERE length(excluded.list) >= length(revoked.list)",
                        sql_text(list));
    return n < 0 ? -1 : 0;
}

int store_revoked_get(store_t *self, size_t longer_than, char **list, err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT list FROM revoked WHERE number = 1 AND length(list) > $1",
                        sql_count(longer_than));
    if (n >= 0) *list = n > 0 ? sql_cell_dup(&rows, 0, 0) : NULL;
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}
