/* Telemetry: small events on a PUB socket; a full queue drops them, nobody waits. */
#ifndef MSG_PUBLISH_H
#define MSG_PUBLISH_H

#include <czmq.h>

#include "base/err.h"
#include "msg/keys.h"
#include "proto/telemetry.pb-c.h"

/* Topics are "step", "round", "done", "failed", "member", "commit", "status", by the event's body.
 */
const char *publish_topic(const Msg__Event *event);

/* Fill in time_ms when 0 and send [topic, packed event] without blocking. socket NULL: dropped. */
void publish_event(zsock_t *socket, Msg__Event *event);

/* May the holder of this card say such an event? Members have samples of their own alone: a worker steps, an aggregator
 * commits and refusals, both what is degraded; a shepherd says all there is. NULL: yes; else why not, a static text. */
const char *publish_judge(const keys_card_t *card, const Msg__Event *event);

/* Receive one event without blocking: 1 with *event (caller frees by msg__event__free_unpacked),
 * 0 when none waits, -1 (ERR_NET) for a message that was no event, or is not for its sender to say, and is dropped. */
int publish_receive(zsock_t *socket, Msg__Event **event, err_t *err);

#endif
