/* The table of members, and what is held against those that are away. */
#include "shepherd/roster/roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "msg/protocol.h"
#include "msg/wire.h"

member_row_t member_row_of(const Msg__Hello *hello, const msg_peer_t *from, uint32_t serial,
                           int64_t now_ms)
{
    return (member_row_t){
        .serial = serial,
        .id = mem_strdup(hello->id),
        .target = mem_strdup(hello->target),
        .endpoint = mem_strdup(hello->endpoint),
        .supervisor = mem_strdup(hello->supervisor),
        .host = mem_strdup(hello->host),
        .device = mem_strdup(hello->device),
        .device_name = mem_strdup(hello->device_name),
        .device_bytes = hello->device_bytes,
        .steps_per_s = hello->steps_per_s,
        .pid = hello->pid,
        .incarnation = hello->incarnation,
        .protocol = protocol_common(hello->protocol_oldest, hello->protocol),
        .threads = hello->threads,
        .kind = hello->kind,
        .peer = *from,
        .heard_ms = now_ms,
        .shard = -1,
    };
}

void member_row_fini(member_row_t *row)
{
    free(row->id);
    free(row->target);
    free(row->endpoint);
    free(row->supervisor);
    free(row->host);
    free(row->device);
    free(row->device_name);
}

/* A peer as bytes, which are equal where msg_peer_equal says so: under another key the same routing
 * id is another peer. Their number tells where the routing id ends. */
enum { PEER_KEY = MSG_PEER_BYTES + sizeof(uint64_t) + sizeof(void *) };
static size_t peer_key(const msg_peer_t *peer, uint8_t key[PEER_KEY])
{
    memcpy(key, peer->at, peer->n);
    memcpy(key + peer->n, &peer->behind, sizeof peer->behind);
    memcpy(key + peer->n + sizeof peer->behind, &peer->card, sizeof peer->card);
    return peer->n + sizeof peer->behind + sizeof peer->card;
}

static void add_peer(roster_t *self, const member_row_t *row)
{
    uint8_t key[PEER_KEY];
    size_t n = peer_key(&row->peer, key);
    if (!self->by_peer) self->by_peer = index_new();
    if (index_find(self->by_peer, key, n) < 0) index_add(self->by_peer, key, n, (int)row->serial);
}

void roster_add(roster_t *self, member_row_t row)
{
    VEC_PUSH(&self->members, row);
    add_peer(self, &row);
}

member_row_t roster_remove(roster_t *self, member_row_t *row)
{
    member_row_t gone = *row;
    /* The order of serials stays. */
    memmove(row, row + 1, (size_t)(self->members.at + --self->members.n - row) * sizeof *row);
    index_destroy(&self->by_peer);
    for (size_t i = 0; i < self->members.n; i++) add_peer(self, &self->members.at[i]);
    return gone;
}

member_row_t *member_by_peer(const roster_t *self, const msg_peer_t *peer)
{
    uint8_t key[PEER_KEY];
    int serial = self->by_peer ? index_find(self->by_peer, key, peer_key(peer, key)) : -1;
    return serial < 0 ? NULL : member_by_serial(self, (uint32_t)serial);
}

size_t member_place(const roster_t *self, uint32_t serial)
{
    size_t low = 0, high = self->members.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (self->members.at[middle].serial < serial)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < self->members.n && self->members.at[low].serial == serial;
    return found ? low : self->members.n;
}

member_row_t *member_by_serial(const roster_t *self, uint32_t serial)
{
    size_t i = member_place(self, serial);
    return i < self->members.n ? &self->members.at[i] : NULL;
}

member_row_t *member_by_id(const roster_t *self, const char *id)
{
    for (size_t i = 0; i < self->members.n; i++)
        if (strcmp(self->members.at[i].id, id) == 0) return &self->members.at[i];
    return NULL;
}

