/* Random modules: a growing pool of values, ops drawn over it. */
#include "random_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "ir/build.h"

typedef struct {
    ir_fn_t *fn, *callee;
    uint64_t seed, counter;
    VEC(ir_val_t) pool;
} draw_t;

static int draw(draw_t *d, int n)
{
    return (int)(rng_bits(d->seed, d->counter++) % (uint64_t)n);
}

static ir_val_t any(draw_t *d)
{
    return d->pool.at[draw(d, (int)d->pool.n)];
}

static dtype_t dtype_of(const draw_t *d, ir_val_t v)
{
    return ir_type_of(d->fn, v)->dtype;
}

static ir_val_t any_of(draw_t *d, bool (*test)(dtype_t))
{
    for (int i = 0; i < 64; i++) {
        ir_val_t v = any(d);
        if (test(dtype_of(d, v))) return v;
    }
    ir_val_t v = 0; /* the parameters have one of each */
    while (!test(dtype_of(d, d->pool.at[v]))) v++;
    return d->pool.at[v];
}

/* Another value of v's type, or a constant of it: often a neutral element. */
static ir_val_t mate(draw_t *d, ir_val_t v)
{
    static const double values[] = {0, 1, 2, -1, 0.5, 3};
    for (int i = 0; i < 8; i++) {
        ir_val_t w = any(d);
        if (ir_type_equal(ir_type_of(d->fn, v), ir_type_of(d->fn, w))) return w;
    }
    bool is_float = dtype_is_float(dtype_of(d, v)), is_bool = dtype_of(d, v) == DT_I1;
    return ir_scalar_like(d->fn, v, values[draw(d, is_float ? 6 : is_bool ? 2 : 4)]);
}

static ir_val_t constant_like(draw_t *d, ir_val_t v)
{
    return ir_scalar_like(d->fn, v, draw(d, 2));
}

static bool is_bool(dtype_t dtype)
{
    return dtype == DT_I1;
}

static bool is_number(dtype_t dtype)
{
    return dtype != DT_I1;
}

static ir_val_t arithmetic(draw_t *d)
{
    static const op_code_t codes[] = {OP_add,     OP_subtract, OP_multiply,
                                      OP_maximum, OP_minimum,  OP_add};
    ir_val_t a = any_of(d, is_number), b = draw(d, 3) ? mate(d, a) : constant_like(d, a);
    if (dtype_is_float(dtype_of(d, a)) && draw(d, 6) == 0)
        return ir_op2(d->fn, OP_divide, a, ir_scalar_like(d->fn, a, draw(d, 2) ? 4 : 3));
    if (draw(d, 3) == 0) return ir_op2(d->fn, codes[draw(d, 6)], b, a);
    return ir_op2(d->fn, codes[draw(d, 6)], a, b);
}

static ir_val_t unary(draw_t *d)
{
    static const double powers[] = {0, 1, 2, 3, -1, 0.5, -0.5};
    ir_val_t x = any_of(d, is_number);
    if (!dtype_is_float(dtype_of(d, x)) || draw(d, 2)) return ir_op1(d->fn, OP_negate, x);
    x = ir_op1(d->fn, OP_abs, x); /* sqrt and power(x, 0.5) differ below zero */
    return ir_op2(d->fn, OP_power, x, ir_scalar_like(d->fn, x, powers[draw(d, 7)]));
}

static ir_val_t logic(draw_t *d)
{
    static const char *const directions[] = {"LT", "LE", "EQ", "NE", "GT", "GE"};
    ir_val_t a = any_of(d, is_number);
    switch (draw(d, 4)) {
    case 0: return ir_compare(d->fn, directions[draw(d, 6)], a, mate(d, a));
    case 1: return ir_op1(d->fn, OP_not, any_of(d, is_bool));
    case 2:
        a = any_of(d, is_bool);
        return ir_op2(d->fn, draw(d, 2) ? OP_and : OP_or, a,
                      draw(d, 2) ? mate(d, a) : constant_like(d, a));
    default: {
        ir_val_t p = any_of(d, is_bool);
        ir_type_t want = *ir_type_of(d->fn, p), have = *ir_type_of(d->fn, a);
        if (!ir_shape_equal(&want, &have))
            p = ir_compare(d->fn, "LT", a, ir_scalar_like(d->fn, a, 1));
        if (draw(d, 3) == 0) p = constant_like(d, p);
        return ir_select(d->fn, p, a, draw(d, 4) ? mate(d, a) : a);
    }
    }
}

