/* The order of everything that happens to a module before it is lowered. The clean-up comes before
 * gradients, which need calls inlined (and what has folded is not differentiated), and behind them.
 */
#include "compile/stages.h"

#include <string.h>

#define TO(goal) (1u << (goal))
#define TO_PROGRAMS (TO(GOAL_TRAIN) | TO(GOAL_PLAN))
#define TO_GRADIENTS (TO(GOAL_GRAD) | TO_PROGRAMS)
#define TO_ALL (TO(GOAL_MODEL) | TO_GRADIENTS)

typedef int build_fn(ir_module_t *module, const stages_t *self, err_t *err);

static int build_gradient(ir_module_t *module, const stages_t *self, err_t *err)
{
    (void)self;
    return optim_build_gradient(module, err);
}

static int build_training(ir_module_t *module, const stages_t *self, err_t *err)
{
    const train_spec_t *spec = self->spec;
    if (!spec && self->goal == GOAL_PLAN) return 0;
    return optim_build(module, spec ? spec : &TRAIN_SPEC_DEFAULT, err);
}

/* A stage builds programs, or runs the passes of a kind. */
static const struct {
    const char *name;
    unsigned goals;
    build_fn *build;
    pass_when_t when; /* build NULL */
} stages[] = {
    {"clean-up of the model", TO_GRADIENTS, NULL, PASS_CLEAN},
    {"model", TO_PROGRAMS, NULL, PASS_MODEL},
    {"model, for plans", TO(GOAL_PLAN), NULL, PASS_MODEL_PLAN},
    {"gradient", TO(GOAL_GRAD), build_gradient, 0},
    {"training programs", TO_PROGRAMS, build_training, 0},
    {"programs", TO_GRADIENTS, NULL, PASS_PROGRAMS},
    {"programs, for plans", TO(GOAL_PLAN), NULL, PASS_PROGRAMS_PLAN},
    {"clean-up", TO_ALL, NULL, PASS_CLEAN},
    {"last, for plans", TO(GOAL_PLAN), NULL, PASS_LAST_PLAN},
};
enum { N_STAGE = sizeof stages / sizeof *stages };

static bool runs(int i, goal_t goal)
{
    return stages[i].goals & TO(goal);
}

/* Does the stage run that pass? The clean-up is opened by passes of its own. */
static bool has_pass(int i, const pass_t *pass)
{
    pass_when_t when = pass->when == PASS_OPEN ? PASS_CLEAN : pass->when;
    return !stages[i].build && stages[i].when == when;
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

int stages_run(ir_module_t *module, const stages_t *self, err_t *err)
{
    int teller = self->pass ? find_teller(self, err) : N_STAGE;
    pass_options_t options = {.precision = self->spec ? self->spec->precision : PRECISION_F32};
    for (int i = 0; teller >= 0 && i < N_STAGE; i++) {
        if (!runs(i, self->goal)) continue;
        const pass_hook_t *hook = i == teller ? &self->hook : NULL;
        int status = stages[i].build ? stages[i].build(module, self, err)
                                     : passes_run_when(module, stages[i].when, &options, hook, err);
        if (status < 0) return -1;
    }
    return teller < 0 ? -1 : 0;
}