size_t members_count(const roster_t *self, Msg__Kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < self->members.n; i++) n += self->members.at[i].kind == kind;
    return n;
}

char **members_endpoints(const roster_t *self, size_t n_shard)
{
    char **endpoints = mem_calloc(n_shard, sizeof *endpoints);
    for (size_t i = 0; i < self->members.n; i++) {
        const member_row_t *row = &self->members.at[i];
        if (row->shard >= 0) endpoints[row->shard] = row->endpoint;
    }
    return endpoints;
}

size_t members_with_shard(const roster_t *self)
{
    size_t n = 0;
    for (size_t i = 0; i < self->members.n; i++) n += self->members.at[i].shard >= 0;
    return n;
}

bool members_answered(const roster_t *self)
{
    for (size_t i = 0; i < self->members.n; i++)
        if (self->members.at[i].shard >= 0 && !self->members.at[i].answered) return false;
    return true;
}

uint64_t members_places(const roster_t *self)
{
    uint64_t places = 0;
    for (size_t i = 0; i < self->members.n; i++) {
        const member_row_t *row = &self->members.at[i];
        if (row->shard >= 0) places += rng_mix(wire_run_hash(row->endpoint) + (uint64_t)row->shard);
    }
    return places;
}

void members_dismiss(const roster_t *self, msg_out_t out, const char *reason)
{
    Msg__Bye bye = MSG__BYE__INIT;
    bye.reason = (char *)reason;
    for (size_t i = 0; i < self->members.n; i++)
        MSG_SEND(out, &self->members.at[i].peer, 0, BYE, bye, &bye);
}

void roster_fini(roster_t *self)
{
    for (size_t i = 0; i < self->members.n; i++) member_row_fini(&self->members.at[i]);
    VEC_FREE(&self->members);
    index_destroy(&self->by_peer);
    VEC_FREE(&self->blamed);
}

/* --- Blame --- */

bool blame_rests(const member_row_t *row, int64_t now_ms)
{
    return row->blame.refused || now_ms < row->blame.rest_ms;
}

/* Through a new connection of the same process. */

static bool is_clean(const blame_t *blame)
{
    return !blame->refused && blame->strikes == 0 && blame->overdue == 0;
}

void blame_keep(roster_t *self, const member_row_t *gone)
{
    if (gone->kind != MSG__KIND__KIND_WORKER || is_clean(&gone->blame)) return;
    blamed_t row = {.incarnation = gone->incarnation, .blame = gone->blame};
    snprintf(row.id, sizeof row.id, "%s", gone->id);
    enum { MOST_KEPT = 1024 };
    if (self->blamed.n == MOST_KEPT)
        memmove(self->blamed.at, self->blamed.at + 1, --self->blamed.n * sizeof *self->blamed.at);
    VEC_PUSH(&self->blamed, row);
}

void blame_take(roster_t *self, member_row_t *come)
{
    size_t n = 0;
    for (size_t i = 0; i < self->blamed.n; i++) {
        const blamed_t *row = &self->blamed.at[i];
        bool same = strcmp(row->id, come->id) == 0;
        if (same && row->incarnation == come->incarnation) come->blame = row->blame;
        if (!same) self->blamed.at[n++] = *row;
    }
    self->blamed.n = n;
}

void blame_missing(const roster_t *self, int64_t now_ms, str_t *text)
{
    enum { MOST_NAMED = 4 };
    size_t n = 0;
    for (size_t i = 0; i < self->members.n; i++) {
        const member_row_t *row = &self->members.at[i];
        bool resting = row->blame.strikes && now_ms < row->blame.rest_ms;
        if ((!row->blame.refused && !resting) || n++ >= MOST_NAMED) continue;
        str_addf(text, "; %s %s: %s", row->id, row->blame.refused ? "gets no more work" : "rests",
                 row->blame.why);
    }
    if (n > MOST_NAMED) str_addf(text, "; and %zu more such", n - MOST_NAMED);
}
