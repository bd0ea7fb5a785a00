/* Numbers by key, against a table that is searched from its beginning; keys that come and go. */
#include "base/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

enum { KEYS = 400, STEPS = 200000 };

/* A few keys of all lengths, also none. */
static size_t key_of(int i, char key[16])
{
    return i == 0 ? 0 : (size_t)snprintf(key, 16, "%.*d", i % 9 + 1, i * 7919);
}

static void keys_come_and_go(void **unused)
{
    (void)unused;
    index_t *index = index_new();
    int number[KEYS];
    memset(number, -1, sizeof number);
    for (uint64_t step = 0; step < STEPS; step++) {
        int i = (int)(rng_uniform(1, 2 * step) * KEYS);
        /* Now many, now few: chains of keys grow together and fall apart. */
        bool add = rng_uniform(1, 2 * step + 1) < (step / 5000 % 2 ? 0.2 : 0.8);
        char key[16];
        size_t n = key_of(i, key);
        assert_int_equal(index_find(index, key, n), number[i]);
        if (add && number[i] < 0) {
            number[i] = (int)(step % 1000);
            index_add(index, key, n, number[i]);
        } else if (!add) {
            number[i] = -1;
            index_remove(index, key, n); /* also what is not there */
        }
        if (step % 1000) continue;
        for (int k = 0; k < KEYS; k++) {
            n = key_of(k, key);
            assert_int_equal(index_find(index, key, n), number[k]);
        }
    }
    index_destroy(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_come_and_go)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
