/* Wildcards, and the address of a connection. */
#include "msg/announce.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "msg/control.h"

/* The address of ours that a connection has, as it stands in an endpoint; false: of no use to other
 * machines. */
static bool local_host(int fd, char *host, size_t n_host)
{
    struct sockaddr_storage at = {0};
    socklen_t n = sizeof at;
    const struct sockaddr_in *four = (const struct sockaddr_in *)&at;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&at;
    char text[INET6_ADDRSTRLEN] = "";
    if (getsockname(fd, (struct sockaddr *)&at, &n) < 0) return false;
    if (at.ss_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
        inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
    else if (at.ss_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&six->sin6_addr))
        inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
    snprintf(host, n_host, at.ss_family == AF_INET6 ? "[%s]" : "%s", text);
    return *text != '\0';
}

char *announce_endpoint(const char *bound, int fd)
{
    char host[INET6_ADDRSTRLEN + 2], via[sizeof host + 16];
    if (!control_is_wild(bound) || !local_host(fd, host, sizeof host)) return mem_strdup(bound);
    snprintf(via, sizeof via, "tcp://%s:0", host);
    return control_resolve(bound, via);
}

void announce_resolve(const msg_envelope_t *message, const char *shepherd)
{
    size_t n = 0;
    char **data = NULL;
    if (message->body_case == MSG__ENVELOPE__BODY_LEASE)
        data = message->lease->data, n = message->lease->n_data;
    else if (message->body_case == MSG__ENVELOPE__BODY_EVAL)
        data = message->eval->data, n = message->eval->n_data;
    else if (message->body_case == MSG__ENVELOPE__BODY_COPY)
        data = message->copy->data, n = message->copy->n_data;
    else if (message->body_case == MSG__ENVELOPE__BODY_COMPILE)
        data = message->compile->data, n = message->compile->n_data;
    for (size_t i = 0; i < n; i++) {
        if (!control_is_wild(data[i])) continue;
        char *seen = control_resolve(data[i], shepherd);
        free(data[i]);
        data[i] = seen;
    }
}
