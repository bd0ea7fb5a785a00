/* Envelope packing, the pre-unpack walk over protobuf fields, and dispatch by table. */
#include "msg/envelope.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"

#define BODY(x) MSG__ENVELOPE__BODY_##x
static const char *const names[MSG_KIND_COUNT] = {
    [BODY(HELLO)] = "HELLO",
    [BODY(WELCOME)] = "WELCOME",
    [BODY(HEARTBEAT)] = "HEARTBEAT",
    [BODY(BYE)] = "BYE",
    [BODY(FAULT)] = "FAULT",
    [BODY(GONE)] = "GONE",
    [BODY(WORK_REQUEST)] = "WORK_REQUEST",
    [BODY(CONTROL)] = "CONTROL",
    [BODY(CONTROL_REPLY)] = "CONTROL_REPLY",
    [BODY(COMPILE)] = "COMPILE",
    [BODY(PLAN_REPLY)] = "PLAN_REPLY",
    [BODY(ASSIGN)] = "ASSIGN",
    [BODY(ASSIGNED)] = "ASSIGNED",
    [BODY(FENCE)] = "FENCE",
    [BODY(COMMIT)] = "COMMIT",
    [BODY(COMMITTED)] = "COMMITTED",
    [BODY(FORGET)] = "FORGET",
    [BODY(INSPECT)] = "INSPECT",
    [BODY(INSPECTED)] = "INSPECTED",
    [BODY(LEASE)] = "LEASE",
    [BODY(LEASE_DONE)] = "LEASE_DONE",
    [BODY(EVAL)] = "EVAL",
    [BODY(EVAL_DONE)] = "EVAL_DONE",
    [BODY(LEASE_FAILED)] = "LEASE_FAILED",
    [BODY(LEASE_ACK)] = "LEASE_ACK",
    [BODY(REVOKE)] = "REVOKE",
    [BODY(RUN_EVENT)] = "RUN_EVENT",
    [BODY(RUN_ASK)] = "RUN_ASK",
    [BODY(RUN_PIECE)] = "RUN_PIECE",
    [BODY(RUN_ANSWER)] = "RUN_ANSWER",
};

const char *msg_kind_name(msg_kind_t kind)
{
    return (unsigned)kind < MSG_KIND_COUNT && names[kind] ? names[kind] : "unknown";
}

/* A base-128 varint; false at the end of the bytes or beyond 64 bits. */
static bool read_varint(const uint8_t *bytes, size_t n, size_t *at, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (*at >= n) return false;
        uint8_t byte = bytes[(*at)++];
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

/* Step over a field's value of the given wire type; false when it runs past the end. */
static bool skip_value(const uint8_t *bytes, size_t n, size_t *at, unsigned wire)
{
    uint64_t length;
    switch (wire) {
    case 0: return read_varint(bytes, n, at, &length);
    case 1: length = 8; break;
    case 2:
        if (!read_varint(bytes, n, at, &length)) return false;
        break;
    case 5: length = 4; break;
    default: return false;
    }
    if (length > n - *at) return false;
    *at += length;
    return true;
}

msg_kind_t msg_peek(const uint8_t *bytes, size_t n)
{
    msg_kind_t kind = 0;
    for (size_t at = 0; at < n;) {
        uint64_t key;
        if (!read_varint(bytes, n, &at, &key)) return 0;
        if (!skip_value(bytes, n, &at, (unsigned)(key & 7))) return 0;
        uint64_t field = key >> 3;
        if (field < BODY(HELLO)) continue;
        /* Two bodies in one envelope: protobuf would take the last, we take neither. */
        if (kind || field >= MSG_KIND_COUNT || !names[field]) return 0;
        kind = (msg_kind_t)field;
    }
    return kind;
}

msg_envelope_t *msg_unpack(const uint8_t *bytes, size_t n, err_t *err)
{
    if (n > MSG_CONTROL_BYTES) {
        err_set(err, ERR_NET, "control message of %zu bytes, limit %d", n, MSG_CONTROL_BYTES);
        return NULL;
    }
    msg_envelope_t *self = msg__envelope__unpack(NULL, n, bytes);
    if (!self) {
        err_set(err, ERR_NET, "control message of %zu bytes is no envelope", n);
        return NULL;
    }
    if (self->version != MSG_VERSION) {
        err_set(err, ERR_NET, "control message of version %u, this program speaks %d",
                self->version, MSG_VERSION);
        msg_free(&self);
    }
    return self;
}

static bool is_utf8(const char *text)
{
    size_t n = text ? strlen(text) : 0;
    for (size_t i = 0; i < n;) {
        size_t length = utf8_next(text + i, n - i, NULL);
        if (length == 0) return false;
        i += length;
    }
    return true;
}

/* Element i of a field; texts and messages are pointers. */
static const void *element(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                           size_t i)
{
    void *const *at = (void *const *)((const char *)message + field->offset);
    return field->label == PROTOBUF_C_LABEL_REPEATED ? ((void *const *)*at)[i] : *at;
}

/* How many elements a field has that are set. */
static size_t elements(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const char *count = (const char *)message + field->quantifier_offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) return *(const size_t *)count;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) return *(const uint32_t *)count == field->id;
    return 1;
}

