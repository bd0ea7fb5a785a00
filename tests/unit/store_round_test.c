/* Rounds, leases and the ledger: each window is committed exactly once, whatever is repeated, given
 * again, returned or tried by a deposed leader. tests/cluster/store.sh runs it on PostgreSQL too.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "store_help.h"

static void test_open(void **state)
{
    ledger_test_t *f = *state;
    data_range_t cursor = {.start = 20};
    store_lease_t two[] = {{.replica = 0, .fence = 1, .range = {.start = 0, .count = 10}},
                           {.replica = 1, .fence = 1, .range = {.start = 10, .count = 10}}};
    store_round_t round;
    bool found = true;
    STORE_OK(store_round_latest(f->store, "r", &round, &found, err));
    assert_false(found);
    STORE_REFUSED(ERR_STATE, store_round_open(f->store, &f->boss, 1, &cursor, two, 2, err));
    for (int i = 0; i < 2; i++) /* a repeat is success */
        STORE_OK(store_round_open(f->store, &f->boss, 0, &cursor, two, 2, err));
    two[1].range.count = 9;
    STORE_REFUSED(ERR_STATE, store_round_open(f->store, &f->boss, 0, &cursor, two, 2, err));
    STORE_OK(store_round_waits(f->store, &f->boss, 0, "replica 1 on w2", err));
    STORE_OK(store_round_latest(f->store, "r", &round, &found, err));
    assert_true(found && round.round == 0 && round.cursor.start == 20 && isnan(round.loss));
    assert_string_equal(round.waits_for, "replica 1 on w2");
    store_round_fini(&round);
    /* The round before must be committed. */
    two[0].range.start = 20;
    STORE_REFUSED(ERR_STATE, store_round_open(f->store, &f->boss, 1, &cursor, two, 1, err));
    two[0].range.count = 0;
    STORE_REFUSED(ERR_ARG, store_round_open(f->store, &f->boss, 1, &cursor, two, 1, err));
    two[0].range = (data_range_t){.start = UINT64_MAX, .count = 2};
    STORE_REFUSED(ERR_ARG, store_round_open(f->store, &f->boss, 1, &cursor, two, 1, err));
}

static void test_open_refusals(void **state)
{
    ledger_test_t *f = *state;
    data_range_t cursor = {.start = 20};
    store_lease_t overlapping[] = {{.replica = 0, .fence = 1, .range = {.start = 0, .count = 10}},
                                   {.replica = 1, .fence = 1, .range = {.start = 9, .count = 10}}};
    STORE_REFUSED(ERR_STATE, store_round_open(f->store, &f->boss, 0, &cursor, overlapping, 2, err));
    store_lease_t beyond = {.fence = 1, .range = {.start = LEDGER_EPOCH, .count = 1}};
    STORE_REFUSED(ERR_ARG, store_round_open(f->store, &f->boss, 0, &cursor, &beyond, 1, err));
    assert_int_equal(store_help_count(f->url, "SELECT count(*) FROM round"),
                     0); /* nothing remains */
    assert_int_equal(store_help_count(f->url, "SELECT count(*) FROM lease"), 0);
    STORE_OK(store_run_move(f->store, "r", "paused", NULL, NULL, err));
    STORE_REFUSED(ERR_STATE, store_round_open(f->store, &f->boss, 0, &cursor, overlapping, 1, err));
    STORE_OK(store_run_move(f->store, "r", "running", NULL, NULL, err));
    ledger_open(f, 0);
    store_commit_t commit = ledger_commit(0);
    STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
    /* Windows in the ledger are not leased again: at either end, inside, around. */
    const data_range_t taken[] = {{0, 0, 1}, {0, 9, 5}, {0, 3, 2}, {0, 0, 50}, {0, 95, 106}};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        store_lease_t again = {.fence = 1, .range = taken[i]};
        int want = i == 4 ? 0 : -1; /* epoch 0 from 95, then epoch 1: not taken */
        err_t err = {0};
        assert_int_equal(store_round_open(f->store, &f->boss, 1, &cursor, &again, 1, &err), want);
        assert_int_equal(err.code, want ? ERR_STATE : ERR_OK);
    }
}

