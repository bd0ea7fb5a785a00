/* Who may say what to a run's shepherd, to a cluster's front, and to the front as a member of a run. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "msg/refusals.h"
#include "routes.h"
#include "shepherd/front/front.h"
#include "shepherd/shepherd.h"

static void of_a_run(void **state)
{
    (void)state;
    routes_check(shepherd_routes,
                 "HELLO: none compiler aggregator worker cli supervisor viewer; "
                 "BYE: none compiler aggregator worker cli supervisor viewer; "
                 "HEARTBEAT: compiler aggregator worker cli supervisor viewer; "
                 "GONE: supervisor cli; "
                 "WORK_REQUEST: compiler worker; "
                 "CONTROL: cli; CONTROL_REPLY: supervisor; RUN_EVENT: supervisor; "
                 "PLAN_REPLY: compiler; SAMPLED: compiler; "
                 "ASSIGNED: aggregator; COMMITTED: aggregator; INSPECTED: aggregator; "
                 "LEASE_DONE: worker; EVAL_DONE: worker; LEASE_FAILED: worker; COPIED: worker ");
}

static void of_the_front(void **state)
{
    (void)state;
    routes_check(front_routes, "BYE: none compiler aggregator worker cli supervisor viewer; "
                               "HEARTBEAT: compiler aggregator worker cli supervisor viewer; "
                               "GONE: supervisor cli; "
                               "CONTROL: cli; CONTROL_REPLY: supervisor; RUN_EVENT: supervisor; "
                               "RUN_ASK: cli; RUN_PIECE: cli ");
}

static int n_heard;

static void hear(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)state, (void)from, (void)message;
    n_heard++;
}

static msg_who_t viewer(void *state, const msg_peer_t *from)
{
    (void)state, (void)from;
    return MSG_WHO_VIEWER;
}

static bool hears(const msg_route_t *routes, msg_envelope_t *message)
{
    msg_route_t copy[MSG_KIND_COUNT];
    msg_count_t count = {0};
    const msg_peer_t from = {.n = 5};
    uint64_t refused = refusals_of(REFUSAL_ROLE);
    size_t n;
    memcpy(copy, routes, sizeof copy);
    copy[message->body_case].handle = hear;
    n_heard = 0;
    message->version = MSG_VERSION;
    uint8_t *bytes = msg_pack(message, &n);
    int rc = msg_dispatch(&(msg_table_t){copy, viewer, NULL}, NULL, &from, bytes, n, &count, NULL);
    free(bytes);
    assert_int_equal(rc, n_heard ? 0 : -1);
    assert_int_equal(count.refused, !n_heard);
    assert_int_equal(refusals_of(REFUSAL_ROLE), refused + !n_heard);
    return n_heard;
}

/* Every verb that there is, and some that there are not: a viewer's are those that change nothing. */
static void verbs_of_viewers(void **state)
{
    (void)state;
    for (unsigned verb = 0; verb < 70; verb++) {
        Msg__Control control = MSG__CONTROL__INIT;
        Msg__RunAsk ask = MSG__RUN_ASK__INIT;
        msg_envelope_t message = MSG__ENVELOPE__INIT;
        message.body_case = MSG__ENVELOPE__BODY_CONTROL;
        message.control = &control;
        control.verb = (Msg__Control__Verb)verb;
        assert_int_equal(hears(shepherd_routes, &message), verb == MSG__CONTROL__VERB__LIST);
        assert_int_equal(hears(front_routes, &message), verb == MSG__CONTROL__VERB__LIST);
        message.body_case = MSG__ENVELOPE__BODY_RUN_ASK;
        message.run_ask = &ask;
        ask.verb = (Msg__RunAsk__Verb)verb;
        bool may = verb == MSG__RUN_ASK__VERB__LIST || verb == MSG__RUN_ASK__VERB__GET ||
                   verb == MSG__RUN_ASK__VERB__WATCH || verb == MSG__RUN_ASK__VERB__LOGS;
        assert_int_equal(hears(front_routes, &message), may);
    }
}

/* By the key of who says HELLO as a command line, and of nobody else. */
static void who_is_a_viewer(void **state)
{
    (void)state;
    for (keys_role_t role = KEYS_NONE; role < KEYS_ROLES; role++) {
        const keys_card_t card = {.role = role};
        const msg_peer_t peer = {.card = role ? &card : NULL};
        assert_int_equal(msg_who_of(MSG__KIND__KIND_CLI, &peer),
                         role == KEYS_VIEWER ? MSG_WHO_VIEWER : MSG__KIND__KIND_CLI);
        assert_int_equal(msg_who_of(MSG__KIND__KIND_WORKER, &peer), MSG__KIND__KIND_WORKER);
    }
}

static void of_a_child(void **state)
{
    (void)state;
    routes_check(front_child_routes, "RUN_EVENT: shepherd; CONTROL_REPLY: shepherd ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_run),        cmocka_unit_test(of_the_front),
        cmocka_unit_test(of_a_child),      cmocka_unit_test(verbs_of_viewers),
        cmocka_unit_test(who_is_a_viewer),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
