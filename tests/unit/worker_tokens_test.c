/* A worker's tokens, fetched from an object service: of a large file little more than the windows
 * that are trained. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <czmq.h>

#include "base/log.h"
#include "base/mem.h"
#include "data/feed.h"
#include "data/range.h"
#include "data_server.h"
#include "msg/limits.h"
#include "msg/service.h"
#include "temp.h"
#include "worker/tokens.h"

enum { T = 256, N_WINDOWS = 8000, N = N_WINDOWS * T + 1 }; /* 4 MB */

typedef struct {
    char *dir, endpoint[128], hash[HASH_HEX];
    uint16_t *values;
    float theta;
    data_server_t *server;
    data_client_t *client;
} rig_t;

static rig_t *rig_new(uint64_t n)
{
    rig_t *rig = mem_calloc(1, sizeof *rig);
    rig->dir = temp_dir();
    snprintf(rig->endpoint, sizeof rig->endpoint, "ipc://%s/data", rig->dir);
    rig->values = mem_calloc(n, sizeof *rig->values);
    for (uint64_t i = 0; i < n; i++) rig->values[i] = (uint16_t)(i * 7919 >> 3);
    rig->server = data_server_new(rig->endpoint, &rig->theta, 1);
    char *endpoints[] = {rig->endpoint};
    data_options_t options = {.endpoints = endpoints, .n_endpoint = 1};
    rig->client = data_client_new(&options, NULL);
    hash_content(rig->values, n * 2, rig->hash);
    assert_int_equal(data_put_object(rig->client, rig->hash, rig->values, n * 2, NULL), 0);
    data_server_traffic(rig->server);
    return rig;
}

static void rig_free(rig_t *rig)
{
    data_client_destroy(&rig->client);
    data_server_destroy(&rig->server);
    free(rig->values);
    temp_remove(&rig->dir);
    free(rig);
}

/* Fetch the windows of a lease, and compare each with the file. */
static void fetch(rig_t *rig, tokens_t *tokens, const data_order_t *order, uint64_t start,
                  uint64_t count)
{
    data_range_t range = {0, start, count};
    uint64_t *units = mem_calloc(count, sizeof *units);
    err_t err = {0};
    assert_int_equal(data_range_units(order, &range, 0, count, units, &err), 0);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(tokens_want(tokens, units[i] * T, T + 1, &err), 0);
    if (tokens_fetch(tokens, rig->client, &err) < 0) fail_msg("%s", err.text);
    for (uint64_t i = 0; i < count; i++)
        assert_memory_equal((const uint16_t *)tokens_at(tokens) + units[i] * T,
                            rig->values + units[i] * T, (T + 1) * 2);
    free(units);
}

static void windows_alone_are_fetched(void **unused)
{
    enum { LEASE = 64 };
    (void)unused;
    rig_t *rig = rig_new(N);
    const data_order_t order = {.seed = 5, .n_units = N_WINDOWS};
    tokens_t *tokens = tokens_new(rig->dir, &(tokens_which_t){rig->hash, N, 2, 0}, NULL);
    for (int lease = 0; lease < 3; lease++) {
        fetch(rig, tokens, &order, (uint64_t)lease * LEASE, LEASE);
        uint64_t traffic = data_server_traffic(rig->server), needed = LEASE * (T + 1) * 2;
        print_message("%llu bytes for %llu\n", (unsigned long long)traffic,
                      (unsigned long long)needed);
        assert_true(traffic >= needed && traffic < needed * 6 / 5);
    }
    fetch(rig, tokens, &order, 0, LEASE); /* they are here */
    assert_int_equal(data_server_traffic(rig->server), 0);
    fetch(rig, tokens, &order, 0, N_WINDOWS);
    uint64_t rest = data_server_traffic(rig->server);
    assert_true(rest > 0 && rest < N * 2);
    tokens_destroy(&tokens);
    tokens = tokens_new(rig->dir, &(tokens_which_t){rig->hash, N, 2, 0},
                        NULL); /* the next process finds all of it */
    fetch(rig, tokens, &order, 0, N_WINDOWS);
    assert_int_equal(data_server_traffic(rig->server), 0);
    tokens_destroy(&tokens);
    rig_free(rig);
}

