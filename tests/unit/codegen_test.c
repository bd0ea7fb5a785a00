/* The expression graph against plain arithmetic, and the C that kernels become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "codegen/c/compiler.h"
#include "codegen/codegen.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "plan/kernel/kernel.h"

/* --- index arithmetic --- */

enum { VARS = 4 };

/* The value of a variable from those of the roots: parts are quotients and remainders. */
static int64_t var_value(const kx_graph_t *g, int v, const int64_t *root)
{
    const kx_var_t *x = &g->var.at[v];
    if (x->parent < 0) return root[v];
    int64_t whole = var_value(g, x->parent, root), lo = g->var.at[g->var.at[x->parent].lo].extent;
    return g->var.at[x->parent].lo == v ? whole % lo : whole / lo;
}

static int64_t value_of(const kx_graph_t *g, kx_t x, const int64_t *root)
{
    const kx_node_t *n = &g->node.at[x];
    int64_t sum = n->i;
    switch (n->kind) {
    case KX_NUMBER: return n->i;
    case KX_VAR: return var_value(g, (int)n->i, root);
    case KX_DIV: return value_of(g, n->in[0], root) / n->i;
    case KX_MOD: return value_of(g, n->in[0], root) % n->i;
    case KX_GE0: return value_of(g, n->in[0], root) >= 0;
    case KX_SELECT: return value_of(g, n->in[value_of(g, n->in[0], root) ? 1 : 2], root);
    case KX_MAP:
        assert_int_equal(n->op, OP_and);
        return value_of(g, n->in[0], root) && value_of(g, n->in[1], root);
    case KX_AFFINE:
        for (int t = 0; t < n->n_in; t++) sum += n->coef[t] * value_of(g, n->in[t], root);
        return sum;
    default: fail_msg("node of kind %d", (int)n->kind); return 0;
    }
}

/* A random non-negative expression and, in *want, what it is at `root`. */
static kx_t draw(kx_graph_t *g, const kx_t *vars, const int64_t *root, uint64_t seed, int64_t *want)
{
    static const int64_t divisors[] = {2, 3, 4, 6, 8, 12, 16, 24};
    kx_t x = vars[rng_bits(seed, 0) % VARS];
    *want = root[g->node.at[x].i];
    for (uint64_t i = 1; i < 9; i++) {
        int64_t k = (int64_t)(rng_bits(seed, 3 * i) % 7);
        int64_t d = divisors[rng_bits(seed, 3 * i + 1) % 8];
        int v = (int)(rng_bits(seed, 3 * i + 2) % VARS);
        switch (rng_bits(seed, 100 + i) % 4) {
        case 0: x = kx_add(g, x, kx_scale(g, vars[v], k)), *want += k * root[v]; break;
        case 1: x = kx_div(g, x, d), *want /= d; break;
        case 2: x = kx_mod(g, x, d * 4), *want %= d * 4; break;
        default: x = kx_addi(g, kx_scale(g, x, k), k), *want = *want * k + k; break;
        }
    }
    return x;
}

static void test_index_arithmetic(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        kx_graph_t g;
        kx_init(&g);
        kx_t vars[VARS];
        static const int64_t extent[VARS] = {48, 12, 7, 64};
        int64_t root[VARS], want;
        for (int v = 0; v < VARS; v++) {
            vars[v] = kx_var(&g, extent[v], NULL);
            root[v] = (int64_t)(rng_bits(seed, 200 + (uint64_t)v) % (uint64_t)extent[v]);
        }
        kx_t x = draw(&g, vars, root, seed, &want);
        assert_int_equal(value_of(&g, x, root), want);
        assert_true(g.node.at[x].lo <= want && want <= g.node.at[x].hi);
        kx_t in = kx_within(&g, x, want - 1, want + 1);
        assert_int_equal(value_of(&g, in, root), 1);
        assert_int_equal(value_of(&g, kx_select(&g, in, x, vars[0]), root), want);
        kx_fini(&g);
    }
}

/* Taking a position apart and putting it together again leaves nothing to compute. */
static void test_reshapes_vanish(void **state)
{
    (void)state;
    kx_graph_t g;
    kx_init(&g);
    kx_t row = kx_var(&g, 2048, NULL), col = kx_var(&g, 192, NULL), index[4], swapped[4];
    kx_t linear = kx_add(&g, kx_scale(&g, row, 192), col);
    const int64_t heads[] = {64, 32, 12, 16}, turned[] = {64, 12, 32, 16};
    kx_unlinear(&g, linear, 4, heads, index);
    assert_int_equal(kx_linear(&g, 4, heads, index), linear);
    for (int d = 0; d < 4; d++) {
        assert_true(g.node.at[index[d]].kind == KX_VAR);
        swapped[d] = index[d == 1 ? 2 : d == 2 ? 1 : d];
    }
    kx_t there = kx_linear(&g, 4, turned, swapped);
    kx_unlinear(&g, there, 4, turned, index);
    for (int d = 0; d < 4; d++) assert_int_equal(index[d], swapped[d]);
    assert_int_equal(kx_sub(&g, linear, linear), kx_int(&g, 0));
    assert_int_equal(kx_within(&g, col, 0, 192), kx_number(&g, DT_I1, 0, 1));
    kx_fini(&g);
}

