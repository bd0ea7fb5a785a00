/* An aggregator's handlers with recorded answers and values made by counter. For aggregator_test.c
 * and its neighbours. */
#ifndef AGGREGATOR_RIG_H
#define AGGREGATOR_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/aggregator.h"
#include "base/rng.h"
#include "msg/limits.h"

/* Not every test program uses everything. */
#pragma GCC diagnostic ignored "-Wunused-function"

enum { N = MSG_CHUNK_FLOATS + 5000, K = 3 }; /* two chunks, the second one short */
static const uint64_t RUN = 77;
static const double LR = 0.7, MU = 0.9;

static const char *way_down; /* codec of changes on the way down that ASSIGN says; NULL: none */
static uint64_t exact_from;  /* states that begin there go down as they are; 0: none */

typedef struct {
    aggregator_t state;
    char root[64];
    wire_header_t answer; /* the last one */
    uint8_t *payload;
    size_t n_payload;
    int n_answer;
    char *error; /* of the last ASSIGNED or COMMITTED */
    int n_committed;
    uint32_t missing[K], n_missing, committed_round; /* of the last COMMITTED */
    double norm2;
    bool has_state;   /* of the last ASSIGNED */
    uint64_t attempt; /* of the next ASSIGN */
    const char *rule; /* its outer rule; NULL: nesterov */
    uint64_t
        states; /* where the model's states begin, which updates have exactly; 0: it has none */
    uint32_t fragments;      /* its; 0: 1 */
    bool holders;            /* ASSIGN says that FENCE says who has which lease */
    const keys_card_t *card; /* of who sends data; NULL: none */
    uint64_t of;             /* replicas that the round has, as updates say */
    uint32_t lag;            /* of the next COMMITs */
    uint32_t state_round, n_shares;
    Msg__Inspected inspected; /* the last one; its texts below */
    char reason[16], detail[200];
} rig_t;

static void take_reply(void *user, const msg_peer_t *to, const wire_header_t *header,
                       const void *payload, size_t n, shared_t *keep)
{
    (void)to;
    rig_t *rig = user;
    rig->answer = *header;
    free(rig->payload);
    rig->payload = malloc(n + 1);
    if (n) memcpy(rig->payload, payload, n);
    rig->payload[n] = '\0';
    rig->n_payload = n;
    rig->n_answer++;
    shared_drop(&keep);
}

static void take_control(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    (void)to;
    rig_t *rig = user;
    free(rig->error);
    if (message->body_case == MSG__ENVELOPE__BODY_ASSIGNED) {
        const Msg__ShardState *held = message->assigned->state;
        rig->error = mem_strdup(message->assigned->error);
        rig->has_state = held != NULL;
        rig->state_round = held ? held->round : 0;
        rig->n_shares = held ? (uint32_t)held->n_shares : 0;
        return;
    }
    if (message->body_case == MSG__ENVELOPE__BODY_INSPECTED) {
        rig->inspected = *message->inspected;
        snprintf(rig->reason, sizeof rig->reason, "%s", rig->inspected.reason);
        snprintf(rig->detail, sizeof rig->detail, "%s", rig->inspected.detail);
        rig->inspected.reason = rig->reason;
        rig->inspected.detail = rig->detail;
        rig->error = NULL;
        return;
    }
    const Msg__Committed *done = message->committed;
    rig->error = mem_strdup(done->error);
    rig->n_committed++;
    rig->committed_round = done->round;
    rig->norm2 = done->delta_norm2;
    rig->n_missing = (uint32_t)done->n_missing;
    for (size_t i = 0; i < done->n_missing && i < K; i++) rig->missing[i] = done->missing[i];
}

/* The handlers on a directory; its state lies in ROOT.state, or nowhere. No shepherd has come. */
static rig_t *rig_alone(const char *root, bool keeps_state)
{
    rig_t *rig = calloc(1, sizeof *rig);
    char state[80];
    snprintf(rig->root, sizeof rig->root, "%s", root);
    snprintf(state, sizeof state, "%s.state", root);
    rig->state.reply = take_reply;
    rig->state.user = rig;
    rig->state.out = (msg_out_t){take_control, rig};
    err_t err = {0};
    if (aggregator_init(&rig->state, rig->root, keeps_state ? state : NULL, &err) < 0)
        fail_msg("%s", err.text);
    return rig;
}

/* One has, which does not say who has which lease. */
static rig_t *rig_open(const char *root, bool keeps_state)
{
    rig_t *rig = rig_alone(root, keeps_state);
    if (rig->state.assigned) fences_assigned(&rig->state, false);
    return rig;
}

static rig_t *rig_new(void)
{
    char root[] = "/tmp/pcp-aggregator-test.XXXXXX";
    assert_non_null(mkdtemp(root));
    return rig_open(root, false);
}

