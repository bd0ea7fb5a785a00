/* The textual grammar, statement by statement: spellings that mean the same, spellings that are
 * read, and what is refused, with the reason. Values behind the spellings are in tests/checks. */
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

/* A function around an op's text. */
static char *wrapped(const char *body)
{
    return mem_printf(
        "func.func private @g(%%x: tensor<4xf32>) -> tensor<4xf32> { return %%x : tensor<4xf32> }\n"
        "func.func @main(%%a: tensor<4xf32>, %%b: tensor<4xf32>, %%s: tensor<f32>, %%p: "
        "tensor<4xi1>,\n    %%i: tensor<i32>, %%m: tensor<2x3xi32>, %%n: tensor<1xindex>) {\n%s\n"
        "  return\n}\n",
        body);
}

#define V "tensor<4xf32>"

/* --- spellings of the same module --- */

static const struct {
    const char *a, *b;
} same_modules[] = {
    /* lexical: comments and blanks anywhere, names of every kind */
    {"// c\nfunc.func // @x\n@main(%arg0 // y {\n: tensor<f32>)\n{ %cst_0 = stablehlo.abs\n"
     "%arg0 // }\n: tensor<f32> return }",
     "func.func @main(%0: tensor<f32>) { %1 = stablehlo.abs %0 : tensor<f32> return }"},
    {"func.func @main(%iterArg_12: tensor<f32>, %a.b-c$_: tensor<f32>) { %output_state = "
     "stablehlo.add %iterArg_12, %a.b-c$_ : tensor<f32> return }",
     "func.func @main(%x: tensor<f32>, %y: tensor<f32>) { %z = stablehlo.add %x, %y : tensor<f32> "
     "return }"},
    {"func.func @\"main\"() { call @\"<lambda>\"() : () -> () call @f.impl() : () -> () return }\n"
     "func.func private @\"<lambda>\"() { return }\nfunc.func private @f.impl() { return }",
     "func.func @main() { \"func.call\"() <{callee = @\"<lambda>\"}> : () -> () func.call "
     "@\"f.impl\"() : () -> () func.return }\nfunc.func nested @\"<lambda>\"() { func.return }\n"
     "func.func private @f.impl() { \"func.return\"() : () -> () }"},
    {"func.func @main(%a: tensor<0x3xf32>, %b: tensor<0xf32>) { return }",
     "func.func @main(%a: tensor< 0 x 3 x f32 >, %b: tensor<0xf32>) { return }"},
    /* file: aliases before and after, in any order; a module's wrapper, name and attributes */
    {"!u = tensor<2x!e>\n#n = 3 : i64\n!e = f32\nmodule { func.func @main(%a: !u) attributes {k = "
     "#n} { return } }\n#unused = loc(\"x\")",
     "module { func.func @main(%a: tensor<2xf32>) attributes {k = 3} { return } }"},
    {"#loc7 = loc(\"a.py\":3:9)\n#map = affine_map<(d0, d1) -> (d1)>\n#c = #stablehlo.conv<[b, "
     "f]x[i, o]->[b, f]>\nfunc.func @main() { return loc(#loc7) } loc(#loc)\n#loc = loc(unknown)",
     "func.func @main() { return }"},
    {"builtin.module @m attributes {mhlo.num_partitions = 1 : i32} { func.func @main() { return } "
     "}",
     "\"builtin.module\"() <{sym_name = \"m\"}> ({\n^bb0:\n \"func.func\"() <{function_type = () "
     "-> "
     "(), sym_name = \"main\"}> ({ \"func.return\"() : () -> () }) : () -> () }) "
     "{mhlo.num_partitions = 1 : i32} : () -> () loc(\"e\")"},
    {"sdy.mesh @m = <[\"x\"=2, \"y\"=4]>\nfunc.func @main(%a: tensor<f32> {sdy.sharding = "
     "#sdy.sharding<@m, [{\"x\"}]>}) { return }",
     "\"sdy.mesh\"() <{mesh = #sdy.mesh<[\"x\"=2, \"y\"=4]>, sym_name = \"m\"}> : () -> ()\n"
     "func.func @main(%a: tensor<f32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}) { return }"},
    /* functions: a bare result type and a body, a list with attributes, a declaration */
    {"func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }",
     "func.func public @main(%a: tensor<f32> loc(\"a.py\":1:2 to :3)) -> (tensor<f32>) { "
     "func.return {x} %a : tensor<f32> }"},
    {"func.func private @g(tensor<4xf32>) -> tensor<f32>\nfunc.func private @h(tensor<f32> {k}, "
     "tensor<f32>) -> (tensor<f32> {r = 1 : i32}, tensor<f32>) attributes {z}\nfunc.func @main() { "
     "return }",
     "func.func @main() { return }\n\"func.func\"() <{function_type = (tensor<4xf32>) -> "
     "tensor<f32>, sym_name = \"g\", sym_visibility = \"private\"}> ({ }) : () -> ()"},
    {"\"func.func\"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = \"main\", "
     "res_attrs = [{}]}> ({\n^bb0(%a: tensor<f32> loc(#l)):\n \"func.return\"(%a) : (tensor<f32>) "
     "-> () }) : () -> ()\n#l = loc(unknown)",
     "\"func.func\"() ({ ^bb0(%a: tensor<f32>): func.return %a : tensor<f32> }) {sym_name = "
     "\"main\", function_type = (tensor<f32>) -> (tensor<f32>)} : () -> ()"},
    /* tuples and tokens are gone */
    {"func.func @main(%t: tuple<tensor<f32>, tuple<tensor<i32>>, !stablehlo.token>) -> "
     "(!stablehlo.token, tensor<i32>) { %0 = stablehlo.get_tuple_element %t[1] : "
     "(tuple<tensor<f32>, tuple<tensor<i32>>, !stablehlo.token>) -> tuple<tensor<i32>> %1 = "
     "\"stablehlo.get_tuple_element\"(%0) {index = 0 : i32} : (tuple<tensor<i32>>) -> tensor<i32> "
     "%2 = stablehlo.after_all : !stablehlo.token return %2, %1 : !stablehlo.token, tensor<i32> }",
     "func.func @main(%f: tensor<f32>, %i: tensor<i32>) -> tensor<i32> { return %i : tensor<i32> "
     "}"},
    /* quantised arguments are what is stored */
    {"!q = !quant.uniform<i8:f32, 5.000000e-01:-1>\nfunc.func @main(%x: tensor<2x!q>) -> "
     "tensor<2x!q> { return %x : tensor<2x!q> }",
     "func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> { return %x : tensor<2xi8> }"},
};

