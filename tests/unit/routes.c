/* Tables of routes against their written form. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "routes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "msg/refusals.h"

typedef struct {
    msg_who_t who;
    int n_handled, n_refused;
    char text[256];
} seen_t;

static void handle(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from, (void)message;
    ((seen_t *)state)->n_handled++;
}

static msg_who_t who(void *state, const msg_peer_t *from)
{
    (void)from;
    return ((seen_t *)state)->who;
}

static void refuse(void *state, const msg_peer_t *from, uint64_t id, msg_who_t refused,
                   const char *text)
{
    (void)from;
    seen_t *seen = state;
    assert_int_equal(id, 77);
    assert_int_equal(refused, seen->who);
    snprintf(seen->text, sizeof seen->text, "%s", text);
    seen->n_refused++;
}

/* A message of a kind with nothing in it. Returns, caller frees. */
static uint8_t *empty(const ProtobufCFieldDescriptor *field, size_t *n)
{
    const ProtobufCMessageDescriptor *type = field->descriptor;
    ProtobufCMessage *body = calloc(1, type->sizeof_message);
    type->message_init(body);
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.version = MSG_VERSION;
    envelope.id = 77;
    envelope.body_case = (msg_kind_t)field->id;
    *(void **)((char *)&envelope + field->offset) = body;
    uint8_t *bytes = msg_pack(&envelope, n);
    free(body);
    return bytes;
}

/* The kinds that `expected` lets say a message: " worker cli"; NULL: the table should not have it.
 * Returns, caller frees. */
static char *allowed(const char *expected, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = expected; at && *at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
        while (*at == ' ') at++;
        if (strncmp(at, name, n) == 0 && at[n] == ':') {
            size_t length = strcspn(at + n + 1, ";");
            char *text = calloc(1, length + 2);
            memcpy(text, at + n + 1, length);
            text[length] = ' ';
            return text;
        }
    }
    return NULL;
}

static void check_one(const msg_table_t *table, const ProtobufCFieldDescriptor *field,
                      const char *kinds, msg_who_t one)
{
    char word[40];
    size_t n;
    msg_count_t count = {0};
    seen_t seen = {.who = one};
    const msg_peer_t from = {.n = 5};
    const char *name = msg_kind_name((msg_kind_t)field->id);
    snprintf(word, sizeof word, " %s ", msg_who_name(one));
    bool may = strstr(kinds, word) != NULL;
    uint64_t before = refusals_of(REFUSAL_ROLE);
    uint8_t *bytes = empty(field, &n);
    err_t err = {0};
    int rc = msg_dispatch(table, &seen, &from, bytes, n, &count, &err);
    if (rc != (may ? 0 : -1) || seen.n_handled != may || seen.n_refused != !may)
        fail_msg("%s of a %s: wanted %s, got %s", name, msg_who_name(one),
                 may ? "admitted" : "refused", seen.n_handled ? "admitted" : "refused");
    assert_int_equal(count.refused, !may);
    assert_int_equal(refusals_of(REFUSAL_ROLE) - before, !may && one != MSG__KIND__KIND_NONE);
    assert_int_equal(count.handled, may);
    if (!may) {
        assert_non_null(strstr(seen.text, name));
        assert_non_null(strstr(seen.text, msg_who_name(one)));
        assert_string_equal(err.text, seen.text);
    }
    free(bytes);
}

void routes_check(const msg_route_t routes[MSG_KIND_COUNT], const char *expected)
{
    msg_route_t copy[MSG_KIND_COUNT];
    log_init("test", LOG_ERROR, LOG_LOGFMT); /* each refusal is a line */
    memcpy(copy, routes, sizeof copy);
    for (int i = 0; i < MSG_KIND_COUNT; i++)
        if (copy[i].handle) copy[i].handle = handle;
    const msg_table_t table = {copy, who, refuse};
    for (unsigned i = 0; i < msg__envelope__descriptor.n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &msg__envelope__descriptor.fields[i];
        if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)) continue;
        const char *name = msg_kind_name((msg_kind_t)field->id);
        char *kinds = allowed(expected, name);
        if (!kinds != !copy[field->id].handle)
            fail_msg("%s is %s the table, and %s expected", name, kinds ? "not in" : "in",
                     kinds ? "was" : "was not");
        for (msg_who_t one = 0; kinds && one <= MSG__KIND__KIND_SUPERVISOR; one++)
            check_one(&table, field, kinds, one);
        if (kinds) check_one(&table, field, kinds, MSG__KIND__KIND_INFERENCE);
        if (kinds) check_one(&table, field, kinds, MSG_WHO_SHEPHERD);
        free(kinds);
    }
}
