/* Which run gets which member: workers by fair shares, aggregators as many as a run has shards, and
 * a compiler for each run that has something to compile. Runs are served in order of submission. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/front/front.h"
#include "shepherd/front/share.h"

enum { MOVE_MS = 30000, COMPILER_MS = 20000, BALANCE_MS = 100 };

/* The active runs and what each has of a kind, next to what it should have. */
typedef struct {
    size_t n;
    front_run_t **run;
    unsigned *share, *have;
} table_t;

static void table_fini(table_t *self)
{
    free(self->run);
    free(self->share);
    free(self->have);
}

unsigned front_count(const front_t *self, Msg__Kind kind, const front_run_t *run)
{
    unsigned n = 0;
    if (run) return run->n_kind[kind];
    for (size_t i = 0; i < self->members.n; i++) {
        const front_member_t *member = self->members.at[i];
        n += member->is.kind == kind && !member->run && !member->kicked;
    }
    return n;
}

/* Has it something left to compile? A worker of a new kind may have come. */
static bool compiles(const front_run_t *run)
{
    return run->targets.n == 0 || run->n_plan < run->targets.n;
}

/* `for_one`: there is one more than in the table, who says HELLO, in the place of `old` if there is one. */
static table_t table_of(const front_t *self, Msg__Kind kind, bool for_one,
                        const front_member_t *old)
{
    table_t table = {.run = mem_calloc(self->runs.n + 1, sizeof *table.run),
                     .share = mem_calloc(self->runs.n + 1, sizeof *table.share),
                     .have = mem_calloc(self->runs.n + 1, sizeof *table.have)};
    for (size_t i = 0; i < self->runs.n; i++)
        if (self->runs.at[i]->active && !self->runs.at[i]->stop_ms)
            table.run[table.n++] = self->runs.at[i];
    bool goes = old && old->is.kind == kind;
    unsigned total = self->n_kind[kind] + for_one - goes;
    for (size_t k = 0; k < table.n; k++)
        table.have[k] = table.run[k]->n_kind[kind] - (goes && old->run == table.run[k]);
    for (size_t k = 0; k < table.n; k++) {
        const front_run_t *run = table.run[k];
        if (kind == MSG__KIND__KIND_AGGREGATOR) table.share[k] = (unsigned)run->row.n_shards;
        if (kind == MSG__KIND__KIND_WORKER) table.share[k] = (unsigned)run->row.n_workers;
        if (kind == MSG__KIND__KIND_COMPILER) table.share[k] = compiles(run);
    }
    if (kind == MSG__KIND__KIND_WORKER) {
        unsigned *want = table.share;
        table.share = mem_calloc(self->runs.n + 1, sizeof *table.share);
        share_workers(table.n, want, total, table.share);
        free(want);
    }
    return table;
}

/* --- HELLO --- */

static unsigned n_assigned(const front_t *self, const front_run_t *run)
{
    unsigned n = 0;
    for (size_t i = 0; i < self->members.n; i++)
        n += self->members.at[i]->run == run && self->members.at[i]->assigned;
    return n;
}

/* Who holds a lease or a range of a run goes back to it, unless others have all its ranges. */
static bool returns(const front_t *self, const front_member_t *member, const front_run_t *run)
{
    if (member->holds != run->hash) return false;
    return member->is.kind != MSG__KIND__KIND_AGGREGATOR ||
           n_assigned(self, run) < run->row.n_shards;
}

front_run_t *front_choose(front_t *self, const front_member_t *member)
{
    table_t table = table_of(self, member->is.kind, true, front_by_id(self, member->is.id));
    front_run_t *run = NULL;
    for (size_t k = 0; member->holds && k < table.n; k++)
        if (returns(self, member, table.run[k])) run = table.run[k];
    int best = run ? -1 : share_pick(table.n, table.share, table.have);
    if (best >= 0) run = table.run[best];
    /* A run that has compiled all may need a compiler again. */
    for (size_t k = 0; !run && member->is.kind == MSG__KIND__KIND_COMPILER && k < table.n; k++)
        if (table.have[k] == 0) run = table.run[k];
    table_fini(&table);
    return run;
}

/* --- Now and then --- */

static bool idle(const front_member_t *member, Msg__Kind kind)
{
    return member->is.kind == kind && !member->run && !member->kicked;
}

