/* Text to IR and back: both forms of the ops, literals, modules, sections. Errors are in
 * parse_error_test.c, whole files in parse_files_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ir/print.h"
#include "parse/parse.h"
#include "parse_help.h"

/* A module around `body`, with arguments of many types. */
static char *wrapped(const char *body)
{
    return mem_printf(
        "func.func private @g(%%a: tensor<4xf32>) -> tensor<4xf32> { return %%a : tensor<4xf32> }\n"
        "func.func @main(%%v: tensor<4xf32>, %%w: tensor<4xf32>, %%m: tensor<2x3xf32>,\n"
        "    %%n: tensor<3x5xf32>, %%p: tensor<4xi1>, %%s: tensor<f32>, %%i: tensor<i64>,\n"
        "    %%k: tensor<4xi64>, %%c: tensor<1x8x8x3xf32>, %%f: tensor<3x3x3x16xf32>,\n"
        "    %%b: tensor<2x4x3xf32>, %%d: tensor<2x3x4xf32>, %%seed: tensor<2xui64>,\n"
        "    %%one: tensor<1xi64>) {\n%s\n  return\n}\n",
        body);
}

/* --- both forms --- */

#define V "tensor<4xf32>"
#define M "tensor<2x3xf32>"
#define S "tensor<f32>"

