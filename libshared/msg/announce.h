/* Under which address does a service that is bound to every interface announce itself, and what is meant by one that
 * has announced itself as it is bound? */
#ifndef MSG_ANNOUNCE_H
#define MSG_ANNOUNCE_H

#include "msg/envelope.h"

/* bound: "tcp://0.0.0.0:7100"; fd: a connection to the peer that is to be told. Our address there
 * in the place of the wildcard; `bound` as it stands where that is of no use to other machines
 * (loopback, a file's path): then we are on the peer's machine, and who reaches the peer puts the
 * peer's host there (control_resolve). Returns, caller frees. */
char *announce_endpoint(const char *bound, int fd);

/* Data endpoints of every interface of the shepherd's machine, in a lease or a job, become those that are seen from
 * here: by the host of `shepherd`, our way to it. The message was unpacked for the caller alone. */
void announce_resolve(const msg_envelope_t *message, const char *shepherd);

#endif
