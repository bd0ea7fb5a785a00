/* The store but for rounds and schemas: runs, leadership, members, artifacts, checkpoints,
 * telemetry. tests/cluster/store.sh runs it on PostgreSQL too. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/sql.h"
#include "store_help.h"

typedef struct {
    const char *url;
    pthread_barrier_t *together;
    err_t err;
    int n_created;
} submitter_t;

enum { SUBMISSIONS = 40 };

static void *submit(void *user)
{
    submitter_t *self = user;
    store_t *s = store_open(self->url, NULL, &self->err);
    for (int i = 0; i < SUBMISSIONS; i++) {
        char name[16], id[STORE_ID];
        bool created = false;
        snprintf(name, sizeof name, "r%d", i);
        store_run_spec_t spec = {.id = name, .config = "{}"};
        pthread_barrier_wait(self->together);
        if (s) store_run_submit(s, &spec, id, &created, &self->err);
        self->n_created += created;
    }
    store_destroy(&s);
    return NULL;
}

/* A leader and its stand-by begin a run at once: one of them does, for the other it is there. */
static void test_submit_at_once(void **state)
{
    enum { N = 4 };
    submitter_t submitters[N] = {0};
    pthread_t threads[N];
    pthread_barrier_t together;
    int n_created = 0;
    assert_int_equal(pthread_barrier_init(&together, NULL, N), 0);
    for (int i = 0; i < N; i++) {
        submitters[i].together = &together;
        submitters[i].url = ((store_test_t *)*state)->url;
        assert_int_equal(pthread_create(&threads[i], NULL, submit, &submitters[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        assert_string_equal(submitters[i].err.text, "");
        n_created += submitters[i].n_created;
    }
    pthread_barrier_destroy(&together);
    assert_int_equal(n_created, SUBMISSIONS);
}

static void test_submit(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    /* Text that would matter in a statement made of pasted values. */
    const char *config = "{\"a\": \"'); DROP TABLE run; -- \\\\ $1 \\u00e9 \xc3\xa9\"}";
    store_run_spec_t spec = {.id = "one", .key = "k1", .config = config, .n_rounds = 7};
    char id[STORE_ID] = "";
    bool created = false;
    STORE_OK(store_run_submit(s, &spec, id, &created, err));
    assert_true(created);
    assert_string_equal(id, "one");
    spec.id = "two"; /* the same key: the same run */
    STORE_OK(store_run_submit(s, &spec, id, &created, err));
    assert_false(created);
    assert_string_equal(id, "one");
    spec.config = "{}";
    STORE_REFUSED(ERR_STATE, store_run_submit(s, &spec, id, &created, err));
    spec = (store_run_spec_t){.id = "one", .key = "k2", .config = "{}"}; /* id taken */
    STORE_REFUSED(ERR_STATE, store_run_submit(s, &spec, id, &created, err));

    store_run_t run;
    STORE_OK(store_run_get(s, "one", &run, err));
    assert_string_equal(run.config, config);
    assert_string_equal(run.state, "pending");
    assert_int_equal(run.n_rounds, 7);
    assert_int_equal(run.n_windows, 0);
    assert_int_equal(run.started_ms, -1);
    assert_true(llabs(run.created_ms - clock_wall_ms()) < 60000);
    store_run_fini(&run);
    STORE_REFUSED(ERR_STATE, store_run_get(s, "none", &run, err));

    store_runs_t runs;
    STORE_OK(store_run_list(s, "pending", 10, &runs, err));
    assert_int_equal(runs.n, 1);
    store_runs_fini(&runs);
    STORE_OK(store_run_list(s, NULL, SIZE_MAX, &runs, err));
    assert_int_equal(runs.n, 1);
    store_runs_fini(&runs);
    STORE_OK(store_run_list(s, "running", 10, &runs, err));
    assert_int_equal(runs.n, 0);
    store_runs_fini(&runs);
    STORE_REFUSED(ERR_ARG, store_run_list(s, "walking", 10, &runs, err));
}

/* More rounds, and nothing else: one that is done can go on. */
static void test_lengthen(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    static const struct {
        const char *config;
        uint64_t rounds;
        bool taken;
    } rows[] = {
        {"{\"lr\": 1, \"rounds\": 6}", 6, false},
        {"{\"lr\": 2, \"rounds\": 8}", 8, false},
        {"{\"rounds\": 9}", 9, false},
        {"{\"lr\": 1, \"rounds\": 12}", 12, true},
        {"{\"lr\": 1, \"rounds\": 12}", 12, false},
        {"no JSON", 13, false},
    };
    char id[STORE_ID];
    store_run_spec_t spec = {.id = "r", .config = "{\"lr\": 1, \"rounds\": 7}", .n_rounds = 7};
    STORE_OK(store_run_lengthen(s, &spec, err)); /* none is there */
    STORE_OK(store_run_submit(s, &spec, id, NULL, err));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool won;
        store_run_t run;
        store_leader_t boss;
        STORE_OK(store_leader_acquire(s, "r", "boss", 60000, &won, &boss, err));
        STORE_OK(store_run_get(s, "r", &run, err));
        if (strcmp(run.state, "done") != 0) {
            STORE_OK(store_run_move(s, "r", "running", NULL, &boss, err));
            STORE_OK(store_run_move(s, "r", "done", NULL, &boss, err));
        }
        store_run_fini(&run);
        spec.config = rows[i].config;
        spec.n_rounds = rows[i].rounds;
        STORE_OK(store_run_lengthen(s, &spec, err));
        STORE_OK(store_run_get(s, "r", &run, err));
        assert_string_equal(run.state, rows[i].taken ? "paused" : "done");
        assert_int_equal(run.n_rounds, i < 3 ? 7 : 12);
        assert_true((run.finished_ms < 0) == rows[i].taken);
        store_run_fini(&run);
        if (rows[i].taken) STORE_OK(store_run_submit(s, &spec, id, NULL, err));
        if (i < 3) STORE_REFUSED(ERR_STATE, store_run_submit(s, &spec, id, NULL, err));
    }
}

static void test_bad_values(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    char id[STORE_ID], long_id[STORE_ID + 8];
    memset(long_id, 'x', sizeof long_id - 1);
    long_id[sizeof long_id - 1] = '\0';
    const char *bad[] = {"", "a\nb", long_id};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        store_run_spec_t spec = {.id = bad[i], .key = "k", .config = "{}"};
        STORE_REFUSED(ERR_ARG, store_run_submit(s, &spec, id, NULL, err));
    }
    /* Bytes that are no UTF-8: PostgreSQL refuses them, SQLite takes them. */
    store_run_spec_t spec = {.id = "\xff", .config = "{}"};
    err_t err = {0};
    int rc = store_run_submit(s, &spec, id, NULL, &err);
    assert_true(store_help_postgres() ? rc == -1 && err.code == ERR_ARG : rc == 0);
}

static const char *const states[] = {"pending", "running", "paused", "done", "failed", "cancelled"};
enum { N_STATES = 6 };
/* By the header: row from, column to. The diagonal is the repeat. */
static const char allowed[N_STATES][N_STATES + 1] = {"111011", "011111", "011011",
                                                     "000100", "010011", "000001"};
/* Moves that lead there from pending. */
static const int path[N_STATES][3] = {{-1}, {1, -1}, {1, 2, -1}, {1, 3, -1}, {4, -1}, {5, -1}};

static void test_transitions(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    for (int from = 0; from < N_STATES; from++)
        for (int to = 0; to < N_STATES; to++) {
            char name[32], id[STORE_ID];
            snprintf(name, sizeof name, "r%d%d", from, to);
            store_run_spec_t spec = {.id = name, .config = "{}"};
            STORE_OK(store_run_submit(s, &spec, id, NULL, err));
            for (int i = 0; path[from][i] >= 0; i++)
                STORE_OK(store_run_move(s, name, states[path[from][i]], "why", NULL, err));
            if (allowed[from][to] == '1')
                STORE_OK(store_run_move(s, name, states[to], NULL, NULL, err));
            else
                STORE_REFUSED(ERR_STATE, store_run_move(s, name, states[to], NULL, NULL, err));
            store_run_t run;
            STORE_OK(store_run_get(s, name, &run, err));
            assert_string_equal(run.state, states[allowed[from][to] == '1' ? to : from]);
            store_run_fini(&run);
        }
    STORE_REFUSED(ERR_STATE, store_run_move(s, "none", "running", NULL, NULL, err));
    STORE_REFUSED(ERR_ARG, store_run_move(s, "r00", "asleep", NULL, NULL, err));
}

static void test_leadership(void **state)
{
    store_test_t *f = *state;
    store_run_spec_t spec = {.id = "r", .config = "{}"};
    store_leader_t a, b;
    char id[STORE_ID];
    bool won;
    STORE_REFUSED(ERR_STATE, store_leader_acquire(f->store, "r", "a", 1000, &won, &a, err));
    STORE_OK(store_run_submit(f->store, &spec, id, NULL, err));
    STORE_OK(store_leader_acquire(f->store, "r", "a", 60000, &won, &a, err));
    assert_true(won && a.fence == 1);
    STORE_OK(store_leader_acquire(f->store, "r", "b", 60000, &won, &b, err));
    assert_false(won);
    assert_string_equal(b.holder, "a");
    STORE_OK(store_leader_renew(f->store, &a, 60000, err));
    STORE_OK(store_run_move(f->store, "r", "running", NULL, &a, err));
    STORE_OK(store_leader_release(f->store, &a, err));
    STORE_OK(store_leader_acquire(f->store, "r", "b", 60000, &won, &b, err));
    assert_true(won && b.fence == 2);
    /* a is out: whatever it writes is refused, and its release does not touch b's term. */
    STORE_REFUSED(ERR_FENCE, store_leader_renew(f->store, &a, 60000, err));
    STORE_REFUSED(ERR_FENCE, store_run_move(f->store, "r", "done", NULL, &a, err));
    STORE_REFUSED(ERR_FENCE, store_run_data(f->store, &a, 10, err));
    STORE_OK(store_leader_release(f->store, &a, err));
    STORE_OK(store_leader_renew(f->store, &b, 60000, err));
    /* Another process that calls itself as the leader does takes nothing from it; once the term is
     * over, it is a new one. */
    STORE_OK(store_leader_acquire(f->store, "r", "b", 60000, &won, &a, err));
    assert_false(won);
    assert_string_equal(a.holder, "b");
    STORE_OK(store_leader_renew(f->store, &b, 1, err));
    for (won = false; !won; usleep(1000))
        STORE_OK(store_leader_acquire(f->store, "r", "b", 60000, &won, &a, err));
    assert_int_equal(a.fence, 3);
    STORE_REFUSED(ERR_FENCE, store_leader_renew(f->store, &b, 60000, err));
    STORE_REFUSED(ERR_ARG, store_leader_acquire(f->store, "r", "b", 0, &won, &a, err));
}

static void test_term_ends(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    store_run_spec_t spec = {.id = "r", .config = "{}"};
    store_leader_t a, b;
    char id[STORE_ID];
    bool won;
    STORE_OK(store_run_submit(s, &spec, id, NULL, err));
    int64_t begin = clock_mono_ms();
    STORE_OK(store_leader_acquire(s, "r", "a", 300, &won, &a, err));
    for (won = false; !won && clock_mono_ms() - begin < 20000; usleep(5000))
        STORE_OK(store_leader_acquire(s, "r", "b", 60000, &won, &b, err));
    int64_t took = clock_mono_ms() - begin;
    assert_true(won && b.fence == 2);
    assert_true(took >= 299); /* never before the term's end */
    STORE_REFUSED(ERR_FENCE, store_leader_renew(s, &a, 300, err));
}

/* The database's clock was put back by an hour: a term from before is over when nobody renews it for one of the successor's,
 * and not while its leader lives. */
static void test_clock_put_back(void **state)
{
    store_test_t *f = *state;
    store_t *s = f->store;
    store_run_spec_t spec = {.id = "r", .config = "{}"};
    store_leader_t a, b;
    char id[STORE_ID];
    bool won;
    STORE_OK(store_run_submit(s, &spec, id, NULL, err));
    STORE_OK(store_leader_acquire(s, "r", "a", 60000, &won, &a, err));
    STORE_OK(store_front_acquire(s, "a", 60000, &won, &a, err));
    static const char future[] =
        "UPDATE leadership SET expires_ms = expires_ms + 3600000, guarded_ms = guarded_ms + "
        "3600000;"
        "UPDATE cluster SET expires_ms = expires_ms + 3600000, guarded_ms = guarded_ms + 3600000";
    store_help_script(f->url, future);
    int64_t begin = clock_mono_ms();
    for (won = false; !won && clock_mono_ms() - begin < 20000; usleep(5000))
        STORE_OK(store_leader_acquire(s, "r", "b", 300, &won, &b, err));
    assert_true(won && b.fence == 2);
    assert_true(clock_mono_ms() - begin >= 300);
    for (won = false; !won && clock_mono_ms() - begin < 20000; usleep(5000))
        STORE_OK(store_front_acquire(s, "b", 300, &won, &a, err));
    assert_true(won && a.fence == 2);

    store_help_script(f->url, future);
    store_t *other = store_help_open(f->url, false);
    for (begin = clock_mono_ms(); clock_mono_ms() - begin < 700; usleep(100000)) {
        STORE_OK(store_leader_acquire(other, "r", "c", 300, &won, &a, err));
        assert_false(won);
        STORE_OK(store_leader_renew(s, &b, 60000, err));
    }
    store_destroy(&other);
}

enum { N_RIVALS = 6 };
typedef struct {
    const char *url;
    char name[32];
    bool won;
    int64_t fence;
    err_t err;
} rival_t;

static void *compete(void *user)
{
    rival_t *r = user;
    store_leader_t leader;
    store_t *store = store_open(r->url, NULL, &r->err);
    if (store && store_leader_acquire(store, "r", r->name, 60000, &r->won, &leader, &r->err) == 0)
        r->fence = leader.fence;
    store_destroy(&store);
    return NULL;
}

static void test_rivals(void **state)
{
    store_test_t *f = *state;
    store_run_spec_t spec = {.id = "r", .config = "{}"};
    char id[STORE_ID];
    STORE_OK(store_run_submit(f->store, &spec, id, NULL, err));
    for (int round = 1; round <= 5; round++) {
        rival_t rivals[N_RIVALS] = {0};
        pthread_t threads[N_RIVALS];
        int n_won = 0, winner = 0;
        for (int i = 0; i < N_RIVALS; i++) {
            rivals[i].url = f->url;
            snprintf(rivals[i].name, sizeof rivals[i].name, "%d/%d", round, i);
            assert_int_equal(pthread_create(&threads[i], NULL, compete, &rivals[i]), 0);
        }
        for (int i = 0; i < N_RIVALS; i++) {
            pthread_join(threads[i], NULL);
            assert_string_equal(rivals[i].err.text, "");
            assert_int_equal(rivals[i].fence, round); /* losers see the winner's */
            if (rivals[i].won) winner = i;
            n_won += rivals[i].won;
        }
        assert_int_equal(n_won, 1);
        store_leader_t leader = {.run = "r", .fence = round};
        snprintf(leader.holder, sizeof leader.holder, "%s", rivals[winner].name);
        STORE_OK(store_leader_release(f->store, &leader, err));
    }
}

/* Rows of workers that the condition holds for. */
static int64_t workers(const store_test_t *f, const char *condition)
{
    char query[512];
    snprintf(query, sizeof query, "SELECT count(*) FROM worker WHERE %s", condition);
    return store_help_count(f->url, query);
}

static void test_workers(void **state)
{
    store_test_t *f = *state;
    store_t *s = f->store;
    store_leader_t boss = store_help_run(s, 100), other = boss;
    store_worker_t w = {.id = "w1",
                        .kind = "worker",
                        .state = "busy",
                        .run = "r",
                        .host = "h",
                        .device = "cpu",
                        .target = "cpu:avx2",
                        .supervisor = "s1",
                        .reason = "lease 3",
                        .capabilities = "{\"cores\":2}"};
    STORE_OK(store_worker_join(s, &w, err));
    assert_int_equal(workers(f, "id = 'w1' AND kind = 'worker' AND state = 'busy' AND run_id = 'r' "
                                "AND reason = 'lease 3' AND capabilities = '{\"cores\":2}' "
                                "AND n_starts = 1"),
                     1);
    /* It comes again, on another device: one row, two starts. */
    snprintf(w.device, sizeof w.device, "cuda:0");
    snprintf(w.state, sizeof w.state, "joining");
    STORE_OK(store_worker_join(s, &w, err));
    assert_int_equal(workers(f, "1 = 1"), 1);
    assert_int_equal(workers(f, "device = 'cuda:0' AND state = 'joining' AND n_starts = 2"), 1);
    assert_int_equal(workers(f, "kind = 'compiler'"), 0);
    /* It leaves; that is said again, and of one that nobody knows. */
    for (int i = 0; i < 2; i++) STORE_OK(store_worker_leave(s, &boss, "w1", "gone", "BYE", err));
    STORE_OK(store_worker_leave(s, &boss, "w2", "gone", "BYE", err));
    assert_int_equal(workers(f, "state = 'gone' AND run_id IS NULL AND reason = 'BYE'"), 1);
    STORE_REFUSED(ERR_ARG, store_worker_leave(s, &boss, "w1", "bored", "", err));
    other.fence--;
    STORE_REFUSED(ERR_FENCE, store_worker_leave(s, &other, "w1", "lost", "", err));
    snprintf(w.state, sizeof w.state, "bored");
    STORE_REFUSED(ERR_ARG, store_worker_join(s, &w, err));
}

static void test_checkpoints(void **state)
{
    store_t *s = ((store_test_t *)*state)->store;
    store_leader_t boss = store_help_run(s, 100);
    for (uint64_t r = 0; r < 3; r++) {
        data_range_t cursor = {.start = 10 * (r + 1)};
        store_lease_t lease = {.fence = 1, .range = {.start = 10 * r, .count = 10}};
        store_commit_entry_t entry = {.fence = 1, .done_windows = 10};
        store_commit_t commit = {.round = r, .entries = &entry, .n_entry = 1};
        char hash[16];
        snprintf(hash, sizeof hash, "c%d", (int)r);
        STORE_OK(store_round_open(s, &boss, r, &cursor, &lease, 1, err));
        STORE_REFUSED(ERR_STATE,
                      store_checkpoint_add(s, &boss, r, hash, "p", 1, err)); /* too early */
        STORE_OK(store_round_commit(s, &boss, &commit, err));
        for (int i = 0; i < 2; i++) STORE_OK(store_checkpoint_add(s, &boss, r, hash, "p", 1, err));
    }
    STORE_OK(store_checkpoint_mark(s, "r", "c2", "bad", "torn", err));
    STORE_REFUSED(ERR_STATE, store_checkpoint_mark(s, "r", "c9", "bad", "torn", err));
    store_checkpoints_t list;
    STORE_OK(store_checkpoint_list(s, "r", NULL, 10, &list, err));
    assert_int_equal(list.n, 3);
    assert_string_equal(list.at[0].hash, "c2");
    assert_string_equal(list.at[0].reason, "torn");
    store_checkpoints_fini(&list);
    STORE_OK(store_checkpoint_list(s, "r", "good", 1, &list, err)); /* what a resume takes */
    assert_int_equal(list.n, 1);
    assert_string_equal(list.at[0].hash, "c1");
    store_checkpoints_fini(&list);
}

enum { N_EVENT = 70, N_SAMPLE = 101 };

static void test_telemetry(void **state)
{
    store_test_t *f = *state;
    store_event_t events[N_EVENT];
    store_sample_t samples[N_SAMPLE];
    uint64_t n_event, n_sample;
    for (int i = 0; i < N_EVENT; i++)
        events[i] = (store_event_t){.time_ms = i,
                                    .level = "info",
                                    .service = "worker",
                                    .member = "w1",
                                    .name = "step",
                                    .run = i % 2 ? "r" : NULL,
                                    .round = i % 3 - 1};
    for (int i = 0; i < N_SAMPLE; i++)
        samples[i] = (store_sample_t){.time_ms = i,
                                      .name = "loss",
                                      .member = "w1",
                                      .run = "r",
                                      .round = 1,
                                      .value = i ? 1.0 / i : NAN};
    for (int64_t batch = 1; batch <= 2; batch++)
        for (int repeat = 0; repeat < 3; repeat++) /* written once however often it is sent */
            STORE_OK(store_telemetry_write(f->store, "w1/7", batch, events, N_EVENT, samples,
                                           N_SAMPLE, err));
    STORE_OK(store_telemetry_count(f->store, NULL, &n_event, &n_sample, err));
    assert_int_equal(n_event, 2 * N_EVENT);
    assert_int_equal(n_sample, 2 * N_SAMPLE);
    STORE_OK(store_telemetry_count(f->store, "r", &n_event, &n_sample, err));
    assert_int_equal(n_event, N_EVENT);
    /* A batch with one bad row is not written at all, nor counted as written. */
    events[N_EVENT - 1].level = "shout";
    STORE_REFUSED(ERR_STATE, store_telemetry_write(f->store, "w1/7", 3, events, N_EVENT, samples,
                                                   N_SAMPLE, err));
    events[N_EVENT - 1].level = "warn";
    STORE_OK(store_telemetry_write(f->store, "w1/7", 3, events, N_EVENT, samples, N_SAMPLE, err));
    STORE_OK(store_telemetry_count(f->store, NULL, &n_event, &n_sample, err));
    assert_int_equal(n_event, 3 * N_EVENT);
    assert_int_equal(
        store_help_count(f->url, "SELECT count(*) FROM pcp_samples WHERE value IS NULL"), 3);
    bool done = false;
    STORE_OK(store_telemetry_prune(f->store, 50, &done, err));
    assert_true(done);
    STORE_OK(store_telemetry_count(f->store, NULL, &n_event, &n_sample, err));
    assert_int_equal(n_event, 3 * (N_EVENT - 50));
    assert_int_equal(n_sample, 3 * (N_SAMPLE - 50));
}

/* Years of samples go in slices, the oldest first: one statement would take longer than it may. */
static void test_prune_slices(void **state)
{
    enum { N = 25000, NEW = 100 };
    store_test_t *f = *state;
    sql_limits_t limits = {.connect_ms = 2000, .statement_ms = 30000};
    sql_t *db = sql_open(f->url, &limits, NULL);
    if (SQL_RUN(db, NULL, NULL,
                "INSERT INTO sample (time_ms, name, member, run_id) "
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) "
                "SELECT i, 'loss', 'w1', 'r' FROM n",
                sql_int(N)) != N)
        fail();
    sql_destroy(&db);
    uint64_t n_event, left = N;
    int slices = 0;
    for (bool done = false; !done; slices++) {
        uint64_t before = left;
        STORE_OK(store_telemetry_prune(f->store, N - NEW + 1, &done, err));
        STORE_OK(store_telemetry_count(f->store, NULL, &n_event, &left, err));
        assert_in_range(before - left, 1, N / 2);
    }
    assert_int_equal(left, NEW);
    assert_in_range(slices, 2, N);
    assert_int_equal(store_help_count(f->url, "SELECT count(*) FROM sample WHERE time_ms <= 24900"),
                     0);
}

