/* Text in, and what is wanted out: parse, then the stages of stages.c, then pack or print. */
#include "compile/compile.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "codegen/target.h"
#include "compile/stages.h"
#include "compile/stats.h"
#include "ir/print.h"
#include "parse/parse.h"
#include "plan/format/print.h"

precision_t compile_precision(const train_spec_t *spec, caps_t caps)
{
    return caps.bf16 || caps.literal ? train_spec_precision(spec) : PRECISION_F32;
}

/* Run self to its goal, on the way to a plan for the named target; stages_fini is due. */
static int run_for(stages_t *self, const char *target, err_t *err)
{
    self->target = target_find(target, err);
    return self->target ? stages_run(self, err) : -1;
}

plan_t *compile_module_tuned(ir_module_t *module, const char *module_hash, const train_spec_t *spec,
                             const char *target, const tune_t *tune, err_t *err)
{
    stages_t stages = {.goal = GOAL_CODE,
                       .module = module,
                       .spec = spec,
                       .tune = tune,
                       .module_hash = module_hash};
    int status = run_for(&stages, target, err);
    plan_t *plan = status == 0 ? stages.plan : NULL;
    stages.plan = NULL;
    stages_fini(&stages);
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
    ir_module_t *module = parse_stablehlo(text, n_text, file_name, err);
    if (!module) return NULL;
    stages_t stages = {.goal = GOAL_PLAN, .module = module, .spec = spec};
    const plan_t *plan = run_for(&stages, target, err) == 0 ? stages.plan : NULL;
    for (int p = 0; plan && p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++) {
            const plan_step_t *s = &plan->program[p].step[i];
            if (s->kind == STEP_GEMM) VEC_PUSH(&found, s->gemm);
        }
    if (plan && found.n == 0) VEC_RESERVE(&found, 1);
    *n = (int)found.n;
    stages_fini(&stages);
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
    stages_t stages = {
        .goal = stage == STAGE_GRAD ? GOAL_GRAD : GOAL_TRAIN, .module = module, .spec = spec};
    if (stage != STAGE_IR && stages_run(&stages, err) < 0) return -1;
    ir_print_module(module, out);
    return 0;
}

static int emit_plan(ir_module_t *module, const char *hash, compile_stage_t stage,
                     const train_spec_t *spec, const char *target, str_t *out, err_t *err)
{
    stages_t stages = {.goal = GOAL_PLAN, .module = module, .spec = spec, .module_hash = hash};
    int status = run_for(&stages, target, err);
    if (status == 0 && stage == STAGE_PLAN) plan_print(stages.plan, out);
    if (status == 0 && stage == STAGE_C) codegen_print(&stages.code, out);
    if (status == 0 && stage == STAGE_STATS) {
        stats_print(module, stages.plan, out);
        if (spec && compile_precision(spec, stages.target->caps) != train_spec_precision(spec))
            str_addf(out, "products in f32: %s gains nothing by less\n", target);
    }
    stages_fini(&stages);
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
