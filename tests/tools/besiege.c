/* besiege: what somebody without manners does to a port: connections that say nothing, greet and say
 * nothing, or send noise; messages that never end, in large frames or in frames of one byte; floods of whole
 * messages that are none of ours, small or large; a greeting for keys and noise behind it; what another connection
 * has said (tap-line). Speaks ZeroMQ's wire protocol (ZMTP 3.0, RFC 23, without
 * keys) by itself, for the library would hold a message back until it is whole.
 *
 * Each connection does one of the things that --how names, in turn; one that is ended is made again. One
 * thread. Prints one line at the end: connections that were made, bytes that were sent. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/err.h"
#include "base/mem.h"

typedef struct {
    char *how, *type, *replay;
    int64_t port, connections;
    double seconds;
} options_t;

#define ROW(key, what, text, low, high, words_)                                                    \
    {                                                                                              \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .fallback = text, \
        .help = words_, .min = low, .max = high                                                    \
    }
static const config_field_t fields[] = {
    ROW(port, INT, NULL, 1, 65535, "of this machine"),
    ROW(how, STRING, "endless", 0, 0,
        "words of: silent, idle, noise, garbage, endless, crumbs, words, blocks, drip, locked, "
        "replay"),
    ROW(type, STRING, "DEALER", 0, 0, "socket type that it says it is: PUB to a SUB, SUB to a PUB"),
    ROW(replay, STRING, NULL, 0, 0, "file that the way replay sends"),
    ROW(connections, INT, "4", 1, 4096, "at a time"),
    ROW(seconds, FLOAT, "5", 0.1, 1e6, "then it ends"),
};
static const config_table_t table = {
    .usage = "besiege --port PORT [--how WORD,WORD...] [FLAGS]\n"
             "Sends to a port of this machine what nobody should.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

enum { BLOCK = 256 << 10, RETRY_MS = 50, DRIP_MS = 200 };

typedef struct {
    int fd; /* negative: none */
    int64_t again_ms;
    size_t how, sent, n;
    bool greeted;
    uint8_t *bytes; /* BLOCK: what is being sent, from `sent` to `n` */
} line_t;

typedef struct {
    const options_t *options;
    uint8_t *said; /* of --replay */
    size_t n_said;
    uint64_t made, bytes, random;
} state_t;

static uint64_t next_random(state_t *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    return self->random ^= self->random << 17;
}

static void fill(state_t *self, uint8_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++) at[i] = (uint8_t)(next_random(self) >> 32);
}

/* --- What is sent --- */

/* Signature, version 3.0, mechanism NULL; then READY with the socket's type. */
static size_t greet(const options_t *options, uint8_t *out)
{
    memset(out, 0, 64);
    out[0] = 0xff, out[9] = 0x7f, out[10] = 3;
    memcpy(out + 12, "NULL", 4);
    size_t n = strlen(options->type), at = 64;
    out[at++] = 4; /* a command */
    out[at++] = (uint8_t)(6 + 1 + 11 + 4 + n);
    memcpy(out + at, "\5READY\13Socket-Type\0\0\0", 6 + 12 + 3);
    at += 6 + 12 + 3;
    out[at++] = (uint8_t)n;
    memcpy(out + at, options->type, n);
    return at + n;
}

/* A frame's head: more of the message follows or not. */
static size_t head(uint8_t *out, bool more, uint64_t n)
{
    out[0] = (uint8_t)((more ? 1 : 0) | 2);
    for (int i = 0; i < 8; i++) out[1 + i] = (uint8_t)(n >> (56 - 8 * i));
    return 9;
}

static size_t silent(state_t *self, uint8_t *out)
{
    (void)self, (void)out;
    return 0;
}

static size_t noise(state_t *self, uint8_t *out)
{
    fill(self, out, 4096);
    return 4096;
}

static size_t endless(state_t *self, uint8_t *out)
{
    (void)self;
    memset(out, 'x', BLOCK);
    head(out, true, BLOCK - 9);
    return BLOCK;
}

