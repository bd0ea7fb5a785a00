/* Before plans: complex tensors become pairs of real ones, so that every backend has them, and ops
 * that only plans do not know (op_def_t.lowered) become what they stand for. Parameters and results
 * keep their bytes: a complex one is a real one with a last dimension of two. */
#include "passes/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/expand.h"
#include "passes/passes.h"

/* --- is there anything to do? --- */

static bool region_has(const ir_region_t *region, bool (*test)(const ir_op_t *op))
{
    for (int i = 0; i < region->n_op; i++) {
        if (test(region->op[i])) return true;
        for (int r = 0; r < region->op[i]->n_region; r++)
            if (region_has(region->op[i]->region[r], test)) return true;
    }
    return false;
}

static bool is_lowered(const ir_op_t *op)
{
    return op_def(op->code)->lowered;
}

static bool has_complex(const ir_fn_t *fn)
{
    for (uint32_t v = 0; v < fn->n_value; v++)
        if (dtype_is_complex(fn->value[v].type.dtype)) return true;
    return false;
}

/* --- ops that plans do not know --- */

static int expand_lowered(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    if (op->code == OP_select_and_scatter &&
        dtype_is_complex(ir_type_of(self->from, op->out)->dtype))
        return pairs_select_and_scatter(self, op, err);
    if (!op_def(op->code)->lowered || !op_def(op->code)->expand) return 0;
    ir_val_t *in = mem_calloc((size_t)(op->n_in + op->n_out) + 1, sizeof *in), *out = in + op->n_in;
    for (int i = 0; i < op->n_in; i++) in[i] = self->map[op->in[i]];
    int status = expand_op(self->to, self->from, op, in, out, err);
    for (int i = 0; i < op->n_out; i++) self->map[op->out + (ir_val_t)i] = out[i];
    free(in);
    return status < 0 ? err_prefix(err, "line %d: ", op->line) : 1;
}

/* --- ops with regions: every complex operand, argument and result becomes two --- */

static pairs_t *pairs_of(ir_clone_t *clone)
{
    return (pairs_t *)clone; /* the first member */
}

static int flatten(const pairs_t *self, int n, const ir_val_t *values, ir_val_t *to)
{
    int n_flat = 0;
    for (int i = 0; i < n; i++) {
        to[n_flat++] = pairs_part(self, values[i], 0);
        if (pairs_is_complex(self, values[i])) to[n_flat++] = pairs_part(self, values[i], 1);
    }
    return n_flat;
}

/* The types of n values from `first` on, taken apart; at[i]: where value i's are. Sorting has its
 * arguments in twos, which stay together: a, b -> re a, re b, im a, im b. */
static int flat_types(const pairs_t *self, ir_val_t first, int n, bool in_twos, ir_type_t *types,
                      int *at, int *step)
{
    int n_flat = 0, group = in_twos ? 2 : 1;
    for (int i = 0; i < n; i += group) {
        bool is_complex = pairs_is_complex(self, first + (ir_val_t)i);
        for (int k = 0; k < group; k++) {
            at[i + k] = n_flat + k;
            step[i + k] = group;
        }
        for (int k = 0; k < group * (is_complex ? 2 : 1); k++) {
            ir_type_t type = pairs_type(self, first + (ir_val_t)i);
            types[n_flat++] = ir_type_with(type, dtype_part(type.dtype));
        }
    }
    return n_flat;
}

/* Values from `first` on are those from `fresh` on, taken apart. */
static void bind(pairs_t *self, ir_val_t first, int n, ir_val_t fresh, const int *at,
                 const int *step)
{
    for (int i = 0; i < n; i++) {
        ir_val_t old = first + (ir_val_t)i, y = fresh + (ir_val_t)at[i];
        if (pairs_is_complex(self, old)) {
            self->part[0][old] = y;
            self->part[1][old] = y + (ir_val_t)step[i];
        } else {
            self->clone.map[old] = y;
        }
    }
}

static ir_region_t *flat_region(pairs_t *self, const ir_region_t *from, bool in_twos, err_t *err)
{
    ir_fn_t *to = self->clone.to;
    size_t n = 2 * (size_t)(from->n_arg + from->n_result) + 1;
    ir_type_t *types = mem_calloc(n, sizeof *types);
    int *at = mem_calloc(2 * n, sizeof *at), *step = at + n;
    ir_val_t *results = mem_calloc(n, sizeof *results);
    int n_arg = flat_types(self, from->arg, from->n_arg, in_twos, types, at, step);
    ir_region_t *saved, *region = ir_region_begin(to, n_arg, types, &saved);
    bind(self, from->arg, from->n_arg, region->arg, at, step);
    int status = ir_clone_ops(&self->clone, from, err);
    if (status == 0)
        ir_region_end(to, region, flatten(self, from->n_result, from->result, results), results,
                      saved);
    to->cursor = saved;
    free(types);
    free(at);
    free(results);
    return status < 0 ? NULL : region;
}

static int flat_op(pairs_t *self, const ir_op_t *op, err_t *err)
{
    size_t n = 2 * (size_t)(op->n_in + op->n_out) + 1;
    ir_val_t *in = mem_calloc(n, sizeof *in);
    ir_type_t *types = mem_calloc(n, sizeof *types);
    int *at = mem_calloc(2 * n, sizeof *at), *step = at + n, status = 0;
    ir_region_t **regions = mem_calloc((size_t)op->n_region + 1, sizeof *regions);
    for (int r = 0; status == 0 && r < op->n_region; r++) {
        regions[r] = flat_region(self, op->region[r], op->code == OP_sort, err);
        if (!regions[r]) status = -1;
    }
    int n_in = flatten(self, op->n_in, op->in, in);
    int n_out = flat_types(self, op->out, op->n_out, false, types, at, step);
    const ir_op_t *flat = status < 0 ? NULL
                                     : ir_emit(self->clone.to, op->code, n_in, in, &op->attrs,
                                               n_out, types, op->n_region, regions);
    if (flat) bind(self, op->out, op->n_out, flat->out, at, step);
    free(in);
    free(types);
    free(at);
    free(regions);
    return status;
}

