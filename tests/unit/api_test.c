/* libpcp: tensors, types, functions, and what is told to callers who get them wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pcp/pcp.h"

static void expect(const pcp_error_t *error, pcp_code_t code, const char *words)
{
    if (pcp_error_code(error) != code || !strstr(pcp_error_text(error), words))
        fail_msg("expected %d with \"%s\", got %d: %s", code, words, pcp_error_code(error),
                 pcp_error_text(error));
}

static int nothing_held(void **state)
{
    (void)state;
    return pcp_memory_in_use() == 0 ? 0 : -1;
}

/* --- types and tensors --- */

static void test_types(void **state)
{
    char text[PCP_TYPE_TEXT];
    pcp_error_t *e = pcp_error_new();
    pcp_type_t type, twin = PCP_TYPE(PCP_F32, 2, 0, 3);
    (void)state;
    for (int i = PCP_I1; i <= PCP_C128; i++) { /* every element type reads back as it prints */
        pcp_type_t one = pcp_scalar((pcp_dtype_t)i);
        assert_int_equal(pcp_type_parse(pcp_type_text(&one, text), &type, e), 0);
        assert_int_equal(type.dtype, i);
    }
    assert_int_equal(pcp_type_parse("2x0x3xf32", &type, e), 0);
    assert_string_equal(pcp_type_text(&type, text), "tensor<2x0x3xf32>");
    assert_int_equal(pcp_type_count(&twin), 0);
    static const char *const wrong[] = {"",
                                        "f33",
                                        "2x",
                                        "x2xf32",
                                        "-1xf32",
                                        "2xf32>",
                                        "tensor<2xf32",
                                        "99999999999999999999xf32",
                                        "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pcp_type_parse(wrong[i], &type, e), -1);
        expect(e, PCP_ERROR_PARSE, "expected 2x3xf32");
    }
    assert_int_equal(pcp_type_parse("4000000000x4000000000xf32", &type, e), -1);
    expect(e, PCP_ERROR_SHAPE, "more elements");
    type = pcp_type(PCP_F32, 17, twin.dim);
    assert_int_equal(type.dtype, PCP_NONE);
    assert_int_equal(pcp_type_bytes(&type), -1);
    pcp_error_destroy(&e);
}

static void test_elements(void **state)
{
    static const struct {
        pcp_dtype_t dtype;
        double set, get;
    } row[] = {{PCP_F32, 0.1, 0.1f},
               {PCP_F64, 0.1, 0.1},
               {PCP_BF16, 1.00390625, 1.0},
               {PCP_I8, 200, 127},
               {PCP_I8, -200, -128},
               {PCP_UI8, -3, 0},
               {PCP_UI8, 255.4, 255},
               {PCP_I1, 7, 1},
               {PCP_I4, 9, 7},
               {PCP_I64, 1e300, 0x1p63},
               {PCP_UI64, 1e300, 0x1p64},
               {PCP_UI64, 0x1p63, 0x1p63},
               {PCP_I32, -INFINITY, -0x1p31},
               {PCP_I32, NAN, 0},
               {PCP_C64, 2.5, 2.5}};
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        pcp_type_t type = PCP_TYPE(row[i].dtype, 3);
        pcp_tensor_t *t = pcp_tensor_new(&type, NULL);
        pcp_tensor_set(t, 1, row[i].set);
        pcp_tensor_set(t, 3, row[i].set); /* outside */
        assert_float_equal(pcp_tensor_get(t, 0), 0, 0);
        if (pcp_tensor_get(t, 1) != row[i].get)
            fail_msg("row %zu: %.17g, expected %.17g", i, pcp_tensor_get(t, 1), row[i].get);
        assert_true(isnan(pcp_tensor_get(t, 3)) && isnan(pcp_tensor_get(t, -1)));
        pcp_tensor_release(&t);
    }
}

