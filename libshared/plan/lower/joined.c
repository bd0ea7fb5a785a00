/* Which concatenations have their parts written in place. */
#include "plan/lower/joined.h"

#include "plan/lower/attention.h"
#include "plan/lower/loops.h"

/* From so many parts on, those that would be computed where the concatenation is read are stored for it as well: each reader
 * would choose among all of them for every element. */
enum { MANY_PARTS = 4 };

/* Nothing of the operands of op comes between their rows: all dimensions before the one that grows are 1. */
static bool is_leading(const lower_t *self, const ir_op_t *op)
{
    const ir_type_t *t = ir_type_of(self->fn, op->out);
    int64_t dim = attr_int(&op->attrs, "dimension", 0);
    for (int d = 0; d < dim; d++)
        if (t->dim[d] != 1) return false;
    return true;
}

/* Does one group or product make the value of op, and nothing else? */
static bool is_made_alone(lower_t *self, const ir_op_t *op, bool many)
{
    if (op->n_out != 1 || attention_knows(&self->caps, self->fn, op) || loops_knows(self->fn, op))
        return false;
    if (op->code == OP_dot_general || op->code == OP_reduce) return true;
    op_kind_t kind = op_def(op->code)->kind;
    return many && (kind == K_MAP || kind == K_VIEW);
}

/* What has the elements of x; IR_NONE: it cannot be written elsewhere. Few parts are only worth it where nobody else reads
 * them. */
static ir_val_t part_behind(lower_t *self, const uint32_t *uses, ir_val_t x, bool many)
{
    const ir_op_t *op = ir_def(self->fn, x);
    while (op && op->code == OP_reshape && uses[x] == 1 && !self->value[x].root) {
        x = op->in[0];
        op = ir_def(self->fn, x);
    }
    bool own = op && (many || uses[x] == 1) && self->value[x].whole == 0;
    return own && is_made_alone(self, op, many) ? x : IR_NONE;
}

/* The parts of op, each once, into part[n_in]: how many, up to one that has to stay where it is. */
static int mark_parts(lower_t *self, const uint32_t *uses, const ir_op_t *op, ir_val_t *part)
{
    int64_t at = 0, bytes = 0;
    int n = 0;
    for (; n < op->n_in; n++) {
        ir_val_t v = part_behind(self, uses, op->in[n], op->n_in >= MANY_PARTS);
        if (v == IR_NONE || bytes % KERNEL_ALIGN != 0) break;
        part[n] = v;
        self->value[v].whole = op->out;
        self->value[v].whole_at = at;
        at += ir_type_count(ir_type_of(self->fn, v));
        bytes += ir_type_bytes(ir_type_of(self->fn, v));
    }
    return n;
}

static void try_join(lower_t *self, const uint32_t *uses, const ir_op_t *op)
{
    if (op->code != OP_concatenate || op->n_in < 2 || !is_leading(self, op)) return;
    ir_val_t *part = mem_calloc((size_t)op->n_in, sizeof *part);
    int n = mark_parts(self, uses, op, part);
    bool joined = n == op->n_in;
    for (int i = 0; i < n; i++) {
        if (joined) self->value[part[i]].root = true;
        if (!joined) self->value[part[i]].whole = 0;
    }
    if (joined) self->value[op->out].root = self->value[op->out].joined = true;
    free(part);
}

void joined_choose(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    if (attr_int(&self->module->attrs, "pcp.stream", 0) > 0)
        return; /* streams have places of their own */
    uint32_t *uses = ir_count_uses(self->fn);
    for (int i = 0; i < body->n_op; i++) try_join(self, uses, body->op[i]);
    free(uses);
}

bool joined_place(lower_t *self, const ir_op_t *op)
{
    lvalue_t *whole = &self->value[op->out];
    if (!whole->joined) return false;
    whole->stored = true;
    whole->order = BEFORE;
    for (uint32_t v = 0; v < self->fn->n_value; v++) {
        lvalue_t *part = &self->value[v];
        if (part->whole != op->out) continue;
        part->stored = true;
        if (part->order > whole->order) whole->order = part->order;
    }
    return true;
}
