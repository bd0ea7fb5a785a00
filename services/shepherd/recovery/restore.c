/* Going on from a checkpoint: when, from which, and what the store is told of it. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

bool checkpoint_resume(shepherd_t *self)
{
    const char *resume = self->config->resume;
    if (!resume || !*resume || self->recovery.restoring) return false;
    if (members_count(&self->roster, MSG__KIND__KIND_AGGREGATOR) <
        (size_t)self->config->aggregators)
        return true;
    if (self->recovery.resumed && self->now_ms < self->recovery.adopt_until_ms)
        return true; /* they may come back */
    shepherd_start(self, courier_job_new(COURIER_LEDGER, NULL, 0));
    return true;
}

void checkpoint_found(shepherd_t *self, courier_result_t *result)
{
    free(self->recovery.path);
    self->recovery.path = result->checkpoint; /* taken, with the ledger */
    result->checkpoint = NULL;
    if (self->checkpoints.ledger_known) ledger_fini(&self->checkpoints.ledger);
    self->checkpoints.ledger = result->ledger;
    result->ledger = (ledger_t){0};
    self->checkpoints.ledger_known = self->checkpoints.ledger_whole = self->recovery.path != NULL;
    store_resume_fini(&self->recovery.loaded);
    self->recovery.loaded = (store_resume_t){0};
    if (self->recovery.resumed && !self->recovery.backing)
        back_begin(self, "no aggregator holds the open round");
    self->recovery.restoring = true;
    self->checkpoints.forget.n =
        0; /* states that were followed by another may be begun with again */
    self->recovery.resumed = self->round.opened = self->round.decided =
        self->progress.has_val_loss = false;
    self->round.number = self->round.first = (uint32_t)self->checkpoints.ledger.round;
    self->progress.tokens = self->checkpoints.ledger.tokens;
    self->ranges.cursor = self->checkpoints.ledger.cursor;
    admission_rewind(&self->admission, self->round.number);
    /* Our term has used fences in rounds that come again; none may be used twice. */
    if (self->round.fence_top > self->round.fence_base)
        self->round.fence_base = self->round.fence_top;
    replicas_resume(self, self->checkpoints.ledger.n_state);
    for (int64_t k = 0; k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        *lease = (work_t){.fence = self->round.fence_base + 1};
        if (self->recovery.path)
            memcpy(lease->state_in, self->checkpoints.ledger.state[k], HASH_HEX);
    }
    work_count(self);
    log_event(LOG_INFO, "restoring", "checkpoint=%s round=%u tokens=%llu",
              self->recovery.path ? self->recovery.path : "none yet", self->round.number,
              (unsigned long long)self->progress.tokens);
    back_found(self);
}

courier_job_t *checkpoint_restore(const shepherd_t *self)
{
    if (!self->recovery.path) return checkpoint_job(self, COURIER_INIT);
    courier_job_t *job = checkpoint_job(self, COURIER_RESTORE);
    job->path = mem_strdup(self->recovery.path);
    checkpoint_ledger(self, job);
    return job;
}

/* The shards have it: rounds the store knows beyond it are void. */
void checkpoint_restored(shepherd_t *self)
{
    record_t *record = record_new(RECORD_REWIND, self->round.number);
    record->cursor = self->ranges.cursor;
    record->tokens = self->progress.tokens;
    record->n_range = self->checkpoints.ledger.n_returned;
    record->ranges = mem_calloc(record->n_range + 1, sizeof *record->ranges);
    self->ranges.returned.n = 0;
    for (size_t i = 0; i < record->n_range; i++) {
        record->ranges[i] = self->checkpoints.ledger.returned[i];
        ranges_return(self, &self->checkpoints.ledger.returned[i]);
    }
    records_write(self, record);
    self->recovery.backing = self->recovery.written = false;
}