static void test_leases(void **state)
{
    ledger_test_t *f = *state;
    ledger_open(f, 0);
    store_t *s = f->store;
    STORE_REFUSED(ERR_STATE, store_help_done(s, &f->boss, 0, 1, 10, NULL, err)); /* not issued */
    for (int i = 0; i < 2; i++)
        STORE_OK(store_lease_issue(s, &f->boss, 0, 0, 2, "w1", "cpu:x", err));
    STORE_REFUSED(ERR_STATE, store_lease_issue(s, &f->boss, 0, 0, 2, "w2", "cpu:x", err));
    STORE_REFUSED(ERR_STATE, store_lease_issue(s, &f->boss, 0, 0, 1, "w1", "cpu:x", err));
    STORE_REFUSED(ERR_STATE, store_lease_issue(s, &f->boss, 0, 7, 2, "w1", "cpu:x", err));
    STORE_OK(store_lease_issue(s, &f->boss, 0, 0, 3, "w2", "cpu:x", err)); /* w1 was lost */
    STORE_REFUSED(ERR_STATE, store_help_done(s, &f->boss, 0, 2, 10, NULL, err));
    STORE_REFUSED(ERR_STATE, store_help_done(s, &f->boss, 0, 3, 11, NULL, err)); /* too many */
    for (int i = 0; i < 2; i++) STORE_OK(store_help_done(s, &f->boss, 0, 3, 10, NULL, err));
    STORE_REFUSED(ERR_STATE, store_lease_issue(s, &f->boss, 0, 0, 4, "w3", "cpu:x", err));
    store_leases_t list;
    STORE_OK(store_lease_list(s, "r", 0, &list, err));
    assert_int_equal(list.n, 1);
    assert_int_equal(list.at[0].fence, 3);
    assert_int_equal(list.at[0].done_windows, 10);
    assert_string_equal(list.at[0].worker, "w2");
    assert_string_equal(list.at[0].state, "done");
    assert_true(list.at[0].loss == 1.5 && list.at[0].tokens == 640);
    store_leases_fini(&list);
    /* The commit must name the fence under which the lease was done. */
    store_commit_t commit = ledger_commit(0);
    STORE_REFUSED(ERR_STATE, store_round_commit(s, &f->boss, &commit, err));
    store_commit_entry_t entry = {.fence = 3, .done_windows = 10};
    commit.entries = &entry;
    STORE_OK(store_round_commit(s, &f->boss, &commit, err));
    assert_int_equal(ledger_windows(s), 10);
}

static void test_commit_repeats(void **state)
{
    ledger_test_t *f = *state;
    ledger_open(f, 0);
    store_commit_t commit = ledger_commit(0);
    for (int i = 0; i < 3; i++) STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
    assert_int_equal(ledger_windows(f->store), 10);
    store_commit_entry_t other = {.fence = 1, .done_windows = 9}, twice[] = {other, other};
    commit.entries = &other;
    STORE_REFUSED(ERR_STATE, store_round_commit(f->store, &f->boss, &commit, err));
    commit.entries = twice;
    commit.n_entry = 2;
    STORE_REFUSED(ERR_ARG, store_round_commit(f->store, &f->boss, &commit, err));
    commit = ledger_commit(1);
    STORE_REFUSED(ERR_STATE,
                  store_round_commit(f->store, &f->boss, &commit, err)); /* no such round */
    ledger_open(f, 1);
    other = (store_commit_entry_t){.replica = 5, .fence = 1, .done_windows = 10};
    commit.entries = &other;
    STORE_REFUSED(ERR_STATE,
                  store_round_commit(f->store, &f->boss, &commit, err)); /* no such lease */
    assert_int_equal(ledger_windows(f->store), 10);
    STORE_OK(store_round_validation(f->store, &f->boss, 0, 1.75, err));
    assert_int_equal(store_help_count(f->url, "SELECT count(*) FROM pcp_validation "
                                              "WHERE validation_loss = 1.75 AND round = 1"),
                     1);
}

