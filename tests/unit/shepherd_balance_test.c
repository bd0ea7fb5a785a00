/* Who gets which replica and how many steps: the rules of work_settle and ranges_share on random
 * rosters, against the same rules written without any regard for time. */
#include "base/rng.h"
#include "shepherd/round/work.h"
#include "shepherd_rig.h"

enum { CASES = 400, MOST = 24 };

static uint32_t draw(uint64_t seed, uint64_t *at, uint32_t n)
{
    return (uint32_t)(rng_uniform(seed, (*at)++) * n);
}

/* Workers with or without a plan, some refused; speeds of some, also of some who are away. */
static void make_roster(rig_t *rig, uint64_t seed, uint64_t *at)
{
    shepherd_t *self = &rig->state;
    uint32_t n = draw(seed, at, MOST);
    plans_want(&self->plans, "a");
    plans_want(&self->plans, "b");
    self->plans.rows.at[0].state = PLAN_READY;
    for (uint32_t i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%u", draw(seed, at, 1000) * 100 + i);
        Msg__Hello hello = MSG__HELLO__INIT;
        hello.id = id;
        hello.kind = draw(seed, at, 8) ? MSG__KIND__KIND_WORKER : MSG__KIND__KIND_COMPILER;
        hello.target = draw(seed, at, 8) ? "a" : "b";
        self->roster.last_serial += 1 + draw(seed, at, 3);
        member_row_t row = member_row_of(&hello, &(msg_peer_t){0}, self->roster.last_serial, 0);
        row.blame.refused = draw(seed, at, 12) == 0;
        roster_add(&self->roster, row);
        double speed = draw(seed, at, 5) + 0.5 * draw(seed, at, 3);
        if (draw(seed, at, 4)) admission_remember(&self->admission, id, 10, 10 / (speed + 1e-9));
        snprintf(id, sizeof id, "away%u", i);
        if (draw(seed, at, 4) == 0) admission_remember(&self->admission, id, 3, 1);
    }
}

/* Leases that have a home, of whatever kind, or none, or one that is away. */
static void make_leases(rig_t *rig, uint64_t seed, uint64_t *at)
{
    shepherd_t *self = &rig->state;
    self->round.replicas = 1 + draw(seed, at, MOST);
    uint32_t few = 1 + draw(seed, at, self->roster.last_serial + 2);
    for (int64_t k = 0; k < self->round.replicas; k++)
        self->round.lease[k].home = draw(seed, at, 3) ? draw(seed, at, few) : 0;
}

static bool can_work(const member_row_t *row)
{
    return row->kind == MSG__KIND__KIND_WORKER && !row->blame.refused &&
           strcmp(row->target, "a") == 0;
}

static size_t count_homes(const shepherd_t *self, const uint32_t *home, uint32_t serial)
{
    size_t n = 0;
    for (int64_t k = 0; k < self->round.replicas; k++) n += home[k] == serial;
    return n;
}

/* The one who can work with the fewest replicas, the first among equals; NULL: nobody. */
static const member_row_t *idlest(const shepherd_t *self, const uint32_t *home)
{
    const member_row_t *best = NULL;
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const member_row_t *row = &self->roster.members.at[i];
        if (can_work(row) &&
            (!best || count_homes(self, home, row->serial) < count_homes(self, home, best->serial)))
            best = row;
    }
    return best;
}

static void settle_slowly(const shepherd_t *self, uint32_t *home)
{
    size_t n_work = 0;
    for (size_t i = 0; i < self->roster.members.n; i++)
        n_work += can_work(&self->roster.members.at[i]);
    if (n_work == 0) return;
    size_t fair = ((size_t)self->round.replicas + n_work - 1) / n_work;
    for (int64_t k = 0; k < self->round.replicas; k++) {
        bool housed = member_by_serial(&self->roster, home[k]) != NULL;
        if (housed && count_homes(self, home, home[k]) <= fair) continue;
        const member_row_t *to = idlest(self, home);
        if (housed && count_homes(self, home, to->serial) >= fair) continue;
        home[k] = to->serial;
    }
}

static double pace_slowly(const shepherd_t *self, const uint32_t *home, int64_t k)
{
    const member_row_t *row = member_by_serial(&self->roster, home[k]);
    return row ? admission_speed(&self->admission, row->id) /
                     (double)count_homes(self, home, home[k])
               : 0;
}

static uint32_t steps_slowly(const shepherd_t *self, const uint32_t *home, int64_t k)
{
    uint32_t most = (uint32_t)self->config->inner_steps;
    double own = pace_slowly(self, home, k), fastest = 0;
    for (int64_t j = 0; j < self->round.replicas; j++) {
        double other = pace_slowly(self, home, j);
        if (other > fastest) fastest = other;
    }
    if (!self->config->balance || own <= 0 || own >= fastest) return most;
    uint32_t steps = (uint32_t)(own / fastest * most);
    return steps ? steps : 1;
}

static void as_the_slow_rules(void **unused)
{
    (void)unused;
    size_t moved = 0, shortened = 0;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        rig_t *rig = rig_new(MOST, 3);
        uint64_t at = 0;
        rig->config.inner_steps = 500;
        rig->config.balance = seed % 8 != 0;
        make_roster(rig, seed, &at);
        make_leases(rig, seed, &at);
        uint32_t home[MOST], steps[MOST];
        for (int64_t k = 0; k < rig->state.round.replicas; k++)
            home[k] = rig->state.round.lease[k].home;
        work_settle(&rig->state);
        settle_slowly(&rig->state, home);
        ranges_share(&rig->state, steps);
        for (int64_t k = 0; k < rig->state.round.replicas; k++) {
            if (rig->state.round.lease[k].home != home[k])
                fail_msg("seed %d, replica %d: home %u, not %u", (int)seed, (int)k,
                         rig->state.round.lease[k].home, home[k]);
            if (steps[k] != steps_slowly(&rig->state, home, k))
                fail_msg("seed %d, replica %d: %u steps, not %u", (int)seed, (int)k, steps[k],
                         steps_slowly(&rig->state, home, k));
            shortened += steps[k] < 500;
            moved += home[k] != 0;
        }
        rig_free(rig);
    }
    assert_true(moved > CASES && shortened > CASES); /* the cases say something */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_slow_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
