/* A plan as text for people. */
#ifndef PLAN_PRINT_H
#define PLAN_PRINT_H

#include "base/str.h"
#include "plan/format/plan.h"

/* Tensors with offsets, then each program's steps. */
void plan_print(const plan_t *plan, str_t *out);

#endif
