/* One ROUTER, one thread, one lock. */
#include "data_server.h"

#include <czmq.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "msg/control.h"
#include "msg/wire.h"
#include "outer/codec.h"

typedef struct {
    uint8_t hash[WIRE_HASH_BYTES];
    uint8_t *bytes;
    uint64_t n, have;
} object_t;

struct data_server {
    const char *endpoint;
    const float *theta;
    uint64_t n;
    zactor_t *actor;
    pthread_mutex_t lock; /* of all below */
    server_fault_t fault;
    int n_fault, vanish_ms, n_forget;
    double bytes_per_s;
    uint64_t traffic;
    VEC(object_t) objects;
    wire_header_t delta; /* of the last chunk */
    float *values;
    uint64_t n_have;
    int n_delta;
};

static object_t *find(data_server_t *self, const uint8_t *hash)
{
    for (size_t i = 0; i < self->objects.n; i++)
        if (memcmp(self->objects.at[i].hash, hash, WIRE_HASH_BYTES) == 0)
            return &self->objects.at[i];
    return NULL;
}

static void forget_objects(data_server_t *self)
{
    for (size_t i = 0; i < self->objects.n; i++) free(self->objects.at[i].bytes);
    VEC_FREE(&self->objects);
}

/* Put and get of chunks that fit; anything else is a test's mistake. */
static void put_object(data_server_t *self, wire_header_t *h, const uint8_t *payload)
{
    object_t *object = find(self, h->object);
    h->type = WIRE_ACK;
    h->code = object && object->have == object->n;
    if (h->code) return;
    if (!object) {
        object_t fresh = {.bytes = mem_calloc(h->total, 1), .n = h->total};
        memcpy(fresh.hash, h->object, WIRE_HASH_BYTES);
        VEC_PUSH(&self->objects, fresh);
        object = &self->objects.at[self->objects.n - 1];
    }
    memcpy(object->bytes + h->begin, payload, h->count);
    if (h->begin == object->have) object->have += h->count; /* a repeated chunk counts once */
    h->code = object->have == object->n;
    if (self->n_forget > 0 && --self->n_forget == 0) forget_objects(self);
}

static const void *get_object(data_server_t *self, wire_header_t *h, size_t *n)
{
    const object_t *object = find(self, h->object);
    h->type = object ? WIRE_DATA : WIRE_NACK;
    h->code = object ? 0 : NACK_UNKNOWN_OBJECT;
    if (!object) return NULL;
    h->total = object->n;
    *n = h->count < object->n - h->begin ? h->count : object->n - h->begin;
    return object->bytes + h->begin;
}

static void put_delta(data_server_t *self, wire_header_t *h, const void *payload, size_t n)
{
    bool same = self->delta.round == h->round && self->delta.replica == h->replica &&
                self->delta.fence == h->fence && self->n_have < self->n;
    if (!same) self->n_have = 0;
    self->delta = *h;
    const codec_t *codec = codec_find_id(h->codec, NULL);
    if (codec) codec_decode(codec, payload, n, self->values + h->begin, (size_t)h->count, NULL);
    self->n_have += h->count;
    self->n_delta += self->n_have == self->n;
    h->type = WIRE_ACK;
}

static const void *answer(data_server_t *self, wire_header_t *h, const void *payload, size_t *n)
{
    size_t n_in = *n;
    *n = 0;
    switch (h->type) {
    case WIRE_GET_PARAMS:
        h->type = WIRE_DATA;
        *n = h->count * sizeof(float);
        return self->theta + h->begin;
    case WIRE_GET_OBJECT: return get_object(self, h, n);
    case WIRE_PUT_OBJECT: put_object(self, h, payload); return NULL;
    case WIRE_PUT_DELTA: put_delta(self, h, payload, n_in); return NULL;
    case WIRE_PING: h->type = WIRE_ACK; return NULL;
    default:
        h->type = WIRE_NACK;
        h->code = NACK_BAD_MESSAGE;
        return NULL;
    }
}

