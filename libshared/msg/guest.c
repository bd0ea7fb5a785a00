/* Apart from all others, for the C library's header has an older form of the structure, and no
 * program can include both. */
#include "msg/guest.h"

#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
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

/* A filter of what the kernel hands to a socket: it sees segments from their TCP header on. */
enum { DATA_OFFSET = 12, FLAGS = 13, RESET = 4 };

void guest_cut(int fd)
{
    struct sock_filter nothing[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, RESET, 6, 0),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DATA_OFFSET), /* in words of 32 bits, the upper half */
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
        BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 2),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0), /* acknowledgements and ends have no data */
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    const struct sock_fprog filter = {sizeof nothing / sizeof *nothing, nothing};
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
    shutdown(fd, SHUT_RD);
    uint8_t gone[1 << 16]; /* TCP writes nothing there: MSG_TRUNC */
    while (recv(fd, gone, sizeof gone, MSG_TRUNC | MSG_DONTWAIT) > 0) continue;
}
