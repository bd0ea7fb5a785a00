/* A growing pool of f32 values; every op is drawn with operands and sizes that fit. Values stay
 * within a few units: products and sums are squashed by tanh. */
#include "plan_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/vec.h"
#include "ir/build.h"

enum { MOST = 6000, N_PARAM = 5 }; /* elements of a value */

typedef struct {
    ir_fn_t *fn;
    uint64_t seed, counter;
    VEC(ir_val_t) pool;
} draw_t;

static int draw(draw_t *d, int n)
{
    return (int)(rng_bits(d->seed, d->counter++) % (uint64_t)n);
}

static ir_val_t any(draw_t *d)
{
    int n = (int)d->pool.n, recent = n < 6 ? n : 6;
    return d->pool.at[draw(d, 2) ? n - 1 - draw(d, recent) : draw(d, n)];
}

static const ir_type_t *type_of(const draw_t *d, ir_val_t v)
{
    return ir_type_of(d->fn, v);
}

static ir_val_t squash(draw_t *d, ir_val_t x)
{
    return ir_op1(d->fn, OP_tanh, x);
}

static ir_val_t map(draw_t *d, ir_val_t x)
{
    static const op_code_t unary[] = {OP_tanh, OP_negate, OP_abs, OP_logistic, OP_cosine};
    static const op_code_t binary[] = {OP_add, OP_subtract, OP_multiply, OP_maximum, OP_minimum};
    for (int i = 0; i < 6; i++) {
        ir_val_t y = any(d);
        if (!ir_shape_equal(type_of(d, x), type_of(d, y)) || y == x) continue;
        if (draw(d, 3) == 0)
            return ir_select(d->fn, ir_compare(d->fn, "LT", x, y), x, squash(d, y));
        return squash(d, ir_op2(d->fn, binary[draw(d, 5)], x, y));
    }
    return ir_op1(d->fn, unary[draw(d, 5)], x);
}

static ir_val_t reduce(draw_t *d, ir_val_t x)
{
    static const op_code_t ops[] = {OP_add, OP_add, OP_maximum, OP_minimum};
    const ir_type_t t = *type_of(d, x);
    int64_t dims[IR_MAX_RANK];
    int n = 0;
    for (int i = 0; i < t.rank; i++)
        if (draw(d, 2)) dims[n++] = i;
    ir_val_t y = squash(d, ir_reduce(d->fn, ops[draw(d, 4)], x, dims, n));
    if (draw(d, 2) || n == t.rank) return y;
    int64_t kept[IR_MAX_RANK]; /* back over x, as norms do */
    for (int i = 0, k = 0, r = 0; i < t.rank; i++) {
        if (r < n && dims[r] == i)
            r++;
        else
            kept[k++] = i;
    }
    return ir_op2(d->fn, OP_multiply, x, ir_broadcast(d->fn, y, &t, kept));
}

static ir_val_t turn(draw_t *d, ir_val_t x)
{
    int rank = type_of(d, x)->rank;
    int64_t perm[IR_MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int k = draw(d, i + 1);
        int64_t t = perm[i];
        perm[i] = perm[k];
        perm[k] = t;
    }
    return ir_transpose(d->fn, x, perm);
}

static ir_val_t reshape(draw_t *d, ir_val_t x)
{
    int64_t n = ir_type_count(type_of(d, x)), dim[4];
    int rank = 0;
    while (rank < 3 && n > 1) {
        int64_t part = 2 + draw(d, 15);
        if (n % part) part = draw(d, 3) ? 1 : n;
        dim[rank++] = part;
        n /= part;
    }
    dim[rank++] = n;
    ir_type_t to = ir_type(DT_F32, rank, dim);
    return ir_reshape(d->fn, x, &to);
}

static ir_val_t window(draw_t *d, ir_val_t x)
{
    const ir_type_t t = *type_of(d, x);
    int64_t a[IR_MAX_RANK], b[IR_MAX_RANK], c[IR_MAX_RANK], dims[1];
    bool slice = draw(d, 2);
    if (t.rank == 0) return x;
    if (draw(d, 4) == 0) {
        dims[0] = draw(d, t.rank);
        return ir_reverse(d->fn, x, dims, 1);
    }
    for (int i = 0; i < t.rank; i++) {
        int64_t n = t.dim[i];
        a[i] = slice ? draw(d, (int)n) : draw(d, 3) - 1;
        b[i] = slice ? a[i] + 1 + draw(d, (int)(n - a[i])) : draw(d, 3);
        c[i] = slice ? 1 + draw(d, 2) : draw(d, 4) == 0;
        if (!slice && n + a[i] < 1) a[i] = 0;
    }
    if (slice) return ir_slice(d->fn, x, a, b, c);
    return ir_pad(d->fn, x, ir_scalar(d->fn, DT_F32, 0.5), a, b, c);
}

static ir_val_t join(draw_t *d, ir_val_t x)
{
    const ir_type_t t = *type_of(d, x);
    int dim = t.rank ? draw(d, t.rank) : -1;
    ir_val_t parts[3] = {x, x, x};
    for (int i = 0; i < 12 && dim >= 0; i++) {
        ir_val_t y = any(d);
        const ir_type_t *u = type_of(d, y);
        bool fits = u->rank == t.rank;
        for (int k = 0; fits && k < t.rank; k++) fits = k == dim || u->dim[k] == t.dim[k];
        if (fits) parts[draw(d, 3)] = y;
    }
    return dim < 0 ? x : ir_concatenate(d->fn, parts, 2 + draw(d, 2), dim);
}

