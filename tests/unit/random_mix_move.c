/* What moves elements: views, lookups, windows at computed places. */
#include "random_mix_in.h"

ir_val_t mix_turn(mix_t *mix, ir_val_t x)
{
    for (int i = 0; i < 4 && mix_type(mix, x).rank < 2; i++) x = mix_any(mix);
    int rank = mix_type(mix, x).rank;
    int64_t perm[IR_MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int k = mix_draw(mix, i + 1);
        int64_t t = perm[i];
        perm[i] = perm[k];
        perm[k] = t;
    }
    return ir_transpose(mix->fn, x, perm);
}

/* Merge two neighbouring dimensions, split one, or make it flat. */
ir_val_t mix_reshape(mix_t *mix, ir_val_t x)
{
    ir_type_t t = mix_type(mix, x), to = {.dtype = t.dtype};
    int kind = mix_draw(mix, 4), at = t.rank ? mix_draw(mix, t.rank) : 0;
    if (kind == 0 || t.rank == 0) {
        int64_t n = ir_type_count(&t);
        to = ir_type(t.dtype, 1, &n);
    } else if (kind == 1 && at + 1 < t.rank) {
        for (int i = 0; i < t.rank; i++)
            if (i == at + 1)
                to.dim[to.rank - 1] *= t.dim[i];
            else
                to.dim[to.rank++] = t.dim[i];
    } else if (t.rank < MIX_RANK) {
        int64_t part = 1 + mix_draw(mix, 8);
        if (t.dim[at] % part) part = t.dim[at] % 2 ? 1 : 2;
        for (int i = 0; i < t.rank; i++) {
            if (i == at) to.dim[to.rank++] = part;
            to.dim[to.rank++] = i == at ? t.dim[i] / part : t.dim[i];
        }
    } else {
        return IR_NONE;
    }
    return ir_reshape(mix->fn, x, &to);
}

ir_val_t mix_window(mix_t *mix, ir_val_t x)
{
    const ir_type_t t = mix_type(mix, x);
    int64_t a[IR_MAX_RANK], b[IR_MAX_RANK], c[IR_MAX_RANK], dims[1];
    bool slice = mix_draw(mix, 2);
    if (t.rank == 0) return IR_NONE;
    if (mix_draw(mix, 5) == 0) {
        dims[0] = mix_draw(mix, t.rank);
        return ir_reverse(mix->fn, x, dims, 1);
    }
    for (int i = 0; i < t.rank; i++) {
        int64_t n = t.dim[i];
        bool whole = mix_draw(mix, 2);
        a[i] = whole ? 0 : slice ? mix_draw(mix, (int)n) : mix_draw(mix, 4) - 1;
        b[i] = whole   ? (slice ? n : 0)
               : slice ? a[i] + 1 + mix_draw(mix, (int)(n - a[i]))
                       : mix_draw(mix, 4) - 1;
        c[i] = slice ? 1 + (mix_draw(mix, 4) == 0) : mix_draw(mix, 6) == 0;
        if (!slice && n + a[i] + b[i] < 1) a[i] = b[i] = 0;
    }
    if (slice) return ir_slice(mix->fn, x, a, b, c);
    return ir_pad(mix->fn, x, ir_scalar(mix->fn, t.dtype, mix_draw(mix, 2)), a, b, c);
}

/* Two or three values one behind the other. */
ir_val_t mix_join(mix_t *mix, ir_val_t x)
{
    const ir_type_t t = mix_type(mix, x);
    if (t.rank == 0) return IR_NONE;
    int dim = mix_draw(mix, t.rank);
    ir_val_t parts[3] = {x, x, x};
    for (int i = 0; i < 12; i++) {
        ir_val_t y = mix_any(mix);
        ir_type_t u = mix_type(mix, y);
        u.dim[dim] = t.dim[dim];
        if (ir_type_equal(&u, &t)) parts[mix_draw(mix, 3)] = y;
    }
    return ir_concatenate(mix->fn, parts, 2 + mix_draw(mix, 2), dim);
}

