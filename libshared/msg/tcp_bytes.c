/* TCP_INFO. */
#include "msg/tcp_bytes.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

uint64_t tcp_bytes(int fd)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof info;
    if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0) return 0;
    return info.tcpi_bytes_acked + info.tcpi_bytes_received;
}