/* Pretty and generic form of the same op. */
static const struct {
    const char *pretty, *generic;
} forms[] = {
    {"%0 = stablehlo.tanh %v : " V, "%0 = \"stablehlo.tanh\"(%v) : (" V ") -> " V},
    {"%0 = stablehlo.add %v, %w : (" V ", " V ") -> " V,
     "%0 = \"stablehlo.add\"(%v, %w) {} : (" V ", " V ") -> " V},
    {"%0 = stablehlo.add %v, %w {mhlo.sharding = \"{replicated}\"} : " V,
     "%0 = \"stablehlo.add\"(%v, %w) {mhlo.sharding = \"{replicated}\"} : (" V ", " V ") -> " V},
    {"%0 = stablehlo.convert %v : (" V ") -> tensor<4xbf16>",
     "%0 = \"stablehlo.convert\"(%v) : (" V ") -> tensor<4xbf16>"},
    {"%0 = stablehlo.clamp %s, %v, %s : (" S ", " V ", " S ") -> " V,
     "%0 = \"stablehlo.clamp\"(%s, %v, %s) : (" S ", " V ", " S ") -> " V},
    {"%0 = stablehlo.constant dense<[1.0, 2.5, -0.0, 5.]> : " V,
     "%0 = \"stablehlo.constant\"() <{value = dense<[1.0, 2.5, -0.0, 5.0e0]> : " V "}> : () -> " V},
    {"%0 = stablehlo.constant dense<7> : tensor<2xi32>",
     "%0 = \"arith.constant\"() {value = dense<[7, 7]> : tensor<2xi32>} : () -> tensor<2xi32>"},
    {"%0 = stablehlo.compare  LT, %v, %w,  FLOAT : (" V ", " V ") -> tensor<4xi1>",
     "%0 = \"stablehlo.compare\"(%v, %w) <{compare_type = #stablehlo<comparison_type FLOAT>, "
     "comparison_direction = #stablehlo<comparison_direction LT>}> : (" V ", " V
     ") -> tensor<4xi1>"},
    {"%0 = stablehlo.compare EQ, %k, %k : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>",
     "%0 = \"stablehlo.compare\"(%k, %k) {comparison_direction = #stablehlo<comparison_direction "
     "EQ>} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>"},
    {"%0 = stablehlo.select %p, %v, %w : tensor<4xi1>, " V,
     "%0 = \"stablehlo.select\"(%p, %v, %w) : (tensor<4xi1>, " V ", " V ") -> " V},
    {"%0 = stablehlo.iota dim = 1 : tensor<2x3xi32>",
     "%0 = \"stablehlo.iota\"() <{iota_dimension = 1 : i64}> : () -> tensor<2x3xi32>"},
    {"%0 = stablehlo.dynamic_iota %one, dim = 0 : (tensor<1xi64>) -> tensor<8xi64>",
     "%0 = \"stablehlo.dynamic_iota\"(%one) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> "
     "tensor<8xi64>"},
    {"%0 = stablehlo.broadcast_in_dim %v, dims = [1] : (" V ") -> tensor<2x4xf32>",
     "%0 = \"stablehlo.broadcast_in_dim\"(%v) <{broadcast_dimensions = array<i64: 1>}> : (" V
     ") -> tensor<2x4xf32>"},
    {"%0 = stablehlo.broadcast_in_dim %s, dims = [] : (" S ") -> tensor<2x4xf32>",
     "%0 = \"stablehlo.broadcast_in_dim\"(%s) {broadcast_dimensions = dense<> : tensor<0xi64>} : "
     "(" S ") -> tensor<2x4xf32>"},
    {"%0 = stablehlo.transpose %m, dims = [1, 0] : (" M ") -> tensor<3x2xf32>",
     "%0 = \"stablehlo.transpose\"(%m) <{permutation = dense<[1, 0]> : tensor<2xi64>}> : (" M
     ") -> tensor<3x2xf32>"},
    {"%0 = stablehlo.reverse %m, dims = [0] : " M,
     "%0 = \"stablehlo.reverse\"(%m) <{dimensions = array<i64: 0>}> : (" M ") -> " M},
    {"%0 = stablehlo.slice %m [0:2:2, 1:3] : (" M ") -> tensor<1x2xf32>",
     "%0 = \"stablehlo.slice\"(%m) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: "
     "2, "
     "3>, strides = array<i64: 2, 1>}> : (" M ") -> tensor<1x2xf32>"},
    {"%0 = stablehlo.slice %s [] : (" S ") -> " S,
     "%0 = \"stablehlo.slice\"(%s) <{start_indices = array<i64>, limit_indices = array<i64>, "
     "strides "
     "= array<i64>}> : (" S ") -> " S},
    {"%0 = stablehlo.dynamic_slice %v, %i, sizes = [2] : (" V ", tensor<i64>) -> tensor<2xf32>",
     "%0 = \"stablehlo.dynamic_slice\"(%v, %i) <{slice_sizes = array<i64: 2>}> : (" V
     ", tensor<i64>) -> tensor<2xf32>"},
    {"%0 = stablehlo.dynamic_update_slice %v, %v, %i : (" V ", " V ", tensor<i64>) -> " V,
     "%0 = \"stablehlo.dynamic_update_slice\"(%v, %v, %i) : (" V ", " V ", tensor<i64>) -> " V},
    {"%0 = stablehlo.pad %v, %s, low = [1], high = [-2], interior = [1] : (" V ", " S
     ") -> tensor<6xf32>",
     "%0 = \"stablehlo.pad\"(%v, %s) <{edge_padding_high = array<i64: -2>, edge_padding_low = "
     "array<i64: 1>, interior_padding = dense<1> : tensor<1xi64>}> : (" V ", " S
     ") -> tensor<6xf32>"},
    {"%0 = stablehlo.concatenate %v, %w, dim = 0 : (" V ", " V ") -> tensor<8xf32>",
     "%0 = \"stablehlo.concatenate\"(%v, %w) <{dimension = 0 : i64}> : (" V ", " V
     ") -> tensor<8xf32>"},
    {"%0 = stablehlo.dot_general %m, %n, contracting_dims = [1] x [0] : (" M
     ", tensor<3x5xf32>) -> tensor<2x5xf32>",
     "%0 = \"stablehlo.dot_general\"(%m, %n) <{dot_dimension_numbers = "
     "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (" M
     ", tensor<3x5xf32>) -> tensor<2x5xf32>"},
    {"%0 = stablehlo.dot_general %b, %d, batching_dims = [0] x [0], contracting_dims = [2] x [1], "
     "precision = [DEFAULT, HIGHEST] : (tensor<2x4x3xf32>, tensor<2x3x4xf32>) -> "
     "tensor<2x4x4xf32>",
     "%0 = \"stablehlo.dot_general\"(%b, %d) <{dot_dimension_numbers = "
     "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
     "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = "
     "[#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> : (tensor<2x4x3xf32>, "
     "tensor<2x3x4xf32>) -> tensor<2x4x4xf32>"},
    {"%0 = stablehlo.dot %m, %n, precision = [DEFAULT, DEFAULT] : (" M
     ", tensor<3x5xf32>) -> tensor<2x5xf32>",
     "%0 = stablehlo.dot_general %m, %n, contracting_dims = [1] x [0], precision = [DEFAULT, "
     "DEFAULT] : (" M ", tensor<3x5xf32>) -> tensor<2x5xf32>"},
    {"%0 = stablehlo.convolution(%c, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
     "window = {stride = [2, 1], pad = [[1, 1], [0, 2]], reverse = [false, false]} "
     "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, "
     "tensor<3x3x3x16xf32>) -> tensor<1x4x8x16xf32>",
     "%0 = \"stablehlo.convolution\"(%c, %f) <{batch_group_count = 1 : i64, dimension_numbers = "
     "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, "
     "padding = dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>, window_reversal = array<i1: false, "
     "false>, window_strides = array<i64: 2, 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> "
     "tensor<1x4x8x16xf32>"},
    {"%0 = stablehlo.reduce(%m init: %s) applies stablehlo.add across dimensions = [1] : (" M ", " S
     ") -> tensor<2xf32>",
     "%0 = \"stablehlo.reduce\"(%m, %s) <{dimensions = array<i64: 1>}> ({\n^bb0(%x: " S ", %y: " S
     "):\n %z = stablehlo.add %x, %y : " S "\n stablehlo.return %z : " S "\n}) : (" M ", " S
     ") -> tensor<2xf32>"},
    {"%0:2 = stablehlo.reduce(%v init: %s), (%k init: %i) across dimensions = [0] : (" V
     ", tensor<4xi64>, " S ", tensor<i64>) -> (" S ", tensor<i64>)\n reducer(%x: " S ", %y: " S
     ") (%q: tensor<i64>, %r: tensor<i64>)  {\n %z = stablehlo.maximum %x, %y : " S
     "\n %t = stablehlo.add %q, %r : tensor<i64>\n stablehlo.return %z, %t : " S ", tensor<i64>\n}",
     "%a, %bb = \"stablehlo.reduce\"(%v, %k, %s, %i) ({\n^bb0(%x: " S ", %q: tensor<i64>, %y: " S
     ", %r: tensor<i64>):\n %z = stablehlo.maximum %x, %y : " S
     "\n %t = stablehlo.add %q, %r : tensor<i64>\n stablehlo.return %z, %t : " S
     ", tensor<i64>\n}) {dimensions = dense<0> : tensor<1xi64>} : (" V ", tensor<4xi64>, " S
     ", tensor<i64>) -> (" S ", tensor<i64>)"},
    {"%0:2 = stablehlo.while(%x = %i, %y = %v) : tensor<i64>, " V
     "\n cond {\n %t = stablehlo.compare LT, %x, %i, SIGNED : (tensor<i64>, tensor<i64>) -> "
     "tensor<i1>\n stablehlo.return %t : tensor<i1>\n } do {\n %t = stablehlo.add %y, %w : " V
     "\n stablehlo.return %x, %t : tensor<i64>, " V "\n }",
     "%0:2 = \"stablehlo.while\"(%i, %v) ({\n^bb0(%x: tensor<i64> loc(\"x\"), %y: " V
     "):\n %t = stablehlo.compare LT, %x, %i, SIGNED : (tensor<i64>, tensor<i64>) -> "
     "tensor<i1>\n \"stablehlo.return\"(%t) : (tensor<i1>) -> () loc(\"r\")\n }, {\n^bb0(%x: "
     "tensor<i64>, %y: " V "):\n %t = stablehlo.add %y, %w : " V
     "\n stablehlo.return %x, %t : tensor<i64>, " V "\n }) : (tensor<i64>, " V
     ") -> (tensor<i64>, " V ")"},
    {"%0 = call @g(%v) : (" V ") -> " V, "%0 = \"func.call\"(%v) <{callee = @g}> : (" V ") -> " V},
    {"%0 = func.call @g(%v) : (" V ") -> " V " loc(#loc2)",
     "%0 = \"func.call\"(%v) {callee = @\"g\"} : (" V ") -> " V},
    {"%0 = stablehlo.custom_call @Sharding(%v) {backend_config = \"\", mhlo.sharding = "
     "\"{replicated}\"} : (" V ") -> " V,
     "%0 = \"stablehlo.custom_call\"(%v) <{backend_config = \"\", call_target_name = "
     "\"Sharding\"}> {mhlo.sharding = \"{replicated}\"} : (" V ") -> " V},
    {"%0 = stablehlo.composite \"m.gelu\" %v {composite_attributes = {eps = 1.0e-5 : f32}, "
     "decomposition = @g} : (" V ") -> " V,
     "%0 = \"stablehlo.composite\"(%v) <{composite_attributes = {eps = 1.0e-5 : f64}, "
     "decomposition "
     "= @g, name = \"m.gelu\"}> : (" V ") -> " V},
    {"%0 = stablehlo.reduce_precision %v, format = e5m10 : " V,
     "%0 = \"stablehlo.reduce_precision\"(%v) <{exponent_bits = 5 : i32, mantissa_bits = 10 : "
     "i32}> "
     ": (" V ") -> " V},
    {"%0 = stablehlo.rng %s, %s, %one, distribution = UNIFORM : (" S ", " S
     ", tensor<1xi64>) -> tensor<3xf32>",
     "%0 = \"stablehlo.rng\"(%s, %s, %one) <{rng_distribution = #stablehlo<rng_distribution "
     "UNIFORM>}> : (" S ", " S ", tensor<1xi64>) -> tensor<3xf32>"},
    {"%0, %1 = stablehlo.rng_bit_generator %seed, algorithm = THREE_FRY : (tensor<2xui64>) -> "
     "(tensor<2xui64>, tensor<4xui32>)",
     "%0:2 = \"stablehlo.rng_bit_generator\"(%seed) <{rng_algorithm = #stablehlo<rng_algorithm "
     "THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)"},
    {"%0 = chlo.erf %v : " V " -> " V, "%0 = \"chlo.erf\"(%v) : (" V ") -> " V},
    {"%0 = chlo.next_after %v, %w : " V ", " V " -> " V,
     "%0 = chlo.next_after %v, %w : (" V ", " V ") -> " V},
    {"%0, %1 = chlo.top_k(%v, k = 2) : " V " -> (tensor<2xf32>, tensor<2xi32>)",
     "%0:2 = \"chlo.top_k\"(%v) <{k = 2 : i64}> : (" V ") -> (tensor<2xf32>, tensor<2xi32>)"},
    {"%0, %1 = stablehlo.optimization_barrier %v, %s : " V ", " S,
     "%0:2 = \"stablehlo.optimization_barrier\"(%v, %s) : (" V ", " S ") -> (" V ", " S ")"},
    {"check.expect_eq %v, %w : " V, "\"check.expect_eq\"(%v, %w) : (" V ", " V ") -> ()"},
    {"check.expect_eq_const %s, dense<1.0> : " S,
     "\"check.expect_eq_const\"(%s) <{value = dense<1.0> : " S "}> : (" S ") -> ()"},
    {"check.expect_almost_eq_const %s, dense<1.0> : " S ", tolerance = 0.1",
     "check.expect_almost_eq_const %s, dense<1.0> : " S " {tolerance = 0.1 : f64}"},
    {"check.expect_close %v, %w, max_ulp_difference = 3 : " V ", " V,
     "\"check.expect_close\"(%v, %w) <{max_ulp_difference = 3 : i64}> : (" V ", " V ") -> ()"},
    {"%0 = stablehlo.tanh %v : " V,
     "%q = sdy.sharding_constraint %v <@m, [{\"x\"}, {}]> : " V "\n%0 = stablehlo.tanh %q : " V},
};

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char *pretty = wrapped(forms[i].pretty), *generic = wrapped(forms[i].generic);
        parse_help_same(pretty, generic);
        free(pretty);
        free(generic);
    }
}