static size_t crumbs(state_t *self, uint8_t *out)
{
    (void)self;
    size_t n = 0;
    for (; n + 3 <= BLOCK; n += 3) out[n] = 1, out[n + 1] = 1, out[n + 2] = 'x';
    return n;
}

static size_t words(state_t *self, uint8_t *out)
{
    enum { WORD = 64 };
    size_t n = 0;
    for (; n + 2 + WORD <= BLOCK; n += 2 + WORD) {
        out[n] = 0, out[n + 1] = WORD;
        fill(self, out + n + 2, WORD);
    }
    return n;
}

static size_t blocks(state_t *self, uint8_t *out)
{
    fill(self, out, 64);
    head(out, false, BLOCK - 9);
    return BLOCK;
}

static size_t drip(state_t *self, uint8_t *out)
{
    (void)self;
    out[0] = 1, out[1] = 1, out[2] = 'x';
    return 3;
}

/* A greeting for CURVE (RFC 26), and a HELLO of the right size in which nothing is right. */
static size_t locked(state_t *self, uint8_t *out)
{
    enum { GREETING = 64, HELLO = 200 };
    greet(self->options, out);
    memcpy(out + 12, "CURVE", 5);
    fill(self, out + GREETING, 2 + HELLO);
    memcpy(out + GREETING, "\4\310\5HELLO\1", 9);
    return GREETING + 2 + HELLO;
}

static size_t replay(state_t *self, uint8_t *out)
{
    memcpy(out, self->said, self->n_said);
    return self->n_said;
}

static const struct {
    const char *name;
    bool greets;
    size_t (*next)(state_t *self, uint8_t *out); /* bytes of the next piece; 0: nothing more */
} ways[] = {
    {"silent", false, silent}, {"idle", true, silent},     {"noise", false, noise},
    {"garbage", true, noise},  {"endless", true, endless}, {"crumbs", true, crumbs},
    {"words", true, words},    {"blocks", true, blocks},   {"drip", true, drip},
    {"locked", false, locked}, {"replay", false, replay},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* --- Connections --- */

static int dial(const options_t *options)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)options->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0) {
        fcntl(fd, F_SETFL, O_NONBLOCK);
        return fd;
    }
    if (fd >= 0) close(fd);
    return -1;
}

static void hang_up(line_t *line, int64_t now_ms)
{
    close(line->fd);
    line->fd = -1;
    line->again_ms = now_ms + RETRY_MS;
}

static void open_line(state_t *self, line_t *line, int64_t now_ms)
{
    line->fd = dial(self->options);
    line->again_ms = now_ms + RETRY_MS;
    line->sent = line->n = 0;
    line->greeted = false;
    self->made += line->fd >= 0;
}

/* The next bytes, when those before have gone. Greetings are answered before more is said. */
static void prepare(state_t *self, line_t *line, int64_t now_ms)
{
    if (line->sent < line->n || now_ms < line->again_ms) return;
    line->sent = line->n = 0;
    if (ways[line->how].greets && !line->greeted) {
        line->n = greet(self->options, line->bytes);
        line->greeted = true;
        return;
    }
    line->n = ways[line->how].next(self, line->bytes);
    if (ways[line->how].next == drip) line->again_ms = now_ms + DRIP_MS;
}

static void push(state_t *self, line_t *line, int64_t now_ms)
{
    uint8_t sink[4096];
    ssize_t n = recv(line->fd, sink, sizeof sink, 0);
    bool over = n == 0 || (n < 0 && errno != EAGAIN);
    if (!over && line->sent < line->n) {
        n = send(line->fd, line->bytes + line->sent, line->n - line->sent, MSG_NOSIGNAL);
        over = n < 0 && errno != EAGAIN;
        if (n > 0) {
            line->sent += (size_t)n;
            self->bytes += (uint64_t)n;
        }
    }
    if (over) hang_up(line, now_ms);
}

