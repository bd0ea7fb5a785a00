/* Control sockets: envelopes to and from zsock_t, and the ROUTER's side of identity frames.
 * One thread per socket. */
#ifndef MSG_CONTROL_H
#define MSG_CONTROL_H

#include <czmq.h>

#include "msg/endpoint.h"
#include "msg/envelope.h"

/* Send without blocking; to NULL on sockets that have no identity frame. Sets version and id.
 * A full queue or a vanished peer drops the message: -1 with ERR_NET. The frames: to's routing id
 * if it has one (ROUTER), its number if it has one, the envelope. */
int control_send(zsock_t *socket, const msg_peer_t *to, msg_envelope_t *message, err_t *err);

/* The same with a packed envelope, which stays the caller's and is not copied. -1: dropped, errno.
 */
int control_pass(zsock_t *socket, const msg_peer_t *to, zmq_msg_t *body);

/* Does a peer of this ROUTER's still have its connection? It gets a HEARTBEAT. A process that has
 * ended has none, as far as its machine or ours could tell. */
bool control_reaches(zsock_t *socket, const msg_peer_t *to);

/* Receive one message without blocking and dispatch it. from_router: the first frame is the sender,
 * and a second one of three its number among those who share the connection.
 * Returns 1 when a message was taken (good or dropped), 0 when none waits. */
int control_receive(zsock_t *socket, bool from_router, const msg_table_t *table, void *state,
                    msg_count_t *count);

/* Receive the frames of one message without blocking. The first `space` of them are kept in `frame`
 * and the caller's to close (zmq_msg_close). Returns how many there were; 0 when none waits. */
int control_frames(zsock_t *socket, zmq_msg_t *frame, int space);
/* The next piece of news of a socket's connections from its monitor (endpoint_watch): ZMQ_EVENT_..., and *value: of most
 * the connection's descriptor, of some an error or a status. 0: there is none. */
uint16_t control_news(zsock_t *monitor, int32_t *value);

/* Judge the key of who sent this frame to a ROUTER: true, and from->card is set; false: the message
 * is refused, which is logged, counted and said to the sender. */
bool control_admits(zsock_t *socket, zmq_msg_t *frame, msg_peer_t *from, msg_count_t *count);

/* The number that such a frame holds; 0: none. Whoever gives numbers reads them again, and nobody
 * else, so their bytes are in its machine's order. */
uint64_t control_number(zmq_msg_t *frame);

/* "tcp://0.0.0.0:5" as seen by somebody who reached `via` ("tcp://host:9"): wildcard hosts are
 * replaced by via's host. Returns, caller frees. */
char *control_resolve(const char *endpoint, const char *via);
bool control_is_wild(const char *endpoint);

#endif
