/* Inside of optim/: what fills arguments that are neither kept nor data. */
#ifndef OPTIM_INPUTS_H
#define OPTIM_INPUTS_H

#include "ir/build.h"
#include "optim/optim.h"

/* Bits for the k-th seed of a model: a word for each 64 of them, SplitMix64's mixing (Steele, Lea and
 * Flood, OOPSLA 2014) of the execution's seed and the word's number, cut into elements of `type`. */
ir_val_t optim_seed(ir_fn_t *fn, const ir_type_t *type, int k);

/* The value of an argument of role scalar; lr (f32) and step (i64) may be IR_NONE: 0. */
ir_val_t optim_scalar(ir_fn_t *fn, const optim_arg_t *arg, ir_val_t lr, ir_val_t step);

/* A kept value as the model reads it: rounded to its type. */
ir_val_t optim_from_master(ir_fn_t *fn, ir_val_t x, dtype_t to);

#endif
