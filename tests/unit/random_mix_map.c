/* Element by element: ops of the table, arithmetic of one and of several types, masks. */
#include "random_mix_in.h"

static bool is_float(const mix_t *mix, ir_val_t v)
{
    return dtype_is_float(mix_dtype(mix, v));
}

/* Steps in the value, or in its derivative. */
static bool has_kinks(op_code_t code)
{
    return op_def(code)->test_skip_gradient || !op_def(code)->vjp || code == OP_abs ||
           code == OP_maximum || code == OP_minimum || code == OP_clamp || code == OP_remainder ||
           code == OP_atan2;
}

/* Steps in the value: near a step, rounding decides. */
static bool has_steps(op_code_t code)
{
    return code == OP_sign || code == OP_floor || code == OP_ceil || code == OP_remainder ||
           code == OP_round_nearest_even || code == OP_round_nearest_afz || code == OP_atan2;
}

/* The builder keeps its first error for good: ask the type rule first. */
static bool fits(const mix_t *mix, op_code_t code, int n, ir_val_t *in, ir_type_t *out)
{
    err_t err = {0};
    ir_op_t op = {.code = code, .n_in = n, .n_out = 1, .in = in};
    *out = (ir_type_t){.dtype = DT_NONE};
    return op_def(code)->infer && op_def(code)->infer(mix->fn, &op, out, &err) == 0;
}

/* Any map of the table without attributes, floats brought into the range its tests draw from. */
ir_val_t mix_map(mix_t *mix, ir_val_t x)
{
    ir_val_t in[3] = {x, x, x};
    ir_type_t out;
    bool exact = mix_is_exact(mix, x);
    for (int attempt = 0; attempt < 30; attempt++) {
        op_code_t code = (op_code_t)(1 + mix_draw(mix, OP_COUNT - 1));
        const op_def_t *def = op_def(code);
        if (def->kind != K_MAP || !def->expr || def->n_in < 1 || def->n_in > 3) continue;
        if (code == OP_is_finite && !exact) continue;
        if (is_float(mix, x) && ((has_steps(code) && !exact) || (mix->smooth && has_kinks(code))))
            continue;
        if (!fits(mix, code, def->n_in, in, &out)) continue;
        double low = def->test_lo, high = def->test_hi;
        for (int i = 0; i < def->n_in; i++) {
            in[i] = i ? mix_like(mix, mix_type(mix, x)) : x;
            if (is_float(mix, x) && low < high && code != OP_is_finite)
                in[i] = mix_between(mix, in[i], low, high);
            if (i && has_steps(code) && !mix_is_exact(mix, in[i]))
                in[i] = ir_scalar_like(mix->fn, x, 0.75);
        }
        ir_op_t *op = ir_emit(mix->fn, code, def->n_in, in, NULL, 1, NULL, 0, NULL);
        return op ? mix_squash(mix, op->out) : IR_NONE;
    }
    return IR_NONE;
}

/* Two values of a type: sums, products, quotients; kept small. */
ir_val_t mix_arithmetic(mix_t *mix, ir_val_t x)
{
    static const op_code_t codes[] = {OP_add, OP_subtract, OP_multiply, OP_maximum, OP_minimum};
    ir_fn_t *fn = mix->fn;
    if (mix_dtype(mix, x) == DT_I1) x = mix_float(mix);
    ir_val_t y = mix_draw(mix, 4) ? mix_like(mix, mix_type(mix, x))
                                  : ir_scalar_like(fn, x, 1 + mix_draw(mix, 3));
    if (!is_float(mix, x)) return ir_op2(fn, codes[mix_draw(mix, 5)], x, y);
    if (mix_draw(mix, 5) == 0) { /* x / (1 + y^2) */
        y = ir_op2(fn, OP_add, ir_op2(fn, OP_multiply, y, y), ir_scalar_like(fn, y, 1));
        return ir_op2(fn, OP_divide, x, y);
    }
    op_code_t code = codes[mix_draw(mix, mix->smooth ? 3 : 5)];
    ir_val_t z = ir_op2(fn, code, x, y);
    return code == OP_maximum || code == OP_minimum ? z : mix_squash(mix, z);
}

/* Ops of the table that take integers. */
ir_val_t mix_integer(mix_t *mix, ir_val_t x)
{
    if (is_float(mix, x)) x = mix_int(mix);
    return mix_map(mix, x);
}

/* Numbers a float may hold but an integer type may not have no meaning there. */
static ir_val_t to_integer(mix_t *mix, ir_val_t x, dtype_t to)
{
    ir_fn_t *fn = mix->fn;
    ir_val_t low = ir_scalar_like(fn, x, 0), high = ir_scalar_like(fn, x, 100);
    x = ir_op2(fn, OP_multiply, x, ir_scalar_like(fn, x, 8)); /* a power of two is exact */
    return ir_convert(fn, ir_op3(fn, OP_clamp, low, x, high), to);
}

