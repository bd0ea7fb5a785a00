/* convert between element types, and reduce_precision. */
#include <math.h>
#include <string.h>

#include "ops/rule.h"

/* --- convert: float -> float rounds once to nearest even, what is too large for a type as that
 * type has it (base/small_float.h); float -> integer truncates and saturates, NaN gives 0, as XLA;
 * integer -> float rounds once; integer -> integer wraps; to i1: x
 * != 0; complex -> real drops the imaginary part (to i1: z != 0); real -> complex makes it 0. dx =
 * g converted back between floats; integers and i1 have no gradient --- */
static int infer_convert(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_declared(op, 0, out, err) < 0) return -1;
    ir_type_t type = ir_type_with(*op_in_type(fn, op, 0), out->dtype);
    return infer_result(op, 0, out, &type, err);
}

/* The double that rounds to every narrower float as x itself does: truncated to 53 bits with the
 * lowest bit set when something was lost (round to odd). Sign handled by the caller. */
static double to_odd(uint64_t x)
{
    int excess = 0;
    while (x >> excess >> 53) excess++;
    uint64_t kept = x >> excess;
    if (kept << excess != x) kept |= 1;
    return ldexp((double)kept, excess);
}

static double double_from_int(int64_t x, bool is_unsigned, dtype_t to)
{
    if (to == DT_F64) return is_unsigned ? (double)(uint64_t)x : (double)x;
    if (is_unsigned || x >= 0) return to_odd((uint64_t)x);
    return -to_odd(0 - (uint64_t)x);
}