static void serve(data_server_t *self, zsock_t *socket)
{
    zmq_msg_t frame[3];
    int n_frame = control_frames(socket, frame, 3);
    wire_header_t h;
    bool good = n_frame == 3 && wire_unpack(zmq_msg_data(&frame[1]), zmq_msg_size(&frame[1]),
                                            zmq_msg_size(&frame[2]), &h, NULL) == 0;
    pthread_mutex_lock(&self->lock);
    bool fault = self->n_fault > 0 && self->n_fault--;
    size_t n_in = good ? zmq_msg_size(&frame[2]) : 0, n = n_in;
    const void *payload = NULL;
    if (good && !fault) payload = answer(self, &h, zmq_msg_data(&frame[2]), &n);
    self->traffic += n_in + n;
    double pause_s = self->bytes_per_s > 0 ? (double)(n_in + n) / self->bytes_per_s : 0;
    pthread_mutex_unlock(&self->lock);
    if (pause_s > 0) zclock_sleep((int)(1000 * pause_s));
    pthread_mutex_lock(&self->lock);
    if (fault) h.type = WIRE_NACK, h.code = NACK_NOT_READY;
    if (good && !(fault && self->fault == SERVER_SILENT)) {
        uint8_t bytes[WIRE_HEADER_BYTES];
        h.check = hash_fast(n ? payload : "", n);
        wire_pack(&h, bytes);
        void *raw = zsock_resolve(socket);
        zmq_send(raw, zmq_msg_data(&frame[0]), zmq_msg_size(&frame[0]), ZMQ_SNDMORE);
        zmq_send(raw, bytes, sizeof bytes, ZMQ_SNDMORE);
        zmq_send(raw, n ? payload : "", n, 0);
    }
    pthread_mutex_unlock(&self->lock);
    for (int i = 0; i < n_frame && i < 3; i++) zmq_msg_close(&frame[i]);
}

static zsock_t *open_socket(const data_server_t *self)
{
    zsock_t *socket = NULL; /* a closed socket gives its name back only after a while */
    for (int i = 0; i < 1000 && !socket; i++) {
        socket = endpoint_open(endpoint_bind(ZMQ_ROUTER, self->endpoint), NULL);
        if (!socket) zclock_sleep(5);
    }
    if (socket) zsock_set_linger(socket, 0);
    return socket;
}

static void thread_main(zsock_t *pipe, void *arg)
{
    data_server_t *self = arg;
    zsock_t *socket = open_socket(self);
    zsock_signal(pipe, 0);
    while (socket) {
        zmq_pollitem_t items[2] = {{.socket = zsock_resolve(pipe), .events = ZMQ_POLLIN},
                                   {.socket = zsock_resolve(socket), .events = ZMQ_POLLIN}};
        zmq_poll(items, 2, -1);
        if (items[0].revents) break;
        pthread_mutex_lock(&self->lock);
        int away_ms = self->vanish_ms;
        self->vanish_ms = 0;
        if (away_ms) forget_objects(self);
        pthread_mutex_unlock(&self->lock);
        if (away_ms) {
            zsock_destroy(&socket);
            zclock_sleep(away_ms);
            socket = open_socket(self);
        } else {
            serve(self, socket);
        }
    }
    zsock_destroy(&socket);
}

data_server_t *data_server_new(const char *endpoint, const float *theta, uint64_t n)
{
    data_server_t *self = mem_calloc(1, sizeof *self);
    self->endpoint = endpoint;
    self->theta = theta;
    self->n = n;
    self->values = mem_calloc(n + 1, sizeof *self->values);
    pthread_mutex_init(&self->lock, NULL);
    self->actor = zactor_new(thread_main, self);
    return self;
}

void data_server_destroy(data_server_t **self_p)
{
    data_server_t *self = *self_p;
    if (!self) return;
    zactor_destroy(&self->actor);
    forget_objects(self);
    pthread_mutex_destroy(&self->lock);
    free(self->values);
    free(self);
    *self_p = NULL;
}

void data_server_fault(data_server_t *self, server_fault_t fault, int n)
{
    pthread_mutex_lock(&self->lock);
    self->fault = fault;
    self->n_fault = n;
    pthread_mutex_unlock(&self->lock);
}

void data_server_forget(data_server_t *self, int n)
{
    pthread_mutex_lock(&self->lock);
    self->n_forget = n;
    pthread_mutex_unlock(&self->lock);
}

void data_server_pace(data_server_t *self, double bytes_per_s)
{
    pthread_mutex_lock(&self->lock);
    self->bytes_per_s = bytes_per_s;
    pthread_mutex_unlock(&self->lock);
}

uint64_t data_server_traffic(data_server_t *self)
{
    pthread_mutex_lock(&self->lock);
    uint64_t traffic = self->traffic;
    self->traffic = 0;
    pthread_mutex_unlock(&self->lock);
    return traffic;
}

void data_server_vanish(data_server_t *self, int ms)
{
    pthread_mutex_lock(&self->lock);
    self->vanish_ms = ms;
    pthread_mutex_unlock(&self->lock);
}

int data_server_delta(data_server_t *self, server_delta_t *out)
{
    pthread_mutex_lock(&self->lock);
    const wire_header_t *h = &self->delta;
    *out = (server_delta_t){h->round, h->replica, h->fence, h->weight, self->values};
    int n = self->n_delta;
    pthread_mutex_unlock(&self->lock);
    return n;
}

int data_server_objects(data_server_t *self)
{
    int n = 0;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->objects.n; i++)
        n += self->objects.at[i].have == self->objects.at[i].n;
    pthread_mutex_unlock(&self->lock);
    return n;
}
