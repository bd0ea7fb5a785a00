/* Liveness in memory, and in Redis where PCP_TEST_REDIS names a server (tests/cluster/store.sh). */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/liveness.h"
#include "store_help.h"

static const char *test_url(void)
{
    const char *url = getenv("PCP_TEST_REDIS");
    return url && *url ? url : "memory:";
}

static int set_up(void **state)
{
    err_t err = {0};
    liveness_t *l = liveness_open(test_url(), 2000, &err);
    if (!l) fail_msg("%s", err.text);
    *state = l;
    return 0;
}

static int tear_down(void **state)
{
    liveness_t *l = *state;
    liveness_list_t list;
    if (liveness_list(l, "worker", &list, NULL) == 0) {
        for (size_t i = 0; i < list.n; i++) liveness_forget(l, "worker", list.at[i].id, NULL);
        liveness_list_fini(&list);
    }
    liveness_destroy(&l);
    return 0;
}

static size_t count(liveness_t *l, const char *kind)
{
    liveness_list_t list;
    STORE_OK(liveness_list(l, kind, &list, err));
    size_t n = list.n;
    liveness_list_fini(&list);
    return n;
}

static void test_members(void **state)
{
    liveness_t *l = *state;
    liveness_list_t list;
    STORE_OK(liveness_announce(l, "worker", "w2", 60000, "{\"cores\": 2}", err));
    STORE_OK(liveness_announce(l, "worker", "w1 * ? [a]:\xc3\xa9", 60000, "{}", err));
    STORE_OK(liveness_announce(l, "worker", "w2", 60000, "{\"cores\": 4}", err)); /* again */
    STORE_OK(liveness_announce(l, "workers", "x", 1000, "{}", err));
    STORE_OK(liveness_list(l, "worker", &list, err));
    assert_int_equal(list.n, 2);
    assert_string_equal(list.at[0].id, "w1 * ? [a]:\xc3\xa9");
    assert_string_equal(list.at[1].id, "w2");
    assert_string_equal(list.at[1].capabilities, "{\"cores\": 4}");
    liveness_list_fini(&list);
    STORE_OK(liveness_forget(l, "worker", "w2", err));
    STORE_OK(liveness_forget(l, "worker", "w2", err));
    assert_int_equal(count(l, "worker"), 1);
    assert_int_equal(count(l, "compiler"), 0);
    assert_true(liveness_is_up(l));
}

static void test_end(void **state)
{
    liveness_t *l = *state;
    int64_t begin = clock_mono_ms();
    STORE_OK(liveness_announce(l, "worker", "w1", 300, "{}", err));
    STORE_OK(liveness_announce(l, "worker", "w2", 60000, "{}", err));
    size_t n = 2;
    while (n == 2 && clock_mono_ms() - begin < 20000) {
        usleep(5000);
        n = count(l, "worker");
    }
    assert_int_equal(n, 1);
    assert_true(clock_mono_ms() - begin >= 299);
}

static void test_many(void **state)
{
    liveness_t *l = *state;
    liveness_list_t list;
    enum { N = 3000 };
    for (int i = 0; i < N; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%05d", i);
        STORE_OK(liveness_announce(l, "worker", id, 60000, "{}", err));
    }
    int64_t begin = clock_mono_ms();
    STORE_OK(liveness_list(l, "worker", &list, err));
    print_message("# %d members listed in %d ms\n", N, (int)(clock_mono_ms() - begin));
    assert_int_equal(list.n, N);
    assert_string_equal(list.at[N - 1].id, "w02999");
    liveness_list_fini(&list);
}

static void test_bad(void **state)
{
    liveness_t *l = *state;
    liveness_list_t list;
    char long_id[200] = "";
    memset(long_id, 'x', sizeof long_id - 1);
    char *big = mem_calloc(65538, 1);
    memset(big, ' ', 65537);
    STORE_REFUSED(ERR_ARG, liveness_announce(l, "worker", "", 1000, "{}", err));
    STORE_REFUSED(ERR_ARG, liveness_announce(l, "worker", "a\nb", 1000, "{}", err));
    STORE_REFUSED(ERR_ARG, liveness_announce(l, "worker", long_id, 1000, "{}", err));
    STORE_REFUSED(ERR_ARG, liveness_announce(l, "wor*", "w", 1000, "{}", err));
    STORE_REFUSED(ERR_ARG, liveness_announce(l, "worker", "w", 0, "{}", err));
    STORE_REFUSED(ERR_ARG, liveness_announce(l, "worker", "w", 1000, big, err));
    STORE_REFUSED(ERR_ARG, liveness_list(l, "", &list, err));
    assert_true(liveness_is_up(l)); /* the caller's mistakes are not Redis' */
    free(big);
}

