/* compare, select, clamp. */
#include <string.h>

#include "ops/rule.h"

/* --- compare: operands of one type -> i1. FLOAT is IEEE (NaN is unequal to everything); TOTALORDER
 * is IEEE 754's total order: -NaN < -Inf < .. < -0 < +0 < .. < +Inf < NaN. Complex numbers compare
 * by their real parts, equal ones by their imaginary parts --- */
typedef enum { DIR_EQ, DIR_NE, DIR_LT, DIR_LE, DIR_GT, DIR_GE, DIR_NONE } direction_t;

static direction_t direction_of(const ir_op_t *op)
{
    static const char *const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    const char *text = attr_text(&op->attrs, "comparison_direction", "");
    int d = DIR_EQ;
    while (d < DIR_NONE && strcmp(text, names[d]) != 0) d++;
    return (direction_t)d;
}

static int infer_compare(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_same_type(fn, op, 0, 1, err) < 0) return -1;
    if (direction_of(op) == DIR_NONE)
        return err_set(
            err, ERR_ARG,
            "stablehlo.compare: comparison_direction is \"%s\", expected EQ NE LT LE GT GE",
            attr_text(&op->attrs, "comparison_direction", ""));
    unsigned class = dtype_class(op_in_type(fn, op, 0)->dtype), fits = CLASS_ANY;
    const char *kind = attr_text(&op->attrs, "compare_type", "NOTYPE");
    if (strcmp(kind, "FLOAT") == 0 || strcmp(kind, "TOTALORDER") == 0)
        fits = strcmp(kind, "FLOAT") == 0 ? CLASS_INEXACT : CLASS_FLOAT;
    else if (strcmp(kind, "SIGNED") == 0)
        fits = CLASS_SIGNED;
    else if (strcmp(kind, "UNSIGNED") == 0)
        fits = CLASS_UNSIGNED | CLASS_BOOL;
    else if (strcmp(kind, "NOTYPE") != 0)
        fits = 0;
    if (!(class & fits))
        return err_set(err, ERR_TYPE, "stablehlo.compare: compare_type %s does not fit %s", kind,
                       dtype_name(op_in_type(fn, op, 0)->dtype));
    ir_type_t type = ir_type_with(*op_in_type(fn, op, 0), DT_I1);
    return infer_result(op, 0, out, &type, err);
}

#define COMPARE_BLOCK(T)      \
    switch (direction) {      \
    case DIR_EQ: LOOP(T, ==); \
    case DIR_NE: LOOP(T, !=); \
    case DIR_LT: LOOP(T, <);  \
    case DIR_LE: LOOP(T, <=); \
    case DIR_GT: LOOP(T, >);  \
    case DIR_GE: LOOP(T, >=); \
    case DIR_NONE: break;     \
    }
#define LOOP(T, OP)                                        \
    for (int i = 0; i < n; i++) y[i] = (T)a[i] OP(T) b[i]; \
    break

static void compare_f64(direction_t direction, int n, const double *a, const double *b, uint8_t *y)
{
    COMPARE_BLOCK(double)
}

static void compare_i64(direction_t direction, int n, const int64_t *a, const int64_t *b,
                        uint8_t *y)
{
    COMPARE_BLOCK(int64_t)
}

static void compare_u64(direction_t direction, int n, const int64_t *a, const int64_t *b,
                        uint8_t *y)
{
    COMPARE_BLOCK(uint64_t)
}
#undef LOOP

/* Floats as integers that order as TOTALORDER does: sign-magnitude to two's complement. */
static void total_order(int n, const double *x, int64_t *key)
{
    for (int i = 0; i < n; i++) {
        int64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        key[i] = bits < 0 ? bits ^ INT64_MAX : bits;
    }
}

static bool compare_complex(direction_t direction, const tensor_t *a, const tensor_t *b, int64_t i)
{
    double x = tensor_get_f64(a, i), y = tensor_get_f64(b, i);
    bool by_imag = x == y;
    if (by_imag) x = tensor_get_imag(a, i), y = tensor_get_imag(b, i);
    switch (direction) {
    case DIR_EQ: return by_imag && x == y;
    case DIR_NE: return !(by_imag && x == y);
    case DIR_LT: return x < y;
    case DIR_LE: return x <= y;
    case DIR_GT: return x > y;
    default: return x >= y;
    }
}

