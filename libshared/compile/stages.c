/* Every stage from a module to a plan with its code, in order. The clean-up comes before gradients, which need
 * calls inlined (and what has folded is not differentiated), and behind them. */
#include "compile/stages.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compile/compile.h"
#include "ops/control.h"

#define TO(goal) (1u << (goal))
#define TO_CODE TO(GOAL_CODE)
#define TO_PLAN (TO(GOAL_PLAN) | TO_CODE)
#define TO_LOWERED (TO(GOAL_PROGRAMS) | TO_PLAN)
#define TO_PROGRAMS (TO(GOAL_TRAIN) | TO_LOWERED)
#define TO_GRADIENTS (TO(GOAL_GRAD) | TO_PROGRAMS)
#define TO_ALL (TO(GOAL_MODEL) | TO_GRADIENTS)

typedef int stage_fn(stages_t *self, err_t *err);
static stage_fn check_custom_calls, build_gradient, build_training, lower, keep_to_budget, prove,
    fill, render, name_kernels, compile;

/* A stage does something of its own, or runs the passes of a kind. */
static const struct {
    const char *name;
    unsigned goals;
    stage_fn *run;
    pass_when_t when; /* run NULL */
} stages[] = {
    /* the module */
    {"clean-up of the model", TO_GRADIENTS, NULL, PASS_CLEAN},
    {"custom calls", TO_GRADIENTS, check_custom_calls, 0},
    {"model", TO_PROGRAMS, NULL, PASS_MODEL},
    {"loops, for plans", TO_LOWERED, NULL, PASS_LOOPS_PLAN},
    {"clean-up of its loops", TO_LOWERED, NULL, PASS_CLEAN},
    {"model, for plans", TO_LOWERED, NULL, PASS_MODEL_PLAN},
    {"gradient", TO(GOAL_GRAD), build_gradient, 0},
    {"training programs", TO_PROGRAMS, build_training, 0},
    {"programs", TO_GRADIENTS, NULL, PASS_PROGRAMS},
    {"programs, for plans", TO_LOWERED, NULL, PASS_PROGRAMS_PLAN},
    {"clean-up", TO_ALL, NULL, PASS_CLEAN},
    {"last, for plans", TO_LOWERED, NULL, PASS_LAST_PLAN},
    /* its programs: kernels, products, steps, and where everything lies (plan/build.h) */
    {"lower and lay out", TO_PLAN, lower, 0},
    {"keep to the budget", TO_PLAN, keep_to_budget, 0},
    {"prove lifetimes", TO_PLAN, prove, 0},
    {"fill the plan", TO_PLAN, fill, 0},
    /* their kernels (codegen/) */
    {"render kernels", TO_PLAN, render, 0},
    {"name kernels", TO_PLAN, name_kernels, 0},
    {"compile kernels", TO_CODE, compile, 0},
    /* Whoever wants bytes packs the plan: plan_pack, in plan/format/plan.h. */
};
enum { N_STAGE = sizeof stages / sizeof *stages };

/* --- What the stages do ----------------------------------------------------------------------- */

static int check_region(const ir_fn_t *fn, const ir_region_t *region, err_t *err)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        const char *target = op->code == OP_custom_call ? control_target(op) : NULL;
        if (target && !control_is_known(op))
            return err_set(err, ERR_UNSUPPORTED,
                           "@%s, line %d: custom_call @%s runs code that is not in the model, and "
                           "is no op of StableHLO: write it as ops, or export the model without it",
                           fn->name, op->line, target);
        for (int r = 0; r < op->n_region; r++)
            if (check_region(fn, op->region[r], err) < 0) return -1;
    }
    return 0;
}

/* Before gradients are made: a plan could say so only at the end. */
static int check_custom_calls(stages_t *self, err_t *err)
{
    const ir_module_t *module = self->module;
    for (int i = 0; i < module->n_fn; i++)
        if (check_region(module->fn[i], module->fn[i]->body, err) < 0) return -1;
    return 0;
}

static int build_gradient(stages_t *self, err_t *err)
{
    return optim_build_gradient(self->module, err);
}

static int build_training(stages_t *self, err_t *err)
{
    if (!self->spec && self->goal >= GOAL_PROGRAMS) return 0;
    train_spec_t spec = self->spec ? *self->spec : TRAIN_SPEC_DEFAULT;
    spec.only_f32 = self->target && self->target->caps.only_f32;
    return optim_build(self->module, &spec, err);
}

/* Every public function, with an arena of so many bytes; 0: any. */
static int lower_for(stages_t *self, uint64_t budget, err_t *err)
{
    int status = 0;
    plan_build_destroy(&self->build);
    self->build = plan_build_new(self->module, &self->target->caps);
    plan_build_tune(self->build, self->tune);
    plan_build_budget(self->build, budget);
    for (int i = 0; status == 0 && i < self->n_fn; i++)
        if (!self->module->fn[i]->is_private)
            status = plan_build_program(self->build, self->module->fn[i], err);
    return status == 0 ? plan_build_lay_out(self->build, err) : -1;
}

