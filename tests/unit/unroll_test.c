/* passes: which loops become their iterations (passes/unroll.h), and that they compute what the loop does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/unroll.h"

enum { TRIPS = 1024, OPS = 1 << 18 };

/* y = x, then n_op times y += counter, in each of the trips of a loop that counts down by 2 from `start` to above `end`. */
static ir_module_t *module_of(int start, int end, int n_op)
{
    str_t text = {0};
    err_t err = {0};
    str_addf(
        &text,
        "func.func @main(%%x: tensor<i32>) -> tensor<i32> {\n"
        "  %%start = stablehlo.constant dense<%d> : tensor<i32>\n"
        "  %%r:2 = stablehlo.while(%%y0 = %%x, %%i = %%start) : tensor<i32>, tensor<i32>\n"
        "  cond {\n"
        "    %%end = stablehlo.constant dense<%d> : tensor<i32>\n"
        "    %%more = stablehlo.compare GT, %%i, %%end, SIGNED : (tensor<i32>, tensor<i32>) -> "
        "tensor<i1>\n"
        "    stablehlo.return %%more : tensor<i1>\n"
        "  } do {\n",
        start, end);
    for (int k = 0; k < n_op; k++)
        str_addf(&text, "    %%y%d = stablehlo.add %%y%d, %%i : tensor<i32>\n", k + 1, k);
    str_addf(&text,
             "    %%step = stablehlo.constant dense<-2> : tensor<i32>\n"
             "    %%next = stablehlo.add %%i, %%step : tensor<i32>\n"
             "    stablehlo.return %%y%d, %%next : tensor<i32>, tensor<i32>\n"
             "  }\n"
             "  %%z = stablehlo.add %%r#0, %%r#1 : tensor<i32>\n"
             "  return %%z : tensor<i32>\n"
             "}\n",
             n_op);
    ir_module_t *m = parse_stablehlo(str_text(&text), text.n, "loop.mlir", &err);
    if (!m) fail_msg("%s", err.text);
    str_fini(&text);
    return m;
}

static int n_loops(const ir_module_t *m)
{
    int n = 0;
    const ir_region_t *body = ir_module_find(m, "main")->body;
    for (int i = 0; i < body->n_op; i++) n += body->op[i]->code == OP_while;
    return n;
}

static int64_t value_of(const ir_module_t *m, int64_t x)
{
    err_t err = {0};
    const ir_fn_t *fn = ir_module_find(m, "main");
    tensor_t in = tensor_new(ir_type_of(fn, ir_fn_param(fn, 0))), out = {0};
    tensor_set_i64(&in, 0, x);
    if (eval_fn(m, fn, &in, &out, NULL, &err) < 0) fail_msg("%s", err.text);
    int64_t y = tensor_get_i64(&out, 0);
    tensor_fini(&in);
    tensor_fini(&out);
    return y;
}

static void test_loops(void **state)
{
    (void)state;
    static const struct {
        int start, end, n_op, trips, unrolled;
    } cases[] = {
        {9, 0, 1, 5, 1}, /* 9 7 5 3 1, and ends with -1 */
        {2, 0, 3, 1, 1},
        {0, 0, 2, 0, 1}, /* never */
        {2 * TRIPS, 0, 1, TRIPS, 1},
        {2 * TRIPS + 2, 0, 1, TRIPS + 1, 0},   /* too often */
        {2 * TRIPS, 0, OPS / TRIPS, TRIPS, 0}, /* too many ops */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        const unroll_limits_t limits = {.trips = TRIPS, .ops = OPS};
        ir_module_t *m = module_of(cases[i].start, cases[i].end, cases[i].n_op);
        int64_t want = 7, at = cases[i].start;
        for (int k = 0; k < cases[i].trips; k++, at -= 2) want += cases[i].n_op * at;
        want += at;
        assert_int_equal(unroll_loops(m, &limits, &err), cases[i].unrolled);
        assert_int_equal(n_loops(m), 1 - cases[i].unrolled);
        assert_int_equal(value_of(m, 7), want);
        ir_module_destroy(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
