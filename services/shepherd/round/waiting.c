/* What a run waits for, in words: for the log and the records. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "shepherd/round/rounds.h"
#include "shepherd/shepherd.h"

static void leases_missing(const shepherd_t *self, size_t workers, str_t *text)
{
    str_addf(text, "round %u of %zu workers:", self->round.number + 1, workers);
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state == WORK_OPEN && lease->coming)
            str_addf(text, " replica %lld (its inner state is on its way from %s)", (long long)k,
                     lease->maker);
        else if (lease->state == WORK_OPEN)
            str_addf(text, " replica %lld (nobody has it)", (long long)k);
        if (lease->state == WORK_ISSUED)
            str_addf(text, " replica %lld on %s", (long long)k, lease->worker);
        if (lease->state == WORK_ISSUED && lease->lag)
            str_addf(text, " (late, of round %u)", self->round.number - lease->lag + 1);
    }
}

/* Several things may be missing. */
static str_t *next_of(str_t *text)
{
    if (text->n) str_add(text, "; ");
    return text;
}

static void evals_missing(const shepherd_t *self, str_t *text)
{
    if (self->round.eval.n)
        str_addf(next_of(text), "the validation of round %u:", self->round.number);
    for (size_t i = 0; i < self->round.eval.n; i++) {
        const work_t *part = &self->round.eval.at[i];
        const member_row_t *row = member_by_serial(&self->roster, part->holder);
        if (part->state == WORK_OPEN) str_addf(text, " part %zu (nobody has it)", i);
        if (part->state == WORK_ISSUED)
            str_addf(text, " part %zu on %s, for %.0f s", i, row ? row->id : "?",
                     (double)(self->now_ms - part->given_ms) / 1000);
    }
}

static void shards_missing(const shepherd_t *self, str_t *text)
{
    bool step = self->phase == PHASE_COMMIT;
    if (step) str_addf(text, "round %u:", self->round.number + 1);
    for (size_t i = 0; i < self->roster.others.n; i++) {
        const member_row_t *row = self->roster.others.at[i];
        if (row->shard < 0 || row->answered) continue;
        str_addf(text, " the %s of shard %d on %s", step ? "outer step" : "range", row->shard,
                 row->id);
        if (*row->busy) str_addf(text, " (%s)", row->busy);
    }
}

static void what_is_missing(const shepherd_t *self, str_t *text)
{
    const shepherd_config_t *config = self->config;
    size_t workers = members_count(&self->roster, MSG__KIND__KIND_WORKER);
    if (self->records.lost) str_addf(text, "the store (%s)", self->records.fault);
    if (self->phase == PHASE_GATHER)
        str_addf(next_of(text), "aggregators: %zu of %lld%s",
                 members_count(&self->roster, MSG__KIND__KIND_AGGREGATOR),
                 (long long)config->aggregators,
                 self->recovery.resumed ? " that hold the run" : "");
    if (self->phase == PHASE_COMPILE)
        str_addf(next_of(text), "a plan: %zu workers, %zu compilers", workers,
                 members_count(&self->roster, MSG__KIND__KIND_COMPILER));
    if (self->phase > PHASE_GATHER && self->shards.lost_ms)
        str_add(next_of(text), "a lost aggregator");
    if ((self->phase == PHASE_ASSIGN || self->phase == PHASE_COMMIT) && !self->shards.lost_ms)
        shards_missing(self, next_of(text));
    if (*self->bulk.waits) str_add(next_of(text), self->bulk.waits);
    for (size_t i = 0; i < self->roster.others.n; i++)
        if (*self->roster.others.at[i]->waits)
            str_addf(next_of(text), "aggregator %s: %s", self->roster.others.at[i]->id,
                     self->roster.others.at[i]->waits);
    if (self->phase == PHASE_TRAIN && !self->round.started_ms)
        str_addf(next_of(text), "workers: %zu of %lld are ready",
                 plans_workers(&self->plans, &self->roster), (long long)config->workers);
    if (self->phase == PHASE_TRAIN) evals_missing(self, text);
    if (self->phase == PHASE_TRAIN && self->round.started_ms && self->round.number < config->rounds)
        leases_missing(self, workers, next_of(text));
    if (self->phase == PHASE_TRAIN) blame_missing(&self->roster, self->now_ms, text);
    plans_missing(&self->plans, text);
}

void rounds_waiting(shepherd_t *self)
{
    enum { EVERY_MS = 10000 };
    int64_t since = self->round.begun_ms > self->round.waiting_ms ? self->round.begun_ms
                                                                  : self->round.waiting_ms;
    if (!since) self->round.waiting_ms = self->now_ms;
    if (!since || self->now_ms - since < EVERY_MS) return;
    self->round.waiting_ms = self->now_ms;
    str_t text = {0};
    what_is_missing(self, &text);
    utf8_cut(self->round.waits, sizeof self->round.waits, text.n ? str_text(&text) : "");
    if (text.n) log_event(LOG_INFO, "waiting", "for=\"%s\"", str_text(&text));
    if (text.n && self->round.opened && !self->records.lost) {
        record_t *record = record_new(RECORD_WAITS, self->round.number);
        record->text = mem_strdup(str_text(&text));
        records_write(self, record);
    }
    str_fini(&text);
}