static int lower(stages_t *self, err_t *err)
{
    self->n_fn = self->module->n_fn;
    return lower_for(self, 0, err);
}

/* A plan for a budget is slower; where the usual one fits, it is taken. */
static int keep_to_budget(stages_t *self, err_t *err)
{
    uint64_t budget = self->spec ? self->spec->memory_budget : 0;
    return budget == 0 || plan_build_arena(self->build) <= budget ? 0
                                                                  : lower_for(self, budget, err);
}

static int prove(stages_t *self, err_t *err)
{
    return plan_build_prove(self->build, err);
}

static int fill(stages_t *self, err_t *err)
{
    (void)err;
    const train_spec_t *spec = self->spec;
    plan_t *plan = self->plan = plan_build_fill(self->build);
    plan->target = mem_strdup(self->target->name);
    plan->module_hash = mem_strdup(self->module_hash ? self->module_hash : "");
    plan->spec = spec ? train_spec_print(spec) : mem_strdup("");
    plan->accumulate = spec ? spec->accumulate : 1;
    return 0;
}

static int render(stages_t *self, err_t *err)
{
    int n = plan_build_n_kernel(self->build);
    const kernel_t **kernels = mem_calloc((size_t)n + 1, sizeof(kernel_t *));
    for (int i = 0; i < n; i++) kernels[i] = plan_build_kernel(self->build, i);
    int status = codegen_init(&self->code, self->target, n, kernels, err);
    free(kernels);
    return status;
}

/* Kernel steps and the plan's table speak of symbols, of which equal kernels share one. */
static int name_kernels(stages_t *self, err_t *err)
{
    (void)err;
    plan_t *plan = self->plan;
    const codegen_t *code = &self->code;
    plan->n_kernel = code->n_symbol;
    plan->kernel_name = mem_calloc((size_t)code->n_symbol + 1, sizeof(char *));
    for (int i = 0; i < code->n_symbol; i++) plan->kernel_name[i] = mem_strdup(code->name[i]);
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++) {
            plan_step_t *s = &plan->program[p].step[i];
            if (s->kind == STEP_KERNEL) s->kernel.kernel = (uint32_t)code->symbol[s->kernel.kernel];
            if (s->kind == STEP_GEMM && s->gemm.parts > 0)
                s->gemm.kernel = (uint32_t)code->symbol[s->gemm.kernel];
        }
    return 0;
}

static int compile(stages_t *self, err_t *err)
{
    self->plan->code = codegen_compile(&self->code, &self->plan->n_code, err);
    return self->plan->code ? 0 : -1;
}

/* --- Running them ----------------------------------------------------------------------------- */

static bool runs(int i, goal_t goal)
{
    return stages[i].goals & TO(goal);
}

/* Does the stage run that pass? The clean-up is opened by passes of its own. */
static bool has_pass(int i, const pass_t *pass)
{
    pass_when_t when = pass->when == PASS_OPEN ? PASS_CLEAN : pass->when;
    return !stages[i].run && stages[i].when == when;
}

/* The stage that tells of the pass: the last one that runs it. -1 with the error. */
static int find_teller(const stages_t *self, err_t *err)
{
    const pass_t *pass = pass_find(self->pass, err);
    int found = -1;
    for (int i = 0; pass && i < N_STAGE; i++)
        if (runs(i, self->goal) && has_pass(i, pass)) found = i;
    if (pass && found < 0)
        err_set(err, ERR_ARG, "pass %s does not run on the way to this stage: %s", self->pass,
                pass->when == PASS_MODEL ? "--emit train and plan have it" : "--emit plan has it");
    return found;
}

/* Programs that people read round as the spec says, those of a plan as its target does. */
static precision_t precision(const stages_t *self)
{
    if (!self->spec) return PRECISION_F32;
    return self->target ? compile_precision(self->spec, self->target->caps)
                        : train_spec_precision(self->spec);
}

int stages_run(stages_t *self, err_t *err)
{
    int teller = self->pass ? find_teller(self, err) : N_STAGE;
    pass_options_t options = {.precision = precision(self)};
    int status = teller < 0 ? -1 : 0;
    for (int i = 0; status == 0 && i < N_STAGE; i++) {
        if (!runs(i, self->goal)) continue;
        const pass_hook_t *hook = i == teller ? &self->hook : NULL;
        status = stages[i].run ? stages[i].run(self, err)
                               : passes_run_when(self->module, stages[i].when, &options, hook, err);
    }
    if (status < 0) plan_destroy(&self->plan);
    return status;
}

void stages_fini(stages_t *self)
{
    plan_build_destroy(&self->build);
    codegen_fini(&self->code);
    plan_destroy(&self->plan);
}
