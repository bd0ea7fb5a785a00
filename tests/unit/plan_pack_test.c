/* Plans as bytes and as state: round trips, damage, in-place updates, the same bits every time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "peak.h"
#include "plan/format/check.h"
#include "plan/format/print.h"
#include "plan/memory/memory.h"
#include "runtime/exec.h"

/* A step on a parameter, written over it; its state is read at other places than it is written. */
static const char step_text[] =
    "func.func public @train(%p: tensor<6x6xf32> {pcp.name = \"w\", pcp.role = \"param\"}, %m: "
    "tensor<6x6xf32> {pcp.name = \"m\", pcp.role = \"state\"}, %x: tensor<512x6xf32> {pcp.name = "
    "\"x\", pcp.role = \"batch\"})\n"
    "  -> (tensor<6x6xf32> {pcp.name = \"w\", pcp.role = \"param\"}, tensor<6x6xf32> {pcp.name = "
    "\"m\", pcp.role = \"state\"}, tensor<f32> {pcp.name = \"loss\", pcp.role = \"result\"}) {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n  %rate = stablehlo.constant "
    "dense<0.0009765625> "
    ": tensor<6x6xf32>\n"
    "  %y = stablehlo.dot_general %x, %p, contracting_dims = [1] x [0] : (tensor<512x6xf32>, "
    "tensor<6x6xf32>) -> tensor<512x6xf32>\n"
    "  %e = stablehlo.exponential %y : tensor<512x6xf32>\n"
    "  %l = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0, 1] : "
    "(tensor<512x6xf32>, tensor<f32>) -> tensor<f32>\n"
    "  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : "
    "(tensor<512x6xf32>, tensor<f32>) -> tensor<6xf32>\n"
    "  %cb = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<6xf32>) -> tensor<6x6xf32>\n"
    "  %d = stablehlo.multiply %cb, %rate : tensor<6x6xf32>\n  %q = stablehlo.subtract %p, %d : "
    "tensor<6x6xf32>\n"
    "  %mt = stablehlo.transpose %m, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>\n"
    "  %n = stablehlo.add %mt, %d : tensor<6x6xf32>\n"
    "  return %q, %n, %l : tensor<6x6xf32>, tensor<6x6xf32>, tensor<f32>\n}\n";

static uint8_t *pack_text(const char *text, size_t *n)
{
    err_t err = {0};
    uint8_t *bytes = compile_text(text, strlen(text), "step", NULL, target_host(), n, &err);
    if (!bytes) fail_msg("%s", err.text);
    return bytes;
}

static plan_t *unpack(const uint8_t *bytes, size_t n)
{
    err_t err = {0};
    plan_t *plan = plan_unpack(bytes, n, &err);
    if (!plan) fail_msg("%s", err.text);
    return plan;
}

static void test_round_trip(void **state)
{
    (void)state;
    size_t n, n2, n3;
    char hash[HASH_HEX], again[HASH_HEX];
    uint8_t *bytes = pack_text(step_text, &n);
    plan_t *plan = unpack(bytes, n);
    uint8_t *bytes2 = plan_pack(plan, &n2, hash);
    assert_int_equal(n, n2);
    assert_memory_equal(bytes, bytes2, n);
    assert_string_equal(plan->target, target_host());
    assert_int_equal(plan->n_program, 1);
    assert_true(plan_find_tensor(plan, ROLE_PARAM, "w") >= 0);
    assert_int_equal(plan_find_tensor(plan, ROLE_PARAM, "m"), -1);
    assert_null(plan_find_program(plan, "loss"));
    str_t text = {0};
    plan_print(plan, &text);
    assert_non_null(strstr(str_text(&text), "program train"));
    str_fini(&text);
    uint8_t *bytes3 = pack_text(step_text, &n3); /* compiled anew: the same bytes */
    plan_t *plan3 = unpack(bytes3, n3);
    free(plan_pack(plan3, &n3, again));
    assert_string_equal(hash, again);
    plan_destroy(&plan);
    plan_destroy(&plan3);
    free(bytes);
    free(bytes2);
    free(bytes3);
}