/* A leader that lost its term cannot open, issue or commit; what it has left is the new one's. */
static void test_old_fence(void **state)
{
    ledger_test_t *f = *state;
    store_leader_t old = f->boss;
    bool won;
    ledger_open(f, 0);
    STORE_OK(store_leader_release(f->store, &old, err));
    STORE_OK(store_leader_acquire(f->store, "r", "stand-by", 60000, &won, &f->boss, err));
    assert_true(won);
    store_commit_t commit = ledger_commit(0);
    data_range_t cursor = {.start = 20};
    store_lease_t lease = {.fence = 1, .range = {.start = 10, .count = 10}};
    STORE_REFUSED(ERR_FENCE, store_round_commit(f->store, &old, &commit, err));
    STORE_REFUSED(ERR_FENCE, store_lease_issue(f->store, &old, 0, 0, 2, "w1", "cpu:x", err));
    STORE_REFUSED(ERR_FENCE, store_help_done(f->store, &old, 0, 1, 10, NULL, err));
    STORE_REFUSED(ERR_FENCE, store_round_waits(f->store, &old, 0, "", err));
    assert_int_equal(ledger_windows(f->store), 0);
    STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
    STORE_REFUSED(ERR_FENCE,
                  store_round_commit(f->store, &old, &commit, err)); /* not even a repeat */
    STORE_REFUSED(ERR_FENCE, store_round_open(f->store, &old, 1, &cursor, &lease, 1, err));
    STORE_REFUSED(ERR_FENCE, store_checkpoint_add(f->store, &old, 0, "c", "p", 1, err));
    assert_int_equal(ledger_windows(f->store), 10);
}

/* --- epochs with partial work, dropped leases, and every call made more than once --- */
typedef struct {
    uint8_t *count;      /* by epoch and window: how often it was committed */
    data_range_t cursor; /* next fresh position */
    store_lease_t leases[3];
    store_commit_entry_t entries[3];
    size_t n, n_entry;
    uint64_t draw;
} play_t;
enum { PLAY_EPOCHS = 3 };

static uint64_t draw(play_t *p, uint64_t below)
{
    return rng_bits(20, p->draw++) % below;
}

/* Leases of round r: returned ranges first, then fresh ones to the end of the last epoch. */
static void plan_leases(play_t *p, const store_ranges_t *returned)
{
    p->n = 0;
    for (size_t i = 0; i < returned->n && p->n < 2; i++) {
        data_range_t range = returned->at[i];
        if (range.count > 3) range.count = 1 + draw(p, range.count); /* part of it */
        p->leases[p->n] = (store_lease_t){.replica = (uint32_t)p->n, .fence = 1, .range = range};
        p->n++;
    }
    uint64_t left = PLAY_EPOCHS * LEDGER_EPOCH - (p->cursor.epoch * LEDGER_EPOCH + p->cursor.start);
    while (p->n < 3 && left > 0) {
        uint64_t count = 1 + draw(p, 40);
        if (count > left) count = left;
        left -= count;
        store_lease_t *l = &p->leases[p->n];
        *l = (store_lease_t){.replica = (uint32_t)p->n, .fence = 1};
        STORE_OK(data_range_take(&p->cursor, LEDGER_EPOCH, count, &l->range, err));
        p->n++;
    }
}

static void plan_entries(play_t *p)
{
    p->n_entry = 0;
    for (size_t i = 0; i < p->n; i++) {
        uint64_t count = p->leases[i].range.count;
        uint64_t done = draw(p, 3) ? count : draw(p, count + 1); /* a third is partial */
        if (draw(p, 5) == 0) continue;                           /* a fifth is dropped */
        p->entries[p->n_entry++] = (store_commit_entry_t){(uint32_t)i, 1, done, false};
        const data_range_t *r = &p->leases[i].range;
        for (uint64_t k = 0; k < done; k++) p->count[r->epoch * LEDGER_EPOCH + r->start + k]++;
    }
}

