/* pass expand: map and annotations, by value and by gradient. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"

#define V "tensor<4xf64>"
#define S "tensor<f64>"

/* a * k + (b < 0.5 ? c : 1), k from outside; through an annotation; summed. */
static const char *const text =
    "func.func @main(%a: " V ", %b: " V ", %k: " S ") -> " S " {\n"
    "  %zero = stablehlo.constant dense<0.0> : " S "\n"
    "  %m = \"stablehlo.map\"(%a, %b) <{dimensions = array<i64: 0>}> ({\n"
    "  ^bb0(%x: " S ", %y: " S "):\n"
    "    %half = stablehlo.constant dense<0.5> : " S "\n"
    "    %one = stablehlo.constant dense<1.0> : " S "\n"
    "    %p = stablehlo.multiply %x, %k : " S "\n"
    "    %c = stablehlo.compare LT, %y, %half : (" S ", " S ") -> tensor<i1>\n"
    "    %s = stablehlo.select %c, %x, %one : tensor<i1>, " S "\n"
    "    %r = stablehlo.add %p, %s : " S "\n"
    "    stablehlo.return %r : " S "\n"
    "  }) : (" V ", " V ") -> " V "\n"
    "  %n = stablehlo.custom_call @Sharding(%m) : (" V ") -> " V "\n"
    "  %l = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [0] : (" V
    ", " S ") -> " S "\n"
    "  return %l : " S "\n"
    "}\n";

static void run(const ir_module_t *m, const ir_fn_t *fn, int n, double *y)
{
    err_t err = {0};
    tensor_t in[3], out[4];
    static const double a[] = {1, 2, 3, 4}, b[] = {0, 1, 0.25, 2};
    for (int i = 0; i < 3; i++) in[i] = tensor_new(ir_type_of(fn, ir_fn_param(fn, i)));
    for (int k = 0; k < 4; k++) {
        tensor_set_f64(&in[0], k, a[k]);
        tensor_set_f64(&in[1], k, b[k]);
    }
    tensor_set_f64(&in[2], 0, 10);
    if (eval_fn(m, fn, in, out, NULL, &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < n; i++) {
        for (int64_t k = 0; k < ir_type_count(&out[i].type); k++) *y++ = tensor_get_f64(&out[i], k);
        tensor_fini(&out[i]);
    }
    for (int i = 0; i < 3; i++) tensor_fini(&in[i]);
}

static bool has(const ir_fn_t *fn, op_code_t code)
{
    for (int k = 0; k < fn->body->n_op; k++)
        if (fn->body->op[k]->code == code) return true;
    return false;
}

static void test_expand(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m = parse_stablehlo(text, strlen(text), "test", &err);
    if (!m) fail_msg("%s", err.text);
    double before, after[10];
    run(m, ir_module_entry(m, &err), 1, &before);
    assert_true(before == 100 + 1 + 1 + 3 + 1);
    if (passes_run_one(m, "expand", &err) < 0) fail_msg("%s", err.text);
    if (ir_verify(m, &err) < 0) fail_msg("%s", err.text);
    ir_fn_t *fn = ir_module_entry(m, &err);
    assert_false(has(fn, OP_map));
    assert_false(has(fn, OP_custom_call));
    ir_fn_t *grad = ad_gradient(m, fn, "grad", (bool[]){true, false, true}, &err);
    if (!grad) fail_msg("%s", err.text);
    run(m, grad, 3, after);
    static const double want[] = {106, 11, 10, 11, 10, 10}; /* loss, d a[4], d k */
    for (int i = 0; i < 6; i++) assert_true(after[i] == want[i]);
    ir_module_destroy(&m);
}

/* A region that is not element-wise makes a loop; the marker the reverse walk needs stays. */
static void test_what_stays(void **state)
{
    (void)state;
    err_t err = {0};
    const char *kept =
        "func.func @main(%a: " V ", %k: tensor<2xui64>) -> (" V ", tensor<4xui64>) {\n"
        "  %s = stablehlo.custom_call @pcp.stop_gradient(%a) : (" V ") -> " V "\n"
        "  %m = \"stablehlo.map\"(%a) <{dimensions = array<i64: 0>}> ({\n"
        "  ^bb0(%x: " S "):\n"
        "    %t, %r = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> "
        "(tensor<2xui64>, tensor<ui64>)\n"
        "    stablehlo.return %r : tensor<ui64>\n"
        "  }) : (" V ") -> tensor<4xui64>\n"
        "  return %s, %m : " V ", tensor<4xui64>\n"
        "}\n";
    ir_module_t *m = parse_stablehlo(kept, strlen(kept), "test", &err);
    if (!m) fail_msg("%s", err.text);
    if (passes_run_one(m, "expand", &err) < 0) fail_msg("%s", err.text);
    if (ir_verify(m, &err) < 0) fail_msg("%s", err.text);
    assert_false(has(ir_module_entry(m, &err), OP_map));
    assert_true(has(ir_module_entry(m, &err), OP_while));
    assert_true(has(ir_module_entry(m, &err), OP_custom_call));
    ir_module_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expand),
        cmocka_unit_test(test_what_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
