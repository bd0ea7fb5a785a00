/* Who may send what replica's updates: FENCE, and what is asked before a chunk of an update is looked at.
 *
 * A shepherd that says so (ASSIGN, holders) announces each lease of the open round with its fence and the worker that it
 * was given to. Then nothing is taken under a higher fence, and of a sender with a key only what this key may send in
 * that worker's name. Announcements are in the journal, so that a process that is started again knows them; what they do
 * not cover waits until the shepherd has said ASSIGN. A shepherd of before that announces nothing, and whoever has a
 * worker's key may send. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/aggregator.h"
#include "base/log.h"
#include "msg/refusals.h"

enum { WITH_HOLDER = 1 }; /* code of a record in the journal: the payload is the worker's id */

/* --- What the shepherd says --- */

/* Without the record a process that is started again would not know it. COMMIT's fences hold all the same, and the
 * shepherd says it again. */
static void write_down(aggregator_t *self, uint32_t replica, uint32_t fence, const char *worker)
{
    size_t n = worker ? strlen(worker) : 0;
    wire_header_t record = {.type = WIRE_PUT_DELTA,
                            .code = worker ? WITH_HOLDER : 0,
                            .run = self->meta.run,
                            .round = self->meta.round,
                            .replica = replica,
                            .fence = fence,
                            .check = hash_fast(worker, n)};
    uint64_t at;
    err_t err = {0};
    if (journal_append(&self->disk.journal, &record, worker, n, &at, &err) > 0)
        aggregator_degraded(self, "a fence", &err);
}

/* The shepherd's latest word holds; a lower fence is an older one. False: nothing is new. */
static bool take(aggregator_t *self, uint32_t replica, uint32_t fence, const char *worker)
{
    holder_t *holder = &self->holder[replica];
    bool other = strcmp(holder->worker, worker) != 0;
    if (fence < holder->fence || (fence == holder->fence && !other)) return false;
    /* Nobody's chunks count as another's. */
    if (fence == holder->fence && *holder->worker) deltas_fence(self, replica, 0, true);
    holder->fence = fence;
    snprintf(holder->worker, sizeof holder->worker, "%s", worker);
    deltas_fence(self, replica, fence, true);
    return true;
}

static void on_holder(aggregator_t *self, const Msg__Holder *said)
{
    if (said->replica >= self->meta.replicas || said->fence == 0 ||
        strlen(said->worker) >= MSG_ID_BYTES)
        return;
    if (take(self, said->replica, said->fence, said->worker))
        write_down(self, said->replica, said->fence, said->worker);
}

void on_fence(void *state, const msg_peer_t *peer, const msg_envelope_t *message)
{
    (void)peer;
    aggregator_t *self = state;
    const Msg__Fence *fence = message->fence;
    if (!self->assigned || !self->ready || fence->round != self->meta.round || self->committing)
        return;
    for (size_t i = 0; i < fence->n_holders; i++) on_holder(self, fence->holders[i]);
    if (fence->n_holders > 0 || fence->replica >= self->meta.replicas ||
        fence->fence <= contribution(self, fence->replica, 0)->min_fence)
        return;
    write_down(self, fence->replica, fence->fence, NULL);
    deltas_fence(self, fence->replica, fence->fence, false);
}

void fences_replay(aggregator_t *self, const wire_header_t *record, const void *payload, size_t n)
{
    char worker[MSG_ID_BYTES] = "";
    if (record->replica >= self->meta.replicas || n >= sizeof worker) return;
    if (n) memcpy(worker, payload, n);
    if (record->code == WITH_HOLDER)
        take(self, record->replica, record->fence, worker);
    else
        deltas_fence(self, record->replica, record->fence, false);
}

void fences_assigned(aggregator_t *self, bool announces)
{
    if (!announces) fences_clear(self);
    self->announces = announces ? FENCES_ANNOUNCED : FENCES_OPEN;
}

void fences_clear(aggregator_t *self)
{
    memset(self->holder, 0, self->meta.replicas * sizeof *self->holder);
}

/* --- What senders may --- */

/* Who has no key came by ipc, or nobody here has one. */
static bool speaks_for(const keys_card_t *card, const char *worker)
{
    return !card || !keys_may_be(card, MSG__KIND__KIND_WORKER, worker);
}

bool fences_admit(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header)
{
    bool here = self->assigned && self->ready && !self->committing &&
                header->run == self->meta.run && header->round == self->meta.round &&
                header->replica < self->meta.replicas;
    if (!here || self->announces == FENCES_OPEN) return true;
    const holder_t *holder = &self->holder[header->replica];
    if (header->fence == 0 || header->fence < holder->fence) {
        answer_nack(self, from, header, NACK_OLD_FENCE, "a higher one holds");
        return false;
    }
    bool given = header->fence == holder->fence && *holder->worker;
    if (given && speaks_for(from->card, holder->worker)) return true;
    if (!given && self->announces == FENCES_UNKNOWN) {
        answer_nack(self, from, header, NACK_NOT_READY, "the shepherd is waited for");
        return false;
    }
    refusals_count(REFUSAL_SENDER);
    self->data_refused++;
    if (given)
        answer_nack(self, from, header, NACK_NOT_ALLOWED, "this lease is another worker's");
    else /* an announcement may be on its way */
        answer_nack(self, from, header, NACK_NOT_READY, "no such lease was announced");
    return false;
}
