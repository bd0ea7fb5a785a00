#include "ops/while_count.h"

#include <string.h>

typedef struct {
    const ir_fn_t *fn;
    const ir_op_t *op;
    const ir_region_t *cond, *body;
} loop_t;

static int arg_of(const ir_region_t *region, ir_val_t v)
{
    return v >= region->arg && v < region->arg + (ir_val_t)region->n_arg ? (int)(v - region->arg)
                                                                         : -1;
}

/* v, seen from `region`, as an integer constant; carries that never change have their start's. */
static bool constant_of(const loop_t *self, const ir_region_t *region, ir_val_t v, int64_t *value)
{
    int k = arg_of(region, v);
    if (k >= 0 && self->body->result[k] != self->body->arg + (ir_val_t)k) return false;
    const tensor_t *t = ir_const_of(self->fn, k >= 0 ? self->op->in[k] : v);
    if (!t || t->type.rank != 0 || !dtype_is_int(t->type.dtype)) return false;
    *value = tensor_get_i64(t, 0);
    return true;
}

static bool holds(const char *direction, int64_t a, int64_t b)
{
    if (strcmp(direction, "LT") == 0) return a < b;
    if (strcmp(direction, "LE") == 0) return a <= b;
    if (strcmp(direction, "GT") == 0) return a > b;
    if (strcmp(direction, "GE") == 0) return a >= b;
    return strcmp(direction, "NE") == 0 ? a != b : a == b;
}

/* The body adds `step` to carry k. */
static bool step_of(const loop_t *self, int k, int64_t *step)
{
    const ir_op_t *op = ir_def(self->fn, self->body->result[k]);
    if (!op || (op->code != OP_add && op->code != OP_subtract)) return false;
    int counter = arg_of(self->body, op->in[0]) == k ? 0 : 1;
    if (arg_of(self->body, op->in[counter]) != k) return false;
    if (!constant_of(self, self->body, op->in[1 - counter], step)) return false;
    if (op->code == OP_subtract) *step = -*step;
    return op->code == OP_add || counter == 0;
}

bool while_counts(const ir_fn_t *fn, const ir_op_t *op, int64_t most, while_count_t *out)
{
    const loop_t self = {.fn = fn, .op = op, .cond = op->region[0], .body = op->region[1]};
    const ir_op_t *test = ir_def(fn, self.cond->result[0]);
    int64_t limit = 0;
    int side = -1;
    *out = (while_count_t){.counter = -1};
    for (int s = 0; test && test->code == OP_compare && s < 2 && side < 0; s++) {
        int k = arg_of(self.cond, test->in[s]);
        if (k < 0 || !constant_of(&self, self.cond, test->in[1 - s], &limit)) continue;
        const tensor_t *start = ir_const_of(fn, op->in[k]);
        if (!start || !dtype_is_int(start->type.dtype) || !step_of(&self, k, &out->step)) continue;
        out->counter = k;
        out->start = tensor_get_i64(start, 0);
        side = s;
    }
    if (side < 0) return false;
    const char *direction = attr_text(&test->attrs, "comparison_direction", "");
    for (int64_t at = out->start; holds(direction, side ? limit : at, side ? at : limit);
         at += out->step)
        if (++out->trips > most) return false;
    return true;
}
