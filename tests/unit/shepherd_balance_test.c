/* Who gets which replica and how many steps: the rules of work_settle and ranges_share on random
 * rosters, against the same rules written without any regard for time. */
#include <time.h>

#include "base/rng.h"
#include "outer/codec.h"
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
    plans_want(&self->plans, &self->roster, "a", NULL);
    plans_want(&self->plans, &self->roster, "b", NULL);
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
        carried_t carried = {1000 + draw(seed, at, 9), 500, draw(seed, at, 60000) - 1,
                             draw(seed, at, 9000)};
        if (draw(seed, at, 3)) admission_carried(&self->admission, id, &carried);
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
        const member_row_t *row = self->roster.members.at[i];
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
        n_work += can_work(self->roster.members.at[i]);
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

/* Of an update and of parameters in f32. */
static double transfer_slowly(const shepherd_t *self, const uint32_t *home, int64_t k)
{
    const member_row_t *row = member_by_serial(&self->roster, home[k]);
    const speed_t *speed = row ? admission_measured(&self->admission, row->id) : NULL;
    double bytes = 4 * (double)self->bulk.layout.total;
    return speed ? (speed->down_s + speed->up_s) * bytes * (double)count_homes(self, home, home[k])
                 : 0;
}

static uint32_t steps_slowly(const shepherd_t *self, const uint32_t *home, int64_t k)
{
    uint32_t most = (uint32_t)self->config->inner_steps;
    double own = pace_slowly(self, home, k), least = 1e300;
    for (int64_t j = 0; j < self->round.replicas; j++) {
        double other = pace_slowly(self, home, j);
        if (other <= 0) continue;
        double whole = transfer_slowly(self, home, j) + most / other;
        if (whole < least) least = whole;
    }
    if (!self->config->balance || own <= 0) return most;
    uint32_t steps = 1;
    while (steps < most && transfer_slowly(self, home, k) + (steps + 1) / own <= least * (1 + 1e-9))
        steps++;
    return steps;
}

