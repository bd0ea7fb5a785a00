/* Generated matrix products against sums in doubles: random sizes, transposes, strides, batches,
 * accumulation, bf16 operands, every target that runs here; the same bits for every cut; nothing
 * else touched. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "amx_emulation.h"
#include "base/half.h"
#include "base/rng.h"
#include "base/str.h"
#include "codegen/c/compiler.h"
#include "codegen/c/tile.h"
#include "codegen/codegen.h"
#include "codegen/target.h"
#include "plan/format/check.h"
#include "runtime/amx.h"
#include "runtime/code.h"
#include "runtime/pool.h"

enum { MAX_CASE = 40 };

typedef struct {
    product_t product;
    int64_t n_bytes;
    kernel_t *kernel;
    plan_kernel_fn *fn;
} case_t;

static int64_t draw(uint64_t seed, uint64_t i, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(rng_bits(seed, i) % (uint64_t)(hi - lo + 1));
}

/* Sets strides of one operand, entries one after another or as heads side by side; returns the
 * elements it needs. */
static int64_t lay_out(const plan_gemm_step_t *s, bool heads, int64_t pad, int64_t rows,
                       int64_t columns, int64_t *ld, int64_t *stride, int64_t *inner)
{
    *inner = heads ? columns : rows * (columns + pad);
    *ld = heads ? columns * s->inner + pad : columns + pad;
    *stride = heads ? rows * *ld : *inner * s->inner;
    return *stride * s->batch + 16;
}

static void finish_case(case_t *c, bool heads, int64_t pad)
{
    plan_gemm_step_t *s = &c->product.step;
    s->b = 4 * lay_out(s, heads, pad, s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, &s->lda,
                       &s->stride_a, &s->inner_a);
    s->c = s->b + 4 * lay_out(s, heads, pad, s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n,
                              &s->ldb, &s->stride_b, &s->inner_b);
    c->n_bytes = s->c + 4 * lay_out(s, heads, pad, s->m, s->n, &s->ldc, &s->stride_c, &s->inner_c);
}

/* Mostly small sizes, sometimes beyond the blocks of rows, columns and terms. */
static int64_t draw_size(uint64_t seed, uint64_t i)
{
    int64_t kind = draw(seed, i, 0, 9);
    if (kind < 2) return draw(seed, i + 100, 1, 4);
    return kind < 8 ? draw(seed, i + 100, 5, 70) : draw(seed, i + 100, 200, 530);
}

static void draw_case(case_t *c, bool bf16, uint64_t seed)
{
    plan_gemm_step_t *s = &c->product.step;
    *s = (plan_gemm_step_t){
        .dtype = DT_F32, .m = draw_size(seed, 1), .n = draw_size(seed, 2), .k = draw_size(seed, 3)};
    s->bf16 = bf16;
    bool big = s->m * s->n * s->k > 1 << 20;
    s->batch = big ? 1 : draw(seed, 4, 1, 3);
    s->inner = big ? 1 : draw(seed, 5, 1, 3);
    s->trans_a = draw(seed, 6, 0, 1);
    s->trans_b = draw(seed, 7, 0, 1);
    s->accumulate = draw(seed, 8, 0, 1);
    finish_case(c, draw(seed, 9, 0, 1), draw(seed, 10, 0, 2));
    if (draw(seed, 11, 0, 3) == 0) s->stride_b = s->inner_b = 0; /* one B for all entries */
}

/* Shapes for the rules that random ones rarely meet: many parts, rows a page apart. */
static const struct {
    int64_t batch, m, n, k, pad;
    bool trans_a, trans_b;
} hand[] = {
    {1, 300, 65, 64, 0, false, true},    {1, 64, 300, 600, 0, true, false},
    {40, 32, 16, 32, 0, true, false},    {40, 33, 17, 9, 0, false, true},
    {1, 40, 40, 512, 0, false, true},    {1, 50, 70, 511, 1, false, false},
    {1, 512, 33, 20, 0, true, false},    {1, 1, 500, 40, 0, false, false},
    {1, 530, 270, 300, 1, true, false},  {1, 515, 257, 20, 0, true, true},
    {1, 70, 300, 64, 0, false, false},   {1, 1056, 1024, 24, 0, true, false},
    {1, 1030, 1040, 20, 0, false, true},
};
enum { N_HAND = sizeof hand / sizeof hand[0] };

