/* Between the files of pass_pairs: a clone of a function in which every complex value is two real
 * ones. */
#ifndef PASSES_PAIRS_H
#define PASSES_PAIRS_H

#include "ir/build.h"

typedef struct {
    ir_clone_t clone;  /* map[]: of the values that are not complex */
    ir_val_t *part[2]; /* of the others, by value of clone.from: real and imaginary parts */
} pairs_t;

static inline ir_type_t pairs_type(const pairs_t *self, ir_val_t v)
{
    return *ir_type_of(self->clone.from, v);
}

static inline bool pairs_is_complex(const pairs_t *self, ir_val_t v)
{
    return dtype_is_complex(pairs_type(self, v).dtype);
}

/* Part k of v; v itself when it is not complex. */
static inline ir_val_t pairs_part(const pairs_t *self, ir_val_t v, int k)
{
    return pairs_is_complex(self, v) ? self->part[k][v] : self->clone.map[v];
}

/* A rule for an op that has a complex operand or result: sets part[] or map[] of its results. */
typedef void pairs_rule_t(pairs_t *self, const ir_op_t *op);
/* The rule for an op without regions, or NULL. */
pairs_rule_t *pairs_rule(op_code_t code);
/* The op without regions on each part by itself. */
void pairs_each(pairs_t *self, const ir_op_t *op);

/* select_and_scatter of complex numbers as ops that come in parts, still complex, at the cursor of
 * any clone: 1, or -1 with the error. */
int pairs_select_and_scatter(ir_clone_t *self, const ir_op_t *op, err_t *err);

#endif
