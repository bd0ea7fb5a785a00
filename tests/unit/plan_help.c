/* Interpreter against compiled plan: inputs by a seeded generator, results compared with a
 * tolerance. */
#include "plan_help.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "plan_emulate.h"
#include "runtime/exec.h"

/* Optimizer state holds sums of squares and steps count from 1: neither is negative or zero. */
static void fill(tensor_t *t, uint64_t seed, const char *role, const plan_check_t *how)
{
    bool is_state = strcmp(role, "state") == 0, is_scalar = strcmp(role, "scalar") == 0;
    int64_t n = ir_type_count(&t->type);
    for (int64_t i = 0; i < n; i++) {
        if (dtype_is_complex(t->type.dtype))
            tensor_set_complex(t, i, (rng_uniform(seed, 2 * (uint64_t)i) * 2 - 1) * how->scale,
                               (rng_uniform(seed, 2 * (uint64_t)i + 1) * 2 - 1) * how->scale);
        else if (dtype_is_float(t->type.dtype))
            tensor_set_f64(t, i, (rng_uniform(seed, (uint64_t)i) * 2 - !is_state) * how->scale);
        else
            tensor_set_i64(
                t, i, is_scalar + (int64_t)(rng_uniform(seed, (uint64_t)i) * (double)how->int_top));
    }
}

static double compare(const tensor_t *want, const tensor_t *got, double least)
{
    double largest = least, worst = 0;
    int64_t n = 2 * ir_type_count(&want->type); /* both parts, 0 of real numbers */
    for (int64_t i = 0; i < n; i++) {
        double (*get)(const tensor_t *, int64_t) = i % 2 ? tensor_get_imag : tensor_get_f64;
        double a = get(want, i / 2), b = get(got, i / 2);
        if (isfinite(a) && fabs(a) > largest) largest = fabs(a);
        if (isnan(a) && isnan(b)) continue;
        if (!isfinite(a) || !isfinite(b))
            worst = a == b ? worst : INFINITY;
        else if (fabs(a - b) > worst)
            worst = fabs(a - b);
    }
    return largest > 0 ? worst / largest : worst;
}

/* The plan's tensor for parameter or result i of fn, by its attributes or by position. */
static int find_slot(const plan_t *plan, const ir_fn_t *fn, const ir_attrs_t *attrs,
                     plan_role_t role, const char *stem, int i)
{
    char name[128];
    if (strcmp(fn->name, "main") == 0)
        snprintf(name, sizeof name, "%s%d", stem, i);
    else
        snprintf(name, sizeof name, "%s.%s%d", fn->name, stem, i);
    const char *text = attr_text(attrs, "pcp.role", NULL);
    if (text) assert_int_equal(plan_role_parse(text, &role, NULL), 0);
    int t = plan_find_tensor(plan, role, attr_text(attrs, "pcp.name", name));
    if (t < 0) fail_msg("the plan has no tensor for %s", name);
    return t;
}

/* A plan by the executor, or by an emulator when this machine cannot run it. */
typedef struct {
    exec_t *exec;
    emulated_t *emulated;
} machine_t;

static void write_to(const machine_t *machine, int slot, const tensor_t *t)
{
    err_t err = {0};
    size_t n = (size_t)ir_type_bytes(&t->type);
    if (machine->emulated)
        memcpy(emulated_tensor(machine->emulated, slot), t->data, n);
    else if (exec_write(machine->exec, slot, t->data, n, &err) < 0)
        fail_msg("%s", err.text);
}

static void run_on(const machine_t *machine, const char *program)
{
    err_t err = {0};
    if (machine->emulated)
        emulated_run(machine->emulated, program);
    else if (exec_run(machine->exec, program, &err) < 0)
        fail_msg("%s", err.text);
}

