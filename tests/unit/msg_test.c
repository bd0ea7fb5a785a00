/* The wire: every control message and data header makes the round trip; malformed ones are refused
 * before anything is allocated for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/rng.h"
#include "msg/control.h"
#include "msg/envelope.h"
#include "msg/publish.h"
#include "msg/wire.h"

/* Give every field of a message a value of its own, by protobuf-c's descriptors, so that a field
 * added later is tested without a line here. */
static void *make(const ProtobufCMessageDescriptor *type, int *salt);

static char *make_text(int salt)
{
    char *text = malloc(24);
    snprintf(text, 24, "text-%d", salt);
    return text;
}

static void fill_scalar(const ProtobufCFieldDescriptor *field, void *at, int salt)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_INT32: *(uint32_t *)at = (uint32_t)salt + 1; break;
    case PROTOBUF_C_TYPE_ENUM: *(int *)at = 1; break;
    case PROTOBUF_C_TYPE_BOOL: *(protobuf_c_boolean *)at = 1; break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_INT64: *(uint64_t *)at = rng_bits(7, (uint64_t)salt) >> 1; break;
    case PROTOBUF_C_TYPE_DOUBLE: *(double *)at = rng_uniform(7, (uint64_t)salt); break;
    case PROTOBUF_C_TYPE_FLOAT: *(float *)at = (float)rng_uniform(7, (uint64_t)salt); break;
    case PROTOBUF_C_TYPE_STRING: *(char **)at = make_text(salt); break;
    case PROTOBUF_C_TYPE_BYTES:
        *(ProtobufCBinaryData *)at = (ProtobufCBinaryData){6, (uint8_t *)make_text(salt)};
        break;
    default: fail_msg("field %s: type %d has no value here", field->name, field->type);
    }
}

static size_t scalar_bytes(ProtobufCType type)
{
    if (type == PROTOBUF_C_TYPE_UINT64 || type == PROTOBUF_C_TYPE_INT64 ||
        type == PROTOBUF_C_TYPE_FIXED64 || type == PROTOBUF_C_TYPE_DOUBLE)
        return 8;
    return type == PROTOBUF_C_TYPE_STRING ? sizeof(char *) : 4;
}

static void fill_field(const ProtobufCFieldDescriptor *field, char *message, int *salt)
{
    void *at = message + field->offset;
    bool nested = field->type == PROTOBUF_C_TYPE_MESSAGE;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        enum { N = 3 };
        size_t size = nested ? sizeof(void *) : scalar_bytes(field->type);
        char *list = calloc(N, size);
        for (int i = 0; i < N; i++) {
            if (nested)
                ((void **)list)[i] = make(field->descriptor, salt);
            else
                fill_scalar(field, list + (size_t)i * size, ++*salt);
        }
        *(size_t *)(message + field->quantifier_offset) = N;
        *(void **)at = list;
    } else if (nested) {
        *(void **)at = make(field->descriptor, salt);
    } else {
        fill_scalar(field, at, ++*salt);
    }
}

static void *make(const ProtobufCMessageDescriptor *type, int *salt)
{
    char *message = calloc(1, type->sizeof_message);
    type->message_init((ProtobufCMessage *)message);
    bool chosen = false; /* of a oneof, the first */
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            if (chosen) continue;
            chosen = true;
            *(int *)(message + field->quantifier_offset) = (int)field->id;
        }
        fill_field(field, message, salt);
    }
    return message;
}

/* An envelope whose body is field `index` of the Envelope type, every field set. */
static msg_envelope_t *envelope_with(unsigned index)
{
    const ProtobufCMessageDescriptor *type = &msg__envelope__descriptor;
    const ProtobufCFieldDescriptor *field = &type->fields[index];
    int salt = (int)index * 100;
    msg_envelope_t *envelope = calloc(1, sizeof *envelope);
    msg__envelope__init(envelope);
    envelope->version = MSG_VERSION;
    envelope->id = 41;
    envelope->in_reply_to = 40;
    envelope->body_case = (msg_kind_t)field->id;
    *(void **)((char *)envelope + field->offset) = make(field->descriptor, &salt);
    return envelope;
}

typedef struct {
    msg_kind_t kind;
    int n_call;
    uint8_t *packed;
    size_t n_packed;
} seen_t;

static void see(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    seen_t *seen = state;
    assert_int_equal(from->n, 5);
    seen->kind = message->body_case;
    seen->n_call++;
    free(seen->packed);
    seen->packed = msg_pack(message, &seen->n_packed);
}

