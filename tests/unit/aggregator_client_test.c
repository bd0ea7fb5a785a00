/* The data client against an aggregator behind a ROUTER, with damage on the way. data_client_test.c
 * has it against a server that misbehaves. */
#include "aggregator_rig.h"

#include <math.h>
#include <zmq.h>

#include "base/log.h"
#include "msg/control.h"
#include "msg/data_client.h"

typedef struct {
    aggregator_t state;
    zsock_t *router;
    int damage; /* answers still to be damaged */
} server_t;

static void serve_reply(void *user, const msg_peer_t *to, const wire_header_t *header,
                        const void *payload, size_t n, shared_t *keep)
{
    server_t *server = user;
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_header_t sent = *header;
    if (n > 8 && server->damage > 0) {
        server->damage--;
        sent.check++;
    }
    wire_pack(&sent, bytes);
    void *raw = zsock_resolve(server->router);
    zmq_send(raw, to->at, to->n, ZMQ_SNDMORE);
    zmq_send(raw, bytes, sizeof bytes, ZMQ_SNDMORE);
    zmq_send(raw, n ? payload : "", n, 0);
    shared_drop(&keep);
}

static void serve(zsock_t *pipe, void *arg)
{
    server_t *server = arg;
    zsock_signal(pipe, 0);
    zpoller_t *poller = zpoller_new(pipe, server->router, NULL);
    while (zpoller_wait(poller, -1) == server->router) {
        zmsg_t *message = zmsg_recv(server->router);
        zframe_t *from = zmsg_first(message), *header = zmsg_next(message);
        zframe_t *payload = zmsg_next(message);
        msg_peer_t to = {.n = (uint8_t)zframe_size(from)};
        memcpy(to.at, zframe_data(from), to.n);
        aggregator_on_data(&server->state, &to, zframe_data(header), zframe_size(header),
                           zframe_data(payload), zframe_size(payload));
        zmsg_destroy(&message);
    }
    zpoller_destroy(&poller);
}

typedef struct {
    rig_t *rig;
    char endpoint[80]; /* its own: a name is free again only some time after its socket is gone */
    server_t server;
    zactor_t *actor;
    data_client_t *client;
} pair_t;

static double pack_below; /* of the next pair's client */

static void pair_up(pair_t *self, int damage)
{
    self->rig = rig_new();
    snprintf(self->endpoint, sizeof self->endpoint, "inproc://%s", self->rig->root);
    assign(self->rig, 0, N);
    self->server.state = self->rig->state; /* assigned: the server goes on from here */
    self->server.state.reply = serve_reply;
    self->server.state.user = &self->server;
    self->server.damage = damage;
    self->server.router = endpoint_open(endpoint_bind(ZMQ_ROUTER, self->endpoint), NULL);
    assert_non_null(self->server.router);
    self->actor = zactor_new(serve, &self->server);
    char *endpoint = self->endpoint;
    data_options_t options = {
        .endpoints = &endpoint, .n_endpoint = 1, .run = RUN, .pack_below = pack_below};
    self->client = data_client_new(&options, NULL);
    assert_non_null(self->client);
}

static void pair_down(pair_t *self)
{
    data_client_destroy(&self->client);
    zactor_destroy(&self->actor);
    zsock_destroy(&self->server.router);
    assert_int_equal(self->server.damage, 0);
    self->rig->state = self->server.state;
    rig_free(self->rig);
}

/* By the rig, while nobody is served. */
static void pair_commit(pair_t *self, const uint32_t *fences, const uint64_t *of)
{
    zactor_destroy(&self->actor);
    self->server.state.reply = take_reply;
    self->server.state.user = self->rig;
    self->rig->state = self->server.state;
    commit(self->rig, 0, fences, of);
    assert_string_equal(self->rig->error, "");
    self->server.state = self->rig->state;
    self->server.state.reply = serve_reply;
    self->server.state.user = &self->server;
}

static void pair_serve(pair_t *self)
{
    self->actor = zactor_new(serve, &self->server);
}

