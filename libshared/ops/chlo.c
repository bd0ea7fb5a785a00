/* Ops of the CHLO dialect: functions of one float, next_after, top_k. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/small_float.h"
#include "ops/complex_math.h"
#include "ops/eval.h"
#include "ops/rule.h"
#include "ops/special.h"

#define UNARY(id, EXPR, TEXT, LO, HI, CT) \
    FLOAT_UNARY(chlo_##id, "chlo." #id, FORM_CHLO, EXPR, TEXT, LO, HI, CT)

#define INEXACT(id, EXPR, CEXPR, TEXT, LO, HI, CT) \
    INEXACT_UNARY(chlo_##id, "chlo." #id, FORM_CHLO, EXPR, CEXPR, TEXT, LO, HI, CT)

#define TWO_BY_SQRT_PI 1.1283791670955126
#define HALF_SQRT_PI 0.88622692545275801

/* e^(-p^2) */
#define GAUSS(p) APPLY(exponential, NEG(SQUARE(p)))
#define ONE(p) NUM(p, 1)

/* --- erf: y' = 2/sqrt(pi) e^(-x^2);  erfc: the negative;  erf_inv: y' = sqrt(pi)/2 e^(y^2) --- */
UNARY(erf, erf(x), "pcp_erf_$t($0)", -2, 2, MUL(SCALE(TWO_BY_SQRT_PI, g), GAUSS(x)))
UNARY(erfc, erfc(x), "pcp_erfc_$t($0)", -2, 2, MUL(SCALE(-TWO_BY_SQRT_PI, g), GAUSS(x)))
UNARY(erf_inv, special_erf_inv(x), "pcp_erf_inv_$t($0)", -0.8, 0.8,
      MUL(SCALE(HALF_SQRT_PI, g), APPLY(exponential, SQUARE(y))))

/* --- lgamma: y' = digamma(x);  digamma: y' = trigamma(x) --- */
UNARY(lgamma, special_lgamma(x), "pcp_lgamma_$t($0)", 0.5, 3, MUL(g, APPLY(chlo_digamma, x)))

/* Trigamma for x >= 0.5 as ops that have rules themselves: sum of 1 / (x+k)^2 for k < 10, then the
 * asymptotic series at x + 10, of which what is left out is below 1e-16 (Abramowitz & Stegun 6.4.6,
 * 6.4.12). */
static ir_val_t trigamma_right(ir_fn_t *fn, ir_val_t x)
{
    static const double series[] = {7.0 / 6,  -691.0 / 2730, 5.0 / 66, -1.0 / 30,
                                    1.0 / 42, -1.0 / 30,     1.0 / 6};
    ir_val_t sum = NUM(x, 0), one = NUM(x, 1);
    for (int k = 0; k < 10; k++) {
        ir_val_t near = DIV(one, ADD(x, NUM(x, k)));
        sum = ADD(sum, SQUARE(near));
    }
    ir_val_t z = DIV(one, ADD(x, NUM(x, 10))), z2 = SQUARE(z), tail = NUM(x, series[0]);
    for (size_t i = 1; i < sizeof series / sizeof *series; i++)
        tail = ADD(MUL(tail, z2), NUM(x, series[i]));
    /* 1/x + 1/(2 x^2) + sum B_2k / x^(2k+1) */
    return ADD(sum, ADD(z, MUL(z2, ADD(NUM(x, 0.5), MUL(z, tail)))));
}

/* Left of 0.5 by reflection, pi^2 / sin(pi x)^2 - trigamma(1 - x), sin over the distance to the
 * nearest integer, its period (6.4.7); each side sees harmless operands where the other is asked.
 */