static int eval_compare(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                        err_t *err)
{
    (void)ev, (void)err;
    dtype_t dtype = in[0].type.dtype;
    bool is_float = dtype_is_float(dtype), is_signed = dtype_is_signed(dtype);
    bool is_total = strcmp(attr_text(&op->attrs, "compare_type", ""), "TOTALORDER") == 0;
    direction_t direction = direction_of(op);
    int64_t count = ir_type_count(&out->type);
    out->splat = in[0].splat && in[1].splat && count > 1;
    if (out->splat) count = 1;
    double fa[BLOCK], fb[BLOCK];
    int64_t a[BLOCK], b[BLOCK];
    for (int64_t at = 0; at < count; at += BLOCK) {
        int n = (int)(count - at < BLOCK ? count - at : BLOCK);
        uint8_t *y = (uint8_t *)out->data + at;
        if (dtype_is_complex(dtype)) {
            for (int i = 0; i < n; i++) y[i] = compare_complex(direction, &in[0], &in[1], at + i);
        } else if (is_float) {
            block_load_f64(&in[0], at, n, fa);
            block_load_f64(&in[1], at, n, fb);
            if (is_total) {
                total_order(n, fa, a);
                total_order(n, fb, b);
                compare_i64(direction, n, a, b, y);
            } else {
                compare_f64(direction, n, fa, fb, y);
            }
        } else {
            block_load_i64(&in[0], at, n, a);
            block_load_i64(&in[1], at, n, b);
            (is_signed ? compare_i64 : compare_u64)(direction, n, a, b, y);
        }
    }
    return 0;
}

const op_def_t op_compare = {
    .name = "stablehlo.compare",
    .kind = K_MAP,
    .n_in = 2,
    .n_out = 1,
    .form = FORM_COMPARE,
    .needs = {"comparison_direction"},
    .infer = infer_compare,
    .eval = eval_compare,
    .vjp = vjp_none,
};

/* --- select: y = pred ? a : b, bits kept; pred may be a scalar. da = select(pred, g, 0) --- */
static int infer_select(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_class(fn, op, 0, CLASS_BOOL, err) < 0) return -1;
    if (infer_same_type(fn, op, 1, 2, err) < 0) return -1;
    if (op_in_type(fn, op, 0)->rank != 0 && infer_same_shape(fn, op, 0, 1, err) < 0) return -1;
    return infer_result(op, 0, out, op_in_type(fn, op, 1), err);
}

#define SELECT_LOOP(T)                                                                \
    do {                                                                              \
        const T *a = in[1].data, *b = in[2].data;                                     \
        T *y = out->data;                                                             \
        int64_t sa = in[1].splat ? 0 : 1, sb = in[2].splat ? 0 : 1;                   \
        for (int64_t i = 0; i < count; i++) y[i] = p[i * sp] ? a[i * sa] : b[i * sb]; \
    } while (0)

static int eval_select(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    (void)ev, (void)op, (void)err;
    const uint8_t *p = in[0].data;
    int64_t count = ir_type_count(&out->type);
    if (count > 0 && (in[0].splat || in[0].type.rank == 0)) {
        tensor_assign(out, p[0] ? &in[1] : &in[2]);
        return 0;
    }
    int64_t sp = 1;
    switch (dtype_bytes(out->type.dtype)) {
    case 1: SELECT_LOOP(uint8_t); break;
    case 2: SELECT_LOOP(uint16_t); break;
    case 4: SELECT_LOOP(uint32_t); break;
    case 8: SELECT_LOOP(uint64_t); break;
    default: SELECT_LOOP(complex_t); break;
    }
    return 0;
}

static int vjp_select(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    ir_val_t g = v->ct[0], p = v->op->in[0], zero = NUM(g, 0);
    if (v->need[1]) vjp_give(v, 1, SELECT(p, g, zero));
    if (v->need[2]) vjp_give(v, 2, SELECT(p, zero, g));
    return vjp_done(v, err);
}

