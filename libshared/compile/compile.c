/* The order of stages: parse, training programs, passes, plan, codegen, system compiler. */
#include "compile/compile.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "codegen/codegen.h"
#include "codegen/target.h"
#include "compile/stages.h"
#include "compile/stats.h"
#include "ir/print.h"
#include "parse/parse.h"
#include "plan/build.h"
#include "plan/format/print.h"

/* Lower every public function of the first n; *build_p has the kernels of its steps. */
static plan_t *lower_functions(ir_module_t *module, int n, const target_t *target,
                               const tune_t *tune, uint64_t budget, plan_build_t **build_p,
                               err_t *err)
{
    plan_build_t *build = *build_p = plan_build_new(module, &target->caps);
    plan_build_tune(build, tune);
    plan_build_budget(build, budget);
    int status = 0;
    for (int i = 0; status == 0 && i < n; i++)
        if (!module->fn[i]->is_private) status = plan_build_program(build, module->fn[i], err);
    return status == 0 ? plan_build_finish(build, err) : NULL;
}

/* A plan for a budget is slower; where the usual one fits, it is taken. */
static plan_t *lower_module(ir_module_t *module, const train_spec_t *spec, const target_t *target,
                            const tune_t *tune, plan_build_t **build_p, err_t *err)
{
    int n = module->n_fn; /* lowering adds functions */
    plan_t *plan = lower_functions(module, n, target, tune, 0, build_p, err);
    if (!plan || !spec || spec->memory_budget == 0 || plan->arena_bytes <= spec->memory_budget)
        return plan;
    plan_destroy(&plan);
    plan_build_destroy(build_p);
    return lower_functions(module, n, target, tune, spec->memory_budget, build_p, err);
}

static int render_kernels(const plan_build_t *build, const target_t *target, codegen_t *code,
                          err_t *err)
{
    int n = plan_build_n_kernel(build);
    const kernel_t **kernels = mem_calloc((size_t)n + 1, sizeof(kernel_t *));
    for (int i = 0; i < n; i++) kernels[i] = plan_build_kernel(build, i);
    int status = codegen_init(code, target, n, kernels, err);
    free(kernels);
    return status;
}

/* Kernel steps and the plan's table speak of symbols, of which equal kernels share one. */
static void name_kernels(plan_t *plan, const codegen_t *code)
{
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
}

/* The plan without its compiled code; *code holds the rendered kernels. */
static plan_t *plan_module(ir_module_t *module, const char *module_hash, const train_spec_t *spec,
                           const char *target_name, const tune_t *tune, codegen_t *code, err_t *err)
{
    const target_t *target = target_find(target_name, err);
    *code = (codegen_t){0};
    const stages_t stages = {.goal = GOAL_PLAN, .spec = spec};
    if (!target || stages_run(module, &stages, err) < 0) return NULL;
    plan_build_t *build = NULL;
    plan_t *plan = lower_module(module, spec, target, tune, &build, err);
    if (plan && render_kernels(build, target, code, err) < 0) plan_destroy(&plan);
    if (plan) {
        name_kernels(plan, code);
        plan->target = mem_strdup(target->name);
        plan->module_hash = mem_strdup(module_hash ? module_hash : "");
        plan->spec = spec ? train_spec_print(spec) : mem_strdup("");
        plan->accumulate = spec ? spec->accumulate : 1;
    }
    plan_build_destroy(&build);
    return plan;
}

plan_t *compile_module_tuned(ir_module_t *module, const char *module_hash, const train_spec_t *spec,
                             const char *target, const tune_t *tune, err_t *err)
{
    codegen_t code;
    plan_t *plan = plan_module(module, module_hash, spec, target, tune, &code, err);
    if (plan) {
        plan->code = codegen_compile(&code, &plan->n_code, err);
        if (!plan->code) plan_destroy(&plan);
    }
    codegen_fini(&code);
    return plan;
}

plan_t *compile_module(ir_module_t *module, const char *module_hash, const train_spec_t *spec,
                       const char *target, err_t *err)
{
    return compile_module_tuned(module, module_hash, spec, target, NULL, err);
}

plan_gemm_step_t *compile_products(const char *text, size_t n_text, const char *file_name,
                                   const train_spec_t *spec, const char *target, int *n, err_t *err)
{
    VEC(plan_gemm_step_t) found = {0};
    codegen_t code;
    ir_module_t *module = parse_stablehlo(text, n_text, file_name, err);
    if (!module) return NULL;
    plan_t *plan = plan_module(module, "", spec, target, NULL, &code, err);
    for (int p = 0; plan && p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++) {
            const plan_step_t *s = &plan->program[p].step[i];
            if (s->kind == STEP_GEMM) VEC_PUSH(&found, s->gemm);
        }
    if (plan && found.n == 0) VEC_RESERVE(&found, 1);
    *n = (int)found.n;
    plan_destroy(&plan);
    codegen_fini(&code);
    ir_module_destroy(&module);
    return found.at;
}

uint8_t *compile_text(const char *text, size_t n_text, const char *file_name,
                      const train_spec_t *spec, const char *target, size_t *n_bytes, err_t *err)
{
    return compile_text_tuned(text, n_text, file_name, spec, target, NULL, n_bytes, err);
}

uint8_t *compile_text_tuned(const char *text, size_t n_text, const char *file_name,
                            const train_spec_t *spec, const char *target, const tune_t *tune,
                            size_t *n_bytes, err_t *err)
{
    char hash[HASH_HEX];
    uint8_t *bytes = NULL;
    ir_module_t *module = parse_stablehlo(text, n_text, file_name, err);
    if (!module) return NULL;
    hash_content(text, n_text, hash);
    plan_t *plan = compile_module_tuned(module, hash, spec, target, tune, err);
    if (plan) bytes = plan_pack(plan, n_bytes, hash);
    plan_destroy(&plan);
    ir_module_destroy(&module);
    return bytes;
}

/* Stages that end before the plan. */
static int emit_module(ir_module_t *module, compile_stage_t stage, const train_spec_t *spec,
                       str_t *out, err_t *err)
{
    const stages_t stages = {.goal = stage == STAGE_GRAD ? GOAL_GRAD : GOAL_TRAIN, .spec = spec};
    if (stage != STAGE_IR && stages_run(module, &stages, err) < 0) return -1;
    ir_print_module(module, out);
    return 0;
}

static int emit_plan(ir_module_t *module, const char *hash, compile_stage_t stage,
                     const train_spec_t *spec, const char *target, str_t *out, err_t *err)
{
    codegen_t code;
    plan_t *plan = plan_module(module, hash, spec, target, NULL, &code, err);
    if (plan && stage == STAGE_PLAN) plan_print(plan, out);
    if (plan && stage == STAGE_C) codegen_print(&code, out);
    if (plan && stage == STAGE_STATS) stats_print(module, plan, out);
    int status = plan ? 0 : -1;
    plan_destroy(&plan);
    codegen_fini(&code);
    return status;
}

char *compile_emit(const char *text, size_t n_text, const char *file_name, compile_stage_t stage,
                   const train_spec_t *spec, const char *target, err_t *err)
{
    char hash[HASH_HEX];
    str_t out = {0};
    ir_module_t *module = parse_stablehlo(text, n_text, file_name, err);
    if (!module) return NULL;
    hash_content(text, n_text, hash);
    int status = stage <= STAGE_TRAIN ? emit_module(module, stage, spec, &out, err)
                                      : emit_plan(module, hash, stage, spec, target, &out, err);
    ir_module_destroy(&module);
    if (status == 0) return out.at ? out.at : mem_strdup("");
    str_fini(&out);
    return NULL;
}
