/* bench-data: what the aggregator reaches of what this machine could: accumulation and outer step
 * beside the memory's bandwidth, parameters down and pseudo-gradients up over loopback TCP beside a
 * plain ZeroMQ transfer of 1 MiB messages with the same window: of the same vector, and of one
 * block over and over, which stays in the cache. In turn, several times over; medians. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ceiling.h"
#include "msg/control.h"
#include "msg/data_client.h"
#include "msg/service.h"
#include "msg/wire.h"
#include "outer/codec.h"
#include "outer/fixed_sum.h"
#include "outer/outer.h"

enum { N = 8 << 20, REPEATS = 7, BLOCK = 4096, CHUNK = MSG_CHUNK_FLOATS };
enum { REPLICAS = 8, TRANSFERS = 6 * REPLICAS };
static const uint64_t BOUNDS[2] = {0, N};
static const uint64_t RUN = 7;

/* --- Arithmetic, on one core --- */

typedef struct {
    float *theta, *v, *theta_next, *v_next, *delta, *scratch;
    fixed_sum_t *sum;
    outer_options_t outer;
} shard_t;

static float *filled(void)
{
    float *values = mem_calloc(N, sizeof *values);
    for (size_t i = 0; i < N; i++) values[i] = (float)(i % 1001) * 1e-3f - 0.5f;
    return values;
}

/* GB/s: per element the payload read, the sum read and written. */
static double accumulate(shard_t *s)
{
    const codec_t *codec = codec_find("f32", NULL);
    double start = clock_mono_s();
    for (size_t at = 0; at < N; at += CHUNK) {
        codec_decode(codec, (const uint8_t *)(s->delta + at), CHUNK * 4, s->scratch, CHUNK, NULL);
        fixed_sum_add(s->sum, at, s->scratch, CHUNK, 10, NULL);
    }
    return 20.0 * N / (clock_mono_s() - start) / 1e9;
}

/* GB/s: the sum, parameters and momentum read, both written. */
static double outer(shard_t *s)
{
    double start = clock_mono_s();
    for (size_t at = 0; at < N; at += BLOCK) {
        fixed_sum_mean(s->sum, at, s->scratch, BLOCK, NULL);
        const outer_slice_t slice = {.n = BLOCK,
                                     .d = s->scratch,
                                     .theta = s->theta + at,
                                     .theta_next = s->theta_next + at,
                                     .state = {s->v + at},
                                     .state_next = {s->v_next + at}};
        outer_step(&s->outer, &slice, NULL);
    }
    return 24.0 * N / (clock_mono_s() - start) / 1e9;
}

/* --- Plain ZeroMQ: a process that answers as an aggregator would, without looking --- */

static void echo(const char *endpoint)
{
    zsock_t *router = zsock_new_router(endpoint);
    float *values = filled();
    for (;;) {
        zmq_msg_t frame[3];
        for (int i = 0; i < 3; i++) {
            zmq_msg_init(&frame[i]);
            zmq_msg_recv(&frame[i], zsock_resolve(router), 0);
        }
        bool up = zmq_msg_size(&frame[2]) > 0;
        size_t chunk = *(uint8_t *)zmq_msg_data(&frame[1]);
        zmq_msg_send(&frame[0], zsock_resolve(router), ZMQ_SNDMORE);
        zmq_msg_send(&frame[1], zsock_resolve(router), ZMQ_SNDMORE);
        zmq_send_const(zsock_resolve(router), values + chunk * CHUNK, up ? 0 : MSG_CHUNK_BYTES, 0);
        zmq_msg_close(&frame[2]);
    }
}

/* GB/s of 1 MiB messages, down or up; hot: the same block each time. */
static double plain(zsock_t *socket, bool up, bool hot, const float *values)
{
    uint8_t header[WIRE_HEADER_BYTES] = {0}; /* its first byte: which chunk */
    void *raw = zsock_resolve(socket);
    double start = clock_mono_s();
    for (int sent = 0, done = 0, n = N / CHUNK; done < n;) {
        for (; sent < n && sent - done < 8; sent++) {
            size_t chunk = header[0] = (uint8_t)(hot ? 0 : sent);
            zmq_send(raw, header, sizeof header, ZMQ_SNDMORE);
            zmq_send(raw, values + chunk * CHUNK, up ? MSG_CHUNK_BYTES : 0, 0);
        }
        for (int i = 0; i < 2; i++) {
            zmq_msg_t frame;
            zmq_msg_init(&frame);
            zmq_msg_recv(&frame, raw, 0);
            zmq_msg_close(&frame);
        }
        done++;
    }
    return 4.0 * N / (clock_mono_s() - start) / 1e9;
}

