/* Endpoints: where a socket binds or connects, and how it behaves there. Every socket of the project
 * is made here, from an endpoint value; scripts/layers proves that no other file makes one. On TCP
 * it is a CURVE socket where this process has a key (msg/keyring.h), and none that other machines
 * could reach where it has none and was not told --insecure.
 *
 *     zsock_t *socket = endpoint_open(endpoint_connect(ZMQ_DEALER, "tcp://host:7000"), &err);
 *
 * Who binds TCP receives without a limit of messages, whatever receive_queue says: msg/door.h has one of memory.
 *
 * One thread per socket. */
#ifndef MSG_ENDPOINT_H
#define MSG_ENDPOINT_H

#include <czmq.h>
#include <stdbool.h>

#include "base/err.h"

typedef struct {
    int type;   /* ZMQ_ROUTER, ZMQ_DEALER, ZMQ_PUB, ZMQ_SUB (subscribed to everything), ... */
    bool binds; /* else it connects */
    /* tcp://HOST:PORT, ipc://PATH, inproc://NAME; borrowed; NULL: endpoint_add follows. Behind TCP
     * ?key=HEX, the public key of who binds it, where that is no shepherd. */
    const char *address;
    int send_queue,
        receive_queue;          /* messages, for each peer; beyond that they are dropped, or wait */
    bool forgets;               /* takes messages only while it is connected, and forgets those
                                   that it still has when its connection ends */
    int service;                /* type of service of its packets: IPTOS_LOWDELAY, ... */
    int frame_bytes;            /* the largest frame that is accepted */
    int backlog;                /* connections that wait to be accepted */
    int linger_ms;              /* what is not sent yet when the socket closes is tried so long */
    int ping_ms;                /* between ZeroMQ's own heartbeats ... */
    int pong_ms;                /* for whose answer it waits so long */
    int deaf_ms;                /* a connection whose other end takes nothing so long ends */
    int retry_ms, retry_max_ms; /* between attempts to connect; 0: the library's */
    int connect_ms;             /* for one attempt; 0: the system's */
} endpoint_t;

/* Values with the limits of control messages and events (msg/limits.h). */
endpoint_t endpoint_bind(int type, const char *address);
endpoint_t endpoint_connect(int type, const char *address);
/* The same for data: MSG_SEND_QUEUE and MSG_RECEIVE_QUEUE messages, of a megabyte each, wait for
 * each peer; one that connects forgets them with its connection. */
endpoint_t endpoint_of_data(endpoint_t self);

/* Returns a socket, caller destroys; NULL with ERR_NET naming the address. A PUB that binds TCP with
 * a key is an XPUB that judges its subscribers (publish_event reads what they say). */
zsock_t *endpoint_open(endpoint_t self, err_t *err);

/* One more address for a socket that was opened from a value of that kind. -1: ERR_NET. */
int endpoint_add(zsock_t *socket, const char *address, bool binds, err_t *err);

/* News of a socket's connections (zmq_socket_monitor(3): `events`), two frames each: number (16
 * bits) and value (32 bits); the address. Returns a PAIR, caller destroys after endpoint_unwatch;
 * NULL: there will be no news. */
zsock_t *endpoint_watch(zsock_t *socket, int events);
void endpoint_unwatch(zsock_t *socket);

#endif