/* A lease of whole steps, as trainers have them. */
static feed_t feed_of(batch_layout_t *layout, const data_order_t *order, uint64_t start,
                      uint64_t count)
{
    feed_t feed;
    err_t err = {0};
    const int64_t shape[2] = {4, T};
    const ir_type_t types[2] = {ir_type(DT_I32, 2, shape), ir_type(DT_I32, 2, shape)};
    const data_range_t range = {0, start, count};
    assert_int_equal(batch_layout(DATA_WINDOWS, types, 2, layout, &err), 0);
    assert_int_equal(feed_init(&feed, layout, order, &range, 65536, 1, &err), 0);
    return feed;
}

/* Its windows are at hand, and right; bytes that were fetched for it now. */
static uint64_t fetch_feed(rig_t *rig, tokens_t *tokens, feed_t *feed)
{
    err_t err = {0};
    if (tokens_fetch_feed(tokens, feed, rig->client, &err) < 0) fail_msg("%s", err.text);
    uint64_t traffic = data_server_traffic(rig->server);
    for (uint64_t step = 0; step < feed->range.count / 4; step++) {
        assert_int_equal(feed_step(feed, tokens_at(tokens), step, &err), 0);
        const int32_t *x = feed->args[0], *y = feed->args[1];
        for (int i = 0; i < 4 * T; i++) {
            uint64_t at = feed->units[i / T] * T + (uint64_t)(i % T);
            assert_true(x[i] == rig->values[at] && y[i] == rig->values[at + 1]);
        }
    }
    return traffic;
}

/* Bytes of the disk under the file that is growing. */
static uint64_t on_disk(const rig_t *rig)
{
    struct stat info;
    glob_t files;
    char *pattern = mem_printf("%s/*.tmp.*", rig->dir);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    assert_int_equal(files.gl_pathc, 1);
    assert_int_equal(stat(files.gl_pathv[0], &info), 0);
    assert_true(info.st_size == N * 2);
    globfree(&files);
    free(pattern);
    return (uint64_t)info.st_blocks * 512;
}

static void what_was_used_longest_ago_goes(void **unused)
{
    enum { LEASE = 64, LEASES = 40, LIMIT = 900 << 10 };
    (void)unused;
    rig_t *rig = rig_new(N);
    const data_order_t order = {.seed = 5, .n_units = N_WINDOWS};
    batch_layout_t layout;
    uint64_t most = 0;
    tokens_t *tokens = tokens_new(rig->dir, &(tokens_which_t){rig->hash, N, 2, LIMIT}, NULL);
    assert_true(on_disk(rig) < LIMIT); /* nothing of it is reserved */
    for (int lease = 0; lease < LEASES; lease++) {
        feed_t feed = feed_of(&layout, &order, (uint64_t)lease * LEASE, LEASE);
        assert_true(fetch_feed(rig, tokens, &feed) >= LEASE * T * 2 / 2);
        assert_int_equal(fetch_feed(rig, tokens, &feed), 0);
        if (on_disk(rig) > most) most = on_disk(rig);
        feed_fini(&feed);
    }
    print_message("%llu bytes at most, limit %d\n", (unsigned long long)most, LIMIT);
    assert_true(most <= LIMIT && most > LIMIT / 2);
    feed_t last = feed_of(&layout, &order, (LEASES - 2) * LEASE, LEASE),
           first = feed_of(&layout, &order, 0, LEASE);
    assert_int_equal(fetch_feed(rig, tokens, &last), 0);
    assert_true(fetch_feed(rig, tokens, &first) > LEASE * T * 2 / 2);
    assert_int_equal(fetch_feed(rig, tokens, &last), 0); /* used after the others */
    feed_t large = feed_of(&layout, &order, 0,
                           N_WINDOWS / 2); /* more than there may be: it has to */
    fetch_feed(rig, tokens, &large);
    feed_fini(&first);
    feed_fini(&last);
    feed_fini(&large);
    tokens_destroy(&tokens);
    rig_free(rig);
}

