/* Derived from ops/ and plan/ alone: nothing here is to be kept up by hand but the page's words. */
#include "compile/op_table.h"

#include <string.h>

#include "base/small_float.h"
#include "ir/op.h"
#include "parse/parse.h"
#include "plan/build.h"

static const char head[] =
    "# Ops\n\n"
    "Written by `pcp ops > docs/ops.md` from the op table; a unit test fails when it is stale.\n\n"
    "- **forward**: the interpreter evaluates it (`pcp check`, constant folding, tests).\n"
    "- **gradient**: `yes` has a reverse rule; `zero` passes none on, as it is constant where it "
    "is\n"
    "  differentiable or has no float operand; `inlined` ops become others before "
    "differentiation.\n"
    "- **cpu**: the plan compiler has kernels for all of its forms, for `some`, or none;\n"
    "  `inlined` ops become others before, and checks of test files run in `pcp check` only.\n\n"
    "Complex numbers are pairs of real ones in plans; cotangents are not conjugated "
    "(`ad/ad.h`).\n\n";

static const char foot[] =
    "\n## Read away\n\n"
    "Some ops have no row, as nothing of them is left once a file is read. Tuples (`tuple`,\n"
    "`get_tuple_element`) become their members, in functions, calls and regions too. Tokens\n"
    "(`create_token`, `after_all`) become nothing: ops run in an order that their operands "
    "allow.\n"
    "Quantised tensors (`!quant.uniform`, one scale or one per element of an axis) become their "
    "stored\n"
    "integers: `uniform_quantize` and `uniform_dequantize` are `pcp.quantize` and "
    "`pcp.dequantize`, ops\n"
    "that move elements or run regions work on the integers, all others between these two, on "
    "floats.\n"
    "No gradient passes: what is stored is integers. `sdy.sharding_constraint`, `sdy.reshard` and\n"
    "`sdy.mesh` are identities.\n\n"
    "Collectives are for a program of one process (one replica, one partition): groups of more "
    "are\n"
    "refused, and so are `infeed`, `outfeed`, `send`, `recv` (they talk to the host or another "
    "device).\n"
    "\n## Random numbers\n\n"
    "`stablehlo.rng` has hidden state; here it is a function of visible values. A run of a "
    "program\n"
    "has a seed, and the rng ops it runs are draws 0, 1, 2, .. in the order they run in. Draw n "
    "takes\n"
    "its bits from ThreeFry with that seed as key, at counters from n * 2^32; "
    "libshared/ops/draw_rule.h "
    "has\n"
    "the formulas. Interpreter and plans draw the same numbers. A gradient uses the forward pass's "
    "draws\n"
    "again, in loops and branches too, and none reaches the bounds. Each micro-batch of a training "
    "step\n"
    "has a seed of its own, from the run's seed, the replica and the step, so a lease that is "
    "given "
    "out\n"
    "again draws what it drew before; validation draws as well (a model's dropout has no off "
    "switch), the\n"
    "same in every round. Regions of map and reduce draw element by element, in row-major order; "
    "in "
    "those\n"
    "of sort, scatter and windows only the interpreter draws: passes and plans refuse.\n"
    "\n## Regions\n\n"
    "Regions hold anything, compiled too: loops, look-ups, draws and further regions. Those of "
    "sort,\n"
    "scatter, reduce_window, select_and_scatter and reduce run in kernels when they hold "
    "element-wise\n"
    "ops and branches between scalars, captured ones included; with others they are loops of one "
    "region\n"
    "run a step, which are slow. Only `stablehlo.rng`, whose order would be the implementation's, "
    "is\n"
    "refused in regions of sort, scatter and windows.\n";

static const char types_text[] =
    "\n## Element types\n\n"
    "i1, signed and unsigned integers of 2 to 64 bits (i2, ui4, ..), complex<f32>, complex<f64>, "
    "and the\n"
    "floats below: a number is (-1)^s 1.m 2^(e - bias). Floats of less than 32 bits compute in f32 "
    "and round\n"
    "once after every op (a reduction or product: once at its end), to nearest even. What is too "
    "large,\n"
    "infinities where the type has none included, becomes what the last column says. Types of less "
    "than a\n"
    "byte take one byte in memory. f8E8M0FNU has neither signs nor a zero: zeros and what is too "
    "small become\n"
    "2^-127, negative numbers NaN, and halfway between two the larger is taken (IEEE 754-2019, "
    "4.3.1, numbers\n"
    "of one digit). The FN types of 4 and 6 bits have no NaN: it becomes -0.\n\n"
    "| type          | e  | m  | bias | -0  | NaN              | too large |\n"
    "|---------------|----|----|------|-----|------------------|-----------|\n";

