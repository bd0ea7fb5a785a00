/* Who may say what to the command line. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "pcp/routes.h"
#include "routes.h"

static void train(void **state)
{
    (void)state;
    routes_check(train_routes, "RUN_EVENT: shepherd ");
}

static void checkpoint(void **state)
{
    (void)state;
    routes_check(checkpoint_now_routes, "CONTROL_REPLY: shepherd ");
}

static void worker(void **state)
{
    (void)state;
    routes_check(cmd_worker_routes, "CONTROL_REPLY: shepherd ");
}

static void run(void **state)
{
    (void)state;
    routes_check(run_talk_routes, "RUN_ANSWER: shepherd; RUN_EVENT: shepherd ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(train),
        cmocka_unit_test(checkpoint),
        cmocka_unit_test(worker),
        cmocka_unit_test(run),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