static void the_client_moves_objects(void **unused)
{
    (void)unused;
    enum { SIZE = 20 * MSG_CHUNK_BYTES + 3 }; /* more than a window */
    pair_t pair = {0};
    pair_up(&pair, 2);
    data_client_t *client = pair.client;
    err_t err = {0};
    char *bytes = malloc(SIZE), hash[HASH_HEX], piece[10];
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)(i * 7 + i / 4096);
    hash_content(bytes, SIZE, hash);
    uint64_t size = 0, first, both, received;
    assert_int_equal(data_put_object(client, hash, bytes, SIZE, &err), 0);
    data_client_traffic(client, &first, &received);
    assert_int_equal(data_put_object(client, hash, bytes, SIZE, &err), 0);
    data_client_traffic(client, &both, &received);
    /* It is known after one chunk; a slow machine may see that one sent again, or a few more. */
    assert_true(both - first < SIZE / 2);
    assert_int_equal(data_object_size(client, hash, &size, &err), 0);
    assert_int_equal(size, SIZE);
    size_t n = 0;
    char *back = data_get_object(client, hash, SIZE, &n, &err);
    assert_non_null(back);
    assert_memory_equal(back, bytes, SIZE);
    free(back);
    assert_null(data_get_object(client, hash, SIZE - 1, &n, &err));
    assert_int_equal(err.code, ERR_MEMORY);
    assert_int_equal(data_get_range(client, hash, MSG_CHUNK_BYTES - 5, 10, piece, &err), 0);
    assert_memory_equal(piece, bytes + MSG_CHUNK_BYTES - 5, 10);
    hash[0] = hash[0] == '0' ? '1' : '0';
    assert_null(data_get_object(client, hash, SIZE, &n, &err));
    free(bytes);
    pair_down(&pair);
}

static int write_bytes(void *user, uint64_t at, const void *bytes, size_t n, err_t *err)
{
    (void)err;
    memcpy((uint8_t *)user + at, bytes, n);
    return 0;
}

static int write_nothing(void *user, uint64_t at, const void *bytes, size_t n, err_t *err)
{
    (void)user, (void)bytes;
    return at == 0 ? 0 : err_set(err, ERR_IO, "no room for %zu bytes", n);
}

