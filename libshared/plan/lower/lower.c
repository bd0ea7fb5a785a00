/* One program from IR to groups and GEMM steps in program order. */
#include "plan/lower/lower.h"

#include <limits.h>

#include "plan/lower/attention.h"
#include "plan/lower/branches.h"
#include "plan/lower/joined.h"
#include "plan/lower/loops.h"
#include "plan/lower/recompute.h"
#include "plan/lower/squares.h"
#include "plan/lower/stream.h"
#include "plan/lower/weave.h"

/* Results without elements are there from the start. */
static bool skip_empty(lower_t *self, const ir_op_t *op)
{
    int n = 0;
    for (int i = 0; i < op->n_out; i++) {
        if (ir_type_count(ir_type_of(self->fn, op->out + (ir_val_t)i)) > 0) continue;
        self->value[op->out + (ir_val_t)i].order = BEFORE;
        n++;
    }
    return n > 0 && n == op->n_out;
}

static void add_scratch(lower_t *self)
{
    for (int i = 0; i < self->fn->body->n_op; i++) {
        const ir_op_t *op = self->fn->body->op[i];
        ir_val_t v = loops_scratch(self->fn, op);
        if (v != IR_NONE) VEC_PUSH(&self->scratch, ((scratch_t){op, v}));
    }
}

static int place_all(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        if (i <= self->turn + 1) self->n_early = (int)self->group.n;
        if (skip_empty(self, op)) continue;
        const lvalue_t *lv = &self->value[op->out];
        if (op->code == OP_while) {
            while_place(self, op);
            continue;
        }
        if (op->code == OP_dot_general || attention_knows(&self->caps, self->fn, op))
            self->n_before = (int)self->group.n;
        if (attention_knows(&self->caps, self->fn, op)) {
            if (attention_place(self, op) < 0) return -1;
            continue;
        }
        if (loops_knows(self->fn, op)) {
            loops_place(self, op);
            continue;
        }
        if (op->n_out != 1 || !lv->root || lv->order != INT_MAX) continue;
        if (joined_place(self, op) || weave_place(self, op) || stream_place(self, op)) continue;
        int status = op->code == OP_dot_general ? gemm_place(self, op)
                                                : group_place(self, op, op->out);
        if (status < 0) return -1;
    }
    for (int i = 0; i < body->n_result; i++) self->value[body->result[i]].stored = true;
    return 0;
}

ir_val_t lower_new_value(lower_t *self, ir_type_t type)
{
    ir_val_t v = ir_region_new(self->fn, 1, &type)->arg;
    self->value = mem_realloc(self->value, self->fn->n_value * sizeof *self->value);
    self->value[v] = (lvalue_t){.root = true,
                                .stored = true,
                                .group = (int)self->group.n,
                                .order = (int)self->step.n,
                                .over = IR_NONE};
    return v;
}

bool lower_is_large(const lower_t *self, ir_val_t v)
{
    return self->large > 0 && (uint64_t)ir_type_bytes(ir_type_of(self->fn, v)) > self->large;
}

lower_t *lower_fn(ir_module_t *module, const ir_fn_t *fn, caps_t caps, uint64_t large,
                  uint64_t keep, err_t *err)
{
    lower_t *self = mem_calloc(1, sizeof *self);
    self->module = module;
    self->caps = caps;
    self->large = large;
    self->err = err;
    fn = convolutions_to_products(module, fn, err);
    if (fn) fn = attention_operands(module, fn, &caps, err);
    if (fn) self->fn = legalize_fn(module, fn, caps, large, err);
    if (self->fn) recompute_late(self, keep);
    if (self->fn) add_scratch(self);
    if (self->fn) self->value = mem_calloc(self->fn->n_value, sizeof *self->value);
    int status = self->fn ? 0 : -1;
    if (status == 0) status = roots_choose(self);
    if (status == 0) weave_choose(self);
    if (status == 0) squares_choose(self);
    if (status == 0) status = place_all(self);
    for (size_t i = 0; status == 0 && i < self->group.n; i++) {
        if (!kernel_is_group(self->group.at[i]->kernel)) continue;
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
    VEC_FREE(&self->scratch);
    VEC_FREE(&self->woven);
    free(self->value);
    free(self);
}
