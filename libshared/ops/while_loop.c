/* Loops around copies of a while op's body. */
#include "ops/while_loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"

bool loop_is_invariant(const loop_t *self, int k)
{
    return self->body->result[k] == self->body->arg + (ir_val_t)k;
}

bool loop_stacks(const loop_t *self, int k)
{
    const ir_op_t *op = ir_def(self->fn, self->body->result[k]);
    ir_val_t carry = self->body->arg + (ir_val_t)k;
    return op && op->code == OP_dynamic_update_slice && op->parent == self->body &&
           op->in[0] == carry && ir_uses_in(self->body, carry) == 1 &&
           ir_uses_in(self->cond, self->cond->arg + (ir_val_t)k) == 0;
}

ir_val_t loop_int(ir_fn_t *fn, int64_t i)
{
    return ir_scalar(fn, DT_I64, (double)i);
}

/* --- Construction --- */

void building_begin(building_t *self, ir_fn_t *fn, int n, const ir_val_t *start)
{
    *self = (building_t){.fn = fn, .n = n, .start = start};
    ir_type_t *types = mem_calloc((size_t)n, sizeof *types);
    for (int i = 0; i < n && fn->err.code == ERR_OK; i++) types[i] = *ir_type_of(fn, start[i]);
    self->body = ir_region_begin(fn, n, types, &self->saved);
    self->arg = self->body->arg;
    free(types);
}

const ir_op_t *building_end(building_t *self, const ir_val_t *results, const char *direction,
                            ir_val_t limit)
{
    ir_fn_t *fn = self->fn;
    const ir_op_t *op = NULL;
    if (fn->err.code == ERR_OK) ir_region_finish(fn, self->body, self->n, results);
    fn->cursor = self->saved;
    if (fn->err.code != ERR_OK) return NULL;
    ir_type_t *types = mem_calloc((size_t)self->n, sizeof *types);
    for (int i = 0; i < self->n; i++) types[i] = *ir_type_of(fn, self->start[i]);
    ir_region_t *saved, *region[2] = {ir_region_begin(fn, self->n, types, &saved), self->body};
    ir_val_t go_on = ir_compare(fn, direction, region[0]->arg, limit);
    ir_region_end(fn, region[0], 1, &go_on, saved);
    op = ir_emit(fn, OP_while, self->n, self->start, NULL, self->n, types, 2, region);
    free(types);
    return op;
}

/* A copy of `region` at the cursor, its arguments being args[n]; fills results[n_result]. */
static int copy_region(const loop_t *self, const ir_region_t *region, const ir_val_t *args,
                       ir_val_t *results, err_t *err)
{
    uint32_t n = self->fn->n_value;
    ir_clone_t clone = {
        .from = self->fn, .to = self->fn, .map = mem_calloc(n + 1, sizeof(ir_val_t))};
    for (ir_val_t v = 0; v < n; v++) clone.map[v] = v;
    for (int k = 0; k < self->n; k++) clone.map[region->arg + (ir_val_t)k] = args[k];
    int rc = ir_clone_ops(&clone, region, err);
    for (int k = 0; rc == 0 && k < region->n_result; k++) results[k] = clone.map[region->result[k]];
    free(clone.map);
    return rc;
}

static ir_val_t plus(ir_fn_t *fn, ir_val_t t, int64_t by)
{
    return ir_op2(fn, OP_add, t, loop_int(fn, by));
}

/* --- Rows --- */

static ir_type_t row_type(const rows_t *self, const loop_t *loop, int k, bool all)
{
    const ir_type_t *type = ir_type_of(loop->fn, loop->in[k]);
    ir_type_t rows = {.dtype = type->dtype, .rank = type->rank + 1, .dim = {all ? self->n_row : 1}};
    memcpy(rows.dim + 1, type->dim, (size_t)type->rank * sizeof *type->dim);
    return rows;
}

void rows_init(rows_t *self, const loop_t *loop, int64_t n_row)
{
    self->n_row = n_row;
    self->at = mem_calloc((size_t)loop->n + 1, sizeof *self->at);
    for (int k = 0; k < loop->n; k++) {
        ir_type_t type = row_type(self, loop, k, true);
        self->at[k] = loop_is_invariant(loop, k) ? IR_NONE : ir_splat(loop->fn, &type, 0);
    }
}

