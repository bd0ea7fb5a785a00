/* bench-serve: clients of a gateway that all begin at once and read a stream each.
 *
 *   bench-serve PORT MODEL STREAMS TOKENS
 *
 * Prints how many were lost (no [DONE], or fewer tokens than asked for), the time to the first token and
 * to the end, and tokens a second of all. One thread, one poll. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

enum { WAIT_MS = 300000, ARGS = 5 };

typedef struct {
    int fd;
    str_t heard;
    double first_s, end_s; /* 0: not yet */
    bool closed;
} stream_t;

static int connect_to(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) < 0) {
        perror("bench-serve");
        exit(1);
    }
    return fd;
}

static void ask(stream_t *s, int port, const char *model, int tokens, int number)
{
    char *body = mem_printf("{\"model\":\"%s\",\"prompt\":\"Number %d of many. \","
                            "\"max_tokens\":%d,\"seed\":%d,\"stream\":true}",
                            model, number, tokens, number);
    char *text = mem_printf("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                            "Content-Type: application/json\r\nConnection: close\r\n"
                            "Content-Length: %zu\r\n\r\n%s",
                            strlen(body), body);
    s->fd = connect_to(port);
    if (write(s->fd, text, strlen(text)) != (ssize_t)strlen(text)) perror("bench-serve");
    fcntl(s->fd, F_SETFL, O_NONBLOCK);
    free(text);
    free(body);
}

static void hear(stream_t *s, double now_s)
{
    char bytes[65536];
    ssize_t n;
    while ((n = read(s->fd, bytes, sizeof bytes)) > 0) str_addn(&s->heard, bytes, (size_t)n);
    if (!s->first_s && strstr(str_text(&s->heard), "\"text\"")) s->first_s = now_s;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    s->closed = true;
    s->end_s = now_s;
    close(s->fd);
}

static int64_t count(const char *text, const char *what)
{
    int64_t n = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) n++;
    return n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *name, double *list, int n)
{
    qsort(list, (size_t)n, sizeof *list, compare);
    printf("%s: p50 %.1f ms, p99 %.1f ms, most %.1f ms\n", name, 1e3 * list[n / 2],
           1e3 * list[(n * 99 - 1) / 100], 1e3 * list[n - 1]);
}

/* All streams until they are closed. */
static void run(stream_t *streams, int n)
{
    struct pollfd *polls = mem_calloc((size_t)n, sizeof *polls);
    for (int open = n; open > 0;) {
        for (int i = 0; i < n; i++)
            polls[i] = (struct pollfd){.fd = streams[i].closed ? -1 : streams[i].fd,
                                       .events = POLLIN};
        if (poll(polls, (nfds_t)n, WAIT_MS) <= 0) break;
        double now_s = clock_mono_s();
        for (int i = 0; i < n; i++) {
            if (!polls[i].revents) continue;
            hear(&streams[i], now_s);
            open -= streams[i].closed;
        }
    }
    free(polls);
}

int main(int argc, char **argv)
{
    if (argc != ARGS) {
        fprintf(stderr, "bench-serve PORT MODEL STREAMS TOKENS\n");
        return 2;
    }
    int port = atoi(argv[1]), n = atoi(argv[3]), tokens = atoi(argv[4]), lost = 0;
    stream_t *streams = mem_calloc((size_t)n, sizeof *streams);
    double *first = mem_calloc((size_t)n, sizeof *first), *all = mem_calloc((size_t)n, sizeof *all);
    double start_s = clock_mono_s(), end_s = start_s;
    for (int i = 0; i < n; i++) ask(&streams[i], port, argv[2], tokens, i);
    run(streams, n);
    for (int i = 0; i < n; i++) {
        const char *text = str_text(&streams[i].heard);
        bool whole = strstr(text, "data: [DONE]") && strstr(text, "\"finish_reason\":\"length\"") &&
                     count(text, "\"text\"") >= tokens / 8;
        lost += !whole;
        first[i] = (streams[i].first_s ? streams[i].first_s : start_s + 1e6) - start_s;
        all[i] = streams[i].end_s - start_s;
        if (streams[i].end_s > end_s) end_s = streams[i].end_s;
    }
    printf("%d streams of %d tokens: %d lost, %.2f s, %.0f tokens/s\n", n, tokens, lost,
           end_s - start_s, (double)n * tokens / (end_s - start_s));
    print_times("  first token", first, n);
    print_times("  end", all, n);
    return lost > 0;
}
