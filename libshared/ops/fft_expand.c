/* fft for plans: along one dimension of n = a b numbers, a-point transforms of every b-th number,
 * a turn, b-point transforms across (Cooley and Tukey). Transforms of up to MATRIX points are
 * products with their matrix, which fast kernels exist for; longer ones of prime length are
 * convolutions with a chirp (Bluestein 1970) of a length that is a power of two. In f64 inside. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/complex_math.h"
#include "ops/fft.h"
#include "ops/rule.h"

enum { MATRIX = 64 }; /* points of the longest transform by its matrix */

static ir_val_t constant(ir_fn_t *fn, int rank, const int64_t *dim, const complex_t *values)
{
    ir_type_t type = ir_type(DT_C128, rank, dim);
    tensor_t t = tensor_in(fn->module->arena, &type);
    block_store_complex(&t, 0, (int)ir_type_count(&type), values);
    return ir_const(fn, &t);
}

/* e^(-2 pi i k / n), + when backward; k >= 0. */
static complex_t root(int64_t k, int64_t n, bool backward)
{
    double angle = 2 * M_PI * (double)(k % n) / (double)n;
    return PCP_Z(cos(angle), backward ? sin(angle) : -sin(angle));
}

/* turn[i][k] = root(i k, n) */
static ir_val_t turns(ir_fn_t *fn, int64_t rows, int64_t cols, int64_t n, bool backward)
{
    complex_t *w = mem_calloc((size_t)(rows * cols), sizeof *w);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < cols; k++) w[i * cols + k] = root(i * k, n, backward);
    ir_val_t y = constant(fn, 2, (int64_t[]){rows, cols}, w);
    free(w);
    return y;
}

static ir_val_t shaped(ir_fn_t *fn, ir_val_t x, int rank, const int64_t *dim)
{
    ir_type_t type = ir_type(DT_C128, rank, dim);
    return ir_reshape(fn, x, &type);
}

static ir_val_t times_row(ir_fn_t *fn, ir_val_t x, const complex_t *row, int64_t n)
{
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x);
    ir_val_t r = ir_broadcast(fn, constant(fn, 1, &n, row), &type, (int64_t[]){1});
    return MUL(x, r);
}

static ir_val_t lines(ir_fn_t *fn, ir_val_t x, int64_t rows, int64_t n, bool backward);

/* X_k = conj(b_k) sum_j (x_j conj(b_j)) b_(k-j), b_j = e^(+ pi i j^2 / n) (forwards): a cyclic
 * convolution once padded to m >= 2n - 1 numbers. */
static ir_val_t chirped(ir_fn_t *fn, ir_val_t x, int64_t rows, int64_t n, bool backward)
{
    int64_t m = 1, zero[2] = {0, 0};
    while (m < 2 * n - 1) m *= 2;
    complex_t *chirp = mem_calloc((size_t)(n + m), sizeof *chirp), *spectrum = chirp + n;
    for (int64_t j = 0; j < n; j++) {
        complex_t b = root(j * j % (2 * n), 2 * n, !backward);
        chirp[j] = conj(b);
        spectrum[j] = b;
        if (j > 0) spectrum[m - j] = b;
    }
    fft_line(spectrum, m, false);
    for (int64_t k = 0; k < m; k++) spectrum[k] /= (double)m; /* of the way back */
    ir_val_t y = ir_pad(fn, times_row(fn, x, chirp, n), ir_scalar(fn, DT_C128, 0), zero,
                        (int64_t[]){0, m - n}, NULL);
    y = times_row(fn, lines(fn, y, rows, m, false), spectrum, m);
    y = ir_slice(fn, lines(fn, y, rows, m, true), zero, (int64_t[]){rows, n}, NULL);
    y = times_row(fn, y, chirp, n);
    free(chirp);
    return y;
}

/* The largest divisor of n that has a matrix; 1 when n is a prime beyond. */
static int64_t first_factor(int64_t n)
{
    for (int64_t d = MATRIX; d > 1; d--)
        if (n % d == 0) return d;
    return 1;
}

