/* Who gets no work for a while, or no more: a run fails for its own reasons only, not for those of
 * one machine or of one liar. Failures are counted by worker, in a row; a lease that is admitted
 * clears them.
 *
 *   it failed, and says so        rests, twice as long each time, and may be fine again later
 *   nothing arrived of what it    the same; the fifth time in a row it gets no more work
 *   calls done, or was refused
 *   "would fail on any worker"    it gets no more work; perhaps others can
 *
 * Only when nobody is left who could, the run fails, and with the reason of the last; or when so
 * many who have trained here before had the same lease refused that it is not their fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "msg/wire.h"
#include "shepherd/round/blame.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

enum {
    MOST_LIES = 5,
    REST_MS = 100,
    REST_MOST_MS = 60000,
    PATIENCE_MS = 600000, /* for workers that all fail, but each for a reason that may pass */
};

static void rest(shepherd_t *self, member_row_t *row)
{
    int n = row->blame.strikes - 2; /* the first is free: it may be an accident */
    if (n < 0) return;
    int64_t ms = n < 10 ? (int64_t)REST_MS << n : REST_MOST_MS;
    row->blame.rest_ms = self->now_ms + (ms < REST_MOST_MS ? ms : REST_MOST_MS);
}

static void blame_refuse(shepherd_t *self, member_row_t *row)
{
    char *text = mem_printf("no more work for %s: %s; see to it, then start it again", row->id,
                            row->blame.why);
    roster_refuse(&self->roster, row);
    log_event(LOG_ERROR, "worker_refused", "worker=%s reason=\"%s\"", row->id, row->blame.why);
    Msg__Fault fault = MSG__FAULT__INIT;
    fault.code = MSG__FAULT__CODE__REFUSED;
    fault.text = text;
    MSG_SEND(self->ports.out, &row->peer, 0, FAULT, fault, &fault);
    free(text);
    work_release(self, row);
}

void blame_strike(shepherd_t *self, uint32_t serial, strike_t kind, const char *why)
{
    member_row_t *row = member_by_serial(&self->roster, serial);
    if (!row || row->blame.refused) return;
    blame_t *blame = &row->blame;
    if (blame->strikes < 255) blame->strikes++;
    if (kind == STRIKE_LIE && blame->lies < 255) blame->lies++;
    snprintf(blame->why, sizeof blame->why, "%s", why);
    rest(self, row);
    if (kind == STRIKE_FATAL || blame->lies >= MOST_LIES) blame_refuse(self, row);
}

void blame_quarantine(shepherd_t *self, uint32_t serial)
{
    member_row_t *row = member_by_serial(&self->roster, serial);
    if (!row || row->quarantined) return;
    row->quarantined = true;
    snprintf(
        row->blame.why, sizeof row->blame.why,
        "in quarantine: what it handed in was not what others made of the same work (pcp worker "
        "trust %.40s)",
        member_name(row));
    blame_refuse(self, row);
}

void blame_overdue(member_row_t *row, double took_ms)
{
    if (row->blame.overdue < UINT8_MAX) row->blame.overdue++;
    snprintf(row->blame.why, sizeof row->blame.why, "no answer for %.0f s", took_ms / 1000);
}

void blame_clear(roster_t *self, uint32_t serial)
{
    member_row_t *row = member_by_serial(self, serial);
    self->barren_ms = 0;
    if (row && !row->blame.refused) row->blame = (blame_t){0};
}

/* --- Is anybody left? --- */

/* Workers that have a plan, of these those that get no more work, and those that do but fail; one
 * of the latter two. */
static const member_row_t *tally(const shepherd_t *self, size_t *n, size_t *refused,
                                 size_t *failing)
{
    const member_row_t *last = NULL;
    *n = *refused = *failing = 0;
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const member_row_t *row = self->roster.members.at[i];
        if (row->kind != MSG__KIND__KIND_WORKER || !plans_ready(&self->plans, row->target))
            continue;
        bool fails = !row->blame.refused && row->blame.strikes >= MOST_LIES;
        *n += 1;
        *refused += row->blame.refused;
        *failing += fails;
        if (row->blame.refused || fails) last = row;
    }
    return last;
}

/* The usual case, found with the first who is asked. */
static bool any_fit(shepherd_t *self)
{
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const member_row_t *row = self->roster.members.at[i];
        if (!work_ready(self, row) || row->blame.strikes >= MOST_LIES) continue;
        self->roster.barren_ms = 0;
        return true;
    }
    return false;
}

void blame_check(shepherd_t *self)
{
    if (self->phase != PHASE_TRAIN || self->stopping || any_fit(self)) return;
    size_t n, refused, failing;
    const member_row_t *last = tally(self, &n, &refused, &failing);
    if (n == 0 || refused + failing < n) {
        self->roster.barren_ms = 0;
        return;
    }
    if (!self->roster.barren_ms) self->roster.barren_ms = self->now_ms;
    int64_t patience = failing ? PATIENCE_MS : self->config->timeout_ms;
    if (self->now_ms - self->roster.barren_ms < patience) return;
    shepherd_fail(self, "round %u: none of %zu workers can do its work; %s: %s",
                  self->round.number + 1, n, last->id, last->blame.why);
}

bool blame_agreed(shepherd_t *self, uint32_t replica, const member_row_t *row)
{
    work_t *lease = &self->round.lease[replica];
    if (!row || !(admission_speed(&self->admission, row->id) > 0)) return false;
    uint64_t name = wire_run_hash(row->id);
    size_t n = 0;
    while (n < WORK_WITNESSES && lease->witness[n] && lease->witness[n] != name) n++;
    if (n < WORK_WITNESSES) lease->witness[n] = name;
    return n + 1 >= WORK_WITNESSES;
}
