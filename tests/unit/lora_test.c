/* Adapters beside weights: the rewritten model with weights, A and B computes what the model itself does with
 * W + alpha / rank * B A in their place, in f64, whichever way round products read the weights; who is trained then;
 * a checkpoint's weights with their adapters added; what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "ckpt/adapters.h"
#include "compile/lora.h"
#include "compile/roles.h"
#include "ops/eval.h"
#include "parse/parse.h"

/* w0: x w0. w1, kept as [out, in]: h w1^T, in a private function, and once more the other way round (tied). w2 through
 * a transpose. w3 stands on the left. e is looked up, b added. */
static const char model[] =
    "func.func private @linear(%h: tensor<5x2xf64>, %w: tensor<4x2xf64>) -> tensor<5x4xf64> {\n"
    "  %0 = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<5x2xf64>, "
    "tensor<4x2xf64>) -> tensor<5x4xf64>\n"
    "  return %0 : tensor<5x4xf64>\n}\n"
    "func.func @main(%w0: tensor<3x2xf64> {pcp.name = \"w0\"}, %w1: tensor<4x2xf64> {pcp.name = "
    "\"w1\"}, "
    "%w2: tensor<3x4xf64> {pcp.name = \"w2\"}, %w3: tensor<2x5xf64> {pcp.name = \"w3\"}, "
    "%e: tensor<7x3xf64> {pcp.name = \"e\"}, %b: tensor<4xf64> {pcp.name = \"b\"}, "
    "%t: tensor<5x1xi32> {pcp.name = \"t\"}) -> tensor<f64> {\n"
    "  %x = \"stablehlo.gather\"(%e, %t) <{dimension_numbers = #stablehlo.gather<offset_dims = "
    "[1], "
    "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
    "array<i64: 1, 3>}> : "
    "(tensor<7x3xf64>, tensor<5x1xi32>) -> tensor<5x3xf64>\n"
    "  %h = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<5x3xf64>, "
    "tensor<3x2xf64>) -> tensor<5x2xf64>\n"
    "  %y = func.call @linear(%h, %w1) : (tensor<5x2xf64>, tensor<4x2xf64>) -> tensor<5x4xf64>\n"
    "  %back = stablehlo.dot_general %y, %w1, contracting_dims = [1] x [0] : (tensor<5x4xf64>, "
    "tensor<4x2xf64>) -> tensor<5x2xf64>\n"
    "  %turned = stablehlo.transpose %w2, dims = [1, 0] : (tensor<3x4xf64>) -> tensor<4x3xf64>\n"
    "  %z = stablehlo.dot_general %y, %turned, contracting_dims = [1] x [0] : (tensor<5x4xf64>, "
    "tensor<4x3xf64>) -> tensor<5x3xf64>\n"
    "  %u = stablehlo.dot_general %w3, %z, contracting_dims = [1] x [0] : (tensor<2x5xf64>, "
    "tensor<5x3xf64>) -> tensor<2x3xf64>\n"
    "  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf64>) -> tensor<5x4xf64>\n"
    "  %yb = stablehlo.multiply %y, %bb : tensor<5x4xf64>\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f64>\n"
    "  %s0 = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0, 1] : "
    "(tensor<2x3xf64>, tensor<f64>) -> tensor<f64>\n"
    "  %s1 = stablehlo.reduce(%back init: %zero) applies stablehlo.add across dimensions = [0, 1] "
    ": (tensor<5x2xf64>, tensor<f64>) -> tensor<f64>\n"
    "  %s2 = stablehlo.reduce(%yb init: %zero) applies stablehlo.add across dimensions = [0, 1] : "
    "(tensor<5x4xf64>, tensor<f64>) -> tensor<f64>\n"
    "  %s3 = stablehlo.add %s0, %s1 : tensor<f64>\n"
    "  %s4 = stablehlo.add %s3, %s2 : tensor<f64>\n"
    "  return %s4 : tensor<f64>\n}\n";

static ir_module_t *parse(void)
{
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(model, strlen(model), "lora.mlir", &err);
    if (!module) fail_msg("%s", err.text);
    return module;
}

static ir_module_t *adapted(const char *lora, roles_t *roles)
{
    err_t err = {0};
    ir_module_t *module = parse();
    const roles_options_t options = {.loss_result = -1, .lora = lora};
    if (roles_assign(module, &options, roles, &err) < 0) fail_msg("%s", err.text);
    return module;
}

