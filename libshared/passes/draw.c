/* rng ops become ordinary ones (ops/draw_rule.h, where the rule is). The number of draws so far is
 * threaded through the function: a constant in straight lines, one more result of if and case, one
 * more carry of while; map and reduce become loops. It runs right behind inlining, before a pass
 * may drop, move or copy a draw.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "ir/build.h"
#include "ops/control.h"
#include "ops/draw_rule.h"
#include "passes/element_loop.h"
#include "passes/passes.h"

typedef struct {
    ir_val_t seed, n; /* IR_NONE before the first draw */
} draws_t;

static int holds(const ir_op_t *op)
{
    int n = op->code == OP_rng;
    for (int r = 0; r < op->n_region; r++) n += draw_count(op->region[r]);
    return n;
}

static ir_val_t plus(ir_fn_t *fn, ir_val_t n, int by)
{
    return by ? ir_op2(fn, OP_add, n, ir_scalar(fn, DT_UI64, by)) : n;
}

static void map_results(ir_clone_t *self, const ir_op_t *op, const ir_op_t *fresh)
{
    for (int i = 0; i < op->n_out; i++)
        self->map[op->out + (ir_val_t)i] = fresh ? fresh->out + (ir_val_t)i : IR_NONE;
}

/* No bound's gradient: they are parameters of a distribution, not of the number drawn. */
static ir_val_t stopped(ir_fn_t *fn, ir_val_t x)
{
    ir_attrs_t attrs = {0};
    if (ir_const_of(fn, x) || !dtype_is_float(ir_type_of(fn, x)->dtype)) return x;
    attr_set_text(fn->module->arena, &attrs, "call_target_name", ATTR_STRING,
                  CONTROL_STOP_GRADIENT);
    const ir_op_t *op = ir_emit(fn, OP_custom_call, 1, &x, &attrs, 1, ir_type_of(fn, x), 0, NULL);
    return op ? op->out : IR_NONE;
}

static void rewrite_draw(ir_clone_t *self, const ir_op_t *op)
{
    draws_t *draws = self->user;
    ir_fn_t *fn = self->to;
    ir_val_t a = stopped(fn, self->map[op->in[0]]), b = stopped(fn, self->map[op->in[1]]);
    const ir_type_t type = *ir_type_of(self->from, op->out);
    self->map[op->out] = draw_numbers(fn, op, &type, a, b, draws->seed, draws->n);
    draws->n = plus(fn, draws->n, 1);
}

/* A region of op copied to `to`, the count of draws behind its results when `give`. */
static int copy_region(ir_clone_t *self, const ir_region_t *from, ir_region_t *to, bool give,
                       ir_region_t *saved, err_t *err)
{
    const draws_t *draws = self->user;
    for (int i = 0; i < from->n_arg; i++)
        self->map[from->arg + (ir_val_t)i] = to->arg + (ir_val_t)i;
    int status = ir_clone_ops(self, from, err);
    ir_val_t *results = mem_calloc((size_t)from->n_result + 1, sizeof *results);
    for (int i = 0; i < from->n_result; i++) results[i] = self->map[from->result[i]];
    results[from->n_result] = draws->n;
    if (status == 0) ir_region_end(self->to, to, from->n_result + give, results, saved);
    self->to->cursor = saved;
    free(results);
    return status;
}

static int rewrite_branches(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    draws_t *draws = self->user;
    ir_val_t before = draws->n, selector = self->map[op->in[0]];
    ir_region_t **regions = mem_calloc((size_t)op->n_region, sizeof *regions), *saved;
    int status = 0;
    for (int r = 0; r < op->n_region && status == 0; r++) {
        draws->n = before;
        regions[r] = ir_region_begin(self->to, 0, NULL, &saved);
        status = copy_region(self, op->region[r], regions[r], true, saved, err);
    }
    if (status == 0) {
        const ir_op_t *fresh = ir_emit(self->to, op->code, 1, &selector, &op->attrs, op->n_out + 1,
                                       NULL, op->n_region, regions);
        map_results(self, op, fresh);
        draws->n = fresh ? fresh->out + (ir_val_t)op->n_out : IR_NONE;
    }
    free(regions);
    return status;
}

/* The condition on these values at the cursor: whether to go on. */
static int test_now(ir_clone_t *self, const ir_op_t *op, const ir_val_t *values, ir_val_t *more,
                    err_t *err)
{
    const ir_region_t *cond = op->region[0];
    for (int i = 0; i < cond->n_arg; i++) self->map[cond->arg + (ir_val_t)i] = values[i];
    if (ir_clone_ops(self, cond, err) < 0) return -1;
    *more = self->map[cond->result[0]];
    return 0;
}

/* The body, and the condition on what it gives: the carries of the next round. */
static int rotated_body(ir_clone_t *self, const ir_op_t *op, ir_region_t *to, ir_region_t *saved,
                        err_t *err)
{
    draws_t *draws = self->user;
    int n = op->n_in;
    const ir_region_t *body = op->region[1];
    ir_val_t *next = mem_calloc((size_t)n + 2, sizeof *next);
    draws->n = to->arg + (ir_val_t)n + 1;
    for (int i = 0; i < n; i++) self->map[body->arg + (ir_val_t)i] = to->arg + (ir_val_t)i;
    int status = ir_clone_ops(self, body, err);
    for (int i = 0; i < n; i++) next[i] = self->map[body->result[i]];
    if (status == 0) status = test_now(self, op, next, &next[n], err);
    next[n + 1] = draws->n;
    if (status == 0) ir_region_end(self->to, to, n + 2, next, saved);
    self->to->cursor = saved;
    free(next);
    return status;
}

