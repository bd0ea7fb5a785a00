/* Scores are the result of @logits, or what a loss compares with targets. */
#include "derive/find.h"

#include <stdlib.h>

#include "base/mem.h"

/* Are the axes rows, positions and one more, in this order, whatever the dimensions? */
static bool is_table(const traced_t *x, int64_t *width, int64_t *length)
{
    int row = 0, time = 0;
    *width = 0;
    if (x->origin != FROM_TOKENS || layout_count(&x->at, AXIS_SPAN) > 0) return false;
    for (int d = 0; d < x->at.rank; d++)
        for (int i = 0; i < x->at.dim[d].n; i++) {
            axis_t axis = x->at.dim[d].at[i];
            if (axis.kind == AXIS_ROW && (time > 0 || *width > 0) && axis.size > 1) return false;
            if (axis.kind == AXIS_TIME && *width > 0) return false;
            if (axis.kind == AXIS_PLAIN && (*width > 0 || time == 0)) return false;
            if (axis.kind == AXIS_SAME) return false;
            row += axis.kind == AXIS_ROW;
            time += axis.kind == AXIS_TIME;
            if (axis.kind == AXIS_TIME) *length = axis.size;
            if (axis.kind == AXIS_PLAIN) *width = axis.size;
        }
    return row == 1 && time == 1 && *width > 0;
}

/* --- of a loss --- */

/* x - y, where y is the same for all tokens of the vocabulary: ln softmax is the scores but for that. */
static ir_val_t behind_softmax(const trace_t *trace, ir_val_t v)
{
    for (const ir_op_t *op; (op = ir_def(trace->fn, v)) && op->code == OP_subtract; v = op->in[0]) {
        const traced_t *x = trace_of(trace, op->in[0]), *y = trace_of(trace, op->in[1]);
        int last = ir_type_of(trace->fn, v)->rank - 1;
        if (x->origin != FROM_TOKENS || y->origin != FROM_TOKENS || last < 0) break;
        const axes_t *axes = &y->at.dim[last];
        if (axes->n != 1 || axes->at[0].kind != AXIS_SAME) break;
    }
    return v;
}

/* What is scored against targets: the widest table that meets them. */
static ir_val_t compared(const trace_t *trace)
{
    ir_val_t best = IR_NONE;
    int64_t most = 1, width, length;
    const ir_region_t *body = trace->fn->body;
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        bool meets = false;
        for (int k = 0; k < op->n_in; k++)
            meets = meets || trace_of(trace, op->in[k])->origin == FROM_TARGETS;
        for (int k = 0; k < op->n_in && meets; k++) {
            const traced_t *x = trace_of(trace, op->in[k]);
            if (!dtype_is_float(ir_type_of(trace->fn, op->in[k])->dtype)) continue;
            if (!is_table(x, &width, &length) || width <= most) continue;
            best = op->in[k];
            most = width;
        }
    }
    return best == IR_NONE ? best : behind_softmax(trace, best);
}

/* --- either --- */

static bool may_be_tokens(const found_t *self, int i)
{
    const ir_type_t *t = ir_type_of(self->fn, ir_fn_param(self->fn, i));
    return self->arg[i].role == ARG_batch && (t->dtype == DT_I32 || t->dtype == DT_I64) &&
           (t->rank == 1 || t->rank == 2) && t->dim[t->rank - 1] > 1 && t->dim[0] > 0;
}

static int find_here(found_t *self, bool is_loss, int tokens, err_t *err)
{
    trace_run(&self->trace, self->fn, self->is_param, ir_fn_param(self->fn, tokens));
    ir_val_t v = is_loss ? compared(&self->trace) : self->fn->body->result[0];
    if (v != IR_NONE && is_table(trace_of(&self->trace, v), &self->vocab, &self->length)) {
        self->logits = v;
        return 0;
    }
    if (self->trace.why.code) {
        *err = self->trace.why;
        return -1;
    }
    return err_set(err, ERR_UNSUPPORTED, "@%s: %s", self->fn->name,
                   is_loss ? "nothing in it is compared with targets as scores of tokens are"
                           : "its result is not [.., length, vocabulary]");
}

/* Behind it each op has one operand that belongs to tokens, so that a single token of it is enough. */
static void find_cut(found_t *self)
{
    const trace_t *trace = &self->trace;
    int64_t length;
    self->cut = self->logits;
    for (ir_val_t v = self->logits;;) {
        const ir_op_t *op = ir_def(self->fn, v);
        ir_val_t next = IR_NONE;
        for (int i = 0; op && i < op->n_in; i++) {
            if (trace_is_static(trace, op->in[i])) continue;
            if (next != IR_NONE && next != op->in[i]) return;
            next = op->in[i];
        }
        if (next == IR_NONE || trace_of(trace, v)->keys >= 0) return;
        v = next;
        if (op->code != OP_dot_general) continue;
        if (is_table(trace_of(trace, v), &self->width, &length))
            self->cut = v;
        else
            self->width = 0;
        return;
    }
}

static void find_needed(found_t *self)
{
    const ir_region_t *body = self->fn->body;
    self->needed = mem_calloc(self->fn->n_value + 1, sizeof *self->needed);
    self->needed[self->logits] = true;
    for (int i = body->n_op - 1; i >= 0; i--) {
        const ir_op_t *op = body->op[i];
        bool any = false;
        for (int k = 0; k < op->n_out; k++) any = any || self->needed[op->out + (ir_val_t)k];
        for (int k = 0; k < op->n_in && any; k++) self->needed[op->in[k]] = true;
    }
}

int find_scores(found_t *self, const ir_module_t *module, err_t *err)
{
    *self = (found_t){.logits = IR_NONE};
    self->fn = ir_module_find(module, "logits");
    bool is_loss = !self->fn;
    if (is_loss && !(self->fn = ir_module_entry(module, err))) return -1;
    if (self->fn->body->n_result < 1)
        return err_set(err, ERR_UNSUPPORTED, "@%s returns nothing", self->fn->name);
    if (!(self->arg = optim_args(module, self->fn, err))) return -1;
    int n = self->fn->body->n_arg, status = -1;
    self->is_param = mem_calloc((size_t)n + 1, sizeof *self->is_param);
    self->turned = mem_calloc((size_t)n + 1, sizeof *self->turned);
    self->panels = mem_calloc((size_t)n + 1, sizeof *self->panels);
    self->narrow = mem_calloc((size_t)n + 1, sizeof *self->narrow);
    for (int i = 0; i < n; i++) self->is_param[i] = self->arg[i].is_param;
    err_set(err, ERR_UNSUPPORTED, "@%s reads no tokens", self->fn->name);
    for (int i = 0; i < n && status < 0; i++) {
        if (!may_be_tokens(self, i)) continue;
        trace_fini(&self->trace);
        status = find_here(self, is_loss, i, err);
    }
    if (status < 0) return -1;
    *err = (err_t){0};
    find_cut(self);
    find_needed(self);
    find_turned(self);
    return 0;
}

void find_fini(found_t *self)
{
    trace_fini(&self->trace);
    free(self->is_param);
    free(self->turned);
    free(self->panels);
    free(self->narrow);
    free(self->needed);
}
