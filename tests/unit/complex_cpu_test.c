/* Complex numbers as compiled plans, where they are pairs of real ones, against the interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/str.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ops/check_expect.h"
#include "optim/optim.h"
#include "parse/parse.h"
#include "plan_help.h"
#include "runtime/exec.h"
#include "tools/check_compiled.h"

/* One unary or binary op a function, on f32 and f64 parts. */
static const char *const unary[] = {
    "stablehlo.exponential",
    "stablehlo.exponential_minus_one",
    "stablehlo.log",
    "stablehlo.log_plus_one",
    "stablehlo.logistic",
    "stablehlo.tanh",
    "stablehlo.sqrt",
    "stablehlo.rsqrt",
    "stablehlo.cbrt",
    "stablehlo.sine",
    "stablehlo.cosine",
    "stablehlo.tan",
    "stablehlo.negate",
    "stablehlo.sign",
    "chlo.square",
    "chlo.tan",
    "chlo.sinh",
    "chlo.cosh",
    "chlo.asin",
    "chlo.acos",
    "chlo.atan",
    "chlo.asinh",
    "chlo.acosh",
    "chlo.atanh",
    "chlo.conj",
};
static const char *const binary[] = {
    "stablehlo.add",   "stablehlo.subtract", "stablehlo.multiply", "stablehlo.divide",
    "stablehlo.power", "stablehlo.atan2",    "stablehlo.maximum",  "stablehlo.minimum",
};

static void test_maps(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        str_t text = {0};
        const char *t = wide ? "tensor<40xcomplex<f64>>" : "tensor<40xcomplex<f32>>";
        int n = 0;
        for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
            str_addf(
                &text,
                "func.func @f%d(%%a: %s) -> %s {\n  %%r = \"%s\"(%%a) : (%s) -> %s\n  return %%r : "
                "%s\n}\n",
                n++, t, t, unary[i], t, t, t);
        for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
            str_addf(
                &text,
                "func.func @f%d(%%a: %s, %%b: %s) -> %s {\n  %%r = \"%s\"(%%a, %%b) : (%s, %s) -> "
                "%s\n  return %%r : %s\n}\n",
                n++, t, t, t, binary[i], t, t, t, t);
        plan_check_text(str_text(&text), 11, 4, wide ? 1e-14 : 2e-7);
        str_fini(&text);
    }
}

