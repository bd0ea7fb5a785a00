/* Groups of parameters, by name: other learning rates and weight decays than the rest. What is asked for
 * becomes the attributes OPTIM_LR and OPTIM_DECAY of the entry's arguments (optim/optim.h), so that it
 * travels with the module and is part of its plans.
 *
 *   PATTERN:lr=X[,decay=Y][;PATTERN:...]      factors of the run's learning rate and weight decay
 *
 * A name may hold * and ?. Where several groups name a parameter, the last one that says a number does. */
#ifndef COMPILE_GROUPS_H
#define COMPILE_GROUPS_H

#include "ir/ir.h"

/* To the parameters of @main that are trained. *told: what was done, for people; in the module's arena.
 * ERR_ARG: another form, a number that is none from 0 on, a pattern that names no parameter. */
int groups_apply(ir_module_t *module, const char *text, const char **told, err_t *err);

#endif
