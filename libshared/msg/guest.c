/* Apart from all others, for the C library's header has an older form of the structure, and no
 * program can include both. */
#include "msg/guest.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

bool guest_said(int fd, uint64_t *bytes, uint32_t *silent_ms)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0) return false;
    *bytes = info.tcpi_bytes_received;
    *silent_ms = info.tcpi_last_data_recv;
    return true;
}

uint64_t guest_unread(int fd)
{
    int n = 0;
    return ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

uint64_t guest_cookie(int fd)
{
    uint64_t cookie = 0;
    socklen_t n = sizeof cookie;
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n) == 0 ? cookie : 0;
}
