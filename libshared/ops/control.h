/* What control.c and control_vjp.c share, and what passes ask about calls. */
#ifndef OPS_CONTROL_H
#define OPS_CONTROL_H

#include <stdbool.h>

#include "ir/op.h"

/* custom_call @pcp.stop_gradient: the value passes, its gradient does not. */
#define CONTROL_STOP_GRADIENT "pcp.stop_gradient"

/* The function that a call or composite runs; NULL (ERR_ARG) if the module has none. */
const ir_fn_t *control_callee(const ir_module_t *module, const ir_op_t *op, err_t *err);

/* A custom_call that is run: the identity, a seed, a check. */
bool control_is_known(const ir_op_t *op);
/* A custom_call's target, "" if it names none; and whether its results are just its operands. */
const char *control_target(const ir_op_t *op);
bool control_is_identity(const char *target);

/* Reverse rules. while: of counted loops (while_vjp.c). */
int vjp_while(vjp_t *v, err_t *err);
int vjp_branches(vjp_t *v, err_t *err);
int vjp_custom_call(vjp_t *v, err_t *err);
int vjp_optimization_barrier(vjp_t *v, err_t *err);

#endif
