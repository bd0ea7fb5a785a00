/* Addresses to listening sockets and back. */
#include "base/listen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

enum { BACKLOG = 512 };

int listen_open(const char *address, err_t *err)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || !colon[1])
        return err_set(err, ERR_ARG, "\"%s\" is not HOST:PORT", address);
    if (str_starts(address, "fd:")) return atoi(colon + 1);
    bool brackets = *address == '[' && colon[-1] == ']';
    char *host = mem_printf("%.*s", (int)(colon - address) - 2 * brackets, address + brackets);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
    int found = getaddrinfo(host, colon + 1, &hints, &list), fd = -1, on = 1;
    free(host);
    if (found != 0) return err_set(err, ERR_ARG, "%s: %s", address, gai_strerror(found));
    fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        err_set_errno(err, "cannot listen on %s", address);
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}

unsigned listen_bound(int fd, char host[NI_MAXHOST])
{
    struct sockaddr_storage at = {0};
    socklen_t n = sizeof at;
    char port[16] = "0";
    *host = '\0';
    if (getsockname(fd, (struct sockaddr *)&at, &n) == 0)
        getnameinfo((struct sockaddr *)&at, n, host, NI_MAXHOST, port, sizeof port,
                    NI_NUMERICSERV | NI_NUMERICHOST);
    return (unsigned)strtoul(port, NULL, 10);
}

bool listen_is_loopback(const char *host)
{
    return str_starts(host, "127.") || strcmp(host, "::1") == 0;
}

bool listen_is_local_name(const char *host)
{
    static const char *const names[] = {"localhost", "127.", "[::1]"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) != 0) continue;
        if (i == 1) return host[strspn(host, "0123456789.:")] == '\0';
        if (host[n] == '\0' || host[n] == ':') return true;
    }
    return false;
}