static void test_complex(void **state)
{
    pcp_type_t complex = PCP_TYPE(PCP_C128, 2), real = PCP_TYPE(PCP_F32, 2);
    pcp_tensor_t *c = pcp_tensor_new(&complex, NULL), *r = pcp_tensor_new(&real, NULL);
    (void)state;
    pcp_tensor_set_complex(c, 1, 2, -3);
    pcp_tensor_set_complex(r, 1, 2, -3);
    pcp_tensor_set_complex(c, 2, 2, -3); /* outside */
    assert_float_equal(pcp_tensor_get(c, 1), 2, 0);
    assert_float_equal(pcp_tensor_imag(c, 1), -3, 0);
    assert_float_equal(pcp_tensor_imag(r, 1), 0, 0);
    assert_true(isnan(pcp_tensor_imag(c, 2)));
    pcp_tensor_release(&c);
    pcp_tensor_release(&r);
}

static void count_release(void *user)
{
    ++*(int *)user;
}

static void test_holders(void **state)
{
    float values[6] = {0, 1, 2, 3, 4, 5};
    int n_released = 0;
    pcp_error_t *e = pcp_error_new();
    pcp_type_t all = PCP_TYPE(PCP_F32, 2, 3), row = PCP_TYPE(PCP_F32, 3),
               i32 = PCP_TYPE(PCP_I32, 3);
    (void)state;
    pcp_tensor_t *t = pcp_tensor_around(&all, values, sizeof values, count_release, &n_released, e);
    pcp_tensor_t *second = pcp_tensor_view(t, &row, 3, e),
                 *of_view = pcp_tensor_view(second, &row, 0, e);
    assert_non_null(of_view);
    pcp_tensor_t *held = pcp_tensor_retain(t);
    pcp_tensor_release(&t);
    pcp_tensor_release(&held);
    pcp_tensor_release(&second);
    assert_int_equal(n_released, 0); /* the last view keeps it */
    pcp_tensor_set(of_view, 2, 9);
    assert_float_equal(values[5], 9, 0);
    assert_null(pcp_tensor_view(of_view, &row, 1, e));
    expect(e, PCP_ERROR_SHAPE, "not beyond its end");
    assert_null(pcp_tensor_view(of_view, &i32, 0, e));
    expect(e, PCP_ERROR_TYPE, "same element type");
    pcp_tensor_release(&of_view);
    assert_int_equal(n_released, 1);
    pcp_tensor_release(&of_view); /* NULL */
    assert_null(pcp_tensor_from(&all, values, 5, e));
    expect(e, PCP_ERROR_SHAPE, "5 bytes given");
    all.dim[0] = (int64_t)1 << 50;
    assert_null(pcp_tensor_new(&all, e));
    expect(e, PCP_ERROR_MEMORY, "no memory");
    pcp_error_destroy(&e);
}

static void test_random(void **state)
{
    double sum = 0, square = 0;
    pcp_type_t type = PCP_TYPE(PCP_F64, 10000);
    pcp_tensor_t *t = pcp_tensor_new(&type, NULL);
    (void)state;
    pcp_tensor_normal(t, 3, 2, 0.5);
    for (int i = 0; i < 10000; i++) sum += pcp_tensor_get(t, i) / 10000;
    for (int i = 0; i < 10000; i++) square += pow(pcp_tensor_get(t, i) - sum, 2) / 10000;
    assert_float_equal(sum, 2, 0.02); /* 4 standard errors */
    assert_float_equal(sqrt(square), 0.5, 0.015);
    pcp_tensor_uniform(t, 3, -1, 3);
    for (int i = 0; i < 10000; i++)
        assert_true(pcp_tensor_get(t, i) >= -1 && pcp_tensor_get(t, i) < 3);
    pcp_tensor_release(&t);
}

/* --- functions that are built wrong: each leaves the graph as it was --- */

static const pcp_type_t *f32_2x3(void)
{
    static pcp_type_t type;
    type = PCP_TYPE(PCP_F32, 2, 3);
    return &type;
}