const op_def_t op_select = {
    .name = "stablehlo.select",
    .kind = K_MAP,
    .n_in = 3,
    .n_out = 1,
    .form = FORM_SELECT,
    .infer = infer_select,
    .eval = eval_select,
    .vjp = vjp_select,
    .expr = "($0 ? $1 : $2)",
};

/* --- clamp(lo, x, hi) = min(max(x, lo), hi), bounds may be scalars.
 * dx = g where lo < x < hi (as JAX); dlo = g where x < lo < hi; dhi = g where max(x, lo) > hi ---
 */
static int infer_clamp(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 1);
    for (int i = 0; i < 3; i += 2) {
        const ir_type_t *bound = op_in_type(fn, op, i);
        if (bound->rank == 0 && bound->dtype == x->dtype) continue;
        if (infer_same_type(fn, op, i, 1, err) < 0) return -1;
    }
    return infer_result(op, 0, out, x, err);
}

static double clamp_nan(double lo, double x, double hi)
{
    if (x != x || lo != lo || hi != hi) return x + lo + hi;
    double y = x < lo ? lo : x;
    return y > hi ? hi : y;
}

#define CLAMP_KERNEL(name, T, K)                                   \
    static void name(int n, T(*in)[BLOCK], T *out)                 \
    {                                                              \
        for (int i = 0; i < n; i++) {                              \
            K lo = (K)in[0][i], x = (K)in[1][i], hi = (K)in[2][i]; \
            K y = x < lo ? lo : x;                                 \
            out[i] = (T)(y > hi ? hi : y);                         \
        }                                                          \
    }
CLAMP_KERNEL(clamp_s, int64_t, int64_t)
CLAMP_KERNEL(clamp_u, int64_t, uint64_t)

static void clamp_f(int n, double (*in)[BLOCK], double *out)
{
    for (int i = 0; i < n; i++) out[i] = clamp_nan(in[0][i], in[1][i], in[2][i]);
}
static bool less(complex_t a, complex_t b)
{
    return __real__ a < __real__ b || (__real__ a == __real__ b && __imag__ a < __imag__ b);
}

static void clamp_c(int n, complex_t (*in)[BLOCK], complex_t *out)
{
    for (int i = 0; i < n; i++) {
        complex_t y = less(in[1][i], in[0][i]) ? in[0][i] : in[1][i];
        out[i] = less(in[2][i], y) ? in[2][i] : y;
    }
}
EVAL_MAP(clamp, 3, clamp_f, clamp_s, clamp_u, clamp_c)

static ir_val_t spread(ir_fn_t *fn, ir_val_t bound, ir_val_t x)
{
    if (bound == IR_NONE || x == IR_NONE || ir_type_of(fn, bound)->rank > 0) return bound;
    ir_type_t type = *ir_type_of(fn, x);
    return type.rank > 0 ? ir_broadcast_scalar(fn, bound, &type) : bound;
}

static int vjp_clamp(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    ir_val_t x = v->op->in[1], g = vjp_ct(v, 0), zero = NUM(g, 0);
    ir_val_t lo = spread(fn, v->op->in[0], x), hi = spread(fn, v->op->in[2], x);
    if (v->need[0]) {
        ir_val_t at_lo = ir_op2(fn, OP_and, CMP(x, "LT", lo), CMP(lo, "LT", hi));
        vjp_give(v, 0, SELECT(at_lo, g, zero));
    }
    if (v->need[1]) {
        ir_val_t inside = ir_op2(fn, OP_and, CMP(lo, "LT", x), CMP(x, "LT", hi));
        vjp_give(v, 1, SELECT(inside, g, zero));
    }
    if (v->need[2]) {
        ir_val_t at_hi = CMP(ir_op2(fn, OP_maximum, x, lo), "GT", hi);
        vjp_give(v, 2, SELECT(at_hi, g, zero));
    }
    return vjp_done(v, err);
}

const op_def_t op_clamp = {
    .name = "stablehlo.clamp",
    .kind = K_MAP,
    .n_in = 3,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_clamp,
    .eval = eval_clamp,
    .vjp = vjp_clamp,
    .expr = "pcp_clamp_$t($0, $1, $2)",
};
