/* Control sockets over czmq; never blocks, never trusts a frame's size. */
#include "msg/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "msg/keyring.h"
#include "msg/ration.h"

/* What goes before an envelope. Once a first frame is accepted the rest of the message is. */
static int send_address(void *raw, const msg_peer_t *to)
{
    enum { FLAGS = ZMQ_SNDMORE | ZMQ_DONTWAIT };
    int rc = to->n ? zmq_send(raw, to->at, to->n, FLAGS) : 0;
    if (rc >= 0 && to->behind) rc = zmq_send(raw, &to->behind, sizeof to->behind, FLAGS);
    return rc;
}

int control_pass(zsock_t *socket, const msg_peer_t *to, zmq_msg_t *body)
{
    void *raw = zsock_resolve(socket);
    zmq_msg_t copy;
    zmq_msg_init(&copy);
    zmq_msg_copy(&copy, body);
    int rc = send_address(raw, to);
    if (rc >= 0) rc = zmq_msg_send(&copy, raw, ZMQ_DONTWAIT);
    if (rc < 0) zmq_msg_close(&copy);
    return rc < 0 ? -1 : 0;
}

int control_send(zsock_t *socket, const msg_peer_t *to, msg_envelope_t *message, err_t *err)
{
    static _Atomic uint64_t last_id;
    message->version = MSG_VERSION;
    message->id = ++last_id;
    size_t n;
    uint8_t *bytes = msg_pack(message, &n);
    void *raw = zsock_resolve(socket);
    int rc = to ? send_address(raw, to) : 0;
    if (rc >= 0) rc = zmq_send(raw, bytes, n, ZMQ_DONTWAIT);
    free(bytes);
    if (rc >= 0) return 0;
    return err_set(err, ERR_NET, "%s not sent: %s", msg_kind_name(message->body_case),
                   zmq_strerror(zmq_errno()));
}

bool control_reaches(zsock_t *socket, const msg_peer_t *to)
{
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_HEARTBEAT;
    message.heartbeat = &beat;
    errno = 0;
    return control_send(socket, to, &message, NULL) == 0 || zmq_errno() != EHOSTUNREACH;
}

uint64_t control_number(zmq_msg_t *frame)
{
    uint64_t number = 0;
    if (zmq_msg_size(frame) == sizeof number) memcpy(&number, zmq_msg_data(frame), sizeof number);
    return number;
}

/* A ROUTER's first frame came on no connection. */
static void add_size(ration_size_t *sum, zmq_msg_t *frame, bool curve)
{
    if (zmq_msg_get(frame, ZMQ_SRCFD) >= 0)
        ration_add(sum, ration_frame(zmq_msg_size(frame), curve));
}

int control_frames(zsock_t *socket, zmq_msg_t *frame, int space)
{
    void *raw = zsock_resolve(socket);
    bool curve = keyring_own() != NULL;
    int n = 0, more = 1;
    ration_size_t size = {0};
    while (more) {
        zmq_msg_t extra, *at = n < space ? &frame[n] : &extra;
        zmq_msg_init(at);
        if (zmq_msg_recv(at, raw, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(at);
            return n;
        }
        more = zmq_msg_more(at);
        add_size(&size, at, curve);
        if (!more) ration_heard(zmq_msg_get(at, ZMQ_SRCFD), size);
        if (at == &extra) zmq_msg_close(at);
        n++;
    }
    return n;
}

/* Two frames: event and value, then the address. */
uint16_t control_news(zsock_t *monitor, int32_t *value)
{
    zmq_msg_t frame[2];
    uint16_t event = 0;
    int n = control_frames(monitor, frame, 2);
    if (n > 0 && zmq_msg_size(&frame[0]) >= sizeof event + sizeof *value) {
        memcpy(&event, zmq_msg_data(&frame[0]), sizeof event);
        memcpy(value, (const char *)zmq_msg_data(&frame[0]) + sizeof event, sizeof *value);
    }
    for (int i = 0; i < n && i < 2; i++) zmq_msg_close(&frame[i]);
    return event;
}

/* The frames before the envelope of a ROUTER's message; false: wrong ones. */
static bool read_address(zmq_msg_t *frame, int n, msg_peer_t *from)
{
    size_t bytes = zmq_msg_size(&frame[0]);
    if (n < 2 || n > 3 || bytes > sizeof from->at) return false;
    from->n = (uint8_t)bytes;
    memcpy(from->at, zmq_msg_data(&frame[0]), bytes);
    from->behind = n == 3 ? control_number(&frame[1]) : 0;
    return n == 2 || from->behind;
}

bool control_admits(zsock_t *socket, zmq_msg_t *frame, msg_peer_t *from, msg_count_t *count)
{
    const char *why = NULL;
    from->card = keyring_card(frame, &why);
    if (!why) return true;
    count->refused++;
    if (msg_shows(count->refused))
        log_event(LOG_WARN, "message_refused", "refused=%llu reason=\"%s\"",
                  (unsigned long long)count->refused, why);
    Msg__Fault fault = MSG__FAULT__INIT;
    fault.code = MSG__FAULT__CODE__REFUSED;
    fault.text = (char *)why;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_FAULT;
    message.fault = &fault;
    control_send(socket, from, &message, NULL);
    return false;
}

int control_receive(zsock_t *socket, bool from_router, const msg_table_t *table, void *state,
                    msg_count_t *count)
{
    enum { SPACE = 3 };
    zmq_msg_t frame[SPACE];
    int n = control_frames(socket, frame, SPACE);
    if (n == 0) return 0;
    msg_peer_t from = {0};
    if (from_router ? read_address(frame, n, &from) : n == 1) {
        zmq_msg_t *body = &frame[n - 1];
        bool taken = (!from_router || control_admits(socket, body, &from, count)) &&
                     msg_dispatch(table, state, &from, zmq_msg_data(body), zmq_msg_size(body),
                                  count, NULL) == 0;
        if (!taken) ration_refused(zmq_msg_get(body, ZMQ_SRCFD));
        if (!taken) ration_key_refused(keyring_number(from.card));
    } else {
        count->dropped++;
        if (n <= SPACE) ration_refused(zmq_msg_get(&frame[n - 1], ZMQ_SRCFD));
        if (msg_shows(count->dropped))
            log_event(LOG_WARN, "message_dropped",
                      "dropped=%llu frames=%d reason=\"wrong framing\"",
                      (unsigned long long)count->dropped, n);
    }
    for (int i = 0; i < n && i < SPACE; i++) zmq_msg_close(&frame[i]);
    return 1;
}

/* How many bytes of an endpoint say "every interface"; 0: it names a host. */
static size_t wild_bytes(const char *endpoint)
{
    static const char *const wild[] = {"tcp://0.0.0.0:", "tcp://*:", "tcp://[::]:"};
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
        if (str_starts(endpoint, wild[i])) return strlen(wild[i]);
    return 0;
}

bool control_is_wild(const char *endpoint)
{
    return wild_bytes(endpoint) > 0;
}

char *control_resolve(const char *endpoint, const char *via)
{
    size_t n = wild_bytes(endpoint);
    if (n == 0 || !str_starts(via, "tcp://")) return mem_strdup(endpoint);
    return mem_printf("%.*s:%s", (int)(strrchr(via, ':') - via), via, endpoint + n);
}
