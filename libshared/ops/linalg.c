/* cholesky and triangular_solve on batches of matrices, in double. */
#include "ops/linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/complex_math.h"

static complex_t *load_all(const tensor_t *x)
{
    int64_t n = ir_type_count(&x->type);
    complex_t *to = mem_calloc((size_t)n + 1, sizeof *to);
    for (int64_t i = 0; i < n; i++) block_load_complex(x, i, 1, &to[i]);
    return to;
}

static void store_all(tensor_t *y, const complex_t *from)
{
    int64_t n = ir_type_count(&y->type);
    for (int64_t i = 0; i < n; i++) {
        if (dtype_is_complex(y->type.dtype))
            block_store_complex(y, i, 1, &from[i]);
        else
            tensor_set_f64(y, i, creal(from[i]));
    }
}

static int infer_square(const ir_fn_t *fn, const ir_op_t *op, err_t *err)
{
    char text[IR_TYPE_TEXT];
    const ir_type_t *a = op_in_type(fn, op, 0);
    if (infer_class(fn, op, 0, CLASS_INEXACT, err) < 0) return -1;
    if (a->rank >= 2 && a->dim[a->rank - 1] == a->dim[a->rank - 2]) return 0;
    return err_set(err, ERR_SHAPE, "%s: operand 0 is %s, expected square matrices", op_name(op),
                   ir_type_text(a, text));
}

/* --- cholesky: a = y y^H with y lower, or y^H y with y upper, from that triangle of a alone; the
 * other triangle of y is 0. All of y is NaN where a is not positive definite (as XLA) --- */
static int infer_cholesky(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_square(fn, op, err) < 0) return -1;
    return infer_result(op, 0, out, op_in_type(fn, op, 0), err);
}

/* Rows of y from the top; false where a pivot is not positive. a and y may not overlap. */
static bool factor(int64_t n, bool lower, const complex_t *a, complex_t *y)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            complex_t sum = lower ? a[i * n + j] : conj(a[j * n + i]);
            for (int64_t k = 0; k < j; k++)
                sum -= pcp_complex_mul(y[i * n + k], conj(y[j * n + k]));
            if (j < i) {
                double pivot = creal(y[j * n + j]);
                y[i * n + j] = PCP_Z(creal(sum) / pivot, cimag(sum) / pivot);
            } else {
                if (!(creal(sum) > 0)) return false;
                y[i * n + i] = PCP_Z(sqrt(creal(sum)), 0);
            }
        }
    }
    return true;
}

static void turn_upper(int64_t n, complex_t *y)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            y[j * n + i] = conj(y[i * n + j]);
            y[i * n + j] = 0;
        }
}

static int eval_cholesky(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                         err_t *err)
{
    (void)ev, (void)err;
    bool lower = attr_bool(&op->attrs, "lower", false);
    int64_t n = in->type.dim[in->type.rank - 1], total = ir_type_count(&in->type);
    complex_t *a = load_all(in), *y = mem_calloc((size_t)total + 1, sizeof *y);
    for (int64_t at = 0; at < total; at += n * n) {
        bool done = factor(n, lower, a + at, y + at);
        for (int64_t i = 0; !done && i < n * n; i++) y[at + i] = PCP_Z(NAN, NAN);
        if (done && !lower) turn_upper(n, y + at);
    }
    store_all(out, y);
    free(a);
    free(y);
    return 0;
}

const op_def_t op_cholesky = {
    .name = "stablehlo.cholesky",
    .kind = K_OTHER,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_CHOLESKY,
    .lowered = true,
    .infer = infer_cholesky,
    .eval = eval_cholesky,
    .expand = cholesky_expand,
    .vjp = cholesky_vjp,
};

/* --- triangular_solve: op(a) x = b or x op(a) = b, from one triangle of a alone --- */
static const char *const forms[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};

solve_t solve_read(const ir_op_t *op)
{
    const char *text = attr_text(&op->attrs, "transpose_a", "");
    solve_t s = {.left = attr_bool(&op->attrs, "left_side", false),
                 .lower = attr_bool(&op->attrs, "lower", false),
                 .unit = attr_bool(&op->attrs, "unit_diagonal", false)};
    while (s.form < SOLVE_UNKNOWN && strcmp(text, forms[s.form]) != 0) s.form++;
    return s;
}

static void set_flag(ir_fn_t *fn, ir_attrs_t *attrs, const char *name, bool value)
{
    attr_set(fn->module->arena, attrs, (ir_attr_t){.name = name, .kind = ATTR_BOOL, .i = value});
}

ir_val_t solve_emit(ir_fn_t *fn, ir_val_t a, ir_val_t b, solve_t how)
{
    ir_attrs_t attrs = {0};
    set_flag(fn, &attrs, "left_side", how.left);
    set_flag(fn, &attrs, "lower", how.lower);
    set_flag(fn, &attrs, "unit_diagonal", how.unit);
    attr_set_text(fn->module->arena, &attrs, "transpose_a", ATTR_ENUM, forms[how.form]);
    ir_op_t *op = ir_emit(fn, OP_triangular_solve, 2, (ir_val_t[]){a, b}, &attrs, 1, NULL, 0, NULL);
    return op ? op->out : IR_NONE;
}

