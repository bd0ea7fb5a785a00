/* Dumps: whole, of one moment, and back to the same records; tests/cluster/store.sh runs it on PostgreSQL, too. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/dump.h"
#include "store_help.h"
#include "temp.h"

static void one_event(store_t *store, const char *name, const char *detail)
{
    const store_event_t event = {.time_ms = 7,
                                 .level = "info",
                                 .service = "s",
                                 .member = "m",
                                 .name = name,
                                 .run = "r",
                                 .round = 3,
                                 .detail = detail};
    STORE_OK(store_event_add(store, NULL, &event, err));
}

/* Texts that COPY's format has to quote. */
static const char awkward[] = "{\"a\": \"tab\tline\nback\\slash \\N \xc3\xa9\"}";

static void fill(ledger_test_t *t)
{
    ledger_open(t, 0);
    one_event(t->store, "first", awkward);
    one_event(t->store, "second", "{}");
}

static store_dump_t dump(store_t *store, const char *dir)
{
    store_dump_t out = {0};
    STORE_OK(store_dump(store, dir, &out, err));
    return out;
}

static void test_there_and_back(void **state)
{
    ledger_test_t *t = *state;
    fill(t);
    char *dir = temp_dir(), *url = store_help_new();
    const store_dump_t from = dump(t->store, dir);
    store_t *other = store_help_open(url, false);
    STORE_OK(store_load_check(other, &from, err));
    STORE_OK(store_load(other, dir, &from, err));
    STORE_OK(store_check(other, err));
    static const char *const counts[] = {"SELECT count(*) FROM run", "SELECT count(*) FROM round",
                                         "SELECT count(*) FROM lease", "SELECT count(*) FROM event",
                                         "SELECT count(*) FROM leadership"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int64_t n = store_help_count(t->url, counts[i]);
        assert_true(n > 0);
        assert_int_equal(store_help_count(url, counts[i]), n);
    }
    store_leases_t was = {0}, is = {0};
    STORE_OK(store_lease_list(t->store, "r", 0, &was, err));
    STORE_OK(store_lease_list(other, "r", 0, &is, err));
    assert_int_equal(is.n, 1);
    assert_string_equal(is.at[0].state, was.at[0].state);
    assert_int_equal(is.at[0].range.count, was.at[0].range.count);
    store_leases_fini(&was);
    store_leases_fini(&is);
    char *same = mem_printf("SELECT count(*) FROM event WHERE detail = '%s'", awkward);
    assert_int_equal(store_help_count(url, same), 1);
    free(same);
    /* New events get new numbers. */
    one_event(other, "third", "{}");
    assert_int_equal(store_help_count(url, "SELECT count(DISTINCT id) FROM event"), 3);
    /* It is not filled twice. */
    STORE_REFUSED(ERR_STATE, store_load_check(other, &from, err));
    store_destroy(&other);
    store_help_drop(&url);
    temp_remove(&dir);
}

/* Tables of the schema that no row of the list names would be lost. */
static void test_every_table(void **state)
{
    ledger_test_t *t = *state;
    if (!store_help_postgres()) skip();
    char *dir = temp_dir();
    dump(t->store, dir);
    struct dirent *entry;
    int64_t n = 0;
    DIR *files = opendir(dir);
    assert_non_null(files);
    while ((entry = readdir(files))) n += strstr(entry->d_name, ".copy") != NULL;
    closedir(files);
    assert_int_equal(n + 3, /* run_transition, schema_migration, ledger_epoch */
                     store_help_count(t->url, "SELECT count(*) FROM pg_tables WHERE schemaname = "
                                              "current_schema()"));
    temp_remove(&dir);
}

typedef struct {
    store_t *store; /* its own */
    atomic_bool stop;
    uint64_t n;
} writer_t;

