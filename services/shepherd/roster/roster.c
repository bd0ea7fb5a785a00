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
        .copies = hello->copies,
        .exact = hello->exact,
        .down_exact = hello->down_exact,
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

void member_row_destroy(member_row_t **row_p)
{
    if (!*row_p) return;
    member_row_fini(*row_p);
    free(*row_p);
    *row_p = NULL;
}

static uint32_t kin_of(roster_t *self, const char *target)
{
    size_t i = 0;
    while (i < self->kins.n && strcmp(self->kins.at[i].name, target) != 0) i++;
    if (i == self->kins.n) VEC_PUSH(&self->kins, ((kin_t){.name = mem_strdup(target)}));
    return (uint32_t)i;
}

/* It is one more, or one less, of its target's workers that can be given work. */
static void count_able(roster_t *self, const member_row_t *row, int change)
{
    if (row->kind != MSG__KIND__KIND_WORKER || row->blame.refused) return;
    kin_t *kin = &self->kins.at[row->kin];
    kin->n_able = (uint32_t)((int64_t)kin->n_able + change);
}

void roster_add(roster_t *self, member_row_t row)
{
    member_row_t *own = mem_calloc(1, sizeof *own);
    *own = row;
    VEC_PUSH(&self->members, own);
    if (own->kind == MSG__KIND__KIND_WORKER)
        own->kin = kin_of(self, own->target);
    else
        VEC_PUSH(&self->others, own);
    count_able(self, own, 1);
    whois_add(&self->whois, own->serial, &own->peer, own->id);
}

/* The order of serials stays. */
static void take_out(member_row_t **at, size_t *n, const member_row_t *row, size_t from)
{
    while (from < *n && at[from] != row) from++;
    if (from < *n) memmove(&at[from], &at[from + 1], (--*n - from) * sizeof *at);
}

member_row_t *roster_remove(roster_t *self, member_row_t *row)
{
    whois_remove(&self->whois, row->serial, &row->peer, row->id);
    count_able(self, row, -1);
    take_out(self->members.at, &self->members.n, row, member_place(self, row->serial));
    if (row->kind != MSG__KIND__KIND_WORKER) take_out(self->others.at, &self->others.n, row, 0);
    return row;
}

void roster_refuse(roster_t *self, member_row_t *row)
{
    count_able(self, row, -1);
    row->blame.refused = true;
}

void roster_trust(roster_t *self, member_row_t *row)
{
    bool was = row->blame.refused;
    row->blame = (blame_t){0};
    if (was) count_able(self, row, 1);
}

member_row_t *member_by_peer(const roster_t *self, const msg_peer_t *peer)
{
    return member_by_serial(self, whois_peer(&self->whois, peer));
}

size_t member_place(const roster_t *self, uint32_t serial)
{
    size_t low = 0, high = self->members.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (self->members.at[middle]->serial < serial)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < self->members.n && self->members.at[low]->serial == serial;
    return found ? low : self->members.n;
}

member_row_t *member_by_serial(const roster_t *self, uint32_t serial)
{
    size_t i = member_place(self, serial);
    return i < self->members.n ? self->members.at[i] : NULL;
}

member_row_t *member_by_id(const roster_t *self, const char *id)
{
    return member_by_serial(self, whois_id(&self->whois, id));
}

size_t members_count(const roster_t *self, Msg__Kind kind)
{
    size_t n = 0;
    if (kind == MSG__KIND__KIND_WORKER) return self->members.n - self->others.n;
    for (size_t i = 0; i < self->others.n; i++) n += self->others.at[i]->kind == kind;
    return n;
}

char **members_endpoints(const roster_t *self, size_t n_shard)
{
    char **endpoints = mem_calloc(n_shard, sizeof *endpoints);
    for (size_t s = 0; s < n_shard; s++) endpoints[s] = (char *)"";
    for (size_t i = 0; i < self->others.n; i++) {
        const member_row_t *row = self->others.at[i];
        if (row->shard >= 0) endpoints[row->shard] = row->endpoint;
    }
    return endpoints;
}

bool members_ahead(const roster_t *self)
{
    for (size_t i = 0; i < self->others.n; i++)
        if (self->others.at[i]->shard >= 0 && !self->others.at[i]->ahead) return false;
    return true;
}

bool members_down_exact(const roster_t *self)
{
    for (size_t i = 0; i < self->others.n; i++)
        if (self->others.at[i]->shard >= 0 && !self->others.at[i]->down_exact) return false;
    return true;
}

bool members_exact(const roster_t *self)
{
    for (size_t i = 0; i < self->members.n; i++) {
        const member_row_t *row = self->members.at[i];
        bool asked = row->kind == MSG__KIND__KIND_WORKER || row->shard >= 0;
        if (asked && !row->exact) return false;
    }
    return true;
}

size_t members_with_shard(const roster_t *self)
{
    size_t n = 0;
    for (size_t i = 0; i < self->others.n; i++) n += self->others.at[i]->shard >= 0;
    return n;
}

bool members_answered(const roster_t *self)
{
    for (size_t i = 0; i < self->others.n; i++)
        if (self->others.at[i]->shard >= 0 && !self->others.at[i]->answered) return false;
    return true;
}

const char *member_name(const member_row_t *row)
{
    return row->peer.card ? row->peer.card->name : row->id;
}

uint64_t members_places(const roster_t *self)
{
    uint64_t places = 0;
    for (size_t i = 0; i < self->others.n; i++) {
        const member_row_t *row = self->others.at[i];
        if (row->shard >= 0) places += rng_mix(wire_run_hash(row->endpoint) + (uint64_t)row->shard);
    }
    return places;
}

void members_dismiss(const roster_t *self, msg_out_t out, const char *reason)
{
    Msg__Bye bye = MSG__BYE__INIT;
    bye.reason = (char *)reason;
    for (size_t i = 0; i < self->members.n; i++)
        MSG_SEND(out, &self->members.at[i]->peer, 0, BYE, bye, &bye);
}

void roster_fini(roster_t *self)
{
    for (size_t i = 0; i < self->members.n; i++) member_row_destroy(&self->members.at[i]);
    for (size_t i = 0; i < self->kins.n; i++) free(self->kins.at[i].name);
    VEC_FREE(&self->members);
    VEC_FREE(&self->others);
    VEC_FREE(&self->kins);
    whois_fini(&self->whois);
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
        const member_row_t *row = self->members.at[i];
        bool resting = row->blame.strikes && now_ms < row->blame.rest_ms;
        if ((!row->blame.refused && !resting) || n++ >= MOST_NAMED) continue;
        str_addf(text, "; %s %s: %s", row->id, row->blame.refused ? "gets no more work" : "rests",
                 row->blame.why);
    }
    if (n > MOST_NAMED) str_addf(text, "; and %zu more such", n - MOST_NAMED);
}