static void the_client_moves_values(void **unused)
{
    (void)unused;
    pair_t pair = {0};
    pair_up(&pair, 2);
    data_client_t *client = pair.client;
    err_t err = {0};
    uint64_t bounds[2] = {0, N};
    float *theta = calloc(N, sizeof *theta), *v = calloc(N, sizeof *v);
    float *again = calloc(N, sizeof *again);
    for (uint64_t i = 0; i < N; i++) theta[i] = value(9, i);
    for (uint64_t i = 0; i < N; i++) v[i] = value(8, i);
    const data_vector_t momentum = {.outer = true}, params = {0};
    const source_t from = source_of_bytes(v, N * sizeof *v);
    assert_int_equal(data_put_vector(client, bounds, &momentum, &from, &err), 0);
    assert_int_equal(data_put_init(client, bounds, 0, theta, &err), 0);
    assert_int_equal(data_get_params(client, bounds, 0, again, &err), 0);
    assert_memory_equal(theta, again, N * sizeof *theta);
    memset(again, 0, N * sizeof *again);
    const sink_t to = {.write = write_bytes, .user = again};
    assert_int_equal(data_get_vector(client, bounds, &momentum, &to, &err), 0);
    assert_memory_equal(v, again, N * sizeof *v);
    assert_int_equal(data_get_vector(client, bounds, &params, &to, &err), 0);
    assert_memory_equal(theta, again, N * sizeof *theta);
    /* A disk that is full ends it. */
    const sink_t full = {.write = write_nothing};
    assert_int_equal(data_get_vector(client, bounds, &params, &full, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    data_delta_t delta = {.replica = 1, .fence = 1, .weight = 5, .codec = 3};
    assert_int_equal(data_put_delta(client, bounds, &delta, theta, &err), 0);
    delta.round = 1;
    assert_int_equal(data_put_delta(client, bounds, &delta, theta, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    delta = (data_delta_t){.replica = 2, .fence = 1, .weight = 5, .codec = 1};
    theta[N - 1] = NAN;
    assert_int_equal(data_put_delta(client, bounds, &delta, theta, &err), -1);
    assert_int_equal(err.code, ERR_NUMERIC);
    assert_true(deltas_complete(&pair.server.state, 1, 0, 1, 5));
    free(theta);
    free(v);
    free(again);
    pair_down(&pair);
}

/* The same update and change in fewer bytes, with an answer damaged on the way. */
static void slow_lines_carry_less(void **unused)
{
    (void)unused;
    uint64_t sent[2], received[2], bounds[2] = {0, N};
    float *theta[2], *delta = calloc(N, sizeof *delta);
    for (uint64_t i = 0; i < N; i++) delta[i] = (float)(1e-2 * rng_normal(5, i));
    way_down = "int8";
    for (int packs = 0; packs < 2; packs++) {
        pair_t pair = {0};
        err_t err = {0};
        pack_below = packs ? 1e18 : 0;
        pair_up(&pair, packs);
        theta[packs] = calloc(N, sizeof(float));
        for (uint64_t i = 0; i < N; i++) theta[packs][i] = value(9, i);
        assert_int_equal(data_put_init(pair.client, bounds, 0, theta[packs], &err), 0);
        assert_int_equal(data_get_params(pair.client, bounds, 0, theta[packs], &err), 0);
        uint64_t up, down;
        data_client_traffic(pair.client, &up, &down);
        data_delta_t which = {.replica = 1, .fence = 1, .weight = 5, .codec = 3};
        assert_int_equal(data_put_delta(pair.client, bounds, &which, delta, &err), 0);
        static const uint32_t fences[K] = {0, 1};
        static const uint64_t of[K] = {0, 5};
        pair_commit(&pair, fences, of);
        pair.server.damage = packs;
        pair_serve(&pair);
        uint8_t wanted[] = {1, 1};
        const change_t change = {codec_find("int8", NULL), 0};
        if (data_get_wanted(pair.client, bounds, 1, &change, wanted, theta[packs], &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(wanted[0] + wanted[1], 0);
        data_client_traffic(pair.client, &sent[packs], &received[packs]);
        sent[packs] -= up;
        received[packs] -= down;
        pair_down(&pair);
    }
    assert_memory_equal(theta[0], theta[1], N * sizeof(float));
    assert_true(sent[0] >= N && sent[1] < sent[0] - sent[0] / 16);
    assert_true(received[0] >= N && received[1] < received[0] - received[0] / 16);
    for (int i = 0; i < 2; i++) free(theta[i]);
    free(delta);
    way_down = NULL;
    pack_below = 0;
}

/* Of an update that its round closed without only the rest is sent, and all of it where nothing was kept. */
static void a_late_update_goes_on(void **unused)
{
    (void)unused;
    static const uint32_t fences[K] = {1};
    static const uint64_t of[K] = {5};
    const uint64_t bounds[2] = {0, N}, end = N - MSG_CHUNK_FLOATS;
    float *delta = calloc(N, sizeof *delta);
    for (uint64_t i = 0; i < N; i++) delta[i] = value(5, i);
    for (int forgets = 0; forgets < 2; forgets++) {
        pair_t pair = {0};
        err_t err = {0};
        data_sent_t sent = {0};
        uint64_t before, after, down;
        pair_up(&pair, 0);
        assert_int_equal(data_put_init(pair.client, bounds, 0, delta, &err), 0);
        data_delta_t which = {.fence = 1, .weight = 5, .codec = 1};
        assert_int_equal(data_put_delta(pair.client, bounds, &which, delta, &err), 0);
        which.replica = 1;
        which.sent = &sent;
        which.late = true; /* nothing has come of it so far */
        assert_int_equal(data_put_delta(pair.client, bounds, &which, delta, &err), 0);
        assert_true(sent.n == 2 && sent.came[0] && sent.came[1]);
        pair_commit(&pair, fences, of);
        if (forgets) late_clear(&pair.server.state);
        pair_serve(&pair);
        data_client_traffic(pair.client, &before, &down);
        which.round = 1;
        if (data_put_delta(pair.client, bounds, &which, delta, &err) < 0) fail_msg("%s", err.text);
        data_client_traffic(pair.client, &after, &down);
        assert_int_equal(after - before, 4 * (forgets ? end + N : end));
        assert_true(sent.came[0] && sent.came[1]);
        zactor_destroy(&pair.actor);
        late_finish(&pair.server.state);
        assert_true(deltas_complete(&pair.server.state, 1, 0, 1, 5));
        data_sent_clear(&sent);
        pair_down(&pair);
    }
    free(delta);
}

static bool stop_at_once(void *user)
{
    return ++*(int *)user > 2;
}

static void a_client_can_be_stopped(void **unused)
{
    (void)unused;
    char *endpoint = "inproc://nobody-is-there";
    int asked = 0;
    data_options_t options = {
        .endpoints = &endpoint, .n_endpoint = 1, .stopped = stop_at_once, .user = &asked};
    err_t err = {0};
    data_client_t *client = data_client_new(&options, &err);
    uint64_t n, bounds[2] = {0, 10};
    float theta[10];
    char hash[HASH_HEX];
    hash_content("x", 1, hash);
    assert_int_equal(data_object_size(client, hash, &n, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    assert_int_equal(data_get_params(client, bounds, 0, theta, &err), -1);
    assert_int_equal(data_object_size(client, "no hash", &n, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    data_client_destroy(&client);
    options.n_endpoint = 0;
    assert_null(data_client_new(&options, &err));
}

int main(void)
{
    log_init("aggregator_client_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_moves_objects), cmocka_unit_test(the_client_moves_values),
        cmocka_unit_test(slow_lines_carry_less),    cmocka_unit_test(a_late_update_goes_on),
        cmocka_unit_test(a_client_can_be_stopped),
    };
    int failed = cmocka_run_group_tests_name("aggregator_client", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
