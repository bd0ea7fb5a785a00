/* CHLO ops by their decompositions, and StableHLO ops that say nothing on one machine:
 * replica_id and partition_id. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/expand.h"
#include "ops/rule.h"

typedef void expand_fn(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                       ir_val_t *out);

#define EXPANDED(id, NAME, KIND, N_IN, FORM, INFER, EXPAND) \
    const op_def_t op_##id = {.name = NAME,                 \
                              .kind = KIND,                 \
                              .n_in = N_IN,                 \
                              .n_out = 1,                   \
                              .form = FORM,                 \
                              .infer = INFER,               \
                              .expand = EXPAND,             \
                              .eval = eval_expanded,        \
                              .vjp = vjp_expanded};

/* Narrow floats in f32, as CHLO has it. */
static ir_val_t widened(ir_fn_t *fn, ir_val_t x)
{
    bool narrow = x != IR_NONE && dtype_is_narrow(ir_type_of(fn, x)->dtype);
    return narrow ? ir_convert(fn, x, DT_F32) : x;
}

/* --- bessel_i1e(x) = e^-|x| I1(x): Chebyshev series of Cephes (i1.c), in |x|/2 - 2 up to 8 and in
 * 32/|x| - 2 beyond; each is asked within its range alone --- */
static ir_val_t chebyshev(ir_fn_t *fn, ir_val_t x, const double *c, int n)
{
    ir_val_t b0 = NUM(x, c[0]), b1 = NUM(x, 0), b2 = b1;
    for (int i = 1; i < n; i++) {
        b2 = b1;
        b1 = b0;
        b0 = ADD(SUB(MUL(x, b1), b2), NUM(x, c[i]));
    }
    return SCALE(0.5, SUB(b0, b2));
}

static void expand_bessel_i1e(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                              const ir_val_t *in, ir_val_t *out)
{
    static const double near[] = {
        2.77791411276104639959e-18,  -2.11142121435816608115e-17, 1.55363195773620046921e-16,
        -1.10559694773538630805e-15, 7.60068429473540693410e-15,  -5.04218550472791168711e-14,
        3.22379336594557470981e-13,  -1.98397439776494371520e-12, 1.17361862988909016308e-11,
        -6.66348972350202774223e-11, 3.62559028155211703701e-10,  -1.88724975172282928790e-9,
        9.38153738649577178388e-9,   -4.44505912879632808065e-8,  2.00329475355213526229e-7,
        -8.56872026469545474066e-7,  3.47025130813767847674e-6,   -1.32731636560394358279e-5,
        4.78156510755005422638e-5,   -1.61760815825896745588e-4,  5.12285956168575772895e-4,
        -1.51357245063125314899e-3,  4.15642294431288815669e-3,   -1.05640848946261981558e-2,
        2.47264490306265168283e-2,   -5.29459812080949914269e-2,  1.02643658689847095384e-1,
        -1.76416518357834055153e-1,  2.52587186443633654823e-1};
    static const double far[] = {
        7.51729631084210481353e-18,  4.41434832307170791151e-18,  -4.65030536848935832153e-17,
        -3.20952592199342395980e-17, 2.96262899764595013876e-16,  3.30820231092092828324e-16,
        -1.88035477551078244854e-15, -3.81440307243700780478e-15, 1.04202769841288027642e-14,
        4.27244001671195135429e-14,  -2.10154184277266431302e-14, -4.08355111109219731823e-13,
        -7.19855177624590851209e-13, 2.03562854414708950722e-12,  1.41258074366137813316e-11,
        3.25260358301548823856e-11,  -1.89749581235054123450e-11, -5.58974346219658380687e-10,
        -3.83538038596423702205e-9,  -2.63146884688951950684e-8,  -2.51223623787020892529e-7,
        -3.88256480887769039346e-6,  -1.10588938762623716291e-4,  -9.76109749136146840777e-3,
        7.78576235018280120474e-1};
    (void)op;
    ir_val_t x = widened(fn, in[0]), z = APPLY(abs, x), eight = NUM(x, 8);
    ir_val_t low = APPLY(abs, ir_op3(fn, OP_clamp, NEG(eight), x, eight));
    ir_val_t high = ir_op2(fn, OP_maximum, z, eight);
    ir_val_t a = chebyshev(fn, SUB(SCALE(0.5, low), NUM(x, 2)), near, 29);
    ir_val_t b = chebyshev(fn, SUB(DIV(NUM(x, 32), high), NUM(x, 2)), far, 25);
    b = DIV(MUL(APPLY(sign, x), b), APPLY(sqrt, high));
    ir_val_t y = SELECT(CMP(z, "LE", eight), MUL(a, x), b);
    out[0] = ir_convert(fn, y, types[0].dtype);
}
EXPANDED(chlo_bessel_i1e, "chlo.bessel_i1e", K_MAP, 1, FORM_CHLO, infer_map_float,
         expand_bessel_i1e)

