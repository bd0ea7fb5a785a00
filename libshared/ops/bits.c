/* Bitwise and logical ops, bit counts, shifts, bit casts. No gradient flows through any of them.
 * Counts and shifts work on an element's own width, so they get elements masked to it. */
#include <string.h>

#include "ops/rule.h"

#define BITS(id, N, RULE, COMMUTATIVE, TEXT)              \
    const op_def_t op_##id = {.name = "stablehlo." #id,   \
                              .kind = K_MAP,              \
                              .n_in = N,                  \
                              .n_out = 1,                 \
                              .form = FORM_OPERANDS,      \
                              .commutative = COMMUTATIVE, \
                              .infer = RULE,              \
                              .eval = eval_##id,          \
                              .vjp = vjp_none,            \
                              .expr = TEXT};

/* --- and, or, xor, not: logical on i1, bitwise on integers --- */
KERNEL_BINARY(and_i, int64_t, a &b)
KERNEL_BINARY(or_i, int64_t, a | b)
KERNEL_BINARY(xor_i, int64_t, a ^ b)
KERNEL_UNARY(not_i, int64_t, ~x)
EVAL_MAP(and, 2, .s = and_i, .u = and_i)
EVAL_MAP(or, 2, .s = or_i, .u = or_i)
EVAL_MAP(xor, 2, .s = xor_i, .u = xor_i)
EVAL_MAP(not, 1, .s = not_i, .u = not_i)
BITS(and, 2, infer_map_bits, true, "($0 & $1)")
BITS(or, 2, infer_map_bits, true, "($0 | $1)")
BITS(xor, 2, infer_map_bits, true, "($0 ^ $1)")
BITS(not, 1, infer_map_bits, false, "pcp_not_$t($0)")

/* --- popcnt, count_leading_zeros, shifts: f(a, b, width) on the element's bits --- */
typedef uint64_t bits_fn(uint64_t a, uint64_t b, int width);

static uint64_t low_bits(uint64_t x, int width)
{
    return width == 64 ? x : x & (((uint64_t)1 << width) - 1);
}

static int eval_bits(bits_fn *f, int n_in, const tensor_t *in, tensor_t *out)
{
    int64_t count = ir_type_count(&out->type), a[BLOCK], b[BLOCK] = {0};
    int width = dtype_bits(out->type.dtype);
    for (int64_t at = 0; at < count; at += BLOCK) {
        int n = (int)(count - at < BLOCK ? count - at : BLOCK);
        block_load_i64(&in[0], at, n, a);
        if (n_in == 2) block_load_i64(&in[1], at, n, b);
        for (int i = 0; i < n; i++)
            a[i] = (int64_t)f(low_bits((uint64_t)a[i], width), low_bits((uint64_t)b[i], width),
                              width);
        block_store_i64(out, at, n, a);
    }
    return 0;
}

static uint64_t popcnt(uint64_t a, uint64_t b, int width)
{
    (void)b, (void)width;
    return (uint64_t)__builtin_popcountll(a);
}

static uint64_t count_leading_zeros(uint64_t a, uint64_t b, int width)
{
    (void)b;
    return (uint64_t)(a == 0 ? width : __builtin_clzll(a) - (64 - width));
}

/* Shifts by the width or more move every bit out; the arithmetic one leaves copies of the sign. */
static uint64_t shift_left(uint64_t a, uint64_t b, int width)
{
    return b >= (uint64_t)width ? 0 : a << b;
}

static uint64_t shift_right_logical(uint64_t a, uint64_t b, int width)
{
    return b >= (uint64_t)width ? 0 : a >> b;
}

static uint64_t shift_right_arithmetic(uint64_t a, uint64_t b, int width)
{
    int by = b >= (uint64_t)width ? width - 1 : (int)b;
    return (uint64_t)((int64_t)(a << (64 - width)) >> (64 - width) >> by);
}

#define EVAL_BITS(name, n)                                                                   \
    static int eval_##name(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, \
                           err_t *err)                                                       \
    {                                                                                        \
        (void)ev, (void)op, (void)err;                                                       \
        return eval_bits(name, n, in, out);                                                  \
    }
