/* Envelope packing, the pre-unpack walk over protobuf fields, and dispatch by table. */
#include "msg/envelope.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "msg/refusals.h"

/* --- Names, from the protocol's own description --- */

enum { NAME_BYTES = 32 };
static char kind_names[MSG_KIND_COUNT][NAME_BYTES]; /* "LEASE_DONE"; empty: there is no such kind */
static char who_names[MSG_WHO_SHEPHERD + 1][NAME_BYTES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void copy_name(char to[NAME_BYTES], const char *from, int (*change)(int))
{
    size_t n = 0;
    for (; from[n] && n < NAME_BYTES - 1; n++) to[n] = (char)change((unsigned char)from[n]);
    to[n] = '\0';
}

static void make_names(void)
{
    const ProtobufCMessageDescriptor *envelope = &msg__envelope__descriptor;
    for (unsigned i = 0; i < envelope->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &envelope->fields[i];
        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && field->id < MSG_KIND_COUNT)
            copy_name(kind_names[field->id], field->name, toupper);
    }
    const ProtobufCEnumDescriptor *kinds = &msg__kind__descriptor;
    for (unsigned i = 0; i < kinds->n_values; i++) {
        const ProtobufCEnumValue *value = &kinds->values[i];
        if (value->value >= 0 && value->value < MSG_WHO_VIEWER)
            copy_name(who_names[value->value], value->name + strlen("KIND_"), tolower);
    }
    copy_name(who_names[MSG_WHO_VIEWER], "viewer", tolower);
    copy_name(who_names[MSG_WHO_SHEPHERD], "shepherd", tolower);
}

static bool is_kind(uint64_t kind)
{
    pthread_once(&once, make_names);
    return kind < MSG_KIND_COUNT && *kind_names[kind];
}

const char *msg_kind_name(msg_kind_t kind)
{
    return is_kind(kind) ? kind_names[kind] : "unknown";
}

const char *msg_who_name(msg_who_t who)
{
    pthread_once(&once, make_names);
    return who <= MSG_WHO_SHEPHERD && *who_names[who] ? who_names[who] : "unknown";
}

/* --- Reading --- */

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
        if (field < MSG__ENVELOPE__BODY_HELLO) continue;
        /* Two bodies in one envelope: protobuf would take the last, we take neither. */
        if (kind || !is_kind(field)) return 0;
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

/* --- By table --- */

enum { REFUSAL_TEXT = 256 };

bool msg_shows(uint64_t n)
{
    return n <= 1000 || n % 1000 == 0;
}

/* "CONTROL may be said by a cli, and its sender is registered as worker" */
static void refusal(const msg_route_t *route, msg_kind_t kind, msg_who_t who,
                    char text[REFUSAL_TEXT])
{
    int n = snprintf(text, REFUSAL_TEXT, "%s may be said by", msg_kind_name(kind));
    const char *joint = " a ";
    for (msg_who_t one = 0; one <= MSG_WHO_SHEPHERD; one++) {
        if (!(route->from >> one & 1)) continue;
        n += snprintf(text + n, (size_t)(REFUSAL_TEXT - n), "%s%s", joint, msg_who_name(one));
        joint = " or a ";
    }
    snprintf(text + n, (size_t)(REFUSAL_TEXT - n), ", and its sender is registered as %s",
             msg_who_name(who));
}

/* A message of a kind and size that the table takes. NULL with the reason. */
static msg_envelope_t *take(const msg_table_t *table, const uint8_t *bytes, size_t n, err_t *reason)
{
    msg_kind_t kind = msg_peek(bytes, n);
    const msg_route_t *route = &table->routes[kind];
    msg_envelope_t *message = NULL;
    if (!kind)
        err_set(reason, ERR_NET, "%zu bytes that are no control message", n);
    else if (!route->handle)
        err_set(reason, ERR_NET, "%s is not for this service", msg_kind_name(kind));
    else if (n > route->max_bytes)
        err_set(reason, ERR_NET, "%s of %zu bytes, limit %zu", msg_kind_name(kind), n,
                route->max_bytes);
    else
        message = msg_unpack(bytes, n, reason);
    /* A body field of the wrong wire type counts as absent. */
    if (message && message->body_case != kind) {
        err_set(reason, ERR_NET, "%s without a body", msg_kind_name(kind));
        msg_free(&message);
    }
    return message;
}

