/* The reverse rule of counted while loops: for (i = i0; i < limit; i += step) with constants.
 *
 * A copy of the loop runs forward once more and stacks the carries of every iteration; a second loop
 * walks the stacks backwards, applying the body's reverse. Memory is trips times the carries that
 * change; carries that never change are not stacked. Other loops are refused. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/build_index.h"
#include "ops/common.h"
#include "ops/control.h"
#include "ops/outer.h"

enum { MAX_TRIPS = 1 << 24 };

typedef struct {
    vjp_t *v;
    ir_fn_t *fn;
    const ir_region_t *cond, *body;
    int n;              /* carries */
    const ir_val_t *in; /* their initial values */
    int64_t trips;
    ir_val_t *stack; /* per carry: [trips, ...], IR_NONE when it never changes */
} loop_t;

/* --- How often: recognise the counter --- */

static int arg_of(const ir_region_t *region, ir_val_t v)
{
    return v >= region->arg && v < region->arg + (ir_val_t)region->n_arg ? (int)(v - region->arg)
                                                                         : -1;
}

static bool is_invariant(const loop_t *self, int k)
{
    return self->body->result[k] == self->body->arg + (ir_val_t)k;
}

/* v, seen from `region`, as an integer constant; carries that never change have their start's. */
static bool constant_of(const loop_t *self, const ir_region_t *region, ir_val_t v, int64_t *value)
{
    int k = arg_of(region, v);
    if (k >= 0 && !is_invariant(self, k)) return false;
    const tensor_t *t = ir_const_of(self->fn, k >= 0 ? self->in[k] : v);
    if (!t || t->type.rank != 0 || !dtype_is_int(t->type.dtype)) return false;
    *value = tensor_get_i64(t, 0);
    return true;
}

static bool holds(const char *direction, int64_t a, int64_t b)
{
    if (strcmp(direction, "LT") == 0) return a < b;
    if (strcmp(direction, "LE") == 0) return a <= b;
    if (strcmp(direction, "GT") == 0) return a > b;
    if (strcmp(direction, "GE") == 0) return a >= b;
    return strcmp(direction, "NE") == 0 ? a != b : a == b;
}

/* The body adds `step` to carry k. */
static bool step_of(const loop_t *self, int k, int64_t *step)
{
    const ir_op_t *op = ir_def(self->fn, self->body->result[k]);
    if (!op || (op->code != OP_add && op->code != OP_subtract)) return false;
    int counter = arg_of(self->body, op->in[0]) == k ? 0 : 1;
    if (arg_of(self->body, op->in[counter]) != k) return false;
    if (!constant_of(self, self->body, op->in[1 - counter], step)) return false;
    if (op->code == OP_subtract) *step = -*step;
    return op->code == OP_add || counter == 0;
}

static int count_trips(loop_t *self, err_t *err)
{
    const ir_op_t *test = ir_def(self->fn, self->cond->result[0]);
    int64_t at = 0, limit = 0, step = 0;
    int side = -1, k = -1;
    for (int s = 0; test && test->code == OP_compare && s < 2 && side < 0; s++) {
        k = arg_of(self->cond, test->in[s]);
        if (k < 0 || !constant_of(self, self->cond, test->in[1 - s], &limit)) continue;
        const tensor_t *start = ir_const_of(self->fn, self->in[k]);
        if (!start || !dtype_is_int(start->type.dtype) || !step_of(self, k, &step)) continue;
        at = tensor_get_i64(start, 0);
        side = s;
    }
    if (side < 0)
        return err_set(
            err, ERR_UNSUPPORTED,
            "the number of iterations is not constant: the gradient needs a counter that "
            "starts at a constant, is compared with a constant and moves by a constant");
    const char *direction = attr_text(&test->attrs, "comparison_direction", "");
    for (self->trips = 0; holds(direction, side ? limit : at, side ? at : limit); at += step)
        if (++self->trips > MAX_TRIPS)
            return err_set(err, ERR_UNSUPPORTED, "more than %d iterations", MAX_TRIPS);
    return 0;
}

