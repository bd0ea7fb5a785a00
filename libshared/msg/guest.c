/* Apart from all others, for the C library's header has an older form of the structure, and no
 * program can include both. */
#include "msg/guest.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
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

uint64_t guest_address(int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t n = sizeof peer;
    uint64_t half[2] = {0};
    if (getpeername(fd, (struct sockaddr *)&peer, &n) < 0) return 0;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&peer;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&peer;
    if (peer.ss_family == AF_INET) return v4->sin_addr.s_addr;
    if (peer.ss_family != AF_INET6) return 0;
    memcpy(half, &v6->sin6_addr, sizeof half);
    return IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) ? half[1] >> 32 : half[0];
}

void guest_cut(int fd)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    if (connect(fd, &nobody, sizeof nobody) < 0) shutdown(fd, SHUT_RDWR); /* a local one */
}
