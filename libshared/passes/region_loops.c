/* pass_region_loops: sort, scatter, reduce_window, select_and_scatter and reduce whose regions
 * loop, look up or draw become while loops over comparisons, updates or window entries, one region
 * run each. Slow, as every step goes through memory. */
#include "passes/region_loops.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ir/build.h"
#include "ir/build_index.h"
#include "ops/control.h"
#include "passes/element_loop.h"
#include "passes/passes.h"

/* --- Which ops --- */

static bool is_scalar(const ir_fn_t *fn, ir_val_t v)
{
    return ir_type_count(ir_type_of(fn, v)) == 1;
}

bool region_op_is_scalar(const ir_fn_t *fn, const ir_op_t *op)
{
    const op_def_t *def = op_def(op->code);
    if (op->n_region > 0 || op->n_out != 1 || !is_scalar(fn, op->out)) return false;
    for (int i = 0; i < op->n_in; i++)
        if (!is_scalar(fn, op->in[i])) return false;
    switch (op->code) {
    case OP_constant:
    case OP_compare:
    case OP_select:
    case OP_convert:
    case OP_reshape:
    case OP_broadcast_in_dim:
    case OP_optimization_barrier:
    case OP_reduce_precision: return true;
    case OP_custom_call: return op->n_in == 1 && control_is_identity(control_target(op));
    default: return def->kind == K_MAP && def->expr && op->n_in <= 4;
    }
}

/* Plans turn branches into selects, and barriers into one for each value. */
static bool takes_region(const ir_fn_t *fn, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        bool branches = op->code == OP_if || op->code == OP_case;
        for (int r = 0; branches && r < op->n_region; r++)
            if (!takes_region(fn, op->region[r])) return false;
        if (!branches && op->code != OP_optimization_barrier && !region_op_is_scalar(fn, op))
            return false;
    }
    return true;
}

typedef int rule_fn_t(region_loop_t *self, err_t *err);

/* Most of these are loops from pass_expand on; here come those of ops that pass_pairs writes out.
 */
static int loop_reduce(region_loop_t *self, err_t *err)
{
    return element_loop(self->clone, self->op, NULL, err) < 0 ? -1 : 0;
}

static rule_fn_t *rule_of(const ir_fn_t *fn, const ir_op_t *op)
{
    static rule_fn_t *const rules[OP_COUNT] = {
        [OP_sort] = region_loop_sort,
        [OP_scatter] = region_loop_scatter,
        [OP_reduce_window] = region_loop_window,
        [OP_select_and_scatter] = region_loop_select,
        [OP_reduce] = loop_reduce,
    };
    bool takes = true;
    if (!rules[op->code] || ir_type_count(ir_type_of(fn, op->out)) == 0) return NULL;
    for (int r = 0; r < op->n_region; r++) takes = takes && takes_region(fn, op->region[r]);
    return takes ? NULL : rules[op->code];
}

static bool has_any(const ir_fn_t *fn, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        if (rule_of(fn, op)) return true;
        for (int r = 0; r < op->n_region; r++)
            if (has_any(fn, op->region[r])) return true;
    }
    return false;
}

/* --- Numbers and elements --- */

ir_val_t region_number(ir_fn_t *fn, int64_t value)
{
    ir_type_t type = ir_type_scalar(DT_I64);
    tensor_t t = tensor_splat_i64(fn->module->arena, &type, value);
    return ir_const(fn, &t);
}

void region_digits(ir_fn_t *fn, ir_val_t t, int rank, const int64_t *dim, ir_val_t *digit)
{
    for (int d = rank - 1; d >= 0; d--) {
        ir_val_t n = region_number(fn, dim[d]);
        digit[d] = ir_op2(fn, OP_remainder, t, n);
        t = ir_op2(fn, OP_divide, t, n);
    }
}

ir_val_t region_place(ir_fn_t *fn, int rank, const ir_val_t *digit, const int64_t *stride)
{
    ir_val_t at = region_number(fn, 0);
    for (int d = 0; d < rank; d++) {
        ir_val_t part = ir_op2(fn, OP_multiply, digit[d], region_number(fn, stride[d]));
        at = ir_op2(fn, OP_add, at, part);
    }
    return at;
}

static ir_val_t flattened(ir_fn_t *fn, ir_val_t x)
{
    const ir_type_t type = *ir_type_of(fn, x);
    ir_type_t flat = ir_type(type.dtype, 1, (int64_t[]){ir_type_count(&type)});
    return ir_reshape(fn, x, &flat);
}

ir_val_t region_element(ir_fn_t *fn, ir_val_t flat, ir_val_t at)
{
    if (flat == IR_NONE) return IR_NONE;
    ir_type_t scalar = ir_type_scalar(ir_type_of(fn, flat)->dtype);
    return ir_reshape(fn, ir_dynamic_slice(fn, flat, &at, (int64_t[]){1}), &scalar);
}

ir_val_t region_with_element(ir_fn_t *fn, ir_val_t flat, ir_val_t at, ir_val_t value)
{
    if (flat == IR_NONE) return IR_NONE;
    ir_type_t one = ir_type(ir_type_of(fn, flat)->dtype, 1, (int64_t[]){1});
    return ir_dynamic_update_slice(fn, flat, ir_reshape(fn, value, &one), &at);
}

/* --- Regions --- */

static int run_here(region_loop_t *self, const ir_region_t *region, const ir_val_t *args,
                    ir_val_t *result, err_t *err)
{
    ir_clone_t *clone = self->clone;
    for (int i = 0; i < region->n_arg; i++) {
        ir_val_t arg = region->arg + (ir_val_t)i;
        clone->map[arg] = ir_convert(clone->to, args[i], ir_type_of(clone->from, arg)->dtype);
    }
    if (ir_clone_ops(clone, region, err) < 0) return -1;
    for (int k = 0; k < region->n_result; k++) result[k] = clone->map[region->result[k]];
    return 0;
}

