/* Membership over real sockets: joining, heartbeats, being forgotten, silence, dismissal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "msg/control.h"
#include "msg/member.h"
#include "msg/protocol.h"
#include "msg/service.h"
#include "temp.h"

#define BODY(kind) MSG__ENVELOPE__BODY_##kind

/* A shepherd that only answers what the test tells it to, and the member's callbacks. */
typedef struct {
    zloop_t *loop;
    zsock_t *router;
    member_t *member;
    msg_peer_t peer; /* the member's present connection */
    int n_hello, n_beat, n_bye, n_welcome, n_lost, n_dismissed, n_work, n_turn;
    uint32_t credit;    /* of the last heartbeat */
    uint32_t pace_ms;   /* of answers to heartbeats */
    int64_t beat_ms[3]; /* of the first heartbeats */
    char id[32], endpoint[32];
    bool mute;   /* the shepherd says nothing more */
    int n_taken; /* HELLOs that are refused, for another process has the id */
    int64_t hello_at_ms[8];
    uint64_t incarnation;
    uint32_t protocol, says_protocol, says_oldest; /* of our WELCOME; of the last HELLO */
    bool (*until)(void *rig);
    int64_t limit_ms;
    msg_count_t count;
} rig_t;

static void answer(rig_t *rig, msg_envelope_t *message)
{
    if (!rig->mute) control_send(rig->router, &rig->peer, message, NULL);
}

static void seen_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    rig_t *rig = state;
    rig->peer = *from;
    rig->hello_at_ms[rig->n_hello++ % 8] = clock_mono_ms();
    assert_int_not_equal(message->hello->incarnation, 0);
    if (rig->incarnation) assert_int_equal(message->hello->incarnation, rig->incarnation);
    rig->incarnation = message->hello->incarnation; /* one process, one number */
    snprintf(rig->id, sizeof rig->id, "%s", message->hello->id);
    Msg__Welcome body = MSG__WELCOME__INIT;
    body.heartbeat_ms = 20;
    body.timeout_ms = 300;
    body.protocol = rig->protocol;
    rig->says_protocol = message->hello->protocol;
    rig->says_oldest = message->hello->protocol_oldest;
    msg_envelope_t reply = MSG__ENVELOPE__INIT;
    Msg__Fault fault = MSG__FAULT__INIT;
    fault.code = MSG__FAULT__CODE__ID_IN_USE;
    fault.text = "it lives";
    bool taken = rig->n_taken > 0 && rig->n_taken-- > 0;
    reply.body_case = taken ? BODY(FAULT) : BODY(WELCOME);
    if (taken)
        reply.fault = &fault;
    else
        reply.welcome = &body;
    answer(rig, &reply);
}

static void seen_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    rig_t *rig = state;
    if (rig->n_beat < 3) rig->beat_ms[rig->n_beat] = clock_mono_ms();
    rig->n_beat++;
    rig->credit = message->heartbeat->credit;
    Msg__Heartbeat body = MSG__HEARTBEAT__INIT;
    body.pace_ms = rig->pace_ms;
    msg_envelope_t reply = MSG__ENVELOPE__INIT;
    reply.body_case = BODY(HEARTBEAT);
    reply.heartbeat = &body;
    answer(rig, &reply);
}

static void seen_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from, (void)message;
    ((rig_t *)state)->n_bye++;
}

static const msg_route_t shepherd[MSG_KIND_COUNT] = {
    [BODY(HELLO)] = {4096, seen_hello, MSG_FROM_STRANGER},
    [BODY(HEARTBEAT)] = {64, seen_heartbeat, MSG_FROM_STRANGER},
    [BODY(BYE)] = {4096, seen_bye, MSG_FROM_STRANGER},
};

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)welcome;
    ((rig_t *)state)->n_welcome++;
}

static void on_lost(void *state, const char *reason)
{
    (void)reason;
    ((rig_t *)state)->n_lost++;
}

static void on_dismissed(void *state, const char *reason)
{
    assert_string_equal(reason, "over");
    ((rig_t *)state)->n_dismissed++;
}

static uint32_t credit(void *state)
{
    (void)state;
    return 6;
}

static void on_work(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from, (void)message;
    ((rig_t *)state)->n_work++;
}

static const msg_route_t routes[MSG_KIND_COUNT] = {
    [BODY(LEASE)] = {4096, on_work, MSG_FROM_SHEPHERD}};

static int on_router(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    rig_t *rig = arg;
    while (control_receive(socket, true, &(msg_table_t){.routes = shepherd}, rig, &rig->count))
        continue;
    return 0;
}

static int on_check(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    rig_t *rig = arg;
    return rig->until(rig) || clock_mono_ms() > rig->limit_ms ? -1 : 0;
}

