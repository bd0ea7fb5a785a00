/* Versions of the protocol: what a program speaks, and what two of them speak with each other.
 *
 * MSG_PROTOCOL rises by one with each change that a program of the version before would
 * misunderstand; a field that it may skip is no such change. Each program speaks its own version
 * and the one before, so that a cluster is upgraded service by service. HELLO names the range of a
 * member, WELCOME the version of the conversation: the highest that both speak. Who says nothing
 * speaks version 1, which came before the question.
 *
 * Pure functions; any thread. */
#ifndef MSG_PROTOCOL_H
#define MSG_PROTOCOL_H

#include <stdint.h>

#include "proto/control.pb-c.h"

enum { MSG_PROTOCOL = 2, MSG_PROTOCOL_OLDEST = MSG_PROTOCOL - 1 };
enum { PROTOCOL_TEXT = 320 };

/* The highest version that this program and one of this range speak; 0: none, or the range is none
 * (newest below oldest). Zeros mean version 1. */
uint32_t protocol_common(uint32_t oldest, uint32_t newest);

/* The version of the conversation with a member that says this HELLO; 0: none, and `text` says what
 * both speak and what to do. */
uint32_t protocol_of_hello(const Msg__Hello *hello, char text[PROTOCOL_TEXT]);

/* The same of a shepherd's WELCOME. */
uint32_t protocol_of_welcome(const Msg__Welcome *welcome, char text[PROTOCOL_TEXT]);

#endif
