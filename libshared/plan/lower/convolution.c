/* Convolutions as products, before lowering: the windows of the left operand become the rows of a
 * matrix (im2col), [batch and position, tap and feature], and the kernel its columns. Windows are
 * slices of the padded operand, one per tap over all positions or one per position over all taps,
 * whichever are fewer: a convolution's own gradients have few of the other kind. A batch whose
 * matrix were larger than PANEL_BYTES is cut. The rest stays with the plain loops (plan/lower/loops.h):
 * integers, depthwise kernels, windows of many taps over many positions. */
#include "ops/convolution.h"

#include "ir/build.h"
#include "plan/lower/lower.h"

enum {
    MAX_PIECES = 64,        /* slices that are put together */
    MIN_TERMS = 8,          /* of a sum, and */
    MIN_COLUMNS = 2,        /* of a product, that are worth one */
    PANEL_BYTES = 64 << 20, /* of the matrix of windows */
};

/* A convolution with its extents. */
typedef struct {
    conv_t c;
    int64_t n_batch, n_feature; /* of the left operand */
    int64_t n_tap, n_position;
    int64_t n_in, n_out;   /* of the kernel, in one group */
    int64_t n_out_batch;   /* of the result */
    bool by_tap;           /* one slice per tap; else one per position */
    const ir_type_t *type; /* of the result */
} shape_t;

static bool read_shape(const ir_fn_t *fn, const ir_op_t *op, shape_t *s)
{
    const ir_type_t *x = ir_type_of(fn, op->in[0]), *w = ir_type_of(fn, op->in[1]);
    s->type = ir_type_of(fn, op->out);
    if (!dtype_is_float(s->type->dtype) || x->dtype != w->dtype || x->rank > IR_MAX_RANK - 1 ||
        ir_type_count(x) == 0 || ir_type_count(w) == 0 || ir_type_count(s->type) == 0 ||
        conv_read(op, x, w, &s->c, NULL) < 0)
        return false;
    s->n_batch = x->dim[s->c.lhs.a];
    s->n_feature = x->dim[s->c.lhs.b];
    s->n_in = w->dim[s->c.rhs.a];
    s->n_out = w->dim[s->c.rhs.b] / (s->c.feature_groups * s->c.batch_groups);
    s->n_out_batch = s->n_batch / s->c.batch_groups;
    s->n_tap = s->n_position = 1;
    for (int d = 0; d < s->c.n_spatial; d++) {
        s->n_tap *= s->c.w[d].window;
        s->n_position *= s->c.w[d].out;
    }
    s->by_tap = s->n_tap <= s->n_position;
    return (s->by_tap ? s->n_tap : s->n_position) <= MAX_PIECES &&
           s->n_tap * s->n_in >= MIN_TERMS && s->n_out >= MIN_COLUMNS;
}

/* x with its spatial dimensions in front of its last two, or between them. */
static ir_val_t ordered(ir_fn_t *fn, ir_val_t x, const shape_t *s, const int64_t *spatial,
                        bool in_front, int64_t one, int64_t last)
{
    int64_t perm[IR_MAX_RANK];
    int n = s->c.n_spatial;
    perm[in_front ? n : 0] = one;
    for (int d = 0; d < n; d++) perm[d + !in_front] = spatial[d];
    perm[n + 1] = last;
    for (int d = 0; d < n + 2; d++)
        if (perm[d] != d) return ir_transpose(fn, x, perm);
    return x;
}

/* [.., spatial.., ..], padded and dilated as the windows want it. */
static ir_val_t padded(ir_fn_t *fn, ir_val_t x, const conv_t *c)
{
    int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0}, interior[IR_MAX_RANK] = {0};
    bool any = false;
    for (int d = 0; d < c->n_spatial; d++) {
        low[d + 1] = c->w[d].low;
        high[d + 1] = c->w[d].high;
        interior[d + 1] = c->w[d].base_dilation - 1;
        any = any || low[d + 1] || high[d + 1] || interior[d + 1];
    }
    return any ? ir_pad(fn, x, ir_scalar(fn, ir_type_of(fn, x)->dtype, 0), low, high, interior) : x;
}

/* What one tap sees at all positions, or one position through all taps. */
static ir_val_t piece(ir_fn_t *fn, ir_val_t x, const shape_t *s, const int64_t *at)
{
    const ir_type_t type = *ir_type_of(fn, x);
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK], stride[IR_MAX_RANK];
    for (int d = 0; d < type.rank; d++) limit[d] = type.dim[d], stride[d] = 1;
    for (int d = 0; d < s->c.n_spatial; d++) {
        const window_dim_t *w = &s->c.w[d];
        int64_t n = s->by_tap ? w->out : w->window;
        start[d + 1] = at[d] * (s->by_tap ? w->window_dilation : w->stride);
        stride[d + 1] = s->by_tap ? w->stride : w->window_dilation;
        limit[d + 1] = start[d + 1] + (n - 1) * stride[d + 1] + 1;
    }
    return ir_slice(fn, x, start, limit, stride);
}

