/* What a program does with its arguments: which of them the loss reads, which are turned into random
 * bits, which results are computed from one of them element by element, as running means are. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compile/roles_in.h"
#include "ir/op.h"
#include "passes/passes.h"

/* --- what the loss reads --- */

static void mark_reads(const ir_region_t *region, bool *read)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        for (int k = 0; k < op->n_in; k++) read[op->in[k]] = true;
        for (int r = 0; r < op->n_region; r++) mark_reads(op->region[r], read);
    }
    for (int i = 0; i < region->n_result; i++) read[region->result[i]] = true;
}

static void find_in_loss(const ir_fn_t *fn, int loss, roles_uses_t *out)
{
    bool *read = mem_calloc(fn->n_value + 1u, sizeof *read);
    read[fn->body->result[loss]] = true;
    for (int i = fn->body->n_op - 1; i >= 0; i--) {
        const ir_op_t *op = fn->body->op[i];
        bool wanted = false;
        for (int k = 0; k < op->n_out; k++) wanted = wanted || read[op->out + (ir_val_t)k];
        if (!wanted) continue;
        for (int k = 0; k < op->n_in; k++) read[op->in[k]] = true;
        for (int r = 0; r < op->n_region; r++) mark_reads(op->region[r], read);
    }
    for (int i = 0; i < out->n; i++) out->arg[i].in_loss = read[ir_fn_param(fn, i)];
    free(read);
}

/* --- what becomes random bits --- */

static bool mixes(const ir_op_t *op)
{
    return op->code == OP_xor || op->code == OP_rng_bit_generator ||
           op->code == OP_shift_right_logical || op->code == OP_shift_left;
}

static bool region_mixes(const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        if (mixes(region->op[i])) return true;
        for (int r = 0; r < region->op[i]->n_region; r++)
            if (region_mixes(region->op[i]->region[r])) return true;
    }
    return false;
}

/* Values that are integers all the way from a key. */
static void find_keys(const ir_fn_t *fn, int arg, roles_use_t *use)
{
    bool *from = mem_calloc(fn->n_value + 1u, sizeof *from);
    from[ir_fn_param(fn, arg)] = true;
    for (int i = 0; i < fn->body->n_op && !use->makes_key; i++) {
        const ir_op_t *op = fn->body->op[i];
        bool reads = false;
        for (int k = 0; k < op->n_in; k++) reads = reads || from[op->in[k]];
        if (!reads) continue;
        if (mixes(op)) use->makes_key = true;
        for (int r = 0; r < op->n_region; r++)
            if (region_mixes(op->region[r])) use->makes_key = true;
        for (int k = 0; k < op->n_out; k++)
            from[op->out + (ir_val_t)k] = !dtype_is_inexact(
                ir_type_of(fn, op->out + (ir_val_t)k)->dtype);
    }
    free(from);
}

/* --- next values --- */

/* Note the arguments that v is computed from element by element; `seen` ends walks that meet. */
static void reach(const ir_fn_t *fn, ir_val_t v, bool *seen, bool *arg, int depth)
{
    enum { MAX_DEPTH = 1000 };
    if (seen[v] || depth == MAX_DEPTH) return;
    seen[v] = true;
    const ir_op_t *def = ir_def(fn, v);
    if (!def) {
        if (fn->value[v].owner == fn->body) arg[fn->value[v].index] = true;
        return;
    }
    bool passes = op_def(def->code)->kind == K_MAP || def->code == OP_optimization_barrier ||
                  def->code == OP_custom_call;
    if (!passes) return;
    for (int i = 0; i < def->n_in; i++) reach(fn, def->in[i], seen, arg, depth + 1);
}

static void find_next(const ir_fn_t *fn, int loss, roles_uses_t *out)
{
    bool *seen = mem_calloc(fn->n_value + 1u, sizeof *seen);
    bool *arg = mem_calloc((size_t)out->n + 1, sizeof *arg);
    for (int r = 0; r < fn->body->n_result; r++) {
        if (r == loss) continue;
        memset(seen, 0, fn->n_value * sizeof *seen);
        memset(arg, 0, (size_t)out->n * sizeof *arg);
        reach(fn, fn->body->result[r], seen, arg, 0);
        const ir_type_t *type = ir_type_of(fn, fn->body->result[r]);
        for (int i = 0; i < out->n; i++) {
            if (!arg[i] || !ir_type_equal(type, ir_type_of(fn, ir_fn_param(fn, i)))) continue;
            out->arg[i].next = r + 1;
            out->arg[i].n_next++;
        }
    }
    free(seen);
    free(arg);
}

/* --- indices --- */

/* The argument that v is a view or conversion of; -1: none. */
static int source(const ir_fn_t *fn, ir_val_t v)
{
    const ir_op_t *def = ir_def(fn, v);
    while (def && def->n_in >= 1 &&
           (op_def(def->code)->kind == K_VIEW || op_def(def->code)->kind == K_MAP)) {
        v = def->in[def->code == OP_select ? 1 : 0];
        def = ir_def(fn, v);
    }
    return !def && fn->value[v].owner == fn->body ? fn->value[v].index : -1;
}

static void find_indices(const ir_fn_t *fn, roles_uses_t *out)
{
    for (int i = 0; i < fn->body->n_op; i++) {
        const ir_op_t *op = fn->body->op[i];
        if (op->code != OP_gather) continue;
        int table = source(fn, op->in[0]), index = source(fn, op->in[1]);
        bool is_table = table >= 0 && dtype_is_float(ir_type_of(fn, ir_fn_param(fn, table))->dtype);
        if (is_table && index >= 0) out->arg[index].is_index = true;
    }
}

int roles_uses(const ir_module_t *module, const char *entry, int loss, roles_uses_t *out,
               err_t *err)
{
    ir_module_t *copy = ir_module_clone(module, err);
    *out = (roles_uses_t){0};
    if (!copy) return -1;
    int status = passes_run_one(copy, "inline", err);
    const ir_fn_t *fn = status == 0 ? ir_module_find(copy, entry) : NULL;
    if (fn) {
        out->n = fn->body->n_arg;
        out->arg = mem_calloc((size_t)out->n + 1, sizeof *out->arg);
        find_in_loss(fn, loss, out);
        find_next(fn, loss, out);
        find_indices(fn, out);
        roles_dims_t *dims = roles_dims_new(fn);
        for (int i = 0; i < out->n; i++) {
            const ir_type_t *type = ir_type_of(fn, ir_fn_param(fn, i));
            for (int d = 0; d < 2; d++)
                out->arg[i].row[d] = d < type->rank && type->dim[d] > 1
                                         ? roles_dims_class(dims, ir_fn_param(fn, i), d)
                                         : -1;
            if (!dtype_is_inexact(type->dtype)) find_keys(fn, i, &out->arg[i]);
        }
        roles_dims_destroy(&dims);
    }
    ir_module_destroy(&copy);
    return fn ? 0 : -1;
}

void roles_uses_fini(roles_uses_t *self)
{
    free(self->arg);
    *self = (roles_uses_t){0};
}