/* One operand folded by sums, or replaced: each part by itself. */
static bool folds_parts(const ir_op_t *op)
{
    const ir_region_t *r = op->n_region == 1 ? op->region[0] : NULL;
    bool one = op->n_out == 1 && r && r->n_arg == 2;
    bool replaces = one && r->n_op == 0 && r->n_result == 1 && r->result[0] == r->arg + 1;
    switch (op->code) {
    case OP_reduce:
    case OP_reduce_window: return one && ir_reducer_op(r) == OP_add;
    case OP_scatter: return replaces || (one && ir_reducer_op(r) == OP_add);
    default: return false;
    }
}

static void fold_parts(pairs_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->clone.to;
    ir_type_t type = pairs_type(self, op->out);
    type.dtype = dtype_part(type.dtype);
    for (int k = 0; k < 2; k++) {
        ir_val_t in[3];
        for (int i = 0; i < op->n_in; i++) in[i] = pairs_part(self, op->in[i], k);
        ir_region_t *region = op->region[0]->n_op ? ir_reducer(fn, OP_add, type.dtype)
                                                  : ir_replacer(fn, type.dtype);
        ir_op_t *y = ir_emit(fn, op->code, op->n_in, in, &op->attrs, 1, &type, 1, &region);
        self->part[k][op->out] = y ? y->out : IR_NONE;
    }
}

/* --- the walk --- */

static bool touches_complex(const pairs_t *self, const ir_op_t *op)
{
    for (int i = 0; i < op->n_in; i++)
        if (pairs_is_complex(self, op->in[i])) return true;
    for (int i = 0; i < op->n_out; i++)
        if (pairs_is_complex(self, op->out + (ir_val_t)i)) return true;
    return op->code == OP_real || op->code == OP_imag; /* of real numbers */
}

/* Do values from around a region, or in it, matter? Regions of everything else are copied as usual,
 * and their ops come here one by one. */
static bool is_flat(op_code_t code)
{
    switch (code) {
    case OP_while:
    case OP_if:
    case OP_case:
    case OP_reduce:
    case OP_reduce_window:
    case OP_scatter:
    case OP_sort:
    case OP_pcp_fused:
    case OP_optimization_barrier: return true;
    default: return false;
    }
}

static int rewrite(ir_clone_t *clone, const ir_op_t *op, err_t *err)
{
    pairs_t *self = pairs_of(clone);
    const ir_region_t *cursor = clone->to->cursor;
    int n_before = cursor->n_op, status = 0;
    if (!touches_complex(self, op)) return 0;
    pairs_rule_t *rule = pairs_rule(op->code);
    if (op->code == OP_custom_call && op->n_in == 1 && op->n_out == 1) rule = pairs_each;
    if (rule)
        rule(self, op);
    else if (folds_parts(op))
        fold_parts(self, op);
    else if (is_flat(op->code))
        status = flat_op(self, op, err);
    else
        return err_set(err, ERR_UNSUPPORTED,
                       "line %d: %s: plans do not have it for complex numbers", op->line,
                       op_def(op->code)->name);
    for (int i = n_before; i < cursor->n_op; i++) cursor->op[i]->line = op->line;
    return status < 0 ? -1 : 1;
}

static int split_fn(ir_module_t *module, ir_fn_t *fn, err_t *err)
{
    int n = fn->body->n_arg;
    ir_type_t *types = mem_calloc((size_t)n + 1, sizeof *types);
    for (int i = 0; i < n; i++) types[i] = *ir_type_of(fn, ir_fn_param(fn, i));
    ir_fn_t *to = ir_fn_new(module, fn->name, n, types);
    pairs_t self = {.clone = {.from = fn, .to = to, .rewrite = rewrite}};
    size_t n_value = (size_t)fn->n_value + 1;
    ir_val_t *values = mem_calloc(4 * n_value, sizeof *values), *results = values + 3 * n_value;
    memset(values, 0xFF, 4 * n_value * sizeof *values);
    self.clone.map = values;
    for (int k = 0; k < 2; k++) self.part[k] = values + (size_t)(k + 1) * n_value;
    for (int i = 0; i < n; i++) self.clone.map[ir_fn_param(fn, i)] = ir_fn_param(to, i);
    int status = ir_clone_ops(&self.clone, fn->body, err);
    for (int i = 0; i < fn->body->n_result; i++) results[i] = self.clone.map[fn->body->result[i]];
    if (status == 0) status = ir_fn_finish(to, fn->body->n_result, results, err);
    if (status == 0) {
        ir_clone_words(to, fn);
        ir_module_replace(module, fn, to);
    } else {
        ir_module_remove(module, to);
    }
    free(values);
    free(types);
    return status;
}

int pass_pairs(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    if (pass_real_signature(module, options, err) < 0) return -1;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f];
        if (!has_complex(fn) && !region_has(fn->body, is_lowered)) continue;
        ir_fn_t *plain = ir_clone_fn(module, fn, expand_lowered, NULL, err);
        if (!plain) return err_prefix(err, "@%s: ", fn->name);
        ir_module_replace(module, fn, plain);
        if (split_fn(module, plain, err) < 0) return err_prefix(err, "@%s: ", fn->name);
    }
    return 0;
}
