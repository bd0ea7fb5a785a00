/* Where inner states are kept between two leases, and how often they are copied from there. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

Msg__StateKeep work_keep_state(const shepherd_t *self, const member_row_t *worker)
{
    const char *word = self->config->keep_state;
    bool others = self->config->audit > 0; /* they begin with it, too */
    if (strcmp(word, "object") == 0 || others || checkpoint_wants_objects(self, worker))
        return MSG__STATE_KEEP__STATE_OBJECT;
    return strcmp(word, "local") == 0 ? MSG__STATE_KEEP__STATE_LOCAL
                                      : MSG__STATE_KEEP__STATE_MEMORY;
}

uint64_t work_state_bytes(const shepherd_t *self)
{
    const codec_t *codec = self->codec ? codec_find_id(self->codec, NULL) : NULL;
    uint64_t vectors = codec && codec->feedback > 0 ? 3 : 2;
    return 4 * self->bulk.layout.total * vectors;
}

/* Seconds that the slowest link takes for the states of its worker, by what it took for its last updates; 0: unknown. */
static double slowest_s(const shepherd_t *self)
{
    double slowest = 0, bytes = (double)work_state_bytes(self);
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const member_row_t *home = member_by_serial(&self->roster, self->round.lease[k].home);
        const speed_t *row = home ? admission_measured(&self->admission, home->id) : NULL;
        double own = row ? row->up_s * bytes * home->n_home : 0;
        if (own > slowest) slowest = own;
    }
    return slowest;
}

/* A quarter of a link's time is theirs: they go up while it would be idle, for the most part. Until something is measured, with
 * each checkpoint. */
void work_measure_copies(shepherd_t *self)
{
    static const double SHARE = 0.25;
    enum { UNKNOWN = 2, MOST = 1000000 };
    double seconds = slowest_s(self), round_s = self->progress.summary.seconds;
    double rounds = seconds > 0 && round_s > 0 ? ceil(seconds / (SHARE * round_s)) : UNKNOWN;
    uint32_t every = self->config->state_every ? (uint32_t)self->config->state_every
                     : rounds > MOST           ? MOST
                                               : (uint32_t)rounds;
    if (every != self->copies.every)
        log_event(LOG_DEBUG, "state_every", "rounds=%u copy_s=%.3f round_s=%.3f", every, seconds,
                  round_s);
    self->copies.every = every;
}
