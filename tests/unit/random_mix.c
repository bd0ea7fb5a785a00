/* Random functions: parameters, the pool, what is known of each value's rounding, gradients. */
#include "random_mix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/ad.h"
#include "base/rng.h"
#include "passes/passes.h"
#include "random_mix_in.h"

enum { N_PARAM = 10, N_RESULT = 4 };

/* --- drawing --- */

int mix_draw(mix_t *mix, int n)
{
    return (int)(rng_bits(mix->seed, mix->counter++) % (uint64_t)n);
}

ir_type_t mix_type(const mix_t *mix, ir_val_t v)
{
    return *ir_type_of(mix->fn, v);
}

dtype_t mix_dtype(const mix_t *mix, ir_val_t v)
{
    return ir_type_of(mix->fn, v)->dtype;
}

ir_val_t mix_any(mix_t *mix)
{
    int n = (int)mix->pool.n, recent = n < 6 ? n : 6;
    return mix->pool.at[mix_draw(mix, 2) ? n - 1 - mix_draw(mix, recent) : mix_draw(mix, n)];
}

ir_val_t mix_float(mix_t *mix)
{
    for (int i = 0; i < 20; i++) {
        ir_val_t v = mix_any(mix);
        if (dtype_is_float(mix_dtype(mix, v))) return v;
    }
    return ir_fn_param(mix->fn, mix_draw(mix, 4)); /* these are floats */
}

ir_val_t mix_int(mix_t *mix)
{
    for (int i = 0; i < 20; i++) {
        ir_val_t v = mix_any(mix);
        if (!dtype_is_float(mix_dtype(mix, v)) && mix_dtype(mix, v) != DT_I1) return v;
    }
    return ir_fn_param(mix->fn, 4 + mix_draw(mix, 2)); /* and these integers */
}

/* --- rounding --- */

static double unit_roundoff(dtype_t dtype)
{
    switch (dtype) {
    case DT_F64: return ldexp(1, -53);
    case DT_F32: return ldexp(1, -24);
    case DT_F16: return ldexp(1, -11);
    case DT_BF16: return ldexp(1, -8);
    default: return 0;
    }
}

/* Ops whose every way of computing gives the same bits, given the same operands. */
static bool rounds_one_way(op_code_t code)
{
    static const op_code_t codes[] = {
        OP_constant, OP_iota,        OP_negate,        OP_abs,
        OP_sign,     OP_floor,       OP_ceil,          OP_round_nearest_even,
        OP_maximum,  OP_minimum,     OP_clamp,         OP_select,
        OP_convert,  OP_reshape,     OP_transpose,     OP_broadcast_in_dim,
        OP_reverse,  OP_concatenate, OP_slice,         OP_pad,
        OP_gather,   OP_sort,        OP_dynamic_slice, OP_dynamic_update_slice,
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code) return true;
    return false;
}

static double new_roundoff(const mix_t *mix, ir_val_t v)
{
    const ir_value_t *value = &mix->fn->value[v];
    double worst = 0, own = unit_roundoff(value->type.dtype);
    if (own == 0) return 0; /* decisions are made on exact values only */
    if (!value->def) return value->owner == mix->fn->body ? 0 : own;
    const ir_op_t *op = value->def;
    for (int i = 0; i < op->n_in; i++) worst = fmax(worst, mix->roundoff.at[op->in[i]]);
    if (op->n_region && op->code != OP_sort) /* what regions read was made before */
        for (ir_val_t i = 0; i < v; i++) worst = fmax(worst, mix->roundoff.at[i]);
    bool is_exact = worst == 0 && (op->n_region == 0 || op->code == OP_sort);
    return is_exact && rounds_one_way(op->code) ? 0 : fmax(worst, own);
}

double mix_roundoff(mix_t *mix, ir_val_t v)
{
    for (ir_val_t i = (ir_val_t)mix->roundoff.n; i < mix->fn->n_value; i++)
        VEC_PUSH(&mix->roundoff, new_roundoff(mix, i));
    return mix->roundoff.at[v];
}

bool mix_is_exact(mix_t *mix, ir_val_t v)
{
    return mix_roundoff(mix, v) == 0;
}

double random_mix_roundoff(const ir_fn_t *fn, int result)
{
    mix_t mix = {.fn = (ir_fn_t *)fn};
    double roundoff = mix_roundoff(&mix, fn->body->result[result]);
    VEC_FREE(&mix.roundoff);
    return roundoff;
}

