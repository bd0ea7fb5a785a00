/* cholesky and triangular_solve for plans: loops over columns and rows, in f64 inside. One step is
 * a product of all rows with one. */
#include <math.h>
#include <string.h>

#include "ir/build_index.h"
#include "ops/complex.h"
#include "ops/linalg.h"
#include "ops/rule.h"

/* x[batch][rows][cols] in f64 or complex<f64>. */
static ir_val_t flat(ir_fn_t *fn, ir_val_t x)
{
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x), to = {.rank = 3};
    bool is_complex = dtype_is_complex(type.dtype);
    to.dim[0] = 1, to.dim[1] = type.dim[type.rank - 2], to.dim[2] = type.dim[type.rank - 1];
    for (int d = 0; d < type.rank - 2; d++) to.dim[0] *= type.dim[d];
    to.dtype = is_complex ? DT_C128 : DT_F64;
    return ir_reshape(fn, ir_convert(fn, x, to.dtype), &to);
}

/* A loop of n steps over one tensor: open, emit the body from *i (i32) and *x, close. */
typedef struct {
    ir_val_t start, i, x;
    int64_t n;
    ir_region_t *body, *saved;
    ir_type_t types[2];
} steps_t;

static bool steps_begin(ir_fn_t *fn, steps_t *s, ir_val_t x, int64_t n)
{
    if (x == IR_NONE || fn->err.code) return false;
    *s = (steps_t){.start = x, .n = n};
    s->types[0] = ir_type_scalar(DT_I32);
    s->types[1] = *ir_type_of(fn, x);
    s->body = ir_region_begin(fn, 2, s->types, &s->saved);
    s->i = s->body->arg, s->x = s->body->arg + 1;
    return true;
}

static ir_val_t steps_end(ir_fn_t *fn, steps_t *s, ir_val_t x)
{
    ir_val_t next[2] = {ADD(s->i, ir_scalar(fn, DT_I32, 1)), x};
    ir_region_end(fn, s->body, 2, next, s->saved);
    ir_region_t *saved, *cond = ir_region_begin(fn, 2, s->types, &saved);
    ir_val_t more = CMP(cond->arg, "LT", ir_scalar(fn, DT_I32, (double)s->n));
    ir_region_end(fn, cond, 1, &more, saved);
    ir_val_t in[2] = {ir_scalar(fn, DT_I32, 0), s->start};
    ir_op_t *op = ir_emit(fn, OP_while, 2, in, NULL, 2, s->types, 2,
                          (ir_region_t *[]){cond, s->body});
    return op ? op->out + 1 : IR_NONE;
}

/* Row (or column) i of x[b][m][n], kept as a matrix of one row (or column). */
static ir_val_t line_of(ir_fn_t *fn, ir_val_t x, ir_val_t i, bool row)
{
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x);
    ir_val_t zero = ir_scalar(fn, DT_I32, 0), start[3] = {zero, row ? i : zero, row ? zero : i};
    type.dim[row ? 1 : 2] = 1;
    return ir_dynamic_slice(fn, x, start, type.dim);
}

static ir_val_t product(ir_fn_t *fn, ir_val_t a, ir_val_t b, int contract_b)
{
    ir_dot_t dims = {.n_batch = 1, .n_contract = 1, .lhs_contract = {2}};
    dims.rhs_contract[0] = contract_b;
    return ir_dot(fn, a, b, &dims, DT_NONE);
}

/* Column j of the factor: (column j of a - L row_j^H) / sqrt of its entry j, below and on the
 * diagonal. L has zeros where it is not known yet. */
static ir_val_t factor(ir_fn_t *fn, ir_val_t a, int64_t n)
{
    steps_t s;
    if (a == IR_NONE) return a;
    ir_type_t type = *ir_type_of(fn, a), column = type;
    column.dim[2] = 1;
    if (!steps_begin(fn, &s, ir_splat(fn, &type, 0), n)) return IR_NONE;
    ir_val_t row = complex_conj(fn, line_of(fn, s.x, s.i, true));
    ir_val_t c = SUB(line_of(fn, a, s.i, false), product(fn, s.x, row, 2));
    ir_val_t pivot = APPLY(sqrt, APPLY(real, line_of(fn, c, s.i, true)));
    ir_type_t part = ir_type_with(column, DT_F64), index = ir_type_with(column, DT_I32);
    ir_val_t below = ir_broadcast(fn, pivot, &part, (int64_t[]){0, 1, 2});
    ir_val_t at = ir_iota(fn, &index, 1), j = ir_broadcast_scalar(fn, s.i, &index);
    ir_val_t re = DIV(APPLY(real, c), below), y = re;
    if (dtype_is_complex(type.dtype)) {
        ir_val_t im = DIV(APPLY(imag, c), below);
        y = ir_op2(fn, OP_complex, re, SELECT(CMP(at, "EQ", j), NUM(im, 0), im));
    }
    /* The diagonal is the pivot itself, not its square over it. */
    ir_val_t diagonal = ir_convert(fn, below, type.dtype);
    y = SELECT(CMP(at, "EQ", j), diagonal, y);
    y = SELECT(CMP(at, "GE", j), y, NUM(y, 0));
    ir_val_t zero = ir_scalar(fn, DT_I32, 0), start[3] = {zero, zero, s.i};
    return steps_end(fn, &s, ir_dynamic_update_slice(fn, s.x, y, start));
}

