/* The rules of pass_region_loops: what one step of each op's loop does. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/build.h"
#include "ir/build_index.h"
#include "ops/dims.h"
#include "ops/index.h"
#include "ops/window.h"
#include "passes/region_loops.h"

static ir_val_t add(ir_fn_t *fn, ir_val_t a, ir_val_t b)
{
    return ir_op2(fn, OP_add, a, b);
}

/* low <= x < high */
static ir_val_t is_within(ir_fn_t *fn, ir_val_t x, int64_t low, int64_t high)
{
    ir_val_t above = ir_compare(fn, "GE", x, region_number(fn, low));
    return ir_op2(fn, OP_and, above, ir_compare(fn, "LT", x, region_number(fn, high)));
}

/* Scalars that one step needs a list of: 4 for each operand. */
static ir_val_t *new_list(const region_loop_t *self)
{
    return mem_calloc(4 * (size_t)self->op->n_in, sizeof(ir_val_t));
}

/* --- sort: merge sort from below, as ops/sort.c has it: a step is one element merged. Carries: the
 * order that is merged from, the one that is merged to, and the next of both halves. --- */

typedef struct {
    int rank;
    int64_t n, n_level, stride; /* of a line: elements, levels of merging, distance in memory */
    int64_t lines[IR_MAX_RANK], strides[IR_MAX_RANK];
} sort_t;

/* Whether the second half's next comes first, where both halves have one. */
static int compare(region_loop_t *self, ir_val_t both, ir_val_t otherwise, ir_val_t second,
                   ir_val_t first, ir_val_t *yes, err_t *err)
{
    ir_fn_t *fn = self->clone->to;
    ir_val_t *args = new_list(self);
    for (int k = 0; k < self->op->n_in; k++) {
        args[2 * k] = region_element(fn, self->flat[k], second);
        args[2 * k + 1] = region_element(fn, self->flat[k], first);
    }
    int status = region_run(self, 0, both, args, &otherwise, yes, err);
    free(args);
    return status;
}

/* Where entry i of the line is in memory. */
static ir_val_t in_line(ir_fn_t *fn, const sort_t *s, ir_val_t base, ir_val_t i)
{
    return add(fn, base, ir_op2(fn, OP_multiply, i, region_number(fn, s->stride)));
}

static int step_sort(region_loop_t *self, ir_val_t t, const ir_val_t *carry, ir_val_t *next,
                     err_t *err)
{
    const sort_t *s = self->user;
    ir_fn_t *fn = self->clone->to;
    int n = self->op->n_out;
    ir_type_t numbers = ir_type(DT_I64, 1, &s->n);
    int64_t split[3] = {INT64_MAX, s->n_level, s->n};
    ir_val_t digit[3], line[IR_MAX_RANK], one = region_number(fn, 1), end = region_number(fn, s->n);
    region_digits(fn, t, 3, split, digit);
    region_digits(fn, digit[0], s->rank, s->lines, line);
    ir_val_t base = region_place(fn, s->rank, line, s->strides), at = digit[2];
    ir_val_t width = ir_op2(fn, OP_shift_left, one, digit[1]), both_widths = add(fn, width, width);
    ir_val_t low = ir_op2(fn, OP_subtract, at, ir_op2(fn, OP_remainder, at, both_widths));
    ir_val_t mid = ir_op2(fn, OP_minimum, add(fn, low, width), end);
    ir_val_t high = ir_op2(fn, OP_minimum, add(fn, low, both_widths), end);
    ir_val_t begins = ir_compare(fn, "EQ", at, low);
    ir_val_t is_new = ir_compare(fn, "EQ", add(fn, digit[1], at), region_number(fn, 0));
    ir_val_t from = ir_select(fn, is_new, ir_iota(fn, &numbers, 0), carry[n]);
    ir_val_t a = ir_select(fn, begins, low, carry[n + 2]);
    ir_val_t b = ir_select(fn, begins, mid, carry[n + 3]);
    ir_val_t first = region_element(fn, from, a), second = region_element(fn, from, b), yes;
    ir_val_t no_a = ir_compare(fn, "GE", a, mid), has_b = ir_compare(fn, "LT", b, high);
    ir_val_t both = ir_op2(fn, OP_and, ir_op1(fn, OP_not, no_a), has_b);
    if (compare(self, both, no_a, in_line(fn, s, base, second), in_line(fn, s, base, first), &yes,
                err) < 0)
        return -1;
    ir_val_t chosen = ir_select(fn, yes, second, first), taken = ir_convert(fn, yes, DT_I64);
    ir_val_t to = region_with_element(fn, carry[n + 1], at, chosen);
    ir_val_t is_last = ir_compare(fn, "EQ", add(fn, at, one), end);
    next[n] = ir_select(fn, is_last, to, from);
    next[n + 1] = to;
    next[n + 2] = add(fn, a, ir_op2(fn, OP_subtract, one, taken));
    next[n + 3] = add(fn, b, taken);
    ir_val_t source = in_line(fn, s, base, chosen), place = in_line(fn, s, base, at);
    for (int k = 0; k < n; k++)
        next[k] = region_with_element(fn, carry[k], place,
                                      region_element(fn, self->flat[k], source));
    return 0;
}