static void the_next_lease_is_fetched_meanwhile(void **unused)
{
    enum { LEASE = 64 };
    (void)unused;
    rig_t *rig = rig_new(N);
    const data_order_t order = {.seed = 5, .n_units = N_WINDOWS};
    batch_layout_t layout;
    char *endpoints[] = {rig->endpoint};
    const ahead_which_t from = {.endpoints = endpoints, .n_endpoint = 1};
    ahead_t *ahead = ahead_new();
    tokens_t *tokens = tokens_new(rig->dir, &(tokens_which_t){rig->hash, N, 2, 0}, NULL);
    feed_t feed[3];
    for (uint64_t i = 0; i < 3; i++) feed[i] = feed_of(&layout, &order, i * LEASE, LEASE);
    fetch_feed(rig, tokens, &feed[0]);
    tokens_fetch_ahead(tokens, &feed[1], ahead, &from);
    uint64_t n_bytes = tokens_end_ahead(tokens, NULL, NULL);
    assert_true(n_bytes >= LEASE * T * 2 / 2 && n_bytes < LEASE * (T + 1) * 2 * 6 / 5);
    assert_int_equal(data_server_traffic(rig->server), n_bytes);
    assert_int_equal(fetch_feed(rig, tokens, &feed[1]), 0);
    /* It was another lease after all, and nobody waits for what was guessed. */
    data_server_fault(rig->server, SERVER_SILENT, 1000000);
    tokens_fetch_ahead(tokens, &feed[2], ahead, &from);
    ahead_forget(ahead);
    data_server_fault(rig->server, SERVER_SILENT, 0);
    assert_int_equal(tokens_end_ahead(tokens, NULL, NULL), 0);
    assert_true(fetch_feed(rig, tokens, &feed[2]) > 0);
    tokens_fetch_ahead(tokens, &feed[0], ahead, &from); /* all of it is here */
    assert_int_equal(tokens_end_ahead(tokens, NULL, NULL), 0);
    for (int i = 0; i < 3; i++) feed_fini(&feed[i]);
    tokens_destroy(&tokens);
    /* Beside what is trained on there is no room for it. */
    const tokens_which_t little = {rig->hash, N, 2, 300 << 10};
    tokens = tokens_new(rig->dir, &little, NULL);
    feed[0] = feed_of(&layout, &order, 0, LEASE);
    feed[1] = feed_of(&layout, &order, LEASE, LEASE);
    fetch_feed(rig, tokens, &feed[0]);
    tokens_fetch_ahead(tokens, &feed[1], ahead, &from);
    assert_int_equal(tokens_end_ahead(tokens, NULL, NULL), 0);
    feed_fini(&feed[0]);
    feed_fini(&feed[1]);
    tokens_destroy(&tokens);
    ahead_destroy(&ahead);
    rig_free(rig);
}

static void a_small_file_is_fetched_whole(void **unused)
{
    enum { SMALL = MSG_CHUNK_BYTES / 2 };
    (void)unused;
    rig_t *rig = rig_new(SMALL);
    tokens_t *tokens = tokens_new(rig->dir, &(tokens_which_t){rig->hash, SMALL, 2, 0}, NULL);
    assert_int_equal(tokens_want(tokens, 1000, 10, NULL), 0);
    assert_int_equal(tokens_fetch(tokens, rig->client, NULL), 0);
    assert_int_equal(data_server_traffic(rig->server), SMALL * 2);
    assert_memory_equal(tokens_at(tokens), rig->values, SMALL * 2);
    tokens_destroy(&tokens);
    rig_free(rig);
}

int main(void)
{
    log_init("worker_tokens_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_alone_are_fetched),
        cmocka_unit_test(what_was_used_longest_ago_goes),
        cmocka_unit_test(the_next_lease_is_fetched_meanwhile),
        cmocka_unit_test(a_small_file_is_fetched_whole),
    };
    int failed = cmocka_run_group_tests_name("worker_tokens", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