static ir_val_t trigamma(ir_fn_t *fn, ir_val_t x)
{
    ir_val_t half = NUM(x, 0.5), left = CMP(x, "LT", half);
    ir_val_t right = trigamma_right(fn, SELECT(left, SUB(NUM(x, 1), x), x));
    ir_val_t apart = SUB(x, APPLY(round_nearest_even, x));
    ir_val_t s = APPLY(sine, SCALE(M_PI, SELECT(left, apart, half)));
    ir_val_t reflected = SUB(DIV(NUM(x, M_PI * M_PI), SQUARE(s)), right);
    return SELECT(left, reflected, right);
}
UNARY(digamma, special_digamma(x), "pcp_digamma_$t($0)", 0.5, 3, MUL(g, trigamma(fn, x)))

/* --- square: y' = 2x; integers wrap --- */
KERNEL_UNARY(chlo_square_f, double, (x) * (x))
KERNEL_UNARY(chlo_square_i, int64_t, (int64_t)((uint64_t)(x) * (uint64_t)(x)))
KERNEL_UNARY(chlo_square_c, complex_t, pcp_complex_mul(x, x))
EVAL_MAP(chlo_square, 1, chlo_square_f, chlo_square_i, chlo_square_i, chlo_square_c)
VJP_UNARY(chlo_square, MUL(SCALE(2, g), x))
const op_def_t op_chlo_square = {
    .name = "chlo.square",
    .kind = K_MAP,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_CHLO,
    .infer = infer_map_number,
    .eval = eval_chlo_square,
    .vjp = vjp_chlo_square,
    .expr = "($0 * $0)",
};

/* --- tan: y' = 1 + y^2 --- */
INEXACT(tan, tan(x), ctan(x), "pcp_tan_$t($0)", -1, 1, MUL(g, ADD(ONE(y), SQUARE(y))))

/* --- sinh, cosh: below f64 as CHLO expands them, e^(x + log 1/2) -+ e^(-x + log 1/2) with the
 * exponents rounded to f32, which shows in the last digits of large results --- */
static double half_exp(double x)
{
    float exponent = (float)x + (float)-M_LN2;
    return exp(exponent);
}
KERNEL_UNARY(sinh_f64, double, sinh(x))
KERNEL_UNARY(sinh_f32, double, fabs(x) < 1 ? sinh(x) : half_exp(x) - half_exp(-x))
KERNEL_UNARY(cosh_f64, double, cosh(x))
KERNEL_UNARY(cosh_f32, double, half_exp(x) + half_exp(-x))

KERNEL_UNARY(sinh_c, complex_t, csinh(x))
KERNEL_UNARY(cosh_c, complex_t, ccosh(x))

