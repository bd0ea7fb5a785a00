/* Ops that are written as others while the text is read: gradients of what they become, and what
 * is refused, with the reason. Values are in tests/checks/written_as_others.mlir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "gradient_text.h"
#include "parse/parse.h"

/* --- gradients of sum of sin(r), r an f64 tensor made of %a 2x3 and %b 3x3 --- */

static const struct {
    const char *what, *ops, *result, *dims;
} smooth[] = {
    {"a product",
     "%r = stablehlo.einsum %a, %b, config = \"ij,jk->ki\" : (A, B) -> tensor<3x2xf64>",
     "tensor<3x2xf64>", "0, 1"},
    {"a diagonal", "%r = stablehlo.einsum %b, %a, config = \"kk,ik->ik\" : (B, A) -> A",
     "tensor<2x3xf64>", "0, 1"},
    {"ellipses",
     "%r = stablehlo.einsum %a, %b, config = \"...j,kj->k...\" : (A, B) -> "
     "tensor<3x2xf64>",
     "tensor<3x2xf64>", "0, 1"},
    {"a trace",
     "%t = stablehlo.unary_einsum %b, config = \"ii->\" : (B) -> tensor<f64>\n"
     "%r = chlo.broadcast_multiply %a, %t : (A, tensor<f64>) -> A",
     "tensor<2x3xf64>", "0, 1"},
    {"rows at indices",
     "%i = stablehlo.constant dense<[2, 0, 2, 7]> : tensor<4xi32>\n"
     "%t = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (A, B) "
     "-> A\n"
     "%r = \"stablehlo.torch_index_select\"(%t, %i) <{dim = 1 : i64, "
     "batch_dims = 0 : i64}> : (A, tensor<4xi32>) -> tensor<2x4xf64>",
     "tensor<2x4xf64>", "0, 1"},
    {"groups",
     "%s = stablehlo.constant dense<[1, 1]> : tensor<2xi32>\n"
     "%r = \"chlo.ragged_dot\"(%b, %a, %s) <{ragged_dot_dimension_numbers = "
     "#chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = "
     "[1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (B, A, "
     "tensor<2xi32>) -> tensor<3xf64>",
     "tensor<3xf64>", "0"},
    {"sums by groups",
     "%s = stablehlo.constant dense<[2, 1]> : tensor<2xi32>\n"
     "%r = \"chlo.ragged_dot\"(%a, %b, %s) <{ragged_dot_dimension_numbers = "
     "#chlo.ragged_dot<lhs_contracting_dimensions = [1], "
     "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1]>}> : (A, B, "
     "tensor<2xi32>) -> tensor<2x2x3xf64>",
     "tensor<2x2x3xf64>", "0, 1, 2"},
    {"erf by its name",
     "%e = stablehlo.custom_call @mhlo.erf(%a) {mhlo.attributes = {}, "
     "mhlo.version = 1 : i64} : (A) -> A\n"
     "%r = stablehlo.dot_general %e, %b, contracting_dims = [1] x [0] : (A, B) "
     "-> A",
     "tensor<2x3xf64>", "0, 1"},
    {"dynamic pad",
     "%l = stablehlo.constant dense<[1, -1]> : tensor<2xi64>\n"
     "%z = stablehlo.constant dense<0> : tensor<2xi64>\n"
     "%t = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (A, B) -> "
     "A\n"
     "%r = stablehlo.dynamic_pad %t, %zero, %l, %z, %z : (A, tensor<f64>, "
     "tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x2xf64>",
     "tensor<3x2xf64>", "0, 1"},
};

static char *loss(const char *ops, const char *result, const char *dims)
{
    return mem_printf("!A = tensor<2x3xf64>\n!B = tensor<3x3xf64>\n"
                      "func.func @main(%%a: tensor<2x3xf64>, %%b: tensor<3x3xf64>) -> tensor<f64> "
                      "{\n%%zero = stablehlo.constant dense<0.0> : tensor<f64>\n%s\n"
                      "%%y = stablehlo.sine %%r : %s\n"
                      "%%loss = stablehlo.reduce(%%y init: %%zero) applies stablehlo.add across "
                      "dimensions = [%s] : (%s, tensor<f64>) -> tensor<f64>\n"
                      "return %%loss : tensor<f64>\n}\n",
                      ops, result, dims, result);
}

/* A and B as types stand for themselves in the table above. */
static char *with_types(const char *ops)
{
    str_t out = {0};
    for (const char *at = ops; *at; at++) {
        bool alone = (at == ops || strchr("( ,", at[-1])) && strchr(" ,)\n", at[1]);
        if (alone && (*at == 'A' || *at == 'B')) str_add(&out, "!");
        str_addf(&out, "%c", *at);
    }
    return out.at;
}

static void test_gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof smooth / sizeof *smooth; i++) {
        char *ops = with_types(smooth[i].ops);
        char *text = loss(ops, smooth[i].result, smooth[i].dims);
        gradient_text_check(smooth[i].what, text, 0.3, 1.2);
        gradient_text_plan(smooth[i].what, text);
        free(ops);
        free(text);
    }
}

/* --- refusals, each at the op's name --- */