/* A writer that holds its transaction makes others wait, then say so; and then it works again. */
static void test_busy(void **state)
{
    store_test_t *f = *state;
    store_leader_t boss = store_help_run(f->store, 100);
    store_options_t quick = {.statement_ms = 200};
    store_t *other = store_open(f->url, &quick, NULL);
    sql_limits_t limits = {.connect_ms = 2000, .statement_ms = 2000};
    sql_t *db = sql_open(f->url, &limits, NULL);
    STORE_OK(sql_begin(db, err));
    if (SQL_RUN(db, NULL, NULL, "UPDATE leadership SET guarded_ms = 0") != 1) fail();
    int64_t begin = clock_mono_ms();
    STORE_REFUSED(ERR_NET, store_run_data(other, &boss, 100, err));
    int64_t took = clock_mono_ms() - begin;
    assert_true(took >= 150 && took < 3000);
    sql_rollback(db);
    STORE_OK(store_run_data(other, &boss, 100, err));
    sql_destroy(&db);
    store_destroy(&other);
}

/* The server stops and starts in mid-use, by the command in PCP_TEST_RESTART. */
static void test_restart(void **state)
{
    store_test_t *f = *state;
    store_leader_t boss = store_help_run(f->store, 100);
    const char *command = getenv("PCP_TEST_RESTART");
    if (!command || system(command) != 0)
        fail_msg("PCP_TEST_RESTART: %s", command ? command : "unset");
    /* The old connection is dead: one error at most, then it works on. */
    err_t err = {0};
    int tries = 1;
    while (store_leader_renew(f->store, &boss, 60000, &err) < 0 && tries++ < 3)
        assert_int_equal(err.code, ERR_NET);
    assert_in_range(tries, 1, 2);
    STORE_OK(store_run_data(f->store, &boss, 100, err));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, store_set_up, store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_submit),      TEST(test_submit_at_once), TEST(test_lengthen),
        TEST(test_bad_values),  TEST(test_transitions),    TEST(test_leadership),
        TEST(test_term_ends),   TEST(test_clock_put_back), TEST(test_rivals),
        TEST(test_workers),     TEST(test_telemetry),      TEST(test_prune_slices),
        TEST(test_checkpoints), TEST(test_busy),
    };
    const struct CMUnitTest servers[] = {TEST(test_restart)};
    int failed = cmocka_run_group_tests_name("store", tests, NULL, NULL);
    if (getenv("PCP_TEST_RESTART"))
        failed += cmocka_run_group_tests_name("store, restart", servers, NULL, NULL);
    return failed;
}
