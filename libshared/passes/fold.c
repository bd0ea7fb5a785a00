/* Constant folding: ops whose operands are all constants are run once by the reference evaluators.
 * A splat stays a splat. Results larger than what they replace are left to run time, and so are
 * ops with regions but for small ones (fold_region.c). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/build.h"
#include "ops/eval.h"
#include "passes/effects.h"
#include "passes/fold_region.h"
#include "passes/passes.h"

enum {
    MAX_IN = 8,
    SMALL = 256, /* elements that may always be written out */
    MAX_ELEMENTS =
        4096,           /* larger only when all operands are splat, or for moves that do not grow */
    MAX_WORK = 1 << 20, /* elements looked at by one fold */
};

static bool all_splat(int n_in, const tensor_t *in)
{
    for (int i = 0; i < n_in; i++)
        if (!in[i].splat) return false;
    return n_in > 0;
}

/* Elements that the operands write out. */
static int64_t written(int n_in, const tensor_t *in)
{
    int64_t n = 0;
    for (int i = 0; i < n_in; i++) n += in[i].splat ? 1 : ir_type_count(&in[i].type);
    return n;
}

/* A view of equal splats is that splat, whatever its shape; the operands of these two are shapes,
 * not elements. */
static bool is_splat_view(const ir_fn_t *fn, const ir_op_t *op, const tensor_t *in)
{
    if (op->code == OP_dynamic_iota || op->code == OP_get_dimension_size) return false;
    if (op_def(op->code)->kind != K_VIEW || op->n_out != 1 || !all_splat(op->n_in, in))
        return false;
    dtype_t dtype = ir_type_of(fn, op->out)->dtype;
    for (int i = 0; i < op->n_in; i++)
        if (in[i].type.dtype != dtype || memcmp(in[i].data, in[0].data, dtype_bytes(dtype)) != 0)
            return false;
    return true;
}

static bool is_splat_map(const ir_op_t *op, const tensor_t *in)
{
    return op_def(op->code)->kind == K_MAP && op->n_out == 1 && all_splat(op->n_in, in);
}

static bool may_run(const ir_op_t *op)
{
    const op_def_t *def = op_def(op->code);
    if (op->code == OP_dynamic_iota) return false; /* pass_simplify makes a literal of it */
    return def->eval && op->n_region == 0 && def->kind != K_CONTROL && effects_mergeable(op);
}

static bool is_small(const ir_fn_t *fn, const ir_op_t *op, const tensor_t *in)
{
    const op_def_t *def = op_def(op->code);
    int64_t size = written(op->n_in, in), results = 0;
    for (int i = 0; i < op->n_out; i++) {
        int64_t n = ir_type_count(ir_type_of(fn, op->out + (ir_val_t)i));
        if (n > MAX_WORK) return false;
        results += n;
    }
    if (results > SMALL && results > size) return false;
    bool cheap = def->kind == K_MAP || def->kind == K_VIEW;
    return size + results <= (cheap ? MAX_WORK : MAX_ELEMENTS);
}

/* The evaluator's result as a constant of the new function. */
static ir_val_t constant_of(ir_fn_t *fn, const tensor_t *x)
{
    arena_t *arena = fn->module->arena;
    tensor_t one = *x;
    one.splat = true;
    bool splat = x->splat || (ir_type_count(&x->type) > 0 && tensor_equal(&one, x));
    tensor_t copy = splat ? one : *x;
    copy.data = arena_copy(arena, x->data, (size_t)tensor_data_bytes(&copy));
    return ir_const(fn, &copy);
}

typedef struct {
    ir_fn_t *twins; /* scalar ops that stand for maps of splats */
    ir_val_t *map;  /* for fold_region_run */
} fold_t;

static int fold_op(ir_clone_t *self, const ir_op_t *op, const tensor_t *in)
{
    tensor_t out[MAX_IN];
    if (op->n_out > MAX_IN) return 0;
    /* An op that cannot be evaluated keeps its meaning, and its error, for run time. */
    int status = op->n_region > 0
                     ? fold_region_run(self->from, op, in, ((fold_t *)self->user)->map, out)
                     : eval_op(self->from->module, self->from, op, in, out, NULL);
    if (status < 0) return 0;
    for (int i = 0; i < op->n_out; i++) {
        self->map[op->out + (ir_val_t)i] = constant_of(self->to, &out[i]);
        tensor_fini(&out[i]);
    }
    return 1;
}

/* A map of splats, however large, is worked out on one element: a scalar twin of the op. */
static int fold_splat_map(ir_clone_t *self, const ir_op_t *op, const tensor_t *in)
{
    ir_fn_t *scratch = ((fold_t *)self->user)->twins;
    ir_type_t type = *ir_type_of(self->from, op->out), scalar = ir_type_scalar(type.dtype);
    ir_op_t *twin = ir_op_new(scratch, op->code, op->n_in, op->in, 1, &scalar, 0);
    twin->attrs = op->attrs;
    tensor_t element[MAX_IN], y;
    for (int i = 0; i < op->n_in; i++) {
        element[i] = in[i];
        element[i].type = ir_type_scalar(in[i].type.dtype);
        element[i].splat = false;
    }
    if (eval_op(self->from->module, scratch, twin, element, &y, NULL) < 0) return 0;
    tensor_t splat = {.type = type, .splat = true};
    splat.data = arena_copy(self->to->module->arena, y.data, dtype_bytes(type.dtype));
    self->map[op->out] = ir_const(self->to, &splat);
    tensor_fini(&y);
    return 1;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    (void)err;
    tensor_t in[MAX_IN];
    if (op->n_in < 1 || op->n_in > MAX_IN) return 0;
    for (int i = 0; i < op->n_in; i++) {
        ir_val_t v = self->map[op->in[i]];
        const tensor_t *c = v == IR_NONE ? NULL : ir_const_of(self->to, v);
        if (!c) return 0;
        in[i] = *c;
    }
    if (is_splat_view(self->from, op, in)) {
        tensor_t splat = in[0];
        splat.type = *ir_type_of(self->from, op->out);
        self->map[op->out] = ir_const(self->to, &splat);
        return 1;
    }
    if (op->n_region > 0) return fold_region_may_run(self->from, op) ? fold_op(self, op, in) : 0;
    if (!may_run(op)) return 0;
    if (is_splat_map(op, in)) return fold_splat_map(self, op, in);
    return is_small(self->from, op, in) ? fold_op(self, op, in) : 0;
}

int pass_fold(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    ir_module_t *scratch = ir_module_new();
    fold_t fold = {.twins = ir_fn_new(scratch, "twins", 0, NULL)};
    int status = 0;
    for (int f = 0; f < module->n_fn && status == 0; f++) {
        ir_fn_t *fn = module->fn[f];
        fold.map = mem_calloc(fn->n_value + 1u, sizeof *fold.map);
        for (uint32_t v = 0; v < fn->n_value; v++) fold.map[v] = IR_NONE;
        ir_fn_t *fresh = ir_clone_fn(module, fn, rewrite, &fold, err);
        free(fold.map);
        if (fresh)
            ir_module_replace(module, fn, fresh);
        else
            status = err_prefix(err, "@%s: ", fn->name);
    }
    ir_module_destroy(&scratch);
    return status;
}