#define HYPERBOLIC(id, SLOPE)                                                                    \
    static int eval_##id(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,       \
                         err_t *err)                                                             \
    {                                                                                            \
        static const map_kernel_t wide = {.f = id##_f64, .c = id##_c}, narrow = {.f = id##_f32}; \
        bool is_wide = dtype_bits(out->type.dtype) > 32;                                         \
        (void)ev, (void)op, (void)err;                                                           \
        return eval_map(is_wide ? &wide : &narrow, 1, in, out);                                  \
    }                                                                                            \
    VJP_UNARY(id, MUL(g, APPLY(SLOPE, x)))                                                       \
    const op_def_t op_chlo_##id = {.name = "chlo." #id,                                          \
                                   .kind = K_MAP,                                                \
                                   .n_in = 1,                                                    \
                                   .n_out = 1,                                                   \
                                   .form = FORM_CHLO,                                            \
                                   .infer = infer_map_inexact,                                   \
                                   .eval = eval_##id,                                            \
                                   .vjp = vjp_##id,                                              \
                                   .expr = "pcp_" #id "_$t($0)"};
HYPERBOLIC(sinh, chlo_cosh)
HYPERBOLIC(cosh, chlo_sinh)

/* --- asin: 1/sqrt(1 - x^2);  acos: the negative;  atan: 1/(1 + x^2) --- */
#define ASIN_SLOPE APPLY(sqrt, MUL(SUB(ONE(x), x), ADD(ONE(x), x)))
INEXACT(asin, asin(x), casin(x), "pcp_asin_$t($0)", -0.8, 0.8, DIV(g, ASIN_SLOPE))
INEXACT(acos, acos(x), cacos(x), "pcp_acos_$t($0)", -0.8, 0.8, NEG(DIV(g, ASIN_SLOPE)))
INEXACT(atan, atan(x), catan(x), "pcp_atan_$t($0)", -2, 2, DIV(g, ADD(ONE(x), SQUARE(x))))

/* --- asinh: 1/sqrt(x^2 + 1);  acosh: 1/(sqrt(x-1) sqrt(x+1)), which
 * is the branch of the complex function as well;  atanh: 1/((1-x)(1+x)) --- */
INEXACT(asinh, asinh(x), casinh(x), "pcp_asinh_$t($0)", -2, 2,
        DIV(g, APPLY(sqrt, ADD(SQUARE(x), ONE(x)))))
INEXACT(acosh, acosh(x), cacosh(x), "pcp_acosh_$t($0)", 1.5, 3,
        DIV(g, MUL(APPLY(sqrt, SUB(x, ONE(x))), APPLY(sqrt, ADD(x, ONE(x))))))
INEXACT(atanh, atanh(x), catanh(x), "pcp_atanh_$t($0)", -0.8, 0.8,
        DIV(g, MUL(SUB(ONE(x), x), ADD(ONE(x), x))))

/* --- next_after(a, b): the neighbour of a towards b in a's own type; b where they are equal --- */
static int64_t next_bits(int64_t bits, bool a_is_zero, bool away, int64_t sign_bit, bool b_negative)
{
    if (a_is_zero) return (b_negative ? sign_bit : 0) | 1;
    return away ? bits + 1 : bits - 1;
}

static int eval_chlo_next_after(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                                err_t *err)
{
    (void)ev, (void)op, (void)err;
    int64_t count = ir_type_count(&out->type);
    size_t size = dtype_bytes(out->type.dtype);
    int64_t sign_bit = (int64_t)((uint64_t)1 << (dtype_bits(out->type.dtype) - 1));
    bool has_minus_zero = dtype_format(out->type.dtype)->kind != SMALL_FLOAT_FNUZ;
    for (int64_t i = 0; i < count; i++) {
        double a = tensor_get_f64(&in[0], i), b = tensor_get_f64(&in[1], i);
        if (isnan(a) || a == b) {
            element_copy(out, i, isnan(a) ? &in[0] : &in[1], i);
        } else if (isnan(b)) {
            element_copy(out, i, &in[1], i);
        } else {
            int64_t bits = 0;
            element_copy(out, i, &in[0], i);
            memcpy(&bits, (char *)out->data + (size_t)i * size, size);
            bits = next_bits(bits, a == 0, (b > a) == (a > 0), sign_bit, signbit(b) != 0);
            if (bits == sign_bit && !has_minus_zero) bits = 0;
            memcpy((char *)out->data + (size_t)i * size, &bits, size);
        }
    }
    return 0;
}

const op_def_t op_chlo_next_after = {
    .name = "chlo.next_after",
    .kind = K_MAP,
    .n_in = 2,
    .n_out = 1,
    .form = FORM_CHLO,
    .infer = infer_map_float,
    .eval = eval_chlo_next_after,
    .vjp = vjp_none,
    .expr = "pcp_nextafter_$t($0, $1)",
};

/* --- top_k: the k largest of the last dimension, descending, and their indices (i32). Order is
 * IEEE's total order; equal elements keep their order. dx[idx] += g_values --- */
static int infer_top_k(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_class(fn, op, 0, CLASS_BITS | CLASS_FLOAT, err) < 0) return -1;
    ir_type_t type = *op_in_type(fn, op, 0);
    int64_t k = attr_int(&op->attrs, "k", -1);
    char text[IR_TYPE_TEXT];
    if (type.rank == 0 || k < 0 || k > type.dim[type.rank - 1])
        return err_set(err, ERR_SHAPE,
                       "chlo.top_k: k is %lld, expected 0 to the last dimension of %s",
                       (long long)k, ir_type_text(&type, text));
    type.dim[type.rank - 1] = k;
    ir_type_t index = ir_type_with(type, DT_I32);
    if (infer_result(op, 0, out, &type, err) < 0) return -1;
    return infer_result(op, 1, out, &index, err);
}

