/* Work that does not end: its worker lives, says so, and never answers. What may be expected of a
 * worker is measured by what it took before, or, where it is new, by what others take; after eight
 * times that (and work_wait_s at least) the work goes to another one who is free, under a higher
 * fence. A slow worker is not broken off for ever: its time doubles with each repetition, and as
 * soon as it has ended something, it is measured by that. While nobody else is free, or nothing was
 * measured yet, everybody has all the time there is.
 *
 * And work that nobody asks for: a replica stays with its worker, which has nothing to do and does not
 * ask for it. After work_wait_s it goes to another one who is free. */
#include <stdint.h>

#include "base/log.h"
#include "shepherd/round/blame.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

enum { FACTOR = 8, MOST_DOUBLED = 10, EVERY_MS = 500 };

/* Those who could take something over now, counted when the first is asked for: each takes one. */
typedef struct {
    bool counted;
    size_t n;
} takers_t;

static bool other_free(const shepherd_t *self, takers_t *takers, const member_row_t *holder)
{
    for (size_t i = 0; !takers->counted && i < self->roster.members.n; i++)
        takers->n += work_free(self, self->roster.members.at[i]);
    takers->counted = true;
    if (takers->n <= (work_free(self, holder) ? 1 : 0)) return false;
    takers->n--;
    return true;
}

/* Is it time to take this work from its worker? It is then the worker's mark, too. */
static bool is_overdue(shepherd_t *self, takers_t *takers, work_t *work, double steps,
                       const char *what, size_t index)
{
    double least = self->config->work_wait_s * 1000;
    int64_t took = self->now_ms - work->given_ms;
    member_row_t *row = work->state == WORK_ISSUED ? member_by_serial(&self->roster, work->holder)
                                                   : NULL;
    if (!row || (double)took < least) return false;
    double enough = FACTOR * admission_expected_ms(&self->admission, row->id, steps,
                                                   (double)self->config->inner_steps);
    if (!(enough > 0)) return false;
    if (enough < least) enough = least;
    int doubled = row->blame.overdue + work->overdue;
    enough *= (double)(1 << (doubled < MOST_DOUBLED ? doubled : MOST_DOUBLED));
    if ((double)took < enough || !other_free(self, takers, row)) return false;
    log_event(LOG_WARN, "work_overdue", "%s=%zu round=%u worker=%s seconds=%.1f enough=%.1f", what,
              index, self->round.number, row->id, (double)took / 1000, enough / 1000);
    work->overdue++;
    work->avoid = row->serial;
    blame_overdue(row, (double)took);
    return true;
}

/* A batch that is validated costs no more than one that is trained. */
static double steps_of(const shepherd_t *self, const work_t *part)
{
    return (double)part->n / (double)self->config->accumulate;
}

/* Has its home said for too long that it wants no work, and another one that it does? */
static bool is_unwanted(shepherd_t *self, takers_t *takers, const work_t *lease)
{
    member_row_t *row = lease->home ? member_by_serial(&self->roster, lease->home) : NULL;
    if (!row || lease->state != WORK_OPEN || lease->carry) return false;
    if (row->n_work > 0 || row->credit > 0) {
        row->mute_ms = 0;
        return false;
    }
    if (row->mute_ms == 0) row->mute_ms = self->now_ms;
    double took = (double)(self->now_ms - row->mute_ms);
    if (took < self->config->work_wait_s * 1000 || !other_free(self, takers, row)) return false;
    if (!row->mute)
        log_event(LOG_WARN, "asks_for_no_work", "round=%u worker=%s seconds=%.1f",
                  self->round.number, row->id, took / 1000);
    row->mute = true;
    return true;
}

void overdue_check(shepherd_t *self)
{
    if (self->phase != PHASE_TRAIN || self->now_ms - self->round.overdue_ms < EVERY_MS) return;
    self->round.overdue_ms = self->now_ms;
    takers_t takers = {0};
    for (size_t i = 0; i < self->round.eval.n; i++) {
        work_t *part = &self->round.eval.at[i];
        if (is_overdue(self, &takers, part, steps_of(self, part), "part", i))
            work_reopen_eval(self, part);
    }
    for (int64_t k = 0; self->round.opened && k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        if (admission_waits(self, (uint32_t)k)) continue; /* the shards are asked */
        if (is_unwanted(self, &takers, lease)) work_home(self, lease, 0);
        double steps = (double)ranges_steps(self, lease->want);
        if (!is_overdue(self, &takers, lease, steps, "replica", (size_t)k)) continue;
        work_reopen(self, (uint32_t)k);
        work_home(self, lease, 0); /* whoever is free */
    }
}
