/* deaf-clients: ask an aggregator for the parameters of every round, and read no answer. One client
 * that does read follows the rounds; in each, the next one of the others asks for more than anybody
 * could be sent, through a socket that holds next to nothing. Ends when it is asked to, or when the
 * aggregator has been silent for ten seconds. */
#include <czmq.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/control.h"
#include "msg/limits.h"
#include "msg/service.h"
#include "msg/wire.h"

typedef struct {
    char *target, *run;
    int64_t clients, asks, elements;
    service_options_t common;
} options_t;

#define ROW(key, what, text, low, high, words)                                                     \
    {                                                                                              \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .fallback = text, \
        .help = words, .min = low, .max = high                                                     \
    }
static const config_field_t fields[] = {
    ROW(target, STRING, NULL, 0, 0, "the aggregator's data endpoint"),
    ROW(run, STRING, NULL, 0, 0, "id of the run"),
    ROW(clients, INT, "20", 1, 1000, "how many do not read"),
    ROW(asks, INT, "400", 1, 1e6, "requests of each, in a round"),
    ROW(elements, INT, "262144", 1, MSG_CHUNK_FLOATS, "parameters asked for at a time"),
    SERVICE_FIELDS(options_t),
};
static const config_table_t table = {
    .usage = "deaf-clients --target ENDPOINT --run ID [FLAGS]\n"
             "Asks an aggregator for parameters and reads no answer.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

static void ask(const options_t *options, zsock_t *socket, uint32_t round, int64_t elements)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    static uint32_t seq;
    wire_header_t header = {.type = WIRE_GET_PARAMS,
                            .run = wire_run_hash(options->run),
                            .seq = ++seq,
                            .round = round,
                            .count = (uint64_t)elements};
    wire_pack(&header, bytes);
    void *raw = zsock_resolve(socket);
    if (zmq_send(raw, bytes, sizeof bytes, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(raw, "", 0, ZMQ_DONTWAIT);
}

static zsock_t *new_deaf(const char *target)
{
    zsock_t *socket = zsock_new(ZMQ_DEALER);
    zsock_set_rcvhwm(socket, 1);
    zsock_set_rcvbuf(socket, 32 << 10);
    zsock_set_linger(socket, 0);
    if (zsock_connect(socket, "%s", target) < 0) zsock_destroy(&socket);
    return socket;
}

/* Is that round there? -1: no answer. */
static int has_round(const options_t *options, zsock_t *socket, uint32_t round)
{
    enum { SPACE = 2, PATIENCE_MS = 10000 };
    ask(options, socket, round, 1);
    zmq_pollitem_t item = {.socket = zsock_resolve(socket), .events = ZMQ_POLLIN};
    if (zmq_poll(&item, 1, PATIENCE_MS) <= 0) return -1;
    zmq_msg_t frame[SPACE];
    wire_header_t header = {0};
    int n = control_frames(socket, frame, SPACE);
    if (n == SPACE)
        wire_unpack(zmq_msg_data(&frame[0]), zmq_msg_size(&frame[0]), zmq_msg_size(&frame[1]),
                    &header, NULL);
    for (int i = 0; i < n && i < SPACE; i++) zmq_msg_close(&frame[i]);
    return header.type == WIRE_DATA;
}

/* The first round from `round` on that is there, or one of the next few where we were too late for it:
 * 1 with *found, 0: none yet, -1: no answer. */
static int find_round(const options_t *options, zsock_t *socket, uint32_t round, uint32_t *found)
{
    enum { AHEAD = 16 };
    for (*found = round; *found < round + AHEAD; ++*found) {
        int has = has_round(options, socket, *found);
        if (has != 0) return has;
    }
    return 0;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    int go = service_configure(&table, &options, argc, argv);
    if (go != SERVICE_GO) return go == SERVICE_BAD ? 2 : 0;
    log_init("deaf-clients", LOG_INFO, LOG_LOGFMT);
    zsock_t **deaf = mem_calloc((size_t)options.clients, sizeof *deaf);
    for (int64_t i = 0; i < options.clients; i++) deaf[i] = new_deaf(options.target);
    zsock_t *reader = endpoint_open(endpoint_connect(ZMQ_DEALER, options.target), &err);
    for (uint32_t round = 0, next_round = 0; reader && !zsys_interrupted;) {
        int has = find_round(&options, reader, next_round, &round);
        if (has < 0) break;
        if (!has) {
            usleep(2000);
            continue;
        }
        zsock_t *next = deaf[round % options.clients];
        for (int64_t i = 0; next && i < options.asks; i++)
            ask(&options, next, round, options.elements);
        log_event(LOG_INFO, "asked", "round=%u", round);
        next_round = round + 1;
    }
    for (int64_t i = 0; i < options.clients; i++) zsock_destroy(&deaf[i]);
    free(deaf);
    zsock_destroy(&reader);
    config_fini(&table, &options);
    service_end();
    return 0;
}
