/* A matrix product as a kernel of the loop-IR: for targets that have neither a library of products
 * nor kernels that are cut for their registers. Slow, short, and right: sums are taken in f64, one
 * term after another. */
#ifndef PLAN_PRODUCT_LOOPS_H
#define PLAN_PRODUCT_LOOPS_H

#include "plan/format/plan.h"
#include "plan/kernel/kernel.h"

/* Arguments a, b, c; the extent, product_pieces, is what the step's parts are: rows of all matrices
 * of C, or elements. Returns, caller destroys. */
kernel_t *product_loops(const plan_gemm_step_t *step, bool by_element);
int64_t product_pieces(const plan_gemm_step_t *step, bool by_element);

#endif