/* --- A real aggregator; this program is its shepherd --- */

typedef struct {
    zsock_t *control;
    char *endpoint; /* of the data socket */
    int n_answer;   /* ASSIGNED and COMMITTED */
    msg_peer_t aggregator;
} shepherd_t;

static void send_out(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    control_send(((shepherd_t *)user)->control, to, message, NULL);
}

static void on_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    msg_out_t out = {send_out, self};
    self->endpoint = mem_strdup(message->hello->endpoint);
    Msg__Welcome welcome = MSG__WELCOME__INIT;
    welcome.run = "bench";
    welcome.run_hash = RUN;
    welcome.heartbeat_ms = 1000;
    welcome.timeout_ms = 600000;
    MSG_SEND(out, from, message->id, WELCOME, welcome, &welcome);
    Msg__Assign assign = MSG__ASSIGN__INIT;
    assign.shards = 1;
    assign.end = assign.total = N;
    assign.replicas = REPLICAS;
    assign.outer_lr = 0.7;
    assign.outer_momentum = 0.9;
    assign.fragments = 1;
    assign.outer_rule = outer_rule_find("nesterov", NULL)->id;
    assign.run_hash = RUN;
    assign.delta_range = 64;
    assign.weight_max = 1000;
    MSG_SEND(out, from, 0, ASSIGN, assign, &assign);
}

static void on_answer(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)message;
    ((shepherd_t *)state)->aggregator = *from;
    ((shepherd_t *)state)->n_answer++;
}

static void on_other(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)state, (void)from, (void)message;
}

static bool answered(shepherd_t *self)
{
    static const msg_route_t routes[MSG_KIND_COUNT] = {
        [MSG__ENVELOPE__BODY_HELLO] = {1 << 16, on_hello, MSG_FROM_STRANGER},
        [MSG__ENVELOPE__BODY_ASSIGNED] = {1 << 16, on_answer, MSG_FROM_STRANGER},
        [MSG__ENVELOPE__BODY_COMMITTED] = {1 << 16, on_answer, MSG_FROM_STRANGER},
        [MSG__ENVELOPE__BODY_HEARTBEAT] = {64, on_other, MSG_FROM_STRANGER},
    };
    msg_count_t count = {0};
    for (int64_t end = clock_mono_ms() + 30000; !self->n_answer && clock_mono_ms() < end;)
        if (!control_receive(self->control, true, &(msg_table_t){.routes = routes}, self, &count))
            usleep(1000);
    bool got = self->n_answer > 0;
    self->n_answer = 0;
    return got;
}

static bool commit(shepherd_t *self, uint32_t round)
{
    Msg__Share share[REPLICAS], *list[REPLICAS];
    for (uint32_t k = 0; k < REPLICAS; k++) {
        msg__share__init(&share[k]);
        share[k].replica = k;
        share[k].fence = 1;
        share[k].weight = 10;
        list[k] = &share[k];
    }
    Msg__Commit commit = MSG__COMMIT__INIT;
    commit.round = round;
    commit.n_shares = REPLICAS;
    commit.shares = list;
    msg_out_t out = {send_out, self};
    MSG_SEND(out, &self->aggregator, 0, COMMIT, commit, &commit);
    return answered(self);
}

static pid_t start_aggregator(const char *root, const char *control)
{
    pid_t child = fork();
    if (child != 0) return child;
    char *objects = mem_printf("%s/objects", root);
    execl("build/bin/pcp-aggregator", "pcp-aggregator", "--shepherd", control, "--bind",
          "tcp://127.0.0.1:*", "--object-dir", objects, "--log-level", "error", "--parent-death",
          (char *)NULL);
    _exit(127);
}

typedef struct {
    data_client_t *client;
    float *values;
    uint32_t replica, round;
} peer_t;

static double fetch(peer_t *self)
{
    double start = clock_mono_s();
    err_t err = {0};
    if (data_get_params(self->client, BOUNDS, self->round, self->values, &err) < 0) return 0;
    return 4.0 * N / (clock_mono_s() - start) / 1e9;
}

/* Each time another replica, so that nothing has to be taken out of the sum. */
static double upload(peer_t *self)
{
    err_t err = {0};
    data_delta_t delta = {
        .round = self->round, .replica = self->replica++, .fence = 1, .weight = 10, .codec = 1};
    double start = clock_mono_s();
    if (data_put_delta(self->client, BOUNDS, &delta, self->values, &err) < 0) return 0;
    return 4.0 * N / (clock_mono_s() - start) / 1e9;
}

/* --- */