/* --- zeta(x, q) = sum over n of (q + n)^-x, by Euler and Maclaurin behind ten terms (Cephes,
 * zeta.c). NaN for x < 1, infinite at x = 1 and at the poles of q --- */
static ir_val_t zeta(ir_fn_t *fn, ir_val_t x, ir_val_t q)
{
    static const double bernoulli[] = {12.0,
                                       -720.0,
                                       30240.0,
                                       -1209600.0,
                                       47900160.0,
                                       -1.8924375803183791606e9,
                                       7.47242496e10,
                                       -2.950130727918164224e12,
                                       1.1646782814350067249e14,
                                       -4.5979787224074726105e15,
                                       1.8152105401943546773e17,
                                       -7.1661652561756670113e18};
    ir_val_t one = NUM(x, 1), given = x;
    x = SELECT(CMP(given, "GT", one), given, NUM(x, 2)); /* no division by 0, nor its gradient */
    ir_val_t minus = NEG(x), sum = ir_op2(fn, OP_power, q, minus), w = q, b = sum;
    for (int i = 1; i < 10; i++) {
        w = ADD(q, NUM(x, i));
        b = ir_op2(fn, OP_power, w, minus);
        sum = ADD(sum, b);
    }
    sum = ADD(sum, DIV(MUL(b, w), SUB(x, one)));
    sum = SUB(sum, SCALE(0.5, b));
    ir_val_t a = NUM(x, 1);
    for (int i = 0; i < 12; i++) {
        a = MUL(a, ADD(x, NUM(x, 2 * i)));
        b = DIV(b, w);
        sum = ADD(sum, DIV(MUL(a, b), NUM(x, bernoulli[i])));
        a = MUL(a, ADD(x, NUM(x, 2 * i + 1)));
        b = DIV(b, w);
    }
    ir_val_t left = CMP(q, "LE", NUM(q, 0)), whole = CMP(APPLY(floor, q), "EQ", q);
    ir_val_t broken = CMP(APPLY(floor, x), "NE", x);
    sum = SELECT(ir_op2(fn, OP_and, left, broken), NUM(x, NAN), sum);
    sum = SELECT(ir_op2(fn, OP_and, left, whole), NUM(x, INFINITY), sum);
    sum = SELECT(CMP(given, "LT", one), NUM(x, NAN), sum);
    sum = SELECT(CMP(given, "NE", given), given, sum);
    return SELECT(CMP(given, "EQ", one), NUM(x, INFINITY), sum);
}

static void expand_zeta(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                        ir_val_t *out)
{
    (void)op;
    out[0] = ir_convert(fn, zeta(fn, widened(fn, in[0]), widened(fn, in[1])), types[0].dtype);
}
EXPANDED(chlo_zeta, "chlo.zeta", K_MAP, 2, FORM_CHLO, infer_map_float, expand_zeta)