static void hand_case(case_t *c, bool bf16, int i)
{
    c->product.step = (plan_gemm_step_t){.dtype = DT_F32,
                                         .batch = hand[i].batch,
                                         .inner = 1,
                                         .m = hand[i].m,
                                         .n = hand[i].n,
                                         .k = hand[i].k,
                                         .trans_a = hand[i].trans_a,
                                         .trans_b = hand[i].trans_b,
                                         .bf16 = bf16};
    finish_case(c, false, hand[i].pad);
}

/* Of cases that are cut. */
static code_t *compile_cut(case_t *cases, int n, const char *target, bool emulated)
{
    const kernel_t *kernels[MAX_CASE];
    codegen_t gen;
    err_t err = {0};
    size_t n_bytes = 0;
    for (int i = 0; i < n; i++) {
        kernels[i] = cases[i].kernel = kernel_new();
        cases[i].kernel->kind = KERNEL_PRODUCT;
        cases[i].kernel->product = &cases[i].product;
        cases[i].product.step.parts = tiles_n_part(&cases[i].product);
    }
    assert_int_equal(codegen_init(&gen, target_find(target, &err), n, kernels, &err), 0);
    uint8_t *bytes = amx_compile(&gen, emulated, &n_bytes, &err);
    code_t *code = bytes ? code_load(bytes, n_bytes, &err) : NULL;
    if (!code) fail_msg("%s", err.text);
    for (int i = 0; i < n; i++) {
        void *address = code_symbol(code, gen.name[gen.symbol[i]], &err);
        assert_non_null(address);
        memcpy(&cases[i].fn, &address, sizeof address);
        kernel_destroy(&cases[i].kernel);
    }
    codegen_fini(&gen);
    free(bytes);
    return code;
}

static code_t *compile(case_t *cases, int n, const char *target, bool emulated)
{
    for (int i = 0; i < n; i++)
        assert_true(
            tiles_cut(&cases[i].product.tiles, &cases[i].product.step, target_caps(target)));
    return compile_cut(cases, n, target, emulated);
}

static code_t *compile_summed(case_t *c, const char *target, bool emulated)
{
    assert_true(tiles_cut(&c->product.tiles, &c->product.step, target_caps(target)));
    c->product.tiles.stream_c = c->product.tiles.squares = true;
    return compile_cut(c, 1, target, emulated);
}

static void compile_only(case_t *c, const char *target)
{
    codegen_t gen;
    err_t err = {0};
    size_t n = 0;
    assert_true(tiles_cut(&c->product.tiles, &c->product.step, target_caps(target)));
    const kernel_t *kernel = c->kernel = kernel_new();
    c->kernel->kind = KERNEL_PRODUCT;
    c->kernel->product = &c->product;
    assert_int_equal(codegen_init(&gen, target_find(target, &err), 1, &kernel, &err), 0);
    uint8_t *bytes = codegen_compile(&gen, &n, &err);
    if (!bytes) fail_msg("%s", err.text);
    kernel_destroy(&c->kernel);
    codegen_fini(&gen);
    free(bytes);
}

typedef struct {
    const case_t *c;
    char *arena;
} run_t;

static void run_part(void *context, int64_t begin, int64_t end, int worker)
{
    const run_t *run = context;
    const plan_gemm_step_t *s = &run->c->product.step;
    (void)worker;
    run->c->fn(run->arena, (const int64_t[]){s->a, s->b, s->c}, begin, end);
}

/* Element i of the operand at `at` bytes. */
static double operand(const float *x, const plan_gemm_step_t *s, int64_t at, int64_t i)
{
    const char *bytes = (const char *)x + at;
    return s->bf16 ? (double)half_from_bf16(((const uint16_t *)bytes)[i])
                   : (double)((const float *)bytes)[i];
}

