/* The whole pipeline: StableHLO module to plan (parse -> the stages of compile/stages.c -> plan ->
 * codegen -> system compiler). */
#ifndef COMPILE_COMPILE_H
#define COMPILE_COMPILE_H

#include "ir/ir.h"
#include "optim/optim.h"
#include "plan/format/plan.h"
#include "plan/kernel/caps.h"
#include "plan/kernel/tune.h"

typedef enum {
    STAGE_IR,    /* as parsed and verified */
    STAGE_GRAD,  /* @grad */
    STAGE_TRAIN, /* @train, @loss, @logits after the passes */
    STAGE_PLAN,  /* the plan's tensors and steps as text */
    STAGE_C,     /* the generated source */
    STAGE_STATS, /* counts of ops, steps, FLOPs and bytes: compile/stats.h */
} compile_stage_t;

/* What products of f32 compute with in a plan for a target of `caps`: what the spec says where the target multiplies
 * bf16 or follows the spec to the letter. Elsewhere f32, since operands in bf16 would be more work and less exact. */
precision_t compile_precision(const train_spec_t *spec, caps_t caps);

/* Compile programs for `target`. spec NULL: no training, the module's public functions as they are
 * (inputs and results then get roles by position; used by tests and --backend cpu checks).
 * Returns, caller destroys. The module is consumed as scratch: not usable after. */
plan_t *compile_module(ir_module_t *module, const char *module_hash, const train_spec_t *spec,
                       const char *target, err_t *err);

/* Text in, packed plan out: what the compiler service does. Returns, caller frees. */
uint8_t *compile_text(const char *text, size_t n_text, const char *file_name,
                      const train_spec_t *spec, const char *target, size_t *n_bytes, err_t *err);

/* The same with measured choices for products (tools/tuning.h), which the plan then depends on;
 * NULL: none. */
plan_t *compile_module_tuned(ir_module_t *module, const char *module_hash, const train_spec_t *spec,
                             const char *target, const tune_t *tune, err_t *err);
uint8_t *compile_text_tuned(const char *text, size_t n_text, const char *file_name,
                            const train_spec_t *spec, const char *target, const tune_t *tune,
                            size_t *n_bytes, err_t *err);

/* The products of the plan, *n of them, kernels not compiled: what there is to measure. Returns,
 * caller frees. */
plan_gemm_step_t *compile_products(const char *text, size_t n_text, const char *file_name,
                                   const train_spec_t *spec, const char *target, int *n,
                                   err_t *err);

/* The text of one stage, for `pcp compile --emit`. Returns, caller frees. */
char *compile_emit(const char *text, size_t n_text, const char *file_name, compile_stage_t stage,
                   const train_spec_t *spec, const char *target, err_t *err);

/* The IR after the first run of the pass `pass` over what `stage` prints: STAGE_IR the module,
 * STAGE_GRAD @grad, STAGE_TRAIN the training programs, STAGE_PLAN those of a plan, which more
 * passes go over (passes/passes.h). Returns, caller frees; ERR_ARG lists the passes, or says that
 * this one does not run there. */
char *compile_after_pass(const char *text, size_t n_text, const char *file_name,
                         compile_stage_t stage, const train_spec_t *spec, const char *pass,
                         err_t *err);

#endif
