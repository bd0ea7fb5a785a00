/* An aggregator behind a ROUTER, in a thread, with a data client and a worker's thread that fetches ahead. For tests of a
 * worker's way down. */
#ifndef AGGREGATOR_WORLD_H
#define AGGREGATOR_WORLD_H

#include "aggregator_rig.h"

#include <pthread.h>
#include <zmq.h>

#include "msg/control.h"
#include "worker/ahead.h"

enum { CHUNKS = 2 };
static const uint64_t BOUNDS[2] = {0, N};

typedef struct {
    rig_t *rig;
    pthread_mutex_t lock; /* of the rig, and of */
    uint64_t early;       /* bytes that were answered to GET_AHEAD */
    int most;             /* answers with values before none comes any more; -1: any number */
    uint64_t changes;     /* answers to GET_CHANGE */
    char endpoint[80];
    zsock_t *router;
    zactor_t *actor;
    data_client_t *client;
    ahead_t *ahead;
    float *theta; /* of round 0 */
} world_t;

static void reply(void *user, const msg_peer_t *to, const wire_header_t *header,
                  const void *payload, size_t n, shared_t *keep)
{
    world_t *world = user;
    bool valued = header->type == WIRE_DATA;
    if (valued && world->most == 0) {
        shared_drop(&keep);
        return;
    }
    if (valued && world->most > 0) world->most--;
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_pack(header, bytes);
    void *raw = zsock_resolve(world->router);
    zmq_send(raw, to->at, to->n, ZMQ_SNDMORE);
    zmq_send(raw, bytes, sizeof bytes, ZMQ_SNDMORE);
    zmq_send(raw, n ? payload : "", n, 0);
    shared_drop(&keep);
}

/* The rig's own calls have its answers for themselves. */
static void begin(world_t *self)
{
    pthread_mutex_lock(&self->lock);
    self->rig->state.reply = take_reply;
    self->rig->state.user = self->rig;
}

static void end(world_t *self)
{
    self->rig->state.reply = reply;
    self->rig->state.user = self;
    pthread_mutex_unlock(&self->lock);
}

static void serve(zsock_t *pipe, void *arg)
{
    world_t *self = arg;
    zsock_signal(pipe, 0);
    zpoller_t *poller = zpoller_new(pipe, self->router, NULL);
    while (zpoller_wait(poller, -1) == self->router) {
        zmsg_t *message = zmsg_recv(self->router);
        zframe_t *from = zmsg_first(message), *header = zmsg_next(message);
        zframe_t *payload = zmsg_next(message);
        msg_peer_t to = {.n = (uint8_t)zframe_size(from)};
        memcpy(to.at, zframe_data(from), to.n);
        pthread_mutex_lock(&self->lock);
        uint64_t before = self->rig->state.bytes_out;
        aggregator_on_data(&self->rig->state, &to, zframe_data(header), zframe_size(header),
                           zframe_data(payload), zframe_size(payload));
        if (zframe_data(header)[5] == WIRE_GET_CHANGE) self->changes++;
        if (zframe_data(header)[5] == WIRE_GET_AHEAD)
            self->early += self->rig->state.bytes_out - before;
        pthread_mutex_unlock(&self->lock);
        zmsg_destroy(&message);
    }
    zpoller_destroy(&poller);
}

static world_t *world_new(void)
{
    world_t *self = calloc(1, sizeof *self);
    self->rig = rig_new();
    self->rig->of = K;
    self->most = -1;
    assign(self->rig, 0, N);
    put_init(self->rig);
    self->theta = get_params(self->rig, 0);
    pthread_mutex_init(&self->lock, NULL);
    begin(self);
    end(self);
    snprintf(self->endpoint, sizeof self->endpoint, "inproc://%s", self->rig->root);
    self->router = endpoint_open(endpoint_bind(ZMQ_ROUTER, self->endpoint), NULL);
    assert_non_null(self->router);
    self->actor = zactor_new(serve, self);
    char *endpoint = self->endpoint;
    data_options_t options = {.endpoints = &endpoint, .n_endpoint = 1, .run = RUN};
    self->client = data_client_new(&options, NULL);
    assert_non_null(self->client);
    self->ahead = ahead_new();
    return self;
}

static void world_free(world_t *self)
{
    ahead_destroy(&self->ahead);
    data_client_destroy(&self->client);
    zactor_destroy(&self->actor);
    zsock_destroy(&self->router);
    pthread_mutex_destroy(&self->lock);
    rig_free(self->rig);
    free(self->theta);
    free(self);
}

#endif
