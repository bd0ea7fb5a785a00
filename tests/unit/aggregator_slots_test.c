/* The endpoints of an aggregator's slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "aggregator/slots.h"

static void test_endpoints(void **state)
{
    (void)state;
    static const struct {
        const char *endpoint, *first, *third;
    } cases[] = {
        {"tcp://0.0.0.0:7100", "tcp://0.0.0.0:7100", "tcp://0.0.0.0:7102"},
        {"tcp://[::1]:7100", "tcp://[::1]:7100", "tcp://[::1]:7102"},
        {"tcp://127.0.0.1:*", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"},
        {"ipc://run/data", "ipc://run/data-s0", "ipc://run/data-s2"},
        {"ipc://a:b/data", "ipc://a:b/data-s0", "ipc://a:b/data-s2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *first = slot_endpoint(cases[i].endpoint, 0);
        char *third = slot_endpoint(cases[i].endpoint, 2);
        assert_string_equal(first, cases[i].first);
        assert_string_equal(third, cases[i].third);
        free(first);
        free(third);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_endpoints)};
    return cmocka_run_group_tests_name("aggregator, slots", tests, NULL, NULL);
}
