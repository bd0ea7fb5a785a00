/* A listening socket is made here and handed on, so that the address is known at once and a port
 * that is taken is an error before anything has begun. */
#include "pcp/train_page.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

enum { WORDS = 24 };

/* The program with its flags into argv, which borrows all. */
static void list_words(const train_config_t *c, const char *events, const char *store,
                       const char *web, const char *program, const char *argv[WORDS])
{
    const char *const first[] = {
        program, "--parent-death", "--log-level", c->log_level,  "--events",
        events,  "--http",         "none",        "--web-store", store};
    const char *pairs[][2] = {{"--web", web},
                              {"--track", c->track},
                              {"--track-experiment", c->track ? c->track_experiment : NULL},
                              {"--track-token-file", c->track ? c->track_token_file : NULL}};
    size_t n = sizeof first / sizeof *first;
    memcpy(argv, first, sizeof first);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!pairs[i][1]) continue;
        argv[n++] = pairs[i][0];
        argv[n++] = pairs[i][1];
    }
    argv[n] = NULL;
}

int train_page_start(const train_config_t *config, const char *sockets, children_t *children,
                     unsigned *port, err_t *err)
{
    const char *argv[WORDS];
    int fd = config->web ? listen_on(config->web_port, port, err) : -1;
    if (config->web && fd < 0) return -1;
    char *program = train_processes_beside("metrics");
    char *events = mem_printf("ipc://%s/events", sockets);
    char *store = mem_printf("sqlite://%s/pcp.db", config->run_dir);
    char *web = mem_printf("fd:%d", CHILDREN_KEPT_FD);
    list_words(config, events, store, config->web ? web : NULL, program, argv);
    int rc = fd >= 0 ? children_spawn_with(children, TRAIN_PAGE, (char *const *)argv, fd, err)
                     : children_spawn(children, TRAIN_PAGE, (char *const *)argv, err);
    unsetenv("MLFLOW_TRACKING_TOKEN");
    if (fd >= 0) close(fd);
    free(web);
    free(store);
    free(events);
    free(program);
    return rc;
}
