/* The reverse rule of while. Carries of the forward run are kept and a second loop walks them
 * backwards, applying the body's reverse; carries that never change are not kept. Where a counter
 * with constant start, step and limit gives the number of iterations, all are kept if they are few or small,
 * else about sqrt(n), and segments between them run again; otherwise the run counts first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/control.h"
#include "ops/while_count.h"
#include "ops/while_loop.h"

enum {
    MAX_TRIPS = 1 << 24, /* counted here; longer loops count at run time */
    CHECKPOINTS = 64,
    KEPT_BYTES = 64 << 20, /* of all iterations' carries are kept .. */
    KEPT_TRIPS = 4096,     /* .. of so many: the interpreter copies all of it in each */
};

/* --- Backward: t, cotangents of float carries, sums for outer values --- */

typedef struct {
    int n_ct, n_outer;
    int *carry;      /* carry[j]: whose cotangent ct j is */
    ir_val_t *outer; /* values from outside that the body reads */
    ir_val_t *start; /* 1 + n_ct + n_outer initial values; the first is a counter */
} backward_t;

/* How a backward loop knows the carries before an iteration. */
typedef struct {
    const rows_t *rows;
    ir_val_t step; /* IR_NONE: a row per iteration; else one per `step`, the rest is run again */
} source_t;

static int carries_before(const loop_t *self, const source_t *from, ir_val_t t, ir_val_t *args,
                          err_t *err)
{
    if (from->step == IR_NONE) {
        rows_get(from->rows, self, t, args);
        return vjp_done(self->v, err);
    }
    ir_val_t row = ir_op2(self->fn, OP_divide, t, from->step);
    rows_get(from->rows, self, row, args);
    return while_run(self, ir_op2(self->fn, OP_multiply, row, from->step), t, args, args, err);
}

/* Results of the reversed body: a cotangent for each float carry, and the sums. */
static void gather_results(const loop_t *self, const backward_t *plan, const outer_t *found,
                           const ir_val_t *arg_ct, ir_val_t sums, ir_val_t *result)
{
    ir_fn_t *fn = self->fn;
    for (int j = 0; j < plan->n_ct; j++) {
        ir_val_t given = arg_ct[plan->carry[j]], like = self->in[plan->carry[j]];
        result[j] = given == IR_NONE ? ir_scalar_like(fn, like, 0)
                                     : ir_convert(fn, given, ir_type_of(fn, like)->dtype);
    }
    for (int j = 0; j < plan->n_outer; j++) {
        ir_val_t sum = sums + (ir_val_t)j, more = outer_find(found, plan->outer[j]);
        result[plan->n_ct + j] = more == IR_NONE ? sum : ir_op2(fn, OP_add, sum, more);
    }
}

/* The loop that counts start[0] down to 0, applying the reversed body. NULL after an error. */
static const ir_op_t *run_backward(const loop_t *self, const backward_t *plan, const source_t *from,
                                   const ir_val_t *start, err_t *err)
{
    ir_fn_t *fn = self->fn;
    int n = self->n, n_all = 1 + plan->n_ct + plan->n_outer;
    ir_val_t *room = mem_calloc(3 * (size_t)n + (size_t)n_all, sizeof *room);
    ir_val_t *args = room, *ct = room + n, *arg_ct = room + 2 * n, *result = room + 3 * n;
    const ir_op_t *op = NULL;
    outer_t found;
    building_t b;
    outer_init(&found, self->v);
    ir_val_t zero = loop_int(fn, 0);
    building_begin(&b, fn, n_all, start);
    for (int k = 0; k < n; k++) ct[k] = arg_ct[k] = IR_NONE;
    for (int j = 0; j < plan->n_ct; j++) ct[plan->carry[j]] = b.arg + 1 + (ir_val_t)j;
    result[0] = ir_op2(fn, OP_subtract, b.arg, loop_int(fn, 1));
    int rc = carries_before(self, from, result[0], args, err);
    if (rc == 0) rc = self->v->region_vjp(&found.vjp, self->body, args, ct, arg_ct, err);
    if (rc == 0) {
        gather_results(self, plan, &found, arg_ct, b.arg + 1 + (ir_val_t)plan->n_ct, result + 1);
        op = building_end(&b, result, "GT", zero);
    }
    fn->cursor = b.saved;
    outer_fini(&found);
    free(room);
    return rc == 0 && vjp_done(self->v, err) == 0 ? op : NULL;
}

/* Which outer values the body contributes to is only known once it is reversed: a first build on
 * the initial carries, thrown away, finds them; the loops have sums for them among their carries.
 */