const char *msg_bad_text(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    for (unsigned f = 0; f < type->n_fields; f++) {
        const ProtobufCFieldDescriptor *field = &type->fields[f];
        bool text = field->type == PROTOBUF_C_TYPE_STRING;
        if (!text && field->type != PROTOBUF_C_TYPE_MESSAGE) continue;
        for (size_t i = 0, n = elements(message, field); i < n; i++) {
            const void *one = element(message, field, i);
            const char *bad = text && !is_utf8(one) ? field->name : NULL;
            if (!text && one) bad = msg_bad_text(one);
            if (bad) return bad;
        }
    }
    return NULL;
}

void msg_free(msg_envelope_t **self_p)
{
    if (*self_p) msg__envelope__free_unpacked(*self_p, NULL);
    *self_p = NULL;
}

uint8_t *msg_pack(const msg_envelope_t *self, size_t *n)
{
    size_t size = msg__envelope__get_packed_size(self);
    uint8_t *bytes = mem_calloc(1, size + 1);
    *n = msg__envelope__pack(self, bytes);
    return bytes;
}

int msg_dispatch(const msg_route_t routes[MSG_KIND_COUNT], void *state, const msg_peer_t *from,
                 const uint8_t *bytes, size_t n, msg_count_t *count, err_t *err)
{
    err_t reason = {0};
    msg_kind_t kind = msg_peek(bytes, n);
    msg_envelope_t *message = NULL;
    if (!kind)
        err_set(&reason, ERR_NET, "%zu bytes that are no control message", n);
    else if (!routes[kind].handle)
        err_set(&reason, ERR_NET, "%s is not for this service", msg_kind_name(kind));
    else if (n > routes[kind].max_bytes)
        err_set(&reason, ERR_NET, "%s of %zu bytes, limit %zu", msg_kind_name(kind), n,
                routes[kind].max_bytes);
    else
        message = msg_unpack(bytes, n, &reason);
    /* A body field of the wrong wire type counts as absent. */
    if (message && message->body_case != kind) {
        err_set(&reason, ERR_NET, "%s without a body", msg_kind_name(kind));
        msg_free(&message);
    }
    /* HELLO's handler checks its texts itself, and tells the sender. */
    const char *bad = message && kind != BODY(HELLO) ? msg_bad_text(&message->base) : NULL;
    if (bad) {
        err_set(&reason, ERR_NET, "%s: its %s is not UTF-8", msg_kind_name(kind), bad);
        msg_free(&message);
    }
    if (!message) {
        count->dropped++;
        log_event(LOG_WARN, "message_dropped", "dropped=%llu reason=\"%s\"",
                  (unsigned long long)count->dropped, reason.text);
        return err_set(err, reason.code, "%s", reason.text);
    }
    count->handled++;
    routes[kind].handle(state, from, message);
    msg_free(&message);
    return 0;
}