static double entry(const float *x, const plan_gemm_step_t *s, int64_t e, int64_t i, int64_t j)
{
    int64_t o = e / s->inner, h = e % s->inner;
    int64_t a = o * s->stride_a + h * s->inner_a, b = o * s->stride_b + h * s->inner_b;
    double sum = 0;
    for (int64_t p = 0; p < s->k; p++)
        sum += operand(x, s, s->a, a + (s->trans_a ? p * s->lda + i : i * s->lda + p)) *
               operand(x, s, s->b, b + (s->trans_b ? j * s->ldb + p : p * s->ldb + j));
    return sum;
}

/* The largest deviation in units of k roundings; `got` becomes `before` again where C lies. */
static double deviation(const plan_gemm_step_t *s, const float *before, float *got)
{
    double worst = 0;
    for (int64_t x = 0; x < s->batch * s->inner * s->m * s->n; x++) {
        int64_t e = x / (s->m * s->n), i = x / s->n % s->m, j = x % s->n;
        int64_t at = s->c / 4 + e / s->inner * s->stride_c + e % s->inner * s->inner_c +
                     i * s->ldc + j;
        double want = entry(before, s, e, i, j) + (s->accumulate ? (double)before[at] : 0);
        double off = fabs((double)got[at] - want) / (6e-8 * (double)(s->k + 4));
        if (!(off <= worst)) worst = off;
        got[at] = before[at];
    }
    return worst;
}

/* B of the matrix at `from` as the definition of plan_gemm_step_t.woven says. */
static void weave_b(const plan_gemm_step_t *s, char *to, const char *from)
{
    const uint16_t *matrix = (const uint16_t *)(from + s->b);
    uint16_t *woven = (uint16_t *)(to + s->b);
    int64_t entries = s->stride_b > 0 ? s->batch : 1, rows = plan_woven_rows(s);
    memset(woven, 0, 2 * (size_t)plan_woven_count(s));
    for (int64_t t = 0; t < entries * s->k; t++)
        for (int64_t j = 0; j < s->n; j++)
            woven[(j / 32 * rows + t / 2 * 2) * 32 + j % 32 * 2 + t % 2] =
                matrix[s->trans_b ? j * s->ldb + t : t * s->ldb + j];
}

/* Below a half; one of eight small, down to nothing. */
static float number(size_t i)
{
    double x = rng_uniform(7, i) - 0.5;
    return (float)(i % 8 ? x : ldexp(x, (int)(-150 * rng_uniform(9, i))));
}

static double check_case(const case_t *c)
{
    size_t n = (size_t)c->n_bytes;
    const size_t lines = (n + 63) / 64 * 64;
    float *before = aligned_alloc(64, lines), *got = aligned_alloc(64, lines),
          *again = aligned_alloc(64, lines);
    err_t err = {0};
    if (plan_check_gemm(&c->product.step, n, &err) < 0) fail_msg("%s", err.text);
    for (size_t i = 0; i < n / 4; i++) before[i] = number(i);
    for (size_t i = 0; c->product.step.bf16 && i < (size_t)c->product.step.c / 2; i++)
        ((uint16_t *)before)[i] = half_to_bf16(rng_uniform(8, i) - 0.5);
    for (int threads = 0; threads < 4; threads++) {
        run_t run = {c, (char *)(threads ? again : got)};
        memcpy(run.arena, before, n);
        if (c->product.step.woven) weave_b(&c->product.step, run.arena, (const char *)before);
        int64_t parts = tiles_n_part(&c->product);
        pool_t *pool = pool_new(threads ? threads : 1, false, NULL);
        if (threads < 3)
            pool_run(pool, run_part, &run, parts, 1);
        else /* one part at a time */
            for (int64_t i = parts; i-- > 0;) run_part(&run, i, i + 1, 0);
        pool_destroy(&pool);
        if (threads) assert_memory_equal(got, again, n);
    }
    double worst = deviation(&c->product.step, before, got);
    size_t b = (size_t)c->product.step.b / 4, c_at = (size_t)c->product.step.c / 4;
    if (c->product.step.woven) memcpy(got + b, before + b, 4 * (c_at - b));
    assert_memory_equal(got, before, n); /* nothing beside C was touched */
    free(before);
    free(got);
    free(again);
    return worst;
}

