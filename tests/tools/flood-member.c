/* flood-member: somebody with a key of the cluster and without manners: noise in words and in blocks, messages in
 * many frames, of one byte, too, heartbeats without a pause, subscriptions without end, on many connections that come
 * again when they are cut, or reset themselves; or connections that say HELLO and go, over and over.
 *
 * Each connection does one of the things that --how names, in turn. One thread; the library's own connect again. */
#include <czmq.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "msg/control.h"
#include "msg/service.h"
#include "msg/wire.h"

typedef struct {
    char *target, *how, *type, *id, *run;
    int64_t connections, rate, life_ms, ping_ms;
    bool resets;
    service_options_t common;
} options_t;

#define ROW(key, what, text, low, high, words_)                                                    \
    {                                                                                              \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .fallback = text, \
        .help = words_, .min = low, .max = high                                                    \
    }
static const config_field_t fields[] = {
    ROW(target, STRING, NULL, 0, 0, "endpoint, of an aggregator with ?key=HEX"),
    ROW(how, STRING, "words", 0, 0,
        "words of: words, blocks, parts, crumbs, beats, hello, topics, asks, puts"),
    {.name = "type",
     .kind = CONFIG_ENUM,
     .offset = offsetof(options_t, type),
     .fallback = "DEALER",
     .words = "DEALER|PUB|SUB",
     .help = "of its sockets"},
    ROW(id, STRING, "worker-flood", 0, 0, "that HELLO says, with a number behind it"),
    ROW(run, STRING, "same", 0, 0, "whose parameters it asks for"),
    ROW(connections, INT, "4", 1, 1000, "at a time"),
    ROW(rate, INT, "0", 0, 1e9, "messages a second and connection [as many as go]"),
    ROW(life_ms, INT, "0", 0, 1e9, "after which a connection ends and is made anew [never]"),
    ROW(resets, BOOL, "false", 0, 0, "a connection ends by a reset, whatever is on the way"),
    ROW(ping_ms, INT, "10000", 1, 1e9, "between pings of ZeroMQ's"),
    SERVICE_FIELDS(options_t),
};
static const config_table_t table = {
    .usage = "flood-member --target ENDPOINT --key FILE [FLAGS]\n"
             "Says too much, with a key that is good.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

enum { WORD = 64, BLOCK = 1 << 20, PART = 1024, PARTS = 32 << 10, CRUMBS = 1 << 20, BURST = 64 };

typedef struct {
    zsock_t *socket, *monitor;
    int32_t fd;
    size_t how;
    int64_t born_ms;
    double may_say;
    uint64_t n;
} line_t;

typedef struct {
    options_t options;
    uint8_t *noise; /* BLOCK bytes */
    uint64_t made, said;
    uint64_t answered[WIRE_TYPE_COUNT];
} flood_t;

/* --- What is said: 0, or -1: it did not go --- */

static int put(zsock_t *socket, const void *bytes, size_t n, int flags)
{
    return zmq_send(zsock_resolve(socket), bytes, n, flags | ZMQ_DONTWAIT) < 0 ? -1 : 0;
}

static int say_words(flood_t *self, line_t *line)
{
    return put(line->socket, self->noise + line->n % 4096, WORD, 0);
}

static int say_blocks(flood_t *self, line_t *line)
{
    return put(line->socket, self->noise, BLOCK, 0);
}

static int put_frames(flood_t *self, line_t *line, int count, size_t n)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < count; i++)
        rc = put(line->socket, self->noise, n, i + 1 < count ? ZMQ_SNDMORE : 0);
    return rc;
}

static int say_parts(flood_t *self, line_t *line)
{
    return put_frames(self, line, PARTS, PART);
}

static int say_crumbs(flood_t *self, line_t *line)
{
    return put_frames(self, line, CRUMBS, 1);
}

static int say_hello(flood_t *self, line_t *line)
{
    char *id = mem_printf("%s%zu", self->options.id, line->how);
    Msg__Hello hello = MSG__HELLO__INIT;
    hello.kind = MSG__KIND__KIND_WORKER;
    hello.id = id;
    hello.target = "cpu:abacus";
    hello.host = "";
    hello.endpoint = "";
    hello.software = (char *)pcp_version;
    hello.threads = 1;
    hello.pid = (uint32_t)getpid();
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_HELLO;
    message.hello = &hello;
    int rc = control_send(line->socket, NULL, &message, NULL);
    free(id);
    return rc;
}

