/* cholesky and triangular_solve: between their type rules and evaluators (linalg.c), reverse rules
 * (linalg_vjp.c) and what plans run (linalg_expand.c). */
#ifndef OPS_LINALG_H
#define OPS_LINALG_H

#include "ops/common.h"

typedef enum { SOLVE_PLAIN, SOLVE_TRANSPOSE, SOLVE_ADJOINT, SOLVE_UNKNOWN } solve_form_t;

typedef struct {
    bool left, lower, unit; /* op(a) x = b, else x op(a) = b; which triangle; diagonal of ones */
    solve_form_t form;      /* op(a): a, its transpose or its adjoint */
} solve_t;
/* The attributes of triangular_solve, which its type rule has checked. */
solve_t solve_read(const ir_op_t *op);
/* triangular_solve(a, b), appended to fn. */
ir_val_t solve_emit(ir_fn_t *fn, ir_val_t a, ir_val_t b, solve_t how);

/* On the last two dimensions: x transposed; x where row > column (lower) or row < column (upper), x
 * times `diagonal` on the diagonal, else 0. */
ir_val_t matrix_transpose(ir_fn_t *fn, ir_val_t x);
ir_val_t matrix_triangle(ir_fn_t *fn, ir_val_t x, bool lower, double diagonal);

int cholesky_vjp(vjp_t *v, err_t *err);
int solve_vjp(vjp_t *v, err_t *err);
void cholesky_expand(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                     ir_val_t *out);
void solve_expand(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                  ir_val_t *out);

#endif