static void check_cases(const char *target, bool bf16, bool emulated, case_t *cases, int n)
{
    double worst = 0;
    code_t *code = compile(cases, n, target, emulated);
    for (int i = 0; i < n; i++) {
        double off = check_case(&cases[i]);
        const plan_gemm_step_t *s = &cases[i].product.step;
        if (!(off < 1))
            fail_msg("%s%s: case %d, %c%c %dx%dx%d: %g roundings a term", target,
                     bf16 ? " bf16" : "", i, s->trans_a ? 't' : 'n', s->trans_b ? 't' : 'n',
                     (int)s->m, (int)s->n, (int)s->k, off);
        if (off > worst) worst = off;
    }
    print_message("%s%s%s: %d products, largest deviation %.3f roundings a term\n", target,
                  bf16 ? ", bf16" : "", emulated ? ", emulated" : "", n, worst);
    code_destroy(&code);
}

static bool runs(const char *target, bool emulated)
{
    bool known = emulated || target_runs_here(target, NULL) == 0;
    if (!known) print_message("%s does not run here: skipped\n", target);
    return known;
}

static void check_target(const char *target, bool bf16, bool emulated, int n_random, uint64_t seed)
{
    case_t cases[MAX_CASE] = {0};
    if (!runs(target, emulated)) return;
    for (int i = 0; i < N_HAND; i++) hand_case(&cases[i], bf16, i);
    for (int i = 0; i < n_random; i++) draw_case(&cases[N_HAND + i], bf16, seed + (uint64_t)i);
    check_cases(target, bf16, emulated, cases, N_HAND + n_random);
}

static void test_host(void **state)
{
    (void)state;
    if (target_caps(target_host()).matrix) assert_int_equal(amx_enable(NULL), 0);
    check_target(target_host(), false, false, 24, 100);
}

/* Large results past the caches, in whole lines ({1056, 1024, 24}: they lie so) or not ({1030, 1040, 20}). */
static void test_past(void **state)
{
    static const char target[] = "cpu:x86-64-v4-2m";
    case_t cases[MAX_CASE] = {0};
    int n_past = 0, n_whole = 0;
    (void)state;
    for (int i = 0; i < N_HAND; i++) {
        tiles_t tiles;
        hand_case(&cases[i], false, i);
        assert_true(tiles_cut(&tiles, &cases[i].product.step, target_caps(target)));
        n_past += tiles.stream_c;
        n_whole += tiles.stream_c && cases[i].product.step.c % 64 == 0;
    }
    assert_true(n_past == 2 && n_whole == 1);
    check_target(target, false, false, 24, 600);
}

static void test_bf16(void **state)
{
    (void)state;
    check_target("cpu:x86-64-v4-bf16", true, false, 16, 400);
}

/* Copies of both operands, and of the next block asked for ahead. */
static void test_wide(void **state)
{
    (void)state;
    check_target("cpu:x86-64-v4-bf16-wide", false, false, 24, 100);
    check_target("cpu:x86-64-v4-bf16-wide", true, false, 16, 100);
}

/* The matrix unit: layouts and edges by emulation anywhere, then by the instructions. */
static void test_amx(void **state)
{
    static const char target[] = "cpu:x86-64-v4-amx";
    (void)state;
    check_target(target, true, true, 8, 500);
    if (target_runs_here(target, NULL) == 0) assert_int_equal(amx_enable(NULL), 0);
    check_target(target, true, false, 16, 500);
}

