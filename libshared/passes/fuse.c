/* Forms groups that plans have kernels for, and takes f64 detours out. Exact as real numbers; sums
 * may be taken in another order, and roundings in between to 16 bits are left out. */
#include "passes/fuse.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "ops/eval.h"
#include "passes/effects.h"
#include "passes/passes.h"

enum {
    MAX_PARTS = 64,         /* ops of a constant */
    MAX_ELEMENTS = 1 << 24, /* of each */
    MAX_IN = 4,
};

const ir_op_t *fuse_def(const ir_fn_t *fn, ir_val_t v, op_code_t code)
{
    const ir_op_t *op = ir_def(fn, v);
    return op && op->code == code ? op : NULL;
}

bool fuse_constant(const ir_fn_t *fn, ir_val_t v, double *value)
{
    for (const ir_op_t *op; (op = ir_def(fn, v)) && op->n_in == 1;) {
        if (op->code != OP_reshape && op->code != OP_broadcast_in_dim) break;
        v = op->in[0];
    }
    const tensor_t *c = ir_const_of(fn, v);
    if (!c || !dtype_is_float(c->type.dtype) || !(c->splat || ir_type_count(&c->type) == 1))
        return false;
    *value = tensor_get_f64(c, 0);
    return true;
}

static bool is_float_convert(const ir_fn_t *fn, const ir_op_t *op)
{
    if (op->code != OP_convert) return false;
    dtype_t from = ir_type_of(fn, op->in[0])->dtype, to = ir_type_of(fn, op->out)->dtype;
    return dtype_is_float(from) && dtype_is_float(to) && !dtype_is_small(from) &&
           !dtype_is_small(to); /* those round too coarsely to be left out */
}

static bool keeps_last_two(const ir_type_t *a, const ir_type_t *b)
{
    return a->rank >= 2 && b->rank >= 2 && a->dim[a->rank - 1] == b->dim[b->rank - 1] &&
           a->dim[a->rank - 2] == b->dim[b->rank - 2];
}

ir_val_t fuse_behind(const ir_fn_t *fn, ir_val_t v)
{
    for (const ir_op_t *op; (op = ir_def(fn, v)) && op->n_in == 1; v = op->in[0]) {
        bool view = op->code == OP_reshape &&
                    keeps_last_two(ir_type_of(fn, op->in[0]), ir_type_of(fn, v));
        if (!view && !is_float_convert(fn, op)) break;
    }
    return v;
}

/* Through conversions and reshapes of any kind. */
static ir_val_t behind_shape(const ir_fn_t *fn, ir_val_t v)
{
    for (const ir_op_t *op; (op = ir_def(fn, v)) && op->n_in == 1; v = op->in[0])
        if (op->code != OP_reshape && !is_float_convert(fn, op)) break;
    return v;
}

ir_val_t fuse_along_last(const ir_fn_t *fn, ir_val_t v)
{
    v = fuse_behind(fn, v);
    const ir_op_t *op = fuse_def(fn, v, OP_broadcast_in_dim);
    if (!op) return IR_NONE;
    const ir_type_t *from = ir_type_of(fn, op->in[0]), *to = ir_type_of(fn, v);
    int n, last = to->rank - 1;
    const int64_t *dims = attr_ints(&op->attrs, "broadcast_dimensions", &n);
    if (n != from->rank || last < 0 || (n != last && n != last + 1)) return IR_NONE;
    for (int i = 0; i < n; i++)
        if (dims[i] != i || from->dim[i] != (i == last ? 1 : to->dim[i])) return IR_NONE;
    return op->in[0];
}

ir_val_t fuse_reduced_last(const ir_fn_t *fn, ir_val_t x, op_code_t reducer)
{
    const ir_op_t *op = fuse_def(fn, behind_shape(fn, x), OP_reduce);
    if (!op || op->n_in != 2 || ir_reducer_op(op->region[0]) != reducer) return IR_NONE;
    const ir_type_t *t = ir_type_of(fn, op->in[0]);
    double start;
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "dimensions", &n);
    if (n != 1 || dims[0] != t->rank - 1 || !fuse_constant(fn, op->in[1], &start)) return IR_NONE;
    bool neutral = reducer == OP_add ? start == 0 : start < -3e38 || start == -65504;
    return neutral ? op->in[0] : IR_NONE;
}

/* --- Constants that folding has left to run time ---------------------------------------------- */

typedef struct {
    const ir_fn_t *fn;
    VEC(const ir_op_t *) op; /* operands first */
    VEC(tensor_t) value;
} parts_t;

static int find_part(const parts_t *p, ir_val_t v)
{
    for (size_t i = 0; i < p->op.n; i++)
        if (p->op.at[i]->out == v) return (int)i;
    return -1;
}

static int collect(parts_t *p, ir_val_t v)
{
    const ir_op_t *op = ir_def(p->fn, v);
    if (!op || op->n_out != 1 || op->n_region > 0 || op->n_in > MAX_IN) return -1;
    if (!op_def(op->code)->eval && op->code != OP_constant) return -1;
    if (!effects_mergeable(op) || ir_type_count(ir_type_of(p->fn, v)) > MAX_ELEMENTS) return -1;
    if (find_part(p, v) >= 0) return 0;
    for (int i = 0; i < op->n_in; i++)
        if (collect(p, op->in[i]) < 0) return -1;
    if (p->op.n >= MAX_PARTS) return -1;
    VEC_PUSH(&p->op, op);
    return 0;
}

static int evaluate_part(parts_t *p, const ir_op_t *op)
{
    tensor_t in[MAX_IN], out = {0};
    for (int i = 0; i < op->n_in; i++) in[i] = p->value.at[find_part(p, op->in[i])];
    if (eval_op(p->fn->module, p->fn, op, in, &out, NULL) < 0) return -1;
    VEC_PUSH(&p->value, out);
    return 0;
}

int fuse_evaluate(const ir_fn_t *fn, ir_val_t v, tensor_t *out)
{
    parts_t p = {.fn = fn};
    int status = collect(&p, v);
    for (size_t i = 0; i < p.op.n && status == 0; i++) status = evaluate_part(&p, p.op.at[i]);
    size_t kept = status == 0 ? p.value.n - 1 : p.value.n;
    for (size_t i = 0; i < kept; i++) tensor_fini(&p.value.at[i]);
    if (status == 0) *out = p.value.at[kept];
    VEC_FREE(&p.op);
    VEC_FREE(&p.value);
    return status;
}

/* --- The pass --------------------------------------------------------------------------------- */

static bool is_inside_group(const ir_op_t *op)
{
    for (op = op->parent->parent; op; op = op->parent->parent)
        if (op->code == OP_pcp_fused) return true;
    return false;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    (void)err;
    if (op->code == OP_convert) return fuse_variance(self, op);
    if (op->code != OP_dot_general || is_inside_group(op)) return 0;
    return fuse_attention(self, op, self->user);
}

int pass_fuse(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f];
        uint32_t *uses = ir_count_uses(fn);
        ir_fn_t *fresh = ir_clone_fn(module, fn, rewrite, uses, err);
        free(uses);
        if (!fresh) return err_prefix(err, "@%s: ", fn->name);
        ir_module_replace(module, fn, fresh);
    }
    return ir_verify(module, err);
}
