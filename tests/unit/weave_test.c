/* Weights woven for a matrix unit: the kernel's text against the definition, by emulation and for real; which weights
 * are woven; programs with them against the interpreter (where the unit is). */
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
#include "codegen/c/compiler.h"
#include "codegen/codegen.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "plan/lower/weave.h"
#include "plan_help.h"
#include "runtime/amx.h"
#include "runtime/code.h"

static const char amx[] = "cpu:x86-64-v4-amx";

/* --- The kernel ------------------------------------------------------------------------------- */

enum { OUT = 1 << 17, GUARD = 0x5A5A }; /* elements of an operand's room */

typedef struct {
    int64_t rows, cols;
    bool by_rows, by_cols;
} case_t;

static const case_t cases[] = {
    {64, 64, true, true}, {33, 70, true, true},   {50, 257, true, false}, {100, 32, false, true},
    {32, 32, true, true}, {160, 96, false, true}, {95, 191, true, true},
};
enum { N_CASE = sizeof cases / sizeof cases[0] };

static kernel_t *kernel_of(const case_t *c, weave_t *weave)
{
    kernel_t *kernel = kernel_new();
    *weave = (weave_t){c->rows, c->cols, {-1, -1}};
    kernel->kind = KERNEL_WEAVE;
    kernel->weave = weave;
    kernel_arg(kernel, 0, DT_F32, false);
    if (c->by_rows) weave->arg[WEAVE_BY_ROWS] = kernel_arg(kernel, 1, DT_BF16, true);
    if (c->by_cols) weave->arg[WEAVE_BY_COLS] = kernel_arg(kernel, 2, DT_BF16, true);
    return kernel;
}

static int64_t squares(int64_t n)
{
    return (n + 31) / 32;
}

/* Element (row, column) of the filled matrix; sums are over rows, or over columns. */
static void check_way(const case_t *c, const float *from, const uint16_t *woven, bool over_rows)
{
    int64_t rows = 32 * squares(c->rows), cols = 32 * squares(c->cols);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < cols; k++) {
            int64_t term = over_rows ? r : k, line = over_rows ? k : r;
            int64_t terms = over_rows ? rows : cols;
            int64_t at = (line / 32 * (terms / 2) + term / 2) * 64 + line % 32 * 2 + term % 2;
            bool inside = r < c->rows && k < c->cols;
            uint16_t want = inside ? half_to_bf16(from[r * c->cols + k]) : 0;
            if (woven[at] != want)
                fail_msg("%dx%d by %s: (%d, %d) is %04x, want %04x", (int)c->rows, (int)c->cols,
                         over_rows ? "rows" : "columns", (int)r, (int)k, woven[at], want);
        }
    for (int64_t at = rows * cols; at < rows * cols + 64; at++) assert_int_equal(woven[at], GUARD);
}

static void check_case(const case_t *c, plan_kernel_fn *fn)
{
    const size_t n = 4 * OUT + 2 * 2 * OUT;
    char *arena = aligned_alloc(64, n);
    assert_non_null(arena);
    float *from = (float *)arena;
    uint16_t *by_rows = (uint16_t *)(arena + 4 * OUT), *by_cols = by_rows + OUT;
    for (int i = 0; i < OUT; i++) from[i] = (float)(rng_uniform(5, (uint64_t)i) - 0.5);
    from[1] = __builtin_nanf("");
    from[2] = -__builtin_inff();
    from[3] = 1.00390625f; /* half way between two numbers of bf16 */
    for (int i = 0; i < 2 * OUT; i++) by_rows[i] = GUARD;
    int64_t arg[3] = {0, 4 * OUT, 4 * OUT + 2 * OUT};
    if (!c->by_rows) arg[1] = arg[2];
    int64_t extent = squares(c->rows) * squares(c->cols), half = extent / 2;
    fn(arena, arg, half, extent); /* ranges in any order */
    fn(arena, arg, 0, half);
    if (c->by_rows) check_way(c, from, by_rows, true);
    if (c->by_cols) check_way(c, from, by_cols, false);
    assert_int_equal(c->by_rows ? GUARD : by_rows[0], GUARD);
    assert_int_equal(c->by_cols ? GUARD : by_cols[0], GUARD);
    free(arena);
}