/* Run the loop until the condition holds; a test fails after 30 s. */
static void wait_for(rig_t *rig, bool (*until)(void *rig))
{
    rig->until = until;
    rig->limit_ms = clock_mono_ms() + 30000;
    service_loop(rig->loop);
    assert_true(until(rig));
}

/* An endpoint of its own for each rig: a closed socket gives its name back only after a while. */
static rig_t *rig_new(void)
{
    static int n_rig;
    rig_t *rig = calloc(1, sizeof *rig);
    snprintf(rig->endpoint, sizeof rig->endpoint, "inproc://member-test-%d", n_rig++);
    rig->loop = zloop_new();
    rig->router = endpoint_open(endpoint_bind(ZMQ_ROUTER, rig->endpoint), NULL);
    assert_non_null(rig->router);
    member_options_t options = {.endpoint = rig->endpoint,
                                .kind = MSG__KIND__KIND_WORKER,
                                .id = "w1",
                                .target = "cpu:x",
                                .routes = routes,
                                .state = rig,
                                .on_welcome = on_welcome,
                                .on_lost = on_lost,
                                .on_bye = on_dismissed,
                                .credit = credit};
    zloop_reader(rig->loop, rig->router, on_router, rig);
    zloop_timer(rig->loop, 5, 0, on_check, rig);
    rig->member = member_new(rig->loop, &options, NULL);
    assert_non_null(rig->member);
    return rig;
}

static void rig_free(rig_t *rig)
{
    member_destroy(&rig->member);
    zloop_destroy(&rig->loop);
    zsock_destroy(&rig->router);
    free(rig);
}

static bool has_beaten(void *rig)
{
    return ((rig_t *)rig)->n_beat >= 3;
}

static bool has_rejoined(void *rig)
{
    return ((rig_t *)rig)->n_welcome >= 2;
}

static bool has_lost(void *rig)
{
    return ((rig_t *)rig)->n_lost >= 1;
}

static bool was_dismissed(void *rig)
{
    return ((rig_t *)rig)->n_dismissed >= 1;
}

static bool said_bye(void *rig)
{
    return ((rig_t *)rig)->n_bye >= 1;
}

static void joining_and_beating(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    assert_false(member_joined(rig->member));
    wait_for(rig, has_beaten);
    assert_true(member_joined(rig->member));
    assert_string_equal(rig->id, "w1");
    assert_int_equal(rig->credit, 6);
    assert_int_equal(rig->n_welcome, 1);
    assert_int_equal(rig->n_lost, 0);
    member_leave(rig->member, "done");
    wait_for(rig, said_bye);
    assert_false(member_joined(rig->member));
    rig_free(rig);
}

static bool said_hello_twice(void *rig)
{
    return ((rig_t *)rig)->n_hello >= 2;
}

/* As slowly as the shepherd wants it, but twice in the time after which it would think us lost. */
static void beating_at_a_pace(void **unused)
{
    (void)unused;
    static const uint32_t paces[] = {100, UINT32_MAX};
    for (int i = 0; i < 2; i++) {
        rig_t *rig = rig_new();
        rig->pace_ms = paces[i];
        wait_for(rig, has_beaten);
        assert_true(rig->beat_ms[2] - rig->beat_ms[0] >= 190);
        assert_int_equal(rig->n_lost, 0);
        rig_free(rig);
    }
}

/* A shepherd of versions that we do not speak welcomes us all the same if it is too old to ask. */
static void a_shepherd_of_another_age(void **unused)
{
    (void)unused;
    char text[600];
    rig_t *rig = rig_new();
    rig->protocol = MSG_PROTOCOL + 1;
    wait_for(rig, said_hello_twice);
    assert_false(member_joined(rig->member));
    assert_int_equal(rig->n_welcome, 0);
    assert_int_equal(rig->says_protocol, MSG_PROTOCOL);
    assert_int_equal(rig->says_oldest, MSG_PROTOCOL_OLDEST);
    member_health(rig->member, text, sizeof text);
    assert_non_null(strstr(text, "the shepherd speaks protocol version 3, this program 1 to 2"));
    rig->protocol = MSG_PROTOCOL_OLDEST; /* it was replaced */
    wait_for(rig, has_beaten);
    assert_true(member_joined(rig->member));
    rig_free(rig);
}

static void a_forgotten_member_joins_again(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    wait_for(rig, has_beaten);
    Msg__Fault body = MSG__FAULT__INIT;
    body.code = MSG__FAULT__CODE__UNKNOWN_PEER;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = BODY(FAULT);
    message.fault = &body;
    answer(rig, &message);
    wait_for(rig, has_rejoined);
    assert_int_equal(rig->n_lost, 1);
    assert_int_equal(rig->n_work, 0);
    rig_free(rig);
}

