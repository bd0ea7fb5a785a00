/* Ops with regions whose bodies are random themselves. */
#include "random_mix_in.h"

enum { MAX_DEPTH = 2 };

/* A few steps at the cursor, then a value of this type; nothing of them is left in the pool. */
static ir_val_t body(mix_t *mix, ir_type_t type)
{
    size_t n = mix->pool.n;
    mix->depth++;
    int n_step = 1 + mix_draw(mix, 4);
    for (int i = 0; i < n_step; i++) mix_step(mix);
    ir_val_t y = mix_like(mix, type);
    if (mix->pool.n > n) {
        ir_val_t last = mix->pool.at[mix->pool.n - 1];
        dtype_t have = mix_dtype(mix, last);
        if (dtype_is_float(have) == dtype_is_float(type.dtype) &&
            (have == DT_I1) == (type.dtype == DT_I1))
            y = mix_fit(mix, last, type);
    }
    mix->depth--;
    mix->pool.n = n;
    return mix_squash(mix, y);
}

/* if and case over one or two results. */
static ir_val_t branches(mix_t *mix, op_code_t code, ir_val_t selector, int n_branch, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    ir_type_t types[2] = {mix_type(mix, x), mix_type(mix, mix_any(mix))};
    ir_region_t *saved, *regions[3];
    int n = 1 + mix_draw(mix, 2);
    for (int r = 0; r < n_branch; r++) {
        ir_val_t results[2] = {IR_NONE, IR_NONE};
        regions[r] = ir_region_begin(fn, 0, NULL, &saved);
        for (int i = 0; i < n; i++) results[i] = body(mix, types[i]);
        ir_region_end(fn, regions[r], n, results, saved);
    }
    ir_op_t *op = ir_emit(fn, code, 1, &selector, NULL, n, types, n_branch, regions);
    return op ? op->out + (ir_val_t)mix_draw(mix, n) : IR_NONE;
}

ir_val_t mix_if(mix_t *mix, ir_val_t x)
{
    if (mix->depth >= MAX_DEPTH) return IR_NONE;
    return branches(mix, OP_if, mix_pred(mix, ir_type_scalar(DT_I1)), 2, x);
}

ir_val_t mix_case(mix_t *mix, ir_val_t x)
{
    if (mix->depth >= MAX_DEPTH) return IR_NONE;
    ir_val_t selector = ir_convert(mix->fn, mix_index(mix, 4), DT_I32); /* often out of range */
    return branches(mix, OP_case, selector, 1 + mix_draw(mix, 3), x);
}

/* i = 0; while (i < limit) { x = f(x, y), y = g(x, y), i++ }; the limit a constant or computed. */
ir_val_t mix_while(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    if (mix->depth >= MAX_DEPTH) return IR_NONE;
    ir_type_t counter = ir_type_scalar(mix_draw(mix, 2) ? DT_I32 : DT_I64);
    ir_val_t limit = mix_draw(mix, 2) ? ir_scalar(fn, counter.dtype, mix_draw(mix, 4))
                                      : ir_convert(fn, mix_index(mix, 3), counter.dtype);
    ir_val_t in[3] = {ir_scalar(fn, counter.dtype, 0), x, mix_any(mix)};
    ir_type_t types[3] = {counter, mix_type(mix, in[1]), mix_type(mix, in[2])};
    ir_region_t *saved, *regions[2];
    regions[0] = ir_region_begin(fn, 3, types, &saved);
    ir_val_t more = ir_compare(fn, "LT", regions[0]->arg, limit);
    ir_region_end(fn, regions[0], 1, &more, saved);
    regions[1] = ir_region_begin(fn, 3, types, &saved);
    ir_val_t arg = regions[1]->arg, results[3];
    size_t n = mix->pool.n;
    for (ir_val_t i = 0; i < 3; i++) VEC_PUSH(&mix->pool, arg + i);
    results[0] = ir_op2(fn, OP_add, arg, ir_scalar_like(fn, arg, 1));
    for (int i = 1; i < 3; i++)
        results[i] = mix_draw(mix, 3) ? body(mix, types[i]) : arg + (ir_val_t)i;
    mix->pool.n = n;
    ir_region_end(fn, regions[1], 3, results, saved);
    ir_op_t *op = ir_emit(fn, OP_while, 3, in, NULL, 3, types, 2, regions);
    return op ? op->out + (ir_val_t)(1 + mix_draw(mix, 2)) : IR_NONE;
}

/* stablehlo.map: a scalar program for each element of two values. */
ir_val_t mix_map_region(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    ir_type_t t = mix_type(mix, x), scalar = ir_type_scalar(t.dtype), types[2] = {scalar, scalar};
    if (!dtype_is_float(t.dtype)) return IR_NONE;
    ir_val_t in[2] = {x, mix_like(mix, t)};
    int64_t dims[IR_MAX_RANK];
    for (int i = 0; i < t.rank; i++) dims[i] = i;
    ir_attrs_t attrs = {0};
    attr_set_ints(fn->module->arena, &attrs, "dimensions", dims, t.rank);
    ir_region_t *saved, *region = ir_region_begin(fn, 2, types, &saved);
    ir_val_t a = region->arg, b = region->arg + 1;
    ir_val_t y = ir_op2(fn, OP_multiply, ir_op1(fn, OP_logistic, a), b);
    if (mix_draw(mix, 2)) y = ir_op2(fn, OP_add, y, ir_op1(fn, OP_cosine, b));
    ir_region_end(fn, region, 1, &y, saved);
    ir_op_t *op = ir_emit(fn, OP_map, 2, in, &attrs, 1, NULL, 1, &region);
    return op ? op->out : IR_NONE;
}
