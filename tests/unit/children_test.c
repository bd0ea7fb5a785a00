/* Children (base/children.h): a signal that comes before the new program runs is the child's own.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/children.h"
#include "temp.h"

static int told[2];

static void tell(int number)
{
    uint8_t byte = (uint8_t)number;
    if (write(told[1], &byte, 1) < 0) _exit(1);
}

/* The parent has a handler, as our services have; children are told to end as soon as they are
 * forked. */
static void signals_at_once(void **state)
{
    (void)state;
    assert_int_equal(pipe2(told, O_NONBLOCK | O_CLOEXEC), 0);
    struct sigaction action = {.sa_handler = tell, .sa_flags = SA_RESTART}, before;
    assert_int_equal(sigaction(SIGTERM, &action, &before), 0);
    char *dir = temp_dir();
    children_t *children = children_new(dir, SIGKILL);
    char *const argv[] = {"/bin/sleep", "60", NULL};
    err_t err = {0};
    for (int i = 0; i < 100; i++) {
        assert_int_equal(children_spawn(children, "sleep", argv, &err), 0);
        children_signal(children, "", SIGTERM);
        child_end_t end = {0};
        for (int ms = 0; !children_reap(children, &end) && ms < 5000; ms++) usleep(1000);
        assert_true(end.signalled);
        assert_int_equal(end.code, SIGTERM);
    }
    uint8_t byte;
    assert_int_equal(read(told[0], &byte, 1), -1);
    children_destroy(&children);
    temp_remove(&dir);
    sigaction(SIGTERM, &before, NULL);
    close(told[0]);
    close(told[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(signals_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