int region_loop_sort(region_loop_t *self, err_t *err)
{
    const ir_op_t *op = self->op;
    ir_fn_t *fn = self->clone->to;
    const ir_type_t x = *ir_type_of(self->clone->from, op->out);
    int64_t dim = attr_int(&op->attrs, "dimension", -1);
    if (dim < 0) dim += x.rank;
    sort_t s = {.rank = x.rank, .n = x.dim[dim]};
    ir_type_strides(&x, s.strides);
    memcpy(s.lines, x.dim, sizeof s.lines);
    s.lines[dim] = 1;
    s.stride = s.strides[dim];
    for (int64_t width = 1; width < s.n; width *= 2) s.n_level++;
    for (int k = 0; k < op->n_out; k++) /* for lines of one: nothing is compared */
        self->clone->map[op->out + (ir_val_t)k] = self->clone->map[op->in[k]];
    if (s.n_level == 0) return 0;
    self->user = &s;
    self->step = step_sort;
    ir_type_t numbers = ir_type(DT_I64, 1, &s.n);
    ir_val_t *carry = mem_calloc((size_t)op->n_out + 4, sizeof *carry);
    memcpy(carry, self->flat, (size_t)op->n_out * sizeof *carry);
    carry[op->n_out] = carry[op->n_out + 1] = ir_splat(fn, &numbers, 0);
    carry[op->n_out + 2] = carry[op->n_out + 3] = region_number(fn, 0);
    int status = region_loop(self, ir_type_count(&x) * s.n_level, op->n_out + 4, carry, err);
    free(carry);
    return status;
}

/* --- scatter: a step is one update --- */

/* Entry e of the index vector at `at`, moved to where sums stay in range. */
static ir_val_t start_of(region_loop_t *self, const index_map_t *m, int e, ir_val_t at)
{
    ir_fn_t *fn = self->clone->to;
    int64_t d = m->start_map[e];
    ir_val_t index = self->flat[self->op->n_out];
    at = add(fn, at, region_number(fn, e * m->entry_stride));
    ir_val_t start = region_element(fn, index, at);
    if (ir_type_of(fn, index)->dtype == DT_UI64) /* large ones must not become negative */
        start = ir_op2(fn, OP_minimum, start, ir_scalar(fn, DT_UI64, (double)m->dim[d]));
    start = ir_convert(fn, start, DT_I64);
    start = ir_op2(fn, OP_maximum, start, region_number(fn, -m->slice[d]));
    return ir_op2(fn, OP_minimum, start, region_number(fn, m->dim[d]));
}

/* The update that step t takes (*from) and its place in the inputs; whether that is inside. */
static ir_val_t target(region_loop_t *self, const index_map_t *m, ir_val_t t, ir_val_t *from,
                       ir_val_t *to)
{
    ir_fn_t *fn = self->clone->to;
    int64_t split[2] = {INT64_MAX, dims_count(m->n_window, m->window_dim)}, stride[IR_MAX_RANK];
    ir_val_t digit[2], place[IR_MAX_RANK], window[IR_MAX_RANK], at[IR_MAX_RANK];
    region_digits(fn, t, 2, split, digit);
    region_digits(fn, digit[0], m->n_place, m->place_dim, place);
    region_digits(fn, digit[1], m->n_window, m->window_dim, window);
    *from = add(fn, region_place(fn, m->n_place, place, m->place_stride),
                region_place(fn, m->n_window, window, m->window_stride));
    ir_val_t vector = region_place(fn, m->n_place, place, m->index_stride);
    for (int d = 0; d < m->rank; d++) at[d] = region_number(fn, 0);
    for (int e = 0; e < m->n_start; e++) at[m->start_map[e]] = start_of(self, m, e, vector);
    for (int i = 0; i < m->n_batch; i++) at[m->batch_to[i]] = place[m->batch_from[i]];
    for (int w = 0; w < m->n_window; w++)
        at[m->window_to[w]] = add(fn, at[m->window_to[w]], window[w]);
    ir_type_strides(ir_type_of(self->clone->from, self->op->out), stride);
    *to = region_place(fn, m->rank, at, stride);
    ir_val_t inside = ir_scalar(fn, DT_I1, 1);
    for (int d = 0; d < m->rank; d++)
        inside = ir_op2(fn, OP_and, inside, is_within(fn, at[d], 0, m->dim[d]));
    return inside;
}

