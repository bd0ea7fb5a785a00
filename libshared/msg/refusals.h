/* What this process has refused, by reason: counted where it happens, told to whoever counts for people. Any
 * thread, but for refusals_event. */
#ifndef MSG_REFUSALS_H
#define MSG_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/telemetry.pb-c.h"

/* X(id, name, what): docs/security.md has them. */
#define REFUSALS(X)                                                                    \
    X(NO_KEY, "no_key", "no message under a key, or no certificate with it")           \
    X(UNKNOWN, "unknown_key", "a certificate of another authority's, or changed")      \
    X(REVOKED, "revoked", "a revoked key; each connection of one that is cut")         \
    X(EXPIRED, "expired", "an expired certificate; each connection that is cut")       \
    X(ROLE, "role", "a message, an id or events that are not for the role of its key") \
    X(SENDER, "sender", "a part of an update that was not its sender's to send")       \
    X(MESSAGES, "messages", "a connection that said too much in too short a time")     \
    X(BYTES, "bytes", "a connection that made us hold too much")                       \
    X(CONNECTIONS, "connections", "a connection too many")                             \
    X(SIGNATURE, "signature", "a plan or checkpoint that was unsigned or changed")

#define REFUSALS_ID(id, name, what) REFUSAL_##id,
typedef enum { REFUSALS(REFUSALS_ID) REFUSAL_COUNT } refusal_reason_t;

void refusals_count(refusal_reason_t reason); /* one more */
uint64_t refusals_of(refusal_reason_t reason);

/* When a second has passed since it was last so: true, and the event's body is all counts, which lie in `self`.
 * Zeroed before. */
typedef struct {
    Msg__Refusal row[REFUSAL_COUNT], *list[REFUSAL_COUNT];
    Msg__Refusals all;
    int64_t told_ms;
} refusals_t;
bool refusals_event(refusals_t *self, int64_t now_ms, Msg__Event *event);

#endif
