/* Opening a store, and the checks all its functions share. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "store/private.h"

/* "INSERT ... VALUES ($1,...),($k,...) tail" with STORE_BATCH rows of n_column parameters: a fixed
 * text. */
static char *batch_insert(const char *head, int n_column, const char *tail)
{
    str_t text = {0};
    str_add(&text, head);
    for (int row = 0; row < STORE_BATCH; row++)
        for (int c = 0; c < n_column; c++)
            str_addf(&text, "%s$%d%s",
                     c     ? ","
                     : row ? ",("
                           : " (",
                     row * n_column + c + 1, c == n_column - 1 ? ")" : "");
    str_add(&text, tail);
    return text.at;
}

store_t *store_open(const char *url, const store_options_t *options, err_t *err)
{
    sql_limits_t limits = {.connect_ms = 5000, .statement_ms = 10000};
    if (options && options->connect_ms > 0) limits.connect_ms = options->connect_ms;
    if (options && options->statement_ms > 0) limits.statement_ms = options->statement_ms;
    limits.relaxed = options && options->relaxed;
    limits.read_only = options && options->read_only;
    limits.existing = options && (options->existing || options->read_only);
    if (limits.connect_ms > 3600000 || limits.statement_ms > 3600000) {
        err_set(err, ERR_ARG, "store: time-outs are at most an hour (3,600,000 ms)");
        return NULL;
    }
    sql_t *db = sql_open(url, &limits, err);
    if (!db) return NULL;
    store_t *self = mem_calloc(1, sizeof *self);
    self->db = db;
    self->insert_events = batch_insert(
        "INSERT INTO event (time_ms, level, service, member, name, run_id, round, detail, key) "
        "VALUES",
        9, " ON CONFLICT DO NOTHING");
    self->insert_samples = batch_insert(
        "INSERT INTO sample (time_ms, name, member, run_id, round, value) VALUES", 6, "");
    return self;
}

void store_destroy(store_t **self_p)
{
    store_t *self = *self_p;
    if (!self) return;
    sql_destroy(&self->db);
    free(self->insert_events);
    free(self->insert_samples);
    free(self);
    *self_p = NULL;
}

char *store_mask_url(const char *url)
{
    str_t out = {0};
    const char *rest = url, *at;
    size_t n;
    while ((at = secret_next(url, rest, &n))) {
        str_addn(&out, rest, (size_t)(at - rest));
        str_add(&out, "***");
        rest = at + n;
    }
    str_add(&out, rest);
    return out.at;
}

int store_check_id(const char *what, const char *id, err_t *err)
{
    size_t n = id ? strnlen(id, STORE_ID) : 0;
    if (n == 0) return err_set(err, ERR_ARG, "store: the %s is empty", what);
    if (n >= STORE_ID)
        return err_set(err, ERR_ARG, "store: the %s \"%.40s...\" is longer than %d bytes", what, id,
                       STORE_ID - 1);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)id[i] < ' ' || id[i] == 0x7f)
            return err_set(err, ERR_ARG, "store: the %s has a control character (byte %zu is %d)",
                           what, i, id[i]);
    return 0;
}

int store_check_word(const char *what, const char *word, const char *words, err_t *err)
{
    size_t n = word ? strlen(word) : 0;
    for (const char *at = words; n && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && strncmp(at, word, n) == 0) return 0;
    return err_set(err, ERR_ARG, "store: \"%.40s\" is no %s; known are: %s", word ? word : "", what,
                   words);
}

int store_begin(store_t *self, const store_leader_t *leader, err_t *err)
{
    return leader ? store_leader_begin(self, leader, err) : sql_begin(self->db, err);
}