/* The next n pieces from `at` on, side by side along the last dimension. */
static ir_val_t pieces(ir_fn_t *fn, ir_val_t x, const shape_t *s, int64_t *at, int n)
{
    ir_val_t part[MAX_PIECES];
    int64_t extent[IR_MAX_RANK];
    for (int d = 0; d < s->c.n_spatial; d++)
        extent[d] = s->by_tap ? s->c.w[d].window : s->c.w[d].out;
    if (x == IR_NONE) return IR_NONE;
    for (int i = 0; i < n; i++) {
        part[i] = piece(fn, x, s, at);
        dims_next(s->c.n_spatial, extent, at);
    }
    return n == 1 ? part[0] : ir_concatenate(fn, part, n, s->c.n_spatial + 1);
}

static ir_val_t shaped(ir_fn_t *fn, ir_val_t x, int rank, const int64_t *dim)
{
    if (x == IR_NONE) return IR_NONE;
    ir_type_t type = ir_type(ir_type_of(fn, x)->dtype, rank, dim);
    return ir_reshape(fn, x, &type);
}

/* How many parts of at most PANEL_BYTES n things of so many bytes make, a divisor of n. */
static int64_t count_panels(int64_t n, int64_t bytes)
{
    int64_t parts = 1;
    while (parts < n && (n % parts || n / parts * bytes > PANEL_BYTES)) parts++;
    return parts <= MAX_PIECES ? parts : 1;
}

/* --- One slice per tap: rows are [batch, position], terms [tap, feature] -----------------------
 */

static ir_val_t tap_product(ir_fn_t *fn, ir_val_t x, ir_val_t kernel, const shape_t *s,
                            int64_t n_batch)
{
    int64_t f = s->c.feature_groups, b = s->c.batch_groups, at[IR_MAX_RANK] = {0};
    ir_dot_t plain = {0, 1, {0}, {0}, {1}, {0}}, groups = {2, 2, {0, 4}, {2, 3}, {3, 5}, {0, 1}};
    ir_val_t rows = pieces(fn, x, s, at, (int)s->n_tap), y;
    if (f * b == 1) {
        rows = shaped(fn, rows, 2, (int64_t[]){n_batch * s->n_position, s->n_tap * s->n_in});
        kernel = shaped(fn, kernel, 2, (int64_t[]){s->n_tap * s->n_in, s->n_out});
        return ir_dot(fn, rows, kernel, &plain, s->type->dtype);
    }
    rows = shaped(fn, rows, 6, (int64_t[]){b, n_batch / b, s->n_position, s->n_tap, f, s->n_in});
    kernel = shaped(fn, kernel, 5, (int64_t[]){s->n_tap, s->n_in, b, f, s->n_out});
    y = ir_dot(fn, rows, kernel, &groups, s->type->dtype);
    return y == IR_NONE ? y : ir_transpose(fn, y, (int64_t[]){2, 3, 0, 1, 4});
}

/* [batch, position, output feature], flat */
static ir_val_t by_tap(ir_fn_t *fn, ir_val_t x, ir_val_t kernel, const shape_t *s)
{
    const conv_t *c = &s->c;
    x = padded(fn, ordered(fn, x, s, c->lhs.spatial, false, c->lhs.a, c->lhs.b), c);
    kernel = ordered(fn, kernel, s, c->rhs.spatial, true, c->rhs.a, c->rhs.b);
    if (x == IR_NONE) return IR_NONE;
    const ir_type_t type = *ir_type_of(fn, x);
    int64_t row_bytes = s->n_position * s->n_tap * s->n_feature * (int64_t)dtype_bytes(type.dtype);
    int64_t n = c->batch_groups > 1 ? 1 : count_panels(s->n_batch, row_bytes);
    if (n == 1) return tap_product(fn, x, kernel, s, s->n_batch);
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];
    ir_val_t parts[MAX_PIECES];
    for (int d = 0; d < type.rank; d++) limit[d] = type.dim[d];
    for (int i = 0; i < n; i++) {
        start[0] = i * (s->n_batch / n);
        limit[0] = start[0] + s->n_batch / n;
        parts[i] = tap_product(fn, ir_slice(fn, x, start, limit, NULL), kernel, s, s->n_batch / n);
    }
    return ir_concatenate(fn, parts, (int)n, 0);
}

/* --- One slice per position: terms are [feature, tap], rows [position, batch] ------------------
 */

