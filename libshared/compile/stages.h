/* The stages from a model to a plan, as one table that plans, --emit and --pass go through. */
#ifndef COMPILE_STAGES_H
#define COMPILE_STAGES_H

#include "codegen/codegen.h"
#include "optim/optim.h"
#include "passes/passes.h"
#include "plan/build.h"

/* What the module is wanted as. */
typedef enum {
    GOAL_MODEL,    /* itself, cleaned up */
    GOAL_GRAD,     /* the gradient of its loss, @grad */
    GOAL_TRAIN,    /* training programs, as people read them */
    GOAL_PROGRAMS, /* the programs of a plan: ready to be lowered */
    GOAL_PLAN,     /* a plan and its rendered kernels */
    GOAL_CODE,     /* the plan with its kernels compiled */
} goal_t;

typedef struct {
    goal_t goal;
    ir_module_t *module; /* borrowed; scratch from here on */
    const train_spec_t
        *spec; /* from GOAL_PROGRAMS on: NULL: the module's public functions as they are. Else
                               * NULL: TRAIN_SPEC_DEFAULT */
    /* Told after each pass of the last stage that has the pass of this name; NULL: never. ERR_ARG
     * when there is no such pass, or none on the way to the goal. */
    const char *pass;
    pass_hook_t hook;
    /* From GOAL_PLAN on: */
    const target_t *target;
    const tune_t *tune;      /* measured choices for products; NULL: none */
    const char *module_hash; /* NULL: none */
    /* What the stages make; all NULL and 0 before. */
    int n_fn; /* of the module, when lowering begins: lowering adds functions */
    plan_build_t *build;
    codegen_t code;
    plan_t *plan; /* the caller may take it, and leave NULL */
} stages_t;

/* Run all stages of the goal. The IR is verified after each pass; errors name the pass. stages_fini is due in any
 * case, and frees what the stages made; stages_run has left no plan behind an error. */
int stages_run(stages_t *self, err_t *err);
void stages_fini(stages_t *self);

#endif
