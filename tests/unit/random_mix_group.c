/* Groups of ops as models write them: the shapes that plans fuse. */
#include "random_mix_in.h"

/* x as [rows, columns]: the last dimension, and all others merged. */
static ir_val_t as_rows(mix_t *mix, ir_val_t x, ir_type_t *t)
{
    if (!dtype_is_float(mix_dtype(mix, x))) x = mix_float(mix);
    *t = mix_type(mix, x);
    if (t->rank == 2) return x;
    int64_t last = t->rank ? t->dim[t->rank - 1] : 1;
    *t = ir_type(t->dtype, 2, (int64_t[]){ir_type_count(t) / (last ? last : 1), last});
    return ir_reshape(mix->fn, x, t);
}

static ir_val_t fold(mix_t *mix, op_code_t code, ir_val_t x, int64_t dim, bool back)
{
    ir_type_t t = mix_type(mix, x);
    int64_t kept[IR_MAX_RANK];
    ir_val_t y = ir_reduce(mix->fn, code, x, &dim, 1);
    for (int i = 0, k = 0; i < t.rank; i++)
        if (i != dim) kept[k++] = i;
    return back ? ir_broadcast(mix->fn, y, &t, kept) : y;
}

static ir_val_t softmax(mix_t *mix, ir_val_t x, int64_t dim, bool logs)
{
    ir_fn_t *fn = mix->fn;
    ir_val_t d = ir_op2(fn, OP_subtract, x, fold(mix, OP_maximum, x, dim, true));
    ir_val_t e = ir_op1(fn, OP_exponential, d);
    ir_val_t sum = fold(mix, OP_add, e, dim, true);
    if (logs) return ir_op2(fn, OP_subtract, d, ir_op1(fn, OP_log, sum));
    return ir_op2(fn, OP_divide, e, sum);
}

ir_val_t mix_softmax(mix_t *mix, ir_val_t x)
{
    if (!dtype_is_float(mix_dtype(mix, x))) x = mix_float(mix);
    ir_type_t t = mix_type(mix, x);
    if (t.rank == 0) return IR_NONE;
    int64_t dim = mix_draw(mix, 3) ? t.rank - 1 : mix_draw(mix, t.rank);
    bool logs = mix_draw(mix, 3) == 0;
    ir_val_t y = softmax(mix, x, dim, logs);
    return logs ? mix_squash(mix, y) : y;
}

/* Layer norm, or without the mean; in f32 or f64 inside, with or without a gain. */
ir_val_t mix_norm(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    ir_type_t t;
    x = as_rows(mix, x, &t);
    dtype_t inside = mix_draw(mix, 4) ? t.dtype : DT_F64;
    ir_val_t y = ir_convert(fn, x, inside);
    ir_val_t count = ir_scalar_like(fn, y, (double)t.dim[1]), one = ir_scalar_like(fn, y, 1);
    if (mix_draw(mix, 3)) {
        ir_val_t mean = ir_op2(fn, OP_divide, fold(mix, OP_add, y, 1, true), count);
        y = ir_op2(fn, OP_subtract, y, mean);
    }
    ir_val_t square = ir_op2(fn, OP_multiply, y, y);
    ir_val_t spread = ir_op2(fn, OP_divide, fold(mix, OP_add, square, 1, true), count);
    ir_val_t scale = ir_op1(fn, OP_rsqrt, ir_op2(fn, OP_add, spread, one));
    y = ir_convert(fn, ir_op2(fn, OP_multiply, y, scale), t.dtype);
    if (mix_draw(mix, 2)) return y;
    int64_t columns = 1;
    ir_val_t gain = mix_like(mix, ir_type(t.dtype, 1, &t.dim[1]));
    return ir_op2(fn, OP_multiply, y, ir_broadcast(fn, gain, &t, &columns));
}