static void rig_close(rig_t *rig)
{
    aggregator_fini(&rig->state);
    free(rig->payload);
    free(rig->error);
    free(rig);
}

static void rig_free(rig_t *rig)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s %s.state", rig->root, rig->root);
    rig_close(rig);
    assert_int_equal(system(command), 0);
}

static const msg_peer_t peer = {.n = 5};

/* One data message; the type of the answer. */
static wire_type_t data(rig_t *rig, wire_header_t header, const void *payload, size_t n)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    header.check = hash_fast(payload, n);
    wire_pack(&header, bytes);
    int before = rig->n_answer;
    msg_peer_t from = peer;
    from.card = rig->card;
    aggregator_on_data(&rig->state, &from, bytes, sizeof bytes, payload, n);
    assert_int_equal(rig->n_answer, before + 1);
    return rig->answer.type;
}

static msg_who_t is_shepherd(void *state, const msg_peer_t *from)
{
    (void)state, (void)from;
    return MSG_WHO_SHEPHERD;
}

static void control(rig_t *rig, msg_envelope_t *message)
{
    const msg_table_t table = {.routes = aggregator_routes, .who = is_shepherd};
    message->version = MSG_VERSION;
    size_t n;
    uint8_t *bytes = msg_pack(message, &n);
    assert_int_equal(
        msg_dispatch(&table, &rig->state, &peer, bytes, n, &rig->state.control_count, NULL), 0);
    free(bytes);
}

/* A control message of that kind; FIELD is its name in the envelope. */
#define SAY(rig, KIND, FIELD, body)                         \
    do {                                                    \
        msg_envelope_t say_message = MSG__ENVELOPE__INIT;   \
        say_message.body_case = MSG__ENVELOPE__BODY_##KIND; \
        say_message.FIELD = (body);                         \
        control((rig), &say_message);                       \
    } while (0)

static void assign_as(rig_t *rig, uint64_t begin, uint64_t end, uint32_t round, bool keep)
{
    Msg__Assign body = MSG__ASSIGN__INIT;
    body.begin = begin;
    body.end = end;
    body.total = end;
    body.replicas = K;
    body.outer_lr = LR;
    body.outer_momentum = MU;
    body.fragments = rig->fragments ? rig->fragments : 1;
    body.averaged_from = exact_from ? exact_from : rig->states;
    body.down_exact = exact_from > 0;
    body.outer_rule = outer_rule_find(rig->rule ? rig->rule : "nesterov", NULL)->id;
    body.down_codec = way_down ? codec_find(way_down, NULL)->id : 0;
    body.run_hash = RUN;
    body.delta_range = 64;
    body.weight_max = 100;
    body.round = round;
    body.keep = keep;
    body.attempt = rig->attempt;
    body.holders = rig->holders;
    SAY(rig, ASSIGN, assign, &body);
}

static void assign(rig_t *rig, uint64_t begin, uint64_t end)
{
    assign_as(rig, begin, end, 0, false);
}

static void fence(rig_t *rig, uint32_t round, uint32_t replica, uint32_t value)
{
    Msg__Fence body = MSG__FENCE__INIT;
    body.round = round;
    body.replica = replica;
    body.fence = value;
    SAY(rig, FENCE, fence, &body);
}

/* FENCE of a shepherd that says who has the lease. */
static void announce(rig_t *rig, uint32_t round, uint32_t replica, uint32_t value,
                     const char *worker)
{
    Msg__Fence body = MSG__FENCE__INIT;
    Msg__Holder holder = MSG__HOLDER__INIT, *list[] = {&holder};
    body.round = round;
    body.holders = list;
    body.n_holders = 1;
    holder.replica = replica;
    holder.fence = value;
    holder.worker = (char *)worker;
    SAY(rig, FENCE, fence, &body);
}

/* What INSPECTED says of a lease of the replica's. */
static const Msg__Inspected *inspect(rig_t *rig, uint32_t replica, uint32_t held, uint64_t weight)
{
    Msg__Inspect body = MSG__INSPECT__INIT;
    body.replica = replica;
    body.fence = held;
    body.weight = weight;
    SAY(rig, INSPECT, inspect, &body);
    return &rig->inspected;
}

/* COMMIT of the replicas whose fence is not 0, without the work that follows. */
static void commit_begin(rig_t *rig, uint32_t round, const uint32_t *fences,
                         const uint64_t *weights, bool hold)
{
    Msg__Share share[K], *list[K];
    size_t n = 0;
    for (uint32_t k = 0; k < K; k++) {
        if (!fences[k]) continue;
        msg__share__init(&share[n]);
        share[n].replica = k;
        share[n].fence = fences[k];
        share[n].weight = weights[k];
        list[n] = &share[n];
        n++;
    }
    Msg__Commit body = MSG__COMMIT__INIT;
    body.round = round;
    body.shares = list;
    body.n_shares = n;
    body.hold = hold;
    body.lag = rig->lag;
    SAY(rig, COMMIT, commit, &body);
}

