/* Writers that rival, die, are cut off or vanish around a commit: each window is committed exactly
 * once. tests/cluster/store.sh runs it on PostgreSQL too. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cut_proxy.h"
#include "store_help.h"

/* --- many leaders at once, each sure that it leads --- */
enum { N_LEADERS = 4, N_ROUNDS = 10 };
typedef struct {
    const char *url;
    int number;
    int n_committed, n_deposed;
    char trouble[1100];
} contender_t;

/* Open and commit the next round; 1: it was the last. */
static int one_round(store_t *s, const store_leader_t *leader, contender_t *c, err_t *err)
{
    store_round_t latest = {0};
    bool found;
    if (store_round_latest(s, "r", &latest, &found, err) < 0) return -1;
    bool open = found && strcmp(latest.state, "open") == 0;
    uint64_t r = found ? latest.round + !open : 0;
    store_round_fini(&latest);
    if (r == N_ROUNDS) return 1;
    data_range_t cursor = {.epoch = (10 * r + 10) / LEDGER_EPOCH,
                           .start = (10 * r + 10) % LEDGER_EPOCH};
    store_lease_t lease = {.fence = 1, .range = {.start = 10 * r, .count = 10}};
    if (!open && store_round_open(s, leader, r, &cursor, &lease, 1, err) < 0) return -1;
    store_commit_t commit = ledger_commit(r);
    if (store_round_commit(s, leader, &commit, err) < 0) return -1;
    c->n_committed++;
    return 0;
}

static void *contend(void *user)
{
    contender_t *c = user;
    err_t err = {0};
    store_options_t patient = {.statement_ms = 20000};
    store_t *s = store_open(c->url, &patient, &err);
    char name[8];
    int rc = 0;
    for (uint64_t i = 0; rc == 0; i++) {
        store_leader_t leader;
        bool won = false;
        snprintf(name, sizeof name, "n%d", c->number);
        /* Terms of a millisecond or so: most are over before the work is done. */
        int64_t ttl = 1 + (int64_t)(rng_bits((uint64_t)c->number, i) % 8);
        if (store_leader_acquire(s, "r", name, ttl, &won, &leader, &err) < 0) break;
        if (!won) continue;
        rc = one_round(s, &leader, c, &err);
        if (rc < 0 && err.code == ERR_FENCE) {
            c->n_deposed++;
            err_clear(&err);
            rc = 0;
        }
    }
    snprintf(c->trouble, sizeof c->trouble, "%s", err.text);
    store_destroy(&s);
    return NULL;
}

static void test_contenders(void **state)
{
    ledger_test_t *f = *state;
    STORE_OK(store_leader_release(f->store, &f->boss, err));
    contender_t c[N_LEADERS] = {0};
    pthread_t threads[N_LEADERS];
    int n_committed = 0, n_deposed = 0;
    for (int i = 0; i < N_LEADERS; i++) {
        c[i] = (contender_t){.url = f->url, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, contend, &c[i]), 0);
    }
    for (int i = 0; i < N_LEADERS; i++) {
        pthread_join(threads[i], NULL);
        assert_string_equal(c[i].trouble, "");
        n_committed += c[i].n_committed;
        n_deposed += c[i].n_deposed;
    }
    print_message("# %d leaders: %d rounds committed, %d writes of deposed leaders refused\n",
                  N_LEADERS, n_committed, n_deposed);
    assert_int_equal(n_committed, N_ROUNDS);
    store_ledger_t ledger;
    STORE_OK(store_ledger_get(f->store, "r", 0, &ledger, err));
    assert_true(ledger.exactly_once);
}

/* --- a writer that dies, or whose connection is cut, around COMMIT --- */
static int commit_by(const char *url, const store_leader_t *leader, err_t *err)
{
    store_commit_t commit = ledger_commit(0);
    store_t *s = store_open(url, NULL, err);
    int rc = s ? store_round_commit(s, leader, &commit, err) : -1;
    store_destroy(&s);
    return rc;
}