static void test_damage(void **state)
{
    (void)state;
    size_t n;
    uint8_t *bytes = pack_text(step_text, &n);
    err_t err;
    for (size_t k = 0; k < n; k += 1 + n / 3000) {
        err = (err_t){0};
        uint8_t *cut = mem_calloc(1, k + 1);
        memcpy(cut, bytes, k);
        assert_null(plan_unpack(cut, k, &err));
        assert_true(err.code == ERR_CORRUPT || err.code == ERR_UNSUPPORTED);
        free(cut);
    }
    for (int i = 0; i < 3000; i++) {
        size_t at = rng_bits(1, (uint64_t)i) % n;
        uint8_t bit = (uint8_t)(1u << (rng_bits(2, (uint64_t)i) % 8));
        bytes[at] ^= bit;
        assert_null(plan_unpack(bytes, n, &err));
        bytes[at] ^= bit;
    }
    plan_t *plan = unpack(bytes, n);
    plan_destroy(&plan);
    free(bytes);
}

/* A plan whose hash is right but whose contents are not: packed again after each change. */
static void refuse(plan_t *plan, const char *what)
{
    size_t n;
    err_t err = {0};
    uint8_t *bytes = plan_pack(plan, &n, NULL);
    plan_t *got = plan_unpack(bytes, n, &err);
    if (got) fail_msg("accepted a plan with a bad %s", what);
    assert_int_equal(err.code, ERR_CORRUPT);
    free(bytes);
}