int region_run(region_loop_t *self, int r, ir_val_t pred, const ir_val_t *args,
               const ir_val_t *otherwise, ir_val_t *result, err_t *err)
{
    const ir_region_t *region = self->op->region[r];
    ir_fn_t *fn = self->clone->to;
    int n = region->n_result;
    if (pred == IR_NONE && fn->err.code == ERR_OK) return run_here(self, region, args, result, err);
    ir_region_t *saved, *regions[2];
    ir_type_t *types = mem_calloc((size_t)n + 1, sizeof *types);
    for (int k = 0; k < n && fn->err.code == ERR_OK; k++) types[k] = *ir_type_of(fn, otherwise[k]);
    regions[0] = ir_region_begin(fn, 0, NULL, &saved);
    int status = run_here(self, region, args, result, err);
    if (status == 0) ir_region_end(fn, regions[0], n, result, saved);
    fn->cursor = saved;
    if (status == 0) {
        regions[1] = ir_region_begin(fn, 0, NULL, &saved);
        ir_region_end(fn, regions[1], n, otherwise, saved);
        const ir_op_t *op = ir_emit(fn, OP_if, 1, &pred, NULL, n, types, 2, regions);
        for (int k = 0; k < n; k++) result[k] = op ? op->out + (ir_val_t)k : IR_NONE;
    }
    free(types);
    return status;
}

/* --- The loop --- */

static int body(region_loop_t *self, const ir_region_t *region, int n_carry, ir_val_t *next,
                err_t *err)
{
    ir_fn_t *fn = self->clone->to;
    ir_val_t *carry = mem_calloc((size_t)n_carry + 1, sizeof *carry);
    for (int i = 0; i < n_carry; i++) carry[i] = region->arg + 1 + (ir_val_t)i;
    next[0] = ir_op2(fn, OP_add, region->arg, region_number(fn, 1));
    int status = self->step(self, region->arg, carry, next + 1, err);
    free(carry);
    return status;
}

static int emit(region_loop_t *self, int64_t n_step, int n, const ir_val_t *in, ir_type_t *types,
                err_t *err)
{
    ir_fn_t *fn = self->clone->to;
    ir_region_t *saved, *regions[2];
    regions[0] = ir_region_begin(fn, n, types, &saved);
    ir_val_t more = ir_compare(fn, "LT", regions[0]->arg, region_number(fn, n_step));
    ir_region_end(fn, regions[0], 1, &more, saved);
    regions[1] = ir_region_begin(fn, n, types, &saved);
    ir_val_t *next = mem_calloc((size_t)n, sizeof *next);
    int status = body(self, regions[1], n - 1, next, err);
    if (status == 0) ir_region_end(fn, regions[1], n, next, saved);
    fn->cursor = saved;
    free(next);
    if (status < 0) return -1;
    const ir_op_t *loop = ir_emit(fn, OP_while, n, in, NULL, n, types, 2, regions);
    if (!loop) return 0;
    for (ir_val_t k = 0; k < (ir_val_t)self->op->n_out; k++) {
        ir_val_t old = self->op->out + k;
        self->clone->map[old] = ir_reshape(fn, loop->out + 1 + k,
                                           ir_type_of(self->clone->from, old));
    }
    return 0;
}

int region_loop(region_loop_t *self, int64_t n_step, int n_carry, const ir_val_t *carry, err_t *err)
{
    ir_fn_t *fn = self->clone->to;
    int n = n_carry + 1, status = 0;
    ir_val_t *in = mem_calloc((size_t)n, sizeof *in);
    ir_type_t *types = mem_calloc((size_t)n, sizeof *types);
    in[0] = region_number(fn, 0);
    for (int i = 0; i < n_carry; i++) in[1 + i] = carry[i];
    for (int i = 0; i < n && fn->err.code == ERR_OK; i++) types[i] = *ir_type_of(fn, in[i]);
    if (fn->err.code == ERR_OK) status = emit(self, n_step, n, in, types, err);
    free(in);
    free(types);
    return status;
}

/* --- The pass --- */

static int rewrite(ir_clone_t *clone, const ir_op_t *op, err_t *err)
{
    ir_fn_t *fn = clone->to;
    rule_fn_t *rule = rule_of(clone->from, op);
    if (!rule) return 0;
    const ir_region_t *cursor = fn->cursor;
    int n_before = cursor->n_op;
    region_loop_t self = {.clone = clone, .op = op};
    self.flat = mem_calloc((size_t)op->n_in + 1, sizeof *self.flat);
    for (int i = 0; i < op->n_in; i++) self.flat[i] = flattened(fn, clone->map[op->in[i]]);
    int status = rule(&self, err);
    free(self.flat);
    for (int i = n_before; i < cursor->n_op; i++) cursor->op[i]->line = op->line;
    if (status == 0 && fn->err.code != ERR_OK)
        status = err_set(err, fn->err.code, "line %d: %s", op->line, fn->err.text);
    return status < 0 ? -1 : 1;
}

int pass_region_loops(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    bool changed = false;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f];
        if (!has_any(fn, fn->body)) continue;
        ir_fn_t *fresh = ir_clone_fn(module, fn, rewrite, NULL, err);
        if (!fresh) return err_prefix(err, "@%s: ", fn->name);
        ir_module_replace(module, fn, fresh);
        changed = true;
    }
    return changed ? passes_run(module, NULL, NULL, err) : 0;
}