/* The pretty form is what is printed, too: no op in the table above comes out in quotes. */
static void test_prints_pretty(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char *text = wrapped(forms[i].generic), *out = parse_help_canonical(text);
        assert_null(strstr(out, "\"stablehlo."));
        assert_null(strstr(out, "\"check."));
        assert_null(strstr(out, "\"chlo."));
        free(text);
        free(out);
    }
}

static const char gather_text[] =
    "func.func @main(%x: tensor<5x3xf32>, %i: tensor<4x1xi64>) -> tensor<4x3xf32> {\n"
    "  %0 = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<index_vector_dim "
    "= "
    "1, offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],>, slice_sizes = "
    "array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<4x1xi64>) -> tensor<4x3xf32>\n"
    "  return %0 : tensor<4x3xf32>\n}\n";

static void test_struct_attributes(void **state)
{
    (void)state;
    ir_module_t *m = parse_help_module(gather_text);
    const ir_attrs_t *attrs = &ir_def(m->fn[0], m->fn[0]->body->result[0])->attrs;
    int n;
    const int64_t *dims = attr_ints(attrs, "offset_dims", &n);
    assert_int_equal(n, 1);
    assert_int_equal(dims[0], 1);
    assert_int_equal(attr_int(attrs, "index_vector_dim", -1), 1);
    assert_non_null(attr_find(attrs, "operand_batching_dims")); /* [] when it is not written */
    assert_null(attr_find(attrs, "dimension_numbers"));
    ir_module_destroy(&m);
    free(parse_help_canonical(gather_text));
}