static int64_t int_from_double(double x, dtype_t to)
{
    int bits = dtype_bits(to);
    if (to == DT_I1) return x != 0; /* NaN is not zero */
    if (isnan(x)) return 0;
    if (dtype_is_unsigned(to)) {
        if (x <= 0) return 0;
        if (x >= ldexp(1, bits)) return bits == 64 ? -1 : ((int64_t)1 << bits) - 1;
        return (int64_t)(uint64_t)x;
    }
    double limit = ldexp(1, bits - 1);
    if (x < -limit) return -(int64_t)(limit / 2) * 2;
    if (x >= limit) return (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
    return (int64_t)x;
}

static void convert_complex(const tensor_t *x, tensor_t *y, int64_t at, int n)
{
    complex_t z[BLOCK];
    bool to_bool = y->type.dtype == DT_I1;
    block_load_complex(x, at, n, z);
    if (dtype_is_complex(y->type.dtype)) {
        block_store_complex(y, at, n, z);
        return;
    }
    for (int i = 0; i < n; i++) {
        double re = __real__ z[i];
        if (to_bool)
            tensor_set_i64(y, at + i, re != 0 || __imag__ z[i] != 0);
        else if (dtype_is_float(y->type.dtype))
            tensor_set_f64(y, at + i, re);
        else
            block_store_i64(y, at + i, 1, (int64_t[]){int_from_double(re, y->type.dtype)});
    }
}

static void convert_block(const tensor_t *x, tensor_t *y, int64_t at, int n)
{
    dtype_t from = x->type.dtype, to = y->type.dtype;
    double f[BLOCK];
    int64_t s[BLOCK];
    if (dtype_is_complex(from) || dtype_is_complex(to)) {
        convert_complex(x, y, at, n);
        return;
    }
    if (dtype_is_float(from)) {
        block_load_f64(x, at, n, f);
        if (dtype_is_float(to)) {
            block_store_f64(y, at, n, f);
            return;
        }
        for (int i = 0; i < n; i++) s[i] = int_from_double(f[i], to);
        block_store_i64(y, at, n, s);
        return;
    }
    block_load_i64(x, at, n, s);
    if (dtype_is_float(to)) {
        for (int i = 0; i < n; i++) f[i] = double_from_int(s[i], dtype_is_unsigned(from), to);
        block_store_f64(y, at, n, f);
        return;
    }
    if (to == DT_I1)
        for (int i = 0; i < n; i++) s[i] = s[i] != 0;
    block_store_i64(y, at, n, s);
}

static int eval_convert(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                        err_t *err)
{
    (void)ev, (void)op, (void)err;
    int64_t count = ir_type_count(&out->type);
    out->splat = in->splat && count > 1;
    if (out->splat) count = 1;
    for (int64_t at = 0; at < count; at += BLOCK)
        convert_block(in, out, at, (int)(count - at < BLOCK ? count - at : BLOCK));
    return 0;
}

static int vjp_convert(vjp_t *v, err_t *err)
{
    bool both = dtype_is_inexact(op_in_type(v->fn, v->op, 0)->dtype) &&
                dtype_is_inexact(ir_type_of(v->fn, v->op->out)->dtype);
    if (both) vjp_give(v, 0, v->ct[0]);
    return vjp_done(v, err);
}

const op_def_t op_convert = {
    .name = "stablehlo.convert",
    .kind = K_MAP,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_convert,
    .eval = eval_convert,
    .vjp = vjp_convert,
};

/* --- reduce_precision: round to exponent_bits and mantissa_bits, kept in the same type. Nearest
 * even; too large becomes infinity, below the smallest normal becomes zero, as XLA; NaN becomes
 * infinity where no bit of the mantissa is left to tell them apart. dx = the same rounding of g (as
 * JAX) --- */
static int infer_reduce_precision(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    long long e = (long long)attr_int(&op->attrs, "exponent_bits", 0);
    long long m = (long long)attr_int(&op->attrs, "mantissa_bits", -1);
    if (e < 1 || m < 0)
        return err_set(err, ERR_ARG,
                       "stablehlo.reduce_precision: format e%lldm%lld, expected "
                       "exponent_bits >= 1 and mantissa_bits >= 0",
                       e, m);
    return infer_map_float(fn, op, out, err);
}

static double reduce_precision(double x, int exponent_bits, int mantissa_bits)
{
    if (isnan(x) && mantissa_bits == 0) return copysign(INFINITY, x);
    if (!isfinite(x) || x == 0) return x;
    int exponent;
    frexp(x, &exponent); /* |x| = [0.5, 1) 2^exponent */
    if (mantissa_bits < 52) {
        int ulp = exponent - 1 - mantissa_bits;
        x = ldexp(nearbyint(ldexp(x, -ulp)), ulp);
        frexp(x, &exponent);
    }
    if (exponent_bits < 11) {
        int bias = (1 << (exponent_bits - 1)) - 1;
        if (exponent - 1 > bias) return copysign(INFINITY, x);
        if (exponent - 1 < 1 - bias) return copysign(0, x);
    }
    return x;
}

static int eval_reduce_precision(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                                 err_t *err)
{
    /* A format at least as fine as the element type changes nothing, subnormals included. */
    const dtype_format_t *own = dtype_format(out->type.dtype);
    (void)ev, (void)err;
    int64_t e = attr_int(&op->attrs, "exponent_bits", 11);
    int64_t m = attr_int(&op->attrs, "mantissa_bits", 52);
    if (e >= own->exp_bits) e = 11;
    if (m >= own->man_bits) m = 52;
    int64_t count = ir_type_count(&out->type);
    double x[BLOCK];
    for (int64_t at = 0; at < count; at += BLOCK) {
        int n = (int)(count - at < BLOCK ? count - at : BLOCK);
        block_load_f64(in, at, n, x);
        for (int i = 0; i < n; i++) x[i] = reduce_precision(x[i], (int)e, (int)m);
        block_store_f64(out, at, n, x);
    }
    return 0;
}

static int vjp_reduce_precision(vjp_t *v, err_t *err)
{
    const ir_op_t *op = ir_emit(v->fn, OP_reduce_precision, 1, &v->ct[0], &v->op->attrs, 1, NULL, 0,
                                NULL);
    if (op) vjp_give(v, 0, op->out);
    return vjp_done(v, err);
}

const op_def_t op_reduce_precision = {
    .name = "stablehlo.reduce_precision",
    .kind = K_MAP,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_REDUCE_PRECISION,
    .needs = {"exponent_bits", "mantissa_bits"},
    .infer = infer_reduce_precision,
    .eval = eval_reduce_precision,
    .vjp = vjp_reduce_precision,
    .test_skip_gradient = true,
};