/* Broadcast: new dimensions anywhere, dimensions of one repeated. */
ir_val_t mix_spread(mix_t *mix, ir_val_t x)
{
    const ir_type_t t = mix_type(mix, x);
    ir_type_t to = {.dtype = t.dtype};
    int64_t dims[IR_MAX_RANK], n = ir_type_count(&t);
    int next = 0;
    while (to.rank < MIX_RANK && (next < t.rank || mix_draw(mix, 2))) {
        bool take = next < t.rank && (mix_draw(mix, 2) || to.rank + t.rank - next >= MIX_RANK);
        int64_t fresh = mix_draw(mix, 2) ? mix->size[mix_draw(mix, 3)] : 2;
        if (n * fresh > MIX_MOST) fresh = 1;
        bool repeated = take && t.dim[next] == 1;
        if (!take || repeated) n *= fresh;
        if (take) dims[next] = to.rank;
        to.dim[to.rank++] = take && !repeated ? t.dim[next] : fresh;
        next += take;
    }
    return next < t.rank ? IR_NONE : ir_broadcast(mix->fn, x, &to, dims);
}

/* Indices [n, 1] of rows, some of them out of bounds. */
static ir_val_t row_numbers(mix_t *mix, int64_t *n)
{
    ir_val_t rows = ir_fn_param(mix->fn, 4);
    *n = mix->size[0];
    ir_type_t to = ir_type(DT_I32, 2, (int64_t[]){*n, 1});
    rows = ir_convert(mix->fn, ir_reshape(mix->fn, rows, &to), mix_draw(mix, 2) ? DT_I32 : DT_I64);
    if (mix_draw(mix, 3) == 0) rows = ir_op1(mix->fn, OP_negate, rows);
    return rows;
}

static void row_dims(const ir_type_t *t, ir_gather_t *dims)
{
    *dims = (ir_gather_t){.n_offset = t->rank - 1, .n_collapsed = 1, .n_start = 1};
    dims->index_vector_dim = 1;
    for (int i = 0; i < t->rank; i++) dims->slice[i] = i ? t->dim[i] : 1;
    for (int i = 1; i < t->rank; i++) dims->offset_dims[i - 1] = i;
}

/* Rows of x, as embeddings are looked up. */
ir_val_t mix_lookup(mix_t *mix, ir_val_t x)
{
    const ir_type_t t = mix_type(mix, x);
    ir_gather_t dims;
    int64_t n;
    if (t.rank == 0) return IR_NONE;
    ir_val_t rows = row_numbers(mix, &n);
    if (n * ir_type_count(&t) / t.dim[0] > MIX_MOST) return IR_NONE;
    row_dims(&t, &dims);
    if (t.rank > 1 && mix_draw(mix, 3) == 0) dims.slice[1] = 1 + mix_draw(mix, (int)t.dim[1]);
    return ir_gather(mix->fn, x, rows, &dims);
}

/* Rows added to rows of x; several may go to the same one. */
ir_val_t mix_place(mix_t *mix, ir_val_t x)
{
    const ir_type_t t = mix_type(mix, x);
    ir_gather_t dims;
    ir_type_t rows = t;
    if (t.rank == 0 || t.dtype == DT_I1) return IR_NONE;
    ir_val_t index = row_numbers(mix, &rows.dim[0]);
    if (ir_type_count(&rows) > MIX_MOST) return IR_NONE;
    row_dims(&t, &dims);
    ir_val_t updates = mix_like(mix, rows);
    return mix_squash(mix, ir_scatter(mix->fn, OP_add, x, index, updates, &dims));
}

/* A window of x at a computed place, read or written. */
ir_val_t mix_dynamic(mix_t *mix, ir_val_t x)
{
    ir_type_t t = mix_type(mix, x), small = t;
    ir_val_t at[IR_MAX_RANK];
    if (t.rank == 0) return IR_NONE;
    dtype_t dtype = mix_draw(mix, 2) ? DT_I32 : DT_I64;
    for (int i = 0; i < t.rank; i++) {
        bool whole = mix_draw(mix, 2);
        at[i] = whole ? ir_scalar(mix->fn, dtype, 0)
                      : ir_convert(mix->fn, mix_index(mix, t.dim[i]), dtype);
        small.dim[i] = whole ? t.dim[i] : 1 + mix_draw(mix, (int)t.dim[i]);
    }
    if (mix_draw(mix, 2)) return ir_dynamic_slice(mix->fn, x, at, small.dim);
    return ir_dynamic_update_slice(mix->fn, x, mix_like(mix, small), at);
}
