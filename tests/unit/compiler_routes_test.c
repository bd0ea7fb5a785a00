/* Who may say what to a compiler. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "compiler/loop.h"
#include "routes.h"

static void control(void **state)
{
    (void)state;
    routes_check(compiler_routes, "COMPILE: shepherd; SAMPLE: shepherd ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