#define REFUSE(plan, place, bad)        \
    do {                                \
        __typeof__(place) good = place; \
        place = (bad);                  \
        refuse(plan, #place);           \
        place = good;                   \
    } while (0)

static plan_step_t *find_step(plan_t *plan, plan_step_kind_t kind)
{
    for (int i = 0; i < plan->program[0].n_step; i++)
        if (plan->program[0].step[i].kind == kind) return &plan->program[0].step[i];
    fail_msg("no step of kind %d", (int)kind);
    return NULL;
}

static void test_forged(void **state)
{
    (void)state;
    size_t n;
    uint8_t *bytes = pack_text(step_text, &n);
    plan_t *plan = unpack(bytes, n);
    plan_step_t *gemm = find_step(plan, STEP_GEMM), *kernel = find_step(plan, STEP_KERNEL);
    plan_step_t *copy = find_step(plan, STEP_COPY);
    REFUSE(plan, plan->arena_bytes, 64);
    REFUSE(plan, plan->fixed_bytes, plan->arena_bytes + 1);
    REFUSE(plan, plan->arena_bytes, UINT64_MAX);
    REFUSE(plan, plan->alignment, 48);
    REFUSE(plan, plan->accumulate, 0);
    REFUSE(plan, plan->tensor[0].offset, plan->arena_bytes);
    REFUSE(plan, plan->tensor[0].n_bytes, 1);
    REFUSE(plan, plan->tensor[0].type.dim[0], -1);
    REFUSE(plan, plan->tensor[0].role, (plan_role_t)77);
    REFUSE(plan, gemm->gemm.a, -8);
    REFUSE(plan, gemm->gemm.m, INT64_MAX);
    REFUSE(plan, gemm->gemm.ldc, 1);
    REFUSE(plan, gemm->gemm.batch, 1 << 20);
    REFUSE(plan, gemm->gemm.parts, -1);
    REFUSE(plan, gemm->gemm.kernel, gemm->gemm.parts > 0 ? 4000 : 0);
    REFUSE(plan, kernel->kernel.kernel, 4000);
    REFUSE(plan, kernel->kernel.arg[0], INT64_MAX);
    REFUSE(plan, kernel->kernel.grain, 0);
    REFUSE(plan, copy->copy.n_bytes, INT64_MAX);
    REFUSE(plan, plan->program[0].tensor[0], 4000);
    REFUSE(plan, plan->program[0].tensor[1], plan->program[0].tensor[0]); /* names one twice */
    plan_destroy(&plan);
    free(bytes);
}

/* However many parameters lie over each other: who loads a plan makes room for each of them. */
static void test_overlapping(void **state)
{
    (void)state;
    err_t err = {0};
    const int64_t dims[] = {1 << 20};
    enum { MANY = 1000 };
    plan_tensor_t tensor[MANY];
    for (int i = 0; i < MANY; i++)
        tensor[i] = (plan_tensor_t){"w", i % 2 ? ROLE_PARAM : ROLE_STATE, ir_type(DT_F32, 1, dims),
                                    0, 4 << 20};
    plan_t plan = {.target = "cpu:x86-64", .module_hash = "", .spec = "{}"};
    plan.accumulate = 1;
    plan.arena_bytes = 8 << 20;
    plan.alignment = 64;
    plan.tensor = tensor;
    plan.n_tensor = 2;
    assert_int_equal(plan_check(&plan, &err), 0);
    plan.n_tensor = MANY;
    assert_int_equal(plan_check(&plan, &err), -1);
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_non_null(strstr(err.text, "more bytes than the arena"));
}

/* Tables that cost who looks names up in them far more than whoever wrote them. */
static void test_many(void **state)
{
    (void)state;
    enum { PROGRAMS = (1 << 16) + 1, BATCH = (1 << 14) + 1 };
    plan_program_t *program = mem_calloc(PROGRAMS, sizeof *program);
    plan_tensor_t *tensor = mem_calloc(BATCH, sizeof *tensor);
    plan_t plan = {.target = "cpu:x86-64", .module_hash = "", .spec = "{}", .accumulate = 1};
    plan.arena_bytes = plan.alignment = 64;
    plan.program = program;
    plan.tensor = tensor;
    for (int i = 0; i < PROGRAMS; i++) program[i].name = "p";
    for (int i = 0; i < BATCH; i++)
        tensor[i] = (plan_tensor_t){"x", ROLE_BATCH, ir_type_scalar(DT_F32), 0, 4};
    for (int odd = 0; odd < 4; odd++) {
        size_t n;
        err_t err = {0};
        plan.n_program = odd == 1 ? PROGRAMS : PROGRAMS - 1;
        plan.n_tensor = odd == 2 ? BATCH : BATCH - 1;
        if (odd == 3) plan.n_program = 0;
        uint8_t *bytes = plan_pack(&plan, &n, NULL);
        plan_t *got = plan_unpack(bytes, n, &err);
        assert_int_equal(got != NULL, odd % 3 == 0);
        plan_destroy(&got);
        free(bytes);
    }
    free(program);
    free(tensor);
}

static const char loop_text[] =
    "func.func @main(%a: tensor<3xf32>, %n: tensor<i32>) -> tensor<3xf32> {\n"
    "  %0:2 = stablehlo.while(%i = %n, %x = %a) : tensor<i32>, tensor<3xf32>\n"
    "  cond {\n"
    "    %z = stablehlo.constant dense<0> : tensor<i32>\n"
    "    %1 = stablehlo.compare GT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %1 : tensor<i1>\n  } do {\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %1 = stablehlo.subtract %i, %one : tensor<i32>\n"
    "    %2 = stablehlo.add %x, %a : tensor<3xf32>\n"
    "    stablehlo.return %1, %2 : tensor<i32>, tensor<3xf32>\n  }\n"
    "  return %0#1 : tensor<3xf32>\n}\n";

static void test_forged_loop(void **state)
{
    (void)state;
    size_t n;
    uint8_t *bytes = pack_text(loop_text, &n);
    plan_t *plan = unpack(bytes, n);
    plan_step_t *loop = find_step(plan, STEP_LOOP);
    assert_int_equal(plan->n_program, 3);
    REFUSE(plan, loop->loop.body, 0);
    REFUSE(plan, loop->loop.condition, 0);
    REFUSE(plan, loop->loop.body, 3);
    REFUSE(plan, loop->loop.condition, UINT32_MAX);
    REFUSE(plan, loop->loop.more, -1);
    REFUSE(plan, loop->loop.more, (int64_t)plan->arena_bytes);
    plan_destroy(&plan);
    free(bytes);
}

/* A chain of loops, each in the body of the one before, deeper than the executor goes. */
static void test_deep_loops(void **state)
{
    (void)state;
    enum { DEEP = 40 };
    plan_program_t program[DEEP] = {{0}};
    plan_step_t step[DEEP] = {{0}};
    plan_t plan = {.arena_bytes = 64, .alignment = 64, .accumulate = 1, .n_program = DEEP};
    err_t err = {0};
    plan.program = program;
    for (uint32_t i = 0; i < DEEP; i++) {
        step[i] = (plan_step_t){.kind = STEP_LOOP, .loop = {i + 1, i + 1, 0}};
        program[i] = (plan_program_t){.name = "p", .n_step = i + 1 < DEEP, .step = &step[i]};
    }
    assert_int_equal(plan_check(&plan, &err), -1);
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_non_null(strstr(err.text, "loops inside each other"));
    plan.n_program = 10;
    program[9].n_step = 0;
    assert_int_equal(plan_check(&plan, NULL), 0);
}

static void run_steps(const plan_t *plan, int threads, int steps, float w[36], float m[36])
{
    err_t err = {0};
    exec_options_t options = {.threads = threads};
    exec_t *exec = exec_new(plan, &options, &err);
    if (!exec) fail_msg("%s", err.text);
    float x[512 * 6];
    for (int i = 0; i < 512 * 6; i++) x[i] = (float)rng_uniform(3, (uint64_t)i) - 0.5f;
    for (int i = 0; i < 36; i++) w[i] = m[i] = (float)(i % 7) / 8;
    int tw = plan_find_tensor(plan, ROLE_PARAM, "w"), tm = plan_find_tensor(plan, ROLE_STATE, "m");
    exec_write(exec, tw, w, 144, &err);
    exec_write(exec, tm, m, 144, &err);
    exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, "x"), x, sizeof x, &err);
    for (int i = 0; i < steps; i++)
        if (exec_run(exec, "train", &err) < 0) fail_msg("%s", err.text);
    exec_read(exec, tw, w, 144, &err);
    exec_read(exec, tm, m, 144, &err);
    exec_destroy(&exec);
}