EVAL_BITS(popcnt, 1)
EVAL_BITS(count_leading_zeros, 1)
EVAL_BITS(shift_left, 2)
EVAL_BITS(shift_right_logical, 2)
EVAL_BITS(shift_right_arithmetic, 2)
BITS(popcnt, 1, infer_map_int, false, "pcp_popcnt_$t($0)")
BITS(count_leading_zeros, 1, infer_map_int, false, "pcp_clz_$t($0)")
BITS(shift_left, 2, infer_map_int, false, "pcp_shl_$t($0, $1)")
BITS(shift_right_logical, 2, infer_map_int, false, "pcp_shrl_$t($0, $1)")
BITS(shift_right_arithmetic, 2, infer_map_int, false, "pcp_shra_$t($0, $1)")

/* --- bitcast_convert: the same bits under another type. Equal widths keep the shape; a narrower
 * type adds a last dimension of width ratio (lowest bits first), a wider one takes it away --- */
static int infer_bitcast_convert(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    char tx[IR_TYPE_TEXT], ty[IR_TYPE_TEXT];
    if (infer_declared(op, 0, out, err) < 0) return -1;
    ir_type_t type = ir_type_with(*x, out->dtype);
    int from = dtype_bits(x->dtype), to = dtype_bits(out->dtype);
    if (dtype_is_complex(x->dtype) != dtype_is_complex(out->dtype))
        return err_set(
            err, ERR_TYPE,
            "stablehlo.bitcast_convert: %s cannot become %s: both must be complex, or none",
            ir_type_text(x, tx), ir_type_text(out, ty));
    if (from > to && from % to == 0 && type.rank < IR_MAX_RANK) {
        type.dim[type.rank++] = from / to;
    } else if (from < to && to % from == 0 && type.rank > 0 &&
               type.dim[type.rank - 1] == to / from) {
        type.dim[--type.rank] = 0;
    } else if (from != to) {
        return err_set(err, ERR_SHAPE,
                       "stablehlo.bitcast_convert: %s cannot become %s: the last "
                       "dimension must hold the ratio of the widths",
                       ir_type_text(x, tx), ir_type_text(out, ty));
    }
    return infer_result(op, 0, out, &type, err);
}

/* Element i's bits in the low end. */
static uint64_t element_bits(const tensor_t *x, int64_t i)
{
    uint64_t bits = 0;
    size_t size = dtype_bytes(x->type.dtype);
    memcpy(&bits, (const char *)x->data + (x->splat ? 0 : (size_t)i * size), size);
    return low_bits(bits, dtype_bits(x->type.dtype));
}

static void set_element_bits(tensor_t *y, int64_t i, uint64_t bits)
{
    size_t size = dtype_bytes(y->type.dtype);
    if (dtype_is_float(y->type.dtype))
        memcpy((char *)y->data + (size_t)i * size, &bits, size);
    else
        block_store_i64(y, i, 1, (const int64_t[]){(int64_t)bits}); /* extends sub-byte types */
}

/* Elements are 64 bits at least, and lie in memory as they are counted. */
static void recast_complex(const tensor_t *x, tensor_t *y)
{
    tensor_t whole = {.type = x->type, .data = y->data};
    int64_t n = ir_type_count(&x->type);
    for (int64_t i = 0; i < n; i++) element_copy(&whole, i, x, i);
}

static int eval_bitcast_convert(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                                err_t *err)
{
    (void)ev, (void)op, (void)err;
    if (dtype_is_complex(in->type.dtype)) {
        recast_complex(in, out);
        return 0;
    }
    int from = dtype_bits(in->type.dtype), to = dtype_bits(out->type.dtype);
    int split = from > to ? from / to : 1, join = to > from ? to / from : 1;
    int64_t count = ir_type_count(&out->type);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        for (int k = 0; k < join; k++)
            bits |= element_bits(in, i / split * join + k) << (k * from % 64);
        bits >>= (int)(i % split) * to;
        set_element_bits(out, i, low_bits(bits, to));
    }
    return 0;
}

const op_def_t op_bitcast_convert = {
    .name = "stablehlo.bitcast_convert",
    .kind = K_OTHER,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_bitcast_convert,
    .eval = eval_bitcast_convert,
    .vjp = vjp_none,
};