static void test_epochs(void **state)
{
    ledger_test_t *f = *state;
    uint8_t count[PLAY_EPOCHS * LEDGER_EPOCH] = {0};
    play_t p = {.count = count};
    store_ranges_t returned;
    uint64_t r = 0;
    for (;; r++) {
        STORE_OK(store_returned_list(f->store, "r", &returned, err));
        plan_leases(&p, &returned);
        store_ranges_fini(&returned);
        if (p.n == 0) break;
        for (int i = 0; i < 2; i++)
            STORE_OK(store_round_open(f->store, &f->boss, r, &p.cursor, p.leases, p.n, err));
        plan_entries(&p);
        store_commit_t commit = {
            .round = r, .entries = p.entries, .n_entry = p.n_entry, .loss = NAN};
        for (int i = 0; i < 2; i++) STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
        assert_true(r < 1000);
    }
    for (size_t i = 0; i < PLAY_EPOCHS * LEDGER_EPOCH; i++) assert_int_equal(count[i], 1);
    for (uint64_t epoch = 0; epoch < PLAY_EPOCHS; epoch++) {
        store_ledger_t ledger;
        STORE_OK(store_ledger_get(f->store, "r", epoch, &ledger, err));
        assert_true(ledger.exactly_once && ledger.committed_windows == LEDGER_EPOCH);
    }
    print_message("# %d epochs of %d windows in %d rounds, each window once\n", PLAY_EPOCHS,
                  LEDGER_EPOCH, (int)r);
}

/* The proof must notice what it claims to exclude. */
static void test_ledger_view(void **state)
{
    ledger_test_t *f = *state;
    const struct {
        const char *rows; /* first_window, n_windows */
        uint64_t committed, doubled, missing;
        bool once;
    } cases[] = {
        {"(0, 60), (60, 40)", 100, 0, 0, true},
        {"(0, 100)", 100, 0, 0, true},
        {"(0, 60), (50, 50)", 110, 10, 0, false}, /* overlap */
        {"(0, 60), (61, 39)", 99, 0, 1, false},   /* hole */
        {"(1, 99)", 99, 0, 1, false},             /* hole at the beginning */
        {"(0, 99)", 99, 0, 0, false},             /* not finished */
        {"(0, 50), (40, 49)", 99, 10, 0, false},
        {"(0, 90), (10, 5), (15, 5)", 100, 10, 0,
         false},                                  /* inside another; the count alone agrees */
        {"(0, 100), (100, 1)", 101, 0, 0, false}, /* beyond the epoch */
    };
    ledger_open(f, 0);
    store_help_script(f->url, "DELETE FROM lease; UPDATE round SET cursor_window = 100");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = mem_printf(
            "DELETE FROM ledger; INSERT INTO ledger (run_id, epoch, round, replica, "
            "fence, worker_id, first_window, n_windows) SELECT 'r', 0, 0, 0, 1, 'w', "
            "v.column1, v.column2 FROM (VALUES %s) AS v",
            cases[i].rows);
        store_help_script(f->url, text);
        free(text);
        store_ledger_t got;
        STORE_OK(store_ledger_get(f->store, "r", 0, &got, err));
        assert_int_equal(got.committed_windows, cases[i].committed);
        assert_int_equal(got.doubled_windows, cases[i].doubled);
        assert_int_equal(got.missing_windows, cases[i].missing);
        assert_int_equal(got.exactly_once, cases[i].once);
    }
}

static void test_rejections(void **state)
{
    ledger_test_t *f = *state;
    store_rejection_t r = {.round = 3,
                           .replica = 1,
                           .fence = 2,
                           .worker = "w1",
                           .reason = "outlier",
                           .detail = "norm 1e9"};
    uint64_t n;
    for (int i = 0; i < 2; i++) STORE_OK(store_rejection_add(f->store, "r", &r, err));
    r.reason = "shape";
    STORE_OK(store_rejection_add(f->store, "r", &r, err));
    STORE_OK(store_rejection_count(f->store, "r", &n, err));
    assert_int_equal(n, 2);
    STORE_REFUSED(ERR_STATE, store_rejection_add(f->store, "no such run", &r, err));
}