static int step_scatter(region_loop_t *self, ir_val_t t, const ir_val_t *carry, ir_val_t *next,
                        err_t *err)
{
    ir_fn_t *fn = self->clone->to;
    int n = self->op->n_out;
    ir_val_t from, to, inside = target(self, self->user, t, &from, &to);
    ir_val_t *args = new_list(self), *result = args + 2 * n;
    for (int k = 0; k < n; k++) {
        args[k] = region_element(fn, carry[k], to);
        args[n + k] = region_element(fn, self->flat[n + 1 + k], from);
    }
    int status = region_run(self, 0, inside, args, args, result, err);
    for (int k = 0; status == 0 && k < n; k++)
        next[k] = region_with_element(fn, carry[k], to, result[k]);
    free(args);
    return status;
}

int region_loop_scatter(region_loop_t *self, err_t *err)
{
    const ir_op_t *op = self->op;
    const ir_fn_t *old = self->clone->from;
    int n = op->n_out;
    const ir_type_t *x = ir_type_of(old, op->in[0]), *updates = ir_type_of(old, op->in[n + 1]);
    ir_gather_t dims;
    ir_scatter_dims(op, x, updates, &dims);
    index_map_t m = index_map_new(op, &index_names_scatter, x, ir_type_of(old, op->in[n]), updates,
                                  dims.slice);
    for (int k = 0; k < n; k++) /* for no updates */
        self->clone->map[op->out + (ir_val_t)k] = self->clone->map[op->in[k]];
    if (ir_type_count(updates) == 0) return 0;
    self->user = &m;
    self->step = step_scatter;
    return region_loop(self, ir_type_count(updates), n, self->flat, err);
}

/* --- Windows: a step is one entry of one window --- */

typedef struct {
    ir_type_t x, out; /* the operand; one element per window */
    int64_t size[IR_MAX_RANK];
    window_dim_t w[IR_MAX_RANK];
} window_t;

static int read_window(const region_loop_t *self, ir_val_t out, window_t *w, err_t *err)
{
    *w = (window_t){.x = *ir_type_of(self->clone->from, self->op->in[0]),
                    .out = *ir_type_of(self->clone->from, out)};
    if (window_read(self->op, &w->x, w->w, err) < 0) return -1;
    for (int d = 0; d < w->x.rank; d++) w->size[d] = w->w[d].window;
    return 0;
}

static int64_t count_steps(const window_t *w)
{
    return ir_type_count(&w->out) * dims_count(w->x.rank, w->size);
}

/* Step t in parts: the window's number, the entry's, where in the operand it looks; whether that is
 * an element. As window_index has it. */
static ir_val_t entry(ir_fn_t *fn, const window_t *w, ir_val_t t, ir_val_t digit[2], ir_val_t *at)
{
    int64_t split[2] = {INT64_MAX, dims_count(w->x.rank, w->size)}, stride[IR_MAX_RANK];
    ir_val_t o[IR_MAX_RANK], k[IR_MAX_RANK], inside = ir_scalar(fn, DT_I1, 1);
    region_digits(fn, t, 2, split, digit);
    region_digits(fn, digit[0], w->out.rank, w->out.dim, o);
    region_digits(fn, digit[1], w->x.rank, w->size, k);
    for (int d = 0; d < w->x.rank; d++) {
        const window_dim_t *dim = &w->w[d];
        ir_val_t dilation = region_number(fn, dim->base_dilation), low = region_number(fn, 0);
        ir_val_t i = region_place(fn, 2, (ir_val_t[]){o[d], k[d]},
                                  (int64_t[]){dim->stride, dim->window_dilation});
        i = ir_op2(fn, OP_subtract, i, region_number(fn, dim->low));
        ir_val_t hit = ir_compare(fn, "EQ", ir_op2(fn, OP_remainder, i, dilation), low);
        hit = ir_op2(fn, OP_and, hit, ir_compare(fn, "GE", i, low));
        o[d] = ir_op2(fn, OP_divide, i, dilation);
        inside = ir_op2(fn, OP_and, inside, hit);
        inside = ir_op2(fn, OP_and, inside, is_within(fn, o[d], 0, dim->size));
    }
    ir_type_strides(&w->x, stride);
    *at = region_place(fn, w->x.rank, o, stride);
    return inside;
}

