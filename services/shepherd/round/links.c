/* What the leases of a round spent on their links, told when it has ended. A line is no faster than it
 * is, but what waits for what can be mended: so each worker's time is told apart. */
#include "shepherd/round/links.h"

#include <stdlib.h>

#include "shepherd/shepherd.h"

enum { MOST = 32 }; /* rows of an event: it fits into what every client reads */

static double seconds(int64_t from_ms, int64_t to_ms)
{
    return to_ms > from_ms ? (double)(to_ms - from_ms) / 1000 : 0;
}

/* The longest with their round first: these keep the others waiting. */
static int by_end(const void *a, const void *b)
{
    const work_t *x = *(const work_t *const *)a, *y = *(const work_t *const *)b;
    if (x->done_ms != y->done_ms) return x->done_ms > y->done_ms ? -1 : 1;
    return x < y ? -1 : x > y;
}

static Msg__Link row_of(const shepherd_t *self, const work_t *lease)
{
    Msg__Link row = MSG__LINK__INIT;
    row.worker = (char *)lease->worker;
    row.replica = (uint32_t)(lease - self->round.lease);
    row.steps = lease->steps;
    row.lease_s = seconds(self->round.begun_ms, lease->given_ms);
    row.held_s = seconds(lease->given_ms, lease->done_ms);
    row.others_s = seconds(lease->done_ms, self->now_ms);
    row.compute_s = lease->compute_s;
    row.download_s = lease->download_s;
    row.upload_s = lease->upload_s;
    row.received_bytes = lease->received_bytes;
    row.sent_bytes = lease->sent_bytes;
    row.lag = lease->lag;
    return row;
}

void links_tell(shepherd_t *self)
{
    size_t n = 0, n_all = (size_t)self->round.replicas;
    const work_t **done = mem_calloc(n_all + 1, sizeof *done);
    for (size_t k = 0; k < n_all; k++)
        if (self->round.lease[k].state == WORK_DONE) done[n++] = &self->round.lease[k];
    if (n) qsort(done, n, sizeof *done, by_end);
    Msg__Link row[MOST], *list[MOST];
    Msg__Links links = MSG__LINKS__INIT;
    links.round = self->round.number + 1;
    links.n_lease = (uint32_t)n;
    links.links = list;
    for (; links.n_links < n && links.n_links < MOST; links.n_links++) {
        row[links.n_links] = row_of(self, done[links.n_links]);
        list[links.n_links] = &row[links.n_links];
    }
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_LINKS;
    event.links = &links;
    if (n) shepherd_tell(self, &event);
    free(done);
}