static void commit(rig_t *rig, uint32_t round, const uint32_t *fences, const uint64_t *weights)
{
    commit_begin(rig, round, fences, weights, false);
    while (aggregator_work(&rig->state)) continue;
}

static float value(uint64_t stream, uint64_t i)
{
    return (float)(rng_uniform(stream, i) - 0.5);
}

static wire_header_t chunk_header(wire_type_t type, int chunk)
{
    uint64_t begin = (uint64_t)chunk * MSG_CHUNK_FLOATS;
    uint64_t count = N - begin < MSG_CHUNK_FLOATS ? N - begin : MSG_CHUNK_FLOATS;
    return (wire_header_t){.type = type, .run = RUN, .begin = begin, .count = count};
}

static void put_values(rig_t *rig, wire_type_t type, uint64_t stream)
{
    float *theta = calloc(N, sizeof *theta);
    for (uint64_t i = 0; i < N; i++) theta[i] = value(stream, i);
    for (int chunk = 0; chunk < 2; chunk++) {
        wire_header_t header = chunk_header(type, chunk);
        header.weight = rig->attempt;
        assert_int_equal(data(rig, header, theta + header.begin, header.count * 4), WIRE_ACK);
    }
    free(theta);
}

static void put_init(rig_t *rig)
{
    put_values(rig, WIRE_PUT_INIT, 9);
}

/* What replica k has trained in the round `trained`, under the name of `round`: value i of stream 100 trained + k. */
static wire_type_t put_trained(rig_t *rig, uint32_t trained, uint32_t round, uint32_t k,
                               uint32_t held, uint64_t weight, int chunk, const char *name,
                               uint16_t vector)
{
    const codec_t *codec = codec_find(name, NULL);
    wire_header_t header = chunk_header(WIRE_PUT_DELTA, chunk);
    float *values = calloc(header.count, sizeof *values);
    for (uint64_t i = 0; i < header.count; i++)
        values[i] = value(100 * trained + k, header.begin + i) / (float)held;
    const codec_chunk_t as = codec_chunk(codec, header.begin, header.count, rig->states);
    size_t most = codec_chunk_most(&as), n;
    uint8_t *bytes = malloc(most);
    assert_int_equal(codec_chunk_encode(&as, values, bytes, most, &n, NULL), 0);
    header.round = round;
    header.replica = k;
    header.fence = held;
    header.weight = weight;
    header.total = rig->of;
    header.vector = vector;
    header.codec = (uint8_t)(codec->id | (rig->states ? WIRE_EXACT : 0));
    header.fragment = rig->fragments > 1 ? (uint16_t)chunk : 0; /* 2: a chunk each */
    wire_type_t type = data(rig, header, bytes, n);
    free(values);
    free(bytes);
    return type;
}

/* Replica k's delta of a round. */
static wire_type_t put_delta(rig_t *rig, uint32_t round, uint32_t k, uint32_t held, uint64_t weight,
                             int chunk, const char *name)
{
    return put_trained(rig, round, round, k, held, weight, chunk, name, 0);
}

/* Parameters or momentum of a round; NULL: refused. */
static float *get_values(rig_t *rig, wire_type_t type, uint32_t round)
{
    float *theta = calloc(N, sizeof *theta);
    for (int chunk = 0; chunk < 2; chunk++) {
        wire_header_t header = chunk_header(type, chunk);
        header.round = round;
        if (data(rig, header, NULL, 0) != WIRE_DATA) {
            free(theta);
            return NULL;
        }
        assert_int_equal(rig->n_payload, header.count * 4);
        assert_int_equal(wire_check(&rig->answer, rig->payload, rig->n_payload, NULL), 0);
        memcpy(theta + header.begin, rig->payload, rig->n_payload);
    }
    return theta;
}

static float *get_params(rig_t *rig, uint32_t round)
{
    return get_values(rig, WIRE_GET_PARAMS, round);
}

/* --- roots with a state, and what everybody sends --- */

static const uint32_t all[K] = {1, 1, 1};
static const uint64_t weights[K] = {10, 20, 30};

/* A root whose state is at ROOT.state. */
static char *new_root(void)
{
    char root[] = "/tmp/pcp-aggregator-test.XXXXXX";
    assert_non_null(mkdtemp(root));
    return strdup(root);
}

static void remove_root(char *root)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s %s.state", root, root);
    assert_int_equal(system(command), 0);
    free(root);
}

static char *state_file(const char *root, const char *name)
{
    return mem_printf("%s.state/%s", root, name);
}

static void put_deltas(rig_t *rig, uint32_t round)
{
    for (uint32_t k = 0; k < K; k++)
        for (int chunk = 0; chunk < 2; chunk++)
            assert_int_equal(put_delta(rig, round, k, 1, weights[k], chunk, "bf16"), WIRE_ACK);
}

#endif
