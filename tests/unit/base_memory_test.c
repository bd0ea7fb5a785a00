/* base: errors, arena, vectors, text, checked sizes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

static void test_err(void **state)
{
    (void)state;
    err_t err = {0};
    assert_int_equal(err_set(&err, ERR_SHAPE, "dim %d is %s", 3, "odd"), -1);
    assert_int_equal(err.code, ERR_SHAPE);
    assert_string_equal(err.text, "dim 3 is odd");
    assert_int_equal(err_prefix(&err, "%s: ", "a.mlir"), -1);
    assert_string_equal(err.text, "a.mlir: dim 3 is odd");
    errno = ENOENT;
    assert_int_equal(err_set_errno(&err, "file %s", "x"), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_string_equal(err.text, "file x: No such file or directory");
    err_clear(&err);
    assert_int_equal(err.code, ERR_OK);
    assert_string_equal(err.text, "");
    /* NULL is for callers that do not care. */
    assert_int_equal(err_set(NULL, ERR_ARG, "x"), -1);
    assert_int_equal(err_set_errno(NULL, "x"), -1);
    assert_int_equal(err_prefix(NULL, "x"), -1);
    err_clear(NULL);
}

static void test_err_truncates(void **state)
{
    (void)state;
    err_t err = {0};
    char *longer = mem_calloc(3000, 1);
    memset(longer, 'a', 2999);
    err_set(&err, ERR_ARG, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    err_prefix(&err, "prefix ");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(strncmp(err.text, "prefix aaa", 10), 0);
    err_prefix(&err, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    free(longer);
}

static void test_arena(void **state)
{
    (void)state;
    arena_t *arena = arena_new();
    size_t used = 0;
    /* Small, block-sized and oversized requests: zeroed, aligned, not overlapping. */
    static const size_t sizes[] = {1, 15, 16, 17, 4096, 40000, 65536, 65537, 300000, 3, 0, 30000};
    enum { N = sizeof sizes / sizeof *sizes };
    unsigned char *at[N];
    for (int i = 0; i < N; i++) {
        at[i] = arena_alloc(arena, sizes[i]);
        assert_int_equal((uintptr_t)at[i] % 16, 0);
        for (size_t b = 0; b < sizes[i]; b++) assert_int_equal(at[i][b], 0);
        memset(at[i], i + 1, sizes[i]);
        used += (sizes[i] + 15) / 16 * 16;
        assert_int_equal(arena_used(arena), used);
    }
    for (int i = 0; i < N; i++)
        for (size_t b = 0; b < sizes[i]; b++) assert_int_equal(at[i][b], i + 1);
    assert_string_equal(arena_strdup(arena, "word"), "word");
    assert_string_equal(arena_strndup(arena, "sentence", 4), "sent");
    assert_string_equal(arena_printf(arena, "%d-%s", 7, "x"), "7-x");
    assert_memory_equal(arena_copy(arena, "abc", 3), "abc", 3);
    assert_non_null(arena_copy(arena, NULL, 0));
    double *numbers = ARENA_ARRAY(arena, double, 10);
    numbers[9] = 1;
    arena_destroy(&arena);
    assert_null(arena);
    arena_destroy(&arena);
    arena_destroy(NULL);
}

static void test_vec(void **state)
{
    (void)state;
    VEC(int) v = {0};
    for (int i = 0; i < 10000; i++) VEC_PUSH(&v, i * 3);
    assert_int_equal(v.n, 10000);
    for (int i = 0; i < 10000; i++) assert_int_equal(v.at[i], i * 3);
    int *before = v.at;
    VEC_RESERVE(&v, 5); /* never shrinks */
    assert_ptr_equal(v.at, before);
    VEC_FREE(&v);
    assert_null(v.at);
    assert_int_equal(v.n + v.space, 0);
}

static void test_str(void **state)
{
    (void)state;
    str_t s = {0}, sum = {0};
    assert_string_equal(str_text(&s), "");
    str_add(&s, "");
    assert_string_equal(str_text(&s), "");
    for (int i = 0; i < 1000; i++) str_addf(&s, "%d,", i);
    for (int i = 0; i < 1000; i++) {
        char word[16];
        snprintf(word, sizeof word, "%d,", i);
        str_add(&sum, word);
    }
    assert_int_equal(s.n, sum.n);
    assert_string_equal(str_text(&s), str_text(&sum));
    str_addn(&s, "a\0b", 3); /* bytes, not only text */
    assert_int_equal(s.n, sum.n + 3);
    assert_memory_equal(s.at + sum.n, "a\0b", 4);
    str_fini(&s);
    str_fini(&sum);
    assert_string_equal(str_text(&s), "");
    assert_true(str_starts("model.mlir", "model") && !str_starts("mod", "model"));
    assert_true(str_ends("model.mlir", ".mlir") && !str_ends("lir", ".mlir"));
    assert_true(str_starts("x", "") && str_ends("x", ""));
}

static void test_sizes(void **state)
{
    (void)state;
    size_t out = 7;
    int64_t wide = 7;
    assert_true(size_mul(3, 4, &out));
    assert_int_equal(out, 12);
    assert_false(size_mul(SIZE_MAX / 2 + 1, 2, &out));
    assert_int_equal(out, 12);
    assert_true(size_add(SIZE_MAX - 1, 1, &out));
    assert_true(out == SIZE_MAX);
    assert_false(size_add(SIZE_MAX, 1, &out));
    assert_true(i64_mul(-3, 4, &wide));
    assert_int_equal(wide, -12);
    assert_false(i64_mul(INT64_MAX, 2, &wide));
    assert_false(i64_mul(INT64_MIN, -1, &wide));
    assert_int_equal(wide, -12);
    char *text = mem_printf("%s %d", "n", 1), *copy = mem_strdup(text);
    assert_string_equal(copy, "n 1");
    free(text);
    copy = mem_realloc(copy, 100);
    assert_string_equal(copy, "n 1");
    free(copy);
    unsigned char *zero = mem_calloc(5, 7);
    for (int i = 0; i < 35; i++) assert_int_equal(zero[i], 0);
    free(zero);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_err),   cmocka_unit_test(test_err_truncates),
        cmocka_unit_test(test_arena), cmocka_unit_test(test_vec),
        cmocka_unit_test(test_str),   cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
