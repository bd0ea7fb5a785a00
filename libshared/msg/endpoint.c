/* Sockets from endpoint values: options first, for they hold for connections made after them. */
#include "msg/endpoint.h"

#include <errno.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "msg/keyring.h"
#include "msg/limits.h"

/* Who connects to publish hears subscriptions alone, one a connection, and reads them when it says something: they may
 * not fill a queue (endpoint_add). */
static int receive_queue(int type, bool binds)
{
    if (type != ZMQ_PUB) return 4096;
    return binds ? MSG_LISTENER_QUEUE : 0;
}

static endpoint_t of_control(int type, bool binds, const char *address)
{
    /* Of a process of this machine the kernel tells when it ends. */
    bool is_local = address && str_starts(address, "ipc://");
    return (endpoint_t){
        .type = type,
        .binds = binds,
        .address = address,
        /* At a ROUTER a front may read for a thousand members. */
        .send_queue = type == ZMQ_ROUTER ? MSG_SHARED_QUEUE : 4096,
        .receive_queue = receive_queue(type, binds),
        .service = IPTOS_LOWDELAY, /* before bulk, where a queue knows the difference */
        .frame_bytes = 2 << 20,
        .backlog = 4096, /* all members may come at once, after an outage */
        .linger_ms = 500,
        /* Who connects pings, and says how long its silence may last. A server's own pings would end its process: where a
         * queue is full and the peer goes, libzmq 4.3.4 has given the connection up when the next ping is due. */
        .ping_ms = binds || is_local ? 0 : MSG_PING_MS,
        .pong_ms = MSG_DEAF_MS,
        .deaf_ms = MSG_DEAF_MS,
    };
}

endpoint_t endpoint_bind(int type, const char *address)
{
    return of_control(type, true, address);
}

endpoint_t endpoint_connect(int type, const char *address)
{
    return of_control(type, false, address);
}

endpoint_t endpoint_of_data(endpoint_t self)
{
    self.send_queue = MSG_SEND_QUEUE;
    self.receive_queue = MSG_RECEIVE_QUEUE;
    self.service = IPTOS_THROUGHPUT;
    self.forgets = !self.binds;
    return self;
}

static void set_int(zsock_t *socket, int option, int value)
{
    zmq_setsockopt(zsock_resolve(socket), option, &value, sizeof value);
}

static void set_options(zsock_t *socket, const endpoint_t *self)
{
    zsock_set_sndhwm(socket, self->send_queue);
    zsock_set_rcvhwm(socket, self->receive_queue);
    zsock_set_immediate(socket, self->forgets);
    zsock_set_tos(socket, self->service);
    zsock_set_maxmsgsize(socket, self->frame_bytes);
    zsock_set_backlog(socket, self->backlog);
    zsock_set_linger(socket, self->linger_ms);
    set_int(socket, ZMQ_HEARTBEAT_IVL, self->ping_ms);
    set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, self->pong_ms);
    set_int(socket, ZMQ_HEARTBEAT_TTL, self->deaf_ms);
    /* A peer that lives and does not read: no ping gets as far as the connection then, but the
     * kernel sees that its window stays shut. */
    set_int(socket, ZMQ_TCP_MAXRT, self->deaf_ms);
    if (self->retry_ms) zsock_set_reconnect_ivl(socket, self->retry_ms);
    if (self->retry_max_ms) zsock_set_reconnect_ivl_max(socket, self->retry_max_ms);
    if (self->connect_ms) zsock_set_connect_timeout(socket, self->connect_ms);
    if (self->type == ZMQ_ROUTER) zsock_set_router_mandatory(socket, 1);
    if (self->type == ZMQ_SUB) zsock_set_subscribe(socket, "");
}

zsock_t *endpoint_open(endpoint_t self, err_t *err)
{
    bool guarded = self.type == ZMQ_PUB && self.binds && self.address &&
                   keyring_guards(self.address);
    zsock_t *socket = zsock_new(guarded ? ZMQ_XPUB : self.type);
    if (!socket) {
        err_set(err, ERR_NET, "no new socket: %s", zmq_strerror(zmq_errno()));
        return NULL;
    }
    set_options(socket, &self);
    if (guarded) set_int(socket, ZMQ_XPUB_MANUAL, 1);
    if (self.address && endpoint_add(socket, self.address, self.binds, err) < 0)
        zsock_destroy(&socket);
    return socket;
}

/* Does a process listen at this path? The file of one that has ended refuses. */
static bool is_taken(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at.sun_path) return false;
    memcpy(at.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    bool taken = connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 || errno == EAGAIN;
    close(fd);
    return taken;
}

/* libzmq takes the path of whoever listens there, who then is found by nobody. One that was killed just now has
 * time to end. Events are not asked for: a leader and its stand-by publish at one path, and the one that began last is heard. */
static bool is_free(zsock_t *socket, const char *path)
{
    enum { ENDING_MS = 2000, PAUSE_US = 10000 };
    int type = zsock_type(socket);
    if (type == ZMQ_PUB || type == ZMQ_XPUB) return true;
    int64_t until = clock_mono_ms() + ENDING_MS;
    while (is_taken(path)) {
        if (clock_mono_ms() >= until) return false;
        usleep(PAUSE_US);
    }
    return true;
}

int endpoint_add(zsock_t *socket, const char *address, bool binds, err_t *err)
{
    if (binds && str_starts(address, "ipc://") && !is_free(socket, address + strlen("ipc://")))
        return err_set(err, ERR_NET, "cannot bind \"%s\": another process listens there", address);
    if (keyring_secure(socket, binds, address, err) < 0) return -1;
    /* libzmq 4.3.4 ends the process where it does not read a connection, since a queue is full, and the connection is
     * reset, and a ping is among what it had read: so no queue is ever full. What waits is bounded by msg/ration.h. */
    if (binds && str_starts(address, "tcp://")) zsock_set_rcvhwm(socket, 0);
    char *bare = mem_printf("%.*s", (int)keyring_bare(address), address);
    int rc = binds ? zsock_bind(socket, "%s", bare) : zsock_connect(socket, "%s", bare);
    free(bare);
    if (rc >= 0) return 0;
    int number = zmq_errno();
    bool unread = number == EINVAL || number == EPROTONOSUPPORT;
    return err_set(err, ERR_NET, "cannot %s \"%s\": %s%s", binds ? "bind" : "connect to", address,
                   zmq_strerror(number),
                   unread ? "; an endpoint is tcp://HOST:PORT or ipc://PATH" : "");
}

zsock_t *endpoint_watch(zsock_t *socket, int events)
{
    static _Atomic unsigned last;
    char name[64];
    snprintf(name, sizeof name, "inproc://monitor-%u", ++last);
    if (zmq_socket_monitor(zsock_resolve(socket), name, events) < 0) return NULL;
    endpoint_t self = endpoint_connect(ZMQ_PAIR, name);
    self.receive_queue = 0; /* the library's threads must not wait for who looks now and then */
    return endpoint_open(self, NULL);
}

void endpoint_unwatch(zsock_t *socket)
{
    zmq_socket_monitor(zsock_resolve(socket), NULL, 0);
}
