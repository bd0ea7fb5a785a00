/* Where events come from: subscriptions to shepherds and fronts that are kept up whatever happens
 * to the other side. ZeroMQ connects again after most ends of a connection, but not after a peer
 * that spoke something else (a port that was another program's for a moment), and knows nothing of
 * a machine that vanished without a word: so a connection has heartbeats, and one that is not up
 * for a while is made anew, with the name looked up again. */
#ifndef METRICS_SOURCE_H
#define METRICS_SOURCE_H

#include <czmq.h>

#include "base/err.h"
#include "base/vec.h"

enum {
    SOURCE_TELL_MS = 2000, /* not reached for so long: said, and again after twice the time each */
    SOURCE_TELL_MAX_MS = 300000,
    SOURCE_RENEW_MS = 3000, /* made anew, and again after twice the time each */
    SOURCE_RENEW_MAX_MS = 20000,
    SOURCE_BEAT_MS = 2000, /* a sign of life is asked for; none within BEAT_OUT_MS is the end */
    SOURCE_BEAT_OUT_MS = 8000,
};

typedef struct {
    char *endpoint;
    zsock_t *socket, *monitor; /* monitor: news of the connection; NULL: not known */
    bool connected;
    uint64_t key_since;        /* keyring_own_since of the socket */
    int64_t down_ms;           /* since when it is not connected */
    int64_t tell_ms, renew_ms; /* when to do so next */
    int64_t tell_wait_ms, renew_wait_ms;
} source_t;

typedef struct {
    zloop_t *loop;
    zloop_reader_fn *on_event; /* a socket is readable; its argument is `user` */
    void *user;
    VEC(source_t) at;
} sources_t;

/* Subscribe to a list of endpoints with commas between. ERR_ARG: it has none; ERR_NET: one cannot
 * be. */
int sources_open(sources_t *self, const char *endpoints, err_t *err);
void sources_close(sources_t *self);
size_t sources_connected(const sources_t *self);
/* Now and then. */
void sources_tick(sources_t *self, int64_t now_ms);

#endif