static void test_identities(void **state)
{
    (void)state;
    kx_graph_t g;
    kx_init(&g);
    kx_t i = kx_var(&g, 10, NULL), x = kx_load(&g, 0, DT_F32, i), two = kx_number(&g, DT_F32, 2, 0);
    kx_t square = kx_map(&g, OP_multiply, DT_F32, 2, (kx_t[]){x, x});
    assert_int_equal(kx_map(&g, OP_power, DT_F32, 2, (kx_t[]){x, two}), square);
    assert_int_equal(kx_load(&g, 0, DT_F32, i), x);
    assert_int_not_equal(kx_load(&g, 1, DT_F32, i), x);
    assert_int_equal(kx_convert(&g, kx_convert(&g, i, DT_I32), DT_I64), i);
    assert_int_equal(kx_convert(&g, x, DT_F32), x);
    kx_t p = kx_compare(&g, CMP_LT, i, kx_int(&g, 4));
    kx_t one = kx_number(&g, DT_F32, 1, 0), zero = kx_number(&g, DT_F32, 0, 0);
    kx_t mask = kx_select(&g, p, one, zero);
    assert_int_equal(kx_compare(&g, CMP_NE, mask, zero), p);
    assert_int_equal(kx_compare(&g, CMP_EQ, mask, zero), kx_compare(&g, CMP_GE, i, kx_int(&g, 4)));
    kx_t clamped = kx_map(&g, OP_clamp, DT_I64, 3, (kx_t[]){kx_int(&g, 0), i, kx_int(&g, 9)});
    assert_int_equal(clamped, i);
    kx_fini(&g);
}

/* --- C --- */

static char *emit_c(const char *text)
{
    err_t err = {0};
    char *c = compile_emit(text, strlen(text), "test", STAGE_C, NULL, target_host(), &err);
    if (!c) fail_msg("%s", err.text);
    return c;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++) n++;
    return n;
}

/* y = tanh(x + b) over rows is one kernel: the bias by column, no division, one vector loop. */
static void test_golden_kernel(void **state)
{
    (void)state;
    char *c = emit_c(
        "func.func @main(%a: tensor<8x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {\n"
        "  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>\n"
        "  %1 = stablehlo.add %a, %0 : tensor<8x32xf32>\n  %2 = stablehlo.tanh %1 : "
        "tensor<8x32xf32>\n"
        "  return %2 : tensor<8x32xf32>\n}\n");
    static const char body[] = "    for (int64_t i1 = begin; i1 < end; i1++) {\n"
                               "#pragma omp simd\n"
                               "        for (int64_t i2 = INT64_C(0); i2 < INT64_C(32); i2++) {\n"
                               "            const float t1 = a0[(i1 * 32 + i2)];\n"
                               "            const float t2 = a1[i2];\n"
                               "            const float t3 = pcp_add_f32(t1, t2);\n"
                               "            const float t4 = pcp_tanh_f32(t3);\n"
                               "            a2[(i1 * 32 + i2)] = (t4);\n"
                               "        }\n"
                               "    }\n";
    if (!strstr(c, body)) fail_msg("%s", strstr(c, "\nvoid k0_"));
    assert_int_equal(count(c, "\nvoid k"), 1);
    free(c);
}

/* What was rounded to bf16 is stored as it is. */
static void test_rounds_once(void **state)
{
    (void)state;
    char *c = emit_c("func.func @main(%x: tensor<8x32xf32>) -> tensor<8x32xbf16> {\n"
                     "  %0 = stablehlo.tanh %x : tensor<8x32xf32>\n"
                     "  %1 = stablehlo.convert %0 : (tensor<8x32xf32>) -> tensor<8x32xbf16>\n"
                     "  return %1 : tensor<8x32xbf16>\n}\n");
    const char *kernel = strstr(c, "\nvoid k0_");
    assert_non_null(kernel);
    assert_int_equal(count(kernel, "= kc_round_bf16("), 1);
    assert_int_equal(count(kernel, "= pcp_bf16_of_f32("), 1);
    assert_int_equal(count(kernel, "pcp_bf16_from_f32("), 0);
    free(c);
}

/* A softmax is one kernel of three passes over a row that is kept beside; nothing is divided twice.
 * */
