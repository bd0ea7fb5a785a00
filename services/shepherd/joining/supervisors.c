/* Supervisors and the command line at the shepherd of a run. */
#include "shepherd/joining/members.h"
#include "shepherd/roster/operators.h"
#include "shepherd/shepherd.h"

static bool busy(void *user, const member_row_t *row)
{
    (void)user;
    return row->n_work > 0;
}

static operators_t roster_of(shepherd_t *self)
{
    return (operators_t){self->roster.members.at, self->roster.members.n, self->ports.out, busy,
                         self};
}

/* Why not; NULL: it can be done, or is. */
static const char *refuse(shepherd_t *self, const Msg__Control *control, const member_row_t *client)
{
    if (control->verb == MSG__CONTROL__VERB__CHECKPOINT) return checkpoint_refusal(self);
    if (control->verb != MSG__CONTROL__VERB__TRUST) return NULL;
    return quarantine_lift(self, control->member, client)
               ? NULL
               : "no worker or key of that name is in quarantine";
}

void on_control_request(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const member_row_t *client = member_by_peer(&self->roster, from);
    const Msg__Control *control = message->control;
    const char *refusal = refuse(self, control, client);
    bool own = control->verb == MSG__CONTROL__VERB__CHECKPOINT;
    operators_t roster = roster_of(self);
    operators_ask(&roster, client, message->id, control, refusal);
    if (own && !refusal) checkpoint_ask(self);
    bool asked = control->verb == MSG__CONTROL__VERB__CHECKPOINT ||
                 control->verb == MSG__CONTROL__VERB__RESTART ||
                 control->verb == MSG__CONTROL__VERB__DRAIN ||
                 control->verb == MSG__CONTROL__VERB__SCALE;
    if (asked) /* trust has its own */
        records_deed(self, RECORD_TRAIL, client, operators_verb(control->verb), control->member,
                     json_pack("{sIss}", "scale", (json_int_t)control->scale, "refused",
                               refusal ? refusal : ""));
    if (control->verb != MSG__CONTROL__VERB__LIST)
        records_happened(self, operators_verb(control->verb), client->id,
                         json_pack("{sssIss}", "member", control->member, "scale",
                                   (json_int_t)control->scale, "refused", refusal ? refusal : ""));
}

void on_control_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    (void)from;
    operators_t roster = roster_of(self);
    operators_answer(&roster, message->control_reply);
}

void on_run_event(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    (void)from;
    if (message->run_event->body_case != MSG__EVENT__BODY_WORKER) return;
    Msg__Event event = MSG__EVENT__INIT; /* a copy: telling fills in who and when */
    event.body_case = MSG__EVENT__BODY_WORKER;
    event.worker = message->run_event->worker;
    shepherd_tell(self, &event);
}