msg_who_t msg_who_of(Msg__Kind kind, const msg_peer_t *peer)
{
    bool viewer = kind == MSG__KIND__KIND_CLI && peer->card && peer->card->role == KEYS_VIEWER;
    return viewer ? MSG_WHO_VIEWER : kind;
}

/* A mask of what the message asks for; 0: it has no verb. */
static unsigned verb_of(const msg_envelope_t *message)
{
    unsigned verb = message->body_case == MSG__ENVELOPE__BODY_CONTROL   ? message->control->verb
                    : message->body_case == MSG__ENVELOPE__BODY_RUN_ASK ? message->run_ask->verb
                                                                        : 32;
    return verb < 32 ? 1u << verb : 0;
}

static bool admits(const msg_table_t *table, const msg_route_t *route, void *state,
                   const msg_peer_t *from, msg_kind_t kind, uint64_t id, unsigned verbs,
                   msg_count_t *count, err_t *err)
{
    char text[REFUSAL_TEXT];
    msg_who_t who = table->who ? table->who(state, from) : MSG__KIND__KIND_NONE;
    if (route->from >> who & 1) return true;
    if (who == MSG_WHO_VIEWER && (route->asks & verbs)) return true;
    if (who != MSG__KIND__KIND_NONE) refusals_count(REFUSAL_ROLE);
    refusal(route, kind, who, text);
    count->refused++;
    /* That strangers are told to say HELLO is the usual course of things. */
    if (msg_shows(count->refused))
        log_event(who == MSG__KIND__KIND_NONE ? LOG_DEBUG : LOG_WARN, "message_refused",
                  "refused=%llu kind=%s from=%s reason=\"%s\"", (unsigned long long)count->refused,
                  msg_kind_name(kind), msg_who_name(who), text);
    if (table->refuse) table->refuse(state, from, id, who, text);
    err_set(err, ERR_NET, "%s", text);
    return false;
}

bool msg_admits(const msg_table_t *table, const msg_route_t *route, void *state,
                const msg_peer_t *from, msg_kind_t kind, uint64_t id, msg_count_t *count,
                err_t *err)
{
    return admits(table, route, state, from, kind, id, ~0u, count, err);
}

int msg_dispatch(const msg_table_t *table, void *state, const msg_peer_t *from,
                 const uint8_t *bytes, size_t n, msg_count_t *count, err_t *err)
{
    err_t reason = {0};
    msg_envelope_t *message = take(table, bytes, n, &reason);
    if (message && !admits(table, &table->routes[message->body_case], state, from,
                           message->body_case, message->id, verb_of(message), count, err)) {
        msg_free(&message);
        return -1;
    }
    /* HELLO's handler checks its texts itself, and tells the sender. */
    bool checked = message && message->body_case != MSG__ENVELOPE__BODY_HELLO;
    const char *bad = checked ? msg_bad_text(&message->base) : NULL;
    if (bad) {
        err_set(&reason, ERR_NET, "%s: its %s is not UTF-8", msg_kind_name(message->body_case),
                bad);
        msg_free(&message);
    }
    if (!message) {
        count->dropped++;
        if (msg_shows(count->dropped))
            log_event(LOG_WARN, "message_dropped", "dropped=%llu reason=\"%s\"",
                      (unsigned long long)count->dropped, reason.text);
        return err_set(err, reason.code, "%s", reason.text);
    }
    count->handled++;
    table->routes[message->body_case].handle(state, from, message);
    msg_free(&message);
    return 0;
}
