/* Members that come, are heard, and go. */
#ifndef SHEPHERD_MEMBERS_H
#define SHEPHERD_MEMBERS_H

#include "shepherd/roster/roster.h"

typedef struct shepherd shepherd_t;

/* For shepherd_hears: what the sender of a message is registered as (its member is noted as alive),
 * and an answer to one that may not say it. */
msg_who_t member_who(void *state, const msg_peer_t *from);
void member_refuse(void *state, const msg_peer_t *from, uint64_t id, msg_who_t who,
                   const char *text);
void member_drop(shepherd_t *self, uint32_t serial, const char *reason);
void members_expire(shepherd_t *self);
void on_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_gone(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_work_request(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- supervisors.c --- */
void on_control_request(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_control_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_run_event(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
