/* Shares: how many steps each lease gets where "balance" is on. A slow link costs as a slow device does: a
 * lease takes its transfer and its steps,
 *
 *   t_k(n) = transfer_k + n / pace_k        T = min over k of t_k(H)
 *   n_k    = (T - transfer_k) pace_k        rounded down, from 1 to H
 *
 * so all end with the fastest, which trains H. Transfers are measured per byte, because leases differ in
 * their bytes: the first of a run has the parameters themselves, others how they changed, encoded. Who
 * cannot be in time even with one step trains that one; a round that is not to wait for it has a quorum. */
#include <stdlib.h>

#include "outer/codec.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

typedef struct {
    double down, up;
} bytes_t;

typedef struct {
    double pace;       /* steps/s that the worker has for the lease; 0: unknown */
    double transfer_s; /* of the lease, while its worker has others; 0: unknown, too */
    bool dropped;      /* what its worker had last did not count */
} term_t;

static double encoded(uint32_t codec, uint64_t n)
{
    const codec_t *found = codec ? codec_find_id(codec, NULL) : NULL;
    return found ? (double)codec_most(found, (size_t)n) : 4 * (double)n;
}

/* What a lease of this round carries: parameters, or their change; the update, and the inner state
 * where it goes up with it. */
static bytes_t bytes_of(const shepherd_t *self)
{
    uint64_t n = self->bulk.layout.total;
    double state = (double)work_state_bytes(self);
    bool up = work_keep_state(self, NULL) == MSG__STATE_KEEP__STATE_OBJECT;
    return (bytes_t){encoded(self->round.number ? self->down_codec : 0, n),
                     encoded(self->codec, n) + (up ? state : 0)};
}

/* log M. */
static term_t term_of(const shepherd_t *self, const work_t *lease, const bytes_t *bytes)
{
    const member_row_t *home = member_by_serial(&self->roster, lease->home);
    const speed_t *row = home && home->n_home ? admission_measured(&self->admission, home->id)
                                              : NULL;
    if (!row) return (term_t){0};
    return (term_t){.pace = row->speed / home->n_home,
                    .transfer_s = home->n_home *
                                  (row->down_s * bytes->down + row->up_s * bytes->up),
                    .dropped = row->dropped};
}

static double seconds_of(const term_t *term, uint32_t steps)
{
    return term->transfer_s + steps / term->pace;
}

static uint32_t share_of(const term_t *term, double fastest_s, uint32_t most)
{
    static const double ROUNDED = 1 + 1e-9; /* what fits to the last bit fits */
    if (term->dropped) return 1;
    if (term->pace <= 0 || seconds_of(term, most) <= fastest_s) return most;
    double steps = (fastest_s - term->transfer_s) * term->pace * ROUNDED;
    return steps < 1 ? 1 : steps < most ? (uint32_t)steps : most;
}

void ranges_share(const shepherd_t *self, uint32_t *steps)
{
    size_t n = (size_t)self->round.replicas;
    uint32_t most = (uint32_t)self->config->inner_steps;
    for (size_t k = 0; k < n; k++) steps[k] = most;
    if (!self->config->balance) return;
    bytes_t bytes = bytes_of(self);
    double fastest_s = 0;
    term_t *term = mem_calloc(n + 1, sizeof *term);
    for (size_t k = 0; k < n; k++) {
        term[k] = term_of(self, &self->round.lease[k], &bytes);
        if (term[k].pace <= 0 || term[k].dropped) continue;
        double own_s = seconds_of(&term[k], most);
        if (fastest_s == 0 || own_s < fastest_s) fastest_s = own_s;
    }
    for (size_t k = 0; k < n; k++) steps[k] = share_of(&term[k], fastest_s, most);
    free(term);
}