static void print_types(str_t *out)
{
    static const char *const nan[] = {[SMALL_FLOAT_IEEE] = "e all ones",
                                      [SMALL_FLOAT_FN] = "all ones",
                                      [SMALL_FLOAT_FNUZ] = "in place of -0",
                                      [SMALL_FLOAT_FINITE] = "none",
                                      [SMALL_FLOAT_SCALE] = "all ones"};
    str_add(out, types_text);
    for (dtype_t dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++) {
        const dtype_format_t *f = dtype_format(dtype);
        if (!f) continue;
        bool zero = f->kind != SMALL_FLOAT_FNUZ && f->kind != SMALL_FLOAT_SCALE;
        const char *beyond = f->kind == SMALL_FLOAT_IEEE     ? "infinity"
                             : f->kind == SMALL_FLOAT_FINITE ? "largest"
                                                             : "NaN";
        str_addf(out, "| %-13s | %-2d | %-2d | %-4d | %-3s | %-16s | %-9s |\n", dtype_name(dtype),
                 f->exp_bits, f->man_bits, f->bias, zero ? "yes" : "no", nan[f->kind], beyond);
    }
}

/* Parts of complex functions, which no program names (ops/complex_parts.c). */
static bool is_internal(op_code_t code)
{
    return strncmp(op_def(code)->name, "pcp.c", 5) == 0;
}

/* Ops that passes or the reverse walk replace by what they stand for. */
static bool is_inlined(op_code_t code)
{
    return code == OP_call || code == OP_composite || code == OP_map;
}

static const char *gradient_text(op_code_t code)
{
    const op_def_t *def = op_def(code);
    if (is_inlined(code)) return "inlined";
    if (def->vjp == vjp_none) return "zero";
    return def->vjp ? "yes" : "-";
}

static const char *cpu_text(op_code_t code)
{
    static const char *const names[] = {
        [PLAN_OP_NONE] = "-", [PLAN_OP_SOME] = "some", [PLAN_OP_ALL] = "yes"};
    const op_def_t *def = op_def(code);
    if (is_inlined(code) || def->draws || def->expand || def->lowered) return "inlined";
    return names[plan_op_support(code)];
}

/* Ops that the parser writes as others. */
static void add_text_ops(str_t *out)
{
    const char *name;
    str_add(
        out,
        "\n## Written as others\n\n"
        "These are ops of the table once the text is read. Dynamic forms are read when their\n"
        "shapes are static and the operands that say sizes, starts or padding are constants or\n"
        "follow from constants and static shapes; others are refused. Custom calls such as\n"
        "`@mhlo.erf` and `@mhlo.topk`, as XLA exports CHLO's ops, are those ops.\n\n");
    for (size_t i = 0; (name = parse_text_op_name(i)); i++) str_addf(out, "- `%s`\n", name);
}

void op_table_print(str_t *out)
{
    int n = 0, n_gradient = 0, n_cpu = 0;
    str_add(out, head);
    str_addf(out, "| %-34s | forward | gradient | cpu     |\n", "op");
    str_add(out, "|------------------------------------|---------|----------|---------|\n");
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++) {
        const op_def_t *def = op_def(code);
        if (is_internal(code)) continue;
        const char *gradient = gradient_text(code), *cpu = cpu_text(code);
        bool forward = def->eval || code == OP_constant;
        str_addf(out, "| %-34s | %-7s | %-8s | %-7s |\n", def->name, forward ? "yes" : "-",
                 gradient, cpu);
        n++;
        n_gradient += *gradient != '-';
        n_cpu += *cpu != '-';
    }
    str_addf(out, "\n%d ops; %d with a known gradient, %d with kernels on cpu.\n", n, n_gradient,
             n_cpu);
    add_text_ops(out);
    print_types(out);
    str_add(out, foot);
}
