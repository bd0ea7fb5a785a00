/* pcp db: the schema of a store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcp/cmd.h"
#include "pcp/output.h"
#include "store/store.h"

typedef struct {
    char *store, *output;
    bool json;
    int64_t to, wait_ms;
} options_t;

static const config_field_t fields[] = {
    {"store", CONFIG_STRING, offsetof(options_t, store), NULL,
     "postgresql://USER@HOST:PORT/DATABASE or sqlite:///PATH", 0, 0, NULL, true},
    OUTPUT_FIELDS(options_t, "status: "),
    {"to", CONFIG_INT, offsetof(options_t, to), "0", "migrate: version to stop at; 0: the newest",
     0, 9999, NULL, false},
    {"wait_ms", CONFIG_INT, offsetof(options_t, wait_ms), "600000",
     "how long a statement, or another program's migration, may take", 1, 3600000, NULL, false},
};
static const config_table_t table = {
    .purpose = "bring a store's schema up to date, or tell its version",
    .usage =
        "usage: pcp db migrate|status --store URL\n\n"
        "migrate  brings an empty or older database up to this program's schema; repeating it is\n"
        "         harmless, and so is running it while services of the version before work\n"
        "status   tells the versions\n"
        "Exit status: 0 the database is as this program needs it, 1 no answer or an error, 2 "
        "usage,\n"
        "4 the schema is another.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

static int report(const options_t *o, store_t *store, err_t *err)
{
    store_schema_t schema;
    if (store_schema(store, &schema, err) < 0) return -1;
    output_t format = output_of(o->output, o->json);
    if (format == OUTPUT_TABLE)
        printf("database: version %d\nprogram:  version %d\n", schema.present, schema.known);
    else
        output_value(format,
                     json_pack("{s:i, s:i}", "database", schema.present, "program", schema.known),
                     stdout);
    return store_check(store, err);
}

static int tell_reader(store_t *store, err_t *err)
{
    store_reader_t reader;
    if (store_reader(store, &reader, err) < 0) return -1;
    if (reader == STORE_READER_MISSING)
        fprintf(stderr,
                "pcp db: this user may not make the role pcp_reader, which dashboards read the "
                "views with:\n  as an administrator: CREATE ROLE pcp_reader NOLOGIN; then run pcp "
                "db migrate again\n");
    return 0;
}

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    const char *verb = args->n_operands == 1 ? args->operands[0] : "";
    bool migrate = strcmp(verb, "migrate") == 0;
    if (!migrate && strcmp(verb, "status") != 0)
        return err_set(err, ERR_ARG, "say one of: migrate, status");
    if (!o->store) return err_set(err, ERR_ARG, "say which database: --store URL (or PCP_STORE)");
    store_options_t limits = {.statement_ms = o->wait_ms, .read_only = !migrate};
    store_t *store = store_open(o->store, &limits, err);
    int rc = store ? 0 : -1;
    if (store && migrate) rc = store_migrate(store, (int)o->to, err);
    if (rc == 0 && migrate) rc = tell_reader(store, err);
    if (rc == 0 && (!migrate || o->to == 0)) rc = report(o, store, err);
    store_destroy(&store);
    return rc;
}

int cmd_db(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    int status = cmd_run(&table, &options, argc, argv, run, &err);
    return err.code == ERR_SCHEMA ? STORE_EXIT_SCHEMA : status;
}