/* --- Building loops --- */

static ir_type_t stacked_type(const loop_t *self, int k)
{
    const ir_type_t *type = ir_type_of(self->fn, self->in[k]);
    ir_type_t stacked = {.dtype = type->dtype, .rank = type->rank + 1, .dim = {self->trips}};
    memcpy(stacked.dim + 1, type->dim, (size_t)type->rank * sizeof *type->dim);
    return stacked;
}

/* The index (t, 0, 0, ..) into a stack. */
static void stack_index(ir_fn_t *fn, ir_val_t t, ir_val_t index[IR_MAX_RANK])
{
    ir_val_t zero = ir_scalar(fn, DT_I64, 0);
    for (int d = 0; d < IR_MAX_RANK; d++) index[d] = d ? zero : t;
}

static ir_val_t push(loop_t *self, int k, ir_val_t stack, ir_val_t carry, ir_val_t t)
{
    ir_val_t index[IR_MAX_RANK];
    ir_type_t slice = stacked_type(self, k);
    slice.dim[0] = 1;
    stack_index(self->fn, t, index);
    return ir_dynamic_update_slice(self->fn, stack, ir_reshape(self->fn, carry, &slice), index);
}

static ir_val_t pop(loop_t *self, int k, ir_val_t t)
{
    ir_val_t index[IR_MAX_RANK];
    ir_type_t slice = stacked_type(self, k), type = *ir_type_of(self->fn, self->in[k]);
    slice.dim[0] = 1;
    stack_index(self->fn, t, index);
    ir_val_t row = ir_dynamic_slice(self->fn, self->stack[k], index, slice.dim);
    return ir_reshape(self->fn, row, &type);
}

/* A while op over `start[n]` (the first is the counter) whose body region is built already. */
static const ir_op_t *emit_loop(ir_fn_t *fn, int n, const ir_val_t *start, const char *direction,
                                int64_t limit, ir_region_t *body)
{
    ir_type_t *types = mem_calloc((size_t)n, sizeof *types);
    const ir_op_t *op = NULL;
    if (fn->err.code == ERR_OK) {
        for (int i = 0; i < n; i++) types[i] = *ir_type_of(fn, start[i]);
        ir_region_t *saved, *region[2] = {ir_region_begin(fn, n, types, &saved), body};
        ir_val_t go_on = ir_compare(fn, direction, region[0]->arg,
                                    ir_scalar(fn, DT_I64, (double)limit));
        ir_region_end(fn, region[0], 1, &go_on, saved);
        op = ir_emit(fn, OP_while, n, start, NULL, n, types, 2, region);
    }
    free(types);
    return op;
}

static ir_region_t *begin_body(ir_fn_t *fn, int n, const ir_val_t *start, ir_region_t **saved)
{
    ir_type_t *types = mem_calloc((size_t)n, sizeof *types);
    for (int i = 0; i < n; i++) types[i] = *ir_type_of(fn, start[i]);
    ir_region_t *body = ir_region_begin(fn, n, types, saved);
    free(types);
    return body;
}

static ir_val_t move_counter(ir_fn_t *fn, ir_val_t t, double by)
{
    return ir_op2(fn, OP_add, t, ir_scalar(fn, DT_I64, by));
}

/* --- Forward: t, carries, stacks --- */

/* Copy the body's ops to the cursor, its arguments being args[n]; fills results[n]. */
static int copy_body(loop_t *self, ir_val_t first_arg, ir_val_t *results, err_t *err)
{
    uint32_t n = self->fn->n_value;
    ir_clone_t clone = {
        .from = self->fn, .to = self->fn, .map = mem_calloc(n + 1, sizeof(ir_val_t))};
    for (ir_val_t v = 0; v < n; v++) clone.map[v] = v;
    for (int k = 0; k < self->n; k++)
        clone.map[self->body->arg + (ir_val_t)k] = first_arg + (ir_val_t)k;
    int rc = ir_clone_ops(&clone, self->body, err);
    for (int k = 0; rc == 0 && k < self->n; k++) results[k] = clone.map[self->body->result[k]];
    free(clone.map);
    return rc;
}