static void turn(state_t *self, line_t *line, struct pollfd *poll_of)
{
    enum { MOST = 4096 };
    size_t n = (size_t)self->options->connections;
    int64_t now_ms = clock_mono_ms();
    for (size_t i = 0; i < n && i < MOST; i++) {
        if (line[i].fd < 0 && now_ms >= line[i].again_ms) open_line(self, &line[i], now_ms);
        if (line[i].fd >= 0) prepare(self, &line[i], now_ms);
        bool sends = line[i].sent < line[i].n;
        poll_of[i] = (struct pollfd){line[i].fd, (short)(POLLIN | (sends ? POLLOUT : 0)), 0};
    }
    if (poll(poll_of, n, 20) <= 0) return;
    for (size_t i = 0; i < n; i++)
        if (line[i].fd >= 0 && poll_of[i].revents) push(self, &line[i], now_ms);
}

static int choose(const options_t *options, size_t chosen[WAYS], size_t *n, err_t *err)
{
    char *copy = mem_strdup(options->how), *rest = NULL;
    int rc = 0;
    for (char *word = strtok_r(copy, ",", &rest); rc == 0 && word;
         word = strtok_r(NULL, ",", &rest)) {
        size_t i = 0;
        while (i < WAYS && strcmp(ways[i].name, word) != 0) i++;
        if (i == WAYS || *n == WAYS)
            rc = err_set(err, ERR_ARG, "--how: \"%s\" is none of its words, or one too many", word);
        else
            chosen[(*n)++] = i;
    }
    free(copy);
    return rc == 0 && *n == 0 ? err_set(err, ERR_ARG, "--how: say what") : rc;
}

/* As much of the file as goes at once. */
static int read_replay(state_t *self, err_t *err)
{
    const char *path = self->options->replay;
    FILE *file = path ? fopen(path, "r") : NULL;
    if (path && !file) return err_set_errno(err, "%s", path);
    self->said = mem_calloc(1, BLOCK);
    self->n_said = file ? fread(self->said, 1, BLOCK, file) : 0;
    if (file) fclose(file);
    return 0;
}

static int run(const options_t *options, err_t *err)
{
    size_t chosen[WAYS], n_chosen = 0;
    if (!options->port) return err_set(err, ERR_ARG, "--port is missing");
    if (choose(options, chosen, &n_chosen, err) < 0) return -1;
    size_t n = (size_t)options->connections;
    state_t self = {.options = options, .random = 88172645463325252ull};
    line_t *line = mem_calloc(n, sizeof *line);
    struct pollfd *poll_of = mem_calloc(n, sizeof *poll_of);
    int rc = read_replay(&self, err);
    for (size_t i = 0; i < n; i++)
        line[i] = (line_t){.fd = -1, .how = chosen[i % n_chosen], .bytes = mem_calloc(1, BLOCK)};
    signal(SIGPIPE, SIG_IGN);
    double end_s = clock_mono_s() + (rc == 0 ? options->seconds : 0);
    while (clock_mono_s() < end_s) turn(&self, line, poll_of);
    printf("connections=%llu bytes=%llu\n", (unsigned long long)self.made,
           (unsigned long long)self.bytes);
    for (size_t i = 0; i < n; i++) {
        if (line[i].fd >= 0) close(line[i].fd);
        free(line[i].bytes);
    }
    free(line);
    free(poll_of);
    free(self.said);
    return rc;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    err_t err = {0};
    int rc = config_load(&table, &options, NULL, argc, argv, &args, &err);
    if (rc == 0 && args.asks)
        config_answer(&table, &args, argv[0], stdout);
    else if (rc == 0)
        rc = run(&options, &err);
    if (rc < 0) fprintf(stderr, "besiege: %s\n", err.text);
    config_args_fini(&args);
    config_fini(&table, &options);
    return rc < 0 ? 1 : 0;
}