/* x w + bias through an activation, and often x added again. */
ir_val_t mix_dense(mix_t *mix, ir_val_t x)
{
    static const op_code_t activations[] = {OP_tanh, OP_logistic, OP_chlo_erf, OP_sine};
    ir_fn_t *fn = mix->fn;
    ir_type_t t;
    int64_t columns = 1;
    x = as_rows(mix, x, &t);
    bool residual = mix_draw(mix, 2);
    int64_t out = residual ? t.dim[1] : 1 + mix_draw(mix, 40);
    if (t.dim[1] * out > MIX_MOST || t.dim[0] * out > MIX_MOST) return IR_NONE;
    bool turned = mix_draw(mix, 2);
    ir_val_t w = mix_like(
        mix, ir_type(t.dtype, 2, (int64_t[]){turned ? out : t.dim[1], turned ? t.dim[1] : out}));
    if (turned) w = ir_transpose(fn, w, (int64_t[]){1, 0});
    ir_val_t y = ir_matmul(fn, x, w);
    ir_type_t to = mix_type(mix, y);
    ir_val_t bias = mix_like(mix, ir_type(t.dtype, 1, &out));
    if (mix_draw(mix, 3)) y = ir_op2(fn, OP_add, y, ir_broadcast(fn, bias, &to, &columns));
    op_code_t code = activations[mix_draw(mix, 4)];
    ir_val_t z = ir_op1(fn, code, mix_squash(mix, y));
    if (code == OP_chlo_erf) z = ir_op2(fn, OP_multiply, mix_squash(mix, y), z); /* near gelu */
    return residual ? ir_op2(fn, OP_add, x, z) : z;
}

/* Scores of later positions hidden, in one of the ways models do it; or nothing hidden. */
static ir_val_t hide_later(mix_t *mix, ir_val_t s)
{
    ir_fn_t *fn = mix->fn;
    ir_type_t t = mix_type(mix, s), number = ir_type_with(t, DT_I32);
    int how = mix_draw(mix, 4);
    double hidden = t.dtype == DT_F16 ? -60000 : mix_draw(mix, 4) ? -1e9 : -30;
    if (how == 0) return s;
    ir_val_t row = ir_iota(fn, &number, t.rank - 2), col = ir_iota(fn, &number, t.rank - 1);
    if (mix_draw(mix, 3) == 0) row = ir_op2(fn, OP_add, row, ir_scalar_like(fn, row, 3));
    if (how == 1)
        return ir_select(fn, ir_compare(fn, "LT", row, col), ir_scalar_like(fn, s, hidden), s);
    ir_val_t past = ir_compare(fn, "GE", row, col), low = ir_scalar_like(fn, s, hidden);
    if (how == 2) return ir_select(fn, past, s, low);
    return ir_op2(fn, OP_add, s, ir_select(fn, past, ir_scalar_like(fn, s, 0), low));
}

/* softmax(mask(q k^T scale)) v over [batch, time, depth] or [batch, heads, time, depth]; keys may
 * be more than queries, and q, k and v one value. */
ir_val_t mix_attention(mix_t *mix, ir_val_t x)
{
    enum { MOST_SCORES = 24000 };
    ir_fn_t *fn = mix->fn;
    int n_batch = 1 + mix_draw(mix, 2), r = n_batch + 1;
    int64_t batch = mix->size[2], t = mix->size[0], s = mix_draw(mix, 3) ? t : mix->size[1];
    int64_t depth = 1 + mix_draw(mix, 20), heads = n_batch == 2 ? 2 : 1;
    if (mix_draw(mix, 4) == 0) t = s = 1 + mix_draw(mix, 140), batch = 1;
    if (batch * heads * t * s > MOST_SCORES || batch * heads * (t > s ? t : s) * depth > MIX_MOST)
        return IR_NONE;
    if (!dtype_is_float(mix_dtype(mix, x))) x = mix_float(mix);
    dtype_t dtype = mix_draw(mix, 3) ? DT_F32 : mix_dtype(mix, x);
    ir_type_t tq = ir_type(dtype, r + 1, (int64_t[]){batch, heads, t, depth}), tk;
    if (n_batch == 1) tq = ir_type(dtype, r + 1, (int64_t[]){batch, t, depth});
    tk = tq;
    tk.dim[n_batch] = s;
    ir_val_t q = mix_fit(mix, x, tq), k = mix_like(mix, tk), v = mix_like(mix, tk);
    if (t == s && mix_draw(mix, 4) == 0) k = v = q;
    ir_dot_t qk = {n_batch, 1, {0, 1}, {0, 1}, {r}, {r}};
    ir_dot_t pv = {n_batch, 1, {0, 1}, {0, 1}, {r}, {n_batch}};
    ir_val_t y = ir_dot(fn, q, k, &qk, dtype);
    y = mix_draw(mix, 2) ? ir_op2(fn, OP_multiply, y, ir_scalar_like(fn, y, 0.25))
                         : ir_op2(fn, OP_divide, y, ir_scalar_like(fn, y, 8));
    return ir_dot(fn, softmax(mix, hide_later(mix, y), r, false), v, &pv, dtype);
}