/* --- spellings of the same ops, in wrapped() --- */

static const struct {
    const char *a, *b;
} same_ops[] = {
    /* the frame: results, attributes before and after regions, locations, quoted names */
    {"%q:2, %r = \"stablehlo.optimization_barrier\"(%a, %b, %s) {} : (" V ", " V
     ", tensor<f32>) -> (" V ", " V ", tensor<f32>)\n%t = stablehlo.add %q#0, %q#1 : " V,
     "%x, %y, %z = stablehlo.optimization_barrier %a, %b, %s : " V ", " V
     ", tensor<f32> loc(\"l\")\n%t = stablehlo.add %x, %y : " V},
    {"%r = \"stablehlo.sort\"(%a) <{dimension = 0 : i64, is_stable = true}> ({\n^bb0(%x: "
     "tensor<f32> loc(\"x\"), %y: tensor<f32>):\n %c = stablehlo.compare LT, %x, %y : "
     "(tensor<f32>, "
     "tensor<f32>) -> tensor<i1> stablehlo.return %c : tensor<i1> }) : (" V ") -> " V,
     "%r = \"stablehlo.sort\"(%a) ({\n^bb1(%x: tensor<f32>, %y: tensor<f32>):\n %c = "
     "\"stablehlo.compare\"(%x, %y) {comparison_direction = #stablehlo<comparison_direction LT>} : "
     "(tensor<f32>, tensor<f32>) -> tensor<i1> \"stablehlo.return\"(%c) : (tensor<i1>) -> () }) "
     "{is_stable = true, dimension = 0 : i64} : (" V ") -> " V},
    {"%r = stablehlo.abs %a {\"mhlo.frontend\" = {}, dotted.name = unit, flag} : " V,
     "%r = \"stablehlo.abs\"(%a) {dotted.name, flag = unit, mhlo.frontend = {}} : (" V ") -> " V},
    /* numbers and attribute values */
    {"%r = stablehlo.abs %a {a = -3 : i32, b = 255, c = 0.00000099 : f64, d = 5.0 : f32} : " V,
     "%r = stablehlo.abs %a {a = -0x3 : i64, b = 0xFF : ui8, c = 9.9E-7, d = 5.} : " V},
    {"%r = stablehlo.slice %a [0:4] : (" V ") -> " V,
     "%r = \"stablehlo.slice\"(%a) <{start_indices = dense<0> : tensor<1xi64>, limit_indices = "
     "dense<[0x4]> : tensor<1xindex>, strides = [1]}> : (" V ") -> " V},
    {"%r = stablehlo.custom_call @Sharding(%a) {operand_layouts = [dense<0> : tensor<1xindex>], "
     "output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], "
     "operand_index = 0, operand_tuple_indices = []>], called_computations = [@g], api_version = "
     "1 : i32, backend_config = {k = [\"v\"]}} : (" V ") -> " V,
     "%r = \"stablehlo.custom_call\"(%a) <{api_version = 1 : i32, backend_config = {k = [\"v\"]}, "
     "call_target_name = \"Sharding\", called_computations = [@g], operand_layouts = [dense<[0]> "
     ": tensor<1xindex>], output_operand_aliases = "
     "[#stablehlo.output_operand_alias<output_tuple_indices = [], "
     "operand_index = 0, operand_tuple_indices = []>]}> : (" V ") -> " V},
    {"%r = stablehlo.tanh %a {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = "
     "#stablehlo.result_accuracy_mode<TOLERANCE>>, u = #d.name<a -> b, \">\", x >= 1>, n = @a::@b, "
     "f = (tensor<f32>, !quant.uniform<i8:f32, 1.0>) -> (tuple<>)} : " V,
     "%r = \"stablehlo.tanh\"(%a) {f = (tensor<f32>, !quant.uniform<i8:f32, 1.0>) -> (tuple<>), n "
     "= "
     "@a::@b, result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = "
     "#stablehlo.result_accuracy_mode<TOLERANCE>>, u = #d.name<a -> b, \">\", x >= 1>} : (" V
     ") -> " V},
    /* literals */
    {"%r = stablehlo.constant dense<[0, -1, 7]> : tensor<3xi32>",
     "%r = arith.constant dense<tensor<3xi32> : [0, 0xFFFFFFFF, 0x7]>"},
    {"%r = stablehlo.constant dense<\"0x0001FE\"> : tensor<3xi2>",
     "%r = chlo.constant dense<[0, 1, -2]> : tensor<3xi2>"},
    {"%r = stablehlo.constant dense<\"0x05\"> : tensor<5xi1>",
     "%r = stablehlo.constant dense<\"0x0100010000\"> : tensor<5xi1>"},
    {"%r = stablehlo.constant dense<\"0xFF\"> : tensor<5xi1>",
     "%r = stablehlo.constant dense<true> : tensor<5xi1>"},
    {"%r = stablehlo.constant dense<\"0x0F\"> : tensor<2x2xui4>",
     "%r = stablehlo.constant dense<15> : tensor<2x2xui4>"},
    {"%r = stablehlo.constant dense<[0xFF800000, 0x7FC00000]> : tensor<2xf32>",
     "%r = stablehlo.constant dense<\"0x000080FF0000C07F\"> : tensor<2xf32>"},
    {"%r = stablehlo.constant {mhlo.x} dense<[]> : tensor<0xf32>",
     "%r = \"stablehlo.constant\"() {mhlo.x, value = dense<> : tensor<0xf32>} : () -> "
     "tensor<0xf32>"},
    {"%r = stablehlo.constant() {value = dense<3> : tensor<2xi8>} : () -> tensor<2xi8>",
     "%r = stablehlo.constant dense<3> : tensor<2xi8>"},
    {"%r = stablehlo.constant dense<[1, 2]> : tensor<2xindex>",
     "%r = stablehlo.constant dense<[1, 2]> : tensor<2xi64>"},
    /* pretty forms */
    {"%r = stablehlo.compare  NE, %a, %b,  TOTALORDER : (" V ", " V ") -> tensor<4xi1>",
     "%r = \"stablehlo.compare\"(%a, %b) {compare_type = #stablehlo<comparison_type TOTALORDER>, "
     "comparison_direction = #stablehlo<comparison_direction NE>} : (" V ", " V
     ") -> tensor<4xi1>"},
    {"%r = stablehlo.select %p, %a, %b : (tensor<4xi1>, " V ", " V ") -> " V,
     "%r = stablehlo.select %p, %a, %b : tensor<4xi1>, " V},
    {"%r = stablehlo.get_dimension_size %m, dim = 1 : (tensor<2x3xi32>) -> tensor<i32>",
     "%r = \"stablehlo.get_dimension_size\"(%m) <{dimension = 1 : i64}> : (tensor<2x3xi32>) -> "
     "tensor<i32>"},
    {"%r = stablehlo.dynamic_broadcast_in_dim %s, %n, dims = [] : (tensor<f32>, tensor<1xindex>) "
     "-> "
     "tensor<4xf32>",
     "%r = \"stablehlo.dynamic_broadcast_in_dim\"(%s, %n) {broadcast_dimensions = dense<> : "
     "tensor<0xi64>} : (tensor<f32>, tensor<1xi64>) -> tensor<4xf32>"},
    {"%r = stablehlo.dynamic_reshape %m, %n : (tensor<2x3xi32>, tensor<1xindex>) -> tensor<6xi32>",
     "%r = \"stablehlo.dynamic_reshape\"(%m, %n) : (tensor<2x3xi32>, tensor<1xi64>) -> "
     "tensor<6xi32>"},
    {"%r = stablehlo.reduce(%a init: %s) applies stablehlo.maximum across dimensions = [0] "
     "{mhlo.x = 1} : (" V ", tensor<f32>) -> tensor<f32>",
     "%r = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 0>}> ({\n^bb0(%x: tensor<f32>, "
     "%y: tensor<f32>): %z = stablehlo.maximum %x, %y : tensor<f32> stablehlo.return %z : "
     "tensor<f32> }) {mhlo.x = 1} : (" V ", tensor<f32>) -> tensor<f32>"},
    {"stablehlo.while() cond { %c = stablehlo.constant dense<false> : tensor<i1> stablehlo.return "
     "%c : tensor<i1> } do { stablehlo.return }",
     "\"stablehlo.while\"() ({ %c = stablehlo.constant dense<false> : tensor<i1> stablehlo.return "
     "%c : tensor<i1> }, { \"stablehlo.return\"() : () -> () }) : () -> ()"},
    {"%r = stablehlo.while(%k = %i) : tensor<i32> attributes {mhlo.n = 2 : i64} cond { %c = "
     "stablehlo.compare LT, %k, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> "
     "stablehlo.return %c : tensor<i1> } do { stablehlo.return %k : tensor<i32> }",
     "%r = \"stablehlo.while\"(%i) ({ ^bb0(%k: tensor<i32>): %c = stablehlo.compare LT, %k, %k, "
     "SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %c : tensor<i1> }, { "
     "^bb0(%k: tensor<i32>): stablehlo.return %k : tensor<i32> }) {mhlo.n = 2 : i64} : "
     "(tensor<i32>) -> tensor<i32>"},
    {"%r = stablehlo.composite \"m.f\" %a {composite_attributes = {k = 1 : i64}, decomposition = "
     "@g, version = 2 : i32} : (" V ") -> " V,
     "%r = \"stablehlo.composite\"(%a) {version = 2 : i32, name = \"m.f\", decomposition = @g, "
     "composite_attributes = {k = 1}} : (" V ") -> " V},
    {"%r = sdy.sharding_constraint %a <@m, [{\"x\"}]> : " V "\n%t = stablehlo.abs %r : " V,
     "%r = \"sdy.sharding_constraint\"(%a) <{sharding = #sdy.sharding<@m, [{\"x\"}]>}> : (" V
     ") -> " V "\n%t = stablehlo.abs %r : " V},
    {"%r = chlo.broadcast_add %a, %s : (" V ", tensor<f32>) -> " V,
     "%r = \"chlo.broadcast_add\"(%a, %s) : (" V ", tensor<f32>) -> " V},
    {"%r = chlo.zeta %a, %b : " V ", " V " -> " V, "%r = chlo.zeta %a, %b : (" V ", " V ") -> " V},
    {"%r = stablehlo.replica_id : tensor<ui32>",
     "%r = \"stablehlo.replica_id\"() : () -> tensor<ui32>"},
    {"%r = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, channel_handle = "
     "#stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<0> : "
     "tensor<1x1xi64>, use_global_device_ids}> : (" V ") -> " V,
     "%r = \"stablehlo.all_gather\"(%a) {use_global_device_ids, replica_groups = dense<[[0]]> : "
     "tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, "
     "all_gather_dim = 0 : i64} : (" V ") -> " V},
    /* checks */
    {"check.expect_close %a, %b, max_ulp_difference = 3, min_ulp_difference = 1 : " V ", " V,
     "\"check.expect_close\"(%a, %b) {min_ulp_difference = 1 : i64, max_ulp_difference = 3 : i64} "
     ": "
     "(" V ", " V ") -> ()"},
    {"check.expect_almost_eq %a, %b, tolerance = 0.1 : " V,
     "\"check.expect_almost_eq\"(%a, %b) <{tolerance = 1.0e-1 : f64}> : (" V ", " V ") -> ()"},
};

