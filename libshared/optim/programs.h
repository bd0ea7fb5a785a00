/* Inside of optim/: functions whose parameters and results have names and roles. */
#ifndef OPTIM_PROGRAMS_H
#define OPTIM_PROGRAMS_H

#include "base/vec.h"
#include "ir/ir.h"

typedef struct {
    const char *role, *name;
    const char *init; /* parameters: their rule of initial values, or NULL */
    ir_type_t type;
    ir_val_t value;
    size_t first,
        n_role; /* where the slots of its role begin; at the first of them: their number */
} slot_t;
typedef VEC(slot_t) slots_t;

/* A function with these parameters (fills their value); then, once results are set, its end. */
ir_fn_t *program_begin(ir_module_t *module, const char *name, slots_t *in);
int program_end(ir_fn_t *fn, const slots_t *out, err_t *err);

/* fn's ops copied to to's cursor with args for its parameters; results[] as many as fn has. */
int program_inline(ir_fn_t *to, const ir_fn_t *fn, const ir_val_t *args, ir_val_t *results,
                   err_t *err);

#endif