static const struct {
    const char *op, *want;
    err_code_t code;
} bad[] = {
    {"%r = stablehlo.einsum %a, %a, config = \"ij,jk->ik\" : (!A, !A) -> !A",
     "einsum_config \"ij,jk->ik\" has unequal dimensions: tensor<2x3xf64>, tensor<2x3xf64>",
     ERR_SHAPE},
    {"%r = stablehlo.einsum %a, %a, config = \"ij,jkl->ik\" : (!A, !A) -> !A", "does not fit",
     ERR_SHAPE},
    {"%r = stablehlo.einsum %a, %a, config = \"ij,ij\" : (!A, !A) -> !A", "does not fit",
     ERR_SHAPE},
    {"%r = stablehlo.einsum %a, %a, config = \"ij,ij->ik\" : (!A, !A) -> !A",
     "names a dimension of the result that is not there once", ERR_SHAPE},
    {"%r = stablehlo.einsum %a, %a, config = \"ij,ij->ii\" : (!A, !A) -> !A",
     "names a dimension of the result that is not there once", ERR_SHAPE},
    {"%r = stablehlo.einsum %a, %a, config = \"ij,ij->ij\" : (!A, !A) -> !B",
     "the result is declared tensor<3x3xf64>, but its rule gives tensor<2x3xf64>", ERR_SHAPE},
    {"%r = stablehlo.unary_einsum %a, config = \"ii->i\" : (!A) -> tensor<2xf64>",
     "has unequal dimensions: tensor<2x3xf64>", ERR_SHAPE},
    {"%r = \"stablehlo.unary_einsum\"(%a) : (!A) -> tensor<2xf64>",
     "attribute einsum_config is missing", ERR_ARG},
    {"%r = \"stablehlo.torch_index_select\"(%a, %i) <{dim = 2 : i64, batch_dims = 0 : i64}> : (!A, "
     "tensor<2xi32>) -> !A",
     "dim 2 and batch_dims 0 do not fit tensor<2x3xf64> and tensor<2xi32>", ERR_SHAPE},
    {"%r = \"stablehlo.broadcast\"(%a) <{broadcast_sizes = array<i64: -1>}> : (!A) -> !A",
     "broadcast_sizes: ", ERR_SHAPE},
    {"%r = stablehlo.dynamic_pad %a, %s, %i, %i, %i : (!A, tensor<f64>, tensor<2xi32>, "
     "tensor<2xi32>, tensor<2xi32>) -> !A",
     "edge_padding_low (operand 2) is not a constant; export the model with static shapes",
     ERR_UNSUPPORTED},
    {"%r = stablehlo.dynamic_pad %a, %s, %k, %k, %k : (!A, tensor<f64>, tensor<1xi32>, "
     "tensor<1xi32>, tensor<1xi32>) -> !A",
     "edge_padding_low is tensor<1xi32>, expected 2 integers", ERR_SHAPE},
    {"%r = stablehlo.set_dimension_size %a, %n, dim = 1 : (!A, tensor<i32>) -> !A",
     "size 2 for dimension 1 of tensor<2x3xf64>", ERR_UNSUPPORTED},
    {"%r = stablehlo.set_dimension_size %a, %n, dim = 2 : (!A, tensor<i32>) -> !A",
     "dimension 2 is outside tensor<2x3xf64>", ERR_SHAPE},
    {"%r = stablehlo.set_dimension_size %a, %n, dim = 0 : (!A, tensor<i32>) -> tensor<?x3xf64>",
     "dynamic shapes are not supported; export the model with static ones", ERR_UNSUPPORTED},
    {"%r = stablehlo.custom_call @mhlo.erf(%a, %a) : (!A, !A) -> !A", "has 1 operands, got 2",
     ERR_PARSE},
    {"%r = chlo.broadcast_select %p, %a, %a : (tensor<2xi1>, !A, !A) -> !A", "broadcast_in_dim",
     ERR_SHAPE},
    {"%r = \"chlo.ragged_dot\"(%a, %b, %i) <{ragged_dot_dimension_numbers = "
     "#chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], "
     "lhs_ragged_dimensions = [0]>}> : (!A, !B, tensor<2xi32>) -> !A",
     "lhs_ragged_dimensions is a free dimension with a group dimension of rhs", ERR_UNSUPPORTED},
    {"%r = \"chlo.ragged_dot\"(%a, %b, %i) <{ragged_dot_dimension_numbers = "
     "#chlo.ragged_dot<lhs_contracting_dimensions = [7], rhs_contracting_dimensions = [0], "
     "lhs_ragged_dimensions = [0]>}> : (!A, !B, tensor<2xi32>) -> !A",
     "lhs_contracting_dimensions has a dimension outside rank 2", ERR_SHAPE},
    {"%r = \"stablehlo.compute_reshape_shape\"(%i) : (tensor<2xi32>) -> tensor<2xi32>",
     "is not supported: its result's shape is not static", ERR_UNSUPPORTED},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err_t err = {0};
        char *text = mem_printf(
            "!A = tensor<2x3xf64>\n!B = tensor<3x3xf64>\nfunc.func @main(%%a: !A, %%b: !B, %%s: "
            "tensor<f64>, %%i: tensor<2xi32>, %%p: tensor<2xi1>) {\n%%n = stablehlo.constant "
            "dense<2> : tensor<i32>\n%%k = stablehlo.constant dense<2> : tensor<1xi32>\n%s\n"
            "return\n}\n",
            bad[i].op);
        assert_null(parse_stablehlo(text, strlen(text), "t.mlir", &err));
        if (!strstr(err.text, bad[i].want) || err.code != bad[i].code ||
            strncmp(err.text, "t.mlir:6:", 9) != 0)
            fail_msg("want (%d) %s\ngot  (%d) %s\nfor  %s", bad[i].code, bad[i].want, err.code,
                     err.text, bad[i].op);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
