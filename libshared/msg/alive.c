/* Signs of life into an inherited pipe. */
#include "msg/alive.h"

#include <fcntl.h>
#include <unistd.h>

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    /* A full pipe says as much as another byte; a reader that is gone is the parent-death signal's
     * affair. */
    ssize_t written = write((int)(intptr_t)arg, "", 1);
    (void)written;
    return 0;
}

int alive_start(zloop_t *loop, int fd, err_t *err)
{
    if (fd < 0) return 0;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_set_errno(err, "--alive-fd %d", fd);
    on_tick(loop, 0, (void *)(intptr_t)fd);
    zloop_timer(loop, ALIVE_MS, 0, on_tick, (void *)(intptr_t)fd);
    return 0;
}
