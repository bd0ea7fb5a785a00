/* wire: a long cable. Takes frames from one network interface and gives them to another, both ways,
 * after a delay: what netem does where the kernel has it. For the ends of two veth pairs
 * (tests/cluster/world.bash).
 *
 * Raw packet sockets with the virtio header, so that large segments and checksums that the kernel
 * has not filled in pass as they are. One thread; a frame that finds no room is lost, as on a
 * cable. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/mem.h"

typedef struct {
    char *a, *b;
    int64_t delay_ms;
} options_t;

#define ROW(key, what, text, high, words)                                                          \
    {                                                                                              \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .fallback = text, \
        .help = words, .min = 0, .max = high                                                       \
    }
static const config_field_t fields[] = {
    ROW(a, STRING, NULL, 0, "one interface"),
    ROW(b, STRING, NULL, 0, "the other"),
    ROW(delay_ms, INT, "50", 60000, "how long a frame takes, each way"),
};
static const config_table_t table = {
    .usage = "wire --a INTERFACE --b INTERFACE [--delay-ms N]\n"
             "Passes frames from each interface to the other, late. Ends with its namespace, or "
             "when it is killed.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

/* Frames: 300 ms of full ones at 1 Gbit/s, as small as they come without offloading. */
enum { FRAME_BYTES = 64 + 16 + 65536, QUEUE = 1 << 15, BUFFER_BYTES = 64 << 20 };

typedef struct {
    int64_t due_ms;
    size_t n;
    uint8_t *bytes;
} frame_t;

typedef struct {
    int from, to;
    frame_t queue[QUEUE]; /* a ring, in the order of arrival */
    unsigned head, n;
} direction_t;

static int open_end(const char *name, err_t *err)
{
    unsigned index = name ? if_nametoindex(name) : 0;
    if (!index) return err_set(err, ERR_ARG, "there is no interface \"%s\"", name ? name : "");
    int one = 1, buffer = BUFFER_BYTES,
        fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));
    struct sockaddr_ll place = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)index};
    if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) < 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) < 0 ||
        /* The system's default is 2 ms at 1 Gbit/s: as long this process may not be delayed itself. */
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer) < 0 ||
        bind(fd, (struct sockaddr *)&place, sizeof place) < 0)
        return err_set(err, ERR_IO, "interface %s: %s", name, strerror(errno));
    return fd;
}

static void take(direction_t *self, int64_t due_ms)
{
    uint8_t bytes[FRAME_BYTES];
    for (;;) {
        ssize_t n = recv(self->from, bytes, sizeof bytes, 0);
        if (n < 0) return;
        if (self->n == QUEUE) continue;
        frame_t *frame = &self->queue[(self->head + self->n++) % QUEUE];
        *frame = (frame_t){due_ms, (size_t)n, mem_realloc(NULL, (size_t)n)};
        memcpy(frame->bytes, bytes, (size_t)n);
    }
}

static void give(direction_t *self, int64_t now_ms)
{
    for (; self->n && self->queue[self->head].due_ms <= now_ms; self->n--) {
        frame_t *frame = &self->queue[self->head];
        ssize_t sent = send(self->to, frame->bytes, frame->n, 0);
        (void)sent; /* no room: the frame is lost */
        free(frame->bytes);
        self->head = (self->head + 1) % QUEUE;
    }
}

/* Milliseconds until the first frame is due; -1: none waits. */
static int pause_ms(const direction_t *both, int64_t now_ms)
{
    int64_t wait_ms = -1;
    for (int i = 0; i < 2; i++) {
        if (!both[i].n) continue;
        int64_t left_ms = both[i].queue[both[i].head].due_ms - now_ms;
        if (left_ms < 0) left_ms = 0;
        if (wait_ms < 0 || left_ms < wait_ms) wait_ms = left_ms;
    }
    return (int)wait_ms;
}

static int run(const options_t *options, err_t *err)
{
    log_init("wire", LOG_INFO, LOG_LOGFMT);
    int a = open_end(options->a, err), b = a < 0 ? -1 : open_end(options->b, err);
    if (b < 0) return -1;
    direction_t *both = mem_calloc(2, sizeof *both);
    both[0].from = both[1].to = a;
    both[1].from = both[0].to = b;
    log_event(LOG_INFO, "wired", "a=%s b=%s delay_ms=%lld", options->a, options->b,
              (long long)options->delay_ms);
    for (;;) {
        struct pollfd ends[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
        poll(ends, 2, pause_ms(both, clock_mono_ms()));
        int64_t now_ms = clock_mono_ms();
        for (int i = 0; i < 2; i++) {
            take(&both[i], now_ms + options->delay_ms);
            give(&both[i], now_ms);
        }
    }
}

int main(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    err_t err = {0};
    int status = config_load(&table, &options, NULL, argc, argv, &args, &err);
    if (status == 0 && args.asks)
        config_answer(&table, &args, argv[0], stdout);
    else if (status == 0)
        status = run(&options, &err);
    if (status < 0) fprintf(stderr, "wire: %s\n", err.text);
    config_args_fini(&args);
    config_fini(&table, &options);
    return status < 0 ? 1 : 0;
}