static ir_val_t convert(draw_t *d)
{
    static const dtype_t floats[] = {DT_F32, DT_F64, DT_BF16, DT_F16}, ints[] = {DT_I32, DT_I64};
    ir_val_t x = any(d);
    if (dtype_is_float(dtype_of(d, x))) return ir_convert(d->fn, x, floats[draw(d, 4)]);
    return ir_convert(d->fn, x, draw(d, 2) ? ints[draw(d, 2)] : floats[draw(d, 2)]);
}

static ir_val_t move(draw_t *d)
{
    ir_val_t x = any(d);
    ir_type_t type = *ir_type_of(d->fn, x);
    int64_t n = ir_type_count(&type), perm[IR_MAX_RANK] = {0}, start[IR_MAX_RANK] = {0};
    int64_t high[IR_MAX_RANK] = {0};
    for (int i = 0; i < type.rank; i++) perm[i] = i;
    if (type.rank >= 2 && draw(d, 2)) {
        perm[0] = type.rank - 1;
        perm[type.rank - 1] = 0;
    }
    switch (draw(d, 6)) {
    case 0: return ir_transpose(d->fn, x, perm);
    case 1: type = ir_type(type.dtype, 3, (int64_t[]){1, n, 1}); return ir_reshape(d->fn, x, &type);
    case 2:
        type = ir_type(type.dtype, 2, (int64_t[]){n % 2 ? n : 2, n % 2 ? 1 : n / 2});
        return ir_reshape(d->fn, x, &type);
    case 3: return ir_slice(d->fn, x, start, type.dim, NULL);
    case 4: return ir_pad(d->fn, x, ir_scalar(d->fn, type.dtype, 1), start, high, NULL);
    default:
        if (type.rank > 3 || n > 64) return x;
        for (int i = type.rank; i > 0; i--) type.dim[i] = type.dim[i - 1];
        type.dim[0] = draw(d, 2) + 1;
        type.rank++;
        for (int i = 0; i < type.rank; i++) perm[i] = i + 1;
        return ir_broadcast(d->fn, x, &type, perm);
    }
}

/* if (constant or not) { a + a } else { a * b } */
static ir_val_t branch(draw_t *d)
{
    ir_fn_t *fn = d->fn;
    ir_val_t a = any_of(d, is_number), b = mate(d, a);
    ir_type_t type = *ir_type_of(fn, a);
    ir_val_t x = ir_convert(fn, ir_fn_param(fn, 3), DT_F32);
    ir_val_t pred = draw(d, 2) ? ir_scalar(fn, DT_I1, draw(d, 2))
                               : ir_compare(fn, "LT", x, ir_scalar(fn, DT_F32, 0));
    ir_region_t *saved, *region[2];
    for (int r = 0; r < 2; r++) {
        region[r] = ir_region_begin(fn, 0, NULL, &saved);
        ir_val_t y = ir_op2(fn, r ? OP_multiply : OP_add, a, r ? b : a);
        ir_region_end(fn, region[r], 1, &y, saved);
    }
    ir_op_t *op = ir_emit(fn, OP_if, 1, &pred, NULL, 1, &type, 2, region);
    return op ? op->out : IR_NONE;
}

static ir_val_t one_op(draw_t *d)
{
    switch (draw(d, 10)) {
    case 0:
    case 1:
    case 2: return arithmetic(d);
    case 3: return unary(d);
    case 4: return logic(d);
    case 5: return convert(d);
    case 6: return branch(d);
    case 7: return ir_call(d->fn, d->callee, &d->pool.at[0]);
    default: return move(d);
    }
}

