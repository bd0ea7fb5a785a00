/* Expansion of ops that only wrap others: map becomes its region's ops on whole tensors, or a
 * loop where its region does not work element by element, as reduce does then; ops that others
 * define become those; annotations (custom_call @Sharding and its like) become their operands.
 * pcp.stop_gradient stays: the reverse walk looks for it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/build.h"
#include "ops/control.h"
#include "ops/expand.h"
#include "passes/element_loop.h"
#include "passes/passes.h"

/* --- map --- */

/* Every op of the region works element by element, so that it means the same on tensors. */
static bool is_elementwise(const ir_region_t *region)
{
    for (int k = 0; k < region->n_op; k++) {
        const ir_op_t *op = region->op[k];
        bool scalar_const = op->code == OP_constant;
        if (op->n_out != 1 || op->n_region > 0) return false;
        if (op_def(op->code)->kind != K_MAP && !scalar_const) return false;
    }
    return true;
}

/* A scalar from inside or around the region as a tensor of the map's shape. */
static ir_val_t spread(ir_clone_t *self, ir_val_t old, const ir_type_t *shape)
{
    ir_val_t v = self->map[old];
    if (v == IR_NONE || ir_shape_equal(ir_type_of(self->to, v), shape)) return v;
    ir_type_t type = ir_type_with(*shape, ir_type_of(self->to, v)->dtype);
    return ir_broadcast_scalar(self->to, v, &type);
}

static void widen(ir_clone_t *self, const ir_op_t *op, const ir_type_t *shape)
{
    ir_type_t type = ir_type_with(*shape, ir_type_of(self->from, op->out)->dtype);
    ir_val_t *in = mem_calloc((size_t)op->n_in + 1, sizeof *in);
    for (int i = 0; i < op->n_in; i++) in[i] = spread(self, op->in[i], shape);
    const ir_op_t *wide = ir_emit(self->to, op->code, op->n_in, in, &op->attrs, 1, &type, 0, NULL);
    self->map[op->out] = wide ? wide->out : IR_NONE;
    free(in);
}

static int expand_map(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    const ir_region_t *region = op->region[0];
    const ir_type_t *shape = ir_type_of(self->from, op->out);
    if (!is_elementwise(region)) return element_loop(self, op, NULL, err);
    for (int i = 0; i < region->n_arg; i++)
        self->map[region->arg + (ir_val_t)i] = self->map[op->in[i]];
    for (int k = 0; k < region->n_op; k++) {
        if (region->op[k]->code != OP_constant)
            widen(self, region->op[k], shape);
        else if (!ir_clone_op(self, region->op[k], err))
            return -1;
    }
    self->map[op->out] = spread(self, region->result[0], shape);
    if (self->to->err.code == ERR_OK) return 1;
    return err_set(err, self->to->err.code, "line %d: %s", op->line, self->to->err.text);
}

/* --- reduce --- */

/* Ops that are left out, or become scalar ones, before kernels are made. */
static bool ends_scalar(const ir_op_t *op)
{
    switch (op->code) {
    case OP_constant:
    case OP_if:
    case OP_case:
    case OP_reshape:
    case OP_broadcast_in_dim:
    case OP_transpose:
    case OP_optimization_barrier:
    case OP_custom_call: return true;
    default: return op_def(op->code)->kind == K_MAP || op_def(op->code)->expand != NULL;
    }
}

/* The region loops, looks up or folds: no kernel of a reduction takes that. */
static bool needs_loop(const ir_region_t *region)
{
    for (int k = 0; k < region->n_op; k++) {
        const ir_op_t *op = region->op[k];
        if (!ends_scalar(op)) return true;
        for (int r = 0; r < op->n_region; r++)
            if (needs_loop(op->region[r])) return true;
    }
    return false;
}

/* --- annotations --- */

static int drop_annotation(ir_clone_t *self, const ir_op_t *op)
{
    const char *target = control_target(op);
    if (!control_is_identity(target) || strcmp(target, CONTROL_STOP_GRADIENT) == 0) return 0;
    for (int i = 0; i < op->n_out; i++) self->map[op->out + (ir_val_t)i] = self->map[op->in[i]];
    return 1;
}

/* Nothing is drawn: the state stays what it was. */
static int drop_empty_draw(ir_clone_t *self, const ir_op_t *op)
{
    const ir_type_t *bits = ir_type_of(self->from, op->out + 1);
    if (ir_type_count(bits) > 0) return 0;
    self->map[op->out] = self->map[op->in[0]];
    self->map[op->out + 1] = ir_splat(self->to, bits, 0);
    return 1;
}

/* --- ops that others define --- */

static int expand_defined(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    ir_val_t *in = mem_calloc((size_t)(op->n_in + op->n_out) + 1, sizeof *in), *out = in + op->n_in;
    const ir_region_t *cursor = self->to->cursor;
    int n_before = cursor->n_op;
    for (int i = 0; i < op->n_in; i++) in[i] = self->map[op->in[i]];
    int status = expand_op(self->to, self->from, op, in, out, err);
    for (int i = 0; i < op->n_out; i++) self->map[op->out + (ir_val_t)i] = out[i];
    for (int i = n_before; i < cursor->n_op; i++) cursor->op[i]->line = op->line;
    free(in);
    return status < 0 ? err_prefix(err, "line %d: ", op->line) : 1;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    if (op_def(op->code)->expand && !op_def(op->code)->lowered)
        return expand_defined(self, op, err);
    if (op->code == OP_map) return expand_map(self, op, err);
    if (op->code == OP_reduce && needs_loop(op->region[0]))
        return element_loop(self, op, NULL, err);
    if (op->code == OP_rng_bit_generator) return drop_empty_draw(self, op);
    return op->code == OP_custom_call ? drop_annotation(self, op) : 0;
}

int pass_expand(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f], *fresh = ir_clone_fn(module, fn, rewrite, NULL, err);
        if (!fresh) return err_prefix(err, "@%s: ", fn->name);
        ir_module_replace(module, fn, fresh);
    }
    return 0;
}