static void build_shapes(pcp_graph_t *g, pcp_value_t x)
{
    pcp_matmul(g, x, x);
}
static void build_unknown_op(pcp_graph_t *g, pcp_value_t x)
{
    pcp_op1(g, "stablehlo.ad", 1, &x, NULL, NULL);
}
static void build_counts(pcp_graph_t *g, pcp_value_t x)
{
    pcp_op1(g, "add", 1, &x, NULL, NULL);
}
static void build_attribute(pcp_graph_t *g, pcp_value_t x)
{
    pcp_op1(g, "transpose", 1, &x, "permutation = [0, 5]", NULL);
}
static void build_grammar(pcp_graph_t *g, pcp_value_t x)
{
    pcp_op1(g, "transpose", 1, &x, "permutation = [0, 1", NULL);
}
static void build_twice(pcp_graph_t *g, pcp_value_t x)
{
    (void)x;
    pcp_input(g, "x", f32_2x3());
}
static void build_no_value(pcp_graph_t *g, pcp_value_t x)
{
    pcp_add(g, x, (pcp_value_t){0});
}
static void build_of_another(pcp_graph_t *g, pcp_value_t x)
{
    pcp_graph_t *other = pcp_graph_new();
    pcp_function_begin(other, "main");
    pcp_add(g, x, pcp_input(other, "x", f32_2x3()));
    pcp_graph_destroy(&other);
}
static void build_no_type(pcp_graph_t *g, pcp_value_t x)
{
    pcp_op1(g, "reshape", 1, &x, NULL, NULL);
}
static void build_open_region(pcp_graph_t *g, pcp_value_t x)
{
    pcp_region_begin(g, 0, NULL, NULL);
    (void)x;
}
static void build_argument_in_region(pcp_graph_t *g, pcp_value_t x)
{
    pcp_region_begin(g, 0, NULL, NULL);
    pcp_input(g, "late", f32_2x3());
    (void)x;
}
static void build_out_of_region(pcp_graph_t *g, pcp_value_t x)
{
    pcp_region_t *r = pcp_region_begin(g, 0, NULL, NULL);
    pcp_value_t inner = pcp_abs(g, x);
    pcp_region_end(g, r, 1, &inner);
    pcp_output(g, "inner", inner);
}
static void build_region_twice(pcp_graph_t *g, pcp_value_t x)
{
    pcp_value_t arg[2], in[2] = {x, x}, out;
    pcp_type_t scalar[2] = {pcp_scalar(PCP_F32), pcp_scalar(PCP_F32)};
    pcp_region_t *r = pcp_region_begin(g, 2, scalar, arg);
    arg[0] = pcp_add(g, arg[0], arg[1]);
    pcp_region_end(g, r, 1, arg);
    in[1] = pcp_splat(g, scalar, 0);
    pcp_op(g, "reduce", 2, in, "dimensions = [0]", 1, &r, 1, NULL, &out);
    pcp_op(g, "reduce", 2, in, "dimensions = [0]", 1, &r, 1, NULL, &out);
}
static void build_call(pcp_graph_t *g, pcp_value_t x)
{
    pcp_value_t out;
    pcp_call(g, "nobody", 1, &x, 1, &out);
}
static void build_reducer(pcp_graph_t *g, pcp_value_t x)
{
    pcp_reduce_all(g, "stablehlo.subtract", x);
}
static void build_rank(pcp_graph_t *g, pcp_value_t x)
{
    pcp_reshape(g, x, 99, NULL);
}
static void build_scalar_rows(pcp_graph_t *g, pcp_value_t x)
{
    pcp_softmax(g, pcp_mean(g, x));
}
static void build_again(pcp_graph_t *g, pcp_value_t x)
{
    pcp_function_begin(g, "other");
    (void)x;
}
static void build_same_result(pcp_graph_t *g, pcp_value_t x)
{
    pcp_output(g, "y", x);
    pcp_output(g, "y", x);
}

