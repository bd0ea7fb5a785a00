/* Products of few rows and columns whose sums are long: in parts, each a product of its own terms, which are
 * added afterwards. How many depends on the sizes and the target alone. */
#ifndef PLAN_LONG_SUMS_H
#define PLAN_LONG_SUMS_H

#include "ir/build.h"
#include "plan/kernel/caps.h"

/* Into how many parts the sum of [m, k] x [n, k] is cut, a divisor of k; 1: it stays whole. */
int64_t long_sums_parts(const caps_t *caps, int64_t m, int64_t n, int64_t k, bool bf16);

/* a[1, m, k] and b[1, n, k] as results of `parts` products, [parts, m, n] in f32. */
ir_val_t long_sums_dot(ir_fn_t *fn, ir_val_t a, ir_val_t b, int64_t parts);

/* The sum of y[parts, m, n] over its parts, two by two: what each element takes is one expression, which threads without
 * number compute where it is used. parts is a power of two. */
ir_val_t long_sums_add(ir_fn_t *fn, ir_val_t y);

#endif
