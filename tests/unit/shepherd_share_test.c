/* Who gets how many members of a cluster, and which names may become files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "shepherd/front/files.h"
#include "shepherd/front/share.h"

enum { RUNS = 5 };

typedef struct {
    unsigned total, want[RUNS], share[RUNS];
} case_t;

static void test_shares(void **state)
{
    (void)state;
    static const case_t cases[] = {
        {0, {2, 2, 0}, {0, 0, 0}},   /* nobody is here */
        {1, {4, 4, 0}, {1, 0, 0}},   /* the earlier run first */
        {2, {4, 4, 4}, {1, 1, 0}},   /* one each before a second */
        {4, {2, 2, 0}, {2, 2, 0}},   /* enough for all */
        {9, {2, 2, 0}, {2, 2, 0}},   /* more than all want */
        {6, {8, 4, 0}, {4, 2, 0}},   /* by what they want */
        {7, {8, 4, 0}, {5, 2, 0}},   /* the odd one to the earlier of equals */
        {5, {1, 100, 1}, {1, 3, 1}}, /* a small run is not starved by a large one */
        {10, {100, 1, 1, 1, 1}, {6, 1, 1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned share[RUNS];
        share_workers(RUNS, cases[i].want, cases[i].total, share);
        assert_memory_equal(share, cases[i].share, sizeof share);
    }
}

/* What must hold of any shares: no more than there are or than are wanted, none kept back, nobody
 * without while another has two, and one worker more takes none away from anybody. */
static void test_shares_always(void **state)
{
    (void)state;
    uint64_t draw = 0;
    for (int i = 0; i < 2000; i++) {
        unsigned want[RUNS], share[RUNS], next[RUNS], given = 0, wanted = 0, most = 0, least = ~0u;
        unsigned total = (unsigned)(rng_uniform(7, draw++) * 40);
        for (int k = 0; k < RUNS; k++)
            wanted += want[k] = 1 + (unsigned)(rng_uniform(7, draw++) * 12);
        share_workers(RUNS, want, total, share);
        share_workers(RUNS, want, total + 1, next);
        for (int k = 0; k < RUNS; k++) {
            assert_true(share[k] <= want[k] && share[k] <= next[k]);
            given += share[k];
            if (share[k] > most) most = share[k];
            if (share[k] < least) least = share[k];
        }
        assert_int_equal(given, total < wanted ? total : wanted);
        assert_false(least == 0 && most > 1);
        assert_int_equal(share_missing(RUNS, next, share), total < wanted);
        assert_int_equal(share_pick(RUNS, next, share) >= 0, total < wanted);
    }
}

static void test_pick(void **state)
{
    (void)state;
    unsigned share[] = {2, 4, 4}, have[] = {2, 2, 2};
    assert_int_equal(share_pick(3, share, have), 1);
    assert_int_equal(share_missing(3, share, have), 4);
    have[2] = 1; /* it lacks more */
    assert_int_equal(share_pick(3, share, have), 2);
    have[1] = have[2] = 9;
    assert_int_equal(share_pick(3, share, have), -1);
    assert_int_equal(share_missing(3, share, have), 0);
    assert_int_equal(share_pick(0, share, have), -1);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const good[] = {"run.json", "a", "run-1_b.C"};
    static const char *const bad[] = {"",     ".",   "..",  ".upload", "a/b",
                                      "../x", "a b", "a\n", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_null(front_name_fault(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_non_null(front_name_fault(bad[i]));
    char longest[FRONT_FILE_NAME + 1] = "";
    memset(longest, 'a', FRONT_FILE_NAME - 1);
    assert_null(front_name_fault(longest));
    longest[FRONT_FILE_NAME - 1] = 'a';
    assert_non_null(front_name_fault(longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_shares_always),
        cmocka_unit_test(test_pick),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("shepherd, shares", tests, NULL, NULL);
}
