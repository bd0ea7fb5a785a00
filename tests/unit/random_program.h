/* Random modules for property tests: each use of the same seed gives the same module and inputs. */
#ifndef TESTS_RANDOM_PROGRAM_H
#define TESTS_RANDOM_PROGRAM_H

#include "ir/ir.h"

/* @main over a float, an integer and a boolean tensor, with element-wise ops, conversions, shape
 * ops, constants (many of them neutral elements), an `if`, and calls of a private function. Full of
 * repeated and dead work. All its values are finite or follow IEEE rules that passes must keep. */
ir_module_t *random_program(uint64_t seed, int n_op);

/* The same over all element types, with every map of the op table that its type rule lets through,
 * views with strides, padding and reversal, reductions, products, dynamic slices. No calls and
 * regions but reducers. Float results may be NaN and infinite, and amplify rounding: compare bits,
 * or not at all. */
ir_module_t *random_program_wide(uint64_t seed, int n_op);
/* Such a program as @name of `module`, whose results are to the bit whatever computes them. NULL
 * after an error, which is on stderr. */
ir_fn_t *random_wide_exact(ir_module_t *module, const char *name, uint64_t seed, int n_op);

/* The seeds that PCP_PROGRAMS=FIRST:COUNT in the environment asks for; unset: as they are. */
void random_range(uint64_t *first, uint64_t *count);

/* Heap-owned inputs for fn: floats in [-2, 2], integers in [-8, 8]. */
tensor_t *random_inputs(const ir_fn_t *fn, uint64_t seed);
void tensors_free(tensor_t **tensors_p, int n);

/* The largest deviation between two lists: floats relative to max(1, |a|), NaN equal to NaN; any
 * difference of type or of an integer is infinite. */
double tensors_deviation(const tensor_t *a, const tensor_t *b, int n);

#endif