/* Dashboards: every view can be read, and tells what was written. */
static void test_views(void **state)
{
    ledger_test_t *f = *state;
    ledger_open(f, 0);
    store_commit_t commit = ledger_commit(0);
    STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
    const struct {
        const char *query;
        int64_t value;
    } rows[] = {
        {"SELECT count(*) FROM pcp_runs WHERE run = 'r' AND rounds = 1 AND tokens = 640 AND "
         "leader = 'boss' AND state = 'running'",
         1},
        {"SELECT count(*) FROM pcp_loss WHERE loss = 2.5 AND round = 1 AND committed_at IS NOT "
         "NULL",
         1},
        {"SELECT count(*) FROM pcp_runs WHERE loss = 2.5 AND checkpoint IS NULL AND started_at IS "
         "NOT NULL AND finished_at IS NULL",
         1},
        {"SELECT count(*) FROM pcp_validation", 0},
        {"SELECT compute_ms FROM pcp_round_time", 5},
        {"SELECT count(*) FROM pcp_round_time WHERE other_ms >= 0 AND round = 1 AND committed_at "
         ">= "
         "opened_at",
         1},
        {"SELECT count(*) FROM pcp_round_time WHERE transfer_ms IS NULL", 1},
        {"SELECT tokens FROM pcp_speed", 640},
        {"SELECT received_bytes FROM pcp_wire", 0},
        {"SELECT count(*) FROM pcp_workers", 0},
        {"SELECT done_windows FROM pcp_leases WHERE state = 'committed'", 10},
        {"SELECT committed_windows FROM pcp_ledger", 10},
        {"SELECT count(*) FROM pcp_checkpoints", 0},
        {"SELECT count(*) FROM pcp_rejections", 0},
        {"SELECT count(*) FROM pcp_events", 0},
        {"SELECT count(*) FROM pcp_samples", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (store_help_count(f->url, rows[i].query) != rows[i].value)
            fail_msg("%s: not %d", rows[i].query, (int)rows[i].value);
}

/* In the middle of an epoch: what is committed, leased and returned is all there is up to the
 * cursor. */
static void test_unfinished_epoch(void **state)
{
    ledger_test_t *f = *state;
    store_ledger_t got;
    ledger_open(f, 0);
    store_commit_entry_t most = {.replica = 0, .fence = 1, .done_windows = 7};
    store_commit_t commit = ledger_commit(0);
    commit.entries = &most;
    STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
    const char *proof = "SELECT exactly_once * 1000 + complete * 100 + skipped_windows FROM "
                        "pcp_ledger WHERE epoch = 0";
    assert_int_equal(store_help_count(f->url, proof), 1000); /* three are returned */
    ledger_open(f, 1);
    assert_int_equal(store_help_count(f->url, proof), 1000); /* ten are leased */
    STORE_OK(store_ledger_get(f->store, "r", 0, &got, err));
    assert_true(got.exactly_once && !got.complete);
    store_help_script(f->url, "DELETE FROM returned");
    assert_int_equal(store_help_count(f->url, proof), 3); /* lost */
    store_help_script(f->url, "INSERT INTO returned VALUES ('r', 0, 7, 3, 0), ('r', 0, 0, 1, 0)");
    assert_int_equal(store_help_count(f->url, proof), -1); /* the first one will be trained twice */
    /* A lease over the end of the epoch, the cursor in the next. */
    store_help_script(f->url,
                      "DELETE FROM returned; DELETE FROM ledger; UPDATE lease SET "
                      "first_window = 95; UPDATE round SET cursor_epoch = 1, "
                      "cursor_window = 5; INSERT INTO ledger VALUES ('r', 0, 0, 95, 0, 0, 1, "
                      "'w', ''); DELETE FROM lease WHERE round = 0");
    assert_int_equal(store_help_count(f->url, proof), 1000);
    store_help_script(f->url, "INSERT INTO ledger VALUES ('r', 1, 0, 1, 0, 0, 1, 'w', '')");
    proof = "SELECT exactly_once * 1000 + skipped_windows FROM pcp_ledger WHERE epoch = 1";
    assert_int_equal(store_help_count(f->url, proof), -1); /* leased, and committed */
    store_help_script(f->url, "UPDATE lease SET n_windows = 5; UPDATE round SET cursor_window = 1");
    assert_int_equal(store_help_count(f->url, proof), 1000);
}

/* What the ledger says of itself is what its rows say, whatever comes in which order; a row is never changed. */
static void test_ledger_sums(void **state)
{
    static const struct {
        const char *sql;
        int64_t windows, doubled, missing;
    } steps[] = {
        {"INSERT INTO ledger VALUES ('r', 0, 20, 10, 0, 0, 1, 'w', ''), ('r', 0, 0, 10, 0, 0, 1, "
         "'w', '')",
         20, 0, 10},
        {"INSERT INTO ledger VALUES ('r', 0, 10, 10, 0, 0, 1, 'w', '')", 30, 0, 0},
        {"DELETE FROM ledger WHERE first_window > 0", 10, 0, 0},
        {"INSERT INTO ledger VALUES ('r', 0, 12, 3, 0, 0, 1, 'w', '')", 13, 0, 2},
        {"INSERT INTO ledger VALUES ('r', 0, 8, 6, 0, 0, 1, 'w', '')", 19, 4, 0}, /* over both */
        {"INSERT INTO ledger VALUES ('r', 0, 2, 3, 0, 0, 1, 'w', '')", 22, 7, 0}, /* within one */
        {"DELETE FROM ledger WHERE first_window IN (2, 8)", 13, 0, 2},
        {"DELETE FROM ledger", 0, 0, 0},
        {"INSERT INTO ledger VALUES ('r', 0, 3, 3, 0, 0, 1, 'w', ''), ('r', 0, 0, 9, 0, 0, 1, 'w', "
         "'')",
         12, 3, 0},
    };
    ledger_test_t *f = *state;
    ledger_open(f, 0);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        store_ledger_t got;
        store_help_script(f->url, steps[i].sql);
        STORE_OK(store_ledger_get(f->store, "r", 0, &got, err));
        assert_int_equal(got.committed_windows, steps[i].windows);
        assert_int_equal(got.doubled_windows, steps[i].doubled);
        assert_int_equal(got.missing_windows, steps[i].missing);
        if (got.doubled_windows) assert_false(got.exactly_once);
    }
    assert_true(store_help_refused(f->url, "UPDATE ledger SET n_windows = 1"));
}

/* A step back that one leader begins and the next one begins again is known until it is over. */
static void begin_again(ledger_test_t *f, const store_rewind_t *to)
{
    store_resume_t known = {0};
    store_rewinding_t back = {.from = 4, .to = 1, .checkpoint = "c/1", .reason = "a state is lost"};
    STORE_OK(store_rewind_begin(f->store, &f->boss, &back, err));
    back = (store_rewinding_t){.from = 1, .to = 2, .checkpoint = "c/2", .reason = "again"};
    STORE_OK(store_rewind_begin(f->store, &f->boss, &back, err)); /* by the next leader */
    STORE_OK(store_resume(f->store, &f->boss, &known, err));
    assert_string_equal(known.rewind, "a state is lost");
    assert_int_equal(known.rewind_from, 4);
    assert_int_equal(known.good.n, 2);
    store_resume_fini(&known);
    STORE_OK(store_run_rewind(f->store, &f->boss, to, err));
    STORE_OK(store_resume(f->store, &f->boss, &known, err));
    assert_null(known.rewind); /* it is over */
    store_resume_fini(&known);
    STORE_OK(store_run_init(f->store, &f->boss, "aa", err));
    STORE_OK(store_run_init(f->store, &f->boss, "aa", err));
    STORE_REFUSED(ERR_STATE, store_run_init(f->store, &f->boss, "bb", err));
}

/* Back to the checkpoint behind round 1, in the store that saw five rounds and in one that saw
 * none. */
static void test_rewind(void **state)
{
    ledger_test_t *f = *state;
    store_checkpoints_t checkpoints;
    for (uint64_t r = 0; r < 5; r++) {
        ledger_open(f, r);
        store_commit_t commit = ledger_commit(r);
        STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
        STORE_OK(store_checkpoint_add(f->store, &f->boss, r, r < 2 ? "old" : "new", "p", 1, err));
    }
    store_rewind_t to = {.round = 2, .tokens = 1280, .cursor = {.start = 20}};
    for (int repeat = 0; repeat < 2; repeat++) {
        STORE_OK(store_run_rewind(f->store, &f->boss, &to, err));
        assert_int_equal(ledger_windows(f->store), 20);
    }
    begin_again(f, &to);
    STORE_OK(store_checkpoint_list(f->store, "r", NULL, 9, &checkpoints, err));
    assert_int_equal(checkpoints.n, 2);
    store_checkpoints_fini(&checkpoints);
    ledger_open(f, 2);
    STORE_OK(store_run_rewind(f->store, &f->boss, &to, err)); /* an open round, too */
    ledger_open(f, 2);
    store_commit_t commit = ledger_commit(2);
    STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
    assert_int_equal(ledger_windows(f->store), 30);

    /* Behind round 12 of an epoch and a bit, of which [90, 103) and [110, 115) came back. */
    data_range_t returned[] = {{0, 90, 13}, {1, 10, 5}};
    store_rewind_t far = {
        .round = 13, .tokens = 7, .cursor = {1, 30, 0}, .returned = returned, .n_returned = 2};
    STORE_OK(store_run_rewind(f->store, &f->boss, &far, err));
    assert_int_equal(ledger_windows(f->store), 90);
    store_ledger_t second;
    STORE_OK(store_ledger_get(f->store, "r", 1, &second, err));
    assert_int_equal(second.committed_windows, 30 - 3 - 5);
    store_ranges_t ranges;
    STORE_OK(store_returned_list(f->store, "r", &ranges, err));
    assert_int_equal(ranges.n, 3); /* cut at the end of the epoch */
    store_ranges_fini(&ranges);
    data_range_t cursor = {1, 40, 0};
    store_lease_t lease = {.fence = 1, .range = {1, 30, 10}};
    STORE_OK(store_round_open(f->store, &f->boss, 13, &cursor, &lease, 1, err));
    to.round = 0;
    to.cursor.start = 0;
    STORE_OK(store_run_rewind(f->store, &f->boss, &to, err));
    assert_int_equal(ledger_windows(f->store), 0);
}

/* Decided once; a step back forgets the rounds, not what was decided about them. */
static void test_replicas(void **state)
{
    ledger_test_t *f = *state;
    store_replicas_t two = {.round = 0, .n = 2}, four = {.round = 3, .n = 4}, none = {.round = 5};
    store_resume_t known = {0};
    for (int repeat = 0; repeat < 2; repeat++)
        STORE_OK(store_replicas_set(f->store, &f->boss, &two, "2 workers are there", err));
    STORE_OK(store_replicas_set(f->store, &f->boss, &four, "4 workers are there", err));
    STORE_REFUSED(ERR_ARG, store_replicas_set(f->store, &f->boss, &none, "none", err));
    four.n = 3;
    STORE_REFUSED(ERR_STATE, store_replicas_set(f->store, &f->boss, &four, "", err));
    store_leader_t old = f->boss;
    old.fence--;
    STORE_REFUSED(ERR_FENCE, store_replicas_set(f->store, &old, &two, "", err));
    for (uint64_t r = 0; r < 6; r++) {
        ledger_open(f, r);
        store_commit_t commit = ledger_commit(r);
        if (r < 5) STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
    }
    STORE_OK(store_resume(f->store, &f->boss, &known, err));
    assert_int_equal(known.sized, 6); /* round 5 is open */
    store_resume_fini(&known);
    store_rewinding_t back = {.from = 5, .to = 0, .checkpoint = "", .reason = "a state is lost"};
    store_rewind_t to = {.round = 0};
    STORE_OK(store_rewind_begin(f->store, &f->boss, &back, err));
    STORE_OK(store_run_rewind(f->store, &f->boss, &to, err));
    STORE_OK(store_resume(f->store, &f->boss, &known, err));
    assert_false(known.has_round);
    assert_int_equal(known.sized, 6);
    assert_int_equal(known.n_size, 2);
    assert_true(known.sizes[0].round == 0 && known.sizes[0].n == 2);
    assert_true(known.sizes[1].round == 3 && known.sizes[1].n == 4);
    store_resume_fini(&known);
    assert_int_equal(store_help_count(f->url, "SELECT sum(replicas) FROM pcp_replicas"), 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ledger_set_up, ledger_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_open),        TEST(test_open_refusals),
        TEST(test_leases),      TEST(test_commit_repeats),
        TEST(test_old_fence),   TEST(test_epochs),
        TEST(test_ledger_view), TEST(test_rejections),
        TEST(test_views),       TEST(test_unfinished_epoch),
        TEST(test_ledger_sums), TEST(test_rewind),
        TEST(test_replicas),
    };
    return cmocka_run_group_tests_name("store, rounds", tests, NULL, NULL);
}