/* The mean of -log softmax at a label of each row, picked by gather or by a mask; times a row. */
ir_val_t mix_cross_entropy(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    ir_type_t t, number;
    x = as_rows(mix, x, &t);
    number = ir_type_with(t, DT_I32);
    int64_t n = t.dim[0], zero = 0;
    ir_val_t label = mix_like(mix, ir_type(DT_I32, 1, &n)), lp = softmax(mix, x, 1, true), y;
    label = ir_op2(fn, OP_and, label, ir_scalar_like(fn, label, 7));
    if (mix_draw(mix, 2)) {
        ir_val_t hit = ir_compare(fn, "EQ", ir_iota(fn, &number, 1),
                                  ir_broadcast(fn, label, &number, &zero));
        y = fold(mix, OP_add, ir_select(fn, hit, lp, ir_scalar_like(fn, lp, 0)), 1, false);
    } else {
        ir_type_t column = ir_type(DT_I32, 2, (int64_t[]){n, 1});
        ir_val_t at[2] = {ir_iota(fn, &column, 0), ir_reshape(fn, label, &column)};
        ir_gather_t dims = {.n_collapsed = 2, .n_start = 2, .index_vector_dim = 1};
        for (int i = 0; i < 2; i++) dims.collapsed[i] = dims.start_map[i] = i, dims.slice[i] = 1;
        y = ir_gather(fn, lp, ir_concatenate(fn, at, 2, 1), &dims);
    }
    if (mix_draw(mix, 2)) return mix_squash(mix, y);
    y = ir_op2(fn, OP_divide, fold(mix, OP_add, y, 0, false), ir_scalar(fn, t.dtype, (double)n));
    return ir_op1(fn, OP_negate, y);
}

/* Rotary positions: halves of the last dimension turned by angles of the row. */
ir_val_t mix_rotate(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    ir_type_t t, half;
    x = as_rows(mix, x, &t);
    if (t.dim[1] % 2) return IR_NONE;
    half = ir_type(t.dtype, 2, (int64_t[]){t.dim[0], t.dim[1] / 2});
    ir_val_t angle = ir_op2(fn, OP_multiply, ir_iota(fn, &half, 0), ir_splat(fn, &half, 0.25));
    ir_val_t c = ir_op1(fn, OP_cosine, angle), s = ir_op1(fn, OP_sine, angle);
    ir_val_t a = ir_slice(fn, x, (int64_t[]){0, 0}, half.dim, NULL);
    ir_val_t b = ir_slice(fn, x, (int64_t[]){0, half.dim[1]}, t.dim, NULL);
    ir_val_t parts[2] = {
        ir_op2(fn, OP_subtract, ir_op2(fn, OP_multiply, a, c), ir_op2(fn, OP_multiply, b, s)),
        ir_op2(fn, OP_add, ir_op2(fn, OP_multiply, a, s), ir_op2(fn, OP_multiply, b, c)),
    };
    return ir_concatenate(fn, parts, 2, 1);
}
