/* pcp audit: what operators have done, and whether the records of it are as they were written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pcp/cmd.h"
#include "pcp/output.h"
#include "store/store.h"

typedef struct {
    char *store, *run, *since, *output;
    bool json, verify;
    int64_t wait_ms;
} options_t;

static const config_field_t fields[] = {
    {"store", CONFIG_STRING, offsetof(options_t, store), NULL,
     "postgresql://USER@HOST:PORT/DATABASE or sqlite:///PATH", 0, 0, NULL, true},
    {"run", CONFIG_STRING, offsetof(options_t, run), NULL,
     "only what was done to this run, worker or key", 0, 0, NULL, false},
    {"since", CONFIG_STRING, offsetof(options_t, since), NULL,
     "only from this time on: 2026-01-31 or 2026-01-31T12:00:00Z (UTC)", 0, 0, NULL, false},
    {"verify", CONFIG_BOOL, offsetof(options_t, verify), "false",
     "compare each row's hash, and name the first that was changed or is missing", 0, 0, NULL,
     false},
    OUTPUT_FIELDS(options_t, ""),
    {"wait_ms", CONFIG_INT, offsetof(options_t, wait_ms), "30000", "how long a statement may take",
     1, 3600000, NULL, false},
};
static const config_table_t table = {
    .purpose =
        "tell what operators have done, and verify that nobody has changed the records of it",
    .usage = "usage: pcp audit --store URL [--run RUN] [--since TIME] [--verify]\n\n"
             "Each submission, pause, resume, cancellation, deletion, change of workers, "
             "revocation and\n"
             "trust is a row that covers the one before with its hash (docs/security.md).\n"
             "Exit status: 0 as asked, 1 an error, or --verify has found a broken row, 2 usage.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

static int read_since(const options_t *o, int64_t *ms, err_t *err)
{
    struct tm parts = {0};
    *ms = 0;
    if (!o->since) return 0;
    const char *end = strptime(o->since, "%Y-%m-%d", &parts);
    if (end && *end == 'T') end = strptime(end, "T%H:%M:%SZ", &parts);
    if (!end || *end)
        return err_set(err, ERR_ARG, "since: \"%s\" is no time: 2026-01-31T12:00:00Z", o->since);
    *ms = (int64_t)timegm(&parts) * 1000;
    return 0;
}

static json_t *json_of(const store_trail_row_t *row)
{
    char when[32];
    time_t seconds = (time_t)(row->time_ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    json_t *detail = json_loads(row->detail, 0, NULL);
    return json_pack("{sI ss so so so so so so so}", "seq", (json_int_t)row->seq, "time", when,
                     "who", output_text(row->who), "key", output_text(row->key_name), "public_key",
                     output_text(row->public_key), "action", output_text(row->action), "object",
                     output_text(row->object), "detail", detail ? detail : json_null(), "hash",
                     output_text(row->hash));
}

/* Rows of a page that are asked for. A row's number says where to go on: one that is not above those before it, as a
 * text in its place is not, would be read for ever. */
static int list_page(const options_t *o, const store_trail_t *page, int64_t since, int64_t *after,
                     json_t *rows, err_t *err)
{
    for (size_t i = 0; i < page->n; i++) {
        const store_trail_row_t *row = &page->at[i];
        if (row->seq <= *after)
            return err_set(err, ERR_CORRUPT,
                           "the row behind number %lld of the trail has no number above it: it was "
                           "changed (pcp audit --verify)",
                           (long long)*after);
        *after = row->seq;
        if (row->time_ms >= since && (!o->run || strcmp(o->run, row->object) == 0))
            json_array_append_new(rows, json_of(row));
    }
    return 0;
}

static int list(const options_t *o, store_t *store, err_t *err)
{
    static const output_column_t columns[] = {
        {"SEQ", "seq", -5, NULL},   {" TIME", "time", 21, NULL}, {"ACTION", "action", 10, NULL},
        {"OF", "object", 24, NULL}, {"WHO", "who", 24, NULL},    {"KEY", "key", 12, NULL}};
    int64_t since, after = 0;
    if (read_since(o, &since, err) < 0) return -1;
    json_t *rows = json_array();
    for (bool more = true; more;) {
        store_trail_t page = {0};
        int rc = store_trail_read(store, after, &page, err);
        if (rc == 0) rc = list_page(o, &page, since, &after, rows, err);
        more = page.n > 0;
        store_trail_fini(&page);
        if (rc < 0) {
            json_decref(rows);
            return -1;
        }
    }
    output_list(output_of(o->output, o->json), columns, sizeof columns / sizeof *columns, rows,
                stdout);
    return 0;
}

static int verify(const options_t *o, store_t *store, err_t *err)
{
    store_trail_check_t check;
    if (store_trail_check(store, &check, err) < 0) return -1;
    output_t format = output_of(o->output, o->json);
    if (format == OUTPUT_TABLE && !check.broken)
        printf("%lld rows are as they were written; the last one's hash: %s\n", (long long)check.n,
               *check.hash ? check.hash : "none");
    if (format != OUTPUT_TABLE)
        output_value(format,
                     json_pack("{sI so ss}", "rows", (json_int_t)check.n, "broken",
                               check.broken ? json_integer((json_int_t)check.broken) : json_null(),
                               "hash", check.hash),
                     stdout);
    if (!check.broken) return 0;
    return err_set(err, ERR_CORRUPT,
                   "row %lld of the trail was changed, taken out or put in; the %lld before it are "
                   "as they were written",
                   (long long)check.broken, (long long)check.n);
}

static int run(const options_t *o, const config_args_t *args, err_t *err)
{
    if (args->n_operands > 0)
        return err_set(err, ERR_ARG, "unexpected word \"%s\"", args->operands[0]);
    if (!o->store) return err_set(err, ERR_ARG, "say which records: --store URL");
    store_options_t limits = {
        .connect_ms = o->wait_ms, .statement_ms = o->wait_ms, .read_only = true};
    store_t *store = store_open(o->store, &limits, err);
    int rc = store ? store_check(store, err) : -1;
    if (rc == 0) rc = o->verify ? verify(o, store, err) : list(o, store, err);
    store_destroy(&store);
    return rc;
}

int cmd_audit(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    err_t err = {0};
    bool done;
    int status = cmd_load(&table, &options, argc, argv, &args, &done);
    if (!done && run(&options, &args, &err) < 0) status = cmd_fail("audit", &err);
    config_args_fini(&args);
    config_fini(&table, &options);
    return status;
}
