/* Random programs over tensors of every element type: maps of the op table by their type rule,
 * views, reductions, products; regions and places from data are in random_wide_more.c. */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "random_program.h"
#include "random_wide_in.h"

enum { MAX_ELEMENTS = 96, N_DTYPE = 21, N_RESULT = 8 };

static const dtype_t dtypes[N_DTYPE] = {
    DT_F32, DT_I1,       DT_F64,        DT_F16,      DT_BF16,   DT_I8,   DT_I16,
    DT_I32, DT_I64,      DT_UI8,        DT_UI16,     DT_UI32,   DT_UI64, DT_I4,
    DT_UI2, DT_F8E4M3FN, DT_F8E5M2FNUZ, DT_F4E2M1FN, DT_F8E3M4, DT_C64,  DT_C128};

int wide_draw(wide_t *d, int n)
{
    return (int)(rng_bits(d->seed, d->counter++) % (uint64_t)n);
}

ir_val_t wide_any(wide_t *d)
{
    return d->pool.at[wide_draw(d, (int)d->pool.n)];
}

ir_type_t wide_type(const wide_t *d, ir_val_t v)
{
    return *ir_type_of(d->fn, v);
}

/* Another value of this type, or a constant. */
ir_val_t wide_mate(wide_t *d, ir_type_t type)
{
    for (int i = 0; i < 12; i++) {
        ir_val_t w = wide_any(d);
        if (ir_type_equal(ir_type_of(d->fn, w), &type)) return w;
    }
    return ir_splat(d->fn, &type, wide_draw(d, type.dtype == DT_I1 ? 2 : 4));
}

/* The builder keeps its first error for good: ask the type rule first. */
static bool fits(const wide_t *d, op_code_t code, int n, const ir_val_t *in)
{
    err_t err = {0};
    ir_type_t out = {.dtype = DT_NONE};
    ir_attrs_t none = {0};
    ir_val_t operands[3] = {in[0], n > 1 ? in[1] : 0, n > 2 ? in[2] : 0};
    ir_op_t op = {.code = code, .n_in = n, .n_out = 1, .in = operands, .attrs = none};
    return op_def(code)->infer && op_def(code)->infer(d->fn, &op, &out, &err) == 0;
}

/* Any map of the table that needs no attribute, on operands of one type. */
static ir_val_t map(wide_t *d)
{
    for (int attempt = 0; attempt < 20; attempt++) {
        op_code_t code = (op_code_t)(1 + wide_draw(d, OP_COUNT - 1));
        const op_def_t *def = op_def(code);
        if (def->kind != K_MAP || !def->expr || def->n_in < 1 || def->n_in > 3) continue;
        ir_val_t in[3] = {wide_any(d), 0, 0};
        for (int i = 1; i < def->n_in; i++) in[i] = wide_mate(d, wide_type(d, in[0]));
        /* Powers of what may turn out constant become products, which round otherwise. */
        if (code == OP_power && in[1] >= N_DTYPE) continue;
        if (!fits(d, code, def->n_in, in)) continue;
        ir_op_t *op = ir_emit(d->fn, code, def->n_in, in, NULL, 1, NULL, 0, NULL);
        return op ? op->out : IR_NONE;
    }
    return IR_NONE;
}

static ir_val_t compare_select(wide_t *d)
{
    static const char *const directions[] = {"LT", "LE", "EQ", "NE", "GT", "GE"};
    ir_val_t a = wide_any(d), b = wide_mate(d, wide_type(d, a));
    ir_val_t p = ir_compare(d->fn, directions[wide_draw(d, 6)], a, b);
    return wide_draw(d, 2) ? p : ir_select(d->fn, p, a, b);
}

