/* A row for each replica: its newest state. */
#include "worker/handover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void drop_data(handover_t *self)
{
    for (size_t s = 0; s < self->n_data; s++) free(self->data[s]);
    free(self->data);
    self->data = NULL;
    self->n_data = 0;
}

void handover_clear(handover_t *self)
{
    VEC_FREE(&self->made);
    drop_data(self);
    self->run = 0;
    self->wanted = false;
}

void handover_lease(handover_t *self, const Msg__Lease *lease)
{
    if (self->run != lease->run_hash) handover_clear(self);
    self->run = lease->run_hash;
    self->wanted = lease->hand_over;
    drop_data(self);
    self->data = mem_calloc(lease->n_data + 1, sizeof *self->data);
    for (size_t s = 0; s < lease->n_data; s++) self->data[s] = mem_strdup(lease->data[s]);
    self->n_data = lease->n_data;
}

static made_t *find(const handover_t *self, uint32_t replica)
{
    for (size_t i = 0; i < self->made.n; i++)
        if (self->made.at[i].replica == replica) return &self->made.at[i];
    return NULL;
}

static void drop(handover_t *self, const made_t *row)
{
    self->made.at[row - self->made.at] = self->made.at[self->made.n - 1];
    self->made.n--;
}

/* Others have trained the replica since. */
static void drop_old(handover_t *self, uint32_t round)
{
    for (size_t i = self->made.n; i-- > 0;)
        if (self->made.at[i].round + 2 < round) drop(self, &self->made.at[i]);
}

void handover_made(handover_t *self, uint32_t round, uint32_t replica, const char *state)
{
    made_t row = {.replica = replica, .round = round}, *old = find(self, replica);
    if (strlen(state) != HASH_HEX - 1) return;
    memcpy(row.state, state, HASH_HEX);
    if (old && old->round == round) memcpy(row.before, old->before, HASH_HEX);
    if (old && old->round < round) memcpy(row.before, old->state, HASH_HEX);
    if (old)
        *old = row;
    else
        VEC_PUSH(&self->made, row);
    drop_old(self, round);
}

void handover_void(handover_t *self, uint32_t round, uint32_t replica)
{
    made_t *row = find(self, replica);
    if (!row || row->round != round) return;
    memcpy(row->state, row->before, HASH_HEX);
    *row->before = '\0';
    row->round = round ? round - 1 : 0;
    if (!*row->state) drop(self, row);
}

void handover_copied(handover_t *self, const char *state)
{
    for (size_t i = self->made.n; i-- > 0;)
        if (strcmp(self->made.at[i].state, state) == 0) drop(self, &self->made.at[i]);
}

size_t handover_count(const handover_t *self)
{
    return self->wanted ? self->made.n : 0;
}

uint64_t handover_run(const handover_t *self)
{
    return handover_count(self) ? self->run : 0;
}

size_t handover_begin(handover_t *self, copying_t *copying)
{
    size_t n = handover_count(self);
    for (size_t i = 0; i < n; i++) {
        Msg__Copy copy = MSG__COPY__INIT;
        copy.run_hash = self->run;
        copy.state = self->made.at[i].state;
        copy.data = self->data;
        copy.n_data = self->n_data;
        msg_envelope_t message = MSG__ENVELOPE__INIT;
        message.version = MSG_VERSION; /* it may be packed to wait */
        message.body_case = MSG__ENVELOPE__BODY_COPY;
        message.copy = &copy;
        copying_ask(copying, &message);
    }
    self->made.n = 0;
    return n;
}
