/* Whom an inference member takes for a gateway: over TCP with CURVE, from a server that holds the key which the member was
 * told, and shows one card or another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/control.h"
#include "msg/keyring.h"
#include "msg/member.h"
#include "msg/protocol.h"
#include "msg/server_card.h"
#include "msg/service.h"
#include "temp.h"

enum { LIMIT_MS = 20000 };
static const int64_t NEVER = 4102444800; /* 2100 */

static keys_authority_t authority, foreign;
static keys_t own; /* both ends have it: its pair is the server's */
static char *dir, *endpoint;
static zsock_t *router;

/* A card of our pair. */
static void card_of(const keys_authority_t *by, keys_role_t role, int64_t expires_s,
                    char text[KEYS_CARD_TEXT])
{
    keys_t key = own;
    key.card.role = role;
    keys_renew(by, expires_s, &key);
    keys_card_write(&key.card, text);
}

static int begin(void **state)
{
    (void)state;
    keys_t shepherd;
    err_t err = {0};
    log_init("test", LOG_OFF, LOG_LOGFMT);
    dir = temp_dir();
    keys_authority_new(&authority, NEVER, &shepherd);
    keys_authority_new(&foreign, NEVER, &shepherd);
    keys_issue(&authority, KEYS_INFERENCE, "alpha", NEVER, &own, NULL);
    char *text = keys_write(&own);
    FILE *file = fopen(temp_path(dir, "key"), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    free(text);
    const keyring_options_t options = {.key = temp_path(dir, "key")};
    assert_int_equal(chmod(options.key, 0600), 0);
    if (keyring_load(&options, &err) < 0 || keyring_start(&err) < 0) fail_msg("%s", err.text);
    router = endpoint_open(endpoint_bind(ZMQ_ROUTER, "tcp://127.0.0.1:*"), &err);
    if (!router) fail_msg("%s", err.text);
    char *bound = zsock_last_endpoint(router);
    endpoint = keyring_endpoint(bound);
    free(bound);
    return 0;
}

static int end(void **state)
{
    (void)state;
    zsock_destroy(&router);
    keyring_end();
    free(endpoint);
    temp_remove(&dir);
    return 0;
}

/* --- a server that welcomes everybody with a card --- */

typedef struct {
    member_t *member;
    const char *card, *why; /* why: what its health is to say; NULL: it is to join */
    int n_welcome;
    int64_t until_ms;
    msg_count_t count;
} rig_t;

static void on_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)message;
    rig_t *rig = state;
    Msg__Welcome body = MSG__WELCOME__INIT;
    body.heartbeat_ms = 1000;
    body.timeout_ms = 30000;
    body.protocol = MSG_PROTOCOL;
    body.card = (char *)(uintptr_t)rig->card;
    msg_envelope_t reply = MSG__ENVELOPE__INIT;
    reply.body_case = MSG__ENVELOPE__BODY_WELCOME;
    reply.welcome = &body;
    control_send(router, from, &reply, NULL);
}

static const msg_route_t server[MSG_KIND_COUNT] = {
    MSG_ROUTE(HELLO, 4096, on_hello, MSG_FROM_STRANGER),
};

static int on_router(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    rig_t *rig = arg;
    while (control_receive(socket, true, &(msg_table_t){.routes = server}, rig, &rig->count))
        continue;
    return 0;
}

static bool is_over(const rig_t *rig)
{
    char text[2 * PROTOCOL_TEXT];
    member_health(rig->member, text, sizeof text);
    return rig->why ? strstr(text, rig->why) != NULL : rig->n_welcome > 0;
}

static int on_check(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    rig_t *rig = arg;
    return is_over(rig) || clock_mono_ms() > rig->until_ms ? -1 : 0;
}

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)welcome;
    ((rig_t *)state)->n_welcome++;
}

static void on_lost(void *state, const char *reason)
{
    (void)state, (void)reason;
}

