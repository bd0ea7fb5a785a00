/* slow-reader: clients of an aggregator that ask for parameters and do not read the answers. One
 * more of them with each round of the run, so that each holds another round's snapshot.
 *
 * Rounds are heard of at --events. A client is a DEALER with room for one message; it asks --asks
 * times for the first chunk, which is more than the buffers of both kernels hold, and is left
 * alone. One thread. */
#include <czmq.h>

#include "base/config.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/control.h"
#include "msg/service.h"
#include "msg/wire.h"
#include "proto/telemetry.pb-c.h"

typedef struct {
    char *data, *events, *run;
    int64_t count, asks, elements, round;
    service_options_t common;
} options_t;

#define ROW(key, what, text, high, words)                                                          \
    {                                                                                              \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .fallback = text, \
        .help = words, .min = 0, .max = high                                                       \
    }
static const config_field_t fields[] = {
    ROW(data, STRING, NULL, 0, "the aggregator's data endpoint"),
    ROW(run, STRING, "run", 0, "id of the run"),
    ROW(events, STRING, NULL, 0, "where the shepherd tells of rounds; none: --count of --round"),
    ROW(round, INT, "0", 1e9, "the round to ask for, before events tell of one"),
    ROW(count, INT, "20", 10000, "clients, at most"),
    ROW(asks, INT, "64", 100000, "what each asks for, times --elements"),
    ROW(elements, INT, "262144", 262144, "of a chunk: no more than the shard's range has"),
    SERVICE_FIELDS(options_t),
};
static const config_table_t table = {
    .usage = "slow-reader --data ENDPOINT --run ID --events ENDPOINT [FLAGS]\n"
             "Asks an aggregator for parameters and does not read the answers.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

typedef struct {
    options_t options;
    zsock_t **clients;
    int n;
    uint32_t round; /* the last client asked for it */
} slow_t;

static void ask(zsock_t *client, const options_t *o, uint32_t round, uint32_t seq)
{
    wire_header_t header = {.type = WIRE_GET_PARAMS,
                            .run = hash_fast(o->run, strlen(o->run)),
                            .seq = seq,
                            .round = round,
                            .count = (uint64_t)o->elements,
                            .check = hash_fast("", 0)};
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_pack(&header, bytes);
    zmsg_t *message = zmsg_new();
    zmsg_addmem(message, bytes, sizeof bytes);
    zmsg_addmem(message, NULL, 0);
    if (zmsg_send(&message, client) < 0) zmsg_destroy(&message);
}

static int one_more(slow_t *self, uint32_t round, err_t *err)
{
    const options_t *o = &self->options;
    if (self->n == o->count) return 0;
    zsock_t *client = zsock_new(ZMQ_DEALER);
    zsock_set_rcvhwm(client, 1);
    zsock_set_rcvbuf(client, 4096);
    zsock_set_linger(client, 0);
    if (zsock_connect(client, "%s", o->data) < 0) {
        zsock_destroy(&client);
        return err_set(err, ERR_NET, "cannot connect to %s", o->data);
    }
    for (uint32_t i = 0; i < (uint32_t)o->asks; i++) ask(client, o, round, i + 1);
    self->clients[self->n++] = client;
    log_event(LOG_INFO, "asked", "round=%u clients=%d", round, self->n);
    return 0;
}

/* The frames of an event: topic, Event. RoundStats count from 1, the rounds of the wire from 0: the
 * one that a finished round tells of is the next, whose parameters there are now. */
static int on_event(slow_t *self, zsock_t *events, err_t *err)
{
    zmsg_t *message = zmsg_recv(events);
    zframe_t *frame = message ? zmsg_last(message) : NULL;
    Msg__Event *event = frame ? msg__event__unpack(NULL, zframe_size(frame), zframe_data(frame))
                              : NULL;
    int rc = 0;
    if (event && event->body_case == MSG__EVENT__BODY_ROUND && event->round->round > self->round) {
        self->round = event->round->round;
        rc = one_more(self, self->round, err);
    }
    if (event) msg__event__free_unpacked(event, NULL);
    zmsg_destroy(&message);
    return rc;
}

static int run(slow_t *self, err_t *err)
{
    const options_t *o = &self->options;
    if (!o->data) return err_set(err, ERR_ARG, "--data is needed");
    int signal_fd = service_start("slow-reader", &o->common, &table, o, err), rc = 0;
    if (signal_fd < 0) return -1;
    zsock_t *events = o->events ? endpoint_open(endpoint_connect(ZMQ_SUB, o->events), err) : NULL;
    if (o->events && !events) return -1;
    for (int i = 0; !events && rc == 0 && i < o->count; i++)
        rc = one_more(self, (uint32_t)o->round, err);
    zmq_pollitem_t items[2] = {
        {.fd = signal_fd, .events = ZMQ_POLLIN},
        {.socket = events ? zsock_resolve(events) : NULL, .events = ZMQ_POLLIN}};
    while (rc == 0 && zmq_poll(items, events ? 2 : 1, -1) > 0 && !items[0].revents)
        rc = on_event(self, events, err);
    zsock_destroy(&events);
    return rc;
}

int main(int argc, char **argv)
{
    slow_t self = {0};
    err_t err = {0};
    int go = service_configure(&table, &self.options, argc, argv),
        status = go == SERVICE_BAD ? 2 : 0;
    self.clients = mem_calloc((size_t)self.options.count + 1, sizeof *self.clients);
    if (go == SERVICE_GO && run(&self, &err) < 0) {
        fprintf(stderr, "slow-reader: %s\n", err.text);
        status = 1;
    }
    for (int i = 0; i < self.n; i++) zsock_destroy(&self.clients[i]);
    free(self.clients);
    config_fini(&table, &self.options);
    service_end();
    return status;
}