/* What the step does, by hand. */
static void reference_step(const double *x, double *w, double *m)
{
    double c[6] = {0}, old[36];
    for (int r = 0; r < 512; r++)
        for (int j = 0; j < 6; j++) {
            double y = 0;
            for (int k = 0; k < 6; k++) y += x[r * 6 + k] * w[k * 6 + j];
            c[j] += __builtin_exp(y);
        }
    memcpy(old, m, sizeof old);
    for (int i = 0; i < 36; i++) {
        w[i] -= c[i / 6] / 1024;
        m[i] = old[i % 6 * 6 + i / 6] + c[i / 6] / 1024;
    }
}

/* w is updated in place by its own elements, m from its transpose: neither may see half-new values.
 * */
static void test_in_place(void **state)
{
    (void)state;
    size_t n;
    uint8_t *bytes = pack_text(step_text, &n);
    plan_t *plan = unpack(bytes, n);
    float w[36], m[36];
    double x[512 * 6], rw[36], rm[36];
    for (int i = 0; i < 512 * 6; i++) x[i] = (float)rng_uniform(3, (uint64_t)i) - 0.5f;
    for (int i = 0; i < 36; i++) rw[i] = rm[i] = (double)(i % 7) / 8;
    for (int steps = 1; steps <= 2; steps++) {
        run_steps(plan, 2, steps, w, m);
        reference_step(x, rw, rm);
        for (int i = 0; i < 36; i++) {
            assert_true(__builtin_fabs(w[i] - rw[i]) <= 1e-5 * (1 + __builtin_fabs(rw[i])));
            assert_true(__builtin_fabs(m[i] - rm[i]) <= 1e-5 * (1 + __builtin_fabs(rm[i])));
        }
    }
    plan_destroy(&plan);
    free(bytes);
}

