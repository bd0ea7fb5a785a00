/* One program from IR to groups and GEMM steps in program order. */
#include "plan/lower.h"

static int place_all(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        const lvalue_t *lv = &self->value[op->out];
        if (op->n_out != 1 || !lv->root || lv->order == BEFORE) continue;
        if (ir_type_count(ir_type_of(self->fn, op->out)) == 0)
            return err_set(self->err, ERR_UNSUPPORTED, "line %d: %s has no elements", op->line,
                           op_def(op->code)->name);
        int status = op->code == OP_dot_general ? gemm_place(self, op)
                                                : group_place(self, op, op->out);
        if (status < 0) return -1;
    }
    for (int i = 0; i < body->n_result; i++) self->value[body->result[i]].stored = true;
    return 0;
}

lower_t *lower_fn(ir_module_t *module, const ir_fn_t *fn, err_t *err)
{
    lower_t *self = mem_calloc(1, sizeof *self);
    self->module = module;
    self->err = err;
    self->fn = legalize_fn(module, fn, err);
    if (self->fn) self->value = mem_calloc(self->fn->n_value, sizeof *self->value);
    int status = self->fn ? 0 : -1;
    if (status == 0) status = roots_choose(self);
    if (status == 0) status = place_all(self);
    for (size_t i = 0; status == 0 && i < self->group.n; i++) {
        group_flatten(self, self->group.at[i]);
        status = emit_group(self, self->group.at[i]);
    }
    if (status < 0) lower_destroy(&self);
    return self;
}

void lower_destroy(lower_t **self_p)
{
    lower_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    for (size_t i = 0; i < self->group.n; i++) group_destroy(&self->group.at[i]);
    VEC_FREE(&self->group);
    VEC_FREE(&self->step);
    free(self->value);
    free(self);
}