void rows_fini(rows_t *self)
{
    free(self->at);
    self->at = NULL;
}

/* (row, 0, 0, ..) */
static void row_index(ir_fn_t *fn, ir_val_t row, ir_val_t index[IR_MAX_RANK])
{
    ir_val_t zero = loop_int(fn, 0);
    for (int d = 0; d < IR_MAX_RANK; d++) index[d] = d ? zero : row;
}

static ir_val_t put(const rows_t *self, const loop_t *loop, int k, ir_val_t rows, ir_val_t carry,
                    ir_val_t row)
{
    ir_val_t index[IR_MAX_RANK];
    ir_type_t slice = row_type(self, loop, k, false);
    row_index(loop->fn, row, index);
    return ir_dynamic_update_slice(loop->fn, rows, ir_reshape(loop->fn, carry, &slice), index);
}

void rows_get(const rows_t *self, const loop_t *loop, ir_val_t row, ir_val_t *args)
{
    ir_val_t index[IR_MAX_RANK];
    row_index(loop->fn, row, index);
    for (int k = 0; k < loop->n; k++) {
        args[k] = loop->in[k];
        if (self->at[k] == IR_NONE) continue;
        ir_type_t slice = row_type(self, loop, k, false), type = *ir_type_of(loop->fn, args[k]);
        ir_val_t x = ir_dynamic_slice(loop->fn, self->at[k], index, slice.dim);
        args[k] = ir_reshape(loop->fn, x, &type);
    }
}

/* --- Runs --- */

/* Carries of a loop that keeps rows: `first` of its own, the op's n, then the rows that there are.
 */
static int gather_start(const loop_t *self, int first, const ir_val_t *from, const rows_t *rows,
                        ir_val_t *start)
{
    int n = first;
    for (int k = 0; k < self->n; k++) start[n++] = from[k];
    for (int k = 0; k < self->n; k++)
        if (rows->at[k] != IR_NONE) start[n++] = rows->at[k];
    return n;
}

/* In the body: every row carry with this iteration's carries put in; results from result[first +
 * n]. */
static void put_all(const loop_t *self, int first, const rows_t *rows, ir_val_t arg, ir_val_t row,
                    ir_val_t *result)
{
    int at = first + self->n;
    for (int k = 0; k < self->n; k++) {
        if (rows->at[k] == IR_NONE) continue;
        ir_val_t carry = arg + (ir_val_t)(first + k);
        result[at] = put(rows, self, k, arg + (ir_val_t)at, carry, row);
        at++;
    }
}

static void take_rows(const loop_t *self, int first, rows_t *rows, const ir_op_t *op)
{
    ir_val_t at = op->out + (ir_val_t)(first + self->n);
    for (int k = 0; k < self->n; k++)
        if (rows->at[k] != IR_NONE) rows->at[k] = at++;
}

int while_run(const loop_t *self, ir_val_t t, ir_val_t limit, const ir_val_t *from, ir_val_t *out,
              err_t *err)
{
    ir_fn_t *fn = self->fn;
    size_t n = (size_t)self->n + 1;
    ir_val_t *room = mem_calloc(3 * n, sizeof *room);
    ir_val_t *start = room, *args = room + n, *result = room + 2 * n;
    start[0] = t;
    memcpy(start + 1, from, (n - 1) * sizeof *start);
    building_t b;
    building_begin(&b, fn, (int)n, start);
    for (int k = 0; k < self->n; k++) args[k] = b.arg + 1 + (ir_val_t)k;
    int rc = copy_region(self, self->body, args, result + 1, err);
    result[0] = plus(fn, b.arg, 1);
    const ir_op_t *op = rc == 0 ? building_end(&b, result, "LT", limit) : NULL;
    fn->cursor = b.saved;
    for (int k = 0; op && k < self->n; k++) out[k] = op->out + 1 + (ir_val_t)k;
    free(room);
    return rc < 0 ? -1 : vjp_done(self->v, err);
}

