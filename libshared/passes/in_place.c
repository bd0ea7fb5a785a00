/* What a loop stacks up, row by row, costs a row an iteration: dynamic_update_slice of a carry by the
 * carry's next value becomes a scatter at the end of the body, which plans run where the carry lies,
 * and so does a carry to which a row among zeros is added (the gradient of what a loop takes rows
 * from). As they are written, each iteration would go over all of it. */
#include <stdlib.h>

#include "base/mem.h"
#include "ir/build_index.h"
#include "passes/passes.h"

enum { LEAST = 1024 }; /* elements of a carry: fewer are gone over beside other work of the body */

typedef struct {
    const ir_fn_t *fn;
    uint32_t *uses; /* of each value */
    bool *skip;     /* values that a scatter at the end of their region stands for */
    bool any;
} look_t;

/* How a carry is updated. */
typedef struct {
    const ir_op_t *update; /* dynamic_update_slice; NULL: in another way */
    op_code_t
        combine; /* OP_add: into zeros, which the carry is added to; OP_invalid: into the carry */
} row_t;

/* Is the update a row of the operand, one index in some dimensions and all of the others? */
static bool is_row(const look_t *self, const ir_op_t *op)
{
    const ir_type_t *x = ir_type_of(self->fn, op->in[0]), *u = ir_type_of(self->fn, op->in[1]);
    if (ir_type_count(x) < LEAST || ir_type_count(x) == ir_type_count(u)) return false;
    for (int d = 0; d < x->rank; d++)
        if (u->dim[d] != x->dim[d] && u->dim[d] != 1) return false;
    return true;
}

/* The dynamic_update_slice that makes v, which only one reader has. */
static const ir_op_t *row_into(const look_t *self, ir_val_t v, const ir_region_t *body)
{
    const ir_op_t *op = ir_def(self->fn, v);
    bool fits = op && op->code == OP_dynamic_update_slice && op->parent == body;
    return fits && self->uses[v] == 1 && is_row(self, op) ? op : NULL;
}

static bool is_zero(const look_t *self, ir_val_t v)
{
    const tensor_t *t = ir_const_of(self->fn, v);
    return t && t->splat && !dtype_is_complex(t->type.dtype) && tensor_get_f64(t, 0) == 0;
}

static row_t find_row(const look_t *self, const ir_region_t *body, int k)
{
    ir_val_t carry = body->arg + (ir_val_t)k, next = body->result[k];
    const ir_op_t *op = row_into(self, next, body), *sum = ir_def(self->fn, next);
    if (op) return (row_t){op->in[0] == carry ? op : NULL, OP_invalid};
    bool adds = sum && sum->code == OP_add && sum->parent == body && self->uses[next] == 1;
    for (int i = 0; adds && i < 2; i++) {
        op = row_into(self, sum->in[1 - i], body);
        if (op && sum->in[i] == carry && is_zero(self, op->in[0])) return (row_t){op, OP_add};
    }
    return (row_t){NULL, OP_invalid};
}

static void search(look_t *self, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        for (int k = 0; op->code == OP_while && k < op->n_out; k++) {
            row_t row = find_row(self, op->region[1], k);
            if (!row.update) continue;
            self->any = self->skip[row.update->out] = self->skip[op->region[1]->result[k]] = true;
        }
        for (int r = 0; r < op->n_region; r++) search(self, op->region[r]);
    }
}

/* --- the copy --- */