/* How often the condition draws is not known before it runs: it runs ahead of the loop and at the
 * end of the body, and whether to go on is carried, as is the number of draws. */
static int rotate_while(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    draws_t *draws = self->user;
    ir_fn_t *fn = self->to;
    int n = op->n_in;
    ir_val_t *in = mem_calloc((size_t)n + 2, sizeof *in);
    ir_type_t *types = mem_calloc((size_t)n + 2, sizeof *types);
    ir_region_t *regions[2] = {0}, *saved;
    for (int i = 0; i < n; i++) in[i] = self->map[op->in[i]];
    int status = test_now(self, op, in, &in[n], err);
    in[n + 1] = draws->n;
    for (int i = 0; i < n + 2 && fn->err.code == ERR_OK; i++) types[i] = *ir_type_of(fn, in[i]);
    if (status == 0) {
        regions[0] = ir_region_begin(fn, n + 2, types, &saved);
        ir_val_t more = regions[0]->arg + (ir_val_t)n;
        ir_region_end(fn, regions[0], 1, &more, saved);
        regions[1] = ir_region_begin(fn, n + 2, types, &saved);
        status = rotated_body(self, op, regions[1], saved, err);
    }
    if (status == 0) {
        const ir_op_t *fresh = ir_emit(fn, op->code, n + 2, in, &op->attrs, n + 2, types, 2,
                                       regions);
        map_results(self, op, fresh);
        draws->n = fresh ? fresh->out + (ir_val_t)n + 1 : IR_NONE;
    }
    free(in);
    free(types);
    return status;
}

/* The condition draws a known number of times, so that the body knows where to go on. */
static int rewrite_while(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    draws_t *draws = self->user;
    ir_fn_t *fn = self->to;
    int n = op->n_in, tested = 0, status = 0;
    const ir_region_t *cond = op->region[0];
    for (int i = 0; i < cond->n_op; i++) tested += cond->op[i]->code == OP_rng;
    if (tested != draw_count(cond)) return rotate_while(self, op, err);
    ir_val_t *in = mem_calloc((size_t)n + 1, sizeof *in);
    ir_type_t *types = mem_calloc((size_t)n + 1, sizeof *types);
    for (int i = 0; i <= n; i++) {
        in[i] = i < n ? self->map[op->in[i]] : draws->n;
        types[i] = *ir_type_of(fn, in[i]);
    }
    ir_region_t *regions[2] = {0}, *saved;
    for (int r = 0; r < 2 && status == 0; r++) {
        regions[r] = ir_region_begin(fn, n + 1, types, &saved);
        draws->n = plus(fn, regions[r]->arg + (ir_val_t)n, r ? tested : 0);
        status = copy_region(self, op->region[r], regions[r], r == 1, saved, err);
    }
    if (status == 0) {
        const ir_op_t *fresh = ir_emit(fn, op->code, n + 1, in, &op->attrs, n + 1, types, 2,
                                       regions);
        map_results(self, op, fresh);
        draws->n = fresh ? plus(fn, fresh->out + (ir_val_t)n, tested) : IR_NONE;
    }
    free(in);
    free(types);
    return status;
}

static int rewrite_op(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    switch (op->code) {
    case OP_rng: rewrite_draw(self, op); return 0;
    case OP_if:
    case OP_case: return rewrite_branches(self, op, err);
    case OP_while: return rewrite_while(self, op, err);
    case OP_map:
    case OP_reduce: return element_loop(self, op, &((draws_t *)self->user)->n, err) < 0 ? -1 : 0;
    default: /* how often and in which order their regions run is the implementation's choice */
        return err_set(err, ERR_UNSUPPORTED,
                       "line %d: stablehlo.rng inside of %s: draw a tensor ahead of it", op->line,
                       op_def(op->code)->name);
    }
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    draws_t *draws = self->user;
    ir_fn_t *fn = self->to;
    if (!holds(op)) return 0;
    if (fn->err.code) return err_set(err, fn->err.code, "%s", fn->err.text);
    int n_before = fn->cursor->n_op;
    if (draws->seed == IR_NONE) { /* no region stands around the first op that holds a draw */
        draws->seed = draw_seed(fn);
        draws->n = ir_scalar(fn, DT_UI64, 0);
    }
    if (rewrite_op(self, op, err) < 0) return -1;
    for (int i = n_before; i < fn->cursor->n_op; i++) fn->cursor->op[i]->line = op->line;
    return 1;
}

int pass_draw(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f];
        draws_t draws = {IR_NONE, IR_NONE};
        if (!draw_count(fn->body)) continue;
        ir_fn_t *fresh = ir_clone_fn(module, fn, rewrite, &draws, err);
        if (!fresh) return err_prefix(err, "@%s: ", fn->name);
        ir_module_replace(module, fn, fresh);
    }
    return 0;
}
