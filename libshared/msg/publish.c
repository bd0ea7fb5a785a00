/* Telemetry frames over PUB/SUB. */
#include "msg/publish.h"

#include <stdlib.h>
#include <zmq.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/envelope.h"
#include "msg/keyring.h"
#include "msg/ration.h"
#include "msg/refusals.h"
#include "msg/text.h"

enum {
    EVENT_BYTES = 64 << 10,
    /* Roles, as masks. */
    ONLY_HEARS = 1 << KEYS_OPERATOR | 1 << KEYS_METRICS | 1 << KEYS_VIEWER,
    HEARS = ONLY_HEARS | 1 << KEYS_SHEPHERD,
};

const char *publish_topic(const Msg__Event *event)
{
    switch (event->body_case) {
    case MSG__EVENT__BODY_STEP: return "step";
    case MSG__EVENT__BODY_ROUND: return "round";
    case MSG__EVENT__BODY_RUN_DONE: return "done";
    case MSG__EVENT__BODY_RUN_FAILED: return "failed";
    case MSG__EVENT__BODY_MEMBER: return "member";
    case MSG__EVENT__BODY_COMMIT: return "commit";
    case MSG__EVENT__BODY_STATUS: return "status";
    case MSG__EVENT__BODY_WORKER: return "worker";
    case MSG__EVENT__BODY_DEGRADED: return "degraded";
    case MSG__EVENT__BODY_REWOUND: return "rewound";
    case MSG__EVENT__BODY_REFUSALS: return "refusals";
    default: return "other";
    }
}

/* Any number of connections may try again for ever. */
static bool shows_refused(void)
{
    static _Atomic uint64_t n;
    return msg_shows(++n);
}

/* What subscribers have said since: a byte 1, or 0 for the end, and a topic. Only who has the card of
 * one who may hear events gets a subscription, which is the last speaker's (ZMQ_XPUB_MANUAL). */
static void admit_subscribers(void *raw)
{
    zmq_msg_t frame;
    for (zmq_msg_init(&frame); zmq_msg_recv(&frame, raw, ZMQ_DONTWAIT) >= 0;) {
        const char *why = NULL;
        const uint8_t *bytes = zmq_msg_data(&frame);
        size_t n = zmq_msg_size(&frame);
        ration_heard(zmq_msg_get(&frame, ZMQ_SRCFD), ration_frame(n, true));
        const keys_card_t *card = keyring_card(&frame, &why);
        if (card && !(HEARS >> card->role & 1)) {
            why = "its role may not hear events";
            refusals_count(REFUSAL_ROLE);
        }
        if (why) ration_refused(zmq_msg_get(&frame, ZMQ_SRCFD));
        if (why) ration_key_refused(keyring_number(card));
        if (why && shows_refused())
            log_event(LOG_WARN, "subscriber_refused", "name=%s reason=\"%s\"",
                      card ? card->name : "", why);
        else if (!why && n > 0)
            zmq_setsockopt(raw, bytes[0] ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE, bytes + 1, n - 1);
    }
    zmq_msg_close(&frame);
}

const char *publish_judge(const keys_card_t *card, const Msg__Event *event)
{
    bool works = card->role == KEYS_WORKER || card->role == KEYS_SUPERVISOR;
    bool keeps = card->role == KEYS_AGGREGATOR;
    if (card->role == KEYS_SHEPHERD) return NULL;
    if (ONLY_HEARS >> card->role & 1) return "its role has no events";
    switch (event->body_case) {
    case MSG__EVENT__BODY_STEP: keeps = false; break;
    case MSG__EVENT__BODY_COMMIT:
    case MSG__EVENT__BODY_REFUSALS: works = false; break;
    case MSG__EVENT__BODY_DEGRADED: break;
    default: keeps = works = false;
    }
    if (!keeps && !works) return "such an event is not for its role to say";
    return keys_may_be(card, keeps ? MSG__KIND__KIND_AGGREGATOR : MSG__KIND__KIND_WORKER,
                       event->source);
}

/* Who has no card came by ipc, or nobody here has one. */
static bool may_publish(zmq_msg_t *frame, const Msg__Event *event)
{
    const char *why = NULL;
    const keys_card_t *card = keyring_card(frame, &why);
    if (card && (why = publish_judge(card, event))) {
        refusals_count(REFUSAL_ROLE);
        ration_key_refused(keyring_number(card));
    }
    if (why && shows_refused())
        log_event(LOG_WARN, "event_refused", "name=%s source=%s reason=\"%s\"",
                  card ? card->name : "", event->source, why);
    return !why;
}

void publish_event(zsock_t *socket, Msg__Event *event)
{
    if (!socket) return;
    if (!event->time_ms) event->time_ms = clock_wall_ms();
    size_t n = msg__event__get_packed_size(event);
    uint8_t *bytes = mem_calloc(1, n + 1);
    msg__event__pack(event, bytes);
    void *raw = zsock_resolve(socket);
    const char *topic = publish_topic(event);
    if (zsock_type(socket) == ZMQ_XPUB) admit_subscribers(raw);
    if (zmq_send(raw, topic, strlen(topic), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(raw, bytes, n, ZMQ_DONTWAIT);
    free(bytes);
}

int publish_receive(zsock_t *socket, Msg__Event **event, err_t *err)
{
    void *raw = zsock_resolve(socket);
    Msg__Event *found = NULL;
    int n = 0, more = 1, from = -1;
    ration_size_t all = {0};
    while (more) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        if (zmq_msg_recv(&frame, raw, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&frame);
            return 0;
        }
        more = zmq_msg_more(&frame);
        ration_add(&all, ration_frame(zmq_msg_size(&frame), keyring_own()));
        if (!more) ration_heard(zmq_msg_get(&frame, ZMQ_SRCFD), all);
        from = zmq_msg_get(&frame, ZMQ_SRCFD);
        size_t size = zmq_msg_size(&frame);
        if (n++ == 1 && !more && size <= EVENT_BYTES)
            found = msg__event__unpack(NULL, size, zmq_msg_data(&frame));
        if (found) msg_text_clean(&found->base); /* before it is judged, which is logged */
        if (found && !may_publish(&frame, found)) {
            msg__event__free_unpacked(found, NULL);
            found = NULL;
        }
        zmq_msg_close(&frame);
    }
    if (!found) ration_refused(from);
    if (!found)
        return err_set(err, ERR_NET,
                       "telemetry message of %d frames is no event, or not for its sender", n);
    *event = found;
    return 1;
}
