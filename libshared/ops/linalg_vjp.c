/* Reverse rules of cholesky and triangular_solve (Murray 2016, "Differentiation of the Cholesky
 * decomposition", eq. 9 and 10; Giles 2008, "Collected matrix derivative results", 2.2.3). */
#include <string.h>

#include "ops/complex.h"
#include "ops/linalg.h"
#include "ops/rule.h"

ir_val_t matrix_transpose(ir_fn_t *fn, ir_val_t x)
{
    if (x == IR_NONE) return x;
    int64_t perm[IR_MAX_RANK], rank = ir_type_of(fn, x)->rank;
    for (int64_t i = 0; i < rank; i++) perm[i] = i;
    perm[rank - 1] = rank - 2, perm[rank - 2] = rank - 1;
    return ir_transpose(fn, x, perm);
}

ir_val_t matrix_triangle(ir_fn_t *fn, ir_val_t x, bool lower, double diagonal)
{
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x), index = ir_type_with(type, DT_I64);
    ir_val_t row = ir_iota(fn, &index, type.rank - 2), col = ir_iota(fn, &index, type.rank - 1);
    ir_val_t on_it = SELECT(CMP(row, "EQ", col), SCALE(diagonal, x), NUM(x, 0));
    return SELECT(CMP(row, lower ? "GT" : "LT", col), x, on_it);
}

/* a b on the last two dimensions, the others batches. */
static ir_val_t product(ir_fn_t *fn, ir_val_t a, ir_val_t b)
{
    if (a == IR_NONE) return a;
    ir_dot_t dims = {.n_contract = 1};
    dims.n_batch = ir_type_of(fn, a)->rank - 2;
    for (int i = 0; i < dims.n_batch; i++) dims.lhs_batch[i] = dims.rhs_batch[i] = i;
    dims.lhs_contract[0] = dims.n_batch + 1, dims.rhs_contract[0] = dims.n_batch;
    return ir_dot(fn, a, b, &dims, DT_NONE);
}

static ir_val_t adjoint(ir_fn_t *fn, ir_val_t x)
{
    return complex_conj(fn, matrix_transpose(fn, x));
}

/* a = L L^H. With G = conj(g), P the lower triangle of L^H G with half its diagonal and
 * S = L^-H P L^-1, dL = Re tr(H^H da) for the Hermitian H = (S + S^H) / 2. Only the lower triangle
 * of a is read, which stands for the upper one as well: twice H below the diagonal, H on it. An
 * upper factor is the adjoint of the lower one of a^H. */
int cholesky_vjp(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    bool lower = attr_bool(&v->op->attrs, "lower", false);
    ir_val_t y = vjp_wide(fn, v->op->out), g = complex_conj(fn, vjp_ct(v, 0));
    if (!lower) y = adjoint(fn, y), g = adjoint(fn, g);
    solve_t left = {true, true, false, SOLVE_ADJOINT}, right = {false, true, false, SOLVE_PLAIN};
    ir_val_t p = matrix_triangle(fn, product(fn, adjoint(fn, y), g), true, 0.5);
    ir_val_t s = solve_emit(fn, y, p, left);
    s = solve_emit(fn, y, s, right);
    ir_val_t ct = matrix_triangle(fn, ADD(s, adjoint(fn, s)), true, 0.5);
    ct = complex_conj(fn, ct);
    if (!lower) ct = adjoint(fn, ct);
    vjp_give(v, 0, ct);
    return vjp_done(v, err);
}

/* op(a) x = b: db = op(a)^-T g, d op(a) = -db x^T; from the right db = g op(a)^-T,
 * d op(a) = -x^T db. */
int solve_vjp(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    solve_t s = solve_read(v->op), back = s;
    ir_val_t a = vjp_in(v, 0), x = vjp_wide(fn, v->op->out), g = vjp_ct(v, 0);
    back.form = s.form == SOLVE_PLAIN ? SOLVE_TRANSPOSE : SOLVE_PLAIN;
    ir_val_t db = solve_emit(fn, s.form == SOLVE_ADJOINT ? complex_conj(fn, a) : a, g, back);
    if (v->need[1]) vjp_give(v, 1, db);
    if (v->need[0]) {
        ir_val_t xt = matrix_transpose(fn, x);
        ir_val_t da = NEG(s.left ? product(fn, db, xt) : product(fn, xt, db));
        if (s.form == SOLVE_TRANSPOSE) da = matrix_transpose(fn, da);
        if (s.form == SOLVE_ADJOINT) da = adjoint(fn, da);
        vjp_give(v, 0, matrix_triangle(fn, da, s.lower, s.unit ? 0 : 1));
    }
    return vjp_done(v, err);
}