static void test_urls(void **state)
{
    (void)state;
    const char *bad[] = {"",
                         "memory",
                         "redis:",
                         "redis://",
                         "redis://host:port",
                         "redis://host:0",
                         "redis://host:70000",
                         "redis://host/x",
                         "redis://host/1/2",
                         "redis://user:sesame@/1",
                         "redis:sesame@h",
                         "sesame@host:6379",
                         "http://host"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err_t err = {0};
        if (liveness_open(bad[i], 0, &err)) fail_msg("%s was taken", bad[i]);
        assert_int_equal(err.code, ERR_ARG);
        assert_null(strstr(err.text, "sesame"));
    }
    const char *good[] = {"redis://h",   "redis://h:1",  "redis://h:1/2",       "redis://h/",
                          "redis://p@h", "redis://:p@h", "redis://u:p@h:6379/0"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        liveness_t *l = liveness_open(good[i], 0, NULL);
        assert_non_null(l);
        liveness_destroy(&l);
    }
}

/* Nobody there: an error within the time-outs, then at once until the back-off is over. */
static void test_gone(void **state)
{
    (void)state;
    liveness_t *l = liveness_open("redis://127.0.0.1:1", 500, NULL);
    int64_t begin = clock_mono_ms();
    assert_true(liveness_is_up(l));
    STORE_REFUSED(ERR_NET, liveness_announce(l, "worker", "w", 1000, "{}", err));
    assert_false(liveness_is_up(l));
    for (int i = 0; i < 10000; i++)
        STORE_REFUSED(ERR_NET, liveness_announce(l, "worker", "w", 1000, "{}", err));
    /* 10,000 connections tried, each until its time-out, would take longer. */
    assert_true(clock_mono_ms() - begin < 60000);
    liveness_destroy(&l);
}

static void shell(const char *name)
{
    const char *command = getenv(name);
    if (!command || system(command) != 0) fail_msg("%s: %s", name, command ? command : "unset");
}

/* The server is killed, and comes back: PCP_TEST_REDIS_STOP, PCP_TEST_REDIS_START. */
static void test_back_again(void **state)
{
    liveness_t *l = *state;
    STORE_OK(liveness_announce(l, "worker", "w1", 60000, "{}", err));
    shell("PCP_TEST_REDIS_STOP");
    for (int i = 0; i < 3; i++) {
        liveness_list_t list;
        STORE_REFUSED(ERR_NET, liveness_list(l, "worker", &list, err));
        assert_false(liveness_is_up(l));
    }
    shell("PCP_TEST_REDIS_START");
    err_t err = {0};
    int64_t begin = clock_mono_ms();
    while (liveness_announce(l, "worker", "w1", 60000, "{}", &err) < 0) {
        assert_int_equal(err.code, ERR_NET);
        if (clock_mono_ms() - begin > 20000) fail_msg("%s", err.text);
        usleep(10000);
    }
    assert_true(liveness_is_up(l));
    assert_int_equal(count(l, "worker"), 1); /* it fills again by itself */
}

/* A server that hangs costs the time-out, not more: PCP_TEST_REDIS_PID. */
static void test_hanging(void **state)
{
    (void)state;
    const char *pid = getenv("PCP_TEST_REDIS_PID");
    liveness_t *l = liveness_open(test_url(), 300, NULL);
    assert_non_null(pid);
    STORE_OK(liveness_announce(l, "worker", "w1", 60000, "{}", err));
    assert_int_equal(kill(atoi(pid), SIGSTOP), 0);
    int64_t begin = clock_mono_ms();
    err_t late = {0};
    assert_int_equal(liveness_announce(l, "worker", "w1", 60000, "{}", &late), -1);
    int64_t took = clock_mono_ms() - begin;
    assert_int_equal(kill(atoi(pid), SIGCONT), 0);
    assert_true(took >= 250 && took < 2000);
    assert_int_equal(late.code, ERR_NET);
    assert_non_null(strstr(late.text, "no answer within the time-out"));
    liveness_destroy(&l);
}

static void test_password(void **state)
{
    (void)state;
    char *url = mem_printf("redis://sesame@%s", test_url() + strlen("redis://"));
    liveness_t *l = liveness_open(url, 2000, NULL);
    err_t err = {0};
    assert_int_equal(liveness_announce(l, "worker", "w1", 1000, "{}", &err), -1);
    assert_int_equal(err.code, ERR_STATE); /* the server has no password: it refuses */
    assert_null(strstr(err.text, "sesame"));
    liveness_destroy(&l);
    free(url);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        TEST(test_members),
        TEST(test_end),
        TEST(test_many),
        TEST(test_bad),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_gone),
    };
    const struct CMUnitTest servers[] = {
        cmocka_unit_test(test_password),
        cmocka_unit_test(test_hanging),
        TEST(test_back_again),
    };
    int failed = cmocka_run_group_tests_name("liveness", tests, NULL, NULL);
    if (getenv("PCP_TEST_REDIS"))
        failed += cmocka_run_group_tests_name("liveness, servers", servers, NULL, NULL);
    return failed;
}
