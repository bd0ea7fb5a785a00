/* Inside of optim/: one optimizer = one row of optim_rules (rules.c). */
#ifndef OPTIM_RULE_H
#define OPTIM_RULE_H

#include "ir/build.h"
#include "optim/optim.h"

enum { OPTIM_MAX_STATE = 2 };

/* What the update of one parameter sees; all of it in the parameter's master type. */
typedef struct {
    ir_fn_t *fn;
    const train_spec_t *spec;
    ir_val_t lr;        /* f32 scalar, of this parameter */
    ir_val_t step;      /* i64 scalar, 1 for the first step */
    ir_val_t shared[2]; /* scalars made by `prepare` once a step */
    double decay;       /* of this parameter */
} optim_step_t;

typedef struct {
    const char *name;
    const char *state[OPTIM_MAX_STATE]; /* prefixes: state "m" of parameter "w" is called "m.w" */
    int (*n_state)(const train_spec_t *spec);
    void (*prepare)(optim_step_t *s); /* may be NULL */
    /* The new parameter; state_out[i] gets the new state. Emits ops, errors are the builder's. */
    ir_val_t (*update)(const optim_step_t *s, ir_val_t p, ir_val_t g, const ir_val_t *state,
                       ir_val_t *state_out);
} optim_rule_t;

/* NULL with ERR_ARG, naming those there are. */
const optim_rule_t *optim_rule_find(const char *name, err_t *err);

/* Emit helpers: a * constant; a scalar in x's element type, spread over x's shape. */
ir_val_t optim_scale(ir_fn_t *fn, ir_val_t a, double constant);
ir_val_t optim_spread(ir_fn_t *fn, ir_val_t scalar, ir_val_t x);

#endif
