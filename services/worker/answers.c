/* A short list, oldest first. */
#include "worker/answers.h"

lease_id_t lease_id(const Msg__Lease *lease)
{
    return (lease_id_t){lease->run_hash, lease->round, lease->replica, lease->fence, lease->lag};
}

bool lease_id_equal(const lease_id_t *a, const lease_id_t *b)
{
    return a->run == b->run && a->round == b->round && a->replica == b->replica &&
           a->fence == b->fence;
}

void answers_clear(answers_t *self)
{
    for (size_t i = 0; i < self->list.n; i++) msg_free(&self->list.at[i].message);
    self->list.n = 0;
}

void answers_fini(answers_t *self)
{
    answers_clear(self);
    VEC_FREE(&self->list);
}

void answers_add(answers_t *self, const lease_id_t *lease, msg_envelope_t *message, int64_t now_ms)
{
    answer_t answer = {*lease, message, now_ms - ANSWERS_EVERY_MS};
    VEC_PUSH(&self->list, answer);
}

const answer_t *answers_find(const answers_t *self, const lease_id_t *lease)
{
    for (size_t i = 0; i < self->list.n; i++)
        if (lease_id_equal(&self->list.at[i].lease, lease)) return &self->list.at[i];
    return NULL;
}

typedef bool match_fn(const lease_id_t *lease, const lease_id_t *pattern);

static size_t drop(answers_t *self, match_fn *matches, const lease_id_t *pattern)
{
    size_t kept = 0, n = self->list.n;
    for (size_t i = 0; i < n; i++) {
        answer_t *answer = &self->list.at[i];
        if (matches(&answer->lease, pattern))
            msg_free(&answer->message);
        else
            self->list.at[kept++] = *answer;
    }
    self->list.n = kept;
    return n - kept;
}

static bool same_lease(const lease_id_t *lease, const lease_id_t *pattern)
{
    return lease->round == pattern->round && lease->replica == pattern->replica &&
           lease->fence <= pattern->fence;
}

static bool same_replica(const lease_id_t *lease, const lease_id_t *pattern)
{
    return lease->replica == pattern->replica;
}

static bool other_run(const lease_id_t *lease, const lease_id_t *pattern)
{
    return lease->run != pattern->run;
}

size_t answers_drop(answers_t *self, uint32_t round, uint32_t replica, uint32_t fence)
{
    lease_id_t pattern = {.round = round, .replica = replica, .fence = fence};
    return drop(self, same_lease, &pattern);
}

size_t answers_drop_replica(answers_t *self, uint32_t replica)
{
    lease_id_t pattern = {.replica = replica};
    return drop(self, same_replica, &pattern);
}

size_t answers_drop_others(answers_t *self, uint64_t run)
{
    lease_id_t pattern = {.run = run};
    return drop(self, other_run, &pattern);
}

void answers_say(answers_t *self, msg_out_t out, int64_t now_ms, bool all)
{
    for (size_t i = 0; i < self->list.n; i++) {
        answer_t *answer = &self->list.at[i];
        if (!all && now_ms - answer->said_ms < ANSWERS_EVERY_MS) continue;
        answer->said_ms = now_ms;
        out.send(out.user, NULL, answer->message);
    }
}
