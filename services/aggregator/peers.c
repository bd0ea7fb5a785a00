/* Answers on the way, counted by peer. Rows outlive the table while answers hold them. */
#include "aggregator/peers.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum { QUIET_MS = 60000 };

typedef struct {
    shared_t *keep;
    peer_row_t *peer;
} ticket_t;

static void drop_row(peer_row_t *row)
{
    if (atomic_fetch_sub_explicit(&row->holders, 1, memory_order_acq_rel) == 1) free(row);
}

static int lent(peer_row_t *row)
{
    return atomic_load_explicit(&row->holders, memory_order_acquire) - 1;
}

peer_row_t *peers_find(peers_t *self, const msg_peer_t *id, int64_t now_ms)
{
    for (size_t i = 0; i < self->rows.n; i++) {
        peer_row_t *row = self->rows.at[i];
        if (row->id.n != id->n || memcmp(row->id.at, id->at, id->n) != 0) continue;
        row->used_ms = now_ms;
        return row;
    }
    peer_row_t *row = mem_calloc(1, sizeof *row);
    atomic_init(&row->holders, 1);
    row->id = *id;
    row->used_ms = now_ms;
    VEC_PUSH(&self->rows, row);
    return row;
}

bool peers_may_lend(peer_row_t *row)
{
    if (lent(row) < PEER_LENT) return true;
    row->n_dropped++;
    if ((row->n_dropped & (row->n_dropped - 1)) == 0) /* ever more rarely */
        log_event(LOG_WARN, "slow_reader",
                  "on_the_way=%d dropped=%llu reason=\"it asks and does not read\"", lent(row),
                  (unsigned long long)row->n_dropped);
    return false;
}

void *peers_lend(peer_row_t *row, shared_t *keep)
{
    ticket_t *ticket = mem_calloc(1, sizeof *ticket);
    *ticket = (ticket_t){keep, row};
    atomic_fetch_add_explicit(&row->holders, 1, memory_order_relaxed);
    return ticket;
}

void peers_give_back(void *user)
{
    ticket_t *ticket = user;
    shared_drop(&ticket->keep);
    drop_row(ticket->peer);
    free(ticket);
}

void peers_tick(peers_t *self, int64_t now_ms)
{
    for (size_t i = self->rows.n; i-- > 0;) {
        peer_row_t *row = self->rows.at[i];
        if (lent(row) > 0 || now_ms - row->used_ms < QUIET_MS) continue;
        self->rows.at[i] = self->rows.at[--self->rows.n];
        drop_row(row);
    }
}

void peers_fini(peers_t *self)
{
    for (size_t i = 0; i < self->rows.n; i++) drop_row(self->rows.at[i]);
    VEC_FREE(&self->rows);
}