ir_val_t mix_convert(mix_t *mix, ir_val_t x)
{
    static const dtype_t floats[] = {DT_F32, DT_F32, DT_F32, DT_F64, DT_BF16, DT_F16};
    static const dtype_t ints[] = {DT_I8,   DT_I16,  DT_I32, DT_I64, DT_UI8, DT_UI16,
                                   DT_UI32, DT_UI64, DT_I1,  DT_I32, DT_I64};
    bool from_float = is_float(mix, x), exact = mix_is_exact(mix, x);
    bool to_float = mix_draw(mix, 2) || (from_float && (!exact || mix->smooth));
    dtype_t to = to_float ? floats[mix_draw(mix, 6)] : ints[mix_draw(mix, 11)];
    if (from_float && !to_float && to != DT_I1) return to_integer(mix, x, to);
    ir_val_t y = ir_convert(mix->fn, x, to);
    if (from_float || !to_float) return y;
    return mix_squash(mix, ir_op2(mix->fn, OP_multiply, y, ir_scalar_like(mix->fn, y, 0.125)));
}

/* select, where, clamp, leaky units, masks of triangles and of small integers. */
ir_val_t mix_mask(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    ir_type_t type = mix_type(mix, x);
    bool free = is_float(mix, x) && (!mix->smooth || mix_is_exact(mix, x));
    ir_val_t zero = ir_scalar_like(fn, x, 0);
    if (free && mix_draw(mix, 4) == 0) { /* continuous at its step: rounding may fall either way */
        ir_val_t slope = ir_scalar_like(fn, x, mix_draw(mix, 2) ? 0.125 : 0);
        return ir_select(fn, ir_compare(fn, "GT", x, zero), x, ir_op2(fn, OP_multiply, x, slope));
    }
    if (free && mix_draw(mix, 5) == 0)
        return ir_op3(fn, OP_clamp, ir_scalar_like(fn, x, -0.5), x, ir_scalar_like(fn, x, 0.75));
    ir_val_t p = mix_pred(mix, type);
    if (mix_draw(mix, 3) == 0) p = ir_op1(fn, OP_not, p);
    if (mix_draw(mix, 4) == 0)
        p = ir_op2(fn, mix_draw(mix, 2) ? OP_and : OP_xor, p, mix_pred(mix, type));
    if (mix_draw(mix, 6) == 0) return p;
    ir_val_t other = mix_draw(mix, 2) ? zero : mix_like(mix, type);
    return mix_draw(mix, 2) ? ir_select(fn, p, x, other) : ir_select(fn, p, other, x);
}

/* Bits from a state that depends on a parameter, folded with an integer of their shape. */
static ir_val_t bits(mix_t *mix, ir_type_t type)
{
    static const char *const algorithms[] = {"THREE_FRY", "PHILOX", "DEFAULT"};
    static const dtype_t dtypes[] = {DT_UI32, DT_UI64, DT_UI16, DT_I32, DT_UI8};
    ir_fn_t *fn = mix->fn;
    ir_attrs_t attrs = {0};
    attr_set_text(fn->module->arena, &attrs, "rng_algorithm", ATTR_ENUM,
                  algorithms[mix_draw(mix, 3)]);
    ir_type_t key = ir_type(DT_UI64, 1, (int64_t[]){2});
    ir_type_t out[2] = {key, ir_type_with(type, dtypes[mix_draw(mix, 5)])};
    ir_val_t state = ir_broadcast_scalar(fn, ir_convert(fn, mix_index(mix, 5), DT_UI64), &key);
    state = ir_op2(fn, OP_add, state, ir_iota(fn, &key, 0));
    ir_op_t *op = ir_emit(fn, OP_rng_bit_generator, 1, &state, &attrs, 2, out, 0, NULL);
    return op ? op->out + 1 : IR_NONE;
}

/* Random numbers of x's shape: bits, or numbers between two bounds. */
ir_val_t mix_random(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    ir_type_t type = mix_type(mix, x);
    if (type.rank == 0 || mix_draw(mix, 2)) return type.rank ? bits(mix, type) : IR_NONE;
    if (type.dtype == DT_I1) type.dtype = DT_F32;
    ir_attrs_t attrs = {0};
    attr_set_text(fn->module->arena, &attrs, "rng_distribution", ATTR_ENUM,
                  dtype_is_float(type.dtype) && mix_draw(mix, 3) == 0 ? "NORMAL" : "UNIFORM");
    ir_type_t shape = ir_type(DT_I64, 1, (int64_t[]){type.rank});
    tensor_t dims = tensor_in(fn->module->arena, &shape);
    for (int i = 0; i < type.rank; i++) tensor_set_i64(&dims, i, type.dim[i]);
    ir_val_t in[3] = {ir_scalar(fn, type.dtype, 0), ir_scalar(fn, type.dtype, 2),
                      ir_const(fn, &dims)};
    ir_op_t *op = ir_emit(fn, OP_rng, 3, in, &attrs, 1, &type, 0, NULL);
    return op ? mix_squash(mix, op->out) : IR_NONE;
}