/* --- literals --- */

static const struct {
    const char *text; /* literal with its type */
    double want[8];
    int n;
} literals[] = {
    {"dense<[1, -2, 0x10]> : tensor<3xi32>", {1, -2, 16}, 3},
    {"dense<[true, false]> : tensor<2xi1>", {1, 0}, 2},
    {"dense<[-8, 7]> : tensor<2xi4>", {-8, 7}, 2},
    {"dense<[3, 0]> : tensor<2xui2>", {3, 0}, 2},
    {"dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>", {1, 2, 3, 4}, 4},
    {"dense<[1.5, 0x40200000, -2.5e-1, 9.99E-1]> : tensor<4xf32>", {1.5, 2.5, -.25, .999f}, 4},
    {"dense<[0x3F80, 1.00390625, 1.01171875]> : tensor<3xbf16>", {1, 1, 1.015625}, 3},
    {"dense<[0x3C00, 1.00048828125, 65519.0]> : tensor<3xf16>", {1, 1, 65504}, 3},
    {"dense<[0.1, 1.7976931348623157e308, 5.0e-324]> : tensor<3xf64>",
     {0.1, 1.7976931348623157e308, 5e-324},
     3},
    {"dense<\"0x0100000002000000\"> : tensor<2xi32>", {1, 2}, 2},
    {"dense<\"0x0000803F\"> : tensor<3xf32>", {1, 1, 1}, 3},
    {"dense<\"0x010001\"> : tensor<3xi1>", {1, 0, 1}, 3},
    {"dense<\"0x0502\"> : tensor<10xi1>", {1, 0, 1, 0, 0, 0, 0, 0}, 8},
    {"dense<\"0xFF\"> : tensor<3xi1>", {1, 1, 1}, 3},
    {"dense<\"0x0F07\"> : tensor<2xi4>", {-1, 7}, 2},
    {"dense<tensor<3xi32> : [1, 2, 3]>", {1, 2, 3}, 3},
    {"dense<[1, // a comment > here\n 2]> : tensor<2xi64>", {1, 2}, 2},
    {"dense<5> : tensor<0x3xf32>", {0}, 0},
    {"dense<> : tensor<0xi64>", {0}, 0},
    {"dense<[]> : tensor<0xi64>", {0}, 0},
};