/* --- values of a wanted type --- */

ir_val_t mix_squash(mix_t *mix, ir_val_t x)
{
    return dtype_is_float(mix_dtype(mix, x)) ? ir_op1(mix->fn, OP_tanh, x) : x;
}

ir_val_t mix_between(mix_t *mix, ir_val_t x, double low, double high)
{
    ir_fn_t *fn = mix->fn;
    ir_val_t y = ir_op1(fn, OP_logistic, x);
    y = ir_op2(fn, OP_multiply, y, ir_scalar_like(fn, y, high - low));
    return ir_op2(fn, OP_add, y, ir_scalar_like(fn, y, low));
}

/* A float before n of it are summed: divided by a power of two near the root of n, so that what the
 * order of a long sum rounds stays small beside values of order one. */
ir_val_t mix_before_sum(mix_t *mix, ir_val_t x, int64_t n)
{
    double scale = 1;
    while (scale * scale > 4.0 / (double)(n < 1 ? 1 : n)) scale /= 2;
    return ir_op2(mix->fn, OP_multiply, x, ir_scalar_like(mix->fn, x, scale));
}

/* The elements of x in order, cut or filled up with ones, as another shape. */
static ir_val_t reshaped(mix_t *mix, ir_val_t x, ir_type_t type)
{
    ir_fn_t *fn = mix->fn;
    ir_type_t have = mix_type(mix, x);
    const int64_t n = ir_type_count(&have), want = ir_type_count(&type), zero = 0, more = want - n;
    ir_type_t flat = ir_type(have.dtype, 1, &n);
    x = ir_reshape(fn, x, &flat);
    if (more > 0) x = ir_pad(fn, x, ir_scalar(fn, have.dtype, 1), &zero, &more, NULL);
    if (more < 0) x = ir_slice(fn, x, &zero, &want, NULL);
    type.dtype = have.dtype;
    return ir_reshape(fn, x, &type);
}

ir_val_t mix_fit(mix_t *mix, ir_val_t x, ir_type_t type)
{
    ir_type_t have = mix_type(mix, x);
    if (!ir_shape_equal(&have, &type) && mix_draw(mix, 3)) {
        x = reshaped(mix, x, type);
    } else if (!ir_shape_equal(&have, &type)) {
        bool is_bool = have.dtype == DT_I1, is_float = dtype_is_float(have.dtype);
        if (is_float) x = mix_before_sum(mix, x, ir_type_count(&have));
        x = ir_reduce_all(mix->fn, is_bool ? OP_or : is_float ? OP_add : OP_xor, x);
        x = ir_broadcast_scalar(mix->fn, mix_squash(mix, x), &type);
    }
    return ir_convert(mix->fn, x, type.dtype);
}

static int class_of(dtype_t dtype)
{
    return dtype == DT_I1 ? 0 : dtype_is_float(dtype) ? 1 : 2;
}

ir_val_t mix_like(mix_t *mix, ir_type_t type)
{
    ir_val_t shaped = IR_NONE, v = IR_NONE;
    for (int i = 0; i < 16; i++) {
        v = mix_any(mix);
        ir_type_t have = mix_type(mix, v);
        if (class_of(have.dtype) != class_of(type.dtype)) continue;
        if (ir_type_equal(&have, &type)) return v;
        if (ir_shape_equal(&have, &type)) shaped = v;
    }
    if (shaped != IR_NONE && mix_draw(mix, 2)) return ir_convert(mix->fn, shaped, type.dtype);
    if (type.dtype == DT_I1) return mix_pred(mix, type);
    return mix_fit(mix, dtype_is_float(type.dtype) ? mix_float(mix) : mix_int(mix), type);
}

ir_val_t mix_pred(mix_t *mix, ir_type_t shape)
{
    static const char *const directions[] = {"LT", "LE", "EQ", "NE", "GT", "GE"};
    ir_fn_t *fn = mix->fn;
    ir_type_t type = ir_type_with(shape, DT_I1), number = ir_type_with(shape, DT_I32);
    for (int i = 0; i < 12; i++) {
        ir_val_t v = mix_any(mix);
        ir_type_t have = mix_type(mix, v);
        if (!ir_shape_equal(&have, &shape) || !mix_is_exact(mix, v)) continue;
        if (have.dtype == DT_I1) return v;
        ir_val_t bound = ir_scalar_like(fn, v, mix_draw(mix, 3));
        return ir_compare(fn, directions[mix_draw(mix, 6)], v, bound);
    }
    if (shape.rank >= 2 && mix_draw(mix, 2)) /* a triangle */
        return ir_compare(fn, mix_draw(mix, 2) ? "GE" : "LT", ir_iota(fn, &number, shape.rank - 2),
                          ir_iota(fn, &number, shape.rank - 1));
    ir_val_t x = ir_broadcast_scalar(fn, mix_index(mix, 5), &number);
    if (shape.rank && mix_draw(mix, 2)) x = ir_iota(fn, &number, mix_draw(mix, shape.rank));
    return ir_convert(fn, ir_compare(fn, directions[mix_draw(mix, 6)], x, ir_scalar_like(fn, x, 2)),
                      type.dtype);
}