const ir_op_t *while_run_kept(const loop_t *self, ir_val_t limit, const ir_val_t *from,
                              rows_t *rows, err_t *err)
{
    ir_fn_t *fn = self->fn;
    size_t most = 2 * (size_t)self->n + 1;
    ir_val_t *room = mem_calloc(3 * most, sizeof *room);
    ir_val_t *start = room, *args = room + most, *result = room + 2 * most;
    start[0] = loop_int(fn, 0);
    building_t b;
    building_begin(&b, fn, gather_start(self, 1, from, rows, start), start);
    put_all(self, 1, rows, b.arg, b.arg, result);
    for (int k = 0; k < self->n; k++) args[k] = b.arg + 1 + (ir_val_t)k;
    int rc = copy_region(self, self->body, args, result + 1, err);
    result[0] = plus(fn, b.arg, 1);
    const ir_op_t *op = rc == 0 ? building_end(&b, result, "LT", limit) : NULL;
    fn->cursor = b.saved;
    if (op) take_rows(self, 1, rows, op);
    free(room);
    return rc == 0 && vjp_done(self->v, err) == 0 ? op : NULL;
}

int while_run_sparsely(const loop_t *self, ir_val_t count, ir_val_t step, rows_t *rows, err_t *err)
{
    ir_fn_t *fn = self->fn;
    size_t most = 2 * (size_t)self->n + 1;
    ir_val_t *room = mem_calloc(3 * most, sizeof *room);
    ir_val_t *start = room, *args = room + most, *result = room + 2 * most;
    start[0] = loop_int(fn, 0);
    ir_val_t n_row = loop_int(fn, rows->n_row);
    building_t b;
    building_begin(&b, fn, gather_start(self, 1, self->in, rows, start), start);
    put_all(self, 1, rows, b.arg, b.arg, result);
    for (int k = 0; k < self->n; k++) args[k] = b.arg + 1 + (ir_val_t)k;
    result[0] = plus(fn, b.arg, 1);
    ir_val_t t = ir_op2(fn, OP_multiply, b.arg, step);
    ir_val_t end = ir_op2(fn, OP_minimum, ir_op2(fn, OP_multiply, result[0], step), count);
    int rc = while_run(self, t, end, args, result + 1, err);
    const ir_op_t *op = rc == 0 ? building_end(&b, result, "LT", n_row) : NULL;
    fn->cursor = b.saved;
    if (op) take_rows(self, 1, rows, op);
    free(room);
    return rc < 0 ? -1 : vjp_done(self->v, err);
}

/* The op itself with a counter among its carries: the one loop here whose condition is the op's
 * own. */
ir_val_t loop_count(const loop_t *self, err_t *err)
{
    ir_fn_t *fn = self->fn;
    int n = self->n;
    ir_val_t *room = mem_calloc(3 * (size_t)n + 3, sizeof *room), go_on, count = IR_NONE;
    ir_val_t *start = room, *args = room + n + 1, *result = room + 2 * n + 1;
    ir_type_t *types = mem_calloc((size_t)n + 1, sizeof *types);
    start[0] = loop_int(fn, 0);
    memcpy(start + 1, self->in, (size_t)n * sizeof *start);
    int rc = vjp_done(self->v, err);
    for (int k = 0; rc == 0 && k <= n; k++) types[k] = *ir_type_of(fn, start[k]);
    ir_region_t *region[2] = {NULL}, *saved;
    for (int r = 0; rc == 0 && r < 2; r++) {
        region[r] = ir_region_begin(fn, n + 1, types, &saved);
        for (int k = 0; k < n; k++) args[k] = region[r]->arg + 1 + (ir_val_t)k;
        rc = copy_region(self, r ? self->body : self->cond, args, r ? result + 1 : &go_on, err);
        if (rc == 0 && r == 1) result[0] = plus(fn, region[r]->arg, 1);
        if (rc == 0 && r == 1) ir_region_end(fn, region[r], n + 1, result, saved);
        if (rc == 0 && r == 0) ir_region_end(fn, region[r], 1, &go_on, saved);
        fn->cursor = saved;
    }
    const ir_op_t *op = rc == 0 ? ir_emit(fn, OP_while, n + 1, start, NULL, n + 1, types, 2, region)
                                : NULL;
    if (op) count = op->out;
    free(types);
    free(room);
    return vjp_done(self->v, err) == 0 ? count : IR_NONE;
}