#define Z "tensor<4x6xcomplex<f32>>"
#define S "tensor<complex<f32>>"
static const char movement[] =
    "func.func @types(%a: " Z ", %b: " Z ", %x: tensor<4x6xf32>) -> (tensor<4x6xf32>, "
    "tensor<4x6xi1>, tensor<4x6xi1>, tensor<4x6xi1>, " Z ", " Z
    ", tensor<4x6xi1>, tensor<4x6xcomplex<f64>>, tensor<4x6xf32>, tensor<4x6xf32>) {\n"
    "  %m = stablehlo.abs %a : (" Z ") -> tensor<4x6xf32>\n"
    "  %e = stablehlo.compare EQ, %a, %a : (" Z ", " Z ") -> tensor<4x6xi1>\n"
    "  %n = stablehlo.compare NE, %a, %b, FLOAT : (" Z ", " Z ") -> tensor<4x6xi1>\n"
    "  %l = stablehlo.compare LE, %a, %b, FLOAT : (" Z ", " Z ") -> tensor<4x6xi1>\n"
    "  %s = stablehlo.select %l, %a, %b : tensor<4x6xi1>, " Z "\n"
    "  %c = stablehlo.convert %x : (tensor<4x6xf32>) -> " Z "\n"
    "  %p = stablehlo.convert %a : (" Z ") -> tensor<4x6xi1>\n"
    "  %w = stablehlo.convert %a : (" Z ") -> tensor<4x6xcomplex<f64>>\n"
    "  %r = stablehlo.real %x : (tensor<4x6xf32>) -> tensor<4x6xf32>\n"
    "  %i = stablehlo.imag %x : (tensor<4x6xf32>) -> tensor<4x6xf32>\n"
    "  return %m, %e, %n, %l, %s, %c, %p, %w, %r, %i : tensor<4x6xf32>, tensor<4x6xi1>, "
    "tensor<4x6xi1>, tensor<4x6xi1>, " Z ", " Z
    ", tensor<4x6xi1>, tensor<4x6xcomplex<f64>>, tensor<4x6xf32>, tensor<4x6xf32>\n}\n"
    "func.func @moves(%a: " Z ", %b: " Z ", %s: " S
    ", %i: tensor<i32>, %rows: tensor<3x1xi32>) -> (tensor<6x4xcomplex<f32>>, "
    "tensor<7x9xcomplex<f32>>, " Z ", " Z ", tensor<3x6xcomplex<f32>>, tensor<2x3xcomplex<f32>>, " Z
    ", tensor<12x2xcomplex<f32>>) {\n"
    "  %t = stablehlo.transpose %a, dims = [1, 0] : (" Z ") -> tensor<6x4xcomplex<f32>>\n"
    "  %p = stablehlo.pad %a, %s, low = [1, -1], high = [2, 4], interior = [0, 0] : (" Z ", " S
    ") -> tensor<7x9xcomplex<f32>>\n"
    "  %c = stablehlo.concatenate %a, %b, dim = 0 : (" Z ", " Z ") -> tensor<8x6xcomplex<f32>>\n"
    "  %v = stablehlo.reverse %c, dims = [0, 1] : tensor<8x6xcomplex<f32>>\n"
    "  %l = stablehlo.slice %v [1:8:2, 0:6] : (tensor<8x6xcomplex<f32>>) -> " Z "\n"
    "  %d = stablehlo.broadcast_in_dim %s, dims = [] : (" S ") -> " Z "\n"
    "  %g = \"stablehlo.gather\"(%a, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = "
    "[1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
    "array<i64: 1, 6>}> : (" Z ", tensor<3x1xi32>) -> tensor<3x6xcomplex<f32>>\n"
    "  %y = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 3] : (" Z
    ", tensor<i32>, tensor<i32>) -> tensor<2x3xcomplex<f32>>\n"
    "  %u = stablehlo.dynamic_update_slice %b, %y, %i, %i : (" Z
    ", tensor<2x3xcomplex<f32>>, tensor<i32>, tensor<i32>) -> " Z "\n"
    "  %h = stablehlo.reshape %a : (" Z ") -> tensor<12x2xcomplex<f32>>\n"
    "  return %t, %p, %l, %d, %g, %y, %u, %h : tensor<6x4xcomplex<f32>>, "
    "tensor<7x9xcomplex<f32>>, " Z ", " Z ", tensor<3x6xcomplex<f32>>, tensor<2x3xcomplex<f32>>, " Z
    ", tensor<12x2xcomplex<f32>>\n}\n"
    "func.func @bits(%a: tensor<3x2xcomplex<f32>>, %b: tensor<3xcomplex<f64>>) -> "
    "(tensor<3x2xcomplex<f32>>, tensor<3xcomplex<f64>>) {\n"
    "  %w = stablehlo.bitcast_convert %a : (tensor<3x2xcomplex<f32>>) -> tensor<3xcomplex<f64>>\n"
    "  %z = stablehlo.add %w, %w : tensor<3xcomplex<f64>>\n"
    "  %n = stablehlo.bitcast_convert %w : (tensor<3xcomplex<f64>>) -> tensor<3x2xcomplex<f32>>\n"
    "  %o = stablehlo.bitcast_convert %b : (tensor<3xcomplex<f64>>) -> tensor<3x2xcomplex<f32>>\n"
    "  %q = stablehlo.bitcast_convert %o : (tensor<3x2xcomplex<f32>>) -> tensor<3xcomplex<f64>>\n"
    "  return %n, %q : tensor<3x2xcomplex<f32>>, tensor<3xcomplex<f64>>\n}\n";