/* The same for operands of f32 in pieces: shapes that pay for it, and others beside them. */
static void test_split(void **state)
{
    static const char target[] = "cpu:x86-64-v4-amx";
    (void)state;
    check_target(target, false, true, 8, 600);
    if (target_runs_here(target, NULL) == 0) assert_int_equal(amx_enable(NULL), 0);
    check_target(target, false, false, 24, 600);
}

/* Rows, columns and sums that are no multiples of tiles, several blocks of the sum and parts, rows of A a page apart,
 * parts of a sum, one B for all entries. */
static const struct {
    int64_t batch, m, n, k;
    bool trans_a, trans_b, accumulate, one_b;
} woven[] = {
    {1, 64, 64, 64, false, false, false, false},   {1, 33, 70, 75, false, true, false, false},
    {1, 300, 100, 600, false, false, true, false}, {1, 520, 410, 300, false, true, false, false},
    {1, 40, 800, 257, true, false, false, false},  {1, 70, 90, 1024, false, true, false, false},
    {4, 48, 96, 64, false, false, false, false},   {3, 50, 40, 90, true, false, true, true},
    {1, 16, 33, 32, false, true, false, false},    {1, 290, 1100, 256, false, false, false, false},
};
enum { N_WOVEN = sizeof woven / sizeof woven[0] };

static void woven_case(case_t *c, int i)
{
    plan_gemm_step_t *s = &c->product.step;
    *s = (plan_gemm_step_t){.dtype = DT_F32, .inner = 1, .bf16 = true, .woven = true};
    s->batch = woven[i].batch, s->m = woven[i].m, s->n = woven[i].n, s->k = woven[i].k;
    s->trans_a = woven[i].trans_a, s->trans_b = woven[i].trans_b;
    s->accumulate = woven[i].accumulate;
    finish_case(c, false, 0);
    if (woven[i].one_b) s->stride_b = 0;
    int64_t more = 2 * plan_woven_count(s); /* zeros may take more than pads */
    s->c += more;
    c->n_bytes += more;
}

static void test_woven(void **state)
{
    static const char target[] = "cpu:x86-64-v4-amx";
    (void)state;
    for (int emulated = 1; emulated >= 0; emulated--) {
        case_t cases[MAX_CASE] = {0};
        if (!runs(target, emulated)) continue;
        if (!emulated) assert_int_equal(amx_enable(NULL), 0);
        for (int i = 0; i < N_WOVEN; i++) woven_case(&cases[i], i);
        check_cases(target, true, emulated, cases, N_WOVEN);
    }
}

/* C past the caches, in whole lines or not, with the sum of squares of each tile. */
static void check_squares(const char *target, bool emulated, int64_t shift)
{
    case_t c = {0};
    plan_gemm_step_t *s = &c.product.step;
    *s = (plan_gemm_step_t){.dtype = DT_F32, .batch = 1, .inner = 1, .bf16 = true, .trans_a = true};
    s->m = 64, s->n = 96, s->k = 44;
    finish_case(&c, false, 0);
    s->c = (s->c + 63) / 64 * 64 + shift;
    int64_t sums = s->c + 4 * s->m * s->n, n_tile = s->m * s->n / 1024;
    c.n_bytes = sums + 4 * n_tile + 64;
    code_t *code = compile_summed(&c, target, emulated);
    char *arena = aligned_alloc(64, (size_t)(c.n_bytes + 63) / 64 * 64);
    assert_non_null(arena);
    for (int64_t i = 0; i < s->c / 2; i++)
        ((uint16_t *)arena)[i] = half_to_bf16(rng_uniform(8, (uint64_t)i) - 0.5);
    for (int64_t part = tiles_n_part(&c.product); part-- > 0;)
        c.fn(arena, (const int64_t[]){s->a, s->b, s->c, sums}, part, part + 1);
    for (int64_t t = 0; t < n_tile; t++) {
        double want = 0;
        float got;
        for (int64_t x = 0; x < 1024; x++) {
            int64_t i = t / (s->n / 32) * 32 + x / 32, j = t % (s->n / 32) * 32 + x % 32;
            double element = entry((const float *)arena, s, 0, i, j);
            float written;
            memcpy(&written, arena + s->c + 4 * (i * s->n + j), 4);
            assert_true(fabs(written - element) < 1e-5);
            want += element * element;
        }
        memcpy(&got, arena + sums + 4 * t, 4);
        if (!(fabs(got - want) < 1e-5 * want))
            fail_msg("squares of tile %d: %g, want %g", (int)t, (double)got, want);
    }
    free(arena);
    code_destroy(&code);
}