static void every_route(msg_route_t routes[MSG_KIND_COUNT])
{
    for (int i = 0; i < MSG_KIND_COUNT; i++)
        routes[i] = (msg_route_t){MSG_CONTROL_BYTES, see, MSG_FROM_STRANGER, 0};
}

static void every_message_round_trip(void **state)
{
    (void)state;
    msg_route_t routes[MSG_KIND_COUNT];
    every_route(routes);
    const msg_peer_t from = {.n = 5};
    msg_count_t count = {0};
    unsigned n_kind = 0;
    for (unsigned i = 0; i < msg__envelope__descriptor.n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &msg__envelope__descriptor.fields[i];
        if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)) continue;
        msg_envelope_t *envelope = envelope_with(i);
        size_t n;
        uint8_t *bytes = msg_pack(envelope, &n);
        seen_t seen = {0};
        assert_int_equal(msg_peek(bytes, n), field->id);
        assert_string_not_equal(msg_kind_name((msg_kind_t)field->id), "unknown");
        assert_int_equal(
            msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, bytes, n, &count, NULL),
            0);
        assert_int_equal(seen.kind, field->id);
        assert_int_equal(seen.n_packed, n);
        assert_memory_equal(seen.packed, bytes, n);
        free(seen.packed);
        free(bytes);
        msg_free(&envelope);
        n_kind++;
    }
    assert_true(n_kind >= 20);
    assert_int_equal(count.handled, n_kind);
    assert_int_equal(count.dropped, 0);
}

static uint8_t *hello_bytes(size_t *n)
{
    Msg__Hello hello = MSG__HELLO__INIT;
    hello.id = "worker-1";
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.version = MSG_VERSION;
    envelope.body_case = MSG__ENVELOPE__BODY_HELLO;
    envelope.hello = &hello;
    return msg_pack(&envelope, n);
}

static void bad_messages_are_dropped(void **state)
{
    (void)state;
    const msg_peer_t from = {.n = 5};
    msg_route_t routes[MSG_KIND_COUNT] = {
        [MSG__ENVELOPE__BODY_HELLO] = {16, see, MSG_FROM_STRANGER}};
    seen_t seen = {0};
    msg_count_t count = {0};
    size_t n;
    uint8_t *hello = hello_bytes(&n);
    assert_true(n > 16 - 6 && n <= 32);
    routes[MSG__ENVELOPE__BODY_HELLO].max_bytes = n - 1; /* too long by one byte */
    err_t err = {0};
    assert_int_equal(
        msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, hello, n, &count, &err), -1);
    assert_non_null(strstr(err.text, "limit"));
    routes[MSG__ENVELOPE__BODY_HELLO].max_bytes = n;
    assert_int_equal(
        msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, hello, n - 1, &count, NULL),
        -1); /* cut */
    assert_int_equal(
        msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, hello, 0, &count, NULL), -1);
    hello[1] = 99; /* the version */
    assert_int_equal(
        msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, hello, n, &count, &err), -1);
    assert_non_null(strstr(err.text, "version"));
    hello[1] = MSG_VERSION;
    assert_int_equal(
        msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, hello, n, &count, NULL), 0);
    free(hello);
    static const uint8_t number[] = {8, 1, 10 << 3 | 0, 5}; /* HELLO as a number */
    static const uint8_t nobody[] = {8, 1, 0xF2, 0x03, 0};  /* field 62: no such kind */
    static const uint8_t endless[] = {8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    static const uint8_t two[] = {8, 1, 82, 0, 82, 0}; /* two bodies */
    assert_int_equal(msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, number,
                                  sizeof number, &count, NULL),
                     -1);
    assert_int_equal(msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, nobody,
                                  sizeof nobody, &count, NULL),
                     -1);
    assert_int_equal(msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, endless,
                                  sizeof endless, &count, NULL),
                     -1);
    assert_int_equal(
        msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, two, sizeof two, &count, NULL),
        -1);
    assert_int_equal(seen.n_call, 1);
    assert_int_equal(count.dropped, 8);
    free(seen.packed);
}

/* Any damage to a valid message is refused or gives another valid message; it never crashes (the
 * sanitizers watch) and never reaches a handler without a body. */
