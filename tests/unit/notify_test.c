/* base/notify: what a service manager hears. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/notify.h"

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    memcpy(address.sun_path, path, n);
    if (*path == '@') address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
                     0);
    return fd;
}

static void hears(int fd, const char *what)
{
    char text[100] = "";
    ssize_t n = recv(fd, text, sizeof text - 1, 0);
    assert_int_equal(n, (ssize_t)strlen(what));
    assert_string_equal(text, what);
}

static void tells(const char *path)
{
    int fd = listen_at(path);
    setenv("NOTIFY_SOCKET", path, 1);
    notify_init();
    assert_null(getenv("NOTIFY_SOCKET")); /* not for those we start */
    notify("READY=1");
    hears(fd, "READY=1");
    notify("STOPPING=1");
    hears(fd, "STOPPING=1");
    close(fd);
    notify("STATUS=nobody listens"); /* and nothing happens */
}

static void test_sockets(void **state)
{
    (void)state;
    char path[100];
    snprintf(path, sizeof path, "/tmp/notify-test-%d", (int)getpid());
    unlink(path);
    tells(path);
    unlink(path);
    snprintf(path, sizeof path, "@notify-test-%d", (int)getpid());
    tells(path);
}

static void test_nobody(void **state)
{
    (void)state;
    char longest[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    const char *const wrong[] = {"", "relative", "@", longest};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("NOTIFY_SOCKET", wrong[i], 1);
        setenv("WATCHDOG_USEC", "2000000", 1);
        notify_init();
        notify("READY=1");
        assert_int_equal(notify_watchdog_ms(), 0);
    }
}

static void test_watchdog(void **state)
{
    (void)state;
    char pid[20];
    setenv("NOTIFY_SOCKET", "@somebody", 1);
    setenv("WATCHDOG_USEC", "2000000", 1);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    notify_init();
    assert_int_equal(notify_watchdog_ms(), 1000);
    setenv("NOTIFY_SOCKET", "@somebody", 1);
    setenv("WATCHDOG_USEC", "2000000", 1);
    setenv("WATCHDOG_PID", "1", 1); /* another's */
    notify_init();
    assert_int_equal(notify_watchdog_ms(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_watchdog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
