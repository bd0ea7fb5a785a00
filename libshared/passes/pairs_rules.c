/* pass_pairs: ops without regions. Movement and sums work on each part by itself; products and
 * functions are written with the real functions of pairs in ops/complex_math.h. */
#include <string.h>

#include "ops/rule.h"
#include "passes/pairs.h"

static void give(pairs_t *self, const ir_op_t *op, ir_val_t re, ir_val_t im)
{
    self->part[0][op->out] = re;
    self->part[1][op->out] = im;
}

/* Operands with parts: re, im of the first, re, im of the second. */
static void load(const pairs_t *self, const ir_op_t *op, ir_val_t *x)
{
    for (int i = 0; i < op->n_in; i++)
        for (int k = 0; k < 2; k++) x[2 * i + k] = pairs_part(self, op->in[i], k);
}

static ir_val_t apply(ir_fn_t *fn, op_code_t code, int n_in, const ir_val_t *in)
{
    ir_op_t *op = ir_emit(fn, code, n_in, in, NULL, 1, NULL, 0, NULL);
    return op ? op->out : IR_NONE;
}

void pairs_each(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    ir_val_t *in = ARENA_ARRAY(fn->module->arena, ir_val_t, op->n_in + 1);
    ir_type_t type = pairs_type(self, op->out);
    bool is_complex = dtype_is_complex(type.dtype);
    type.dtype = dtype_part(type.dtype);
    for (int k = 0; k < 1 + is_complex; k++) {
        for (int i = 0; i < op->n_in; i++) in[i] = pairs_part(self, op->in[i], k);
        ir_op_t *copy = ir_emit(fn, op->code, op->n_in, in, &op->attrs, 1, &type, 0, NULL);
        ir_val_t y = copy ? copy->out : IR_NONE;
        if (is_complex)
            self->part[k][op->out] = y;
        else
            self->clone.map[op->out] = y;
    }
}

static void constant(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    const tensor_t *z = attr_find(&op->attrs, "value")->tensor;
    ir_type_t type = ir_type_with(z->type, dtype_part(z->type.dtype));
    for (int k = 0; k < 2; k++) {
        tensor_t t = tensor_in(fn->module->arena, &type);
        int64_t n = z->splat ? 1 : ir_type_count(&type);
        for (int64_t i = 0; i < n; i++)
            tensor_set_f64(&t, i, k ? tensor_get_imag(z, i) : tensor_get_f64(z, i));
        t.splat = z->splat;
        self->part[k][op->out] = ir_const(fn, &t);
    }
}

static void iota(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    pairs_each(self, op);
    self->part[1][op->out] = NUM(self->part[0][op->out], 0);
}

static void real_part(pairs_t *self, const ir_op_t *op)
{
    self->clone.map[op->out] = pairs_part(self, op->in[0], 0);
}

/* Of a real number as well. */
static void imag_part(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    ir_val_t im = pairs_part(self, op->in[0], 1);
    self->clone.map[op->out] = pairs_is_complex(self, op->in[0]) ? im : NUM(im, 0);
}

static void join(pairs_t *self, const ir_op_t *op)
{
    give(self, op, pairs_part(self, op->in[0], 0), pairs_part(self, op->in[1], 0));
}

static void square(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    ir_val_t x[4];
    load(self, op, x);
    x[2] = x[0], x[3] = x[1];
    give(self, op, apply(fn, OP_pcp_cmul_real, 4, x), apply(fn, OP_pcp_cmul_imag, 4, x));
}

static void magnitude(pairs_t *self, const ir_op_t *op)
{
    ir_val_t x[2];
    load(self, op, x);
    self->clone.map[op->out] = apply(self->clone.to, OP_pcp_cabs, 2, x);
}

/* --- order: by real parts, equal ones by imaginary parts --- */

/* direction: LT, LE, GT or GE; x: parts of a, parts of b. */
static ir_val_t ordered(ir_fn_t *fn, const char *direction, const ir_val_t *x)
{
    const char *strict = direction[0] == 'L' ? "LT" : "GT";
    ir_val_t tie = ir_op2(fn, OP_and, CMP(x[0], "EQ", x[2]), CMP(x[1], direction, x[3]));
    return ir_op2(fn, OP_or, CMP(x[0], strict, x[2]), tie);
}