/* --- polygamma(n, x) = (-1)^(n+1) n! zeta(n + 1, x); n = 0: digamma; NaN for other n < 0 or not
 * whole --- */
static void expand_polygamma(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                             const ir_val_t *in, ir_val_t *out)
{
    (void)op;
    ir_val_t n = widened(fn, in[0]), x = widened(fn, in[1]), up = ADD(n, NUM(n, 1));
    ir_val_t half = SCALE(0.5, up), odd = CMP(APPLY(floor, half), "NE", half);
    ir_val_t y = MUL(APPLY(exponential, APPLY(chlo_lgamma, up)), zeta(fn, up, x));
    y = SELECT(odd, NEG(y), y);
    y = SELECT(CMP(n, "EQ", NUM(n, 0)), APPLY(chlo_digamma, x), y);
    ir_val_t bad = ir_op2(fn, OP_or, CMP(n, "LT", NUM(n, 0)), CMP(APPLY(floor, n), "NE", n));
    out[0] = ir_convert(fn, SELECT(bad, NUM(n, NAN), y), types[0].dtype);
}
EXPANDED(chlo_polygamma, "chlo.polygamma", K_MAP, 2, FORM_CHLO, infer_map_float, expand_polygamma)

/* --- is_inf, is_pos_inf, is_neg_inf --- */
static int infer_is(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_class(fn, op, 0, CLASS_FLOAT, err) < 0) return -1;
    ir_type_t type = ir_type_with(*op_in_type(fn, op, 0), DT_I1);
    return infer_result(op, 0, out, &type, err);
}

static void expand_is_inf(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                          const ir_val_t *in, ir_val_t *out)
{
    (void)types;
    ir_val_t x = widened(fn, in[0]); /* not every type has infinities */
    if (op->code == OP_chlo_is_inf) x = APPLY(abs, x);
    out[0] = CMP(x, "EQ", NUM(x, op->code == OP_chlo_is_neg_inf ? -INFINITY : INFINITY));
}
EXPANDED(chlo_is_inf, "chlo.is_inf", K_MAP, 1, FORM_CHLO, infer_is, expand_is_inf)
EXPANDED(chlo_is_pos_inf, "chlo.is_pos_inf", K_MAP, 1, FORM_CHLO, infer_is, expand_is_inf)
EXPANDED(chlo_is_neg_inf, "chlo.is_neg_inf", K_MAP, 1, FORM_CHLO, infer_is, expand_is_inf)

/* --- constant_like(x): `value` in x's shape --- */
static int infer_like(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (!attr_find(&op->attrs, "value"))
        return err_set(err, ERR_ARG, "%s: attribute value is missing", op_name(op));
    return infer_result(op, 0, out, op_in_type(fn, op, 0), err);
}

static void expand_like(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                        ir_val_t *out)
{
    const ir_attr_t *value = attr_find(&op->attrs, "value");
    (void)in;
    out[0] = ir_splat(fn, &types[0], value->kind == ATTR_FLOAT ? value->f : (double)value->i);
}
EXPANDED(chlo_constant_like, "chlo.constant_like", K_MAP, 1, FORM_CHLO, infer_like, expand_like)

/* --- replica_id, partition_id: a plan is for one device --- */
static int infer_id(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    ir_type_t type = ir_type_scalar(DT_UI32);
    (void)fn;
    return infer_result(op, 0, out, &type, err);
}

static void expand_id(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                      ir_val_t *out)
{
    (void)op, (void)in;
    out[0] = ir_splat(fn, &types[0], 0);
}
EXPANDED(replica_id, "stablehlo.replica_id", K_OTHER, 0, FORM_OPERANDS, infer_id, expand_id)
EXPANDED(partition_id, "stablehlo.partition_id", K_OTHER, 0, FORM_OPERANDS, infer_id, expand_id)

/* --- broadcast_add and its kin: the operand of lower rank is spread along broadcast_dimensions
 * (missing: the last ones), and dimensions of one along the other's --- */
