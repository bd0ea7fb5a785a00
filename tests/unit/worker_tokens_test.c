/* A worker's tokens, fetched from an object service: of a large file little more than the windows
 * that are trained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    tokens_t *tokens = tokens_new(rig->dir, rig->hash, N, 2, NULL);
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
    tokens = tokens_new(rig->dir, rig->hash, N, 2, NULL); /* the next process finds all of it */
    fetch(rig, tokens, &order, 0, N_WINDOWS);
    assert_int_equal(data_server_traffic(rig->server), 0);
    tokens_destroy(&tokens);
    rig_free(rig);
}

static void a_small_file_is_fetched_whole(void **unused)
{
    enum { SMALL = MSG_CHUNK_BYTES / 2 };
    (void)unused;
    rig_t *rig = rig_new(SMALL);
    tokens_t *tokens = tokens_new(rig->dir, rig->hash, SMALL, 2, NULL);
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
        cmocka_unit_test(a_small_file_is_fetched_whole),
    };
    int failed = cmocka_run_group_tests_name("worker_tokens", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