static ir_val_t convert(wide_t *d)
{
    ir_val_t x = wide_any(d);
    dtype_t from = wide_type(d, x).dtype, to = dtypes[wide_draw(d, N_DTYPE)];
    if (dtype_is_complex(from) && !dtype_is_inexact(to)) {
        x = ir_op1(d->fn, wide_draw(d, 2) ? OP_real : OP_imag, x);
        from = dtype_part(from);
    }
    /* Floats outside of an integer type's range have no defined value there: bring them inside. */
    if (dtype_is_float(from) && !dtype_is_inexact(to) && to != DT_I1) {
        x = ir_op3(d->fn, OP_clamp, ir_scalar_like(d->fn, x, 0), x, ir_scalar_like(d->fn, x, 100));
        ir_val_t number = ir_compare(d->fn, "EQ", x, x);
        x = ir_select(d->fn, number, x, ir_scalar_like(d->fn, x, 0));
    }
    return ir_convert(d->fn, x, to);
}

static ir_val_t resize(wide_t *d, ir_val_t x, bool grow)
{
    ir_type_t t = wide_type(d, x);
    int64_t a[IR_MAX_RANK] = {0}, b[IR_MAX_RANK] = {0}, c[IR_MAX_RANK] = {0};
    for (int i = 0; i < t.rank; i++) {
        if (grow) { /* pad, sometimes negative, sometimes between */
            a[i] = wide_draw(d, 3) - (t.dim[i] > 1);
            b[i] = wide_draw(d, 2);
            c[i] = wide_draw(d, 3) == 0;
        } else {
            a[i] = wide_draw(d, (int)t.dim[i]);
            b[i] = a[i] + 1 + wide_draw(d, (int)(t.dim[i] - a[i]));
            c[i] = 1 + wide_draw(d, 2);
        }
    }
    return grow ? ir_pad(d->fn, x, ir_scalar(d->fn, t.dtype, wide_draw(d, 2)), a, b, c)
                : ir_slice(d->fn, x, a, b, c);
}

static ir_val_t reshape(wide_t *d, ir_val_t x)
{
    ir_type_t t = wide_type(d, x);
    int64_t n = ir_type_count(&t);
    int64_t cut = n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : 1;
    ir_type_t to = ir_type(t.dtype, 2, (int64_t[]){n / cut, cut});
    if (wide_draw(d, 3) == 0) to = ir_type(t.dtype, 1, &n);
    return ir_reshape(d->fn, x, &to);
}

static ir_val_t move(wide_t *d)
{
    ir_val_t x = wide_any(d);
    ir_type_t t = wide_type(d, x);
    int64_t perm[IR_MAX_RANK] = {0};
    if (t.rank == 0 || wide_draw(d, 6) == 0) {
        ir_type_t to = ir_type(t.dtype, t.rank + 1, (int64_t[IR_MAX_RANK]){0});
        for (int i = 0; i < t.rank; i++) to.dim[i + 1] = t.dim[i], perm[i] = i + 1;
        to.dim[0] = 1 + wide_draw(d, 3);
        return t.rank > 3 ? x : ir_broadcast(d->fn, x, &to, perm);
    }
    for (int i = 0; i < t.rank; i++) perm[i] = (i + 1) % t.rank;
    switch (wide_draw(d, 6)) {
    case 0: return ir_transpose(d->fn, x, perm);
    case 1: return reshape(d, x);
    case 2: return ir_reverse(d->fn, x, (int64_t[]){wide_draw(d, t.rank)}, 1);
    case 3: return resize(d, x, true);
    case 4: return resize(d, x, false);
    default: {
        ir_val_t parts[2] = {x, wide_mate(d, t)};
        return ir_concatenate(d->fn, parts, 2, wide_draw(d, t.rank));
    }
    }
}

static ir_val_t fold(wide_t *d)
{
    static const op_code_t any_number[] = {OP_add, OP_maximum, OP_minimum, OP_multiply};
    static const op_code_t bits[] = {OP_and, OP_or, OP_xor};
    ir_val_t x = wide_any(d);
    ir_type_t t = wide_type(d, x);
    if (t.rank == 0) return IR_NONE;
    int64_t dims[2] = {wide_draw(d, t.rank), 0};
    int n = 1;
    if (t.rank > 1 && wide_draw(d, 3) == 0) dims[1] = (dims[0] + 1) % t.rank, n = 2;
    bool is_float = dtype_is_inexact(t.dtype), is_bool = t.dtype == DT_I1;
    if (dtype_is_complex(t.dtype)) /* without an order */
        return ir_reduce(d->fn, wide_draw(d, 2) ? OP_add : OP_multiply, x, dims, n);
    op_code_t code = is_bool || (!is_float && wide_draw(d, 3) == 0)
                         ? bits[wide_draw(d, is_bool ? 2 : 3)]
                         : any_number[wide_draw(d, 4)];
    return ir_reduce(d->fn, code, x, dims, n);
}

