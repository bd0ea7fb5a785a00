/* How products are cut: parts cover the result, tiles fit registers, copies a thread's stack; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/target.h"
#include "plan/kernel/tiles.h"

/* Parts cover C for any shape, tiles fit the registers. */
static void test_cut(void **state)
{
    static const int64_t sizes[] = {1, 2, 15, 16, 17, 65, 100, 1000, 50257};
    static const caps_t caps_list[] = {{.lanes = 16, .registers = 32},
                                       {.lanes = 8, .registers = 16},
                                       {.lanes = 4, .registers = 16},
                                       {.lanes = 4, .registers = 32}};
    (void)state;
    for (int i = 0; i < 9 * 9 * 9 * 4; i++) {
        plan_gemm_step_t s = {.dtype = DT_F32,
                              .batch = 1 + i % 3,
                              .inner = 1 + i % 2,
                              .m = sizes[i % 9],
                              .n = sizes[i / 9 % 9],
                              .k = sizes[i / 81 % 9]};
        s.lda = s.k, s.ldb = s.ldc = s.n;
        tiles_t t;
        caps_t caps = caps_list[i / 729];
        assert_true(tiles_cut(&t, &s, caps));
        int vectors = t.cols / caps.lanes;
        assert_int_equal(t.cols % caps.lanes, 0);
        assert_true(t.rows * vectors + vectors + 1 < caps.registers);
        assert_true(t.part_rows % t.rows == 0 && t.part_cols % t.cols == 0);
        assert_true((t.n_part_row - 1) * t.part_rows < s.m && t.n_part_row * t.part_rows >= s.m);
        assert_true((t.n_part_col - 1) * t.part_cols < s.n && t.n_part_col * t.part_cols >= s.n);
        assert_true(t.sum_block >= 1 && t.sum_block <= s.k);
        assert_true(t.sum_block * t.part_cols * 4 <= 1 << 20); /* lies on a thread's stack */
    }
}

/* With a matrix unit, parts by columns and by rows: copies of operands in pieces lie on a thread's stack, too. */
static void test_split_cut(void **state)
{
    static const int64_t sizes[] = {1, 17, 64, 65, 256, 1000, 4096, 50257};
    const caps_t caps = target_caps("cpu:x86-64-v4-amx");
    int n_split = 0;
    (void)state;
    for (int i = 0; i < 8 * 8 * 8 * 2; i++) {
        plan_gemm_step_t s = {.dtype = DT_F32, .batch = 1, .inner = 1};
        s.m = sizes[i % 8], s.n = sizes[i / 8 % 8], s.k = sizes[i / 64 % 8];
        s.lda = s.k, s.ldb = s.ldc = s.n;
        tiles_t t;
        bool strips = i / 512 && s.m % 16 == 0;
        assert_true(strips ? tiles_choose_strips(&t, &s, caps, 16) : tiles_cut(&t, &s, caps));
        if (!t.split) continue;
        n_split++;
        int64_t joined = t.joined_cols > 1 ? t.joined_cols : 1;
        assert_true(t.rows == 32 && t.cols == 32 && t.pack_a && t.pack_b && t.sum_block % 16 == 0);
        assert_true(t.part_cols % t.cols == 0 && (t.n_part_col - 1) * t.part_cols < s.n);
        assert_true(t.n_part_col * t.part_cols >= s.n && t.n_part_row * t.part_rows >= s.m);
        assert_true(joined * t.part_cols * t.sum_block * 12 <= 1 << 20);
    }
    assert_in_range(n_split, 100, 900);
}

static void test_refused(void **state)
{
    plan_gemm_step_t s = {.dtype = DT_F32, .batch = 1, .inner = 1, .m = 4, .n = 4, .k = 4};
    caps_t caps = {.lanes = 16, .registers = 32};
    tiles_t t;
    (void)state;
    assert_true(tiles_cut(&t, &s, caps));
    assert_false(tiles_cut(&t, &s, target_caps("cpu:pdp11")));
    assert_true(tiles_choose(&t, &s, caps));
    s.trans_b = true; /* can be made, but does not pay */
    assert_true(tiles_cut(&t, &s, caps));
    assert_false(tiles_choose(&t, &s, caps));
    s.k = 0;
    assert_false(tiles_cut(&t, &s, caps));
    s.k = 4;
    s.bf16 = true; /* the target has no such product */
    assert_false(tiles_cut(&t, &s, caps));
    caps.bf16 = true;
    assert_true(tiles_cut(&t, &s, caps));
    assert_false(t.pack_a);
    s.k = 5; /* its last pair is filled up in a copy */
    assert_true(tiles_cut(&t, &s, caps) && t.pack_a);
    s.bf16 = false;
    s.dtype = DT_F64;
    assert_false(tiles_cut(&t, &s, caps));
}

/* What two products of whole vectors a cycle change: large products whose terms of A lie apart copy both operands,
 * in narrow panels; short sums copy B. bf16 and smaller products stay as they are. */
static void test_wide(void **state)
{
    const caps_t usual = {.lanes = 16, .registers = 32, .bf16 = true};
    caps_t wide = usual;
    plan_gemm_step_t s = {.m = 768, .n = 768, .k = 256, .lda = 768, .ldb = 768, .trans_a = true};
    tiles_t t, u;
    (void)state;
    s.dtype = DT_F32, s.batch = s.inner = 1, s.ldc = 768;
    wide.wide = true;
    assert_true(tiles_cut(&t, &s, wide) && t.pack_a && t.pack_b && t.cols <= 2 * wide.lanes);
    assert_true(tiles_cut(&u, &s, usual) && !u.pack_a && !u.pack_b);
    assert_true(tiles_choose_strips(&t, &s, wide, 8) && !t.pack_a && t.cols == u.cols);
    s.m = 256;
    assert_true(tiles_cut(&t, &s, wide) && !t.pack_a && t.cols == u.cols);
    s.trans_a = false;
    assert_true(tiles_cut(&t, &s, wide) && !t.pack_b);
    s.k = s.lda = 128;
    assert_true(tiles_cut(&t, &s, wide) && t.pack_b && !t.pack_a);
    assert_true(tiles_cut(&u, &s, usual) && !u.pack_b);
    s.m = 768, s.k = 256, s.trans_a = s.bf16 = true;
    assert_true(tiles_cut(&t, &s, wide) && tiles_cut(&u, &s, usual));
    assert_true(t.cols == u.cols && t.rows == u.rows && t.pack_b == u.pack_b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_split_cut),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
