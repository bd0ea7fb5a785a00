/* Folding elements with the plain binary ops that reducers are made of. Pure functions. */
#ifndef OPS_FOLD_BINARY_H
#define OPS_FOLD_BINARY_H

#include "ir/op.h"
#include "ir/tensor.h"
#include "ops/eval.h"

/* Accumulators that are folded into place: one slot each, a double for float element types, a pair
 * of them for complex ones and the integer's bits otherwise. Float folds are wide: they round once,
 * when they are stored. */
typedef union {
    double f;
    int64_t i;
    double _Complex c;
} fold_slot_t;

typedef void fold_fn_t(fold_slot_t *slot, fold_slot_t x);

/* The fold of a reducer op on elements of dtype; NULL when it is none of add, multiply, maximum,
 * minimum, and, or, xor, or the type does not have it. */
fold_fn_t *fold_of(op_code_t reducer, dtype_t dtype);
/* What a region does, when that is one such op on its two arguments; NULL otherwise. */
fold_fn_t *fold_of_region(const ir_region_t *region, dtype_t dtype);

fold_slot_t fold_load(const tensor_t *x, int64_t i);
void fold_store(tensor_t *y, int64_t i, fold_slot_t slot); /* rounds; integers wrap */
void fold_load_block(const tensor_t *x, int64_t at, int n, fold_slot_t *slots); /* n <= BLOCK */

/* acc[k] = region(acc.., x..) on n_value rank-0 tensors each, through the interpreter. acc[] owns
 * its data, which stays where it is. */
int fold_region(eval_t *ev, const ir_region_t *region, int n_value, tensor_t *acc,
                const tensor_t *x, err_t *err);

#endif