static void compare(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    const char *direction = attr_text(&op->attrs, "comparison_direction", "");
    ir_val_t x[4], y;
    load(self, op, x);
    if (strcmp(direction, "EQ") == 0)
        y = ir_op2(fn, OP_and, CMP(x[0], "EQ", x[2]), CMP(x[1], "EQ", x[3]));
    else if (strcmp(direction, "NE") == 0)
        y = ir_op2(fn, OP_or, CMP(x[0], "NE", x[2]), CMP(x[1], "NE", x[3]));
    else
        y = ordered(fn, direction, x);
    self->clone.map[op->out] = y;
}

/* The parts of a where p, else of b: x is a, b, and becomes the choice. */
static void choose(ir_fn_t *fn, ir_val_t p, ir_val_t *x)
{
    for (int k = 0; k < 2; k++) x[k] = SELECT(p, x[k], x[2 + k]);
}

static void extreme(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    ir_val_t x[4];
    load(self, op, x);
    choose(fn, ordered(fn, op->code == OP_maximum ? "GT" : "LT", x), x);
    give(self, op, x[0], x[1]);
}

static void clamp(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    ir_val_t x[6];
    load(self, op, x);
    if (fn->err.code) return;
    ir_type_t type = pairs_type(self, op->out);
    for (int i = 0; i < 6; i++)
        if (ir_type_of(fn, x[i])->rank == 0) x[i] = ir_broadcast_scalar(fn, x[i], &type);
    ir_val_t low[4] = {x[0], x[1], x[2], x[3]}, high[4] = {x[4], x[5]};
    choose(fn, ordered(fn, "GT", low), low);
    high[2] = low[0], high[3] = low[1];
    choose(fn, ordered(fn, "LT", high), high);
    give(self, op, high[0], high[1]);
}

/* --- types --- */

static void convert(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    dtype_t to = pairs_type(self, op->out).dtype;
    ir_val_t re = pairs_part(self, op->in[0], 0), im = pairs_part(self, op->in[0], 1);
    bool was_complex = pairs_is_complex(self, op->in[0]);
    if (dtype_is_complex(to)) {
        re = ir_convert(fn, re, dtype_part(to));
        give(self, op, re, was_complex ? ir_convert(fn, im, dtype_part(to)) : NUM(re, 0));
    } else if (to == DT_I1) {
        ir_val_t a = CMP(re, "NE", NUM(re, 0)), b = CMP(im, "NE", NUM(im, 0));
        self->clone.map[op->out] = ir_op2(fn, OP_or, a, b);
    } else {
        self->clone.map[op->out] = ir_convert(fn, re, to);
    }
}

static ir_val_t recast(ir_fn_t *fn, ir_val_t x, const ir_type_t *to)
{
    ir_op_t *op = ir_emit(fn, OP_bitcast_convert, 1, &x, NULL, 1, to, 0, NULL);
    return op ? op->out : IR_NONE;
}

static ir_val_t with_last(ir_fn_t *fn, ir_val_t x, int64_t n)
{
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x);
    type.dim[type.rank++] = n;
    return ir_reshape(fn, x, &type);
}

/* Element `at` of the last dimension. */
static ir_val_t pick_last(ir_fn_t *fn, ir_val_t x, int64_t at)
{
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x);
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];
    memcpy(limit, type.dim, sizeof limit);
    start[type.rank - 1] = at, limit[type.rank - 1] = at + 1;
    x = ir_slice(fn, x, start, limit, NULL);
    type.dim[--type.rank] = 0;
    return ir_reshape(fn, x, &type);
}

/* Memory holds re, im, re, im, ..: between complex<f32> and complex<f64> a number of the wider type
 * is two of the narrower, its real part the bits of the first. */
static void bitcast(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    dtype_t from = pairs_type(self, op->in[0]).dtype, to = pairs_type(self, op->out).dtype;
    ir_val_t x[2], y[2];
    load(self, op, x);
    ir_type_t type = pairs_type(self, op->out), wide;
    if (from == to) {
        y[0] = x[0], y[1] = x[1];
    } else if (from == DT_C64) { /* [.., number, part]: part f64 of the result is one number */
        ir_val_t both[2] = {with_last(fn, x[0], 1), with_last(fn, x[1], 1)};
        ir_val_t pairs = ir_concatenate(fn, both, 2, type.rank + 1);
        wide = ir_type_with(pairs_type(self, op->in[0]), DT_F64);
        pairs = recast(fn, pairs, &wide);
        for (int k = 0; k < 2; k++) y[k] = pick_last(fn, pairs, k);
    } else { /* each part is one number */
        for (int k = 0; k < 2; k++) {
            ir_type_t narrow = ir_type_with(type, DT_F32);
            ir_val_t number = recast(fn, x[k], &narrow);
            x[k] = number;
        }
        for (int k = 0; k < 2; k++) {
            ir_val_t both[2] = {with_last(fn, pick_last(fn, x[0], k), 1),
                                with_last(fn, pick_last(fn, x[1], k), 1)};
            y[k] = ir_concatenate(fn, both, 2, type.rank - 1);
        }
    }
    give(self, op, y[0], y[1]);
}

