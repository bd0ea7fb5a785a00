/* The data client against an aggregator that loses requests, is not ready, or goes away and comes
 * back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "data_server.h"
#include "msg/data_client.h"
#include "msg/limits.h"
#include "msg/service.h"
#include "outer/codec.h"
#include "temp.h"

enum { N = 2 * MSG_CHUNK_FLOATS + 77 }; /* three chunks */

typedef struct {
    char *dir, endpoint[128];
    float *theta, *got;
    data_server_t *server;
    data_client_t *client;
    bool stop;
} rig_t;

static bool stopped(void *user)
{
    return ((rig_t *)user)->stop;
}

static rig_t *rig_new(void)
{
    rig_t *rig = mem_calloc(1, sizeof *rig);
    rig->dir = temp_dir();
    snprintf(rig->endpoint, sizeof rig->endpoint, "ipc://%s/data", rig->dir);
    rig->theta = mem_calloc(N, sizeof(float));
    rig->got = mem_calloc(N, sizeof(float));
    for (int i = 0; i < N; i++) rig->theta[i] = (float)i;
    rig->server = data_server_new(rig->endpoint, rig->theta, N);
    char *endpoints[] = {rig->endpoint};
    data_options_t options = {
        .endpoints = endpoints, .n_endpoint = 1, .run = 7, .stopped = stopped, .user = rig};
    rig->client = data_client_new(&options, NULL);
    assert_non_null(rig->client);
    return rig;
}

static void rig_free(rig_t *rig)
{
    data_client_destroy(&rig->client);
    data_server_destroy(&rig->server);
    free(rig->theta);
    free(rig->got);
    temp_remove(&rig->dir);
    free(rig);
}

static int64_t get_params(rig_t *rig)
{
    const uint64_t bounds[2] = {0, N};
    err_t err = {0};
    int64_t begin = clock_mono_ms();
    memset(rig->got, 0, N * sizeof(float));
    if (data_get_params(rig->client, bounds, 3, rig->got, &err) < 0) fail_msg("%s", err.text);
    assert_memory_equal(rig->got, rig->theta, N * sizeof(float));
    return clock_mono_ms() - begin;
}

static void lost_requests_are_sent_again(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    get_params(rig);
    data_server_fault(rig->server, SERVER_SILENT, 4); /* one of them twice */
    int64_t ms = get_params(rig);
    assert_true(ms >= MSG_RESEND_MS);
    rig_free(rig);
}

static void not_ready_is_waited_for(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    data_server_fault(rig->server, SERVER_NOT_READY, 10);
    int64_t ms = get_params(rig);
    assert_true(ms >= 3 * MSG_NOT_READY_MS);
    rig_free(rig);
}

static void an_aggregator_that_comes_back_costs_time_only(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    const uint64_t bounds[2] = {0, N};
    server_delta_t got;
    get_params(rig);
    data_server_vanish(rig->server, 300);
    get_params(rig);
    data_server_vanish(rig->server, 300);
    data_delta_t which = {
        .round = 3, .replica = 1, .fence = 9, .weight = 5, .codec = codec_find("f32", NULL)->id};
    err_t err = {0};
    if (data_put_delta(rig->client, bounds, &which, rig->theta, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(data_server_delta(rig->server, &got), 1);
    assert_int_equal(got.fence, 9);
    assert_int_equal(got.weight, 5);
    assert_memory_equal(got.values, rig->theta, N * sizeof(float));
    rig_free(rig);
}

/* What a stopped transfer had lent to ZeroMQ is not sent any more, for it is the caller's again. */
static void nothing_is_kept_of_a_stopped_upload(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    const uint64_t bounds[2] = {0, N};
    char endpoint[160];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/later", rig->dir);
    char *endpoints[] = {endpoint};
    data_options_t options = {
        .endpoints = endpoints, .n_endpoint = 1, .run = 7, .stopped = stopped, .user = rig};
    data_client_t *client = data_client_new(&options, NULL);
    data_delta_t which = {
        .round = 3, .replica = 1, .fence = 9, .weight = 5, .codec = codec_find("f32", NULL)->id};
    float *delta = mem_calloc(N, sizeof *delta);
    err_t err = {0};
    rig->stop = true; /* nobody is at that endpoint yet */
    assert_int_equal(data_put_delta(client, bounds, &which, delta, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    free(delta);
    rig->stop = false;
    data_server_t *server = data_server_new(endpoint, rig->theta, N);
    assert_int_equal(data_get_params(client, bounds, 3, rig->got, &err), 0);
    assert_memory_equal(rig->got, rig->theta, N * sizeof(float));
    server_delta_t got;
    assert_int_equal(data_server_delta(server, &got), 0);
    data_client_destroy(&client);
    data_server_destroy(&server);
    rig_free(rig);
}

static void objects(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    const size_t n = N * sizeof(float);
    char hash[HASH_HEX];
    size_t n_got = 0;
    err_t err = {0};
    hash_content(rig->theta, n, hash);
    assert_null(data_get_object(rig->client, hash, n, &n_got, &err));
    assert_int_equal(err.code, ERR_IO); /* not there: asking again will not help */
    assert_int_equal(data_put_object(rig->client, hash, rig->theta, n, &err), 0);
    assert_int_equal(data_put_object(rig->client, hash, rig->theta, n, &err), 0);
    assert_int_equal(data_server_objects(rig->server), 1);
    char *bytes = data_get_object(rig->client, hash, n, &n_got, &err);
    assert_non_null(bytes);
    assert_int_equal(n_got, n);
    assert_memory_equal(bytes, rig->theta, n);
    free(bytes);
    assert_null(data_get_object(rig->client, hash, n - 1, &n_got, &err));
    assert_int_equal(err.code, ERR_MEMORY);
    rig->stop = true;
    data_server_fault(rig->server, SERVER_SILENT, 1 << 30);
    assert_null(data_get_object(rig->client, hash, n, &n_got, &err));
    assert_int_equal(err.code, ERR_STATE);
    rig_free(rig);
}

int main(void)
{
    log_init("data_client_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_requests_are_sent_again),
        cmocka_unit_test(not_ready_is_waited_for),
        cmocka_unit_test(an_aggregator_that_comes_back_costs_time_only),
        cmocka_unit_test(nothing_is_kept_of_a_stopped_upload),
        cmocka_unit_test(objects),
    };
    int failed = cmocka_run_group_tests_name("data_client", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