static void test_movement(void **state)
{
    (void)state;
    plan_check_text(movement, 12, 4, 2e-7);
}

#define D "tensor<4x6xcomplex<f64>>"
#define DS "tensor<complex<f64>>"
static const char folds[] =
    "func.func @reduce(%a: " D ", %i: " DS ") -> (tensor<4xcomplex<f64>>, tensor<6xcomplex<f64>>, "
    "tensor<4xcomplex<f64>>) {\n"
    "  %s = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [1] : (" D
    ", " DS ") -> tensor<4xcomplex<f64>>\n"
    "  %p = stablehlo.reduce(%a init: %i) applies stablehlo.multiply across dimensions = [0] : (" D
    ", " DS ") -> tensor<6xcomplex<f64>>\n"
    "  %m = stablehlo.reduce(%a init: %i) applies stablehlo.maximum across dimensions = [1] : (" D
    ", " DS ") -> tensor<4xcomplex<f64>>\n"
    "  return %s, %p, %m : tensor<4xcomplex<f64>>, tensor<6xcomplex<f64>>, "
    "tensor<4xcomplex<f64>>\n}\n"
    "func.func @products(%a: " D ", %b: tensor<6x3xcomplex<f64>>, %x: "
    "tensor<1x8x2xcomplex<f64>>, %k: tensor<3x2x3xcomplex<f64>>) -> (tensor<4x3xcomplex<f64>>, "
    "tensor<1x6x3xcomplex<f64>>) {\n"
    "  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (" D
    ", tensor<6x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>\n"
    "  %c = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = "
    "{stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
    "(tensor<1x8x2xcomplex<f64>>, tensor<3x2x3xcomplex<f64>>) -> tensor<1x6x3xcomplex<f64>>\n"
    "  return %d, %c : tensor<4x3xcomplex<f64>>, tensor<1x6x3xcomplex<f64>>\n}\n"
    "func.func @windows(%a: " D ", %i: " DS ") -> (tensor<4x5xcomplex<f64>>, "
    "tensor<4x5xcomplex<f64>>) {\n"
    "  %s = \"stablehlo.reduce_window\"(%a, %i) <{window_dimensions = array<i64: 1, 2>}> ({\n"
    "  ^bb0(%p: " DS ", %q: " DS "):\n    %r = stablehlo.add %p, %q : " DS
    "\n    stablehlo.return %r : " DS "\n  }) : (" D ", " DS ") -> tensor<4x5xcomplex<f64>>\n"
    "  %m = \"stablehlo.reduce_window\"(%a, %i) <{window_dimensions = array<i64: 1, 2>}> ({\n"
    "  ^bb0(%p: " DS ", %q: " DS "):\n    %r = stablehlo.multiply %p, %q : " DS
    "\n    stablehlo.return %r : " DS "\n  }) : (" D ", " DS ") -> tensor<4x5xcomplex<f64>>\n"
    "  return %s, %m : tensor<4x5xcomplex<f64>>, tensor<4x5xcomplex<f64>>\n}\n"
    "func.func @scatters(%a: " D ", %rows: tensor<3x1xi32>, %u: tensor<3x6xcomplex<f64>>) -> (" D
    ", " D ", " D ") {\n"
    "  %s = \"stablehlo.scatter\"(%a, %rows, %u) <{scatter_dimension_numbers = "
    "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
    "  ^bb0(%p: " DS ", %q: " DS "):\n    %r = stablehlo.add %p, %q : " DS
    "\n    stablehlo.return %r : " DS "\n  }) : (" D
    ", tensor<3x1xi32>, tensor<3x6xcomplex<f64>>) -> " D "\n"
    "  %t = \"stablehlo.scatter\"(%a, %rows, %u) <{scatter_dimension_numbers = "
    "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
    "  ^bb0(%p: " DS ", %q: " DS "):\n    stablehlo.return %q : " DS "\n  }) : (" D
    ", tensor<3x1xi32>, tensor<3x6xcomplex<f64>>) -> " D "\n"
    "  %v = \"stablehlo.scatter\"(%a, %rows, %u) <{scatter_dimension_numbers = "
    "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
    "  ^bb0(%p: " DS ", %q: " DS "):\n    %r = stablehlo.multiply %p, %q : " DS
    "\n    stablehlo.return %r : " DS "\n  }) : (" D
    ", tensor<3x1xi32>, tensor<3x6xcomplex<f64>>) -> " D "\n"
    "  return %s, %t, %v : " D ", " D ", " D "\n}\n";