/* The integer scalar parameter, or one element of the index parameter. */
ir_val_t mix_index(mix_t *mix, int64_t n)
{
    ir_fn_t *fn = mix->fn;
    dtype_t dtype = mix_draw(mix, 2) ? DT_I32 : DT_I64;
    ir_val_t x = ir_fn_param(fn, 9);
    if (mix_draw(mix, 2)) {
        ir_type_t scalar = ir_type_scalar(DT_I32);
        int64_t at = mix_draw(mix, (int)mix->size[0]), end = at + 1;
        x = ir_reshape(fn, ir_slice(fn, ir_fn_param(fn, 4), &at, &end, NULL), &scalar);
    }
    x = ir_convert(fn, x, dtype);
    x = ir_op2(fn, OP_remainder, x, ir_scalar_like(fn, x, (double)n + 2));
    return ir_op2(fn, OP_subtract, x, ir_scalar_like(fn, x, 1));
}

/* --- functions --- */

static const struct {
    mix_maker *make;
    int weight;
    bool kinks; /* not for gradients */
} makers[] = {
    {mix_map, 6, false},           {mix_arithmetic, 10, false}, {mix_integer, 8, true},
    {mix_convert, 4, false},       {mix_mask, 5, false},        {mix_random, 2, false},
    {mix_turn, 7, false},          {mix_reshape, 4, false},     {mix_window, 4, false},
    {mix_join, 3, false},          {mix_spread, 4, false},      {mix_lookup, 3, false},
    {mix_place, 2, false},         {mix_dynamic, 3, false},     {mix_reduce, 8, false},
    {mix_product, 7, false},       {mix_convolve, 2, false},    {mix_pool, 2, false},
    {mix_sort, 2, false},          {mix_arg, 1, true},          {mix_softmax, 3, false},
    {mix_norm, 3, false},          {mix_dense, 4, false},       {mix_attention, 3, false},
    {mix_cross_entropy, 2, false}, {mix_rotate, 1, false},      {mix_if, 1, false},
    {mix_case, 1, false},          {mix_while, 1, false},       {mix_map_region, 2, false},
};
enum { N_MAKER = sizeof makers / sizeof *makers };

ir_val_t mix_step(mix_t *mix)
{
    int total = 0, at = 0;
    for (int i = 0; i < N_MAKER; i++) total += makers[i].weight;
    for (int left = mix_draw(mix, total); left >= makers[at].weight; at++)
        left -= makers[at].weight;
    if (mix->smooth && makers[at].kinks) return IR_NONE;
    ir_val_t x = mix_any(mix), y = makers[at].make(mix, x);
    if (y == IR_NONE || y == x) return IR_NONE;
    ir_type_t type = mix_type(mix, y);
    int64_t n = ir_type_count(&type);
    if (n < 1 || n > MIX_MOST) return IR_NONE;
    VEC_PUSH(&mix->pool, y);
    return y;
}

/* Three sizes whose product is no larger than a value may be; now and then one long one. */
static void draw_sizes(mix_t *mix)
{
    static const int64_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12,
                                    15, 16, 17, 24, 31, 32, 33, 48, 64, 65};
    static const int64_t longs[] = {255, 256, 300, 513, 700};
    int64_t *s = mix->size;
    do {
        for (int i = 0; i < 3; i++) s[i] = sizes[mix_draw(mix, i == 2 ? 8 : 20)];
        if (mix_draw(mix, 12) == 0) s[mix_draw(mix, 2)] = longs[mix_draw(mix, 5)];
    } while (s[0] * s[1] * s[2] > MIX_MOST);
}

