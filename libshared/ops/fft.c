/* fft: FFT, IFFT, RFFT and IRFFT over up to three last dimensions of any length. Lines are
 * transformed in double by decimation in time over n's prime factors (Cooley and Tukey 1965). */
#include "ops/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/complex.h"
#include "ops/complex_math.h"
#include "ops/dims.h"
#include "ops/rule.h"

enum { LONG_PRIME = 500 }; /* sums of p products for p numbers are for less */

typedef enum { FFT_FORWARD, FFT_INVERSE, FFT_REAL, FFT_REAL_INVERSE, FFT_UNKNOWN } fft_type_t;

typedef struct {
    fft_type_t type;
    int n;                 /* transformed dimensions */
    const int64_t *length; /* of the signal, not of the half spectrum */
} fft_t;

static int read_fft(const ir_op_t *op, fft_t *f, err_t *err)
{
    static const char *const names[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
    const char *text = attr_text(&op->attrs, "fft_type", "");
    *f = (fft_t){.type = FFT_FORWARD};
    while (f->type < FFT_UNKNOWN && strcmp(text, names[f->type]) != 0) f->type++;
    f->length = attr_ints(&op->attrs, "fft_length", &f->n);
    if (f->type == FFT_UNKNOWN)
        return err_set(err, ERR_ARG, "%s: fft_type is \"%s\", expected FFT, IFFT, RFFT or IRFFT",
                       op_name(op), text);
    if (f->n < 1 || f->n > 3)
        return err_set(err, ERR_ARG, "%s: fft_length has %d entries, expected 1 to 3", op_name(op),
                       f->n);
    return 0;
}

/* --- Type rule: RFFT keeps n / 2 + 1 of the last dimension's n numbers, IRFFT takes them --- */

static int check_lengths(const ir_op_t *op, const fft_t *f, const ir_type_t *x, err_t *err)
{
    char text[IR_TYPE_TEXT];
    for (int i = 0; i < f->n; i++) {
        bool half = f->type == FFT_REAL_INVERSE && i == f->n - 1;
        int64_t want = half && f->length[i] > 0 ? f->length[i] / 2 + 1 : f->length[i];
        if (f->length[i] >= 0 && x->dim[x->rank - f->n + i] == want) continue;
        return err_set(err, ERR_SHAPE, "%s: fft_length[%d] is %lld, which does not fit %s",
                       op_name(op), i, (long long)f->length[i], ir_type_text(x, text));
    }
    return 0;
}

static int infer_fft(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    fft_t f;
    char text[IR_TYPE_TEXT];
    const ir_type_t *x = op_in_type(fn, op, 0);
    if (read_fft(op, &f, err) < 0) return -1;
    bool from_real = f.type == FFT_REAL, to_real = f.type == FFT_REAL_INVERSE;
    if (from_real ? dtype_complex(x->dtype) == DT_NONE : !dtype_is_complex(x->dtype))
        return err_set(err, ERR_TYPE, "%s: operand 0 is %s, expected %s", op_name(op),
                       ir_type_text(x, text), from_real ? "f32 or f64" : "complex numbers");
    if (x->rank < f.n)
        return err_set(err, ERR_SHAPE, "%s: fft_length has %d entries, %s has rank %d", op_name(op),
                       f.n, ir_type_text(x, text), x->rank);
    if (check_lengths(op, &f, x, err) < 0) return -1;
    ir_type_t type = *x;
    int64_t *last = &type.dim[type.rank - 1];
    if (from_real) type.dtype = dtype_complex(x->dtype), *last = *last ? *last / 2 + 1 : 0;
    if (to_real) type.dtype = dtype_part(x->dtype), *last = f.length[f.n - 1];
    return infer_result(op, 0, out, &type, err);
}

/* --- Evaluation --- */

/* e^(-2 pi i k / n) for k < n; + when backward. */
static complex_t *roots_of(int64_t n, bool backward)
{
    complex_t *w = mem_calloc((size_t)n, sizeof *w);
    for (int64_t k = 0; k < n; k++) {
        double angle = 2 * M_PI * (double)k / (double)n;
        w[k] = PCP_Z(cos(angle), backward ? sin(angle) : -sin(angle));
    }
    return w;
}

static int64_t smallest_factor(int64_t n)
{
    for (int64_t p = 2; p * p <= n; p++)
        if (n % p == 0) return p;
    return n;
}

typedef struct {
    int64_t n; /* of the whole line, and of w */
    complex_t *w, *part;
} line_t;

/* out[0 .. n) = transform of in[0], in[step], ..: n / p-point transforms of every p-th number, then
 * p-point ones across them. */
static void transform(const line_t *l, int64_t n, const complex_t *in, int64_t step, complex_t *out)
{
    if (n == 1) {
        *out = *in;
        return;
    }
    int64_t p = smallest_factor(n), m = n / p, turn = l->n / n;
    for (int64_t r = 0; r < p; r++) transform(l, m, in + r * step, step * p, out + r * m);
    for (int64_t k = 0; k < m; k++) {
        for (int64_t r = 0; r < p; r++) l->part[r] = out[r * m + k];
        for (int64_t q = 0; q < p; q++) {
            complex_t sum = l->part[0];
            int64_t by = (k + q * m) * turn % l->n, at = 0;
            for (int64_t r = 1; r < p; r++) {
                at = (at + by) % l->n;
                sum += pcp_complex_mul(l->part[r], l->w[at]);
            }
            out[q * m + k] = sum;
        }
    }
}

/* As a cyclic convolution with a chirp, of a length that is a power of two (Bluestein 1970): for
 * long primes. b_j = e^(pi i j^2 / n) forwards. */
static void chirped(complex_t *x, int64_t n, bool backward)
{
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    complex_t *w = roots_of(2 * n, !backward), *y = mem_calloc(2 * (size_t)m, sizeof *y),
              *b = y + m;
    for (int64_t j = 0; j < n; j++) {
        complex_t chirp = w[j * j % (2 * n)];
        y[j] = pcp_complex_mul(x[j], conj(chirp));
        b[j] = chirp;
        if (j > 0) b[m - j] = chirp;
    }
    fft_line(y, m, false);
    fft_line(b, m, false);
    for (int64_t k = 0; k < m; k++) y[k] = pcp_complex_mul(y[k], b[k]);
    fft_line(y, m, true);
    for (int64_t k = 0; k < n; k++)
        x[k] = pcp_complex_mul(y[k], conj(w[k * k % (2 * n)])) / (double)m;
    free(w);
    free(y);
}

static int64_t largest_factor(int64_t n)
{
    int64_t p = smallest_factor(n);
    for (; p < n; p = smallest_factor(n)) n /= p;
    return p;
}

void fft_line(complex_t *x, int64_t n, bool backward)
{
    if (n < 2) return;
    if (largest_factor(n) > LONG_PRIME) {
        chirped(x, n, backward);
        return;
    }
    line_t l = {.n = n, .w = roots_of(n, backward)};
    l.part = mem_calloc(2 * (size_t)n, sizeof *l.part);
    memcpy(l.part + n, x, (size_t)n * sizeof *x);
    transform(&l, n, l.part + n, 1, x);
    free(l.w);
    free(l.part);
}

/* Every line of x along dimension d. */
static void fft_dim(complex_t *x, const ir_type_t *type, int d, bool backward)
{
    int64_t n = type->dim[d], inner = 1, total = ir_type_count(type);
    for (int i = d + 1; i < type->rank; i++) inner *= type->dim[i];
    complex_t *line = mem_calloc((size_t)n + 1, sizeof *line);
    for (int64_t at = 0; at < total; at += n * inner)
        for (int64_t k = 0; k < inner; k++) {
            for (int64_t i = 0; i < n; i++) line[i] = x[at + i * inner + k];
            fft_line(line, n, backward);
            for (int64_t i = 0; i < n; i++) x[at + i * inner + k] = line[i];
        }
    free(line);
}

/* The n numbers of a real signal's spectrum from its first n / 2 + 1, line by line. */
static void complete(const complex_t *half, complex_t *whole, int64_t n_line, int64_t n)
{
    int64_t n_half = n / 2 + 1;
    for (int64_t l = 0; l < n_line; l++, half += n_half, whole += n)
        for (int64_t k = 0; k < n; k++) whole[k] = k < n_half ? half[k] : conj(half[n - k]);
}

static int eval_fft(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    fft_t f;
    (void)ev;
    if (read_fft(op, &f, err) < 0) return -1;
    bool backward = f.type == FFT_INVERSE || f.type == FFT_REAL_INVERSE;
    ir_type_t whole = f.type == FFT_REAL_INVERSE ? out->type : in->type, given = in->type;
    int64_t n = ir_type_count(&given), total = ir_type_count(&whole), last = whole.rank - 1;
    if (ir_type_count(&out->type) == 0) return 0;
    complex_t *x = mem_calloc((size_t)n + 1, sizeof *x), *y = x;
    for (int64_t i = 0; i < n; i++) block_load_complex(in, i, 1, &x[i]);
    for (int i = 0; i + 1 < f.n; i++) fft_dim(x, &given, given.rank - f.n + i, backward);
    if (f.type == FFT_REAL_INVERSE) {
        y = mem_calloc((size_t)total + 1, sizeof *y);
        complete(x, y, total / whole.dim[last], whole.dim[last]);
    }
    fft_dim(y, &whole, (int)last, backward);
    double scale = 1;
    for (int i = 0; backward && i < f.n; i++) scale *= (double)f.length[i];
    int64_t kept = out->type.dim[last], width = whole.dim[last];
    for (int64_t i = 0; i < ir_type_count(&out->type); i++) {
        complex_t z = y[i / kept * width + i % kept];
        if (dtype_is_complex(out->type.dtype))
            tensor_set_complex(out, i, creal(z) / scale, cimag(z) / scale);
        else
            tensor_set_f64(out, i, creal(z) / scale);
    }
    if (y != x) free(y);
    free(x);
    return 0;
}

/* --- Reverse rules: the matrices of FFT and IFFT are symmetric, so they are their own transposes.
 * RFFT is the first rows of FFT on real numbers: dx = Re FFT(g, padded with zeros). IRFFT: dz =
 * conj(RFFT(g) m) / n, m = 2 but for the numbers that have no mirror image (as JAX,
 * _irfft_transpose) --- */

ir_val_t fft_emit(ir_fn_t *fn, ir_val_t x, const char *type, const int64_t *length, int n_length)
{
    ir_attrs_t attrs = {0};
    attr_set_text(fn->module->arena, &attrs, "fft_type", ATTR_ENUM, type);
    attr_set_ints(fn->module->arena, &attrs, "fft_length", length, n_length);
    ir_op_t *op = ir_emit(fn, OP_fft, 1, &x, &attrs, 1, NULL, 0, NULL);
    return op ? op->out : IR_NONE;
}

static ir_val_t ct_real(ir_fn_t *fn, const fft_t *f, ir_val_t g)
{
    ir_type_t type = *ir_type_of(fn, g);
    int64_t none[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0};
    high[type.rank - 1] = f->length[f->n - 1] - type.dim[type.rank - 1];
    g = ir_pad(fn, g, ir_scalar(fn, type.dtype, 0), none, high, NULL);
    return APPLY(real, fft_emit(fn, g, "FFT", f->length, f->n));
}

static ir_val_t ct_real_inverse(ir_fn_t *fn, const fft_t *f, ir_val_t g)
{
    ir_val_t z = fft_emit(fn, g, "RFFT", f->length, f->n);
    if (z == IR_NONE) return z;
    ir_type_t type = *ir_type_of(fn, z), row = {.dtype = dtype_part(type.dtype), .rank = 1};
    int64_t n = f->length[f->n - 1], dim = type.rank - 1;
    double scale = 1;
    for (int i = 0; i < f->n; i++) scale *= (double)f->length[i];
    row.dim[0] = type.dim[dim];
    tensor_t mirrored = tensor_in(fn->module->arena, &row);
    for (int64_t k = 0; k < row.dim[0]; k++)
        tensor_set_f64(&mirrored, k, (k == 0 || 2 * k == n ? 1 : 2) / scale);
    ir_type_t real = ir_type_with(type, row.dtype);
    ir_val_t m = ir_broadcast(fn, ir_const(fn, &mirrored), &real, &dim);
    return ir_op2(fn, OP_complex, MUL(m, APPLY(real, z)), NEG(MUL(m, APPLY(imag, z))));
}

static int vjp_fft(vjp_t *v, err_t *err)
{
    fft_t f;
    ir_fn_t *fn = v->fn;
    if (read_fft(v->op, &f, err) < 0) return -1;
    if (f.type == FFT_REAL)
        vjp_give(v, 0, ct_real(fn, &f, v->ct[0]));
    else if (f.type == FFT_REAL_INVERSE)
        vjp_give(v, 0, ct_real_inverse(fn, &f, v->ct[0]));
    else
        vjp_give(v, 0,
                 fft_emit(fn, v->ct[0], f.type == FFT_INVERSE ? "IFFT" : "FFT", f.length, f.n));
    return vjp_done(v, err);
}

const op_def_t op_fft = {
    .name = "stablehlo.fft",
    .kind = K_OTHER,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_FFT,
    .lowered = true,
    .needs = {"fft_type", "fft_length"},
    .infer = infer_fft,
    .eval = eval_fft,
    .expand = fft_expand,
    .vjp = vjp_fft,
};