static ir_val_t product(wide_t *d)
{
    ir_val_t a = wide_any(d);
    ir_type_t t = wide_type(d, a);
    if (t.rank != 2 || t.dtype == DT_I1) return IR_NONE;
    ir_type_t other = ir_type(t.dtype, 2, (int64_t[]){t.dim[1], 1 + wide_draw(d, 3)});
    return ir_matmul(d->fn, a, wide_mate(d, other));
}

static ir_val_t index_op(wide_t *d)
{
    ir_val_t x = wide_any(d), at[IR_MAX_RANK];
    ir_type_t t = wide_type(d, x), small = t;
    if (t.rank == 0) return IR_NONE;
    for (int i = 0; i < t.rank; i++) {
        at[i] = ir_scalar(d->fn, DT_I32, wide_draw(d, 7) - 2); /* often out of bounds: both clamp */
        small.dim[i] = 1 + wide_draw(d, (int)t.dim[i]);
    }
    if (wide_draw(d, 2)) return ir_dynamic_slice(d->fn, x, at, small.dim);
    return ir_dynamic_update_slice(d->fn, x, wide_mate(d, small), at);
}

static ir_val_t one_op(wide_t *d)
{
    static wide_maker *const others[] = {wide_sort,   wide_lookup, wide_place, wide_window,
                                         wide_branch, wide_loop,   wide_pick,  wide_dynamic};
    switch (wide_draw(d, 16)) {
    case 12:
    case 13:
    case 14:
    case 15: return others[wide_draw(d, 8)](d, wide_any(d));
    case 0:
    case 1:
    case 2:
    case 3: return map(d);
    case 4: return compare_select(d);
    case 5: return convert(d);
    case 6: return fold(d);
    case 7: return product(d);
    case 8: return index_op(d);
    default: return move(d);
    }
}

/* --- what every way of computing gives to the bit --- */

/* Plans contract products and sums of f32 and f64, and take their own elementary functions and
 * order of sums; narrower floats are rounded after each op. */
static bool rounds_one_way(op_code_t code, dtype_t dtype)
{
    bool narrow = dtype_is_float(dtype) && dtype_bits(dtype) <= 16;
    switch (code) {
    case OP_add:
    case OP_subtract:
    case OP_multiply: return narrow;
    case OP_divide:
    case OP_sqrt:
    case OP_remainder:
    case OP_floor:
    case OP_ceil:
    case OP_round_nearest_afz:
    case OP_round_nearest_even: return dtype_is_float(dtype);
    case OP_constant:
    case OP_negate:
    case OP_abs:
    case OP_sign:
    case OP_maximum:
    case OP_minimum:
    case OP_chlo_next_after: return !dtype_is_complex(dtype);
    case OP_select:
    case OP_clamp:
    case OP_convert:
    case OP_complex:
    case OP_real:
    case OP_imag:
    case OP_chlo_conj:
    case OP_reshape:
    case OP_transpose:
    case OP_broadcast_in_dim:
    case OP_reverse:
    case OP_concatenate:
    case OP_slice:
    case OP_pad:
    case OP_dynamic_slice:
    case OP_dynamic_update_slice:
    case OP_gather:
    case OP_iota: return true;
    default: return false;
    }
}

static bool is_control(op_code_t code)
{
    return code == OP_if || code == OP_case || code == OP_while;
}