static int say_beat(flood_t *self, line_t *line)
{
    if (line->n == 0) return say_hello(self, line);
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_HEARTBEAT;
    message.heartbeat = &beat;
    return control_send(line->socket, NULL, &message, NULL);
}

static int say_topic(flood_t *self, line_t *line)
{
    (void)self;
    char topic[64];
    snprintf(topic, sizeof topic, "no such topic, but a long one all the same %llu",
             (unsigned long long)line->n);
    return zmq_setsockopt(zsock_resolve(line->socket), ZMQ_SUBSCRIBE, topic, strlen(topic));
}

static int say_ask(flood_t *self, line_t *line)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_header_t header = {.type = WIRE_GET_PARAMS,
                            .run = wire_run_hash(self->options.run),
                            .seq = (uint32_t)line->n + 1,
                            .count = 1};
    wire_pack(&header, bytes);
    if (put(line->socket, bytes, sizeof bytes, ZMQ_SNDMORE) < 0) return -1;
    return put(line->socket, "", 0, 0);
}

/* A whole object of a megabyte, each another one. */
static int say_put(flood_t *self, line_t *line)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    char hash[HASH_HEX];
    memcpy(self->noise, &self->said, sizeof self->said);
    wire_header_t header = {.type = WIRE_PUT_OBJECT,
                            .seq = (uint32_t)line->n + 1,
                            .count = BLOCK,
                            .total = BLOCK,
                            .check = hash_fast(self->noise, BLOCK)};
    hash_content(self->noise, BLOCK, hash);
    if (wire_hash_parse(hash, header.object, NULL) < 0) return -1;
    wire_pack(&header, bytes);
    if (put(line->socket, bytes, sizeof bytes, ZMQ_SNDMORE) < 0) return -1;
    return put(line->socket, self->noise, BLOCK, 0);
}

static const struct {
    const char *name;
    int (*say)(flood_t *self, line_t *line);
    int queue; /* messages that may wait to go: some megabytes, or one message where that is more */
} ways[] = {{"words", say_words, BURST},  {"crumbs", say_crumbs, 1},  {"blocks", say_blocks, 4},
            {"parts", say_parts, 1},      {"beats", say_beat, BURST}, {"hello", say_hello, BURST},
            {"topics", say_topic, BURST}, {"asks", say_ask, BURST},   {"puts", say_put, 4}};
enum { WAYS = sizeof ways / sizeof *ways };

/* --- Connections --- */

static int type_of(const char *word)
{
    return strcmp(word, "PUB") == 0 ? ZMQ_PUB : strcmp(word, "SUB") == 0 ? ZMQ_SUB : ZMQ_DEALER;
}

static int open_line(flood_t *self, line_t *line, err_t *err)
{
    endpoint_t at = endpoint_connect(type_of(self->options.type), self->options.target);
    at.send_queue = ways[line->how].queue;
    at.linger_ms = 0;
    at.ping_ms = (int)self->options.ping_ms;
    line->socket = endpoint_open(at, err);
    if (self->options.resets && line->socket)
        line->monitor = endpoint_watch(line->socket, ZMQ_EVENT_CONNECTED);
    line->born_ms = clock_mono_ms();
    line->n = 0;
    self->made++;
    return line->socket ? 0 : -1;
}

/* Which descriptors its connections have had: the last is the one it has. */
static void find_descriptor(line_t *line)
{
    int32_t fd;
    while (control_news(line->monitor, &fd)) line->fd = fd;
}

static void close_line(line_t *line)
{
    if (line->monitor) endpoint_unwatch(line->socket);
    zsock_destroy(&line->monitor);
    zsock_destroy(&line->socket);
}

/* Its other end is reset; the library sees an error, and connects again. */
static void reset_line(line_t *line)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    find_descriptor(line);
    if (line->fd > 0) connect(line->fd, &nobody, sizeof nobody);
    line->fd = 0;
}

