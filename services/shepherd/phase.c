/* The transition table of a run's phases. */
#include "shepherd/phase.h"

#include <assert.h>
#include <stddef.h>

#include "base/log.h"

static const char *const names[PHASE_COUNT] = {
    "standby", "gather", "publish", "compile", "assign", "init",
    "open",    "train",  "decide",  "commit",  "save",   "done",
};

/* Besides these each phase goes to DONE, of which nothing comes. */
static const struct {
    phase_t from, to;
    const char *reason;
} table[] = {
    {PHASE_STANDBY, PHASE_GATHER, "we lead"},
    {PHASE_GATHER, PHASE_GATHER, "an aggregator is lost, or the run goes back"},
    {PHASE_GATHER, PHASE_PUBLISH, "enough aggregators are here"},
    {PHASE_GATHER, PHASE_COMPILE, "those are here that hold the run"},
    {PHASE_PUBLISH, PHASE_GATHER, "an aggregator is lost"},
    {PHASE_PUBLISH, PHASE_COMPILE, "the objects are there"},
    {PHASE_COMPILE, PHASE_GATHER, "an aggregator is lost"},
    {PHASE_COMPILE, PHASE_ASSIGN, "the first plan is there"},
    {PHASE_ASSIGN, PHASE_GATHER, "an aggregator is lost"},
    {PHASE_ASSIGN, PHASE_INIT, "all have their ranges"},
    {PHASE_ASSIGN, PHASE_TRAIN, "all have their ranges, and hold the round"},
    {PHASE_INIT, PHASE_GATHER, "an aggregator is lost, or the checkpoint is damaged"},
    {PHASE_INIT, PHASE_TRAIN, "the parameters are there"},
    {PHASE_TRAIN, PHASE_OPEN, "the first round of this shepherd opens"},
    {PHASE_TRAIN, PHASE_DECIDE, "the round is complete, or closes early"},
    {PHASE_TRAIN, PHASE_SAVE, "the last round is committed, or a signal came"},
    {PHASE_TRAIN, PHASE_GATHER, "an inner state is lost: back to a checkpoint"},
    {PHASE_DECIDE, PHASE_COMMIT, "the store has the decision"},
    {PHASE_COMMIT, PHASE_OPEN, "all shards have applied it"},
    {PHASE_COMMIT, PHASE_TRAIN, "a shard lacks a contribution"},
    {PHASE_OPEN, PHASE_TRAIN, "the store has the leases, or the last commit"},
};

const char *phase_name(phase_t phase)
{
    return names[phase];
}

const char *phase_reason(phase_t from, phase_t to)
{
    if (to == PHASE_DONE) return "the end, a failure, or another leads";
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == from && table[i].to == to) return table[i].reason;
    return NULL;
}

void phase_change(phase_t *self, phase_t to)
{
    bool allowed = phase_reason(*self, to) != NULL;
    if (!allowed) log_event(LOG_ERROR, "phase", "from=%s to=%s", names[*self], names[to]);
    assert(allowed);
    *self = to;
}