static bool is_exact_op(const wide_t *d, const ir_op_t *op, ir_val_t v)
{
    dtype_t dtype = ir_type_of(d->fn, v)->dtype;
    dtype_t from = op->n_in ? ir_type_of(d->fn, op->in[0])->dtype : dtype;
    for (int i = 0; i < op->n_in; i++)
        if (!d->exact.at[op->in[i]]) return false;
    if (op->code == OP_bitcast_convert) return !dtype_is_inexact(from); /* a NaN has many forms */
    if (op->code == OP_sort) return true;                               /* by integers */
    for (int r = 0; r < op->n_region && is_control(op->code); r++)
        for (int i = 0; i < op->region[r]->n_result; i++)
            if (!d->exact.at[op->region[r]->result[i]]) return false;
    if (is_control(op->code)) return true;
    if (op->n_region && dtype_is_inexact(dtype)) { /* scatter: or the update itself */
        op_code_t reducer = ir_reducer_op(op->region[0]);
        if (op->code == OP_scatter && op->region[0]->n_op == 0) return true;
        return reducer == OP_maximum || reducer == OP_minimum;
    }
    return !dtype_is_inexact(dtype) || rounds_one_way(op->code, dtype);
}

static bool is_exact(wide_t *d, ir_val_t v)
{
    for (ir_val_t i = (ir_val_t)d->exact.n; i <= v; i++) {
        const ir_op_t *op = d->fn->value[i].def;
        bool exact = op ? is_exact_op(d, op, i) : true;
        VEC_PUSH(&d->exact, exact);
    }
    return d->exact.at[v];
}

/* A late value; with `exact` one of those, the latest of a few tries. */
static ir_val_t result(wide_t *d, bool exact)
{
    size_t n = d->pool.n, back = (size_t)wide_draw(d, 12);
    while (exact && !is_exact(d, d->pool.at[n - 1 - back])) back++; /* parameters are exact */
    return d->pool.at[n - 1 - back];
}

static ir_fn_t *wide(ir_module_t *m, const char *name, uint64_t seed, int n_op, bool exact)
{
    ir_type_t types[N_DTYPE];
    wide_t d = {.seed = rng_derive(seed, "wide")};
    for (int i = 0; i < N_DTYPE; i++)
        types[i] = ir_type(dtypes[i], 2, (int64_t[]){2 + (i + (int)seed) % 3, 3});
    d.fn = ir_fn_new(m, name, N_DTYPE, types);
    for (int i = 0; i < N_DTYPE; i++) VEC_PUSH(&d.pool, ir_fn_param(d.fn, i));
    for (int i = 0; i < n_op && d.fn->err.code == ERR_OK; i++) {
        ir_val_t v = one_op(&d);
        if (v == IR_NONE) continue;
        int64_t n = ir_type_count(ir_type_of(d.fn, v));
        if (n > 0 && n <= MAX_ELEMENTS) VEC_PUSH(&d.pool, v);
    }
    ir_val_t results[N_RESULT];
    for (int i = 0; i < N_RESULT; i++) results[i] = result(&d, exact);
    err_t err = {0};
    int status = ir_fn_finish(d.fn, N_RESULT, results, &err);
    VEC_FREE(&d.pool);
    VEC_FREE(&d.exact);
    if (status == 0) return d.fn;
    fprintf(stderr, "random_program_wide(%llu): %s\n", (unsigned long long)seed, err.text);
    return NULL;
}

ir_module_t *random_program_wide(uint64_t seed, int n_op)
{
    ir_module_t *m = ir_module_new();
    if (!wide(m, "main", seed, n_op, false)) ir_module_destroy(&m);
    return m;
}

ir_fn_t *random_wide_exact(ir_module_t *module, const char *name, uint64_t seed, int n_op)
{
    return wide(module, arena_strdup(module->arena, name), seed, n_op, true);
}

void random_range(uint64_t *first, uint64_t *count)
{
    unsigned long long from = 0, n = 0;
    const char *text = getenv("PCP_PROGRAMS");
    if (!text || sscanf(text, "%llu:%llu", &from, &n) != 2) return;
    *first = from;
    *count = n;
}