static void damaged_messages(void **state)
{
    (void)state;
    msg_route_t routes[MSG_KIND_COUNT];
    every_route(routes);
    const msg_peer_t from = {.n = 5};
    msg_count_t count = {0};
    seen_t seen = {0};
    uint64_t draw = 0;
    for (unsigned i = 3; i < msg__envelope__descriptor.n_fields; i++) {
        msg_envelope_t *envelope = envelope_with(i);
        size_t n;
        uint8_t *bytes = msg_pack(envelope, &n), *copy = malloc(n);
        for (int trial = 0; trial < 200; trial++) {
            memcpy(copy, bytes, n);
            copy[rng_bits(3, draw) % n] = (uint8_t)(rng_bits(3, draw + 1) >> 7);
            size_t cut = trial % 2 ? n : rng_bits(3, draw + 2) % n;
            draw += 3;
            msg_dispatch(&(msg_table_t){.routes = routes}, &seen, &from, copy, cut, &count, NULL);
        }
        free(copy);
        free(bytes);
        msg_free(&envelope);
    }
    assert_true(count.dropped > 100);
    free(seen.packed);
}

static void headers_round_trip(void **state)
{
    (void)state;
    wire_header_t header = {.type = WIRE_PUT_DELTA,
                            .codec = 3,
                            .code = 4,
                            .run = 0x1122334455667788,
                            .seq = 5,
                            .round = 6,
                            .replica = 7,
                            .fence = 8,
                            .begin = 9,
                            .count = 10,
                            .total = 11,
                            .weight = 12};
    for (int i = 0; i < WIRE_HASH_BYTES; i++) header.object[i] = (uint8_t)(200 + i);
    static const char payload[] = "sixteen letters";
    header.check = hash_fast(payload, sizeof payload);
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_pack(&header, bytes);
    wire_header_t back;
    assert_int_equal(wire_unpack(bytes, sizeof bytes, sizeof payload, &back, NULL), 0);
    assert_memory_equal(&back, &header, sizeof back);
    assert_int_equal(wire_check(&back, payload, sizeof payload, NULL), 0);
    assert_int_equal(wire_check(&back, payload, sizeof payload - 1, NULL), -1);
    assert_int_equal(bytes[8], 0x88); /* little-endian */
    assert_int_equal(bytes[72], 200);
}

static void bad_headers_are_refused(void **state)
{
    (void)state;
    wire_header_t header = {.type = WIRE_GET_OBJECT, .count = 5}, back = {0};
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_pack(&header, bytes);
    assert_int_equal(wire_unpack(bytes, WIRE_HEADER_BYTES, 0, &back, NULL), 0);
    assert_int_equal(wire_unpack(bytes, WIRE_HEADER_BYTES - 1, 0, &back, NULL), -1);
    assert_int_equal(wire_unpack(bytes, WIRE_HEADER_BYTES, 1, &back, NULL),
                     -1); /* payload on GET */
    static const struct {
        int at;
        uint8_t value;
    } damage[] = {{0, 'Q'}, {4, 2}, {5, 0}, {5, WIRE_TYPE_COUNT}, {5, 255}, {39, 255}, {47, 255}};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        uint8_t copy[WIRE_HEADER_BYTES];
        memcpy(copy, bytes, sizeof copy);
        copy[damage[i].at] = damage[i].value;
        assert_int_equal(wire_unpack(copy, sizeof copy, 0, &back, NULL), -1);
    }
    header.type = WIRE_PUT_DELTA;
    wire_pack(&header, bytes);
    assert_int_equal(wire_unpack(bytes, sizeof bytes, MSG_PAYLOAD_BYTES, &back, NULL), 0);
    assert_int_equal(wire_unpack(bytes, sizeof bytes, MSG_PAYLOAD_BYTES + 1, &back, NULL), -1);
}

static void hashes(void **state)
{
    (void)state;
    char hex[HASH_HEX], again[HASH_HEX];
    uint8_t bytes[WIRE_HASH_BYTES];
    hash_content("abc", 3, hex);
    assert_int_equal(wire_hash_parse(hex, bytes, NULL), 0);
    wire_hash_print(bytes, again);
    assert_string_equal(hex, again);
    hex[63] = 'G';
    assert_int_equal(wire_hash_parse(hex, bytes, NULL), -1);
    assert_int_equal(wire_hash_parse("ab", bytes, NULL), -1);
    assert_int_equal(wire_hash_parse(NULL, bytes, NULL), -1);
}