static ir_fn_t *helper(ir_module_t *m, const ir_type_t *type)
{
    ir_fn_t *fn = ir_fn_new(m, "helper", 1, type);
    ir_val_t x = ir_fn_param(fn, 0);
    ir_val_t y = ir_op2(fn, OP_add, ir_op2(fn, OP_multiply, x, ir_scalar_like(fn, x, 1)), x);
    fn->is_private = true;
    ir_fn_finish(fn, 1, &y, NULL);
    return fn;
}

ir_module_t *random_program(uint64_t seed, int n_op)
{
    ir_module_t *m = ir_module_new();
    int64_t dim[2] = {2, 3};
    ir_type_t types[4] = {ir_type(DT_F32, 2, dim), ir_type(DT_I32, 2, dim), ir_type(DT_I1, 2, dim),
                          ir_type_scalar(DT_F32)};
    draw_t d = {.seed = seed, .callee = helper(m, types)};
    d.fn = ir_fn_new(m, "main", 4, types);
    for (int i = 0; i < 4; i++) VEC_PUSH(&d.pool, ir_fn_param(d.fn, i));
    for (int i = 0; i < n_op; i++) {
        ir_val_t v = one_op(&d);
        if (v != IR_NONE) VEC_PUSH(&d.pool, v);
    }
    ir_val_t results[6];
    for (int i = 0; i < 6; i++) results[i] = any(&d);
    results[0] = d.pool.at[d.pool.n - 1];
    err_t err = {0};
    int status = ir_fn_finish(d.fn, 6, results, &err);
    VEC_FREE(&d.pool);
    if (status == 0) return m;
    fprintf(stderr, "random_program(%llu): %s\n", (unsigned long long)seed, err.text);
    ir_module_destroy(&m);
    return NULL;
}

tensor_t *random_inputs(const ir_fn_t *fn, uint64_t seed)
{
    int n = fn->body->n_arg;
    tensor_t *in = mem_calloc((size_t)n + 1, sizeof *in);
    uint64_t at = 0;
    for (int i = 0; i < n; i++) {
        in[i] = tensor_new(ir_type_of(fn, ir_fn_param(fn, i)));
        dtype_t dtype = in[i].type.dtype;
        for (int64_t k = 0; k < ir_type_count(&in[i].type); k++) {
            double u = rng_uniform(seed, at++);
            if (dtype_is_complex(dtype))
                tensor_set_complex(&in[i], k, 4 * u - 2, 4 * rng_uniform(seed, at++) - 2);
            else if (dtype_is_float(dtype))
                tensor_set_f64(&in[i], k, 4 * u - 2);
            else
                tensor_set_i64(&in[i], k, dtype == DT_I1 ? u < 0.5 : (int64_t)(17 * u) - 8);
        }
    }
    return in;
}

void tensors_free(tensor_t **tensors_p, int n)
{
    for (int i = 0; *tensors_p && i < n; i++) tensor_fini(&(*tensors_p)[i]);
    free(*tensors_p);
    *tensors_p = NULL;
}

static double number_deviation(double x, double y)
{
    if ((isnan(x) && isnan(y)) || x == y) return 0;
    double d = fabs(x - y) / fmax(1, fabs(x));
    return isnan(d) ? INFINITY : d;
}

static double element_deviation(const tensor_t *a, const tensor_t *b, int64_t k)
{
    if (!dtype_is_inexact(a->type.dtype))
        return tensor_get_i64(a, k) == tensor_get_i64(b, k) ? 0 : INFINITY;
    return fmax(number_deviation(tensor_get_f64(a, k), tensor_get_f64(b, k)),
                number_deviation(tensor_get_imag(a, k), tensor_get_imag(b, k)));
}

double tensors_deviation(const tensor_t *a, const tensor_t *b, int n)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        if (!ir_type_equal(&a[i].type, &b[i].type)) return INFINITY;
        for (int64_t k = 0; k < ir_type_count(&a[i].type); k++)
            worst = fmax(worst, element_deviation(&a[i], &b[i], k));
    }
    return worst;
}