static void report(const char *name, int n, double *x, double *ceiling, const char *of)
{
    double share[TRANSFERS];
    for (int r = 0; r < n; r++) share[r] = 100 * x[r] / ceiling[r];
    printf("%-30s %6.2f GB/s  %5.0f %% of %s %.2f GB/s\n", name, bench_median(x, n),
           bench_median(share, n), of, bench_median(ceiling, n));
}

static void arithmetic(void)
{
    shard_t s = {filled(), filled(), filled(), filled(), filled(), filled(), NULL, {0}};
    s.sum = fixed_sum_new(N, 64, 1000, NULL);
    s.outer = (outer_options_t){outer_rule_find("nesterov", NULL), 0.7, 0.9};
    fixed_sum_add_weight(s.sum, 10, NULL);
    pool_t *one = pool_new(1, false, NULL);
    double rate[2][REPEATS], memory[2][REPEATS];
    for (int r = 0; r < REPEATS; r++) {
        memory[0][r] = memory[1][r] = ceiling_memory(one, false);
        rate[0][r] = accumulate(&s);
        rate[1][r] = outer(&s);
    }
    report("accumulate, f32", REPEATS, rate[0], memory[0], "the triad's");
    report("outer step", REPEATS, rate[1], memory[1], "the triad's");
    pool_destroy(&one);
    fixed_sum_destroy(&s.sum);
    float *all[] = {s.theta, s.v, s.theta_next, s.v_next, s.delta, s.scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static int transfers(const char *root, pid_t *plain_peer, pid_t *aggregator)
{
    char *control = mem_printf("ipc://%s/control", root);
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", 20000 + (int)getpid() % 20000);
    if ((*plain_peer = fork()) == 0) {
        echo(endpoint);
        _exit(0);
    }
    *aggregator = start_aggregator(root, control);
    err_t err = {0};
    shepherd_t shepherd = {.control = endpoint_open(endpoint_bind(ZMQ_ROUTER, control), &err)};
    if (!answered(&shepherd)) return -1;
    zsock_t *socket = endpoint_open(endpoint_connect(ZMQ_DEALER, endpoint), &err);
    data_options_t options = {.endpoints = &shepherd.endpoint, .n_endpoint = 1, .run = RUN};
    peer_t peer = {.client = data_client_new(&options, &err), .values = filled()};
    if (data_put_init(peer.client, BOUNDS, 0, peer.values, &err) < 0) return -1;
    double rate[2][TRANSFERS], zmq[2][TRANSFERS], hot[2][TRANSFERS];
    /* A round unmeasured: from the second one on, the journal is written in place. */
    for (int r = -REPLICAS; r < TRANSFERS; r++) {
        int i = r < 0 ? 0 : r;
        for (int up = 0; up < 2; up++) {
            hot[up][i] = plain(socket, up, true, peer.values);
            zmq[up][i] = plain(socket, up, false, peer.values);
            rate[up][i] = up ? upload(&peer) : fetch(&peer);
        }
        if (peer.replica < REPLICAS) continue;
        if (!commit(&shepherd, peer.round++)) return -1;
        peer.replica = 0;
    }
    static const char *const names[2] = {"parameters down, TCP", "pseudo-gradient up, TCP"};
    for (int up = 0; up < 2; up++) {
        report(names[up], TRANSFERS, rate[up], zmq[up], "plain ZeroMQ's");
        report("  beside one block from cache", TRANSFERS, rate[up], hot[up], "plain ZeroMQ's");
    }
    free(peer.values);
    data_client_destroy(&peer.client);
    zsock_destroy(&socket);
    zsock_destroy(&shepherd.control);
    free(shepherd.endpoint);
    free(control);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        printf("usage: %s\nThe aggregator's arithmetic and transfers beside this machine's.\n",
               argv[0]);
        return strcmp(argv[1], "--help") != 0;
    }
    char root[] = "/tmp/pcp-bench.XXXXXX";
    if (!mkdtemp(root)) return 1;
    pid_t peers[2] = {0};
    service_keep_buffers();                         /* as services do */
    int rc = transfers(root, &peers[0], &peers[1]); /* forks: before there are threads */
    for (int i = 0; i < 2; i++)
        if (peers[i] > 0) {
            kill(peers[i], SIGKILL);
            waitpid(peers[i], NULL, 0);
        }
    if (rc < 0) fprintf(stderr, "bench-data: no aggregator (build/bin/pcp-aggregator)\n");
    arithmetic();
    char *command = mem_printf("rm -rf %s", root);
    if (system(command) != 0) rc = -1;
    free(command);
    zsys_shutdown();
    return rc < 0;
}
