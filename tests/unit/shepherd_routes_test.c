/* Who may say what to a run's shepherd, to a cluster's front, and to the front as a member of a run. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "routes.h"
#include "shepherd/front/front.h"
#include "shepherd/shepherd.h"

static void of_a_run(void **state)
{
    (void)state;
    routes_check(shepherd_routes,
                 "HELLO: none compiler aggregator worker cli supervisor; "
                 "BYE: none compiler aggregator worker cli supervisor; "
                 "HEARTBEAT: compiler aggregator worker cli supervisor; "
                 "GONE: supervisor cli; "
                 "WORK_REQUEST: compiler worker; "
                 "CONTROL: cli; CONTROL_REPLY: supervisor; RUN_EVENT: supervisor; "
                 "PLAN_REPLY: compiler; SAMPLED: compiler; "
                 "ASSIGNED: aggregator; COMMITTED: aggregator; INSPECTED: aggregator; "
                 "LEASE_DONE: worker; EVAL_DONE: worker; LEASE_FAILED: worker ");
}

static void of_the_front(void **state)
{
    (void)state;
    routes_check(front_routes, "BYE: none compiler aggregator worker cli supervisor; "
                               "HEARTBEAT: compiler aggregator worker cli supervisor; "
                               "GONE: supervisor cli; "
                               "CONTROL: cli; CONTROL_REPLY: supervisor; RUN_EVENT: supervisor; "
                               "RUN_ASK: cli; RUN_PIECE: cli ");
}

static void of_a_child(void **state)
{
    (void)state;
    routes_check(front_child_routes, "RUN_EVENT: shepherd; CONTROL_REPLY: shepherd ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_run),
        cmocka_unit_test(of_the_front),
        cmocka_unit_test(of_a_child),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
