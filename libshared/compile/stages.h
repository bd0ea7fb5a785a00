/* The stages from a model to the programs of a plan, as one table that plans, --emit and --pass go
 * through. */
#ifndef COMPILE_STAGES_H
#define COMPILE_STAGES_H

#include "optim/optim.h"
#include "passes/passes.h"

/* What the module is wanted as. */
typedef enum {
    GOAL_MODEL, /* itself, cleaned up */
    GOAL_GRAD,  /* the gradient of its loss, @grad */
    GOAL_TRAIN, /* training programs, as people read them */
    GOAL_PLAN,  /* the programs of a plan: ready to be lowered */
} goal_t;

typedef struct {
    goal_t goal;
    const train_spec_t *spec; /* GOAL_PLAN: NULL: the module's public functions as they are. Else
                               * NULL: TRAIN_SPEC_DEFAULT */
    /* Told after each pass of the last stage that has the pass of this name; NULL: never. ERR_ARG
     * when there is no such pass, or none on the way to the goal. */
    const char *pass;
    pass_hook_t hook;
} stages_t;

/* Run all stages of the goal. The IR is verified after each pass; errors name the pass. */
int stages_run(ir_module_t *module, const stages_t *self, err_t *err);

#endif