static int infer_solve(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *a = op_in_type(fn, op, 0), *b = op_in_type(fn, op, 1);
    char ta[IR_TYPE_TEXT], tb[IR_TYPE_TEXT];
    if (infer_square(fn, op, err) < 0) return -1;
    solve_t s = solve_read(op);
    if (s.form == SOLVE_UNKNOWN)
        return err_set(err, ERR_ARG,
                       "%s: transpose_a is \"%s\", expected NO_TRANSPOSE, TRANSPOSE or ADJOINT",
                       op_name(op), attr_text(&op->attrs, "transpose_a", ""));
    bool fits = a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 0; fits && d < a->rank - 2; d++) fits = a->dim[d] == b->dim[d];
    if (fits) fits = b->dim[b->rank - (s.left ? 2 : 1)] == a->dim[a->rank - 1];
    if (!fits)
        return err_set(err, a->dtype == b->dtype ? ERR_SHAPE : ERR_TYPE,
                       "%s: operands %s and %s do not fit with left_side = %s", op_name(op),
                       ir_type_text(a, ta), ir_type_text(b, tb), s.left ? "true" : "false");
    return infer_result(op, 0, out, b, err);
}

/* Element (i, k) of op(a). */
static complex_t entry(const complex_t *a, int64_t n, solve_form_t form, int64_t i, int64_t k)
{
    complex_t z = form == SOLVE_PLAIN ? a[i * n + k] : a[k * n + i];
    return form == SOLVE_ADJOINT ? conj(z) : z;
}

/* One vector, numbers x[i step], in place. From the right, x op(a) = b is op(a)^T x^T = b^T. */
static void solve_vector(int64_t n, solve_t s, const complex_t *a, complex_t *x, int64_t step)
{
    bool down = s.lower ==
                ((s.form == SOLVE_PLAIN) == s.left); /* op(a) or its transpose is lower */
    for (int64_t c = 0; c < n; c++) {
        int64_t i = down ? c : n - 1 - c;
        complex_t sum = x[i * step];
        for (int64_t d = 0; d < c; d++) {
            int64_t k = down ? d : n - 1 - d;
            complex_t z = s.left ? entry(a, n, s.form, i, k) : entry(a, n, s.form, k, i);
            sum -= pcp_complex_mul(z, x[k * step]);
        }
        x[i * step] = s.unit ? sum : pcp_complex_div(sum, entry(a, n, s.form, i, i));
    }
}

/* The division of a real number must not see a complex one's rules for infinities. */
static void solve_real(int64_t n, solve_t s, const complex_t *a, complex_t *x, int64_t step)
{
    bool down = s.lower == ((s.form == SOLVE_PLAIN) == s.left);
    for (int64_t c = 0; c < n; c++) {
        int64_t i = down ? c : n - 1 - c;
        double sum = creal(x[i * step]);
        for (int64_t d = 0; d < c; d++) {
            int64_t k = down ? d : n - 1 - d;
            complex_t z = s.left ? entry(a, n, s.form, i, k) : entry(a, n, s.form, k, i);
            sum -= creal(z) * creal(x[k * step]);
        }
        x[i * step] = PCP_Z(s.unit ? sum : sum / creal(a[i * n + i]), 0);
    }
}

static int eval_solve(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    (void)ev, (void)err;
    solve_t s = solve_read(op);
    const ir_type_t *tb = &in[1].type;
    int64_t rows = tb->dim[tb->rank - 2], cols = tb->dim[tb->rank - 1], n = s.left ? rows : cols;
    int64_t total = ir_type_count(tb), n_batch = total ? total / (rows * cols) : 0;
    complex_t *a = load_all(&in[0]), *x = load_all(&in[1]);
    for (int64_t batch = 0; batch < n_batch; batch++)
        for (int64_t v = 0; v < (s.left ? cols : rows); v++)
            (dtype_is_complex(tb->dtype) ? solve_vector : solve_real)(
                n, s, a + batch * n * n, x + batch * rows * cols + (s.left ? v : v * cols),
                s.left ? cols : 1);
    store_all(out, x);
    free(a);
    free(x);
    return 0;
}

const op_def_t op_triangular_solve = {
    .name = "stablehlo.triangular_solve",
    .kind = K_OTHER,
    .n_in = 2,
    .n_out = 1,
    .form = FORM_GENERIC,
    .lowered = true,
    .needs = {"left_side", "lower", "transpose_a", "unit_diagonal"},
    .infer = infer_solve,
    .eval = eval_solve,
    .expand = solve_expand,
    .vjp = solve_vjp,
};
