/* A listening socket is made here and handed on, so that the address is known at once and a port
 * that is taken is an error before anything has begun. */
#include "pcp/train_page.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "pcp/train_processes.h"

enum { BACKLOG = 128 };

/* On 127.0.0.1; -1. */
static int listen_on(int64_t port, unsigned *bound, err_t *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &n) == 0) {
        *bound = ntohs(at.sin_port);
        return fd;
    }
    err_set_errno(err, "the page cannot listen on 127.0.0.1:%lld (--web-port)", (long long)port);
    if (fd >= 0) close(fd);
    return -1;
}

int train_page_start(const train_config_t *config, const char *sockets, children_t *children,
                     unsigned *port, err_t *err)
{
    int fd = listen_on(config->web_port, port, err);
    if (fd < 0) return -1;
    char *program = train_processes_beside("metrics");
    char *events = mem_printf("ipc://%s/events", sockets);
    char *store = mem_printf("sqlite://%s/pcp.db", config->run_dir);
    char *web = mem_printf("fd:%d", CHILDREN_KEPT_FD);
    char *const argv[] = {
        program, "--parent-death", "--log-level", config->log_level, "--events", events, "--http",
        "none",  "--web-store",    store,         "--web",           web,        NULL};
    int rc = children_spawn_with(children, TRAIN_PAGE, argv, fd, err);
    close(fd);
    free(web);
    free(store);
    free(events);
    free(program);
    return rc;
}