static void wildcard_endpoints(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"tcp://0.0.0.0:5", "tcp://10.0.0.1:9", "tcp://10.0.0.1:5"},
        {"tcp://*:5", "tcp://host:9", "tcp://host:5"},
        {"tcp://10.0.0.2:5", "tcp://10.0.0.1:9", "tcp://10.0.0.2:5"},
        {"tcp://*:5", "ipc://x", "tcp://*:5"},
        {"ipc://y", "tcp://10.0.0.1:9", "ipc://y"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *found = control_resolve(rows[i][0], rows[i][1]);
        assert_string_equal(found, rows[i][2]);
        free(found);
    }
}

/* Over real sockets: ROUTER to DEALER and back, wrong framing dropped, telemetry. */
static void sockets(void **state)
{
    (void)state;
    msg_route_t routes[MSG_KIND_COUNT];
    every_route(routes);
    zsock_t *router = endpoint_open(endpoint_bind(ZMQ_ROUTER, "inproc://msg-test"), NULL);
    zsock_t *dealer = endpoint_open(endpoint_connect(ZMQ_DEALER, "inproc://msg-test"), NULL);
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    beat.credit = 3;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_HEARTBEAT;
    envelope.heartbeat = &beat;
    seen_t seen = {0};
    msg_count_t count = {0};
    assert_int_equal(control_receive(router, true, &(msg_table_t){.routes = routes}, &seen, &count),
                     0);
    assert_int_equal(control_send(dealer, NULL, &envelope, NULL), 0);
    zstr_sendx(dealer, "two", "frames", NULL);
    while (count.handled + count.dropped < 2)
        control_receive(router, true, &(msg_table_t){.routes = routes}, &seen, &count);
    assert_int_equal(seen.kind, MSG__ENVELOPE__BODY_HEARTBEAT);
    assert_int_equal(count.dropped, 1);
    msg_peer_t nobody = {.n = 5, .at = {1, 2, 3, 4, 5}};
    err_t err = {0};
    assert_int_equal(control_send(router, &nobody, &envelope, &err), -1);
    free(seen.packed);
    zsock_destroy(&dealer);
    zsock_destroy(&router);
}

static void keep_peer(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)message;
    *(msg_peer_t *)state = *from;
}

/* Of a connection that many share: the number goes with the answer; bad ones are dropped. */
static void numbers(void **state)
{
    (void)state;
    msg_route_t routes[MSG_KIND_COUNT] = {
        [MSG__ENVELOPE__BODY_HEARTBEAT] = {64, keep_peer, MSG_FROM_STRANGER}};
    zsock_t *router = endpoint_open(endpoint_bind(ZMQ_ROUTER, "inproc://msg-test-n"), NULL);
    zsock_t *dealer = endpoint_open(endpoint_connect(ZMQ_DEALER, "inproc://msg-test-n"), NULL);
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_HEARTBEAT;
    envelope.heartbeat = &beat;
    const msg_peer_t seven = {.behind = 7ull << 32 | 7};
    msg_peer_t from = {0}, own = {0};
    msg_count_t count = {0};
    zsock_send(dealer, "ss", "three", "bytes");
    zsock_send(dealer, "bs", "\0\0\0\0\0\0\0", (size_t)8, "nobody");
    zsock_send(dealer, "bbs", "12345678", (size_t)8, "12345678", (size_t)8, "too many");
    assert_int_equal(control_send(dealer, &seven, &envelope, NULL), 0);
    while (count.handled + count.dropped < 4)
        control_receive(router, true, &(msg_table_t){.routes = routes}, &from, &count);
    assert_int_equal(count.dropped, 3);
    assert_true(from.n > 0 && from.behind == seven.behind);
    assert_int_equal(control_send(router, &from, &envelope, NULL), 0);
    zmq_msg_t frame[2];
    int n;
    while ((n = control_frames(dealer, frame, 2)) == 0) continue;
    assert_int_equal(n, 2);
    assert_true(control_number(&frame[0]) == seven.behind);
    assert_int_equal(control_pass(dealer, &(msg_peer_t){0}, &frame[1]), 0); /* its own word */
    for (int i = 0; i < n; i++) zmq_msg_close(&frame[i]);
    while (count.handled < 2)
        control_receive(router, true, &(msg_table_t){.routes = routes}, &own, &count);
    assert_true(own.n == from.n && own.behind == 0 && !msg_peer_equal(&own, &from));
    zsock_destroy(&dealer);
    zsock_destroy(&router);
}

