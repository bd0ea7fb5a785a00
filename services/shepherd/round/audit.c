/* Which leases are audited, and the digests of what the shards hold of them. */
#include "shepherd/round/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "msg/keyring.h"
#include "shepherd/round/rounds.h"
#include "shepherd/shepherd.h"

void audits_init(audits_t *self, size_t most, double rate)
{
    self->rate = rate;
    random_hex(self->seed, HASH_HEX - 1); /* the store's takes its place */
    if (rate > 0) self->at = mem_calloc(most, sizeof *self->at);
}

static void clear(audit_t *self)
{
    VEC_FREE(&self->heard);
    free(self->shard);
    *self = (audit_t){0};
}

void audits_fini(audits_t *self, size_t most)
{
    for (size_t k = 0; self->at && k < most; k++) clear(&self->at[k]);
    free(self->at);
    for (size_t i = 0; i < self->part.n; i++) VEC_FREE(&self->part.at[i].heard);
    VEC_FREE(&self->part);
    free(self->listed);
    VEC_FREE(&self->found);
}

void audits_open(shepherd_t *self)
{
    self->audits.n_open = 0;
    if (!self->audits.at) return;
    for (int64_t k = 0; k < shepherd_most(self->config); k++) clear(&self->audits.at[k]);
}

/* The first 52 bits of a hash, as a number in [0, 1). */
static bool draw(const audits_t *self, const char *what, uint32_t round, uint32_t index)
{
    if (!self->at) return false;
    char text[HASH_HEX + 40], hash[HASH_HEX];
    int n = snprintf(text, sizeof text, "%s %s%u %u", self->seed, what, round, index);
    hash_content(text, (size_t)n, hash);
    hash[13] = '\0';
    return (double)strtoull(hash, NULL, 16) / 4503599627370496.0 < self->rate;
}

bool audits_drawn(const audits_t *self, uint32_t round, uint32_t replica)
{
    return draw(self, "", round, replica);
}

bool audits_drawn_part(const audits_t *self, uint32_t round, uint32_t part)
{
    return draw(self, "part ", round, part);
}

/* A key speaks for ids of its name alone, which has no '-' (keys_may_be). */
void audits_name(const shepherd_t *self, const char *worker, char name[MSG_ID_BYTES])
{
    const member_row_t *row = member_by_id(&self->roster, worker);
    snprintf(name, MSG_ID_BYTES, "%s", row ? member_name(row) : worker);
    if (!row && keyring_own()) name[strcspn(name, "-")] = '\0';
}

static void ask(shepherd_t *self, uint32_t replica)
{
    audit_t *audit = &self->audits.at[replica];
    Msg__Inspect inspect = MSG__INSPECT__INIT;
    inspect.round = self->round.number;
    inspect.replica = replica;
    inspect.fence = audit->fence;
    inspect.weight = audit->steps;
    inspect.digest = true;
    audit->asked_ms = self->now_ms;
    for (size_t i = 0; i < self->roster.others.n; i++) {
        const member_row_t *row = self->roster.others.at[i];
        if (row->shard >= 0 && !*audit->shard[row->shard])
            MSG_SEND(self->ports.out, &row->peer, 0, INSPECT, inspect, &inspect);
    }
}

void audits_begin(shepherd_t *self, uint32_t replica)
{
    const work_t *lease = &self->round.lease[replica];
    if (self->bulk.layout.n == 0) return; /* after a change of leaders: resume_round begins it */
    if (lease->state != WORK_DONE || !audits_drawn(&self->audits, self->round.number, replica))
        return;
    audit_t *audit = &self->audits.at[replica];
    uint32_t steps = ranges_steps(self, lease->done_windows);
    bool same = audit->steps == steps && strcmp(audit->target, lease->target) == 0;
    if (!same) clear(audit); /* what was heard is of another function */
    size_t shards = (size_t)self->config->aggregators;
    if (!audit->shard) audit->shard = mem_calloc(shards, sizeof *audit->shard);
    memset(audit->shard, 0, shards * sizeof *audit->shard);
    self->audits.n_open += !audit->open;
    audit->open = true;
    audit->fence = lease->fence;
    audit->steps = steps;
    snprintf(audit->target, sizeof audit->target, "%s", lease->target);
    if (audit->heard.n == 0) VEC_PUSH(&audit->heard, ((testimony_t){0}));
    testimony_t *own = &audit->heard.at[0];
    *own = (testimony_t){0};
    snprintf(own->worker, sizeof own->worker, "%s", lease->worker);
    audits_name(self, lease->worker, own->name);
    ask(self, replica);
}

void audits_say(testimony_t *self, const char *digest, const char *state, uint32_t steps,
                double loss)
{
    char text[3 * HASH_HEX];
    int n = snprintf(text, sizeof text, "%.64s %.64s %u %.17g", digest, state, steps, loss);
    hash_content(text, (size_t)n, self->digest);
}

void audits_ask_again(shepherd_t *self, uint32_t replica)
{
    enum { AGAIN_MS = 1000 };
    const audit_t *audit = &self->audits.at[replica];
    if (audit->open && !*audit->heard.at[0].digest && self->now_ms - audit->asked_ms >= AGAIN_MS)
        ask(self, replica);
}

void audits_take_back(shepherd_t *self, audit_t *audit)
{
    member_row_t *row = audit->auditor ? member_by_serial(&self->roster, audit->auditor) : NULL;
    if (row && row->n_work > 0) row->n_work--;
    audit->auditor = 0;
}

void audits_release(shepherd_t *self, uint32_t auditor)
{
    for (int64_t k = 0; self->audits.n_open > 0 && k < self->round.replicas; k++)
        if (self->audits.at[k].auditor == auditor) audits_take_back(self, &self->audits.at[k]);
}
