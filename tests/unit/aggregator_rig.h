/* An aggregator's handlers with recorded answers and values made by counter. For aggregator_test.c
 * alone, which it keeps readable. */
#ifndef AGGREGATOR_RIG_H
#define AGGREGATOR_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/aggregator.h"
#include "base/rng.h"
#include "msg/limits.h"

enum { N = MSG_CHUNK_FLOATS + 5000, K = 3 }; /* two chunks, the second one short */
static const uint64_t RUN = 77;
static const double LR = 0.7, MU = 0.9;

typedef struct {
    aggregator_t state;
    char root[64];
    wire_header_t answer; /* the last one */
    uint8_t *payload;
    size_t n_payload;
    int n_answer;
    char *error; /* of the last ASSIGNED or COMMITTED */
    int n_committed;
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
    bool assigned = message->body_case == MSG__ENVELOPE__BODY_ASSIGNED;
    rig->error = mem_strdup(assigned ? message->assigned->error : message->committed->error);
    rig->n_committed += !assigned;
}

static rig_t *rig_new(void)
{
    rig_t *rig = calloc(1, sizeof *rig);
    strcpy(rig->root, "/tmp/pcp-aggregator-test.XXXXXX");
    assert_non_null(mkdtemp(rig->root));
    rig->state.reply = take_reply;
    rig->state.user = rig;
    rig->state.out = (msg_out_t){take_control, rig};
    assert_int_equal(aggregator_init(&rig->state, rig->root, NULL), 0);
    return rig;
}

static void rig_free(rig_t *rig)
{
    aggregator_fini(&rig->state);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", rig->root);
    assert_int_equal(system(command), 0);
    free(rig->payload);
    free(rig->error);
    free(rig);
}

static const msg_peer_t peer = {.n = 5};

/* One data message; the type of the answer. */
static wire_type_t data(rig_t *rig, wire_header_t header, const void *payload, size_t n)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    header.check = hash_fast(payload, n);
    wire_pack(&header, bytes);
    int before = rig->n_answer;
    aggregator_on_data(&rig->state, &peer, bytes, sizeof bytes, payload, n);
    assert_int_equal(rig->n_answer, before + 1);
    return rig->answer.type;
}

static void refused(rig_t *rig, wire_nack_t code, wire_header_t header, const void *payload,
                    size_t n)
{
    assert_int_equal(data(rig, header, payload, n), WIRE_NACK);
    if (rig->answer.code != code)
        fail_msg("refused as \"%s\" (%s), not \"%s\"", wire_nack_name(rig->answer.code),
                 rig->payload, wire_nack_name(code));
}

static void control(rig_t *rig, msg_envelope_t *message)
{
    message->version = MSG_VERSION;
    size_t n;
    uint8_t *bytes = msg_pack(message, &n);
    assert_int_equal(msg_dispatch(aggregator_routes, &rig->state, &peer, bytes, n,
                                  &rig->state.control_count, NULL),
                     0);
    free(bytes);
}

static void assign(rig_t *rig, uint64_t begin, uint64_t end)
{
    Msg__Assign body = MSG__ASSIGN__INIT;
    body.begin = begin;
    body.end = end;
    body.total = end;
    body.replicas = K;
    body.outer_lr = LR;
    body.outer_momentum = MU;
    body.run_hash = RUN;
    body.delta_range = 64;
    body.weight_max = 100;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_ASSIGN;
    message.assign = &body;
    control(rig, &message);
}

static void fence(rig_t *rig, uint32_t round, uint32_t replica, uint32_t value)
{
    Msg__Fence body = MSG__FENCE__INIT;
    body.round = round;
    body.replica = replica;
    body.fence = value;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_FENCE;
    message.fence = &body;
    control(rig, &message);
}

static void commit(rig_t *rig, uint32_t round, const uint32_t *fences, const uint64_t *weights)
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
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_COMMIT;
    message.commit = &body;
    control(rig, &message);
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

static void put_init(rig_t *rig)
{
    float *theta = calloc(N, sizeof *theta);
    for (uint64_t i = 0; i < N; i++) theta[i] = value(9, i);
    for (int chunk = 0; chunk < 2; chunk++) {
        wire_header_t header = chunk_header(WIRE_PUT_INIT, chunk);
        assert_int_equal(data(rig, header, theta + header.begin, header.count * 4), WIRE_ACK);
    }
    free(theta);
}

/* Replica k's delta of a round: value i of stream 100 round + k. */
static wire_type_t put_delta(rig_t *rig, uint32_t round, uint32_t k, uint32_t held, uint64_t weight,
                             int chunk, const char *name)
{
    const codec_t *codec = codec_find(name, NULL);
    wire_header_t header = chunk_header(WIRE_PUT_DELTA, chunk);
    float *values = calloc(header.count, sizeof *values);
    for (uint64_t i = 0; i < header.count; i++)
        values[i] = value(100 * round + k, header.begin + i) / (float)held;
    size_t n = codec_bytes(codec, header.count);
    uint8_t *bytes = malloc(n);
    assert_int_equal(codec_encode(codec, values, header.count, bytes, n, NULL), 0);
    header.round = round;
    header.replica = k;
    header.fence = held;
    header.weight = weight;
    header.codec = (uint8_t)codec->id;
    wire_type_t type = data(rig, header, bytes, n);
    free(values);
    free(bytes);
    return type;
}

static float *get_params(rig_t *rig, uint32_t round)
{
    float *theta = calloc(N, sizeof *theta);
    for (int chunk = 0; chunk < 2; chunk++) {
        wire_header_t header = chunk_header(WIRE_GET_PARAMS, chunk);
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

#endif