/* It asks again, after longer and longer pauses, until the holder of its id is gone. */
static void an_id_in_use(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    char text[300];
    rig->n_taken = 2;
    wait_for(rig, said_hello_twice);
    assert_true(member_health(rig->member, text, sizeof text)); /* not for long yet */
    assert_non_null(strstr(text, "no shepherd for 0 s: it lives"));
    wait_for(rig, has_beaten);
    assert_true(member_health(rig->member, text, sizeof text));
    assert_non_null(strstr(text, "w1, member at inproc://"));
    assert_int_equal(rig->n_hello, 3);
    assert_true(rig->hello_at_ms[1] - rig->hello_at_ms[0] >= 450);
    assert_true(rig->hello_at_ms[2] - rig->hello_at_ms[1] >= 900);
    assert_int_equal(rig->n_lost, 0);
    rig_free(rig);
}

static void default_ids(void **unused)
{
    (void)unused;
    char *a = service_id("supervisor"), *b = service_id("supervisor"), host[SERVICE_HOST_BYTES];
    assert_string_not_equal(a, b);
    assert_true(strlen(a) + sizeof "-w4095" <= 64); /* its workers' begin with it */
    assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"),
                     strlen(a));
    free(a);
    free(b);
    service_host("node-1.example", host);
    assert_string_equal(host, "node-1.example");
    service_host("k\xc3\xa4se\n\xff/..%s", host);
    assert_string_equal(host, "k--se---..-s");
    service_host("", host);
    assert_string_equal(host, "host");
    service_host("a-name-that-is-longer-than-it-may-be", host);
    assert_string_equal(host, "a-name-that-is-longer-th");
}

static void a_silent_shepherd_is_lost(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    wait_for(rig, has_beaten);
    rig->mute = true;
    wait_for(rig, has_lost);
    assert_false(member_joined(rig->member));
    rig->mute = false;
    wait_for(rig, has_rejoined);
    rig_free(rig);
}

static void dismissal(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    wait_for(rig, has_beaten);
    Msg__Bye body = MSG__BYE__INIT;
    body.reason = "over";
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = BODY(BYE);
    message.bye = &body;
    answer(rig, &message);
    wait_for(rig, was_dismissed);
    assert_int_equal(rig->n_lost, 0);
    rig_free(rig);
}

/* --- several endpoints: a leader and its stand-by, by ipc, where connections end --- */

typedef struct {
    zsock_t *router;
    char endpoint[128];
    bool leads;
    int n_hello, n_holding;
} candidate_t;

typedef struct {
    zloop_t *loop;
    member_t *member;
    char *dir;
    candidate_t at[2];
    msg_count_t count;
    int n_welcome, n_lost;
    Msg__Holding holding;
    int wanted; /* welcomes */
    int64_t limit_ms;
} pair_t;

static void candidate_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    candidate_t *self = state;
    self->n_hello++;
    const Msg__Holding *holding = message->hello->holding;
    self->n_holding += holding && holding->round == 3 && holding->fence == 2 && holding->done;
    Msg__Welcome welcome = MSG__WELCOME__INIT;
    welcome.heartbeat_ms = 100;
    welcome.timeout_ms = 60000; /* silence is not what this is about */
    Msg__Fault fault = MSG__FAULT__INIT;
    fault.code = MSG__FAULT__CODE__NOT_LEADER;
    msg_envelope_t reply = MSG__ENVELOPE__INIT;
    reply.body_case = self->leads ? BODY(WELCOME) : BODY(FAULT);
    if (self->leads)
        reply.welcome = &welcome;
    else
        reply.fault = &fault;
    control_send(self->router, from, &reply, NULL);
}

static const msg_route_t candidate_routes[MSG_KIND_COUNT] = {
    [BODY(HELLO)] = {4096, candidate_hello, MSG_FROM_STRANGER},
};

static int on_candidate(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    msg_count_t count = {0};
    while (control_receive(socket, true, &(msg_table_t){.routes = candidate_routes}, arg, &count))
        continue;
    return 0;
}

static void open_candidate(pair_t *pair, int i, bool leads)
{
    candidate_t *self = &pair->at[i];
    self->leads = leads;
    snprintf(self->endpoint, sizeof self->endpoint, "ipc://%s/%d", pair->dir, i);
    for (int n = 0; n < 1000 && !self->router; n++) {
        self->router = endpoint_open(endpoint_bind(ZMQ_ROUTER, self->endpoint), NULL);
        if (!self->router) zclock_sleep(5);
    }
    assert_non_null(self->router);
    zloop_reader(pair->loop, self->router, on_candidate, self);
}

static void close_candidate(pair_t *pair, int i)
{
    zloop_reader_end(pair->loop, pair->at[i].router);
    zsock_destroy(&pair->at[i].router);
}

static void pair_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)welcome;
    ((pair_t *)state)->n_welcome++;
}