/* The same thread count: the same bits, always. Kernels (all of this plan but one product of 6
 * columns, which no thread count cuts below 32 rows) do not depend on it either. */
static void test_same_bits(void **state)
{
    (void)state;
    size_t n;
    uint8_t *bytes = pack_text(step_text, &n);
    plan_t *plan = unpack(bytes, n);
    float w[4][36], m[4][36];
    static const int threads[] = {2, 2, 1, 3};
    for (int i = 0; i < 4; i++) {
        run_steps(plan, threads[i], 3, w[i], m[i]);
        assert_memory_equal(w[0], w[i], sizeof w[0]);
        assert_memory_equal(m[0], m[i], sizeof m[0]);
    }
    plan_destroy(&plan);
    free(bytes);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char foreign[] =
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = stablehlo.custom_call @mystery(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}\n";
    size_t n;
    err_t err = {0};
    assert_null(compile_text(foreign, strlen(foreign), "foreign", NULL, target_host(), &n, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "custom_call"));
    assert_non_null(strstr(err.text, "line 2"));
    err = (err_t){0};
    assert_null(compile_text(step_text, strlen(step_text), "x", NULL, "cpu:pdp11", &n, &err));
    assert_int_equal(err.code, ERR_ARG);
    err = (err_t){0};
    setenv("PCP_CC", "/nonexistent/cc", 1);
    assert_null(compile_text(step_text, strlen(step_text), "x", NULL, target_host(), &n, &err));
    unsetenv("PCP_CC");
    assert_true(err.code == ERR_IO || err.code == ERR_UNSUPPORTED);
}

static void test_stages(void **state)
{
    (void)state;
    static const compile_stage_t stages[] = {STAGE_IR, STAGE_PLAN, STAGE_C};
    static const char *const expect[] = {"stablehlo.dot_general", "gemm", "int64_t begin"};
    for (int i = 0; i < 3; i++) {
        err_t err = {0};
        char *text = compile_emit(step_text, strlen(step_text), "step", stages[i], NULL,
                                  target_host(), &err);
        if (!text) fail_msg("%s", err.text);
        assert_non_null(strstr(text, expect[i]));
        free(text);
    }
}

/* Blocks that live together never overlap; the total is no less than the busiest step and not more
 * than all blocks side by side. */
static void test_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        memory_block_t b[60];
        uint64_t sum = 0, busiest = 0;
        for (uint64_t i = 0; i < 60; i++) {
            int first = (int)(rng_bits(seed, 3 * i) % 40);
            b[i] = (memory_block_t){first, first + (int)(rng_bits(seed, 3 * i + 1) % 8),
                                    1 + rng_bits(seed, 3 * i + 2) % 5000, 0};
            sum += memory_align(b[i].n_bytes);
        }
        uint64_t total = memory_assign(b, 60, 0, 0);
        for (int step = 0; step < 48; step++) {
            uint64_t alive = 0;
            for (int i = 0; i < 60; i++)
                if (b[i].first <= step && step <= b[i].last) alive += b[i].n_bytes;
            busiest = alive > busiest ? alive : busiest;
        }
        assert_true(total >= busiest && total <= sum);
        for (int i = 0; i < 60; i++)
            for (int k = 0; k < i; k++) {
                bool together = b[i].first <= b[k].last && b[k].first <= b[i].last;
                bool apart = b[i].offset + b[i].n_bytes <= b[k].offset ||
                             b[k].offset + b[k].n_bytes <= b[i].offset;
                assert_true(!together || apart);
                assert_int_equal(b[i].offset % MEMORY_ALIGN, 0);
            }
    }
}

