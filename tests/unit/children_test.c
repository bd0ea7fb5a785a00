/* Children (base/children.h): a signal that comes before the new program runs is the child's own.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/children.h"
#include "base/file.h"
#include "base/mem.h"
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

static int64_t size_of(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);
    int64_t n = file_size(path);
    free(path);
    return n;
}

/* A log that has grown too long begins anew, under the child's hands; the one before is kept, and no other. */
static void logs_begin_anew(void **state)
{
    (void)state;
    char *dir = temp_dir();
    children_t *children = children_new(dir, SIGKILL);
    children_limit_logs(children, 1000);
    char *const argv[] = {"/bin/sh", "-c",
                          "seq 1000 1999; while [ -s talk.log ]; do sleep 0.01; done; "
                          "echo short; sleep 60",
                          NULL};
    char cwd[4096];
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(dir), 0);
    err_t err = {0};
    assert_int_equal(children_spawn(children, "talk", argv, &err), 0);
    assert_int_equal(chdir(cwd), 0);
    child_end_t end = {0};
    for (int ms = 0; size_of(dir, "talk.log") != 6 && ms < 20000; ms += 10) {
        assert_false(children_reap(children, &end));
        usleep(10000);
    }
    assert_int_equal(size_of(dir, "talk.log"), 6);
    assert_int_equal(size_of(dir, "talk.log.1"), 5000);
    char *tail = children_log_tail(children, "talk", 20);
    assert_string_equal(tail, "1998\n1999\nshort\n");
    free(tail);
    children_destroy(&children);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(signals_at_once),
                                       cmocka_unit_test(logs_begin_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