/* A member that wants this role joins who shows the card, or says why not. */
static void meet(keys_role_t role, const char *card, const char *why)
{
    err_t err = {0};
    rig_t rig = {.card = card, .why = why, .until_ms = clock_mono_ms() + LIMIT_MS};
    zloop_t *loop = zloop_new();
    const member_options_t options = {.endpoint = endpoint,
                                      .kind = MSG__KIND__KIND_INFERENCE,
                                      .id = "alpha-1",
                                      .server = role,
                                      .state = &rig,
                                      .on_welcome = on_welcome,
                                      .on_lost = on_lost};
    zloop_reader(loop, router, on_router, &rig);
    zloop_timer(loop, 5, 0, on_check, &rig);
    rig.member = member_new(loop, &options, &err);
    if (!rig.member) fail_msg("%s", err.text);
    service_loop(loop);
    bool over = is_over(&rig);
    assert_int_equal(member_joined(rig.member), why == NULL);
    assert_int_equal(rig.n_welcome, why == NULL);
    member_destroy(&rig.member);
    zloop_destroy(&loop);
    if (!over) fail_msg("\"%s\" is not said of \"%s\"", why ? why : "welcome", card);
}

/* --- whom it takes --- */

static void a_gateways_card(void **state)
{
    (void)state;
    char card[KEYS_CARD_TEXT];
    card_of(&authority, KEYS_GATEWAY, NEVER, card);
    meet(KEYS_GATEWAY, card, NULL);
    card_of(&authority, KEYS_GATEWAY, clock_wall_ms() / 1000 + 1000, card);
    meet(KEYS_GATEWAY, card, NULL); /* renewed, or another */
}

static void other_cards(void **state)
{
    (void)state;
    char card[KEYS_CARD_TEXT];
    for (keys_role_t role = KEYS_NONE + 1; role < KEYS_ROLES; role++) {
        if (role == KEYS_GATEWAY || !keys_role_name(role)) continue;
        card_of(&authority, role, NEVER, card);
        meet(KEYS_GATEWAY, card, "its key has another role");
    }
    card_of(&foreign, KEYS_GATEWAY, NEVER, card);
    meet(KEYS_GATEWAY, card, "not signed by this cluster's authority");
    card_of(&authority, KEYS_GATEWAY, clock_wall_ms() / 1000 - 5, card);
    meet(KEYS_GATEWAY, card, "has expired");
    keys_t another; /* of a gateway's that is not this one */
    keys_issue(&authority, KEYS_GATEWAY, "alpha", NEVER, &another, NULL);
    keys_card_write(&another.card, card);
    meet(KEYS_GATEWAY, card, "not signed by this cluster's authority");
    meet(KEYS_GATEWAY, "", "it shows no certificate");
    meet(KEYS_GATEWAY, "2 gateway alpha", "its certificate is none");
}

/* Of shepherds the public key is enough; a socket of this machine asks for nothing. */
static void nothing_to_prove(void **state)
{
    (void)state;
    char card[KEYS_CARD_TEXT];
    meet(KEYS_NONE, "", NULL);
    assert_null(server_card_wrong("ipc://door", "", KEYS_GATEWAY, 0));
    server_card_show(card);
    char want[KEYS_CARD_TEXT];
    keys_card_write(&own.card, want);
    assert_string_equal(card, want);
}

/* The last one: nobody forgets it. */
static void a_revoked_key(void **state)
{
    (void)state;
    char card[KEYS_CARD_TEXT];
    card_of(&authority, KEYS_GATEWAY, NEVER, card);
    assert_null(server_card_wrong(endpoint, card, KEYS_GATEWAY, 0));
    keys_revoked_t list = {.at = &own.card.public_key, .n = 1};
    char *text = keys_revoked_write(&authority, &list);
    assert_int_equal(keyring_take_revoked(text, strlen(text), NULL), 1);
    free(text);
    const char *why = server_card_wrong(endpoint, card, KEYS_GATEWAY, 0);
    assert_non_null(why);
    assert_string_equal(why, "its key is revoked");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gateways_card),
        cmocka_unit_test(other_cards),
        cmocka_unit_test(nothing_to_prove),
        cmocka_unit_test(a_revoked_key),
    };
    return cmocka_run_group_tests_name("server_card", tests, begin, end);
}
