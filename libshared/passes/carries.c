/* Which values are live, where a loop's carry is not for being handed on: marked from what is
 * returned and from effects, until nothing is added. The reverse of a scan needs this: it runs the
 * loop again to keep its carries, and what the scan stacks up is read by no rule. */
#include "passes/carries.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "ir/build.h"
#include "passes/effects.h"

typedef struct {
    const ir_fn_t *fn;
    bool *live;         /* per value; a carry is live where its result is */
    VEC(ir_val_t) todo; /* live, what they need not yet marked */
} marks_t;

static bool is_live(const ir_op_t *op, const bool *live)
{
    for (int i = 0; i < op->n_out; i++)
        if (live[op->out + (ir_val_t)i]) return true;
    return effects_any(op);
}

static void mark(marks_t *self, ir_val_t v)
{
    if (self->live[v]) return;
    self->live[v] = true;
    VEC_PUSH(&self->todo, v);
}

/* What a live op reads, whichever of its results is read; of a loop that is its condition. */
static void mark_read(marks_t *self, const ir_op_t *op)
{
    if (op->code == OP_while) {
        mark(self, op->region[0]->result[0]);
        return;
    }
    for (int i = 0; i < op->n_in; i++) mark(self, op->in[i]);
    for (int r = 0; r < op->n_region; r++)
        for (int i = 0; i < op->region[r]->n_result; i++) mark(self, op->region[r]->result[i]);
}

static void mark_effects(marks_t *self, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        if (!effects_any(op)) continue;
        mark_read(self, op);
        for (int r = 0; r < op->n_region; r++) mark_effects(self, op->region[r]);
    }
}

static void mark_needed(marks_t *self, ir_val_t v)
{
    const ir_value_t *value = &self->fn->value[v];
    const ir_op_t *op = value->def;
    if (op) {
        mark_read(self, op);
        if (op->code != OP_while) return;
        mark(self, op->in[value->index]);
        mark(self, op->region[1]->result[value->index]);
        return;
    }
    const ir_op_t *parent = value->owner->parent;
    if (parent && parent->code == OP_while) mark(self, parent->out + (ir_val_t)value->index);
}

static bool any_dead(const ir_region_t *region, const bool *live)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        if (!is_live(op, live)) continue;
        for (int k = 0; op->code == OP_while && k < op->n_out; k++)
            if (!live[op->out + (ir_val_t)k]) return true;
        for (int r = 0; r < op->n_region; r++)
            if (any_dead(op->region[r], live)) return true;
    }
    return false;
}

/* --- the copy without them --- */

/* One of the loop's regions for the live carries; room holds op->n_in values. NULL after an error. */
static ir_region_t *copy_region(ir_clone_t *self, const ir_op_t *op, int r, int n,
                                const ir_type_t *types, ir_val_t *room, err_t *err)
{
    const bool *live = self->user;
    const ir_region_t *from = op->region[r];
    ir_region_t *saved, *region = ir_region_begin(self->to, n, types, &saved);
    for (int k = 0, at = 0; k < op->n_in; k++)
        if (live[op->out + (ir_val_t)k])
            self->map[from->arg + (ir_val_t)k] = region->arg + (ir_val_t)at++;
    int status = ir_clone_ops(self, from, err), n_result = 0;
    for (int k = 0; k < from->n_result; k++)
        if (r == 0 || live[op->out + (ir_val_t)k]) room[n_result++] = self->map[from->result[k]];
    if (status == 0) ir_region_end(self->to, region, n_result, room, saved);
    self->to->cursor = saved;
    return status < 0 ? NULL : region;
}

static int copy_while(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    const bool *live = self->user;
    int n = 0, status = 0;
    ir_val_t *in = mem_calloc(2 * (size_t)op->n_in + 1, sizeof *in);
    ir_type_t *types = mem_calloc((size_t)op->n_in + 1, sizeof *types);
    ir_region_t *regions[2];
    for (int k = 0; k < op->n_in; k++) {
        if (!live[op->out + (ir_val_t)k]) continue;
        types[n] = *ir_type_of(self->from, op->out + (ir_val_t)k);
        in[n++] = self->map[op->in[k]];
    }
    for (int r = 0; r < 2 && status == 0; r++) {
        regions[r] = copy_region(self, op, r, n, types, in + op->n_in, err);
        status = regions[r] ? 0 : -1;
    }
    ir_op_t *fresh = NULL;
    if (status == 0) fresh = ir_emit(self->to, OP_while, n, in, &op->attrs, n, types, 2, regions);
    if (fresh) fresh->line = op->line;
    for (int k = 0, at = 0; fresh && k < op->n_out; k++)
        if (live[op->out + (ir_val_t)k])
            self->map[op->out + (ir_val_t)k] = fresh->out + (ir_val_t)at++;
    free(in);
    free(types);
    if (status == 0 && !fresh) err_set(err, self->to->err.code, "%s", self->to->err.text);
    return fresh ? 1 : -1;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    const bool *live = self->user;
    if (!is_live(op, live)) return 1;
    if (op->code != OP_while) return 0;
    for (int k = 0; k < op->n_out; k++)
        if (!live[op->out + (ir_val_t)k]) return copy_while(self, op, err);
    return 0;
}

int carries_drop(ir_module_t *module, ir_fn_t *fn, err_t *err)
{
    marks_t marks = {.fn = fn, .live = mem_calloc(fn->n_value + 1, sizeof *marks.live)};
    for (int i = 0; i < fn->body->n_result; i++) mark(&marks, fn->body->result[i]);
    mark_effects(&marks, fn->body);
    while (marks.todo.n > 0) mark_needed(&marks, marks.todo.at[--marks.todo.n]);
    ir_fn_t *fresh = NULL;
    bool dead = any_dead(fn->body, marks.live);
    if (dead) fresh = ir_clone_fn(module, fn, rewrite, marks.live, err);
    if (fresh) ir_module_replace(module, fn, fresh);
    VEC_FREE(&marks.todo);
    free(marks.live);
    return dead && !fresh ? err_prefix(err, "@%s: ", fn->name) : 0;
}
