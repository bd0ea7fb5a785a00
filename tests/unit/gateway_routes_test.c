/* Who may say what to a gateway, and to its members. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "gateway/join.h"
#include "routes.h"

static void gateway(void **state)
{
    (void)state;
    routes_check(members_routes,
                 "HELLO: none inference; HEARTBEAT: inference; BYE: inference; OFFER: inference; "
                 "OFFER_PIECE: inference; TEXT_NEWS: inference ");
}

static void member(void **state)
{
    (void)state;
    routes_check(join_routes, "OFFER_ASK: shepherd; WRITE_TEXT: shepherd; STOP_TEXT: shepherd ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gateway),
        cmocka_unit_test(member),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