static int find_outer(const loop_t *self, backward_t *plan, err_t *err)
{
    ir_fn_t *fn = self->fn;
    size_t n = (size_t)self->n + 1, n_start = 1 + (size_t)plan->n_ct;
    ir_val_t *ct = mem_calloc(2 * n, sizeof *ct), *arg_ct = ct + n;
    outer_t found;
    ir_region_t *saved;
    outer_init(&found, self->v);
    for (int k = 0; k < self->n; k++) ct[k] = arg_ct[k] = IR_NONE;
    for (int j = 0; j < plan->n_ct; j++) ct[plan->carry[j]] = plan->start[1 + j];
    ir_region_begin(fn, 0, NULL, &saved);
    int rc = self->v->region_vjp(&found.vjp, self->body, self->in, ct, arg_ct, err);
    fn->cursor = saved;
    plan->outer = mem_calloc(found.found.n + 1, sizeof *plan->outer);
    plan->start = mem_realloc(plan->start, (n_start + found.found.n) * sizeof *plan->start);
    for (size_t j = 0; rc == 0 && j < found.found.n; j++) {
        plan->outer[j] = found.found.at[j].value;
        plan->start[n_start + j] = ir_scalar_like(fn, plan->outer[j], 0);
    }
    plan->n_outer = (int)found.found.n;
    outer_fini(&found);
    free(ct);
    return rc;
}

/* --- Strategies --- */

/* The carries of each iteration are kept, by a loop that takes the place of the op: nothing runs twice. */
static const ir_op_t *reverse_short(const loop_t *self, backward_t *plan, int64_t trips, err_t *err)
{
    rows_t rows;
    rows_init(&rows, self, trips);
    plan->start[0] = loop_int(self->fn, trips);
    const ir_op_t *op = NULL;
    const ir_op_t *kept = while_run_kept(self, plan->start[0], self->in, &rows, err);
    if (kept) self->v->stand_in(self->v, kept, 1);
    if (kept) op = run_backward(self, plan, &(source_t){&rows, IR_NONE}, plan->start, err);
    rows_fini(&rows);
    return op;
}

/* One segment of a long loop, at the cursor in the loop over segments: forward from its checkpoint
 * with all carries kept, then backward. arg: segments left, cotangents, sums. */
static const ir_op_t *reverse_segment(const loop_t *self, const backward_t *plan,
                                      const rows_t *checkpoints, int64_t trips, int64_t step,
                                      ir_val_t arg, ir_val_t *left, err_t *err)
{
    ir_fn_t *fn = self->fn;
    int n_all = 1 + plan->n_ct + plan->n_outer;
    rows_t rows;
    ir_val_t *room = mem_calloc((size_t)(n_all + self->n), sizeof *room);
    ir_val_t *start = room, *from = room + n_all, size = loop_int(fn, step);
    *left = ir_op2(fn, OP_subtract, arg, loop_int(fn, 1));
    ir_val_t begin = ir_op2(fn, OP_multiply, *left, size);
    ir_val_t rest = ir_op2(fn, OP_subtract, loop_int(fn, trips), begin);
    start[0] = ir_op2(fn, OP_minimum, size, rest);
    for (int i = 1; i < n_all; i++) start[i] = arg + (ir_val_t)i;
    rows_init(&rows, self, step);
    rows_get(checkpoints, self, *left, from);
    const ir_op_t *op = NULL;
    if (while_run_kept(self, start[0], from, &rows, err))
        op = run_backward(self, plan, &(source_t){&rows, IR_NONE}, start, err);
    rows_fini(&rows);
    free(room);
    return op;
}

/* Many iterations: about sqrt(trips) checkpoints, each segment run once more. */
static const ir_op_t *reverse_long(const loop_t *self, backward_t *plan, int64_t trips, err_t *err)
{
    ir_fn_t *fn = self->fn;
    int64_t step = (int64_t)ceil(sqrt((double)trips)), n_segment = (trips + step - 1) / step;
    int n_all = 1 + plan->n_ct + plan->n_outer;
    ir_val_t *result = mem_calloc((size_t)n_all, sizeof *result);
    const ir_op_t *op = NULL, *inner = NULL;
    rows_t rows;
    building_t b;
    rows_init(&rows, self, n_segment);
    int rc = while_run_sparsely(self, loop_int(fn, trips), loop_int(fn, step), &rows, err);
    plan->start[0] = loop_int(fn, n_segment);
    if (rc == 0) {
        ir_val_t zero = loop_int(fn, 0);
        building_begin(&b, fn, n_all, plan->start);
        inner = reverse_segment(self, plan, &rows, trips, step, b.arg, &result[0], err);
        for (int i = 1; inner && i < n_all; i++) result[i] = inner->out + (ir_val_t)i;
        if (inner) op = building_end(&b, result, "GT", zero);
        fn->cursor = b.saved;
    }
    rows_fini(&rows);
    free(result);
    return op;
}