static ir_val_t position_product(ir_fn_t *fn, ir_val_t terms, ir_val_t kernel, const shape_t *s,
                                 int64_t n_position)
{
    int64_t f = s->c.feature_groups, b = s->c.batch_groups;
    ir_dot_t plain = {0, 1, {0}, {0}, {0}, {0}}, groups = {2, 2, {0, 4}, {3, 2}, {1, 2}, {0, 1}};
    if (f * b == 1) {
        terms = shaped(fn, terms, 2, (int64_t[]){s->n_in * s->n_tap, n_position * s->n_batch});
        kernel = shaped(fn, kernel, 2, (int64_t[]){s->n_in * s->n_tap, s->n_out});
        return ir_dot(fn, terms, kernel, &plain, s->type->dtype);
    }
    terms = shaped(fn, terms, 6, (int64_t[]){f, s->n_in, s->n_tap, n_position, b, s->n_out_batch});
    kernel = shaped(fn, kernel, 5, (int64_t[]){s->n_in, s->n_tap, b, f, s->n_out});
    ir_val_t y = ir_dot(fn, terms, kernel, &groups, s->type->dtype);
    return y == IR_NONE ? y : ir_transpose(fn, y, (int64_t[]){2, 3, 1, 0, 4});
}

/* [position, batch, output feature], flat */
static ir_val_t by_position(ir_fn_t *fn, ir_val_t x, ir_val_t kernel, const shape_t *s)
{
    const conv_t *c = &s->c;
    int64_t at[IR_MAX_RANK] = {0};
    x = padded(fn, ordered(fn, x, s, c->lhs.spatial, false, c->lhs.b, c->lhs.a), c);
    kernel = ordered(fn, kernel, s, c->rhs.spatial, false, c->rhs.a, c->rhs.b);
    int64_t bytes = s->n_feature * s->n_tap * s->n_batch * (int64_t)dtype_bytes(s->type->dtype);
    int64_t n = count_panels(s->n_position, bytes), each = s->n_position / n;
    ir_val_t parts[MAX_PIECES];
    for (int i = 0; i < n; i++)
        parts[i] = position_product(fn, pieces(fn, x, s, at, (int)each), kernel, s, each);
    return n == 1 ? parts[0] : ir_concatenate(fn, parts, (int)n, 0);
}

/* [batch, position, feature] or [position, batch, feature] to where the result has them. */
static ir_val_t placed(ir_fn_t *fn, ir_val_t y, const shape_t *s)
{
    const conv_t *c = &s->c;
    ir_type_t all = ir_type(s->type->dtype, c->n_spatial + 2, s->type->dim);
    int64_t perm[IR_MAX_RANK];
    int batch = s->by_tap ? 0 : c->n_spatial, spatial = s->by_tap ? 1 : 0;
    perm[c->out.a] = batch;
    perm[c->out.b] = c->n_spatial + 1;
    for (int d = 0; d < c->n_spatial; d++) perm[c->out.spatial[d]] = spatial + d;
    bool same = true;
    for (int d = 0; d < all.rank; d++) {
        all.dim[perm[d]] = s->type->dim[d];
        same = same && perm[d] == d;
    }
    if (y == IR_NONE) return IR_NONE;
    y = ir_reshape(fn, y, &all);
    return same ? y : ir_transpose(fn, y, perm);
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    shape_t s = {0};
    ir_fn_t *fn = self->to;
    if (op->code != OP_convolution || !read_shape(self->from, op, &s)) return 0;
    int n_before = fn->cursor->n_op, n_reversed = 0;
    int64_t reversed[IR_MAX_RANK];
    for (int d = 0; d < s.c.n_spatial; d++)
        if (s.c.reversed[d]) reversed[n_reversed++] = s.c.rhs.spatial[d];
    ir_val_t x = self->map[op->in[0]], w = self->map[op->in[1]];
    if (n_reversed) w = ir_reverse(fn, w, reversed, n_reversed);
    self->map[op->out] = placed(fn, (s.by_tap ? by_tap : by_position)(fn, x, w, &s), &s);
    for (int i = n_before; i < fn->cursor->n_op; i++) fn->cursor->op[i]->line = op->line;
    return fn->err.code ? err_set(err, fn->err.code, "%s", fn->err.text) : 1;
}

static bool has_convolution(const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        if (op->code == OP_convolution) return true;
        for (int r = 0; r < op->n_region; r++)
            if (has_convolution(op->region[r])) return true;
    }
    return false;
}

const ir_fn_t *convolutions_to_products(ir_module_t *module, const ir_fn_t *fn, err_t *err)
{
    return has_convolution(fn->body) ? ir_clone_fn(module, fn, rewrite, NULL, err) : fn;
}
