/* Plan code for CUDA and HIP as it is read: what is whole is taken, whatever is cut short, of another kind or
 * says too much is refused before a driver sees it; what CUDA has no code for is refused by name; how
 * products are cut into blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code_bytes.h"
#include "codegen/cuda/cubins.h"
#include "codegen/cuda/render_cuda.h"
#include "codegen/prelude/prelude_text.h"
#include "compile/compile.h"

/* One kernel "k0" of three arguments, in the second of two modules. */
static const uint32_t whole[] = {
    0x43504350,
    1,
    1,
    2, /* magic, version, kernels, modules */
    1,
    3,
    32,
    256,
    0,
    2, /* module, arguments, threads, block, blocks, letters */
    'k' | '0' << 8,
    4, /* bytes of the first module */
    0x464c457f,
    0,
    5, /* of the second */
    0x464c457f,
    0x01,
};
enum { N_WORD = sizeof whole / sizeof *whole };

static int load(const void *bytes, size_t n, err_t *err)
{
    cubins_t cubins;
    int status = cubins_load(&cubins, bytes, n, err);
    cubins_fini(&cubins);
    return status;
}

static void test_whole(void **state)
{
    (void)state;
    err_t err = {0};
    cubins_t cubins;
    if (cubins_load(&cubins, (const uint8_t *)whole, sizeof whole, &err) < 0)
        fail_msg("%s", err.text);
    const cubin_kernel_t *k = cubins_find(&cubins, "k0");
    assert_int_equal(cubins.n_kernel, 1);
    assert_int_equal(cubins.n_module, 2);
    assert_non_null(k);
    assert_int_equal(k->module, 1);
    assert_int_equal(k->block, 256);
    assert_int_equal(cubins.module[1].n_bytes, 5);
    assert_int_equal(cubins.module[1].bytes[4], 1);
    assert_null(cubins_find(&cubins, "k1"));
    cubins_fini(&cubins);
}

static void test_cut_short(void **state)
{
    (void)state;
    code_cut_short(load, whole, N_WORD);
}

static void test_wrong_words(void **state)
{
    static const code_case_t cases[] = {
        {0, 1, "none for CUDA"},
        {1, 2, "none for CUDA"},
        {2, 1u << 30, "1073741824 kernels"},
        {2, 0, "a module of"},
        {3, 1u << 30, "1073741824 modules"},
        {3, 1, "of module 1"},
        {4, 2, "of module 2"},
        {5, 1u << 20, "1048576 arguments"},
        {6, 0, "0 threads"},
        {7, 0, "blocks of 0"},
        {7, 2048, "blocks of 2048"},
        {8, 1u << 31, "a kernel of"},
        {9, 3, "without a name"},
        {9, 1, "without a name"},
        {9, 255, "without a name"},
        {10, 0, "without a name"},
        {11, 3, "a module of"},
        {11, 1u << 31, "a module of"},
        {13, 0x01010101, "a module of"},
        {14, 8, "a module of"},
    };
    (void)state;
    code_wrong_words(load, whole, N_WORD, cases, sizeof cases / sizeof *cases);
}

static void test_turned_bits(void **state)
{
    (void)state;
    code_turned_bits(load, whole, N_WORD);
}

static void test_refusals(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {\n"
        "  %0 = stablehlo.exponential %x : tensor<4xcomplex<f32>>\n"
        "  return %0 : tensor<4xcomplex<f32>>\n}\n";
    static const char *const targets[] = {"cuda:sm_90", "hip:gfx90a"};
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        err_t err = {0};
        size_t n = 0;
        char wanted[64];
        snprintf(wanted, sizeof wanted, "target %s has no ", targets[i]);
        assert_null(compile_text(text, strlen(text), "t", NULL, targets[i], &n, &err));
        assert_int_equal(err.code, ERR_UNSUPPORTED);
        if (!strstr(err.text, wanted)) fail_msg("%s", err.text);
    }
}

/* Blocks cover C and no more than it needs; large ones only where there are many. */
static void test_products(void **state)
{
    static const struct {
        int64_t m, n, k, batch;
        const char *launch, *tile;
    } cases[] = {
        {1, 1, 1, 1, "blocks 1,", "<32, 32,"},
        {33, 65, 7, 3, "blocks 18,", "<32, 32,"},
        {4096, 4096, 64, 1, "blocks 1024,", "<128, 128,"},
        {1024, 1024, 64, 1, "blocks 256,", "<64, 64,"},
        {4096, 8, 64, 12, "blocks 1536,", "<32, 32,"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        product_t product = {.step = {.dtype = DT_F32,
                                      .batch = cases[i].batch,
                                      .inner = 1,
                                      .m = cases[i].m,
                                      .n = cases[i].n,
                                      .k = cases[i].k}};
        str_t text = {0};
        render_cuda_product(&(cuda_dialect_t){0}, &product, &text);
        if (!strstr(str_text(&text), cases[i].launch) || !strstr(str_text(&text), cases[i].tile))
            fail_msg("%zu: %s", i, str_text(&text));
        str_fini(&text);
    }
}

/* Copied by eights where rows begin and end at multiples of them, and only by a dialect that can; few tiles with a long sum
 * are cut in parts of it. */
static void test_staged_products(void **state)
{
    static const struct {
        int64_t m, n, k, lda, a;
        const char *launch, *tile;
        bool plain;
    } cases[] = {
        {16384, 768, 768, 768, 0, "blocks 768,", "<128, 128,", false},
        {704, 768, 768, 768, 0, "blocks 132,", "<64, 64,", false},
        {768, 3072, 16384, 16384, 0, "blocks 1152,", "<128, 128,", false},
        {32, 32, 1024, 1024, 0, "blocks 1,", "<32, 32,", false},
        {768, 768, 768, 776, 8, "blocks 72,", "<128, 64,", false},
        {768, 768, 768, 770, 0, "blocks 144,", "<64, 64,", true},
        {768, 768, 768, 776, 4, "blocks 144,", "<64, 64,", true},
        {768, 768, 764, 776, 0, "blocks 144,", "<64, 64,", true},
        {768, 768, 768, 768, 0, "blocks 144,", "<64, 64,", true},
    };
    const size_t n = sizeof cases / sizeof *cases;
    (void)state;
    for (size_t i = 0; i < n; i++) {
        const cuda_dialect_t dialect = {.product = i + 1 < n ? prelude_cuda_product_text : NULL};
        product_t product = {.step = {.dtype = DT_F32,
                                      .bf16 = true,
                                      .batch = 1,
                                      .inner = 1,
                                      .m = cases[i].m,
                                      .n = cases[i].n,
                                      .k = cases[i].k,
                                      .a = cases[i].a,
                                      .lda = cases[i].lda,
                                      .ldb = cases[i].n,
                                      .ldc = cases[i].n}};
        str_t text = {0};
        render_cuda_product(&dialect, &product, &text);
        if (!strstr(str_text(&text), cases[i].launch) || !strstr(str_text(&text), cases[i].tile) ||
            render_cuda_product_is_staged(str_text(&text)) == cases[i].plain)
            fail_msg("%zu: %s", i, str_text(&text));
        str_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),           cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_wrong_words),     cmocka_unit_test(test_turned_bits),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_products),
        cmocka_unit_test(test_staged_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