static void test_folds(void **state)
{
    (void)state;
    plan_check_text(folds, 13, 4, 1e-13);
}

static const char control[] =
    "func.func @loop(%z: tensor<5xcomplex<f64>>, %c: tensor<5xcomplex<f64>>, %n: tensor<i32>) -> "
    "tensor<5xcomplex<f64>> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %small = stablehlo.constant dense<(0.25, 0.5)> : tensor<5xcomplex<f64>>\n"
    "  %r:2 = stablehlo.while(%i = %zero, %x = %z) : tensor<i32>, tensor<5xcomplex<f64>>\n"
    "  cond {\n    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %p : tensor<i1>\n  } do {\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    %y = stablehlo.multiply %x, %small : tensor<5xcomplex<f64>>\n"
    "    %w = stablehlo.add %y, %c : tensor<5xcomplex<f64>>\n"
    "    stablehlo.return %j, %w : tensor<i32>, tensor<5xcomplex<f64>>\n  }\n"
    "  return %r#1 : tensor<5xcomplex<f64>>\n}\n"
    "func.func @branch(%z: tensor<5xcomplex<f64>>, %p: tensor<i1>) -> tensor<5xcomplex<f64>> {\n"
    "  %r = \"stablehlo.if\"(%p) ({\n    %a = stablehlo.sine %z : tensor<5xcomplex<f64>>\n"
    "    stablehlo.return %a : tensor<5xcomplex<f64>>\n  }, {\n"
    "    stablehlo.return %z : tensor<5xcomplex<f64>>\n  }) : (tensor<i1>) -> "
    "tensor<5xcomplex<f64>>\n  return %r : tensor<5xcomplex<f64>>\n}\n"
    "func.func @order(%z: tensor<9xcomplex<f64>>, %k: tensor<9xi32>) -> (tensor<9xcomplex<f64>>, "
    "tensor<9xi32>) {\n"
    "  %r:2 = \"stablehlo.sort\"(%z, %k) <{dimension = 0 : i64, is_stable = true}> ({\n"
    "  ^bb0(%a: tensor<complex<f64>>, %b: tensor<complex<f64>>, %c: tensor<i32>, %d: "
    "tensor<i32>):\n"
    "    %p = stablehlo.compare LT, %a, %b, FLOAT : (tensor<complex<f64>>, tensor<complex<f64>>) "
    "-> tensor<i1>\n    stablehlo.return %p : tensor<i1>\n  }) : (tensor<9xcomplex<f64>>, "
    "tensor<9xi32>) -> (tensor<9xcomplex<f64>>, tensor<9xi32>)\n"
    "  return %r#0, %r#1 : tensor<9xcomplex<f64>>, tensor<9xi32>\n}\n"
    "func.func @map(%z: tensor<9xcomplex<f64>>) -> tensor<9xcomplex<f64>> {\n"
    "  %r = \"stablehlo.map\"(%z) <{dimensions = array<i64: 0>}> ({\n"
    "  ^bb0(%a: tensor<complex<f64>>):\n    %s = stablehlo.multiply %a, %a : "
    "tensor<complex<f64>>\n    stablehlo.return %s : tensor<complex<f64>>\n  }) : "
    "(tensor<9xcomplex<f64>>) -> tensor<9xcomplex<f64>>\n"
    "  %o = stablehlo.optimization_barrier %r : tensor<9xcomplex<f64>>\n"
    "  return %o : tensor<9xcomplex<f64>>\n}\n";