static void as_the_slow_rules(void **unused)
{
    (void)unused;
    size_t moved = 0, shortened = 0;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        rig_t *rig = rig_new(MOST, 3);
        uint64_t at = 0;
        rig->config.inner_steps = 500;
        rig->state.bulk.layout.total = 300;
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

/* --- By hand --- */

enum { PARAMETERS = 1000, MEMBERS = 6 };

/* Workers w0 to w5 with a replica each, of a round behind the first; f32 up and down. */
static rig_t *members_rig(void)
{
    rig_t *rig = rig_new(MEMBERS, 3);
    shepherd_t *self = &rig->state;
    rig->config.balance = true;
    rig->config.inner_steps = 100;
    self->bulk.layout.total = PARAMETERS;
    self->round.number = 1;
    self->codec = codec_find("f32", NULL)->id;
    self->down_codec = 0;
    plans_want(&self->plans, &self->roster, "a", NULL);
    self->plans.rows.at[0].state = PLAN_READY;
    for (int i = 0; i < MEMBERS; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", i);
        Msg__Hello hello = MSG__HELLO__INIT;
        hello.id = id;
        hello.kind = MSG__KIND__KIND_WORKER;
        hello.target = "a";
        roster_add(&self->roster,
                   member_row_of(&hello, &(msg_peer_t){.n = 0}, ++self->roster.last_serial, 0));
        self->round.lease[i].home = self->roster.last_serial;
    }
    work_settle(self);
    return rig;
}

static void measured(rig_t *rig, const char *id, double pace, int64_t down_ms, int64_t up_ms)
{
    carried_t carried = {4 * PARAMETERS, 4 * PARAMETERS, down_ms, up_ms};
    admission_remember(&rig->state.admission, id, 20, 20 / pace);
    admission_carried(&rig->state.admission, id, &carried);
}

static void expect_shares(rig_t *rig, const uint32_t *want)
{
    uint32_t steps[MEMBERS];
    ranges_share(&rig->state, steps);
    for (int k = 0; k < MEMBERS; k++)
        if (steps[k] != want[k]) fail_msg("w%d: %u steps, not %u", k, steps[k], want[k]);
}

/* 100 steps; the fastest takes 1 + 1 s for its transfers and 10 s for its steps: T = 12 s. */
static void links_count_as_steps(void **unused)
{
    (void)unused;
    rig_t *rig = members_rig();
    measured(rig, "w0", 10, 1000, 1000);
    measured(rig, "w1", 10, 4000, 3000);  /* (12 - 7) 10 */
    measured(rig, "w2", 5, 1000, 1000);   /* (12 - 2) 5 */
    measured(rig, "w3", 10, 10000, 9000); /* 19 s are more than there are */
    measured(rig, "w4", 40, 8500, 3000);  /* (12 - 11.5) 40: the fastest device, and a slow link */
    expect_shares(rig, (uint32_t[]){100, 50, 50, 1, 20, 100});
    rig_free(rig);
}

/* Half the bytes down, a quarter or so up: the same links have time for more steps. */
static void codecs_shorten_transfers(void **unused)
{
    (void)unused;
    rig_t *rig = members_rig();
    measured(rig, "w0", 10, 0, 0);
    measured(rig, "w1", 10, 8000, 1000); /* f32: 9 s of 10 */
    expect_shares(rig, (uint32_t[]){100, 10, 100, 100, 100, 100});
    rig->state.down_codec = codec_find("bf16", NULL)->id;
    expect_shares(rig, (uint32_t[]){100, 50, 100, 100, 100, 100}); /* 4 + 1 s */
    rig->state.codec = codec_find("bf16", NULL)->id;
    expect_shares(rig, (uint32_t[]){100, 55, 100, 100, 100, 100}); /* 4 + 0.5 s */
    rig->state.round.number = 0; /* the parameters themselves: 8 + 0.5 s */
    expect_shares(rig, (uint32_t[]){100, 15, 100, 100, 100, 100});
    rig_free(rig);
}

/* Of a worker that was dropped nothing is known but that it had too much: it begins with one step, and has
 * its share as soon as it has handed in. */
static void who_was_dropped_begins_with_one(void **unused)
{
    (void)unused;
    rig_t *rig = members_rig();
    round_t *round = &rig->state.round;
    measured(rig, "w0", 10, 1000, 1000);
    snprintf(round->lease[1].worker, sizeof round->lease[1].worker, "w1");
    snprintf(round->lease[2].worker, sizeof round->lease[2].worker, "w2");
    round->lease[1].state = round->lease[2].state = WORK_DROPPED;
    round->lease[2].late = true; /* it goes on: who knows */
    admission_committed(&rig->state.admission, round);
    expect_shares(rig, (uint32_t[]){100, 1, 100, 100, 100, 100});
    /* The same from the store. */
    store_update_t past[] = {{.steps = 20,
                              .worker = "w0",
                              .compute_s = 2,
                              .received_bytes = 4 * PARAMETERS,
                              .sent_bytes = 4 * PARAMETERS,
                              .download_ms = 1000,
                              .upload_ms = 1000},
                             {.worker = "w1", .dropped = true}};
    admission_load(&rig->state.admission, &(store_updates_t){2, past});
    expect_shares(rig, (uint32_t[]){100, 1, 100, 100, 100, 100});
    measured(rig, "w1", 10, 4000, 3000);
    expect_shares(rig, (uint32_t[]){100, 50, 100, 100, 100, 100});
    rig_free(rig);
}

/* --- Time --- */

/* Processor time of this thread, which other load does not change. */
static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* The best of a few: K leases of four targets, ten workers for each, among them two of the leases' workers
 * that are gone. */
static double plan_ms(int64_t n)
{
    static const char *const targets[] = {"cpu:a", "cpu:b", "cuda:c", "vulkan:d"};
    double best = 1e9;
    rig_t *rig = rig_new(n, 3);
    shepherd_t *self = &rig->state;
    uint32_t *steps = calloc((size_t)n, sizeof *steps);
    rig->config.balance = true;
    for (size_t t = 0; t < 4; t++) plans_want(&self->plans, &self->roster, targets[t], NULL);
    for (size_t t = 0; t < 4; t++) self->plans.rows.at[t].state = PLAN_READY;
    for (int64_t i = 0; i < 10 * n; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", (int)i);
        Msg__Hello hello = MSG__HELLO__INIT;
        hello.id = id;
        hello.kind = MSG__KIND__KIND_WORKER;
        hello.target = (char *)targets[i % 4];
        roster_add(&self->roster,
                   member_row_of(&hello, &(msg_peer_t){.n = 0}, ++self->roster.last_serial, 0));
        carried_t carried = {1000, 1000, i % 89 * 100, i % 83 * 100};
        admission_remember(&self->admission, id, 10, 1 + (double)(i % 97));
        admission_carried(&self->admission, id, &carried);
    }
    for (int again = 0; again < 3; again++) {
        for (int64_t k = 0; k < n; k++) {
            work_t *lease = &self->round.lease[k];
            lease->home = k % 3 ? (uint32_t)(k % (n / 8 + 1)) + 1 : 0;
            snprintf(lease->target, sizeof lease->target, "%s", targets[(k / 2) % 4]);
        }
        double before = cpu_ms();
        work_settle(self);
        ranges_share(self, steps);
        double took = cpu_ms() - before;
        if (took < best) best = took;
    }
    free(steps);
    rig_free(rig);
    return best;
}

/* A thousand replicas in 20 ms, and four times as many in about four times as long. */
static void time_is_linear(void **unused)
{
    (void)unused;
#ifdef __OPTIMIZE__
    double thousand = plan_ms(1000), four = plan_ms(4000);
    print_message("# %.2f ms for 1000 replicas, %.2f ms for 4000\n", thousand, four);
    assert_true(thousand < 20);
    assert_true(four < 10 * thousand + 1);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_slow_rules), cmocka_unit_test(links_count_as_steps),
        cmocka_unit_test(codecs_shorten_transfers),
        cmocka_unit_test(who_was_dropped_begins_with_one), cmocka_unit_test(time_is_linear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