static void begin(mix_t *mix, ir_module_t *module, const char *name)
{
    static const dtype_t ints[] = {DT_I8,  DT_I16,  DT_I32,  DT_I64,
                                   DT_UI8, DT_UI16, DT_UI32, DT_UI64};
    static const dtype_t floats[] = {DT_F64, DT_BF16, DT_F16, DT_F32};
    draw_sizes(mix);
    const int64_t a = mix->size[0], b = mix->size[1], c = mix->size[2];
    const ir_type_t types[N_PARAM] = {
        ir_type(DT_F32, 2, (int64_t[]){a, b}),
        ir_type(DT_F32, 3, (int64_t[]){c, a, b}),
        ir_type(DT_F32, 1, &b),
        ir_type(DT_F32, 2, (int64_t[]){b, c}),
        ir_type(DT_I32, 1, &a),
        ir_type(ints[mix_draw(mix, 8)], 2, (int64_t[]){a, b}),
        ir_type(floats[mix_draw(mix, 4)], 2, (int64_t[]){a, b}),
        ir_type(DT_I1, 2, (int64_t[]){a, b}),
        ir_type_scalar(DT_F32),
        ir_type_scalar(DT_I64),
    };
    mix->fn = ir_fn_new(module, name, N_PARAM, types);
    for (int i = 0; i < N_PARAM; i++) VEC_PUSH(&mix->pool, ir_fn_param(mix->fn, i));
}

/* What scalar functions end with: each of some values weighted by a cosine of its place, summed. */
static ir_val_t loss_of(mix_t *mix)
{
    ir_fn_t *fn = mix->fn;
    ir_val_t loss = ir_scalar(fn, DT_F32, 0);
    for (int i = 0; i < 3; i++) {
        ir_val_t x = ir_convert(fn, mix_float(mix), DT_F32);
        ir_type_t type = mix_type(mix, x);
        if (type.rank) {
            ir_val_t place = ir_iota(fn, &type, mix_draw(mix, type.rank));
            x = ir_op2(fn, OP_multiply, x, ir_op1(fn, OP_cosine, place));
        }
        x = mix_before_sum(mix, mix_squash(mix, x), ir_type_count(&type));
        x = ir_reduce_all(fn, OP_add, x);
        loss = ir_op2(fn, OP_add, loss, x);
    }
    return loss;
}

/* d primal / d floats, after the passes as in training; the primal's module is done with. */
static ir_fn_t *gradient(ir_module_t *module, ir_module_t *primal, const char *name, err_t *err)
{
    bool wanted[N_PARAM];
    if (passes_run(primal, NULL, NULL, err) < 0) return NULL;
    const ir_fn_t *fn = ir_module_entry(primal, err);
    for (int i = 0; fn && i < N_PARAM; i++)
        wanted[i] = dtype_is_float(ir_type_of(fn, ir_fn_param(fn, i))->dtype);
    ir_fn_t *g = fn ? ad_gradient(primal, fn, name, wanted, err) : NULL;
    return g ? ir_clone_fn(module, g, NULL, NULL, err) : NULL;
}

ir_fn_t *random_mix(ir_module_t *module, const char *name, uint64_t seed)
{
    mix_t mix = {.seed = rng_derive(seed, "mix")};
    ir_module_t *primal = ir_module_new();
    err_t err = {0};
    mix.smooth = mix_draw(&mix, 4) == 0;
    name = arena_strdup(module->arena, name);
    begin(&mix, mix.smooth ? primal : module, name);
    int n_step = 4 + mix_draw(&mix, mix.smooth ? 8 : 16), n_result = mix.smooth ? 1 : N_RESULT;
    for (int i = 0; i < n_step && mix.fn->err.code == ERR_OK; i++) mix_step(&mix);
    ir_val_t results[N_RESULT] = {0}; /* late values, so that most of the work is needed */
    for (int i = 0; i < n_result && mix.fn->err.code == ERR_OK; i++)
        results[i] = mix.smooth ? loss_of(&mix)
                                : mix.pool.at[mix.pool.n - 1 - (size_t)mix_draw(&mix, 6)];
    ir_fn_t *fn = ir_fn_finish(mix.fn, n_result, results, &err) == 0 ? mix.fn : NULL;
    if (fn && mix.smooth) fn = gradient(module, primal, name, &err);
    VEC_FREE(&mix.pool);
    VEC_FREE(&mix.roundoff);
    ir_module_destroy(&primal);
    if (!fn) fprintf(stderr, "random_mix(%llu): %s\n", (unsigned long long)seed, err.text);
    return fn;
}