static void test_softmax_is_one_kernel(void **state)
{
    (void)state;
    char *c = emit_c("func.func @main(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {\n"
                     "  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n  %z = "
                     "stablehlo.constant dense<0.0> : tensor<f32>\n"
                     "  %m = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across "
                     "dimensions = [1] : (tensor<64x48xf32>, tensor<f32>) -> tensor<64xf32>\n"
                     "  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> "
                     "tensor<64x48xf32>\n"
                     "  %d = stablehlo.subtract %x, %mb : tensor<64x48xf32>\n  %e = "
                     "stablehlo.exponential %d : tensor<64x48xf32>\n"
                     "  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions "
                     "= [1] : (tensor<64x48xf32>, tensor<f32>) -> tensor<64xf32>\n"
                     "  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> "
                     "tensor<64x48xf32>\n"
                     "  %p = stablehlo.divide %e, %sb : tensor<64x48xf32>\n  return %p : "
                     "tensor<64x48xf32>\n}\n");
    const char *kernel = strstr(c, "\nvoid k0_");
    assert_non_null(kernel);
    assert_int_equal(count(c, "\nvoid k"), 1);
    assert_int_equal(count(kernel, "#pragma omp simd"), 3);
    assert_int_equal(count(kernel, "pcp_exp_f32"), 1);
    assert_int_equal(count(kernel, "float l0[48]"), 1);
    free(c);
}

/* Equal kernels on other buffers are one function; a concatenation splits its loop, unguarded. */
static void test_sharing_and_segments(void **state)
{
    (void)state;
    char *c = emit_c(
        "func.func public @f(%a: tensor<40xf32>) -> tensor<40xf32> {\n  %0 = stablehlo.exponential "
        "%a : tensor<40xf32>\n  return %0 : tensor<40xf32>\n}\n"
        "func.func public @g(%a: tensor<40xf32>) -> tensor<40xf32> {\n  %0 = stablehlo.exponential "
        "%a : tensor<40xf32>\n  return %0 : tensor<40xf32>\n}\n"
        "func.func public @h(%a: tensor<4x8xf32>, %b: tensor<4x16xf32>) -> tensor<4x24xf32> {\n"
        "  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4x8xf32>, tensor<4x16xf32>) -> "
        "tensor<4x24xf32>\n"
        "  %1 = stablehlo.negate %0 : tensor<4x24xf32>\n  return %1 : tensor<4x24xf32>\n}\n");
    assert_int_equal(count(c, "\nvoid k"), 2);
    const char *join = strstr(c, "\nvoid k1_");
    assert_non_null(join);
    assert_int_equal(count(join, "#pragma omp simd"), 2);
    assert_int_equal(count(join, "?"), 0);
    free(c);
}

static void test_compiler(void **state)
{
    (void)state;
    size_t n = 0;
    err_t err = {0};
    const char *good[] = {"int f(void) { return 1; }\n", "int g(void) { return 2; }\n"};
    const char *bad[] = {"int f(void) { return oops; }\n"};
    uint8_t *code = compiler_run(NULL, 2, good, "", &n, &err);
    if (!code) fail_msg("%s", err.text);
    assert_true(n > 64);
    assert_memory_equal(code, "\177ELF", 4);
    free(code);
    assert_null(compiler_run(NULL, 1, bad, "", &n, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "oops"));
    err = (err_t){0};
    char dir[] = "/tmp/pcp test XXXXXX"; /* blanks in paths */
    assert_non_null(mkdtemp(dir));
    setenv("TMPDIR", dir, 1);
    code = compiler_run(NULL, 1, good, "", &n, &err);
    if (!code) fail_msg("%s", err.text);
    free(code);
    assert_int_equal(rmdir(dir), 0); /* nothing is left behind */
    setenv("TMPDIR", "/nonexistent dir", 1);
    assert_null(compiler_run(NULL, 1, good, "", &n, &err));
    unsetenv("TMPDIR");
    assert_int_equal(err.code, ERR_IO);
    err = (err_t){0};
    setenv("PCP_CC", "/nonexistent/cc -pipe", 1);
    assert_null(compiler_run(NULL, 1, good, "", &n, &err));
    setenv("PCP_CC", "  ", 1);
    assert_null(compiler_run(NULL, 1, good, "", &n, &err));
    unsetenv("PCP_CC");
    assert_int_equal(err.code, ERR_IO);
    assert_null(target_find("cpu:pdp11", &err));
    assert_int_equal(err.code, ERR_ARG);
}

/* Not every compiler takes every flag of ours. */
static void test_other_compilers(void **state)
{
    static const char *const compilers[] = {"gcc", "clang"};
    const char *const unit[] = {"int f(int x) { return x; }\n"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        err_t err = {0};
        size_t n = 0;
        setenv("PCP_CC", compilers[i], 1);
        uint8_t *bytes = compiler_run(NULL, 1, unit, "", &n, &err);
        unsetenv("PCP_CC");
        if (!bytes && err.code == ERR_IO) {
            print_message("%s: not installed, skipped\n", compilers[i]);
            continue;
        }
        if (!bytes) fail_msg("%s: %s", compilers[i], err.text);
        assert_memory_equal(bytes, "\177ELF", 4);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_arithmetic),     cmocka_unit_test(test_reshapes_vanish),
        cmocka_unit_test(test_identities),           cmocka_unit_test(test_rounds_once),
        cmocka_unit_test(test_golden_kernel),        cmocka_unit_test(test_softmax_is_one_kernel),
        cmocka_unit_test(test_sharing_and_segments), cmocka_unit_test(test_compiler),
        cmocka_unit_test(test_other_compilers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