static void check_kernels(bool emulated)
{
    kernel_t *kernel[N_CASE];
    const kernel_t *list[N_CASE];
    weave_t weave[N_CASE];
    codegen_t gen;
    err_t err = {0};
    size_t n = 0;
    for (int i = 0; i < N_CASE; i++) list[i] = kernel[i] = kernel_of(&cases[i], &weave[i]);
    assert_int_equal(codegen_init(&gen, target_find(amx, &err), N_CASE, list, &err), 0);
    uint8_t *bytes = amx_compile(&gen, emulated, &n, &err);
    code_t *code = bytes ? code_load(bytes, n, &err) : NULL;
    if (!code) fail_msg("%s", err.text);
    for (int i = 0; i < N_CASE; i++) {
        plan_kernel_fn *fn;
        void *address = code_symbol(code, gen.name[gen.symbol[i]], &err);
        memcpy(&fn, &address, sizeof fn);
        check_case(&cases[i], fn);
        kernel_destroy(&kernel[i]);
    }
    codegen_fini(&gen);
    code_destroy(&code);
    free(bytes);
}

static void test_kernel(void **state)
{
    (void)state;
    check_kernels(true);
    if (target_runs_here(amx, NULL) < 0)
        print_message("%s does not run here: by emulation alone\n", amx);
    else
        check_kernels(false);
}

/* --- Programs --------------------------------------------------------------------------------- */

/* y = x w, dx = d w^T: w in both ways. `more` and `results` say what else the program has. */
#define PROGRAM(m, more, result, type)                                                         \
    "func.func public @f(%x: tensor<" m "x70xf32>, %w: tensor<70x100xf32>, %d: tensor<" m      \
    "x100xf32>) -> (tensor<" m "x100xf32>, tensor<" m "x70xf32>" type ") {\n"                  \
    "  %wb = stablehlo.convert %w : (tensor<70x100xf32>) -> tensor<70x100xbf16>\n"             \
    "  %xb = stablehlo.convert %x : (tensor<" m "x70xf32>) -> tensor<" m "x70xbf16>\n"         \
    "  %db = stablehlo.convert %d : (tensor<" m "x100xf32>) -> tensor<" m "x100xbf16>\n"       \
    "  %y = stablehlo.dot_general %xb, %wb, contracting_dims = [1] x [0] : (tensor<" m         \
    "x70xbf16>, tensor<70x100xbf16>) -> tensor<" m "x100xf32>\n"                               \
    "  %t = stablehlo.transpose %wb, dims = [1, 0] : (tensor<70x100xbf16>) -> "                \
    "tensor<100x70xbf16>\n"                                                                    \
    "  %g = stablehlo.dot_general %db, %t, contracting_dims = [1] x [0] : (tensor<" m          \
    "x100xbf16>, tensor<100x70xbf16>) -> tensor<" m "x70xf32>\n" more "  return %y, %g" result \
    " : tensor<" m "x100xf32>, tensor<" m "x70xf32>" type "\n}\n"

static void check_woven(const char *text, bool want)
{
    err_t err = {0};
    char *plan = compile_emit(text, strlen(text), "t", STAGE_PLAN, NULL, amx, &err);
    if (!plan) fail_msg("%s", err.text);
    bool woven = strstr(plan, "weave 70x100 by rows by columns") != NULL;
    assert_int_equal(strstr(plan, "weave") != NULL, woven);
    if (woven != want) fail_msg("woven: %d, want %d, in\n%s", woven, want, plan);
    free(plan);
    plan_check_text(text, 3, 5, 1e-5);
}

static void test_programs(void **state)
{
    (void)state;
    if (target_runs_here(amx, NULL) == 0) assert_int_equal(amx_enable(NULL), 0);
    check_woven(PROGRAM("48", "", "", ""), true);
    check_woven(PROGRAM("4200", "", "", ""), false);                         /* too many rows */
    check_woven(PROGRAM("48", "", ", %wb", ", tensor<70x100xbf16>"), false); /* read as it is */
    check_woven(PROGRAM("48",
                        "  %s = stablehlo.slice %wb [0:40, 0:100] : (tensor<70x100xbf16>) -> "
                        "tensor<40x100xbf16>\n"
                        "  %h = stablehlo.dot_general %db, %s, contracting_dims = [1] x [1] : "
                        "(tensor<48x100xbf16>, tensor<40x100xbf16>) -> tensor<48x40xf32>\n",
                        ", %h", ", tensor<48x40xf32>"),
                false); /* and a part of it */
    check_woven(PROGRAM("48",
                        "  %h = stablehlo.dot_general %wb, %wb, contracting_dims = [1] x [1] : "
                        "(tensor<70x100xbf16>, tensor<70x100xbf16>) -> tensor<70x70xf32>\n",
                        ", %h", ", tensor<70x70xf32>"),
                false); /* as the left side, too */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
