/* The open round as a table: who holds what of it, who cannot train it. */
#include "shepherd/round/round.h"

#include <stdlib.h>
#include <string.h>

void round_fini(round_t *self)
{
    VEC_FREE(&self->eval);
    VEC_FREE(&self->refused);
    free(self->lease);
}

size_t round_homes(const round_t *self, uint32_t serial)
{
    size_t n = 0;
    for (int64_t k = 0; k < self->replicas; k++) n += self->lease[k].home == serial;
    return n;
}

bool round_refused(const round_t *self, uint32_t replica, uint32_t worker)
{
    for (size_t i = 0; i < self->refused.n; i++)
        if (self->refused.at[i].replica == replica && self->refused.at[i].worker == worker)
            return true;
    return false;
}

void round_refuse(round_t *self, uint32_t replica, uint32_t worker, const char *state,
                  int64_t now_ms)
{
    work_t *lease = &self->lease[replica];
    if (strcmp(state, lease->state_in) != 0) return; /* not what we gave */
    refusal_t row = {replica, worker, now_ms};
    for (size_t i = 0; i < self->refused.n; i++)
        if (self->refused.at[i].replica == row.replica &&
            self->refused.at[i].since_ms < row.since_ms)
            row.since_ms = self->refused.at[i].since_ms;
    VEC_PUSH(&self->refused, row);
    lease->home = 0; /* whoever else is free */
}

double round_loss(const work_t *work, size_t n, uint64_t *tokens)
{
    double sum = 0;
    *tokens = 0;
    for (size_t i = 0; i < n; i++) {
        if (work[i].state != WORK_DONE) continue;
        sum += work[i].loss * (double)work[i].tokens;
        *tokens += work[i].tokens;
    }
    return *tokens ? sum / (double)*tokens : 0;
}