static int run_forward(loop_t *self, err_t *err)
{
    ir_fn_t *fn = self->fn;
    int n = self->n, n_all = 1 + n, rc;
    ir_val_t *start = mem_calloc(2 * (size_t)n + 1, sizeof *start);
    ir_val_t *result = mem_calloc(2 * (size_t)n + 1, sizeof *result);
    int *at = mem_calloc((size_t)n + 1,
                         sizeof *at); /* where carry k's stack is among the carries */
    start[0] = ir_scalar(fn, DT_I64, 0);
    for (int k = 0; k < n; k++) {
        start[1 + k] = self->in[k];
        if (is_invariant(self, k)) continue;
        ir_type_t type = stacked_type(self, k);
        at[k] = n_all;
        start[n_all++] = ir_splat(fn, &type, 0);
    }
    ir_region_t *saved, *body = begin_body(fn, n_all, start, &saved);
    ir_val_t t = body->arg;
    for (int k = 0; k < n; k++)
        if (at[k]) result[at[k]] = push(self, k, t + (ir_val_t)at[k], t + 1 + (ir_val_t)k, t);
    rc = copy_body(self, t + 1, result + 1, err);
    result[0] = move_counter(fn, t, 1);
    if (rc == 0 && fn->err.code == ERR_OK) ir_region_finish(fn, body, n_all, result);
    fn->cursor = saved;
    const ir_op_t *op = rc == 0 ? emit_loop(fn, n_all, start, "LT", self->trips, body) : NULL;
    for (int k = 0; op && k < n; k++) self->stack[k] = at[k] ? op->out + (ir_val_t)at[k] : IR_NONE;
    free(at);
    free(start);
    free(result);
    return rc < 0 ? -1 : vjp_done(self->v, err);
}

/* --- Backward: t, cotangents of float carries, sums for outer values --- */

typedef struct {
    int n_ct, n_outer;
    int *carry;            /* carry[j]: whose cotangent ct j is */
    const ir_val_t *outer; /* values from outside that the body reads */
    ir_val_t *start;       /* 1 + n_ct + n_outer initial values */
} backward_t;

/* Build the reversed body for `plan`, collecting outer contributions into found. */
static ir_region_t *build_backward(loop_t *self, const backward_t *plan, outer_t *found, err_t *err)
{
    ir_fn_t *fn = self->fn;
    int n = self->n, n_all = 1 + plan->n_ct + plan->n_outer;
    ir_region_t *saved, *body = begin_body(fn, n_all, plan->start, &saved);
    ir_val_t *room = mem_calloc(3 * (size_t)n + (size_t)n_all, sizeof *room);
    ir_val_t *args = room, *ct = room + n, *arg_ct = room + 2 * n, *result = room + 3 * n;
    for (int k = 0; k < n; k++) ct[k] = arg_ct[k] = IR_NONE;
    for (int j = 0; j < plan->n_ct; j++) ct[plan->carry[j]] = body->arg + 1 + (ir_val_t)j;
    result[0] = move_counter(fn, body->arg, -1);
    for (int k = 0; k < n; k++)
        args[k] = self->stack[k] == IR_NONE ? self->in[k] : pop(self, k, result[0]);
    int rc = vjp_done(self->v, err);
    if (rc == 0) rc = self->v->region_vjp(&found->vjp, self->body, args, ct, arg_ct, err);
    for (int j = 0; rc == 0 && j < plan->n_ct; j++) {
        ir_val_t given = arg_ct[plan->carry[j]];
        ir_val_t like = self->in[plan->carry[j]];
        result[1 + j] = given == IR_NONE ? ir_scalar_like(fn, like, 0)
                                         : ir_convert(fn, given, ir_type_of(fn, like)->dtype);
    }
    for (int j = 0; rc == 0 && j < plan->n_outer; j++) {
        ir_val_t sum = body->arg + 1 + (ir_val_t)(plan->n_ct + j);
        ir_val_t more = outer_find(found, plan->outer[j]);
        result[1 + plan->n_ct + j] = more == IR_NONE ? sum : ir_op2(fn, OP_add, sum, more);
    }
    if (rc == 0) rc = vjp_done(self->v, err);
    if (rc == 0) ir_region_finish(fn, body, n_all, result);
    fn->cursor = saved;
    free(room);
    return rc == 0 ? body : NULL;
}