static void read_back(const machine_t *machine, int slot, tensor_t *to)
{
    size_t n = (size_t)ir_type_bytes(&to->type);
    if (machine->emulated) {
        memcpy(to->data, emulated_tensor(machine->emulated, slot), n);
        return;
    }
    err_t err = {0};
    if (exec_read(machine->exec, slot, to->data, n, &err) < 0) fail_msg("%s", err.text);
}

/* Run fn both ways from the same inputs. */
static void check_fn(const ir_module_t *module, const ir_fn_t *fn, const plan_t *plan,
                     const machine_t *machine, const plan_check_t *how)
{
    err_t err = {0};
    int n_in = fn->body->n_arg, n_out = fn->body->n_result;
    tensor_t *in = mem_calloc((size_t)n_in + 1, sizeof *in);
    tensor_t *out = mem_calloc((size_t)n_out + 1, sizeof *out);
    for (int i = 0; i < n_in; i++) {
        in[i] = tensor_new(ir_type_of(fn, ir_fn_param(fn, i)));
        fill(&in[i], rng_derive(how->seed, "input") + (uint64_t)i,
             attr_text(&fn->param_attrs[i], "pcp.role", ""), how);
        int slot = find_slot(plan, fn, &fn->param_attrs[i], ROLE_BATCH, "arg", i);
        write_to(machine, slot, &in[i]);
    }
    if (eval_fn(module, fn, in, out, NULL, &err) < 0) fail_msg("%s", err.text);
    run_on(machine, fn->name);
    for (int i = 0; i < n_out; i++) {
        tensor_t got = tensor_new(&out[i].type);
        read_back(machine, find_slot(plan, fn, &fn->result_attrs[i], ROLE_RESULT, "result", i),
                  &got);
        double worst = compare(&out[i], &got, how->least);
        if (!(worst <= how->tolerance))
            fail_msg("@%s result %d: relative deviation %g, tolerated %g", fn->name, i, worst,
                     how->tolerance);
        tensor_fini(&got);
        tensor_fini(&out[i]);
    }
    for (int i = 0; i < n_in; i++) tensor_fini(&in[i]);
    free(in);
    free(out);
}

/* The module as it is by the interpreter, and what the compiler makes of it. */
static void check_module(const ir_module_t *module, bool unroll, const plan_check_t *how)
{
    err_t err = {0};
    ir_module_t *copy = ir_module_clone(module, &err);
    if (copy && !unroll) attr_set_int(copy->arena, &copy->attrs, "pcp.unroll", 0);
    plan_t *plan = copy ? compile_module(copy, "", NULL, target_host(), &err) : NULL;
    if (!plan) fail_msg("%s", err.text);
    exec_options_t options = {.threads = 2};
    bool here = target_runs_here(plan->target, NULL) == 0;
    machine_t machine = {.emulated = here ? NULL : emulated_new(plan)};
    if (!machine.emulated) machine.exec = exec_new(plan, &options, &err);
    if (!machine.emulated && !machine.exec) fail_msg("%s", err.text);
    for (int i = 0; i < module->n_fn; i++)
        if (!module->fn[i]->is_private) check_fn(module, module->fn[i], plan, &machine, how);
    exec_destroy(&machine.exec);
    emulated_destroy(&machine.emulated);
    plan_destroy(&plan);
    ir_module_destroy(&copy);
}

static bool has_loop(const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        if (op->code == OP_while) return true;
        for (int r = 0; r < op->n_region; r++)
            if (has_loop(op->region[r])) return true;
    }
    return false;
}

void plan_check_module(ir_module_t *module, const plan_check_t *how)
{
    bool loops = false;
    for (int i = 0; i < module->n_fn; i++) loops = loops || has_loop(module->fn[i]->body);
    check_module(module, true, how);
    if (loops) check_module(module, false, how);
    ir_module_destroy(&module);
}

void plan_check_text(const char *text, uint64_t seed, int64_t int_top, double tolerance)
{
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, strlen(text), "test", &err);
    if (!module) fail_msg("%s", err.text);
    const plan_check_t how = {seed, int_top, 2, tolerance, 1};
    plan_check_module(module, &how);
}
