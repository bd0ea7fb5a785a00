/* base/idle.h: what a flood leaves between what lives is given back, once; what is in use, or idle all the time, is let alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/idle.h"
#include "base/memory.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OTHER_ALLOCATOR /* which keeps what is freed, and tells nothing of it */
#endif

#ifndef OTHER_ALLOCATOR
enum { PIECES = 16384, PIECE_BYTES = 4000, FEW = 64 };

static uint64_t resident(void *user)
{
    (void)user;
    uint64_t bytes = memory_resident();
    assert_true(bytes > 0);
    return bytes;
}

/* 64 MiB, all in use. */
static void flood(char **piece)
{
    for (int i = 0; i < PIECES; i++) {
        piece[i] = malloc(PIECE_BYTES);
        memset(piece[i], i, PIECE_BYTES);
    }
}

/* All but a few, which stand in the way of the heap's end. */
static void ebb(char **piece)
{
    for (int i = 0; i < PIECES - 1; i++) {
        if (i % FEW == 0) continue;
        free(piece[i]);
        piece[i] = NULL;
    }
}

static void the_rest(char **piece)
{
    for (int i = 0; i < PIECES; i++) {
        free(piece[i]);
        piece[i] = NULL;
    }
}

static void floods_leave_nothing(void **unused)
{
    (void)unused;
    static char *piece[PIECES];
    const uint64_t all = (uint64_t)PIECES * PIECE_BYTES;
    idle_t idle = {0};
    assert_false(idle_give_back(&idle, resident, NULL));
    uint64_t before = resident(NULL);
    for (int time = 0; time < 3; time++) {
        flood(piece);
        assert_false(idle_give_back(&idle, resident, NULL)); /* it is in use */
        ebb(piece);
        assert_true(resident(NULL) > before + all * 3 / 4); /* the library keeps it */
        assert_true(idle_give_back(&idle, resident, NULL));
        assert_true(resident(NULL) < before + all / 4);
        assert_false(idle_give_back(&idle, resident, NULL));
        the_rest(piece);
    }
}
#else
static void floods_leave_nothing(void **unused)
{
    (void)unused;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(floods_leave_nothing)};
    return cmocka_run_group_tests_name("base_idle", tests, NULL, NULL);
}