static int small_operand(const ir_fn_t *fn, const ir_op_t *op)
{
    return op_in_type(fn, op, 0)->rank > op_in_type(fn, op, 1)->rank;
}

static void place_dims(const ir_op_t *op, int small, int large, int64_t *dims)
{
    int n;
    const int64_t *given = attr_ints(&op->attrs, "broadcast_dimensions", &n);
    for (int d = 0; d < small; d++)
        dims[d] = given && n == small && small < large ? given[d] : large - small + d;
}

/* "chlo.broadcast_add" -> OP_add, "chlo.broadcast_zeta" -> OP_chlo_zeta */
static op_code_t plain_op(const ir_op_t *op)
{
    char name[64];
    const char *stem = op_name(op) + strlen("chlo.broadcast_");
    snprintf(name, sizeof name, "stablehlo.%s", stem);
    op_code_t code = op_by_name(name, strlen(name));
    if (code != OP_invalid) return code;
    snprintf(name, sizeof name, "chlo.%s", stem);
    return op_by_name(name, strlen(name));
}

/* What the plain op says of operands of the shape that both get. */
static int infer_plain(const ir_fn_t *fn, const ir_op_t *op, const ir_type_t *shape, ir_type_t *out,
                       err_t *err)
{
    ir_value_t value[2] = {0};
    ir_fn_t both = {.value = value, .n_value = 2};
    ir_op_t plain = {.code = plain_op(op), .n_in = 2, .n_out = 1, .attrs = op->attrs};
    plain.in = (ir_val_t[]){0, 1};
    for (int i = 0; i < 2; i++) value[i].type = ir_type_with(*shape, op_in_type(fn, op, i)->dtype);
    *out = (ir_type_t){0};
    if (op_def(plain.code)->infer(&both, &plain, out, err) == 0) return 0;
    return err_prefix(err, "%s: ", op_name(op));
}

static int infer_broadcast(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    int s = small_operand(fn, op);
    const ir_type_t *small = op_in_type(fn, op, s), *large = op_in_type(fn, op, 1 - s);
    ir_type_t is = *large;
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    int64_t dims[IR_MAX_RANK];
    bool fits = small->dtype == large->dtype;
    place_dims(op, small->rank, large->rank, dims);
    for (int d = 0; fits && d < small->rank; d++) {
        fits = dims[d] >= 0 && dims[d] < large->rank && (d == 0 || dims[d] > dims[d - 1]);
        if (!fits || is.dim[dims[d]] == small->dim[d]) continue;
        fits = is.dim[dims[d]] == 1 || small->dim[d] == 1;
        if (is.dim[dims[d]] == 1) is.dim[dims[d]] = small->dim[d];
    }
    if (!fits)
        return err_set(err, ERR_SHAPE, "%s: %s and %s do not broadcast", op_name(op),
                       ir_type_text(op_in_type(fn, op, 0), a),
                       ir_type_text(op_in_type(fn, op, 1), b));
    ir_type_t y;
    if (infer_plain(fn, op, &is, &y, err) < 0) return -1;
    return infer_result(op, 0, out, &y, err);
}

static void expand_broadcast(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                             const ir_val_t *in, ir_val_t *out)
{
    ir_val_t x[2];
    ir_attrs_t attrs = {0};
    for (int i = 0; i < 2; i++) {
        ir_type_t from = *ir_type_of(fn, in[i]), to = ir_type_with(types[0], from.dtype);
        int64_t dims[IR_MAX_RANK];
        place_dims(op, from.rank, to.rank, dims);
        x[i] = ir_shape_equal(&from, &to) ? in[i] : ir_broadcast(fn, in[i], &to, dims);
    }
    for (int i = 0; i < op->attrs.n; i++)
        if (strncmp(op->attrs.at[i].name, "compar", 6) == 0)
            attr_set(fn->module->arena, &attrs, op->attrs.at[i]);
    const ir_op_t *plain = fn->err.code ? NULL
                                        : ir_emit(fn, plain_op(op), 2, x, &attrs, 1, NULL, 0, NULL);
    out[0] = plain ? plain->out : IR_NONE;
}