static void test_control(void **state)
{
    (void)state;
    plan_check_text(control, 14, 5, 1e-14);
}

/* Overlapping windows, some of padding alone; sums and products of what falls on one element. */
#define PICK(name, T, compare, combine)                                                            \
    "func.func @" name "(%x: tensor<6x9x" T ">, %s: tensor<4x4x" T ">, %i: tensor<" T ">) -> "     \
    "tensor<6x9x" T "> {\n"                                                                        \
    "  %0 = \"stablehlo.select_and_scatter\"(%x, %s, %i) <{window_dimensions = array<i64: 3, 2>, " \
    "window_strides = array<i64: 2, 3>, padding = dense<[[0, 4], [2, 2]]> : "                      \
    "tensor<2x2xi64>}> ({\n"                                                                       \
    "  ^bb0(%a: tensor<" T ">, %b: tensor<" T ">):\n" compare                                      \
    "    stablehlo.return %p : tensor<i1>\n  }, {\n"                                               \
    "  ^bb0(%a: tensor<" T ">, %b: tensor<" T ">):\n"                                              \
    "    %p = stablehlo." combine " %a, %b : tensor<" T ">\n"                                      \
    "    stablehlo.return %p : tensor<" T ">\n  }) : (tensor<6x9x" T ">, tensor<4x4x" T            \
    ">, tensor<" T ">) -> tensor<6x9x" T ">\n"                                                     \
    "  return %0 : tensor<6x9x" T ">\n}\n"
#define BY_VALUE(T) \
    "    %p = stablehlo.compare GE, %a, %b : (tensor<" T ">, tensor<" T ">) -> tensor<i1>\n"
#define BY_SIZE(T, P)                                                \
    "    %m = stablehlo.abs %a : (tensor<" T ">) -> tensor<" P ">\n" \
    "    %n = stablehlo.abs %b : (tensor<" T ">) -> tensor<" P ">\n" \
    "    %p = stablehlo.compare GT, %m, %n : (tensor<" P ">, tensor<" P ">) -> tensor<i1>\n"

static void test_select_and_scatter(void **state)
{
    (void)state;
    plan_check_text(PICK("a", "complex<f64>", BY_VALUE("complex<f64>"), "add")
                        PICK("b", "complex<f64>", BY_SIZE("complex<f64>", "f64"), "multiply"),
                    15, 5, 1e-13);
    plan_check_text(PICK("a", "complex<f32>", BY_SIZE("complex<f32>", "f32"), "add"), 16, 5, 2e-6);
}

static int verdict(const char *text, bool on_cpu, err_t *err)
{
    ir_module_t *module = parse_stablehlo(text, strlen(text), "complex.mlir", err);
    if (!module) fail_msg("%s", err->text);
    int rc = on_cpu ? check_module_on_cpu(module, err) : check_module(module, err);
    ir_module_destroy(&module);
    return rc;
}

/* Values by hand; and each part of an expected one counts. */
static void test_checks(void **state)
{
    (void)state;
    static const char wrong[] =
        "func.func @main() {\n"
        "  %%a = stablehlo.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>\n"
        "  check.expect_%s_const %%a, dense<[(1.0, 2.0), (1.0, %s)]> : tensor<2xcomplex<f32>>\n"
        "  return\n}\n";
    static const char *const checks[] = {"eq", "almost_eq"};
    size_t n;
    err_t err = {0};
    char *text = file_read("tests/models/complex.mlir", &n, &err);
    if (!text) fail_msg("%s", err.text);
    for (int cpu = 0; cpu < 2; cpu++)
        if (verdict(text, cpu, &err) != 0) fail_msg("%s", err.text);
    free(text);
    for (int k = 0; k < 2; k++) {
        str_t one = {0};
        str_addf(&one, wrong, checks[k], "2.5");
        assert_int_equal(verdict(str_text(&one), false, &err), 1);
        if (!strstr(err.text, "[1] of complex<f32> is (1, 2), expected (1, 2.5)"))
            fail_msg("%s", err.text);
        str_fini(&one);
    }
}

