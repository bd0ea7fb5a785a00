/* The data client against an aggregator that loses requests, is not ready, or goes away and comes
 * back. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

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
    data_server_traffic(rig->server);
    data_server_fault(rig->server, SERVER_SILENT,
                      2); /* the first window: no answer overtakes any */
    int64_t ms = get_params(rig);
    assert_true(ms >= MSG_ASK_MS);
    assert_int_equal(data_server_traffic(rig->server), N * sizeof(float));
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

/* A chunk takes longer than any answer before it, and longer than silence is borne: it is asked
 * about, and carried once, either way. */
static void a_slow_link_carries_everything_once(void **unused)
{
    (void)unused;
    enum { CHUNKS = 1, MANY = CHUNKS * MSG_CHUNK_FLOATS };
    rig_t *rig = rig_new();
    const uint64_t bounds[2] = {0, MANY}, needed = MANY * sizeof(float);
    float *theta = mem_calloc(MANY, sizeof *theta), *got = mem_calloc(MANY, sizeof *got);
    char *endpoint = mem_printf("%s-slow", rig->endpoint);
    data_server_t *server = data_server_new(endpoint, theta, MANY);
    data_options_t options = {.endpoints = &endpoint, .n_endpoint = 1, .run = 7};
    data_client_t *client = data_client_new(&options, NULL);
    for (int i = 0; i < MANY; i++) theta[i] = (float)i;
    err_t err = {0};
    assert_int_equal(data_get_params(client, bounds, 3, got, &err), 0);
    data_server_traffic(server);
    data_server_pace(server, MSG_CHUNK_BYTES / 1.3);
    assert_int_equal(data_get_params(client, bounds, 3, got, &err), 0);
    assert_memory_equal(got, theta, needed);
    assert_int_equal(data_server_traffic(server), needed);
    data_delta_t which = {.replica = 1, .fence = 9, .weight = 5, .codec = 1};
    assert_int_equal(data_put_delta(client, bounds, &which, theta, &err), 0);
    assert_int_equal(data_server_traffic(server), needed);
    data_client_destroy(&client);
    data_server_destroy(&server);
    free(endpoint);
    free(theta);
    free(got);
    rig_free(rig);
}

/* What was acknowledged by an aggregator that has forgotten it since is sent again. */
static void an_upload_that_is_forgotten_begins_again(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    const size_t n = N * sizeof(float);
    char hash[HASH_HEX];
    err_t err = {0};
    hash_content(rig->theta, n, hash);
    data_server_forget(rig->server, 2); /* with the second chunk */
    assert_int_equal(data_put_object(rig->client, hash, rig->theta, n, &err), 0);
    assert_int_equal(data_server_objects(rig->server), 1);
    rig_free(rig);
}

/* --- peers that vanish while what is sent to them is lent to ZeroMQ --- */

typedef enum { PEER_ABSENT, PEER_MUTE, PEER_DEAF, PEER_GONE, PEER_KINDS } peer_t;
enum { N_LENT = 12 * MSG_CHUNK_FLOATS }; /* more than a window and sockets' buffers take */

typedef struct {
    peer_t kind;
    zsock_t *router; /* DEAF, GONE: greets, and reads one message at most */
    int listener;    /* MUTE: takes connections, says nothing */
    int asked;       /* how often `stopped` was called */
    char endpoint[160];
} vanishing_t;

/* By then a window of chunks has been handed over, and sent as far as buffers go. */
static bool vanish(void *user)
{
    vanishing_t *self = user;
    self->asked++;
    if (self->asked == 2 && self->kind == PEER_GONE) zsock_destroy(&self->router);
    return self->asked > 2;
}

static void vanishing_begin(vanishing_t *self, peer_t kind, const char *dir, bool tcp)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    *self = (vanishing_t){.kind = kind, .listener = -1};
    snprintf(self->endpoint, sizeof self->endpoint, tcp ? "tcp://127.0.0.1:*" : "ipc://%s/p%d", dir,
             kind);
    if (kind == PEER_MUTE || (kind == PEER_ABSENT && tcp)) {
        self->listener = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(bind(self->listener, (struct sockaddr *)&at, n), 0);
        assert_int_equal(getsockname(self->listener, (struct sockaddr *)&at, &n), 0);
        snprintf(self->endpoint, sizeof self->endpoint, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    }
    if (kind == PEER_MUTE) assert_int_equal(listen(self->listener, 4), 0);
    if (kind != PEER_DEAF && kind != PEER_GONE) return;
    self->router = zsock_new(ZMQ_ROUTER);
    zsock_set_rcvhwm(self->router, 1);
    zsock_set_rcvbuf(self->router, 64 << 10);
    zsock_set_linger(self->router, 0);
    assert_true(zsock_bind(self->router, "%s", self->endpoint) >= 0);
    snprintf(self->endpoint, sizeof self->endpoint, "%s", zsock_endpoint(self->router));
}

static void vanishing_end(vanishing_t *self)
{
    zsock_destroy(&self->router);
    if (self->listener >= 0) close(self->listener);
}

/* The call ends soon after it was stopped, and nobody reads the memory then: it is unmapped. */
static void buffers_come_back(peer_t kind, const char *dir, bool tcp)
{
    enum { SOON_MS = 20000 }; /* milliseconds, in truth; for ever, if it hung */
    const uint64_t bounds[2] = {0, N_LENT};
    const size_t n = N_LENT * sizeof(float);
    vanishing_t peer;
    vanishing_begin(&peer, kind, dir, tcp);
    char *endpoints[] = {peer.endpoint};
    data_options_t options = {
        .endpoints = endpoints, .n_endpoint = 1, .run = 7, .stopped = vanish, .user = &peer};
    data_client_t *client = data_client_new(&options, NULL);
    float *theta = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(theta != MAP_FAILED);
    memset(theta, 1, n);
    err_t err = {0};
    int64_t begin = clock_mono_ms();
    assert_int_equal(data_put_init(client, bounds, 3, theta, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    munmap(theta, n);
    assert_true(clock_mono_ms() - begin < SOON_MS);
    uint64_t sent, received;
    data_client_traffic(client, &sent, &received);
    bool met = kind == PEER_DEAF || kind == PEER_GONE;
    assert_true(sent >= (met ? MSG_WINDOW_FIRST * (uint64_t)MSG_CHUNK_BYTES : 0));
    assert_int_equal(received, 0);
    vanishing_end(&peer);
    data_client_destroy(&client);
}

static void what_was_lent_to_a_peer_that_vanished_comes_back(void **unused)
{
    (void)unused;
    char *dir = temp_dir();
    for (int kind = 0; kind < PEER_KINDS; kind++)
        for (int tcp = 0; tcp < 2; tcp++) buffers_come_back((peer_t)kind, dir, tcp == 1);
    temp_remove(&dir);
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
        cmocka_unit_test(a_slow_link_carries_everything_once),
        cmocka_unit_test(an_upload_that_is_forgotten_begins_again),
        cmocka_unit_test(what_was_lent_to_a_peer_that_vanished_comes_back),
        cmocka_unit_test(objects),
    };
    int failed = cmocka_run_group_tests_name("data_client", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