static void pair_lost(void *state, const char *reason)
{
    (void)reason;
    ((pair_t *)state)->n_lost++;
}

static void pair_hello(void *state, Msg__Hello *hello)
{
    pair_t *pair = state;
    if (pair->n_lost) hello->holding = &pair->holding;
}

static int on_pair_check(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    pair_t *pair = arg;
    return pair->n_welcome >= pair->wanted || clock_mono_ms() > pair->limit_ms ? -1 : 0;
}

static void until_welcomed(pair_t *pair, int n)
{
    pair->wanted = n;
    pair->limit_ms = clock_mono_ms() + 30000;
    service_loop(pair->loop);
    assert_int_equal(pair->n_welcome, n);
}

static void a_stand_by_takes_over(void **unused)
{
    (void)unused;
    pair_t *pair = calloc(1, sizeof *pair);
    pair->dir = temp_dir();
    pair->loop = zloop_new();
    open_candidate(pair, 0, false);
    open_candidate(pair, 1, true);
    msg__holding__init(&pair->holding);
    pair->holding.round = 3, pair->holding.fence = 2, pair->holding.done = true;
    char endpoints[300];
    snprintf(endpoints, sizeof endpoints, "%s,%s", pair->at[0].endpoint, pair->at[1].endpoint);
    member_options_t options = {.endpoint = endpoints,
                                .kind = MSG__KIND__KIND_WORKER,
                                .id = "w1",
                                .target = "cpu:x",
                                .state = pair,
                                .on_welcome = pair_welcome,
                                .on_lost = pair_lost,
                                .hello = pair_hello};
    zloop_timer(pair->loop, 5, 0, on_pair_check, pair);
    pair->member = member_new(pair->loop, &options, NULL);
    assert_non_null(pair->member);
    until_welcomed(pair, 1); /* it went on at once: one HELLO here, one there */
    assert_int_equal(pair->at[0].n_hello, 1);
    assert_int_equal(pair->at[1].n_hello, 1);
    assert_string_equal(member_endpoint(pair->member), pair->at[1].endpoint);
    /* The leader dies. Its end is noticed without waiting for a time-out. */
    close_candidate(pair, 1);
    pair->at[0].leads = true;
    until_welcomed(pair, 2);
    assert_int_equal(pair->n_lost, 1);
    assert_int_equal(pair->at[0].n_holding, 1);
    assert_string_equal(member_endpoint(pair->member), pair->at[0].endpoint);
    /* It steps down, and the other one is back; for a while nobody leads. */
    close_candidate(pair, 0);
    open_candidate(pair, 0, false);
    open_candidate(pair, 1, true);
    until_welcomed(pair, 3);
    assert_string_equal(member_endpoint(pair->member), pair->at[1].endpoint);
    member_destroy(&pair->member);
    close_candidate(pair, 0);
    close_candidate(pair, 1);
    zloop_destroy(&pair->loop);
    temp_remove(&pair->dir);
    options.endpoint = "ipc://a,,ipc://b";
    pair->loop = zloop_new();
    err_t err = {0};
    assert_null(member_new(pair->loop, &options, &err));
    assert_int_equal(err.code, ERR_ARG);
    /* An id that no shepherd takes. */
    char id[MSG_ID_BYTES + 1] = "";
    memset(id, 'x', MSG_ID_BYTES);
    options.endpoint = "ipc://a";
    options.id = id;
    err = (err_t){0};
    assert_null(member_new(pair->loop, &options, &err));
    assert_non_null(strstr(err.text, "x\": 1 to 63 bytes"));
    zloop_destroy(&pair->loop);
    free(pair);
}

/* The rig's timer, which comes before the member's, ends it in a turn of the loop in which the
 * member's own tick is due as well. */
static bool ends_it(void *arg)
{
    rig_t *rig = arg;
    rig->n_turn++;
    if (rig->n_turn == 1) zclock_sleep(120); /* in the next turn everything is due */
    if (rig->n_turn == 2) member_destroy(&rig->member);
    return rig->n_turn > 10;
}

static void a_member_may_end_in_a_timer(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    wait_for(rig, ends_it); /* the first run of its loop: later ones end timers in another way */
    assert_null(rig->member);
    rig_free(rig);
}

int main(void)
{
    log_init("member_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joining_and_beating),
        cmocka_unit_test(beating_at_a_pace),
        cmocka_unit_test(a_shepherd_of_another_age),
        cmocka_unit_test(a_forgotten_member_joins_again),
        cmocka_unit_test(a_member_may_end_in_a_timer),
        cmocka_unit_test(an_id_in_use),
        cmocka_unit_test(default_ids),
        cmocka_unit_test(a_silent_shepherd_is_lost),
        cmocka_unit_test(dismissal),
        cmocka_unit_test(a_stand_by_takes_over),
    };
    int failed = cmocka_run_group_tests_name("member", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