static ir_val_t spread(draw_t *d, ir_val_t x)
{
    const ir_type_t t = *type_of(d, x);
    ir_type_t to = {.dtype = DT_F32};
    int64_t dims[IR_MAX_RANK];
    int next = 0;
    while (to.rank < 4 && (next < t.rank || draw(d, 2))) {
        bool take = next < t.rank && (draw(d, 2) || to.rank + t.rank - next >= 4);
        if (take) dims[next] = to.rank;
        to.dim[to.rank++] = take ? t.dim[next++] : 2 + draw(d, 5);
    }
    return next < t.rank ? x : ir_broadcast(d->fn, x, &to, dims);
}

static ir_val_t product(draw_t *d, ir_val_t x)
{
    const ir_type_t a = *type_of(d, x);
    for (int i = 0; i < 10; i++) {
        ir_val_t y = any(d);
        const ir_type_t *b = type_of(d, y);
        ir_dot_t dot = {0};
        bool used[IR_MAX_RANK] = {false};
        for (int p = 0; p < a.rank; p++)
            for (int q = 0; q < b->rank; q++) {
                if (used[q] || a.dim[p] != b->dim[q] || draw(d, 3) == 0) continue;
                used[q] = true;
                if (draw(d, 3)) {
                    dot.lhs_contract[dot.n_contract] = p;
                    dot.rhs_contract[dot.n_contract++] = q;
                } else {
                    dot.lhs_batch[dot.n_batch] = p;
                    dot.rhs_batch[dot.n_batch++] = q;
                }
                break;
            }
        if (dot.n_contract == 0 || a.rank + b->rank > 7) continue;
        return squash(d, ir_dot(d->fn, x, y, &dot, DT_F32));
    }
    return x;
}

/* Rows of x by the integer parameter, or a window at its first element. */
static ir_val_t pick(draw_t *d, ir_val_t x)
{
    const ir_type_t t = *type_of(d, x);
    ir_val_t rows = ir_fn_param(d->fn, N_PARAM - 1);
    ir_type_t one = ir_type(DT_I64, 1, (int64_t[]){1}), scalar = ir_type_scalar(DT_I64);
    if (t.rank == 0) return x;
    ir_val_t start = ir_slice(d->fn, rows, (int64_t[]){0}, (int64_t[]){1}, NULL);
    start = ir_reshape(d->fn, ir_reshape(d->fn, start, &one), &scalar);
    ir_val_t in[IR_MAX_RANK + 1] = {x};
    int64_t size[IR_MAX_RANK];
    for (int i = 0; i < t.rank; i++) {
        in[1 + i] = start;
        size[i] = 1 + draw(d, (int)t.dim[i]);
    }
    ir_attrs_t attrs = {0};
    attr_set_ints(d->fn->module->arena, &attrs, "slice_sizes", size, t.rank);
    ir_op_t *op = ir_emit(d->fn, OP_dynamic_slice, 1 + t.rank, in, &attrs, 1, NULL, 0, NULL);
    return op ? op->out : IR_NONE;
}

static void step(draw_t *d)
{
    static ir_val_t (*const makers[])(draw_t *, ir_val_t) = {
        map, map, map, reduce, reduce, turn, reshape, window, join, spread, product, product, pick};
    ir_val_t x = any(d), y = makers[draw(d, sizeof makers / sizeof *makers)](d, x);
    if (y == IR_NONE || y == x) return;
    int64_t n = ir_type_count(type_of(d, y));
    if (n > 0 && n <= MOST) VEC_PUSH(&d->pool, y);
}

static void build(ir_module_t *module, uint64_t seed, int number, int n_op)
{
    char name[16];
    snprintf(name, sizeof name, "f%d", number);
    draw_t d = {.seed = seed};
    const ir_type_t params[N_PARAM] = {
        ir_type(DT_F32, 2, (int64_t[]){6, 8}),
        ir_type(DT_F32, 3, (int64_t[]){2, 6, 4}),
        ir_type(DT_F32, 1, (int64_t[]){8}),
        ir_type(DT_F32, 2, (int64_t[]){draw(&d, 3) ? 12 : 640, 8}),
        ir_type(DT_I64, 1, (int64_t[]){5}),
    };
    d.fn = ir_fn_new(module, arena_strdup(module->arena, name), N_PARAM, params);
    for (int i = 0; i < N_PARAM - 1; i++) VEC_PUSH(&d.pool, ir_fn_param(d.fn, i));
    for (int i = 0; i < n_op && d.fn->err.code == ERR_OK; i++) step(&d);
    ir_val_t results[4];
    for (int i = 0; i < 4; i++) results[i] = any(&d);
    err_t err = {0};
    if (ir_fn_finish(d.fn, 4, results, &err) < 0) {
        fprintf(stderr, "random program: %s\n", err.text);
        abort();
    }
    VEC_FREE(&d.pool);
}

ir_module_t *plan_random(uint64_t seed, int n_fn, int n_op)
{
    ir_module_t *module = ir_module_new();
    for (int i = 0; i < n_fn; i++) build(module, rng_mix(seed * 1000 + (uint64_t)i), i, n_op);
    return module;
}