/* x[rows][n], not divided by n. Entry j = i b + r of a line goes to k = p + a q. */
static ir_val_t lines(ir_fn_t *fn, ir_val_t x, int64_t rows, int64_t n, bool backward)
{
    static const int64_t swap[] = {0, 2, 1};
    if (n <= 1) return x;
    if (n <= MATRIX) return ir_matmul(fn, x, turns(fn, n, n, n, backward));
    int64_t a = first_factor(n), b = n / a;
    if (a == 1) { /* all factors are long primes: the smallest is split off */
        for (a = MATRIX + 1; a * a <= n && n % a != 0;) a++;
        if (a * a > n) return chirped(fn, x, rows, n, backward);
        b = n / a;
    }
    x = ir_transpose(fn, shaped(fn, x, 3, (int64_t[]){rows, a, b}), swap);
    x = lines(fn, shaped(fn, x, 2, (int64_t[]){rows * b, a}), rows * b, a, backward);
    x = shaped(fn, x, 3, (int64_t[]){rows, b, a});
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x);
    x = MUL(x, ir_broadcast(fn, turns(fn, b, a, n, backward), &type, (int64_t[]){1, 2}));
    x = shaped(fn, ir_transpose(fn, x, swap), 2, (int64_t[]){rows * a, b});
    x = shaped(fn, lines(fn, x, rows * a, b, backward), 3, (int64_t[]){rows, a, b});
    return shaped(fn, ir_transpose(fn, x, swap), 2, (int64_t[]){rows, n});
}

/* Dimension d of x, which becomes the last one for the time being. */
static ir_val_t along(ir_fn_t *fn, ir_val_t x, int d, bool backward)
{
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x);
    int64_t perm[IR_MAX_RANK], n = type.dim[d];
    int last = type.rank - 1;
    for (int i = 0; i < type.rank; i++) perm[i] = i;
    perm[d] = last, perm[last] = d;
    if (d != last) x = ir_transpose(fn, x, perm);
    if (x == IR_NONE) return x;
    ir_type_t moved = *ir_type_of(fn, x);
    int64_t rows = ir_type_count(&type) / n;
    x = lines(fn, shaped(fn, x, 2, (int64_t[]){rows, n}), rows, n, backward);
    x = ir_reshape(fn, x, &moved);
    return d != last ? ir_transpose(fn, x, perm) : x;
}

/* The whole spectrum of a real signal from the first n / 2 + 1 numbers of its last dimension; other
 * dimensions are transformed already, so that lines are mirrored by themselves. */
static ir_val_t completed(ir_fn_t *fn, ir_val_t x, int64_t n)
{
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x);
    int64_t start[IR_MAX_RANK] = {0}, last = type.rank - 1;
    if (n - type.dim[last] == 0) return x;
    start[last] = 1;
    ir_type_t limit = type;
    limit.dim[last] = n - type.dim[last] + 1;
    ir_val_t mirror = ir_reverse(fn, ir_slice(fn, x, start, limit.dim, NULL), &last, 1);
    mirror = ir_op2(fn, OP_complex, APPLY(real, mirror), NEG(APPLY(imag, mirror)));
    return ir_concatenate(fn, (ir_val_t[]){x, mirror}, 2, (int)last);
}

void fft_expand(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                ir_val_t *out)
{
    int n;
    const int64_t *length = attr_ints(&op->attrs, "fft_length", &n);
    const char *type = attr_text(&op->attrs, "fft_type", "");
    bool backward = type[0] == 'I', to_real = !dtype_is_complex(types[0].dtype);
    int last = types[0].rank - 1;
    if (ir_type_count(&types[0]) == 0) {
        out[0] = ir_splat(fn, &types[0], 0);
        return;
    }
    ir_val_t x = ir_convert(fn, in[0], DT_C128);
    for (int i = 0; i + 1 < n; i++) x = along(fn, x, last + 1 - n + i, backward);
    if (to_real) x = completed(fn, x, length[n - 1]);
    x = along(fn, x, last, backward);
    double scale = 1;
    for (int i = 0; backward && i < n; i++) scale *= (double)length[i];
    int64_t start[IR_MAX_RANK] = {0};
    if (strcmp(type, "RFFT") == 0) x = ir_slice(fn, x, start, types[0].dim, NULL);
    if (to_real) x = APPLY(real, x);
    if (scale != 1) x = to_real ? SCALE(1 / scale, x) : DIV(x, NUM(x, scale));
    out[0] = ir_convert(fn, x, types[0].dtype);
}