static char *constant_module(const char *literal)
{
    return mem_printf("func.func @main() {\n  %%0 = stablehlo.constant %s\n  return\n}\n", literal);
}

static void test_literals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
        char *text = constant_module(literals[i].text);
        ir_module_t *m = parse_help_module(text);
        const tensor_t *t = ir_const_of(m->fn[0], m->fn[0]->body->op[0]->out);
        for (int k = 0; k < literals[i].n; k++)
            assert_true(tensor_get_f64(t, k) == literals[i].want[k]);
        if (literals[i].n == 0) assert_int_equal(ir_type_count(&t->type), 0);
        ir_module_destroy(&m);
        free(parse_help_canonical(text));
        free(text);
    }
}

static void test_special_floats(void **state)
{
    (void)state;
    char *text = constant_module("dense<[0x7FC00001, 0xFF800000, -0.0, 1.0e-45]> : tensor<4xf32>");
    ir_module_t *m = parse_help_module(text);
    const uint32_t *bits = ir_const_of(m->fn[0], m->fn[0]->body->op[0]->out)->data;
    assert_int_equal(bits[0], 0x7FC00001);
    assert_int_equal(bits[1], 0xFF800000);
    assert_int_equal(bits[2], 0x80000000);
    assert_int_equal(bits[3], 1);
    ir_module_destroy(&m);
    char *out = parse_help_canonical(text);
    assert_non_null(strstr(out, "dense<[0x7FC00001, 0xFF800000, -0.000000e+00, 1.401298e-45]>"));
    free(out);
    free(text);
}

