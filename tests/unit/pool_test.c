/* The thread pool: every element once, in whole grains; many short pieces of work, sleeping and
 * waking, more threads than cores, a thread that is held up. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "runtime/pool.h"

enum { MOST = 4096, THREADS = 8 };

typedef struct {
    int32_t count[MOST];
    int64_t extent, grain;
    atomic_int bad; /* ranges that are no whole grains, workers that do not exist */
    int threads;
} record_t;

static void record_part(void *context, int64_t begin, int64_t end, int worker)
{
    record_t *record = context;
    for (int64_t i = begin; i < end; i++) record->count[i]++;
    bool whole = begin < end && begin % record->grain == 0 &&
                 (end % record->grain == 0 || end == record->extent);
    if (!whole || worker < 0 || worker >= record->threads) atomic_fetch_add(&record->bad, 1);
}

static void test_cut(void **state)
{
    static const int64_t extents[] = {1, 2, 7, 64, 65, 1000, 4096}, grains[] = {1, 3, 64, 5000};
    (void)state;
    for (int threads = 1; threads <= THREADS; threads++) {
        pool_t *pool = pool_new(threads, false, NULL);
        assert_non_null(pool);
        assert_int_equal(pool_threads(pool), threads);
        for (int e = 0; e < 7; e++) {
            for (int g = 0; g < 4; g++) {
                record_t record = {.extent = extents[e], .grain = grains[g], .threads = threads};
                pool_run(pool, record_part, &record, extents[e], grains[g]);
                for (int64_t i = 0; i < MOST; i++)
                    assert_int_equal(record.count[i], i < extents[e]);
                assert_int_equal(record.bad, 0);
            }
        }
        pool_destroy(&pool);
        assert_null(pool);
    }
}

typedef struct {
    int32_t length[MOST]; /* of the range that begins here; 0: none does */
} ranges_t;

static void record_range(void *context, int64_t begin, int64_t end, int worker)
{
    ranges_t *ranges = context;
    (void)worker;
    ranges->length[begin] = (int32_t)(end - begin);
}

/* Whoever takes a range: it is half of what its stretch has left, but not below a sixteenth, or a quarter. */
static void test_ranges_halve(void **state)
{
    static const int32_t few[] = {3, 2, 1}, many[] = {16, 8, 4, 2, 2}, wide[] = {16, 8, 8};
    (void)state;
    pool_t *pool = pool_new(2, false, NULL);
    for (int turn = 0; turn < 20; turn++) {
        ranges_t of_few = {0}, of_many = {0}, of_wide = {0};
        pool_run(pool, record_range, &of_few, 12, 1);
        pool_run(pool, record_range, &of_many, 64, 1);
        pool_run_long(pool, record_range, &of_wide, 64, 1);
        for (int half = 0; half < 2; half++) {
            for (int i = 0, at = 6 * half; i < 3; at += few[i++])
                assert_int_equal(of_few.length[at], few[i]);
            for (int i = 0, at = 32 * half; i < 5; at += many[i++])
                assert_int_equal(of_many.length[at], many[i]);
            for (int i = 0, at = 32 * half; i < 3; at += wide[i++])
                assert_int_equal(of_wide.length[at], wide[i]);
        }
    }
    pool_destroy(&pool);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    pool_t *pool = pool_new(2, false, NULL);
    record_t record = {.extent = 10, .grain = 1, .threads = 2};
    pool_run(pool, record_part, &record, 0, 4);
    pool_run(pool, record_part, &record, -3, 4);
    assert_int_equal(record.count[0], 0);
    pool_run(pool, record_part, &record, 10, 0); /* a grain below 1 counts as 1 */
    for (int i = 0; i < 10; i++) assert_int_equal(record.count[i], 1);
    pool_destroy(&pool);
    pool_destroy(&pool); /* of nothing: fine */
}

static void add_part(void *context, int64_t begin, int64_t end, int worker)
{
    int64_t *sum = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) sum[i] += i;
}

/* Every piece reads what the one before wrote, in another thread: a missed or early wake-up
 * shows as a wrong sum (or as a data race under MODE=tsan). */
static void stress(int threads, int pieces, int pause_every)
{
    int64_t sum[64] = {0};
    pool_t *pool = pool_new(threads, threads == 2, NULL);
    for (int i = 0; i < pieces; i++) {
        pool_run(pool, add_part, sum, 33 + i % 31, 1 + i % 5);
        if (pause_every && i % pause_every == 0)
            nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL); /* the workers fall asleep */
    }
    pool_destroy(&pool);
    int64_t want[64] = {0};
    for (int i = 0; i < pieces; i++) {
        for (int64_t j = 0; j < 33 + i % 31; j++) want[j] += j;
    }
    assert_memory_equal(sum, want, sizeof want);
}

static void test_stress(void **state)
{
    (void)state;
    stress(2, 100000, 0);
    stress(2, 500, 1);
    stress(4, 2000, 10);
    stress(7, 2000, 0);
}

/* The first range of worker 1 waits until all others are done: they must not wait for it. */
typedef struct {
    atomic_int done, held;
} hold_t;

static void hold_part(void *context, int64_t begin, int64_t end, int worker)
{
    hold_t *hold = context;
    if (worker == 1 && !atomic_exchange(&hold->held, 1)) {
        while (atomic_load(&hold->done) < 64 - (int)(end - begin)) sched_yield();
    }
    atomic_fetch_add(&hold->done, (int)(end - begin));
}

static void test_held_up(void **state)
{
    (void)state;
    pool_t *pool = pool_new(2, false, NULL);
    for (int i = 0; i < 100; i++) {
        hold_t hold = {0};
        pool_run(pool, hold_part, &hold, 64, 1);
        assert_int_equal(hold.done, 64);
    }
    pool_destroy(&pool);
}

static void test_several_pools(void **state)
{
    (void)state;
    pool_t *pool[3];
    int64_t sum[40] = {0};
    for (int i = 0; i < 3; i++) pool[i] = pool_new(2, false, NULL);
    for (int i = 0; i < 300; i++) pool_run(pool[i % 3], add_part, sum, 40, 1);
    for (int i = 0; i < 3; i++) pool_destroy(&pool[i]);
    for (int64_t j = 0; j < 40; j++) assert_int_equal(sum[j], 300 * j);
}

static void test_refused(void **state)
{
    (void)state;
    err_t err = {0};
    assert_null(pool_new(0, false, &err));
    assert_int_equal(err.code, ERR_ARG);
    assert_null(pool_new(POOL_MAX_THREADS + 1, false, &err));
    assert_true(pool_cores() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),           cmocka_unit_test(test_ranges_halve),
        cmocka_unit_test(test_nothing_to_do), cmocka_unit_test(test_stress),
        cmocka_unit_test(test_held_up),       cmocka_unit_test(test_several_pools),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