/* `digits` as a constant of 8 MB that a product takes. */
static void add_product(str_t *text, int number, const char *digits)
{
    str_addf(text, "  %%c%d = stablehlo.constant dense<\"0x", number);
    str_add(text, digits);
    str_addf(text,
             "\"> : tensor<2048x1024xf32>\n  %%y%d = stablehlo.dot_general %%x, %%c%d, "
             "contracting_dims = [1] x [0] : (tensor<4x2048xf32>, tensor<2048x1024xf32>) -> "
             "tensor<4x1024xf32>\n",
             number, number);
}

/* Two programs, of which the first has both constants and the second the first. */
static str_t large_text(size_t n_bytes)
{
    static const char end[] =
        "  %l = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [0, 1] : "
        "(tensor<4x1024xf32>, tensor<f32>) -> tensor<f32>\n  return %l : tensor<f32>\n}\n";
    char *digits = mem_calloc(1, 2 * n_bytes + 1);
    for (size_t i = 0; i < n_bytes / 4; i++) sprintf(digits + 8 * i, "%06x3c", (unsigned)i);
    str_t text = {0};
    for (int f = 0; f < 2; f++) {
        str_addf(&text,
                 "func.func @%s(%%x: tensor<4x2048xf32> {pcp.role = \"batch\"}) -> tensor<f32> {\n"
                 "  %%z = stablehlo.constant dense<0.0> : tensor<f32>\n",
                 f ? "other" : "main");
        digits[2 * n_bytes - 1] = 'c';
        add_product(&text, 0, digits);
        digits[2 * n_bytes - 1] = 'd';
        if (f == 0) add_product(&text, 1, digits);
        str_addf(&text, "  %%b = stablehlo.multiply %%y0, %%y%d : tensor<4x1024xf32>\n", 1 - f);
        str_add(&text, end);
    }
    free(digits);
    return text;
}

/* Constants of 8 MB, of which one is in two programs and one has another last byte: each is once in the
 * plan, and both twice in memory beside the module's own. */
static void test_large_constants(void **state)
{
#ifdef __SANITIZE_ADDRESS__ /* what is freed stays for a while */
    enum { BYTES = 8 << 20, MOST = 64 * BYTES };
#else
    enum { BYTES = 8 << 20, MOST = 8 * BYTES };
#endif
    (void)state;
    str_t text = large_text(BYTES);
    size_t n;
    err_t err = {0};
    peak_bytes();
    size_t before = peak_bytes();
    uint8_t *bytes = compile_text(text.at, text.n, "large", NULL, target_host(), &n, &err);
    size_t most = peak_bytes() - before;
    if (!bytes) fail_msg("%s", err.text);
    plan_t *plan = plan_unpack(bytes, n, &err);
    if (!plan) fail_msg("%s", err.text);
    int found[2] = {0};
    for (int i = 0; i < plan->n_constant; i++) {
        if (plan->constant[i].n_bytes != BYTES) continue;
        const uint8_t *at = plan->constant[i].bytes;
        assert_true(at[0] == 0 && at[3] == 0x3c && at[6] == 1 && at[BYTES - 4] == 0x1f);
        assert_true(at[BYTES - 1] == 0x3c || at[BYTES - 1] == 0x3d);
        found[at[BYTES - 1] & 1]++;
    }
    assert_true(found[0] == 1 && found[1] == 1);
    if (most > MOST) fail_msg("two constants of 8 MB took %zu MB", most >> 20);
    plan_destroy(&plan);
    free(bytes);
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_overlapping),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_forged_loop),
        cmocka_unit_test(test_deep_loops),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_large_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