static void test_misuse(void **state)
{
    static const struct {
        void (*build)(pcp_graph_t *g, pcp_value_t x);
        pcp_code_t code;
        const char *words;
    } row[] = {
        {build_shapes, PCP_ERROR_SHAPE, "stablehlo.dot_general"},
        {build_unknown_op, PCP_ERROR_UNSUPPORTED, "no op is called \"stablehlo.ad\""},
        {build_counts, PCP_ERROR_ARGUMENT, "stablehlo.add has 2 operands, got 1"},
        {build_attribute, PCP_ERROR_SHAPE, "permutation"},
        {build_grammar, PCP_ERROR_PARSE, "transpose:1:"},
        {build_twice, PCP_ERROR_ARGUMENT, "has an argument \"x\" already"},
        {build_no_value, PCP_ERROR_ARGUMENT, "an operand is no value"},
        {build_of_another, PCP_ERROR_ARGUMENT, "of another function or graph"},
        {build_no_type, PCP_ERROR_TYPE, "stablehlo.reshape"},
        {build_open_region, PCP_ERROR_STATE, "a region that is not ended"},
        {build_argument_in_region, PCP_ERROR_STATE, "declare it before"},
        {build_out_of_region, PCP_ERROR_STATE, "is a value of a region"},
        {build_region_twice, PCP_ERROR_STATE, "used already"},
        {build_call, PCP_ERROR_ARGUMENT, "@nobody"},
        {build_reducer, PCP_ERROR_ARGUMENT, "no neutral element"},
        {build_rank, PCP_ERROR_ARGUMENT, "a list of 99 dimensions"},
        {build_scalar_rows, PCP_ERROR_SHAPE, "of a scalar"},
        {build_again, PCP_ERROR_STATE, "@main is not finished"},
        {build_same_result, PCP_ERROR_ARGUMENT, "has a result \"y\" already"},
    };
    pcp_error_t *e = pcp_error_new();
    pcp_graph_t *g = pcp_graph_new();
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        print_message("%s\n", row[i].words);
        pcp_function_begin(g, "main");
        pcp_value_t x = pcp_input(g, "x", f32_2x3());
        row[i].build(g, x);
        assert_int_equal(pcp_function_end(g, e), -1);
        expect(e, row[i].code, row[i].words);
        assert_int_equal(pcp_graph_count(g), 0);
    }
    pcp_value_t outside = pcp_input(g, "x", f32_2x3());
    assert_int_equal(pcp_value_type(g, outside).dtype, PCP_NONE);
    expect(pcp_graph_error(g), PCP_ERROR_STATE, "pcp_function_begin comes first");
    assert_int_equal(pcp_function_end(g, e), -1);
    pcp_function_begin(g, "main");
    pcp_output(g, "y", pcp_abs(g, pcp_input(g, "x", f32_2x3())));
    assert_null(pcp_graph_print(g, e));
    expect(e, PCP_ERROR_STATE, "not finished");
    assert_int_equal(pcp_function_end(g, e), 0); /* and then it works */
    assert_int_equal(pcp_graph_count(g), 1);
    pcp_graph_destroy(&g);
    pcp_error_destroy(&e);
}

