/* Chunks go from the journal to a file of the update's own, and back to the journal when they are claimed. */
#include "aggregator/late.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/aggregator.h"
#include "base/log.h"

static late_t *find(const aggregator_t *self, uint32_t replica, uint32_t fragment)
{
    for (size_t i = 0; i < self->late.all.n; i++) {
        late_t *late = &self->late.all.at[i];
        if (late->replica == replica && late->fragment == fragment) return late;
    }
    return NULL;
}

static void drop(aggregator_t *self, late_t *late)
{
    journal_close(&late->file);
    free(late->chunk);
    *late = self->late.all.at[--self->late.all.n];
}

void late_clear(aggregator_t *self)
{
    while (self->late.all.n) drop(self, &self->late.all.at[0]);
    VEC_FREE(&self->late.all);
}

/* --- Keeping --- */

/* False: the disk does not take all of it. */
static bool copy(aggregator_t *self, const contribution_t *from, late_t *to)
{
    const wire_header_t header = {.type = WIRE_PUT_DELTA};
    uint8_t *bytes = mem_calloc(1, MSG_PAYLOAD_BYTES);
    err_t err = {0};
    bool all = true;
    for (size_t i = 0; all && i < to->n_chunk; i++) {
        const held_chunk_t *held = &from->chunk[i];
        if (!held->at) continue;
        all = journal_read(&self->disk.journal, held->at, bytes, held->n, &err) == 0 &&
              journal_append(&to->file, &header, bytes, held->n, &to->chunk[i].at, &err) == 0;
        to->chunk[i].n = held->n;
        to->n_left++;
    }
    free(bytes);
    return all;
}

void late_keep(aggregator_t *self, uint32_t replica, uint32_t fragment)
{
    const contribution_t *from = contribution(self, replica, fragment);
    err_t err = {0};
    if (from->n_have == 0 || from->reason) return;
    late_t *older = find(self, replica, fragment);
    if (older) drop(self, older);
    if (self->late.all.n == LATE_MOST) return;
    late_t late = {.round = self->meta.round,
                   .replica = replica,
                   .fragment = fragment,
                   .codec = from->codec,
                   .weight = from->weight,
                   .n_chunk = self->fragment[fragment].n_chunk};
    if (journal_open_unnamed(&late.file, self->disk.dir, &err) < 0) return;
    late.chunk = mem_calloc(late.n_chunk + 1, sizeof *late.chunk);
    memcpy(late.worker, self->holder[replica].worker, sizeof late.worker);
    VEC_PUSH(&self->late.all, late);
    late_t *kept = &self->late.all.at[self->late.all.n - 1];
    if (!copy(self, from, kept)) drop(self, kept);
}

/* --- Counting --- */

static bool is_same(const aggregator_t *self, const late_t *late, const wire_header_t *header)
{
    return header->round > late->round && header->weight == late->weight &&
           header->codec == late->codec &&
           strcmp(self->holder[late->replica].worker, late->worker) == 0;
}

/* Of one chunk: false when it cannot be, as after a rise of the fence. */
static bool count(aggregator_t *self, late_t *late, size_t chunk, uint8_t *bytes)
{
    err_t err = {0};
    size_t n = late->chunk[chunk].n;
    if (journal_read(&late->file, late->chunk[chunk].at, bytes, n, &err) < 0) return false;
    wire_header_t header = late->claim;
    deltas_place(self, &header, chunk);
    header.check = hash_fast(bytes, n);
    header.flags = 0;
    header.vector = 0;
    return deltas_take(self, &header, bytes, n, &err) == 0;
}

/* So many, or fewer if that is all. */
static void count_some(aggregator_t *self, late_t *late, size_t most)
{
    uint8_t *bytes = mem_calloc(1, MSG_PAYLOAD_BYTES);
    bool well = true;
    for (; well && most > 0 && late->n_left > 0 && late->next < late->n_chunk; late->next++) {
        if (!late->chunk[late->next].at) continue;
        well = count(self, late, late->next, bytes);
        late->n_left--;
        most--;
    }
    free(bytes);
    if (!well || late->n_left == 0) drop(self, late);
}

void late_hear(aggregator_t *self, const wire_header_t *header)
{
    if (header->round != self->meta.round || header->replica >= self->meta.replicas ||
        header->fragment >= self->meta.fragments)
        return;
    late_t *late = find(self, header->replica, header->fragment);
    if (!late || header->round <= late->round) return;
    if (header->vector != WIRE_LATE || !is_same(self, late, header)) {
        drop(self, late);
        return;
    }
    if (late->claim.type && late->claim.fence == header->fence) return;
    late->claim = *header;
    log_event(LOG_DEBUG, "late_kept", "round=%u replica=%u of=%u chunks=%zu", header->round,
              header->replica, late->round, late->n_left);
}

bool late_closed(const aggregator_t *self, const wire_header_t *header)
{
    const late_t *late = find(self, header->replica, header->fragment);
    return late && late->round == header->round;
}

size_t late_here(const aggregator_t *self, const wire_header_t *header)
{
    if (header->round != self->meta.round || header->replica >= self->meta.replicas ||
        header->fragment >= self->meta.fragments)
        return 0;
    const contribution_t *from = contribution(self, header->replica, header->fragment);
    const late_t *late = find(self, header->replica, header->fragment);
    size_t n = from->n_have;
    if (!late || late->claim.type == 0 || late->claim.fence != header->fence) return n;
    for (size_t i = late->next; i < late->n_chunk; i++)
        n += late->chunk[i].at && !from->chunk[i].at;
    return n;
}

bool late_busy(const aggregator_t *self)
{
    for (size_t i = 0; i < self->late.all.n; i++)
        if (self->late.all.at[i].claim.type) return true;
    return false;
}

static void count_claimed(aggregator_t *self, size_t most)
{
    for (size_t i = self->late.all.n; i-- > 0;)
        if (self->late.all.at[i].claim.type) count_some(self, &self->late.all.at[i], most);
}

void late_work(aggregator_t *self)
{
    count_claimed(self, AGGREGATOR_SLICE);
}

void late_finish(aggregator_t *self)
{
    count_claimed(self, SIZE_MAX);
}