static void telemetry(void **state)
{
    (void)state;
    zsock_t *out = endpoint_open(endpoint_bind(ZMQ_PUB, "inproc://msg-test-pub"), NULL);
    zsock_t *in = endpoint_open(endpoint_connect(ZMQ_SUB, "inproc://msg-test-pub"), NULL);
    Msg__RoundStats stats = MSG__ROUND_STATS__INIT;
    stats.round = 4;
    stats.val_loss = 1.5;
    Msg__Event event = MSG__EVENT__INIT, *back = NULL;
    event.body_case = MSG__EVENT__BODY_ROUND;
    event.round = &stats;
    assert_string_equal(publish_topic(&event), "round");
    /* The subscription travels to the publisher: until it is there events are lost. */
    while (publish_receive(in, &back, NULL) == 0) publish_event(out, &event);
    assert_non_null(back);
    assert_int_equal(back->round->round, 4);
    assert_true(back->round->val_loss == 1.5 && back->time_ms > 0);
    msg__event__free_unpacked(back, NULL);
    zsock_destroy(&in);
    zsock_destroy(&out);
}

/* Whose samples may a member say? Rows: its role and name; an event, and its source. */
static void events_are_their_senders(void **state)
{
    (void)state;
    static const struct {
        keys_role_t role;
        Msg__Event__BodyCase body;
        const char *source;
        bool may;
    } rows[] = {
        {KEYS_WORKER, MSG__EVENT__BODY_STEP, "a", true},
        {KEYS_WORKER, MSG__EVENT__BODY_STEP, "a-1", true},
        {KEYS_WORKER, MSG__EVENT__BODY_DEGRADED, "a-1", true},
        {KEYS_WORKER, MSG__EVENT__BODY_STEP, "b", false},
        {KEYS_WORKER, MSG__EVENT__BODY_STEP, "", false},
        {KEYS_WORKER, MSG__EVENT__BODY_STEP, "shepherd", false},
        {KEYS_WORKER, MSG__EVENT__BODY_COMMIT, "a", false},
        {KEYS_WORKER, MSG__EVENT__BODY_ROUND, "a", false},
        {KEYS_WORKER, MSG__EVENT__BODY_STATUS, "a", false},
        {KEYS_WORKER, MSG__EVENT__BODY__NOT_SET, "a", false},
        {KEYS_SUPERVISOR, MSG__EVENT__BODY_STEP, "a-1", true},
        {KEYS_AGGREGATOR, MSG__EVENT__BODY_COMMIT, "a", true},
        {KEYS_AGGREGATOR, MSG__EVENT__BODY_REFUSALS, "a-2", true},
        {KEYS_AGGREGATOR, MSG__EVENT__BODY_DEGRADED, "a", true},
        {KEYS_AGGREGATOR, MSG__EVENT__BODY_REFUSALS, "shepherd", false},
        {KEYS_AGGREGATOR, MSG__EVENT__BODY_STEP, "a", false},
        {KEYS_COMPILER, MSG__EVENT__BODY_STEP, "a", false},
        {KEYS_METRICS, MSG__EVENT__BODY_STEP, "a", false},
        {KEYS_VIEWER, MSG__EVENT__BODY_STEP, "a", false},
        {KEYS_OPERATOR, MSG__EVENT__BODY_ROUND, "a", false},
        {KEYS_SHEPHERD, MSG__EVENT__BODY_ROUND, "shepherd", true},
        {KEYS_SHEPHERD, MSG__EVENT__BODY_STEP, "a", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        keys_card_t card = {.role = rows[i].role, .name = "a"};
        Msg__Event event = MSG__EVENT__INIT;
        event.body_case = rows[i].body;
        event.source = (char *)rows[i].source;
        if ((publish_judge(&card, &event) == NULL) != rows[i].may) fail_msg("row %zu", i);
    }
}

int main(void)
{
    log_init("msg_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_their_senders),
        cmocka_unit_test(every_message_round_trip),
        cmocka_unit_test(bad_messages_are_dropped),
        cmocka_unit_test(damaged_messages),
        cmocka_unit_test(headers_round_trip),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(hashes),
        cmocka_unit_test(wildcard_endpoints),
        cmocka_unit_test(sockets),
        cmocka_unit_test(numbers),
        cmocka_unit_test(telemetry),
    };
    int failed = cmocka_run_group_tests_name("msg", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