/* --- training --- */

/* The parts of W[3, 2] are trained; the loss is |x W - x V|^2 of complex numbers, V a constant. */
static const char linear[] =
    "func.func @main(%p: tensor<3x2xf32>, %q: tensor<3x2xf32>, %b: tensor<8x6xf32> {pcp.role = "
    "\"batch\"}) -> tensor<f32> {\n"
    "  %v = stablehlo.constant dense<[[(1.0, -0.5), (0.25, 2.0)], [(-1.5, 0.0), (0.5, 0.5)], "
    "[(0.0, "
    "-1.0), (2.0, 0.75)]]> : tensor<3x2xcomplex<f32>>\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %w = stablehlo.complex %p, %q : tensor<3x2xcomplex<f32>>\n"
    "  %re = stablehlo.slice %b [0:8, 0:3] : (tensor<8x6xf32>) -> tensor<8x3xf32>\n"
    "  %im = stablehlo.slice %b [0:8, 3:6] : (tensor<8x6xf32>) -> tensor<8x3xf32>\n"
    "  %x = stablehlo.complex %re, %im : tensor<8x3xcomplex<f32>>\n"
    "  %d = stablehlo.subtract %w, %v : tensor<3x2xcomplex<f32>>\n"
    "  %y = stablehlo.dot_general %x, %d, contracting_dims = [1] x [0] : "
    "(tensor<8x3xcomplex<f32>>, "
    "tensor<3x2xcomplex<f32>>) -> tensor<8x2xcomplex<f32>>\n"
    "  %r = stablehlo.real %y : (tensor<8x2xcomplex<f32>>) -> tensor<8x2xf32>\n"
    "  %i = stablehlo.imag %y : (tensor<8x2xcomplex<f32>>) -> tensor<8x2xf32>\n"
    "  %rr = stablehlo.multiply %r, %r : tensor<8x2xf32>\n"
    "  %ii = stablehlo.multiply %i, %i : tensor<8x2xf32>\n"
    "  %s = stablehlo.add %rr, %ii : tensor<8x2xf32>\n"
    "  %loss = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0, 1] : "
    "(tensor<8x2xf32>, tensor<f32>) -> tensor<f32>\n"
    "  return %loss : tensor<f32>\n}\n";

static void test_training(void **state)
{
    (void)state;
    err_t err = {0};
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.weight_decay = 0;
    ir_module_t *module = parse_stablehlo(linear, strlen(linear), "linear.mlir", &err);
    plan_t *plan = module ? compile_module(module, "", &spec, target_host(), &err) : NULL;
    exec_t *exec = plan ? exec_new(plan, &(exec_options_t){.threads = 1}, &err) : NULL;
    if (!exec) fail_msg("%s", err.text);
    float x[48], first = 0, loss = 0;
    for (int i = 0; i < 48; i++) x[i] = (float)(i * 37 % 19) / 9 - 1;
    for (long step = 1; step <= 300; step++) {
        const void *const batch[] = {x};
        double lr = step < 200 ? 0.05 : 0.005;
        if (exec_train_step(exec, batch, lr, step, &loss, &err) < 0) fail_msg("%s", err.text);
        if (step == 1) first = loss;
    }
    print_message("loss %.3f -> %.2e\n", (double)first, (double)loss);
    assert_true(first > 10 && loss < 1e-3f * first);
    exec_destroy(&exec);
    plan_destroy(&plan);
    ir_module_destroy(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps),     cmocka_unit_test(test_movement),
        cmocka_unit_test(test_folds),    cmocka_unit_test(test_control),
        cmocka_unit_test(test_checks),   cmocka_unit_test(test_select_and_scatter),
        cmocka_unit_test(test_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
