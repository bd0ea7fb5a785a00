/* Counters, and the event that has them. */
#include "msg/refusals.h"

#include <stdatomic.h>

static _Atomic uint64_t counted[REFUSAL_COUNT];

void refusals_count(refusal_reason_t reason)
{
    atomic_fetch_add_explicit(&counted[reason], 1, memory_order_relaxed);
}

uint64_t refusals_of(refusal_reason_t reason)
{
    return atomic_load_explicit(&counted[reason], memory_order_relaxed);
}

bool refusals_event(refusals_t *self, int64_t now_ms, Msg__Event *event)
{
    enum { PERIOD_MS = 1000 };
#define REFUSALS_NAME(id, name, what) name,
    static const char *const names[REFUSAL_COUNT] = {REFUSALS(REFUSALS_NAME)};
    if (self->told_ms && now_ms - self->told_ms < PERIOD_MS) return false;
    self->told_ms = now_ms;
    msg__refusals__init(&self->all);
    self->all.n_by_reason = REFUSAL_COUNT;
    self->all.by_reason = self->list;
    for (int i = 0; i < REFUSAL_COUNT; i++) {
        msg__refusal__init(&self->row[i]);
        self->row[i].reason = (char *)names[i];
        self->row[i].count = refusals_of((refusal_reason_t)i);
        self->list[i] = &self->row[i];
    }
    event->body_case = MSG__EVENT__BODY_REFUSALS;
    event->refusals = &self->all;
    return true;
}
