/* Rewrite rules of pass_simplify: rows of tables, one table a file (rules_arith.c, rules_shape.c,
 * rules_parts.c).
 *
 * A rule looks at one op, whose operands are already simplified, and returns the value that
 * replaces its only result (of the same type), or IR_NONE when it does not apply. What it emits
 * goes to the cursor of the function being built. Rules are exact, bit for bit, except where they
 * say how not. */
#ifndef PASSES_RULES_H
#define PASSES_RULES_H

#include "ir/build.h"

typedef struct {
    ir_fn_t *fn;        /* being built: holds in[] and what the rule emits */
    const ir_op_t *op;  /* of the old function: code and attributes */
    const ir_val_t *in; /* its operands in fn */
    ir_type_t type;     /* of its result */
    const bool *single; /* per operand: this op is the only reader */
} match_t;

typedef struct {
    op_code_t code;
    ir_val_t (*run)(const match_t *m);
} rule_t;

extern const rule_t rules_arith[], rules_shape[], rules_parts[]; /* end with OP_invalid */

/* The op of this code that makes operand i, or NULL. */
const ir_op_t *match_def(const match_t *m, int i, op_code_t code);
/* Operand i is a constant whose elements all equal `value` (numerically: -0 is 0). */
bool match_splat(const match_t *m, int i, double value);
/* The same, with the value given back. False for integers beyond 2^53. */
bool match_constant(const match_t *m, int i, double *value);
/* Operand i if it has the result's type, else IR_NONE. */
ir_val_t match_keep(const match_t *m, int i);

/* The list of an attribute, which the type rule has checked; NULL when there is none. */
const int64_t *match_dims(const ir_op_t *op, const char *name);
/* Every entry of that list equals `value`. */
bool match_all(const match_t *m, const char *name, int64_t value);

#endif
