/* What an operator asks of supervisors (list, restart, drain, scale): a shepherd or front hands
 * questions and answers on, and keeps none. */
#ifndef SHEPHERD_OPERATORS_H
#define SHEPHERD_OPERATORS_H

#include "shepherd/roster/roster.h"

/* Who is there; all borrowed. */
typedef struct {
    member_row_t *const *rows;
    size_t n;
    msg_out_t out;
    bool (*busy)(void *user, const member_row_t *row); /* has it work? */
    void *user;
} operators_t;

/* Answer `client`, whose question came as envelope `request`, and ask the supervisors. `refusal`:
 * why it cannot be; NULL: it can. */
void operators_ask(const operators_t *self, const member_row_t *client, uint64_t request,
                   const Msg__Control *control, const char *refusal);

/* No supervisor has a part in it: the shepherd or front does it itself. */
bool operators_is_own(Msg__Control__Verb verb);

/* "restart", "drain", "scale", "checkpoint", ...: names of events. */
/* Verbs that change nothing, as a mask: a viewer may say them, too. */
enum { OPERATORS_ASKS = 1 << MSG__CONTROL__VERB__LIST };

const char *operators_verb(Msg__Control__Verb verb);

/* A supervisor's answer, for the CLI that it names. */
void operators_answer(const operators_t *self, const Msg__ControlReply *reply);

#endif