/* The value of element i of an argument, by its name. */
static double value(const char *name, int64_t i)
{
    return rng_uniform(rng_derive(5, name), (uint64_t)i) - 0.5;
}

/* W + scale * B A, [out, in], or its transpose. */
static double merged(const char *name, const ir_type_t *type, int64_t i, int rank, double scale,
                     int in)
{
    char a[32], b[32];
    double sum = 0;
    int64_t row = i / type->dim[1], column = i % type->dim[1];
    int64_t k = in == 0 ? row : column, o = in == 0 ? column : row, n_in = type->dim[in];
    snprintf(a, sizeof a, "%s.lora_A", name);
    snprintf(b, sizeof b, "%s.lora_B", name);
    for (int r = 0; r < rank; r++) sum += value(b, o * rank + r) * value(a, r * n_in + k);
    return value(name, i) + scale * sum;
}

/* Which dimension the first product sums over; -1: no adapter. */
static int summed(const char *name)
{
    static const struct {
        const char *name;
        int in;
    } rows[] = {{"w0", 0}, {"w1", 1}, {"w2", 1}, {"w3", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].in;
    return -1;
}

/* The loss of a module; with rank > 0, of weights that have their adapters in them. */
static double loss_of(const ir_module_t *module, int rank, double scale)
{
    err_t err = {0};
    const ir_fn_t *fn = ir_module_entry(module, &err);
    int n = fn->body->n_arg;
    tensor_t *in = mem_calloc((size_t)n, sizeof *in), out = {0};
    for (int i = 0; i < n; i++) {
        const ir_type_t *type = ir_type_of(fn, ir_fn_param(fn, i));
        const char *name = attr_text(&fn->param_attrs[i], "pcp.name", "");
        int64_t count = ir_type_count(type);
        in[i] = (tensor_t){.type = *type, .data = mem_calloc((size_t)count, 8)};
        for (int64_t k = 0; k < count; k++) {
            if (type->dtype == DT_I32)
                ((int32_t *)in[i].data)[k] = (int32_t)(k % 7);
            else
                ((double *)in[i].data)[k] = rank > 0 && summed(name) >= 0
                                                ? merged(name, type, k, rank, scale, summed(name))
                                                : value(name, k);
        }
    }
    if (eval_fn(module, fn, in, &out, NULL, &err) < 0) fail_msg("%s", err.text);
    double loss = tensor_get_f64(&out, 0);
    tensor_fini(&out);
    for (int i = 0; i < n; i++) free(in[i].data);
    free(in);
    return loss;
}

static void test_same_as_merged(void **state)
{
    (void)state;
    roles_t roles;
    ir_module_t *plain = parse(), *with = adapted("rank=2,alpha=3", &roles);
    double want = loss_of(plain, 2, 1.5), have = loss_of(with, 0, 0),
           without = loss_of(plain, 0, 0);
    assert_true(fabs(want - have) <= 1e-13 * fabs(want));
    assert_true(fabs(want - without) > 1e-3 * fabs(want)); /* adapters matter */
    ir_module_destroy(&plain);
    ir_module_destroy(&with);
}

static const char *role_of(const roles_t *roles, const char *name)
{
    for (int i = 0; i < roles->n; i++)
        if (strcmp(roles->row[i].name, name) == 0) return roles->row[i].role;
    return "none";
}

static void test_roles(void **state)
{
    (void)state;
    roles_t roles;
    ir_module_t *module = adapted("rank=1,targets=w0,targets=*2,train=b", &roles);
    static const char *const want[][2] = {
        {"w0", "frozen"},       {"w0.lora_A", "param"}, {"w0.lora_B", "param"},
        {"w2.lora_A", "param"}, {"w1", "frozen"},       {"w1.lora_A", "none"},
        {"e", "frozen"},        {"b", "param"},         {"t", "batch"}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_string_equal(role_of(&roles, want[i][0]), want[i][1]);
    assert_non_null(strstr(roles.remark, "rank 1, alpha 2 beside 2 weights"));
    const ir_fn_t *main_fn = ir_module_find(module, "main"); /* the trained ones come first */
    assert_string_equal(attr_text(&main_fn->param_attrs[0], "pcp.role", ""), "param");
    ir_module_destroy(&module);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"rank=0", "1 to 4096"},          {"rank=2.5", "whole"},     {"alpha=x", "a number"},
        {"size=3", "none of rank=N"},     {"rank", "KEY=VALUE"},     {"targets=", "empty"},
        {"targets=nothing", "is called"}, {"targets=e", "products"}, {"train=q*", "is called"},
        {"targets=b", "products"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        roles_t roles;
        ir_module_t *module = parse();
        const roles_options_t options = {.loss_result = -1, .lora = cases[i][0]};
        assert_int_equal(roles_assign(module, &options, &roles, &err), -1);
        if (!strstr(err.text, cases[i][1])) fail_msg("%s: %s", cases[i][0], err.text);
        ir_module_destroy(&module);
    }
}

static void test_freeze(void **state)
{
    (void)state;
    err_t err = {0};
    roles_t roles;
    ir_module_t *module = parse();
    const roles_options_t options = {.loss_result = -1, .freeze = "e,w*"};
    if (roles_assign(module, &options, &roles, &err) < 0) fail_msg("%s", err.text);
    assert_string_equal(role_of(&roles, "e"), "frozen");
    assert_string_equal(role_of(&roles, "w3"), "frozen");
    assert_string_equal(role_of(&roles, "b"), "param");
    ir_module_destroy(&module);
    module = parse();
    const roles_options_t none = {.loss_result = -1, .freeze = "t"};
    assert_int_equal(roles_assign(module, &none, &roles, &err), -1);
    assert_non_null(strstr(err.text, "--freeze t"));
    ir_module_destroy(&module);
}

/* --- a checkpoint's weights ------------------------------------------------------------------- */

static void fill(safetensor_t *t, const char *name, int64_t rows, int64_t columns, float *values)
{
    *t = (safetensor_t){
        .name = name, .dtype = DT_F32, .rank = 2, .dims = {rows, columns}, .data = values};
    t->n_bytes = (size_t)(rows * columns) * sizeof *values;
    for (int64_t i = 0; i < rows * columns; i++) values[i] = (float)value(name, i);
}

static void test_merged_weights(void **state)
{
    (void)state;
    err_t err = {0};
    roles_t roles;
    float values[5][32];
    safetensor_t t[5];
    ir_module_t *module = adapted("rank=2,alpha=3,targets=w0,targets=w1", &roles);
    fill(&t[0], "w0", 3, 2, values[0]);
    fill(&t[1], "w0.lora_A", 2, 3, values[1]);
    fill(&t[2], "w0.lora_B", 2, 2, values[2]);
    fill(&t[3], "w1.lora_A", 2, 2, values[3]);
    fill(&t[4], "w1.lora_B", 4, 2, values[4]);
    size_t n, at;
    uint8_t *file = safetensors_pack(t, 5, NULL, 0, &n, &at, &err);
    safetensors_t *params = safetensors_view(file, n, &err);
    adapters_t *adapters = adapters_new(module, params, &err);
    if (!adapters) fail_msg("%s", err.text);
    assert_int_equal(adapters_count(adapters), 2);
    assert_true(adapters_has(adapters, "w1.lora_B") && !adapters_has(adapters, "w1") &&
                !adapters_has(adapters, "w2.lora_A"));
    const safetensor_t *w0 = adapters_apply(adapters, safetensors_find(params, "w0"), &err);
    assert_non_null(w0);
    const ir_type_t type = ir_type(DT_F32, 2, (const int64_t[]){3, 2});
    for (int64_t i = 0; i < 6; i++)
        assert_true(fabs(((const float *)w0->data)[i] - merged("w0", &type, i, 2, 1.5, 0)) < 1e-6);
    const safetensor_t *same = safetensors_find(params, "w1.lora_A");
    assert_ptr_equal(adapters_apply(adapters, same, &err), same);
    safetensor_t wrong = t[0]; /* another shape */
    wrong.dims[0] = 2, wrong.dims[1] = 3;
    assert_null(adapters_apply(adapters, &wrong, &err));
    adapters_destroy(&adapters);
    safetensors_close(&params);
    free(file);
    file = safetensors_pack(t, 3, NULL, 0, &n, &at, &err); /* w1's are missing */
    params = safetensors_view(file, n, &err);
    assert_null(adapters_new(module, params, &err));
    assert_non_null(strstr(err.text, "w1"));
    safetensors_close(&params);
    free(file);
    ir_module_destroy(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_merged), cmocka_unit_test(test_roles),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_freeze),
        cmocka_unit_test(test_merged_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