static void end_line(flood_t *self, line_t *line, int64_t now_ms)
{
    if (!self->options.resets) {
        close_line(line);
        return;
    }
    reset_line(line);
    line->born_ms = now_ms;
    line->n = 0;
    self->made++;
}

/* What is answered, by type, is told the first time. */
static void hear(flood_t *self, line_t *line)
{
    wire_header_t header;
    for (zframe_t *frame; (frame = zframe_recv_nowait(line->socket)); zframe_destroy(&frame)) {
        size_t n = zframe_size(frame);
        if (n != WIRE_HEADER_BYTES || wire_unpack(zframe_data(frame), n, 0, &header, NULL) < 0 ||
            self->answered[header.type]++)
            continue;
        log_event(LOG_INFO, "answer", "type=%s code=%u", wire_type_name(header.type), header.code);
    }
}

static void speak(flood_t *self, line_t *line, double passed_s)
{
    double rate = (double)self->options.rate;
    line->may_say = rate > 0 ? line->may_say + rate * passed_s : BURST;
    if (line->may_say > BURST) line->may_say = BURST;
    for (; line->may_say >= 1 && ways[line->how].say(self, line) == 0; line->may_say -= 1) {
        line->n++;
        self->said++;
    }
}

static int turn(flood_t *self, line_t *line, double passed_s, err_t *err)
{
    for (int64_t i = 0; i < self->options.connections; i++) {
        int64_t life = self->options.life_ms, now_ms = clock_mono_ms();
        if (life && line[i].socket && now_ms - line[i].born_ms >= life)
            end_line(self, &line[i], now_ms);
        if (!line[i].socket && open_line(self, &line[i], err) < 0) return -1;
        if (zsock_type(line[i].socket) != ZMQ_PUB) hear(self, &line[i]);
        speak(self, &line[i], passed_s);
    }
    return 0;
}

static int choose(const char *how, size_t chosen[WAYS], size_t *n, err_t *err)
{
    char *copy = mem_strdup(how), *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        size_t i = 0;
        while (i < WAYS && strcmp(ways[i].name, word) != 0) i++;
        if (i == WAYS || *n == WAYS) {
            err_set(err, ERR_ARG, "--how: \"%s\" is none of its words, or one too many", word);
            *n = 0;
            break;
        }
        chosen[(*n)++] = i;
    }
    free(copy);
    return *n ? 0 : -1;
}

static int run(flood_t *self, err_t *err)
{
    enum { PAUSE_MS = 5 };
    const options_t *o = &self->options;
    size_t chosen[WAYS], n_chosen = 0, n = (size_t)o->connections;
    if (!o->target) return err_set(err, ERR_ARG, "--target is missing");
    if (choose(o->how, chosen, &n_chosen, err) < 0) return -1;
    int signal_fd = service_start("flood-member", &o->common, &table, o, err), rc = 0;
    if (signal_fd < 0) return -1;
    self->noise = mem_calloc(1, BLOCK);
    for (size_t i = 0; i < BLOCK; i++) self->noise[i] = (uint8_t)(i * 2654435761u >> 24);
    line_t *line = mem_calloc(n, sizeof *line);
    for (size_t i = 0; i < n; i++) line[i].how = chosen[i % n_chosen];
    zmq_pollitem_t item = {.fd = signal_fd, .events = ZMQ_POLLIN};
    double before_s = clock_mono_s();
    while (rc == 0 && zmq_poll(&item, 1, PAUSE_MS) >= 0 && !item.revents) {
        double now_s = clock_mono_s();
        rc = turn(self, line, now_s - before_s, err);
        before_s = now_s;
    }
    log_event(LOG_INFO, "summary", "connections=%llu messages=%llu", (unsigned long long)self->made,
              (unsigned long long)self->said);
    for (size_t i = 0; i < n; i++) close_line(&line[i]);
    free(line);
    free(self->noise);
    return rc;
}

int main(int argc, char **argv)
{
    flood_t self = {0};
    err_t err = {0};
    int go = service_configure(&table, &self.options, argc, argv),
        status = go == SERVICE_BAD ? 2 : 0;
    if (go == SERVICE_GO && run(&self, &err) < 0) {
        fprintf(stderr, "flood-member: %s\n", err.text);
        status = 1;
    }
    config_fini(&table, &self.options);
    service_end();
    return status;
}
