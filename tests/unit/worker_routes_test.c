/* Who may say what to a worker. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "routes.h"
#include "worker/loop.h"

static void control(void **state)
{
    (void)state;
    routes_check(
        worker_routes,
        "LEASE: shepherd; EVAL: shepherd; LEASE_ACK: shepherd; REVOKE: shepherd; COPY: shepherd ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
