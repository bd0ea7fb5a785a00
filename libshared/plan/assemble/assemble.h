/* Pieces of a builder's work (plan/build.c) before and behind memory. */
#ifndef PLAN_ASSEMBLE_ASSEMBLE_H
#define PLAN_ASSEMBLE_ASSEMBLE_H

#include "plan/memory/build_in.h"

/* Tensors for the parameters and results of fn, the function of p; programs share them by role and name. ERR_TYPE
 * when two programs see one differently. */
int bind_tensors(plan_build_t *self, program_t *p, const ir_fn_t *fn, err_t *err);

/* By a kernel that is cut for registers, by the device's library, or by loops. step: a product's. */
void choose_product(plan_build_t *self, lstep_t *step);

/* The steps, sweeps and tensors of p, with the offsets that memory has given out. */
void fill_program(const plan_build_t *self, const program_t *p, plan_program_t *to);

#endif
