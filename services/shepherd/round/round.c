/* The open round as a table: who holds what of it, who cannot train it. */
#include "shepherd/round/round.h"

#include <stdlib.h>
#include <string.h>

void round_fini(round_t *self)
{
    VEC_FREE(&self->eval);
    VEC_FREE(&self->refused);
    VEC_FREE(&self->moved);
    VEC_FREE(&self->asked);
    VEC_FREE(&self->untold);
    free(self->lease);
}

bool round_refused(const round_t *self, uint32_t replica, uint32_t worker)
{
    for (size_t i = 0; i < self->refused.n; i++)
        if (self->refused.at[i].replica == replica && self->refused.at[i].worker == worker)
            return true;
    return false;
}

bool round_refuse(round_t *self, uint32_t replica, uint32_t worker, const char *state,
                  int64_t now_ms)
{
    if (strcmp(state, self->lease[replica].state_in) != 0) return false; /* not what we gave */
    refusal_t row = {replica, worker, now_ms};
    for (size_t i = 0; i < self->refused.n; i++)
        if (self->refused.at[i].replica == row.replica &&
            self->refused.at[i].since_ms < row.since_ms)
            row.since_ms = self->refused.at[i].since_ms;
    VEC_PUSH(&self->refused, row);
    return true;
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