/* An aggregator that holds the range of a run that is not over is the last to be given another. */
static int reluctance(front_t *self, const front_member_t *member, const table_t *table)
{
    if (!member->holds) return 1;
    for (size_t k = 0; k < table->n; k++)
        if (table->run[k]->hash == member->holds) return 0;
    for (size_t i = 0; i < self->runs.n; i++)
        if (self->runs.at[i]->hash == member->holds && !front_run_is(self->runs.at[i], "done"))
            return 2;
    return 1;
}

/* Members that wait are told to say HELLO, and front_choose finds them a place. */
static unsigned call_idle(front_t *self, Msg__Kind kind, const table_t *table, unsigned missing)
{
    unsigned called = 0;
    for (int most = 0; most <= 2; most++)
        for (size_t i = 0; i < self->members.n && called < missing; i++) {
            front_member_t *member = self->members.at[i];
            if (!idle(member, kind) || reluctance(self, member, table) != most) continue;
            front_kick(self, member, false, "a run needs it");
            called++;
        }
    return called;
}

/* Those that were told, and have not come back yet. */
static unsigned n_called(const front_t *self, Msg__Kind kind)
{
    unsigned n = 0;
    for (size_t i = 0; i < self->members.n; i++)
        n += self->members.at[i]->is.kind == kind && self->members.at[i]->kicked;
    return n;
}

static void move_worker(front_t *self, front_member_t *member)
{
    if (!member->moving_ms) member->moving_ms = self->now_ms;
    bool waits = member->busy && self->now_ms - member->moving_ms < MOVE_MS;
    if (!waits) front_kick(self, member, true, "another run needs it more");
}

/* Workers above their run's share go on to others, at the end of their lease. */
static void move_workers(front_t *self, const table_t *table, unsigned missing)
{
    for (size_t k = 0; k < table->n; k++) {
        unsigned excess = table->have[k] > table->share[k] ? table->have[k] - table->share[k] : 0;
        for (int pass = 0; pass < 3; pass++) /* those that move already, idle ones, any */
            for (size_t i = 0; i < self->members.n && excess > 0 && missing > 0; i++) {
                front_member_t *member = self->members.at[i];
                if (member->run != table->run[k] || member->is.kind != MSG__KIND__KIND_WORKER)
                    continue;
                bool fits = pass == 0   ? member->moving_ms > 0
                            : pass == 1 ? !member->busy && !member->moving_ms
                                        : !member->moving_ms;
                if (!fits) continue;
                move_worker(self, member);
                excess--, missing--;
            }
    }
}

static void balance_workers(front_t *self)
{
    table_t table = table_of(self, MSG__KIND__KIND_WORKER, false, NULL);
    unsigned missing = share_missing(table.n, table.share, table.have);
    unsigned coming = n_called(self, MSG__KIND__KIND_WORKER);
    missing = missing > coming ? missing - coming : 0;
    missing -= call_idle(self, MSG__KIND__KIND_WORKER, &table, missing);
    if (missing)
        move_workers(self, &table, missing);
    else
        for (size_t i = 0; i < self->members.n; i++) self->members.at[i]->moving_ms = 0;
    table_fini(&table);
}

static void balance_aggregators(front_t *self)
{
    table_t table = table_of(self, MSG__KIND__KIND_AGGREGATOR, false, NULL);
    for (size_t k = 0; k < table.n; k++)
        for (size_t i = 0; i < self->members.n && table.have[k] > table.share[k]; i++) {
            front_member_t *member = self->members.at[i];
            if (member->run != table.run[k] || member->assigned ||
                member->is.kind != MSG__KIND__KIND_AGGREGATOR)
                continue;
            front_kick(self, member, true, "its run has enough aggregators");
            table.have[k]--;
        }
    unsigned missing = share_missing(table.n, table.share, table.have);
    unsigned coming = n_called(self, MSG__KIND__KIND_AGGREGATOR);
    if (missing > coming) call_idle(self, MSG__KIND__KIND_AGGREGATOR, &table, missing - coming);
    table_fini(&table);
}

/* A compiler that a run can do without: idle, and nothing left to compile there. */
static front_member_t *spare_compiler(front_t *self)
{
    for (size_t i = 0; i < self->members.n; i++) {
        front_member_t *member = self->members.at[i];
        if (member->is.kind == MSG__KIND__KIND_COMPILER && member->run && !member->busy &&
            !compiles(member->run))
            return member;
    }
    return NULL;
}