/* A number of iterations that only the run knows: counted, then run with CHECKPOINTS rows kept; the
 * carries before each iteration by running on from the last checkpoint before it. Linear up to
 * CHECKPOINTS iterations, n^2 / (2 CHECKPOINTS) runs of the body beyond. */
static const ir_op_t *reverse_unknown(const loop_t *self, backward_t *plan, err_t *err)
{
    ir_fn_t *fn = self->fn;
    const ir_op_t *op = NULL;
    ir_val_t count = loop_count(self, err);
    if (count == IR_NONE) return NULL;
    ir_val_t up = ir_op2(fn, OP_add, count, loop_int(fn, CHECKPOINTS - 1));
    ir_val_t step = ir_op2(fn, OP_divide, up, loop_int(fn, CHECKPOINTS));
    step = ir_op2(fn, OP_maximum, step, loop_int(fn, 1));
    rows_t rows;
    rows_init(&rows, self, CHECKPOINTS);
    plan->start[0] = count;
    if (while_run_sparsely(self, count, step, &rows, err) == 0)
        op = run_backward(self, plan, &(source_t){&rows, step}, plan->start, err);
    rows_fini(&rows);
    return op;
}

/* May the carries of all iterations be kept? What the body only stacks up is not counted: no reverse reads it. The
 * attribute pcp.loop_bytes of the module says of how many bytes in the place of KEPT_BYTES. */
static bool keeps_all(const loop_t *self, int64_t trips)
{
    int64_t bytes = 0;
    for (int k = 0; k < self->n; k++)
        if (!loop_is_invariant(self, k) && !loop_stacks(self, k))
            bytes += ir_type_bytes(ir_type_of(self->fn, self->in[k]));
    int64_t most = attr_int(&self->fn->module->attrs, "pcp.loop_bytes", KEPT_BYTES);
    return trips <= CHECKPOINTS || (trips <= KEPT_TRIPS && bytes <= most / trips);
}

static int reverse_loop(const loop_t *self, int64_t trips, err_t *err)
{
    ir_fn_t *fn = self->fn;
    size_t n = (size_t)self->n + 1;
    backward_t plan = {.carry = mem_calloc(n, sizeof(int)),
                       .start = mem_calloc(n, sizeof(ir_val_t))};
    for (int k = 0; k < self->n; k++) {
        if (!dtype_is_inexact(ir_type_of(fn, self->in[k])->dtype)) continue;
        ir_val_t g = self->v->ct[k];
        plan.carry[plan.n_ct++] = k;
        plan.start[plan.n_ct] = g == IR_NONE ? ir_scalar_like(fn, self->in[k], 0) : g;
    }
    int rc = find_outer(self, &plan, err);
    const ir_op_t *op = NULL;
    if (rc == 0 && trips < 0)
        op = reverse_unknown(self, &plan, err);
    else if (rc == 0)
        op = keeps_all(self, trips) ? reverse_short(self, &plan, trips, err)
                                    : reverse_long(self, &plan, trips, err);
    for (int j = 0; op && j < plan.n_ct; j++)
        vjp_give(self->v, plan.carry[j], op->out + 1 + (ir_val_t)j);
    for (int j = 0; op && j < plan.n_outer; j++)
        self->v->add_outer(self->v, plan.outer[j], op->out + 1 + (ir_val_t)(plan.n_ct + j));
    free(plan.carry);
    free(plan.outer);
    free(plan.start);
    return op ? vjp_done(self->v, err) : -1;
}

int vjp_while(vjp_t *v, err_t *err)
{
    const ir_op_t *op = v->op;
    loop_t self = {.v = v, .fn = v->fn, .cond = op->region[0], .body = op->region[1]};
    self.n = op->n_in;
    self.in = op->in;
    for (int k = 0; k < op->n_in; k++)
        if (ir_type_of(v->fn, op->in[k])->rank == IR_MAX_RANK)
            return err_set(err, ERR_UNSUPPORTED,
                           "carry %d has the largest rank, %d: no room to stack it", k,
                           IR_MAX_RANK);
    while_count_t count;
    int64_t trips = while_counts(v->fn, op, MAX_TRIPS, &count) ? count.trips : -1;
    if (trips != 0) return reverse_loop(&self, trips, err);
    for (int k = 0; k < op->n_in; k++) vjp_give(v, k, v->ct[k]);
    return vjp_done(v, err);
}
