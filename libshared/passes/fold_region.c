/* Folding of ops with regions: the op alone, between constants, in a function of its own that the
 * interpreter runs. Only where the regions read nothing from outside and the work is small. */
#include <stdlib.h>

#include "base/mem.h"
#include "ir/build.h"
#include "ops/eval.h"
#include "passes/effects.h"
#include "passes/fold_region.h"

enum { MAX_RUNS = 2048 }; /* of a region, about */

static int64_t count_of(const ir_fn_t *fn, ir_val_t v)
{
    return ir_type_count(ir_type_of(fn, v));
}

/* How often its regions run, at most; MAX_RUNS + 1: not to be folded. */
static int64_t runs_of(const ir_fn_t *fn, const ir_op_t *op)
{
    int64_t in = 0, out = count_of(fn, op->out), n = 1;
    for (int i = 0; i < op->n_in; i++) {
        int64_t count = count_of(fn, op->in[i]);
        in = count > in ? count : in;
    }
    if (in > MAX_RUNS || out > MAX_RUNS) return MAX_RUNS + 1;
    int n_window;
    const int64_t *window = attr_ints(&op->attrs, "window_dimensions", &n_window);
    for (int d = 0; d < n_window && n <= MAX_RUNS; d++) n *= window[d];
    switch (op->code) {
    case OP_reduce:
    case OP_scatter:
    case OP_map: return in;
    case OP_sort: return 11 * in; /* log2 MAX_RUNS merges */
    case OP_reduce_window: return n * out;
    case OP_select_and_scatter: return n * in;
    default: return MAX_RUNS + 1;
    }
}

static bool inside(const ir_fn_t *fn, const ir_region_t *region, ir_val_t v)
{
    const ir_value_t *value = &fn->value[v];
    if (ir_const_of(fn, v)) return true;
    return (value->def ? value->def->parent : value->owner) == region;
}

/* No nested regions, and nothing but constants read from around. */
static bool is_closed(const ir_fn_t *fn, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        if (op->n_region > 0) return false;
        for (int k = 0; k < op->n_in; k++)
            if (!inside(fn, region, op->in[k])) return false;
    }
    for (int i = 0; i < region->n_result; i++)
        if (!inside(fn, region, region->result[i])) return false;
    return true;
}

bool fold_region_may_run(const ir_fn_t *fn, const ir_op_t *op)
{
    if (op->n_region < 1 || !effects_mergeable(op) || runs_of(fn, op) > MAX_RUNS) return false;
    for (int r = 0; r < op->n_region; r++)
        if (!is_closed(fn, op->region[r])) return false;
    return true;
}

static void map_constants(ir_clone_t *clone, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        for (int k = 0; k < op->n_in; k++) {
            const tensor_t *t = ir_const_of(clone->from, op->in[k]);
            if (t && clone->map[op->in[k]] == IR_NONE)
                clone->map[op->in[k]] = ir_const(clone->to, t);
        }
    }
    for (int i = 0; i < region->n_result; i++) {
        const tensor_t *t = ir_const_of(clone->from, region->result[i]);
        if (t && clone->map[region->result[i]] == IR_NONE)
            clone->map[region->result[i]] = ir_const(clone->to, t);
    }
}

/* What the clone of op, whose regions have no regions, has left in the map. */
static void clear_map(ir_val_t *map, const ir_op_t *op)
{
    for (int i = 0; i < op->n_in; i++) map[op->in[i]] = IR_NONE;
    for (int i = 0; i < op->n_out; i++) map[op->out + (ir_val_t)i] = IR_NONE;
    for (int r = 0; r < op->n_region; r++) {
        const ir_region_t *region = op->region[r];
        for (int i = 0; i < region->n_arg; i++) map[region->arg + (ir_val_t)i] = IR_NONE;
        for (int i = 0; i < region->n_op; i++) clear_map(map, region->op[i]);
        for (int i = 0; i < region->n_result; i++) map[region->result[i]] = IR_NONE;
    }
}

int fold_region_run(const ir_fn_t *from, const ir_op_t *op, const tensor_t *in, ir_val_t *map,
                    tensor_t *out)
{
    ir_module_t *module = ir_module_new();
    ir_fn_t *fn = ir_fn_new(module, "fold", 0, NULL);
    ir_clone_t clone = {.from = from, .to = fn, .map = map};
    for (int i = 0; i < op->n_in; i++) clone.map[op->in[i]] = ir_const(fn, &in[i]);
    for (int r = 0; r < op->n_region; r++) map_constants(&clone, op->region[r]);
    ir_val_t *results = mem_calloc((size_t)op->n_out + 1, sizeof *results);
    const ir_op_t *copy = ir_clone_op(&clone, op, NULL);
    for (int i = 0; copy && i < op->n_out; i++) results[i] = copy->out + (ir_val_t)i;
    int status = copy ? ir_fn_finish(fn, op->n_out, results, NULL) : -1;
    if (status == 0) status = eval_fn(module, fn, NULL, out, NULL, NULL);
    free(results);
    clear_map(map, op);
    ir_module_destroy(&module);
    return status;
}