static int step_window(region_loop_t *self, ir_val_t t, const ir_val_t *carry, ir_val_t *next,
                       err_t *err)
{
    const window_t *w = self->user;
    ir_fn_t *fn = self->clone->to;
    int n = self->op->n_out;
    ir_val_t digit[2], at, inside = entry(fn, w, t, digit, &at);
    ir_val_t is_first = ir_compare(fn, "EQ", digit[1], region_number(fn, 0));
    ir_val_t *args = new_list(self), *result = args + 2 * n;
    for (int k = 0; k < n; k++) {
        ir_type_t scalar = ir_type_scalar(ir_type_of(fn, carry[k])->dtype);
        ir_val_t init = ir_reshape(fn, self->flat[n + k], &scalar);
        args[k] = ir_select(fn, is_first, init, region_element(fn, carry[k], digit[0]));
        args[n + k] = init;
        if (ir_type_count(&w->x) == 0) continue;
        ir_val_t x = ir_convert(fn, region_element(fn, self->flat[k], at), scalar.dtype);
        args[n + k] = ir_select(fn, inside, x, init);
    }
    int status = region_run(self, 0, IR_NONE, args, NULL, result, err);
    for (int k = 0; status == 0 && k < n; k++)
        next[k] = region_with_element(fn, carry[k], digit[0], result[k]);
    free(args);
    return status;
}

int region_loop_window(region_loop_t *self, err_t *err)
{
    const ir_op_t *op = self->op;
    window_t w;
    if (read_window(self, op->out, &w, err) < 0) return -1;
    self->user = &w;
    self->step = step_window;
    ir_val_t *carry = new_list(self);
    for (int k = 0; k < op->n_out; k++) {
        dtype_t dtype = ir_type_of(self->clone->from, op->out + (ir_val_t)k)->dtype;
        ir_type_t flat = ir_type(dtype, 1, (int64_t[]){ir_type_count(&w.out)});
        carry[k] = ir_splat(self->clone->to, &flat, 0);
    }
    int status = region_loop(self, count_steps(&w), op->n_out, carry, err);
    free(carry);
    return status;
}

/* Carries: the result, and the place that this window has picked so far, -1 being none. */
static int step_select(region_loop_t *self, ir_val_t t, const ir_val_t *carry, ir_val_t *next,
                       err_t *err)
{
    const window_t *w = self->user;
    ir_fn_t *fn = self->clone->to;
    int64_t last = dims_count(w->x.rank, w->size) - 1;
    ir_val_t digit[2], at, none = region_number(fn, -1), zero = region_number(fn, 0), kept, y;
    ir_val_t inside = entry(fn, w, t, digit, &at), no = ir_scalar(fn, DT_I1, 0);
    ir_val_t picked = ir_select(fn, ir_compare(fn, "EQ", digit[1], zero), none, carry[1]);
    ir_val_t both = ir_op2(fn, OP_and, inside, ir_compare(fn, "GE", picked, zero));
    ir_val_t pair[2] = {region_element(fn, self->flat[0], picked),
                        region_element(fn, self->flat[0], at)};
    if (region_run(self, 0, both, pair, &no, &kept, err) < 0) return -1;
    ir_val_t moves = ir_op2(fn, OP_and, inside, ir_op1(fn, OP_not, kept));
    next[1] = ir_select(fn, moves, at, picked);
    ir_val_t ends = ir_compare(fn, "EQ", digit[1], region_number(fn, last));
    ends = ir_op2(fn, OP_and, ends, ir_compare(fn, "GE", next[1], zero));
    ir_val_t args[2] = {region_element(fn, carry[0], next[1]),
                        region_element(fn, self->flat[1], digit[0])};
    if (region_run(self, 1, ends, args, args, &y, err) < 0) return -1;
    next[0] = region_with_element(fn, carry[0], next[1], y);
    return 0;
}

int region_loop_select(region_loop_t *self, err_t *err)
{
    const ir_op_t *op = self->op;
    ir_fn_t *fn = self->clone->to;
    window_t w;
    if (read_window(self, op->in[1], &w, err) < 0) return -1;
    self->user = &w;
    self->step = step_select;
    ir_type_t flat = ir_type(w.x.dtype, 1, (int64_t[]){ir_type_count(&w.x)});
    ir_val_t init = ir_broadcast_scalar(fn, self->clone->map[op->in[2]], &flat);
    ir_val_t carry[2] = {init, region_number(fn, -1)};
    self->clone->map[op->out] = ir_reshape(fn, init, &w.x); /* for no windows */
    return count_steps(&w) == 0 ? 0 : region_loop(self, count_steps(&w), 2, carry, err);
}