/* Which outer values the body contributes to is only known once it is built: a first build, thrown
 * away, finds them; the second has sums for them among its carries. */
static int run_backward(loop_t *self, backward_t *plan, err_t *err)
{
    ir_fn_t *fn = self->fn;
    vjp_t *v = self->v;
    outer_t trial, found;
    outer_init(&trial, v);
    outer_init(&found, v);
    ir_region_t *body = build_backward(self, plan, &trial, err);
    size_t n_start = 1 + (size_t)plan->n_ct;
    ir_val_t *outer = mem_calloc(trial.found.n + 1, sizeof *outer);
    plan->start = mem_realloc(plan->start, (n_start + trial.found.n) * sizeof *plan->start);
    for (size_t j = 0; body && j < trial.found.n; j++) {
        outer[j] = trial.found.at[j].value;
        plan->start[n_start + j] = ir_scalar_like(fn, outer[j], 0);
    }
    plan->outer = outer;
    plan->n_outer = (int)trial.found.n;
    if (body) body = build_backward(self, plan, &found, err);
    const ir_op_t *op =
        body ? emit_loop(fn, 1 + plan->n_ct + plan->n_outer, plan->start, "GT", 0, body) : NULL;
    for (int j = 0; op && j < plan->n_ct; j++)
        vjp_give(v, plan->carry[j], op->out + 1 + (ir_val_t)j);
    for (int j = 0; op && j < plan->n_outer; j++)
        v->add_outer(v, outer[j], op->out + 1 + (ir_val_t)(plan->n_ct + j));
    free(outer);
    outer_fini(&trial);
    outer_fini(&found);
    return body ? vjp_done(v, err) : -1;
}

static int reverse_loop(loop_t *self, err_t *err)
{
    if (run_forward(self, err) < 0) return -1;
    size_t n = (size_t)self->n + 1;
    backward_t plan = {.carry = mem_calloc(n, sizeof(int)),
                       .start = mem_calloc(n, sizeof(ir_val_t))};
    plan.start[0] = ir_scalar(self->fn, DT_I64, (double)self->trips);
    for (int k = 0; k < self->n; k++) {
        if (!dtype_is_float(ir_type_of(self->fn, self->in[k])->dtype)) continue;
        ir_val_t g = self->v->ct[k];
        plan.carry[plan.n_ct++] = k;
        plan.start[plan.n_ct] = g == IR_NONE ? ir_scalar_like(self->fn, self->in[k], 0) : g;
    }
    int rc = run_backward(self, &plan, err);
    free(plan.carry);
    free(plan.start);
    return rc;
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
    if (count_trips(&self, err) < 0) return -1;
    if (self.trips == 0) {
        for (int k = 0; k < op->n_in; k++) vjp_give(v, k, v->ct[k]);
        return vjp_done(v, err);
    }
    self.stack = mem_calloc((size_t)self.n + 1, sizeof *self.stack);
    int rc = reverse_loop(&self, err);
    free(self.stack);
    return rc;
}