static void test_modules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof same_modules / sizeof *same_modules; i++)
        parse_help_same(same_modules[i].a, same_modules[i].b);
}

static void test_ops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof same_ops / sizeof *same_ops; i++) {
        char *a = wrapped(same_ops[i].a), *b = wrapped(same_ops[i].b);
        parse_help_same(a, b);
        free(a);
        free(b);
    }
}

/* --- what is refused --- */

#define Q "tensor<2x!quant.uniform<i8:f32, 0.5:1>>"
#define R "tensor<2x!quant.uniform<i8:f32, 0.25:1>>"
#define W "tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>"

/* An op on %t, a tuple of Q, R and W; what the message holds; its code. */
static const struct {
    const char *op, *want;
    err_code_t code;
} bad[] = {
    {"func.func private @g() {", "'func.func' is not supported: it stands inside a function",
     ERR_UNSUPPORTED},
    {"%r = \"chlo.scan\"(%v) : (tensor<2xf32>) -> tensor<2xf32>",
     "'chlo.scan' is not supported: export the loop", ERR_UNSUPPORTED},
    {"%r = \"stablehlo.infeed\"(%k) : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)",
     "'stablehlo.infeed' is not supported: it talks to the host", ERR_UNSUPPORTED},
    {"%r = \"stablehlo.outfeed\"(%q, %k) : (" Q ", !stablehlo.token) -> !stablehlo.token",
     "'stablehlo.outfeed' is not supported: it talks to the host", ERR_UNSUPPORTED},
    {"%r = \"stablehlo.send\"(%q, %k) : (" Q ", !stablehlo.token) -> !stablehlo.token",
     "'stablehlo.send' is not supported: it talks", ERR_UNSUPPORTED},
    {"%r = \"stablehlo.recv\"(%k) : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)",
     "'stablehlo.recv' is not supported: it talks", ERR_UNSUPPORTED},
    {"%r = stablehlo.get_tuple_element %t[3] : (tuple<" Q ", " R ", " W ">) -> " Q,
     "index is 3, but the tuple has 3", ERR_TYPE},
    {"%r = stablehlo.get_tuple_element %t[0] : (tuple<" Q ", " R ", " W ">) -> " R,
     "is not the type of this element", ERR_TYPE},
    {"%r = stablehlo.get_tuple_element %q[0] : (" Q ") -> " Q, "is not a tuple", ERR_TYPE},
    {"%r = stablehlo.tuple %q, %r1 : tuple<" Q ">", "is not the tuple of the operands", ERR_TYPE},
    {"%r = stablehlo.tuple %q : " Q, "is not the tuple of the operands", ERR_TYPE},
    {"%r = stablehlo.after_all %q : !stablehlo.token", "is written here", ERR_TYPE},
    {"%r = \"stablehlo.after_all\"(%q) : (" Q ") -> !stablehlo.token", "is not a token", ERR_TYPE},
    {"%r = \"stablehlo.get_tuple_element\"() {index = 0} : () -> " Q, "has 1 operands, got 0",
     ERR_PARSE},
    {"%r = stablehlo.abs %t : tuple<" Q ", " R ", " W ">", "takes no tuple<", ERR_TYPE},
    {"%r = stablehlo.abs %q : (" Q ") -> " R, NULL, ERR_OK},
    {"%r = stablehlo.reshape %q : (" Q ") -> " R, "the scales of", ERR_TYPE},
    {"%r = stablehlo.concatenate %q, %r1, dim = 0 : (" Q ", " R
     ") -> tensor<4x!quant.uniform<i8:f32, 0.5:1>>",
     "the scales of", ERR_TYPE},
    {"%r = stablehlo.reverse %w, dims = [0] : " W, "with one scale, not one per axis", ERR_TYPE},
    {"%r = stablehlo.convert %q : (" Q ") -> tensor<2xf32>", "takes no quantised tensors",
     ERR_TYPE},
    {"%r = stablehlo.add %q, %f : (" Q ", tensor<2xf32>) -> " Q, "the element types of", ERR_TYPE},
    {"%r = stablehlo.add %q, %q : (" Q ", " Q ") -> tensor<2x!quant.uniform<i16:f32, 0.5:1>>",
     "the element types of", ERR_TYPE},
    {"%r = stablehlo.add %w, %w : (" W ", " W ") -> " Q, "the axes of", ERR_TYPE},
    {"%r = stablehlo.dot_general %q, %q, contracting_dims = [0] x [0] : (" Q ", " Q
     ") -> tensor<!quant.uniform<i32:f32, 0.5>>",
     "zero points of the right operand are 0, not 1", ERR_TYPE},
    {"%r = stablehlo.uniform_quantize %f : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f64, "
     "0.5>>",
     "the operand stands for tensor<2xf32>, not tensor<2xf64>", ERR_TYPE},
    {"%r = stablehlo.uniform_quantize %f : (tensor<2xf32>) -> tensor<2xf32>", "is not quantised",
     ERR_TYPE},
    {"%r = stablehlo.uniform_dequantize %f : tensor<2xf32>", "is not quantised", ERR_TYPE},
    {"%r = stablehlo.abs %q : " R, "operand 0 is tensor<2x!quant.uniform<i8:f32, 0.5:1>>, but",
     ERR_TYPE},
    {"%r = call @g(%r1) : (" R ") -> " Q,
     "@g: operand 0 is tensor<2x!quant.uniform<i8:f32, 0.5:1>>", ERR_TYPE},
    {"%c = stablehlo.constant dense<true> : tensor<i1>\n%r = \"stablehlo.if\"(%c) ({ "
     "stablehlo.return %q : " Q " }, { stablehlo.return %r1 : " R " }) : (tensor<i1>) -> " Q,
     "region 1 gives", ERR_TYPE},
    /* types */
    {"%r = stablehlo.constant dense<0> : tensor<2x!quant.uniform<i8:f32, 0.0>>",
     "a scale is positive and finite", ERR_TYPE},
    {"%r = stablehlo.constant dense<0> : tensor<2x!quant.uniform<i8:f32, 1.0:200>>",
     "zero point 200 is not in -128 to 127", ERR_TYPE},
    {"%r = stablehlo.constant dense<0> : tensor<2x!quant.uniform<i8<-200:3>:f32, 1.0>>",
     "are no bounds of values from -128 to 127", ERR_TYPE},
    {"%r = stablehlo.constant dense<0> : tensor<2x!quant.uniform<i64:f32, 1.0>>",
     "expected a storage type", ERR_PARSE},
    {"%r = stablehlo.constant dense<0> : tensor<2x!quant.uniform<i8:i32, 1.0>>",
     "expected a float type", ERR_PARSE},
    {"%r = stablehlo.constant dense<0> : tensor<2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>",
     "scales along axis 1 of a tensor of rank 1", ERR_TYPE},
    {"%r = stablehlo.constant dense<0> : tensor<3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>",
     "2 scales along axis 0, which has 3 elements", ERR_TYPE},
    {"%r = stablehlo.constant dense<0> : tensor<2x!quant.uniform<i8:f32:{0:1}, {{1.0}, {2.0}}>>",
     "scales per block are not supported", ERR_UNSUPPORTED},
    {"%r = stablehlo.constant dense<0> : tensor<2x!quant.any<i8:f32>>",
     "element type '!quant.any' is not supported", ERR_UNSUPPORTED},
    {"%r = stablehlo.constant dense<0> : tuple<tensor<2xi8>>", "expected a tensor's type",
     ERR_PARSE},
    /* collectives of more than one process */
    {"%r = \"stablehlo.all_gather\"(%f) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, "
     "1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<4xf32>",
     "replica_groups names process 1, but a program here is one process", ERR_UNSUPPORTED},
    {"%r = \"stablehlo.all_gather\"(%f) {all_gather_dim = 0 : i64, replica_groups = dense<-1> : "
     "tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>",
     "replica_groups lacks process 0", ERR_ARG},
    {"%r = \"stablehlo.collective_permute\"(%f) {source_target_pairs = dense<[[0, 1], [1, 0]]> : "
     "tensor<2x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>",
     "source_target_pairs names process 1", ERR_UNSUPPORTED},
    {"%r = \"stablehlo.collective_permute\"(%f) {source_target_pairs = dense<[[0, -1]]> : "
     "tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>",
     "source_target_pairs names process -1", ERR_ARG},
    {"%r = \"stablehlo.all_to_all\"(%f) {split_count = 2 : i64, split_dimension = 0 : i64, "
     "concat_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) "
     "-> "
     "tensor<2xf32>",
     "split_count is 2, but a program here is one process", ERR_UNSUPPORTED},
    {"%r = \"stablehlo.all_to_all\"(%f) {split_count = 1 : i64, split_dimension = 1 : i64, "
     "concat_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) "
     "-> "
     "tensor<2xf32>",
     "split_dimension is 1, operand 0 has rank 1", ERR_SHAPE},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err_t err = {0};
        char *text = mem_printf(
            "func.func private @g(%%x: " Q ") -> " Q " { return %%x : " Q " }\n"
            "func.func @main(%%q: " Q ", %%r1: " R ", %%w: " W ", %%f: tensor<2xf32>, %%k: "
            "!stablehlo.token) {\n%%t = stablehlo.tuple %%q, %%r1, %%w : tuple<" Q ", " R ", " W
            ">\n%s\nreturn\n}\n",
            bad[i].op);
        ir_module_t *m = parse_stablehlo(text, strlen(text), "t.mlir", &err);
        bool ok = bad[i].want ? !m && strstr(err.text, bad[i].want) : m != NULL;
        if (!ok || err.code != bad[i].code)
            fail_msg("want (%d) %s\ngot  (%d) %s\nfor  %s", bad[i].code,
                     bad[i].want ? bad[i].want : "no error", err.code, err.text, bad[i].op);
        ir_module_destroy(&m);
        free(text);
    }
}

/* Aliases name large tuples in few bytes: what they stand for in all is bounded by the text. */
static void test_many_leaves(void **state)
{
    (void)state;
    err_t err = {0};
    str_t text = {0};
    str_add(&text, "!t = tuple<");
    for (int i = 0; i < 200; i++) str_addf(&text, "%stensor<i1>", i ? ", " : "");
    str_add(&text, ">\nfunc.func @main(%a: !t");
    for (int i = 0; i < 400; i++) str_addf(&text, ", %%a%d: !t", i);
    str_add(&text, ") {\nreturn\n}\n");
    assert_null(parse_stablehlo(str_text(&text), text.n, "t.mlir", &err));
    assert_non_null(strstr(err.text, "tuples of too many tensors in all"));
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modules),
        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_many_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