static void test_squares(void **state)
{
    static const char target[] = "cpu:x86-64-v4-amx";
    (void)state;
    for (int emulated = 1; emulated >= 0; emulated--) {
        if (!runs(target, emulated)) continue;
        if (!emulated) assert_int_equal(amx_enable(NULL), 0);
        check_squares(target, emulated, 0);
        check_squares(target, emulated, 4);
    }
}

/* What cannot be woven, or ends behind the arena, is no plan. */
static void test_woven_refused(void **state)
{
    case_t c = {0};
    err_t err = {0};
    plan_gemm_step_t *s = &c.product.step;
    (void)state;
    woven_case(&c, 0);
    s->parts = 1;
    uint64_t n = (uint64_t)c.n_bytes;
    assert_int_equal(plan_check_gemm(s, n, &err), 0);
    s->inner = 2;
    assert_int_equal(plan_check_gemm(s, 4 * n, &err), -1);
    assert_non_null(strstr(err.text, "cannot be woven"));
    s->inner = 1;
    s->n = s->k = 33; /* as a matrix it ends before the arena does */
    s->ldb = 33;
    s->b = (int64_t)n - 2 * 33 * 33 - 2;
    assert_int_equal(plan_check_gemm(s, n, &err), -1);
    assert_non_null(strstr(err.text, "woven, ends beyond"));
    s->b = 0;
    assert_int_equal(plan_check_gemm(s, n, &err), 0);
    s->batch = 2; /* entries that do not begin with a whole block of pairs */
    s->stride_b = s->k * s->ldb;
    s->stride_c = s->m * s->ldc;
    assert_int_equal(plan_check_gemm(s, 4 * n, &err), -1);
    assert_non_null(strstr(err.text, "cannot be woven"));
}

/* That the assembler takes it, where it cannot run. */
static void test_amx_compiles(void **state)
{
    case_t c = {0};
    (void)state;
#if defined(__x86_64__)
    hand_case(&c, true, 0);
    compile_only(&c, "cpu:x86-64-v4-amx");
#else
    (void)c;
    skip();
#endif
}

static void test_lower_targets(void **state)
{
    static const char *const targets[] = {"cpu:x86-64-v2", "cpu:x86-64-v3"};
    (void)state;
    for (int i = 0; i < 2; i++) check_target(targets[i], false, false, 4, 200 + 50 * (uint64_t)i);
}

/* Equal helpers are one. */
static void test_helpers(void **state)
{
    helpers_t helpers = {0};
    tile_t tile = {
        .lanes = 16, .rows = 4, .cols = 32, .a_row = 64, .a_sum = 1, .b_sum = 32, .c_row = 32};
    (void)state;
    const char *first = tile_function(&helpers, &tile);
    assert_ptr_equal(first, tile_function(&helpers, &tile));
    tile.rows = 5;
    assert_string_not_equal(first, tile_function(&helpers, &tile));
    assert_int_equal(helpers.helper.n, 2);
    helpers_fini(&helpers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),          cmocka_unit_test(test_past),
        cmocka_unit_test(test_bf16),          cmocka_unit_test(test_amx),
        cmocka_unit_test(test_split),         cmocka_unit_test(test_woven),
        cmocka_unit_test(test_woven_refused), cmocka_unit_test(test_squares),
        cmocka_unit_test(test_amx_compiles),  cmocka_unit_test(test_lower_targets),
        cmocka_unit_test(test_helpers),       cmocka_unit_test(test_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