#define BROADCAST(name)                                                             \
    EXPANDED(chlo_broadcast_##name, "chlo.broadcast_" #name, K_OTHER, 2, FORM_CHLO, \
             infer_broadcast, expand_broadcast)
BROADCAST(add)
BROADCAST(subtract)
BROADCAST(multiply)
BROADCAST(divide)
BROADCAST(remainder)
BROADCAST(maximum)
BROADCAST(minimum)
BROADCAST(power)
BROADCAST(atan2)
BROADCAST(and)
BROADCAST(or)
BROADCAST(xor)
BROADCAST(shift_left)
BROADCAST(shift_right_arithmetic)
BROADCAST(shift_right_logical)
BROADCAST(compare)
BROADCAST(complex)
BROADCAST(next_after)
BROADCAST(zeta)
BROADCAST(polygamma)

/* --- mulhi: the upper half of the product of integers --- */
static dtype_t twice_as_wide(dtype_t dtype)
{
    static const dtype_t wide[DT_COUNT] = {
        [DT_I2] = DT_I8,     [DT_I4] = DT_I8,    [DT_I8] = DT_I16,  [DT_I16] = DT_I32,
        [DT_I32] = DT_I64,   [DT_UI2] = DT_UI8,  [DT_UI4] = DT_UI8, [DT_UI8] = DT_UI16,
        [DT_UI16] = DT_UI32, [DT_UI32] = DT_UI64};
    return wide[dtype];
}

/* Of 64-bit numbers a = 2^32 ah + al, b = 2^32 bh + bl, without signs. */
static ir_val_t upper_half(ir_fn_t *fn, ir_val_t a, ir_val_t b)
{
    a = ir_convert(fn, a, DT_UI64), b = ir_convert(fn, b, DT_UI64);
    ir_val_t by = NUM(a, 32), mask = NUM(a, 4294967295.0);
#define HIGH(x) ir_op2(fn, OP_shift_right_logical, x, by)
#define LOW(x) ir_op2(fn, OP_and, x, mask)
    ir_val_t ah = HIGH(a), al = LOW(a), bh = HIGH(b), bl = LOW(b);
    ir_val_t p = MUL(al, bh), q = MUL(ah, bl);
    ir_val_t carry = HIGH(ADD(HIGH(MUL(al, bl)), ADD(LOW(p), LOW(q))));
    return ADD(ADD(MUL(ah, bh), carry), ADD(HIGH(p), HIGH(q)));
#undef HIGH
#undef LOW
}

static void expand_mulhi(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                         ir_val_t *out)
{
    dtype_t dtype = types[0].dtype, wide = twice_as_wide(dtype);
    bool is_signed = dtype_is_signed(dtype);
    ir_val_t a = in[0], b = in[1], y;
    (void)op;
    if (wide != DT_NONE) {
        y = MUL(ir_convert(fn, a, wide), ir_convert(fn, b, wide));
        y = ir_op2(fn, is_signed ? OP_shift_right_arithmetic : OP_shift_right_logical, y,
                   NUM(y, dtype_bits(dtype)));
    } else {
        y = ir_convert(fn, upper_half(fn, a, b), dtype);
        if (is_signed) { /* -1 stands for 2^64 - 1 above */
            ir_val_t zero = NUM(a, 0);
            y = SUB(y, SELECT(CMP(a, "LT", zero), b, zero));
            y = SUB(y, SELECT(CMP(b, "LT", zero), a, zero));
        }
    }
    out[0] = ir_convert(fn, y, dtype);
}
EXPANDED(chlo_mulhi, "chlo.mulhi", K_MAP, 2, FORM_CHLO, infer_map_int, expand_mulhi)
