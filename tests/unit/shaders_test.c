/* Plan code for Vulkan as it is read: what is whole is taken, whatever is cut short, of another kind or
 * says too much is refused before a driver sees it; how threads share kernels; a device, where
 * there is one, with memory that the host sees and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "code_bytes.h"
#include "codegen/render/render_share.h"
#include "codegen/target.h"
#include "codegen/vulkan/shaders.h"
#include "compile/compile.h"
#include "ir/op.h"
#include "leaks.h"
#include "plan/lower/product_loops.h"
#include "runtime/exec.h"

/* One shader of one argument; its module: a header, a capability, an entry point. */
static const uint32_t whole[] = {
    0x56504350,
    4,
    1, /* magic, version, shaders */
    64,
    1,
    100, /* threads, a group, rounds */
    1,
    12, /* arguments, words */
    0,
    0,
    0, /* no way for GPUs */
    3,
    4, /* reads and writes elements of 4 bytes */
    8,
    0,
    24,
    0, /* bytes [8, 24) */
    0x07230203,
    0x00010300,
    0,
    10,
    0,
    2 << 16 | 17,
    1, /* OpCapability Shader */
    5 << 16 | 15,
    5,
    4,
    0x6e69616d,
    0,
};
enum { N_WORD = sizeof whole / sizeof *whole };

static int load(const void *bytes, size_t n, err_t *err)
{
    shaders_t shaders;
    int status = shaders_load(&shaders, bytes, n, err);
    shaders_fini(&shaders);
    return status;
}