typedef struct {
    int64_t key; /* orders as the elements do */
    int64_t index;
} ranked_t;

static int by_key_descending(const void *pa, const void *pb)
{
    const ranked_t *a = pa, *b = pb;
    if (a->key != b->key) return a->key < b->key ? 1 : -1;
    return a->index < b->index ? -1 : 1;
}

static int64_t order_key(const tensor_t *x, int64_t i)
{
    int64_t key;
    if (!dtype_is_float(x->type.dtype)) {
        block_load_i64(x, i, 1, &key);
        return dtype_is_unsigned(x->type.dtype) ? (int64_t)((uint64_t)key ^ (1ull << 63)) : key;
    }
    double value = tensor_get_f64(x, i);
    memcpy(&key, &value, sizeof key);
    return key < 0 ? key ^ INT64_MAX : key;
}

static int eval_top_k(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    if (eval_reserve(ev, op, in->type.dim[in->type.rank - 1], sizeof(ranked_t), err) < 0) return -1;
    int64_t n = in->type.dim[in->type.rank - 1], k = out->type.dim[out->type.rank - 1];
    int64_t rows = k > 0 ? ir_type_count(&out->type) / k : 0;
    ranked_t *row = mem_calloc((size_t)n + 1, sizeof *row);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < n; i++) row[i] = (ranked_t){order_key(in, r * n + i), i};
        qsort(row, (size_t)n, sizeof *row, by_key_descending);
        for (int64_t i = 0; i < k; i++) {
            element_copy(&out[0], r * k + i, in, r * n + row[i].index);
            tensor_set_i64(&out[1], r * k + i, row[i].index);
        }
    }
    free(row);
    return 0;
}

/* Every (.., k) cotangent goes to the (.., k, n) places that its index names; sum over k. */
static int vjp_top_k(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    ir_val_t g = vjp_ct(v, 0);
    if (g == IR_NONE) return 0;
    ir_type_t spread = *ir_type_of(fn, g);
    int64_t last = spread.rank, dims[IR_MAX_RANK];
    if (spread.rank == IR_MAX_RANK)
        return err_set(err, ERR_UNSUPPORTED, "chlo.top_k: no gradient at rank %d", IR_MAX_RANK);
    for (int i = 0; i < spread.rank; i++) dims[i] = i;
    const ir_type_t *x = op_in_type(fn, v->op, 0);
    spread.dim[spread.rank++] = x->dim[x->rank - 1];
    ir_type_t index = ir_type_with(spread, DT_I32);
    ir_val_t at = ir_broadcast(fn, v->op->out + 1, &index, dims);
    ir_val_t hit = CMP(at, "EQ", ir_iota(fn, &index, (int)last));
    ir_val_t wide = ir_broadcast(fn, g, &spread, dims);
    int64_t k_dim = last - 1;
    vjp_give(v, 0, ir_reduce(fn, OP_add, SELECT(hit, wide, NUM(wide, 0)), &k_dim, 1));
    return vjp_done(v, err);
}

const op_def_t op_chlo_top_k = {
    .name = "chlo.top_k",
    .kind = K_INDEX,
    .n_in = 1,
    .n_out = 2,
    .form = FORM_TOP_K,
    .infer = infer_top_k,
    .eval = eval_top_k,
    .vjp = vjp_top_k,
};