/* A list and a splat of the same elements are the same constant; many elements go out in hex. */
static void test_splat_and_hex(void **state)
{
    (void)state;
    str_t list = {0};
    str_add(&list, "func.func @main() {\n  %0 = stablehlo.constant dense<[");
    for (int i = 0; i < 100; i++) str_addf(&list, "%s%d", i ? ", " : "", i);
    str_add(&list, "]> : tensor<100xi16>\n  return\n}\n");
    char *out = parse_help_canonical(str_text(&list));
    assert_non_null(strstr(out, "dense<\"0x0000010002000300"));
    free(out);
    str_fini(&list);
    char *a = constant_module("dense<[2, 2, 2]> : tensor<3xi64>");
    char *b = constant_module("dense<2> : tensor<3xi64>");
    parse_help_same(a, b);
    free(a);
    free(b);
}

static void test_resources(void **state)
{
    (void)state;
    const char *text =
        "module {\n  func.func @main() -> tensor<2xf32> {\n"
        "    %0 = stablehlo.constant dense_resource<w_a.b_1> : tensor<2xf32>\n"
        "    return %0 : tensor<2xf32>\n  }\n}\n"
        "{-#\n  dialect_resources: {\n    builtin: {\n      other: \"0x0400000001\",\n"
        "      w_a.b_1: \"0x040000000000803F00000040\"\n    }\n  }\n#-}\n";
    ir_module_t *m = parse_help_module(text);
    const tensor_t *t = ir_const_of(m->fn[0], m->fn[0]->body->result[0]);
    assert_true(tensor_get_f64(t, 0) == 1 && tensor_get_f64(t, 1) == 2);
    ir_module_destroy(&m);
    free(parse_help_canonical(text));
}

/* --- modules and functions --- */

static void test_module_forms(void **state)
{
    (void)state;
    parse_help_same(
        "#loc1 = loc(\"a.py\":3:9)\n#map = affine_map<(d0) -> (d0 + 1)>\n"
        "module @m attributes {mhlo.num_partitions = 1 : i32, flag, d.map = #map} {\n"
        "  func.func private @g(tensor<4xf32>) -> tensor<f32> // a declaration\n"
        "  func.func public @main(%a: !t {jax.arg_info = \"x\"} loc(\"ignored\"), %b: !t "
        "loc(#loc2)) -> (!t {jax.result_info = \"r\"}) attributes {k = [1, 2]} {\n"
        "    %0 = stablehlo.add %a, %b : !t loc(#loc1)\n"
        "    return %0 : !t loc(\"x\"(callsite(\"f\" at \"g>)\")))\n"
        "  } loc(#loc1)\n} loc(#loc)\n#loc = loc(unknown)\n#loc2 = loc(\"weights\"(#loc1))\n"
        "!t = tensor<2xf32>\n",
        "\"builtin.module\"() <{sym_name = \"m\"}> ({\n"
        "  \"func.func\"() <{function_type = (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>, "
        "sym_name = \"main\", arg_attrs = [{jax.arg_info = \"x\"}, {pcp.loc = \"weights\"}], "
        "res_attrs = [{jax.result_info = \"r\"}], k = array<i64: 1, 2>}> ({\n"
        "  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):\n"
        "    %0 = \"stablehlo.add\"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n"
        "    \"func.return\"(%0) : (tensor<2xf32>) -> ()\n  }) : () -> ()\n"
        "}) {mhlo.num_partitions = 1 : i32, flag, d.map = affine_map<(d0) -> (d0 + 1)>} : () "
        "-> ()\n");
}

/* Calls go forward; sibling regions and functions reuse names; `#1` picks a result. */
static void test_names_and_calls(void **state)
{
    (void)state;
    const char *text =
        "func.func @main(%a: tensor<i1>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\n"
        "  %0:2 = call @later(%b, %b) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)\n"
        "  %1 = \"stablehlo.if\"(%a) ({\n    %x = stablehlo.sine %b : tensor<f32>\n"
        "    stablehlo.return %x : tensor<f32>\n  }, {\n    %x = stablehlo.cosine %0#1 : "
        "tensor<f32>\n"
        "    stablehlo.return %x : tensor<f32>\n  }) : (tensor<i1>) -> tensor<f32>\n"
        "  return %1, %0#0 : tensor<f32>, tensor<f32>\n}\n"
        "func.func private @later(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) "
        "{\n"
        "  return %b, %a : tensor<f32>, tensor<f32>\n}\n";
    ir_module_t *m = parse_help_module(text);
    assert_int_equal(m->n_fn, 2);
    assert_true(m->fn[1]->is_private);
    assert_int_equal(m->fn[0]->body->op[0]->line, 2);
    assert_int_equal(m->fn[0]->body->op[1]->line, 3);
    assert_string_equal(m->fn[0]->value[m->fn[0]->body->result[1]].name, "0#0");
    str_t line = {0};
    ir_print_op(m->fn[0], m->fn[0]->body->op[1], &line);
    assert_string_equal(str_text(&line),
                        "%1 = \"stablehlo.if\"(%a) ({ .. }, { .. }) : (tensor<i1>) "
                        "-> tensor<f32>");
    str_fini(&line);
    ir_module_destroy(&m);
    free(parse_help_canonical(text));
}