static void test_whole(void **state)
{
    (void)state;
    err_t err = {0};
    shaders_t shaders;
    if (shaders_load(&shaders, (const uint8_t *)whole, sizeof whole, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(shaders.n, 1);
    assert_int_equal(shaders.shader[0].threads, 64);
    assert_int_equal(shaders.shader[0].how, SHADERS_GROUPS);
    assert_int_equal(shaders.shader[0].arg[0].hi, 24);
    shaders_fini(&shaders);
}

static void test_cut_short(void **state)
{
    (void)state;
    code_cut_short(load, whole, N_WORD);
}

static void test_wrong_words(void **state)
{
    static const code_case_t cases[] = {
        {0, 1, "none for Vulkan"},
        {1, 1, "none for Vulkan"},
        {2, 1u << 30, "of them"},
        {2, 0, "behind the last module"},
        {3, 4096, "4096 threads"},
        {6, 1u << 31, "arguments"},
        {7, 1u << 31, "ends inside"},
        {8, 64, "panels of 64"},
        {9, 1, "panels of 0"},
        {10, 1, "panels of 0"},
        {12, 0, "argument 0 of 0 bytes"},
        {11, 7, "argument 0"},
        {17, 0x03022307, "no SPIR-V"},
        {18, 0x00010600, "no SPIR-V"},
        {22, 17, "instruction 17 of 0 words"},
        {22, 9 << 16 | 17, "of 9 words"},
        {25, 0, "entry point"},
    };
    (void)state;
    code_wrong_words(load, whole, N_WORD, cases, sizeof cases / sizeof *cases);
}

static void test_turned_bits(void **state)
{
    (void)state;
    code_turned_bits(load, whole, N_WORD);
}

/* --- How long a thread goes round ------------------------------------------------------------- */

static void test_rounds(void **state)
{
    const plan_gemm_step_t step = {.dtype = DT_F32,
                                   .batch = 1,
                                   .inner = 1,
                                   .m = 3,
                                   .n = 40,
                                   .k = 70,
                                   .lda = 70,
                                   .ldb = 40,
                                   .ldc = 40};
    const share_plan_t alone = {.share = SHARE_ALONE};
    (void)state;
    kernel_t *rows = product_loops(&step, false), *elements = product_loops(&step, true);
    assert_int_equal(share_rounds(rows, &alone), 40 * (1 + 70));
    assert_int_equal(share_rounds(elements, &alone), 70);
    assert_int_equal(elements->extent, 120);
    kernel_destroy(&rows);
    kernel_destroy(&elements);
}

/* Sums over 4,096 rows of what each row's own sum makes: three of 768 columns, in chunks of 8 rows that a group
 * has each; and a row of 50,257 columns that is needed again, which a group makes again. */
static void test_rows_of_groups(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<4096x768xf32>, %v: tensor<64x50257xf32>) -> (tensor<768xf32>, "
        "tensor<768xf32>, tensor<768xf32>, tensor<64x50257xf32>) {\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %xx = stablehlo.multiply %x, %x : tensor<4096x768xf32>\n"
        "  %r = stablehlo.reduce(%xx init: %z) applies stablehlo.add across dimensions = [1] : "
        "(tensor<4096x768xf32>, tensor<f32>) -> tensor<4096xf32>\n"
        "  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4096xf32>) -> "
        "tensor<4096x768xf32>\n"
        "  %y = stablehlo.divide %x, %rb : tensor<4096x768xf32>\n"
        "  %e = stablehlo.exponential %y : tensor<4096x768xf32>\n"
        "  %a = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<4096x768xf32>, tensor<f32>) -> tensor<768xf32>\n"
        "  %b = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<4096x768xf32>, tensor<f32>) -> tensor<768xf32>\n"
        "  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<4096x768xf32>, tensor<f32>) -> tensor<768xf32>\n"
        "  %w = stablehlo.exponential %v : tensor<64x50257xf32>\n"
        "  %s = stablehlo.reduce(%w init: %z) applies stablehlo.add across dimensions = [1] : "
        "(tensor<64x50257xf32>, tensor<f32>) -> tensor<64xf32>\n"
        "  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> "
        "tensor<64x50257xf32>\n"
        "  %p = stablehlo.divide %w, %sb : tensor<64x50257xf32>\n"
        "  return %a, %b, %c, %p : tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, "
        "tensor<64x50257xf32>\n}\n";
    err_t err = {0};
    size_t n = 0;
    int chunks = 0, rows = 0;
    (void)state;
    uint8_t *bytes = compile_text(text, strlen(text), "t", NULL, "vulkan:spirv1.3", &n, &err);
    if (!bytes) fail_msg("%s", err.text);
    plan_t *plan = plan_unpack(bytes, n, &err);
    shaders_t shaders;
    if (shaders_load(&shaders, plan->code, plan->n_code, &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < plan->program[0].n_step; i++) {
        const plan_step_t *s = &plan->program[0].step[i];
        if (s->kind != STEP_KERNEL) continue;
        bool group = shaders.shader[s->kernel.kernel].how == SHADERS_GROUPS;
        chunks += group && s->kernel.extent == 512;
        rows += group && s->kernel.extent == 64;
    }
    assert_int_equal(chunks, 1);
    assert_int_equal(rows, 1);
    shaders_fini(&shaders);
    free(bytes);
    plan_destroy(&plan);
}

/* --- What is refused by name ------------------------------------------------------------------ */

static void refused(const char *text, const char *target, const char *says)
{
    err_t err = {0};
    size_t n = 0;
    uint8_t *plan = compile_text(text, strlen(text), "t", NULL, target, &n, &err);
    assert_null(plan);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    if (!strstr(err.text, says)) fail_msg("%s", err.text);
}

static void test_refusals(void **state)
{
    (void)state;
    refused("func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {\n"
            "  %0 = stablehlo.add %x, %x : tensor<4xf64>\n  return %0 : tensor<4xf64>\n}\n",
            "vulkan:spirv1.3", "vulkan:spirv1.3 has no f64");
    refused("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  %0 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>\n"
            "  return %0 : tensor<4xf32>\n}\n",
            "vulkan:spirv1.3-f64", "has no chlo.lgamma of f32");
}

/* --- A device --------------------------------------------------------------------------------- */

/* Doubles what it is given: 12 MB, more than the buffer that host and device share. */
static void run_on(const plan_t *plan, const exec_options_t *options, float *x, size_t n)
{
    err_t err = {0};
    exec_t *exec = exec_new(plan, options, &err);
    if (!exec) fail_msg("%s", err.text);
    int in = plan_find_tensor(plan, ROLE_BATCH, "arg0");
    int out = plan_find_tensor(plan, ROLE_RESULT, "result0");
    for (int turn = 0; turn < 2; turn++) { /* recorded, then replayed */
        if (exec_write(exec, in, x, n * sizeof *x, &err) < 0 || exec_run(exec, "main", &err) < 0 ||
            exec_read(exec, out, x, n * sizeof *x, &err) < 0)
            fail_msg("%s", err.text);
    }
    exec_destroy(&exec);
}

static void refused_by_device(const plan_t *plan, exec_options_t options, err_code_t code,
                              const char *says)
{
    err_t err = {0};
    assert_null(exec_new(plan, &options, &err));
    assert_int_equal(err.code, code);
    if (!strstr(err.text, says)) fail_msg("%s", err.text);
}

static void test_device(void **state)
{
    enum { N = 3000000, SEGMENT = N * 4 / 256 * 256 + 256 };
    static const char text[] = "func.func @main(%x: tensor<3000000xf32>) -> tensor<3000000xf32> {\n"
                               "  %0 = stablehlo.add %x, %x : tensor<3000000xf32>\n"
                               "  return %0 : tensor<3000000xf32>\n}\n";
    err_t err = {0};
    size_t n = 0;
    device_info_t info;
    (void)state;
    leaks_look_now();
    if (!device_vulkan.info(0, &info)) {
        print_message("no Vulkan driver here\n");
        skip();
    }
    uint8_t *bytes = compile_text(text, strlen(text), "t", NULL, "vulkan:spirv1.3", &n, &err);
    if (!bytes) fail_msg("%s", err.text);
    plan_t *plan = plan_unpack(bytes, n, &err);
    float *x = mem_calloc(N, sizeof *x);
    for (int turn = 0; turn < 4;
         turn++) { /* the arena in one buffer, in two; seen by the host, not */
        exec_options_t options = {.staged = turn % 2, .segment_bytes = turn / 2 * SEGMENT};
        for (int i = 0; i < N; i++) x[i] = (float)(i % 1000);
        run_on(plan, &options, x, N);
        for (int i = 0; i < N; i++)
            if (x[i] != 4 * (float)(i % 1000)) fail_msg("%d: %g", i, (double)x[i]);
    }
    refused_by_device(plan, (exec_options_t){.segment_bytes = SEGMENT / 2}, ERR_MEMORY,
                      "batch arg0 has 11.4 MiB, and a buffer");
    plan->code[4] = 2; /* the version: from before segments, when no shader had panels */
    memmove(plan->code + 32, plan->code + 44, plan->n_code - 44);
    plan->n_code -= 12;
    run_on(plan, &(exec_options_t){0}, x, N);
    refused_by_device(plan, (exec_options_t){.segment_bytes = SEGMENT}, ERR_MEMORY,
                      "compile it again");
    refused_by_device(plan, (exec_options_t){.ordinal = 99}, ERR_ARG, "no Vulkan device 99");
    refused_by_device(plan, (exec_options_t){.memory_limit = 1 << 20}, ERR_MEMORY, "arena of 22.9");
    plan->code[0] ^= 1;
    refused_by_device(plan, (exec_options_t){0}, ERR_CORRUPT, "none for Vulkan");
    free(x);
    free(bytes);
    plan_destroy(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),       cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_wrong_words), cmocka_unit_test(test_turned_bits),
        cmocka_unit_test(test_rounds),      cmocka_unit_test(test_rows_of_groups),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