/* Sessions, plans, evaluation and files. */
static void test_refusals(void **state)
{
    pcp_error_t *e = pcp_error_new();
    pcp_graph_t *g = pcp_graph_new();
    (void)state;
    pcp_function_begin(g, "main");
    pcp_output(g, "y", pcp_abs(g, pcp_input(g, "x", f32_2x3())));
    assert_int_equal(pcp_function_end(g, e), 0);
    pcp_tensor_t *out, *small = pcp_tensor_new(&(pcp_type_t){.dtype = PCP_F32}, e);
    const pcp_tensor_t *in[1] = {small};
    assert_int_equal(pcp_evaluate(g, "main", 1, in, 1, &out, e), -1);
    expect(e, PCP_ERROR_SHAPE, "argument 0 (x) is tensor<2x3xf32>, got tensor<f32>");
    assert_int_equal(pcp_evaluate(g, "other", 1, in, 1, &out, e), -1);
    expect(e, PCP_ERROR_ARGUMENT, "it has: @main");
    assert_int_equal(pcp_gradient(g, "main", "grad", 0, NULL, e), -1);
    expect(e, PCP_ERROR_TYPE, "float scalar");
    assert_int_equal(pcp_gradient(g, "main", "main", 0, NULL, e), -1);
    expect(e, PCP_ERROR_ARGUMENT, "@main already");
    assert_null(pcp_compile(g, "cpu:z80", e));
    assert_null(pcp_compile_training(g, "optimiser=sgd", NULL, e));
    expect(e, PCP_ERROR_ARGUMENT, "optimizer");
    assert_null(pcp_compile_training(g, "beta1=2", NULL, e));
    expect(e, PCP_ERROR_ARGUMENT, "beta1");
    assert_null(pcp_compile_training(g, "clip", NULL, e));
    expect(e, PCP_ERROR_ARGUMENT, "expected NAME=VALUE");
    assert_null(pcp_plan_load("/nonexistent/plan", e));
    expect(e, PCP_ERROR_IO, "/nonexistent/plan");
    assert_null(pcp_graph_load("/nonexistent/model", e));
    expect(e, PCP_ERROR_IO, "/nonexistent/model");
    assert_null(pcp_graph_parse("func.func @main(", 16, "mine", e));
    expect(e, PCP_ERROR_PARSE, "mine:1:");
    assert_null(pcp_model_gpt2("width=10 heads=4", e));
    expect(e, PCP_ERROR_ARGUMENT, "multiple of heads");
    assert_null(pcp_tokenizer_new("word", NULL, 0, e));
    expect(e, PCP_ERROR_ARGUMENT, "byte, char");
    assert_null(pcp_devices_new("abacus", e));
    pcp_error_clear(e);
    assert_int_equal(pcp_error_code(e), PCP_OK);
    assert_string_equal(pcp_error_text(e), "");
    pcp_tensor_release(&small);
    pcp_graph_destroy(&g);
    pcp_error_destroy(&e);
}

/* What a model's text says of its arguments is no obstacle to running its functions as they stand. */
static void test_roles_of_models(void **state)
{
    static const char *const roles[][2] = {
        {"param", "param"}, {"frozen", "param"},       {"state:1", "param"},    {"batch", "batch"},
        {"seed", "batch"},  {"scalar:step", "scalar"}, {"scalar:0.5", "scalar"}};
    (void)state;
    pcp_error_t *e = pcp_error_new();
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        char text[300];
        const char *role;
        int n = snprintf(
            text, sizeof text,
            "func.func @main(%%x: tensor<i32> {pcp.name = \"x\", pcp.role = \"%s\"}) -> "
            "(tensor<i32>, tensor<i32>) {\n  return %%x, %%x : tensor<i32>, tensor<i32>\n}",
            roles[i][0]);
        pcp_graph_t *g = pcp_graph_parse(text, (size_t)n, "text", e);
        pcp_plan_t *plan = g ? pcp_compile(g, NULL, e) : NULL;
        if (!plan) fail_msg("%s: %s", roles[i][0], pcp_error_text(e));
        assert_string_equal(pcp_plan_tensor(plan, 0, &role, NULL), "x");
        assert_string_equal(role, roles[i][1]);
        pcp_plan_release(&plan);
        pcp_graph_destroy(&g);
    }
    pcp_error_destroy(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_types, nothing_held),
        cmocka_unit_test_teardown(test_elements, nothing_held),
        cmocka_unit_test_teardown(test_complex, nothing_held),
        cmocka_unit_test_teardown(test_holders, nothing_held),
        cmocka_unit_test_teardown(test_random, nothing_held),
        cmocka_unit_test_teardown(test_misuse, nothing_held),
        cmocka_unit_test_teardown(test_refusals, nothing_held),
        cmocka_unit_test_teardown(test_roles_of_models, nothing_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