static void test_attribute_values(void **state)
{
    (void)state;
    char *out = parse_help_canonical(
        "#al = #stablehlo.foo<a -> b, \">\">\n"
        "module attributes {a = 3, b = 0x7F800000 : f32, c = true, d, e = \"q\\22\\n\\C3\", f = "
        "@f, "
        "g = [1.0, \"x\", unit], h = {z = 1, y = tensor<2xf32>}, i = array<i64>, j = #al, k = "
        "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, l = dense<1.5> : tensor<2xf32>, m = "
        "loc(\"x\":1:2)"
        ", n = (tensor<f32>) -> (), o = dense<[1, 0]> : tensor<2xindex>, p = tensor<?xf32>, q = "
        "18446744073709551615 : ui64, \"quoted name\" = @a::@b, s = \"nul\\00byte\"} {\n"
        "func.func @main() {\nreturn\n}\n}\n");
    static const char *const want[] = {"a = 3 : i64",
                                       "b = 0x7FF0000000000000 : f64",
                                       "c = true, d,",
                                       "e = \"q\\22\\0A\\C3\"",
                                       "f = @f",
                                       "g = [1.000000e+00 : f64, \"x\", unit]",
                                       "h = {y = tensor<2xf32>, z = 1 : i64}",
                                       "i = array<i64>",
                                       "j = #stablehlo.foo<a -> b, \">\">",
                                       "k = array<i64: 0, 1, 2, 3>",
                                       "l = dense<1.500000e+00> : tensor<2xf32>",
                                       "m = loc(\"x\":1:2)",
                                       "n = (tensor<f32>) -> ()",
                                       "o = array<i64: 1, 0>",
                                       "p = tensor<?xf32>",
                                       "q = 18446744073709551615 : ui64",
                                       "\"quoted name\" = @a::@b",
                                       "s = \"nul\\00byte\""};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        if (!strstr(out, want[i])) print_error("missing %s in\n%s\n", want[i], out);
        assert_non_null(strstr(out, want[i]));
    }
    free(out);
}

static void test_sections(void **state)
{
    (void)state;
    const char *text =
        "// only a comment\n// -----\nfunc.func @main() {\nreturn\n}\n// ----- more\n"
        "func.func @main() {\n  stablehlo.bogus\n}\n";
    parse_sections_t s = parse_sections(text, strlen(text));
    assert_true(parse_sections_next(&s));
    assert_true(parse_is_blank(s.at, s.n));
    assert_true(parse_sections_next(&s));
    assert_int_equal(s.index, 1);
    assert_int_equal(s.line, 3);
    ir_module_t *m = parse_section(s.at, s.n, "s.mlir", s.line, NULL);
    assert_non_null(m);
    ir_module_destroy(&m);
    assert_true(parse_sections_next(&s));
    err_t err = {0};
    assert_null(parse_section(s.at, s.n, "s.mlir", s.line, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_true(str_starts(err.text, "s.mlir:8:3: op 'stablehlo.bogus' is not supported"));
    assert_false(parse_sections_next(&s));
}

/* Every prefix of a good text is an error or a module, never a crash; nothing behind n is read. */
static void test_prefixes(void **state)
{
    (void)state;
    char *text = wrapped(forms[sizeof forms / sizeof *forms - 2].pretty);
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        char *copy = mem_calloc(i ? i : 1, 1); /* exactly i bytes: ASan sees a read beyond */
        memcpy(copy, text, i);
        ir_module_t *m = parse_stablehlo(copy, i, "t.mlir", NULL);
        ir_module_destroy(&m);
        free(copy);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_prints_pretty),
        cmocka_unit_test(test_struct_attributes),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_special_floats),
        cmocka_unit_test(test_splat_and_hex),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_module_forms),
        cmocka_unit_test(test_names_and_calls),
        cmocka_unit_test(test_attribute_values),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