/* NaN for the matrices with a pivot that is not positive. */
static ir_val_t or_nan(ir_fn_t *fn, ir_val_t y)
{
    if (y == IR_NONE) return y;
    ir_type_t type = *ir_type_of(fn, y), index = ir_type_with(type, DT_I32);
    ir_val_t re = APPLY(real, y),
             on_diagonal = CMP(ir_iota(fn, &index, 1), "EQ", ir_iota(fn, &index, 2));
    ir_val_t good = CMP(SELECT(on_diagonal, re, NUM(re, 1)), "GT", NUM(re, 0));
    good = ir_reduce(fn, OP_and, good, (int64_t[]){1, 2}, 2);
    ir_type_t all = ir_type_with(type, DT_I1);
    ir_val_t nan = NUM(re, NAN);
    if (dtype_is_complex(type.dtype)) nan = ir_op2(fn, OP_complex, nan, nan);
    return SELECT(ir_broadcast(fn, good, &all, (int64_t[]){0}), y, nan);
}

void cholesky_expand(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                     ir_val_t *out)
{
    bool lower = attr_bool(&op->attrs, "lower", false);
    if (ir_type_count(&types[0]) == 0) {
        out[0] = ir_splat(fn, &types[0], 0);
        return;
    }
    ir_val_t a = flat(fn, in[0]);
    if (!lower) a = complex_conj(fn, matrix_transpose(fn, a));
    ir_val_t y = or_nan(
        fn, factor(fn, matrix_triangle(fn, a, true, 1), types[0].dim[types[0].rank - 1]));
    if (!lower) y = complex_conj(fn, matrix_transpose(fn, y));
    out[0] = ir_convert(fn, ir_reshape(fn, y, &types[0]), types[0].dtype);
}

/* a x = b for lower a: row i of x is (row i of b - row i of a x) / a_ii; x has zeros where it is
 * not known yet. */
static ir_val_t substitute(ir_fn_t *fn, ir_val_t a, ir_val_t b, bool unit)
{
    steps_t s;
    if (a == IR_NONE || b == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, b), row = type;
    row.dim[1] = 1;
    int64_t n = type.dim[1];
    if (!steps_begin(fn, &s, ir_splat(fn, &type, 0), n)) return IR_NONE;
    ir_val_t of_a = line_of(fn, a, s.i, true);
    ir_val_t y = SUB(line_of(fn, b, s.i, true), product(fn, of_a, s.x, 1));
    if (!unit)
        y = DIV(y, ir_broadcast(fn, line_of(fn, of_a, s.i, false), &row, (int64_t[]){0, 1, 2}));
    ir_val_t zero = ir_scalar(fn, DT_I32, 0), start[3] = {zero, s.i, zero};
    return steps_end(fn, &s, ir_dynamic_update_slice(fn, s.x, y, start));
}

/* All forms become a x = b with a lower: from the right by transposing both sides, upper ones by
 * turning the order of rows and columns around. */
void solve_expand(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                  ir_val_t *out)
{
    static const int64_t both[] = {1, 2}, rows[] = {1};
    solve_t s = solve_read(op);
    if (ir_type_count(&types[0]) == 0) {
        out[0] = ir_splat(fn, &types[0], 0);
        return;
    }
    ir_val_t a = matrix_triangle(fn, flat(fn, in[0]), s.lower, 1), b = flat(fn, in[1]);
    bool turned = (s.form == SOLVE_PLAIN) != s.left, lower = s.lower != turned;
    if (s.form == SOLVE_ADJOINT) a = complex_conj(fn, a);
    if (turned) a = matrix_transpose(fn, a);
    if (!s.left) b = matrix_transpose(fn, b);
    if (!lower) a = ir_reverse(fn, a, both, 2), b = ir_reverse(fn, b, rows, 1);
    ir_val_t x = substitute(fn, a, b, s.unit);
    if (!lower && x != IR_NONE) x = ir_reverse(fn, x, rows, 1);
    if (!s.left) x = matrix_transpose(fn, x);
    out[0] = ir_convert(fn, ir_reshape(fn, x, &types[0]), types[0].dtype);
}
