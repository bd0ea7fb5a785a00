/* Weights that products of bf16 have on their right: rounded and woven for a matrix unit (plan/format/plan.h,
 * plan_gemm_step_t.woven) by a kernel of their own, once, in the place of rounded rows that each product copies anew.
 * Products with W [rows, cols] itself (nn: sums over rows) take it woven by rows, those with W transposed (nt) by
 * columns; one kernel writes what is wanted of both. */
#ifndef PLAN_WEAVE_H
#define PLAN_WEAVE_H

#include "plan/lower/lower.h"

enum { WEAVE_BY_ROWS, WEAVE_BY_COLS, WEAVE_WAYS };

/* A kernel's work is squares of PLAN_WOVEN rows and columns, the squares of the same rows one after another. */
typedef struct weave {
    int64_t rows, cols;
    int arg
        [WEAVE_WAYS]; /* the kernel's arguments that it writes, -1: not wanted; argument 0 is what it reads */
} weave_t;

/* Which rounded parameters, when roots are chosen. */
void weave_choose(lower_t *self);
/* The step that makes op's value in the ways that are wanted; false: it is none of these. */
bool weave_place(lower_t *self, const ir_op_t *op);
/* A product whose right side is woven reads it so. */
void weave_product(const lower_t *self, lstep_t *step);

#endif