static void test_dead_writer(void **state)
{
    ledger_test_t *f = *state;
    ledger_open(f, 0);
    for (int when = 0; when < 2; when++) {
        store_destroy(&f->store); /* no connection may be shared with the child */
        pid_t child = fork();
        if (child == 0) {
            store_t *s = store_open(f->url, NULL, NULL);
            store_commit_t commit = ledger_commit(0);
            alarm(30);
            /* Killed inside the commit's transaction, then right after it. */
            if (when == 0) store_help_abandon(s, &f->boss);
            _exit(store_round_commit(s, &f->boss, &commit, NULL) == 0 ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, when == 0 ? SIGKILL : 0);
        assert_true(when == 0 || WEXITSTATUS(status) == 0);
        f->store = store_help_open(f->url, false);
        assert_int_equal(ledger_windows(f->store), when == 0 ? 0 : 10);
    }
    STORE_OK(commit_by(f->url, &f->boss, err)); /* the answer was lost: again */
    assert_int_equal(ledger_windows(f->store), 10);
}

static char *through(const char *url, int port)
{
    const char *host = "127.0.0.1:", *at = strstr(url, host);
    if (!at) fail_msg("the server is not at 127.0.0.1:PORT: %s", url);
    at += strlen(host);
    return mem_printf("%.*s%d%s", (int)(at - url), url, port, at + strspn(at, "0123456789"));
}

static cut_proxy_t *proxy_for(const char *url, cut_t cut)
{
    const char *port = strstr(url, "127.0.0.1:");
    return cut_proxy_new(port ? atoi(port + strlen("127.0.0.1:")) : 0, cut);
}

static void cut_commit(ledger_test_t *f, cut_t cut)
{
    ledger_open(f, 0);
    cut_proxy_t *proxy = proxy_for(f->url, cut);
    char *url = through(f->url, cut_proxy_port(proxy));
    store_t *s = store_open(url, NULL, NULL);
    store_commit_t commit = ledger_commit(0);
    STORE_REFUSED(ERR_NET, store_round_commit(s, &f->boss, &commit, err));
    assert_int_equal(cut_proxy_cuts(proxy), 1);
    /* What the client cannot know: */
    assert_int_equal(ledger_windows(f->store), cut == CUT_AFTER ? 10 : 0);
    /* What it does then, over the same store: */
    STORE_OK(store_round_commit(s, &f->boss, &commit, err));
    assert_int_equal(ledger_windows(f->store), 10);
    store_destroy(&s);
    cut_proxy_destroy(&proxy);
    free(url);
}

static void test_cut_before(void **state)
{
    cut_commit(*state, CUT_BEFORE);
}

static void test_cut_after(void **state)
{
    cut_commit(*state, CUT_AFTER);
}

/* The leader vanishes without a word before its COMMIT: it holds its locks at the server, and a
 * stand-by whose turn it is does not wait for them for long. */
static void test_vanished(void **state)
{
    ledger_test_t *f = *state;
    ledger_open(f, 0);
    cut_proxy_t *proxy = proxy_for(f->url, CUT_STALL);
    char *url = through(f->url, cut_proxy_port(proxy));
    store_options_t quick = {.statement_ms = 300};
    store_t *s = store_open(url, &quick, NULL);
    store_commit_t commit = ledger_commit(0);
    store_leader_t heir;
    bool won = false;
    STORE_OK(store_leader_renew(f->store, &f->boss, 1, err));
    int64_t begin = clock_mono_ms();
    STORE_REFUSED(ERR_NET, store_round_commit(s, &f->boss, &commit, err));
    int64_t gave_up = clock_mono_ms() - begin;
    while (!won && clock_mono_ms() - begin < 20000)
        STORE_OK(store_leader_acquire(f->store, "r", "heir", 60000, &won, &heir, err));
    int64_t took = clock_mono_ms() - begin;
    print_message("# the client gave up after %d ms, the heir led after %d ms\n", (int)gave_up,
                  (int)took);
    assert_true(won && gave_up < 2000 && took < 6000);
    STORE_OK(store_round_commit(f->store, &heir, &commit, err));
    assert_int_equal(ledger_windows(f->store), 10);
    store_destroy(&s);
    cut_proxy_destroy(&proxy);
    free(url);
}

static int open_round(ledger_test_t *f, err_t *err)
{
    data_range_t cursor = {.start = 10};
    store_lease_t lease = {.fence = 1, .range = {.count = 10}};
    return store_round_open(f->store, &f->boss, 0, &cursor, &lease, 1, err);
}

/* A disk that takes nothing more: said as what may pass, and what was to be written can be written
 * later, by the same store. */
static void test_no_room(void **state)
{
    ledger_test_t *f = *state;
    struct rlimit old, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    none = (struct rlimit){.rlim_cur = 1, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    err_t first = {0}, second = {0};
    int rc = open_round(f, &first) + open_round(f, &second);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, -2);
    assert_true(first.code == ERR_NET && second.code == ERR_NET);
    assert_non_null(strstr(first.text, "make room"));
    STORE_OK(open_round(f, err));
    store_commit_t commit = ledger_commit(0);
    STORE_OK(store_round_commit(f->store, &f->boss, &commit, err));
    assert_int_equal(ledger_windows(f->store), 10);
}

/* What a server says that has no room, no memory, no connection to spare, or is about to leave. */
static void test_server_without_room(void **state)
{
    static const char *const codes[] = {"53000", "53100", "53200", "53300", "57P01", "57P03"};
    ledger_test_t *f = *state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char *script = mem_printf(
            "CREATE OR REPLACE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN "
            "RAISE EXCEPTION 'no room' USING ERRCODE = '%s'; END $f$; "
            "CREATE OR REPLACE TRIGGER no_room BEFORE INSERT ON round EXECUTE FUNCTION no_room()",
            codes[i]);
        store_help_script(f->url, script);
        free(script);
        STORE_REFUSED(ERR_NET, open_round(f, err));
    }
    store_help_script(f->url, "DROP TRIGGER no_room ON round");
    STORE_OK(open_round(f, err));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ledger_set_up, ledger_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_contenders), TEST(test_dead_writer)};
    const struct CMUnitTest cuts[] = {TEST(test_cut_before), TEST(test_cut_after),
                                      TEST(test_vanished), TEST(test_server_without_room)};
    const struct CMUnitTest disks[] = {TEST(test_no_room)};
    int failed = cmocka_run_group_tests_name("store, faults", tests, NULL, NULL);
    if (store_help_postgres())
        failed += cmocka_run_group_tests_name("store, cut connections", cuts, NULL, NULL);
    else
        failed += cmocka_run_group_tests_name("store, a full disk", disks, NULL, NULL);
    return failed;
}