/* Fewer compilers than runs: they go round. */
static void balance_compilers(front_t *self)
{
    table_t table = table_of(self, MSG__KIND__KIND_COMPILER, false, NULL);
    bool needed = false;
    for (size_t k = 0; k < table.n; k++) {
        front_run_t *run = table.run[k];
        if (table.have[k] > 0 || !run->compiler_ms) run->compiler_ms = self->now_ms;
        if (table.have[k] > 0) continue;
        needed |= compiles(run) || self->now_ms - run->compiler_ms > COMPILER_MS;
    }
    if (needed && n_called(self, MSG__KIND__KIND_COMPILER) == 0 &&
        !call_idle(self, MSG__KIND__KIND_COMPILER, &table, 1)) {
        front_member_t *spare = spare_compiler(self);
        if (spare) front_kick(self, spare, true, "another run has something to compile");
    }
    table_fini(&table);
}

/* --- Which runs are active --- */

static void wait_for(front_run_t *run, const char *what)
{
    if (strcmp(run->row.reason, what) == 0) return;
    free(run->row.reason);
    run->row.reason = mem_strdup(what);
    log_event(LOG_INFO, "waiting", "run=%s for=\"%s\"", run->row.id, what);
    front_tell_watchers(run, NULL);
}

enum { OBSTACLE_BYTES = 192 };

/* What is here, and taken. */
typedef struct {
    size_t active;
    unsigned aggregators, left, workers, compilers;
} supply_t;

static supply_t supply_of(const front_t *self)
{
    table_t table = table_of(self, MSG__KIND__KIND_AGGREGATOR, false, NULL);
    supply_t supply = {.active = table.n};
    unsigned taken = 0;
    for (size_t k = 0; k < table.n; k++) taken += table.share[k];
    table_fini(&table);
    supply.aggregators = self->n_kind[MSG__KIND__KIND_AGGREGATOR];
    supply.workers = self->n_kind[MSG__KIND__KIND_WORKER];
    supply.compilers = self->n_kind[MSG__KIND__KIND_COMPILER];
    supply.left = supply.aggregators > taken ? supply.aggregators - taken : 0;
    return supply;
}

/* Could those that are here serve it, if no other run had them? */
static bool servable(const front_run_t *run, const supply_t *supply)
{
    return run->row.n_shards <= supply->aggregators;
}

/* What a queued run waits for, in words; false: nothing. */
static bool obstacle(const front_t *self, const front_run_t *run, const supply_t *supply,
                     char text[OBSTACLE_BYTES])
{
    unsigned needs = (unsigned)run->row.n_shards;
    if (!servable(run, supply))
        snprintf(text, OBSTACLE_BYTES,
                 "aggregators: it needs %u, the cluster has %u; runs behind it go first", needs,
                 supply->aggregators);
    else if (supply->active >= (size_t)self->config->most_runs)
        snprintf(text, OBSTACLE_BYTES, "the end of another run: %zu are active", supply->active);
    else if (supply->left < needs)
        snprintf(text, OBSTACLE_BYTES, "aggregators: it needs %u, %u of %u are free", needs,
                 supply->left, supply->aggregators);
    else if (supply->compilers == 0)
        snprintf(text, OBSTACLE_BYTES, "a compiler");
    else if (supply->workers <= supply->active)
        snprintf(text, OBSTACLE_BYTES, "a worker: %u are here, for %zu active runs",
                 supply->workers, supply->active);
    else
        return false;
    return true;
}

/* In order of submission. One that needs more aggregators than there are holds nobody back; any
 * other is overtaken by none, so that a run that needs many is not starved by those that need few.
 */
static void activate(front_t *self)
{
    const front_run_t *first = NULL; /* of those that wait and could be served */
    for (size_t i = 0; i < self->runs.n; i++) {
        front_run_t *run = self->runs.at[i];
        char text[OBSTACLE_BYTES];
        if (run->active || !run->stored || !front_run_is(run, "queued")) continue;
        supply_t supply = supply_of(self);
        bool waits = obstacle(self, run, &supply, text);
        if (!servable(run, &supply)) {
            wait_for(run, text);
            continue;
        }
        if (first)
            snprintf(text, sizeof text, "its turn: run %s was submitted before", first->row.id);
        if (first || waits)
            wait_for(run, text);
        else
            front_run_start(run);
        if (waits && !first) first = run;
    }
}

void front_balance(front_t *self)
{
    if (!self->leads || self->stopping || self->now_ms - self->balance_ms < BALANCE_MS) return;
    self->balance_ms = self->now_ms;
    activate(self);
    balance_aggregators(self);
    balance_compilers(self);
    balance_workers(self);
}
