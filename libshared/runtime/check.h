/* Does a plan keep to its own arena and tables? Checked when a plan is loaded, whoever made it, so
 * that running it checks nothing. What a kernel does inside cannot be checked: plans are signed. */
#ifndef RUNTIME_CHECK_H
#define RUNTIME_CHECK_H

#include "plan/plan.h"

/* -1 with ERR_CORRUPT naming the tensor, constant or step and the bound it breaks. Pure. */
int check_plan(const plan_t *plan, err_t *err);

#endif
