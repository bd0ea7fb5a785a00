/* Members that come, are heard, and go. */
#ifndef SHEPHERD_MEMBERS_H
#define SHEPHERD_MEMBERS_H

#include "shepherd/roster/roster.h"

typedef struct shepherd shepherd_t;

/* For shepherd_hears: an answer to one that may not say a message. */
void member_refuse(void *state, const msg_peer_t *from, uint64_t id, msg_who_t who,
                   const char *text);
void member_drop(shepherd_t *self, uint32_t serial, const char *reason);
void members_revoked(shepherd_t *self); /* when more keys are: members hear of it */
void members_refuse(shepherd_t *self);  /* workers of targets that have no plan leave */
void on_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_gone(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_work_request(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- silence.c --- */
/* For shepherd_hears: what the sender of a message is registered as; its member is noted as alive. */
msg_who_t member_who(void *state, const msg_peer_t *from);
void members_expire(shepherd_t *self); /* who is silent for too long is lost */

/* --- supervisors.c --- */
void on_control_request(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_control_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void on_run_event(void *state, const msg_peer_t *from, const msg_envelope_t *message);

/* --- aggregators.c --- */
void shards_hello(shepherd_t *self, member_row_t *row, const Msg__ShardState *held);
void shards_lost(shepherd_t *self, const member_row_t *gone, const char *reason);
void shards_repeat(shepherd_t *self);  /* ASSIGN or COMMIT, where the answer is long in coming */
bool shards_claimed(shepherd_t *self); /* resumed runs: every range is here, given to its holder */
void members_wait_for_shards(shepherd_t *self); /* the run fails when they do not come in time */
void on_assigned(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