/* --- products: (ac - bd) + (ad + bc) i --- */

static ir_val_t product(pairs_t *self, const ir_op_t *op, int i, int k)
{
    ir_type_t type = pairs_type(self, op->out);
    type.dtype = dtype_part(type.dtype);
    ir_val_t in[2] = {pairs_part(self, op->in[0], i), pairs_part(self, op->in[1], k)};
    ir_op_t *y = ir_emit(self->clone.to, op->code, 2, in, &op->attrs, 1, &type, 0, NULL);
    return y ? y->out : IR_NONE;
}

static void contract(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    ir_val_t re = SUB(product(self, op, 0, 0), product(self, op, 1, 1));
    give(self, op, re, ADD(product(self, op, 0, 1), product(self, op, 1, 0)));
}

/* --- functions --- */

static const struct {
    op_code_t op, re, im;
} functions[] = {
#define ROW(op, name)                                       \
    {                                                       \
        OP_##op, OP_pcp_##name##_real, OP_pcp_##name##_imag \
    }
    ROW(exponential, cexp),   ROW(exponential_minus_one, cexpm1),
    ROW(log, clog),           ROW(log_plus_one, clog1p),
    ROW(logistic, clogistic), ROW(sqrt, csqrt),
    ROW(rsqrt, crsqrt),       ROW(cbrt, ccbrt),
    ROW(sign, csign),         ROW(sine, csin),
    ROW(cosine, ccos),        ROW(tan, ctan),
    ROW(tanh, ctanh),         ROW(chlo_tan, ctan),
    ROW(chlo_sinh, csinh),    ROW(chlo_cosh, ccosh),
    ROW(chlo_asin, casin),    ROW(chlo_acos, cacos),
    ROW(chlo_atan, catan),    ROW(chlo_asinh, casinh),
    ROW(chlo_acosh, cacosh),  ROW(chlo_atanh, catanh),
    ROW(multiply, cmul),      ROW(divide, cdiv),
    ROW(power, cpow),         ROW(atan2, catan2),
#undef ROW
};
enum { N_FUNCTION = sizeof functions / sizeof *functions };

static void function(pairs_t *self, const ir_op_t *op)
{
    ir_val_t x[4];
    load(self, op, x);
    for (int i = 0; i < N_FUNCTION; i++)
        if (functions[i].op == op->code)
            give(self, op, apply(self->clone.to, functions[i].re, 2 * op->n_in, x),
                 apply(self->clone.to, functions[i].im, 2 * op->n_in, x));
}

/* --- the table --- */

static pairs_rule_t *const rules[OP_COUNT] = {
    [OP_constant] = constant,
    [OP_iota] = iota,
    [OP_dynamic_iota] = iota,
    [OP_add] = pairs_each,
    [OP_subtract] = pairs_each,
    [OP_negate] = pairs_each,
    [OP_select] = pairs_each,
    [OP_reshape] = pairs_each,
    [OP_transpose] = pairs_each,
    [OP_broadcast_in_dim] = pairs_each,
    [OP_reverse] = pairs_each,
    [OP_concatenate] = pairs_each,
    [OP_slice] = pairs_each,
    [OP_pad] = pairs_each,
    [OP_dynamic_slice] = pairs_each,
    [OP_dynamic_update_slice] = pairs_each,
    [OP_dynamic_broadcast_in_dim] = pairs_each,
    [OP_dynamic_reshape] = pairs_each,
    [OP_get_dimension_size] = pairs_each,
    [OP_gather] = pairs_each,
    [OP_real] = real_part,
    [OP_imag] = imag_part,
    [OP_complex] = join,
    [OP_chlo_square] = square,
    [OP_abs] = magnitude,
    [OP_compare] = compare,
    [OP_maximum] = extreme,
    [OP_minimum] = extreme,
    [OP_clamp] = clamp,
    [OP_convert] = convert,
    [OP_bitcast_convert] = bitcast,
    [OP_dot_general] = contract,
    [OP_convolution] = contract,
};

pairs_rule_t *pairs_rule(op_code_t code)
{
    for (int i = 0; i < N_FUNCTION; i++)
        if (functions[i].op == code) return function;
    return rules[code];
}