/* The row's scatter at the cursor: the dimensions that have an index are inserted ones. */
static ir_val_t scatter_row(ir_clone_t *self, const row_t *row, ir_val_t carry)
{
    const ir_op_t *op = row->update;
    ir_fn_t *fn = self->to;
    const ir_type_t x = *ir_type_of(self->from, op->in[0]), *u = ir_type_of(self->from, op->in[1]);
    ir_gather_t dims = {.sorted = true, .unique = true};
    ir_type_t window = {.dtype = u->dtype}, one = {.rank = 1, .dim = {1}};
    ir_val_t at[IR_MAX_RANK];
    for (int d = 0; d < x.rank; d++) {
        dims.slice[d] = u->dim[d];
        if (u->dim[d] == x.dim[d]) {
            dims.offset_dims[dims.n_offset++] = window.rank;
            window.dim[window.rank++] = u->dim[d];
            continue;
        }
        one.dtype = ir_type_of(self->from, op->in[2 + d])->dtype;
        at[dims.n_start] = ir_reshape(fn, self->map[op->in[2 + d]], &one);
        dims.start_map[dims.n_start++] = d;
        dims.collapsed[dims.n_collapsed++] = d;
    }
    ir_val_t index = ir_concatenate(fn, at, dims.n_start, 0);
    index = ir_clamp_starts(fn, index, &dims, &x);
    ir_val_t update = ir_reshape(fn, self->map[op->in[1]], &window);
    return ir_scatter(fn, row->combine, carry, index, update, &dims);
}

static ir_region_t *copy_region(ir_clone_t *self, const ir_op_t *op, int r, const ir_type_t *types,
                                err_t *err)
{
    const ir_region_t *from = op->region[r];
    ir_region_t *saved, *to = ir_region_begin(self->to, op->n_in, types, &saved);
    ir_val_t *next = mem_calloc((size_t)op->n_in + 1, sizeof *next);
    for (int k = 0; k < op->n_in; k++) self->map[from->arg + (ir_val_t)k] = to->arg + (ir_val_t)k;
    int status = ir_clone_ops(self, from, err);
    for (int k = 0; status == 0 && k < from->n_result; k++) {
        row_t row = {NULL, OP_invalid};
        if (r == 1) row = find_row(self->user, from, k);
        next[k] = row.update ? scatter_row(self, &row, to->arg + (ir_val_t)k)
                             : self->map[from->result[k]];
    }
    if (status == 0) ir_region_end(self->to, to, from->n_result, next, saved);
    self->to->cursor = saved;
    free(next);
    return status < 0 ? NULL : to;
}

static int copy_while(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    ir_fn_t *fn = self->to;
    ir_val_t *in = mem_calloc((size_t)op->n_in + 1, sizeof *in);
    ir_type_t *types = mem_calloc((size_t)op->n_in + 1, sizeof *types);
    ir_region_t *regions[2] = {NULL, NULL};
    ir_op_t *fresh = NULL;
    for (int k = 0; k < op->n_in; k++) {
        in[k] = self->map[op->in[k]];
        types[k] = *ir_type_of(self->from, op->in[k]);
    }
    int status = 0;
    for (int r = 0; r < 2 && status == 0; r++) {
        regions[r] = copy_region(self, op, r, types, err);
        if (!regions[r]) status = -1;
    }
    if (status == 0)
        fresh = ir_emit(fn, OP_while, op->n_in, in, &op->attrs, op->n_in, types, 2, regions);
    if (fresh) fresh->line = op->line;
    for (int k = 0; fresh && k < op->n_out; k++)
        self->map[op->out + (ir_val_t)k] = fresh->out + (ir_val_t)k;
    free(in);
    free(types);
    if (status == 0 && !fresh) err_set(err, fn->err.code, "%s", fn->err.text);
    return fresh ? 1 : -1;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    const look_t *look = self->user;
    if (op->n_out == 1 && look->skip[op->out]) return 1;
    for (int k = 0; op->code == OP_while && k < op->n_out; k++)
        if (find_row(look, op->region[1], k).update) return copy_while(self, op, err);
    return 0;
}

int pass_in_place(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f], *fresh = NULL;
        look_t self = {.fn = fn, .uses = ir_count_uses(fn)};
        self.skip = mem_calloc(fn->n_value + 1, sizeof *self.skip);
        search(&self, fn->body);
        if (self.any) fresh = ir_clone_fn(module, fn, rewrite, &self, err);
        if (fresh) ir_module_replace(module, fn, fresh);
        free(self.uses);
        free(self.skip);
        if (self.any && !fresh) return err_prefix(err, "@%s: ", fn->name);
    }
    return 0;
}
