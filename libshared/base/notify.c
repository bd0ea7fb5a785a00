#include "base/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un manager;
static socklen_t n_manager;
static int64_t watchdog_ms;

static int64_t read_watchdog(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (!us || (pid && strtoll(pid, NULL, 10) != (long long)getpid())) return 0;
    long long n = strtoll(us, NULL, 10) / 1000 / 2;
    return n > 0 ? n : 0;
}

void notify_init(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t n = path ? strlen(path) : 0;
    watchdog_ms = read_watchdog();
    n_manager = 0;
    if (n > 1 && n < sizeof manager.sun_path && (*path == '/' || *path == '@')) {
        manager = (struct sockaddr_un){.sun_family = AF_UNIX};
        memcpy(manager.sun_path, path, n);
        if (*path == '@') manager.sun_path[0] = '\0'; /* abstract */
        n_manager = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify(const char *state)
{
    if (n_manager == 0) return;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&manager,
                  n_manager);
    close(fd);
}

int64_t notify_watchdog_ms(void)
{
    return n_manager > 0 ? watchdog_ms : 0;
}
