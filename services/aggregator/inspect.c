/* INSPECT: what has arrived of an update, and what is wrong with it. The norm is the sum over the
 * chunks in their order, so that it has the same bits whatever the order of arrival. */
#include <stdio.h>
#include <string.h>

#include "aggregator/aggregator.h"
#include "base/log.h"

static void fill(const aggregator_t *self, const Msg__Inspect *question, Msg__Inspected *answer)
{
    const contribution_t *from = contribution(self, question->replica, question->fragment);
    size_t n_chunk = self->fragment[question->fragment].n_chunk;
    answer->complete = deltas_complete(self, question->replica, question->fragment, question->fence,
                                       question->weight);
    for (size_t i = 0; answer->complete && i < n_chunk; i++) answer->norm2 += from->chunk[i].norm2;
    if (from->fence != question->fence || !from->reason) return;
    answer->reason = (char *)from->reason;
    answer->detail = (char *)from->detail;
}

/* No answer while there is nothing to say: the shepherd asks again. */
void on_inspect(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    aggregator_t *self = state;
    const Msg__Inspect *question = message->inspect;
    Msg__Inspected answer = MSG__INSPECTED__INIT;
    bool applied = self->meta.shares && question->round + 1 == self->meta.round;
    bool open = question->round == self->meta.round && !self->committing;
    if (!self->assigned || !self->ready || question->replica >= self->meta.replicas ||
        question->fragment >= self->meta.fragments || (!applied && !open))
        return;
    answer.round = question->round;
    answer.shard = self->meta.shard;
    answer.replica = question->replica;
    answer.fragment = question->fragment;
    answer.fence = question->fence;
    answer.complete = answer.applied = applied;
    if (open) late_finish(self);
    if (open) fill(self, question, &answer);
    if (question->digest && open && answer.complete) {
        digest_begin(self, question);
        return;
    }
    MSG_SEND(self->out, from, message->id, INSPECTED, inspected, &answer);
}

void inspect_refuse(aggregator_t *self, const wire_header_t *header, const char *reason,
                    const char *detail)
{
    contribution_t *from = contribution(self, header->replica, header->fragment);
    self->refused++;
    if (from->reason) return;
    from->reason = reason;
    self->guess.n_marked++;
    snprintf(from->detail, sizeof from->detail, "%s", detail);
    log_event(LOG_WARN, "update_refused", "round=%u replica=%u fence=%u reason=%s detail=\"%s\"",
              header->round, header->replica, header->fence, reason, detail);
}
