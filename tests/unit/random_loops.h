/* Random functions of loops: carried values that change places, stay, are given twice, are
 * constants or come from outside, that are read again after a later value was made of them, inside
 * of other loops and branches. */
#ifndef TESTS_RANDOM_LOOPS_H
#define TESTS_RANDOM_LOOPS_H

#include "ir/ir.h"

/* Append the public function @name to `module`: the same seed gives the same. Over i32 in one of
 * three functions, else over f32, whose values stay within [-2, 2] for inputs from there. NULL
 * after an error, which is on stderr. */
ir_fn_t *random_loops(ir_module_t *module, const char *name, uint64_t seed);

#endif
