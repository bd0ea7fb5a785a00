/* CONTROL messages: what an operator wants of this supervisor's workers. */
#ifndef SUPERVISOR_OBEY_H
#define SUPERVISOR_OBEY_H

#include "msg/envelope.h"

/* A handler whose state is a loop_t: does it, and answers with the state of the workers
 * concerned. */
void obey(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