static void *write_on(void *arg)
{
    writer_t *self = arg;
    while (!self->stop) {
        store_event_t event = {.time_ms = 1,
                               .level = "info",
                               .service = "s",
                               .member = "m",
                               .name = "pair",
                               .round = -1};
        store_sample_t sample = {.time_ms = 1, .name = "pair", .member = "m", .round = -1};
        if (store_telemetry_write(self->store, "writer", (int64_t)++self->n, &event, 1, &sample, 1,
                                  NULL) < 0)
            return "a write failed";
    }
    return NULL;
}

/* An event and its sample are one transaction: a dump has both or neither. */
static void test_one_moment(void **state)
{
    ledger_test_t *t = *state;
    writer_t writer = {.store = store_help_open(t->url, false)};
    pthread_t thread;
    void *fault = NULL;
    assert_int_equal(pthread_create(&thread, NULL, write_on, &writer), 0);
    for (int i = 0; i < 8; i++) {
        char *dir = temp_dir(), *url = store_help_new();
        const store_dump_t from = dump(t->store, dir);
        store_t *other = store_help_open(url, false);
        STORE_OK(store_load(other, dir, &from, err));
        uint64_t n_event = 0, n_sample = 0;
        STORE_OK(store_telemetry_count(other, NULL, &n_event, &n_sample, err));
        assert_int_equal(n_event, n_sample);
        assert_int_equal(n_event, store_help_count(url, "SELECT coalesce(max(batch), 0) FROM "
                                                        "telemetry_source"));
        store_destroy(&other);
        store_help_drop(&url);
        temp_remove(&dir);
    }
    writer.stop = true;
    pthread_join(thread, &fault);
    if (fault) fail_msg("%s", (const char *)fault);
    assert_true(writer.n > 1);
    store_destroy(&writer.store);
}

static void test_what_is_refused(void **state)
{
    ledger_test_t *t = *state;
    char *dir = temp_dir(), *url = store_help_new();
    store_dump_t from = dump(t->store, dir);
    store_t *other = store_help_open(url, false);
    store_dump_t wrong = from;
    wrong.version += 1;
    STORE_REFUSED(ERR_SCHEMA, store_load_check(other, &wrong, err));
    snprintf(wrong.kind, sizeof wrong.kind, "other");
    STORE_REFUSED(ERR_STATE, store_load_check(other, &wrong, err));
    /* Empty tables are as good as none; those of an older version are not. */
    STORE_OK(store_migrate(other, from.version - 1, err));
    STORE_REFUSED(ERR_STATE, store_load_check(other, &from, err));
    STORE_OK(store_migrate(other, 0, err));
    STORE_OK(store_load_check(other, &from, err));
    /* A dump of tables that are not this program's. */
    store_destroy(&other);
    store_help_drop(&url);
    url = store_help_new();
    other = store_help_open(url, false);
    STORE_REFUSED(ERR_SCHEMA, store_dump(other, dir, &wrong, err));
    store_destroy(&other);
    store_help_drop(&url);
    temp_remove(&dir);
}

/* A file that is no dump leaves no records. */
static void test_damage(void **state)
{
    ledger_test_t *t = *state;
    fill(t);
    char *dir = temp_dir(), *url = store_help_new();
    const store_dump_t from = dump(t->store, dir);
    char *path = mem_printf("%s/%s", dir, store_help_postgres() ? "event.copy" : "records.db");
    STORE_OK(file_write_atomic(path, "x\ty\n", 4, err));
    store_t *other = store_help_open(url, false);
    err_t why = {0};
    assert_int_equal(store_load(other, dir, &from, &why), -1);
    if (!strstr(why.text, path)) fail_msg("%s", why.text);
    if (store_help_postgres())
        assert_int_equal(store_help_count(url, "SELECT count(*) FROM run"), 0);
    store_destroy(&other);
    store_help_drop(&url);
    free(path);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_back, ledger_set_up, ledger_tear_down),
        cmocka_unit_test_setup_teardown(test_every_table, ledger_set_up, ledger_tear_down),
        cmocka_unit_test_setup_teardown(test_one_moment, ledger_set_up, ledger_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_refused, ledger_set_up, ledger_tear_down),
        cmocka_unit_test_setup_teardown(test_damage, ledger_set_up, ledger_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
