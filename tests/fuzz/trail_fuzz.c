/* Fuzz target: the trail of what operators have done (store/trail.c), after somebody who owns the database was at it. Each
 * edit of the input puts bytes, a number or a blob into a column, takes a row out or puts one in. A check that calls the
 * trail whole has read the rows as they were written, and one that does not names the first that is not. A trail without
 * a row and without an end is that of a new cluster.
 *
 * An edit: what (1 byte), row (1), column (1), how many bytes (1), these. */
#include "base/mem.h"
#include "base/str.h"
#include "store/private.h"

#include "fuzz.h"

enum { TRAIL_ROWS = 5, TRAIL_EDITS = 8 };

static store_t *trail_store;
static store_trail_t trail_written;

static void trail_sql(const char *text)
{
    err_t err = {0};
    if (sql_script(trail_store->db, text, &err) < 0) broken(text, err.text);
}

/* Once: a chain, kept aside, in a database whose owner has dropped what keeps it. */
static void trail_begin(void)
{
    static const store_options_t limits = {.connect_ms = 1000, .statement_ms = 1000};
    static const char *const actions[TRAIL_ROWS] = {"submit", "pause", "resume", "scale", "revoke"};
    err_t err = {0};
    trail_store = store_open("sqlite://:memory:", &limits, &err);
    if (!trail_store || store_migrate(trail_store, 0, &err) < 0) broken("a store", err.text);
    for (int i = 0; i < TRAIL_ROWS; i++) {
        store_deed_t deed = {"pcp-1", "ann", "00ff", actions[i], i == 3 ? "" : "r1", "{}"};
        if (store_trail_add(trail_store, NULL, &deed, &err) < 0) broken("a row", err.text);
    }
    trail_sql("DROP TRIGGER trail_not_changed; DROP TRIGGER trail_not_deleted;"
              "PRAGMA ignore_check_constraints = ON; CREATE TABLE kept AS SELECT * FROM trail;"
              "CREATE TABLE kept_end AS SELECT * FROM trail_end;");
    if (store_trail_read(trail_store, 0, &trail_written, &err) < 0) broken("rows", err.text);
}

static void trail_value(str_t *sql, int what, const uint8_t *bytes, size_t n)
{
    uint64_t number = 0;
    for (size_t i = 0; i < n && i < 8; i++) number |= (uint64_t)bytes[i] << 8 * i;
    if (what == 0) {
        str_addf(sql, "%lld", (long long)number);
        return;
    }
    str_add(sql, what == 1 ? "CAST(x'" : "x'");
    for (size_t i = 0; i < n; i++) str_addf(sql, "%02x", bytes[i]);
    str_add(sql, what == 1 ? "' AS TEXT)" : "'");
}

/* True: of the last row's number and hash nothing is left. */
static bool trail_edit(const uint8_t head[4], const uint8_t *bytes)
{
    static const char *const columns[] = {"seq",    "time_ms", "who",    "key_name", "public_key",
                                          "action", "object",  "detail", "before",   "hash"};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    str_t sql = {0};
    int what = head[0] % 6, row = head[1] % TRAIL_ROWS + 1, column = head[2] % (COLUMNS + 2);
    if (what < 3) {
        bool end = column >= COLUMNS; /* the last row's number and hash */
        str_addf(&sql, "UPDATE %s SET %s = ", end ? "trail_end" : "trail",
                 end ? column == COLUMNS ? "seq" : "hash" : columns[column]);
        trail_value(&sql, what, bytes, head[3]);
        if (!end) str_addf(&sql, " WHERE seq = %d", row);
    } else if (what == 3) {
        str_addf(&sql, "DELETE FROM trail WHERE seq = %d", row);
    } else if (what == 4) {
        str_addf(&sql, "DELETE FROM trail_end");
    } else {
        str_add(&sql, "INSERT INTO trail SELECT ");
        trail_value(&sql, head[2] % 3, bytes, head[3]);
        str_addf(&sql,
                 ", time_ms, who, key_name, public_key, action, object, detail, before, hash "
                 "FROM kept WHERE seq = %d",
                 row);
    }
    sql_script(trail_store->db, str_text(&sql), NULL); /* two rows of one number are refused */
    str_fini(&sql);
    return what == 4;
}

static bool trail_same(const store_trail_row_t *a, const store_trail_row_t *b)
{
    return a->seq == b->seq && a->time_ms == b->time_ms && strcmp(a->who, b->who) == 0 &&
           strcmp(a->key_name, b->key_name) == 0 && strcmp(a->public_key, b->public_key) == 0 &&
           strcmp(a->action, b->action) == 0 && strcmp(a->object, b->object) == 0 &&
           strcmp(a->detail, b->detail) == 0 && strcmp(a->before, b->before) == 0 &&
           strcmp(a->hash, b->hash) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err_t err = {0};
    bool no_end = false;
    store_trail_t rows;
    store_trail_check_t check;
    if (!trail_store) trail_begin();
    trail_sql("DELETE FROM trail; INSERT INTO trail SELECT * FROM kept;"
              "DELETE FROM trail_end; INSERT INTO trail_end SELECT * FROM kept_end;");
    for (int i = 0; i < TRAIL_EDITS && n >= 4 && n - 4 >= data[3]; i++) {
        no_end = trail_edit(data, data + 4) || no_end;
        n -= 4 + data[3];
        data += 4 + data[3];
    }
    if (store_trail_read(trail_store, 0, &rows, &err) < 0 ||
        store_trail_check(trail_store, &check, &err) < 0)
        broken("what SQLite has can be read", err.text);
    size_t same = 0;
    while (same < rows.n && same < TRAIL_ROWS &&
           trail_same(&rows.at[same], &trail_written.at[same]))
        same++;
    if (check.n != (int64_t)same) broken("rows as they were written", "");
    if (check.broken && check.broken != check.n + 1) broken("the first that is not", "");
    bool is_new = rows.n == 0 && no_end;
    if (!check.broken && !is_new && (same < TRAIL_ROWS || rows.n > TRAIL_ROWS))
        broken("what was changed is found", "");
    store_trail_fini(&rows);
    return 0;
}
