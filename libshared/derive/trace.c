/* The walk over ops, and the rules of those that move entries. */
#include "derive/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/build_index.h"

int trace_refuse(trace_t *self, const ir_op_t *op, const char *what)
{
    if (self->why.code) return -1;
    const char *name = op_def(op->code)->name;
    return op->line > 0
               ? err_set(&self->why, ERR_UNSUPPORTED, "%s (line %d) %s", name, op->line, what)
               : err_set(&self->why, ERR_UNSUPPORTED, "%s %s", name, what);
}

const traced_t *trace_of(const trace_t *self, ir_val_t v)
{
    return &self->value[v];
}

bool trace_is_static(const trace_t *self, ir_val_t v)
{
    return self->value[v].origin == FROM_NOTHING;
}

bool trace_is_same(const ir_fn_t *fn, ir_val_t v, int d)
{
    while (ir_type_of(fn, v)->dim[d] != 1) {
        const tensor_t *c = ir_const_of(fn, v);
        const ir_op_t *op = ir_def(fn, v);
        if (c || !op || op->code != OP_broadcast_in_dim) return c && c->splat;
        int n, from = 0;
        const int64_t *dims = attr_ints(&op->attrs, "broadcast_dimensions", &n);
        while (from < n && dims[from] != d) from++;
        if (from == n) return true;
        v = op->in[0];
        d = from;
    }
    return true;
}

/* --- views --- */

static int trace_reshape(trace_t *self, const ir_op_t *op, traced_t *out)
{
    const traced_t *x = trace_of(self, op->in[0]);
    out->later = x->later;
    return layout_reshape(&x->at, ir_type_of(self->fn, op->out), &out->at)
               ? 0
               : trace_refuse(self, op, "cuts positions into parts");
}

static int trace_transpose(trace_t *self, const ir_op_t *op, traced_t *out)
{
    int n;
    const traced_t *x = trace_of(self, op->in[0]);
    const int64_t *perm = attr_ints(&op->attrs, "permutation", &n);
    out->at.rank = n;
    for (int d = 0; d < n; d++) out->at.dim[d] = x->at.dim[perm[d]];
    out->later = x->later;
    return 0;
}

static int trace_broadcast(trace_t *self, const ir_op_t *op, traced_t *out)
{
    int n;
    const traced_t *x = trace_of(self, op->in[0]);
    const ir_type_t *from = ir_type_of(self->fn, op->in[0]), *to = ir_type_of(self->fn, op->out);
    const int64_t *dims = attr_ints(&op->attrs, "broadcast_dimensions", &n);
    bool mapped[IR_MAX_RANK] = {false};
    out->at.rank = to->rank;
    out->later = x->later;
    for (int i = 0; i < n; i++) {
        mapped[dims[i]] = true;
        out->at.dim[dims[i]] = x->at.dim[i];
        if (from->dim[i] == to->dim[dims[i]]) continue;
        if (x->at.dim[i].n > 0) return trace_refuse(self, op, "repeats a sequence");
        axes_add(&out->at.dim[dims[i]], (axis_t){AXIS_SAME, to->dim[dims[i]]});
    }
    for (int d = 0; d < to->rank; d++)
        if (!mapped[d]) axes_add(&out->at.dim[d], (axis_t){AXIS_SAME, to->dim[d]});
    return 0;
}

layout_t trace_behind_broadcast(const ir_fn_t *fn, const ir_op_t *op, const layout_t *at)
{
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "broadcast_dimensions", &n);
    const ir_type_t *from = ir_type_of(fn, op->in[0]), *to = ir_type_of(fn, op->out);
    layout_t out = {.rank = n};
    for (int i = 0; i < n; i++)
        if (from->dim[i] == to->dim[dims[i]]) out.dim[i] = at->dim[dims[i]];
    return out;
}

/* Of positions the first ones may be taken: what comes behind them has no say. */
static int slice_positions(trace_t *self, const ir_op_t *op, const axes_t *from, int64_t start,
                           int64_t limit, int64_t stride, axes_t *to)
{
    int t = from->n - 1;
    bool alone = t >= 0 && from->at[t].kind == AXIS_TIME &&
                 (t == 0 || (t == 1 && from->at[0].kind == AXIS_ROW && from->at[0].size == 1));
    if (!alone || stride != 1 || start != 0)
        return trace_refuse(self, op, "takes some positions out");
    *to = *from;
    to->at[t].size = limit;
    return 0;
}

static int trace_slice(trace_t *self, const ir_op_t *op, traced_t *out)
{
    int n;
    const traced_t *x = trace_of(self, op->in[0]);
    const ir_type_t *from = ir_type_of(self->fn, op->in[0]), *to = ir_type_of(self->fn, op->out);
    const int64_t *start = attr_ints(&op->attrs, "start_indices", &n);
    const int64_t *limit = attr_ints(&op->attrs, "limit_indices", &n);
    const int64_t *stride = attr_ints(&op->attrs, "strides", &n);
    out->at.rank = from->rank;
    out->later = x->later;
    for (int d = 0; d < from->rank; d++) {
        const axes_t *axes = &x->at.dim[d];
        int64_t step = stride ? stride[d] : 1;
        if (from->dim[d] == to->dim[d]) {
            out->at.dim[d] = *axes;
        } else if (axes_are_plain(axes)) {
            bool same = axes->n == 1 && axes->at[0].kind == AXIS_SAME;
            axes_add(&out->at.dim[d], (axis_t){same ? AXIS_SAME : AXIS_PLAIN, to->dim[d]});
        } else if (slice_positions(self, op, axes, start[d], limit[d], step, &out->at.dim[d]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int trace_concatenate(trace_t *self, const ir_op_t *op, traced_t *out)
{
    int along = (int)attr_int(&op->attrs, "dimension", 0);
    const ir_type_t *to = ir_type_of(self->fn, op->out);
    bool first = true;
    for (int i = 0; i < op->n_in; i++) {
        const traced_t *x = trace_of(self, op->in[i]);
        if (x->origin != FROM_TOKENS) continue;
        if (!axes_are_plain(&x->at.dim[along])) return trace_refuse(self, op, "joins positions");
        for (int d = 0; d < to->rank; d++) {
            axes_t axes = x->at.dim[d];
            if (!first && d != along && !axes_join(&out->at.dim[d], &x->at.dim[d], &axes))
                return trace_refuse(self, op, "brings positions together with others");
            out->at.dim[d] = axes;
        }
        first = false;
    }
    out->at.rank = to->rank;
    for (int d = 0; d < to->rank; d++)
        for (int i = 0; i < op->n_in; i++)
            if (trace_is_static(self, op->in[i]) && !trace_is_same(self->fn, op->in[i], d) &&
                axes_are_plain(&out->at.dim[d])) {
                out->at.dim[d] = (axes_t){0};
                axes_add(&out->at.dim[d], (axis_t){AXIS_PLAIN, to->dim[d]});
            }
    out->at.dim[along] = (axes_t){0};
    axes_add(&out->at.dim[along], (axis_t){AXIS_PLAIN, to->dim[along]});
    return 0;
}

static int trace_pad(trace_t *self, const ir_op_t *op, traced_t *out)
{
    const traced_t *x = trace_of(self, op->in[0]);
    const ir_type_t *from = ir_type_of(self->fn, op->in[0]), *to = ir_type_of(self->fn, op->out);
    int n;
    const int64_t *low = attr_ints(&op->attrs, "edge_padding_low", &n);
    if (x->origin != FROM_TOKENS || !trace_is_static(self, op->in[1]))
        return trace_refuse(self, op, "is padded with data");
    out->at = x->at;
    for (int d = 0; d < to->rank; d++) {
        if (from->dim[d] == to->dim[d] && low[d] == 0) continue;
        if (!axes_are_plain(&x->at.dim[d])) return trace_refuse(self, op, "shifts positions");
        out->at.dim[d] = (axes_t){0};
        axes_add(&out->at.dim[d], (axis_t){AXIS_PLAIN, to->dim[d]});
    }
    return 0;
}

static int trace_reverse(trace_t *self, const ir_op_t *op, traced_t *out)
{
    const traced_t *x = trace_of(self, op->in[0]);
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "dimensions", &n);
    for (int i = 0; i < n; i++)
        if (!axes_are_plain(&x->at.dim[dims[i]])) return trace_refuse(self, op, "turns positions");
    out->at = x->at;
    out->later = x->later;
    return 0;
}

/* --- sums, rows of tables --- */

static int trace_reduce(trace_t *self, const ir_op_t *op, traced_t *out)
{
    if (op->n_in != 2 || !trace_is_static(self, op->in[1]) ||
        ir_reducer_op(op->region[0]) == OP_invalid)
        return trace_refuse(self, op, "folds with a function of its own");
    const traced_t *x = trace_of(self, op->in[0]);
    op_code_t how = ir_reducer_op(op->region[0]);
    int n, rank = ir_type_of(self->fn, op->in[0])->rank;
    const int64_t *dims = attr_ints(&op->attrs, "dimensions", &n);
    bool gone[IR_MAX_RANK] = {false}, keys = false;
    for (int i = 0; i < n; i++) {
        const axes_t *axes = &x->at.dim[dims[i]];
        gone[dims[i]] = true;
        if (axes_are_plain(axes)) continue;
        keys = axes->n == 1 && axes->at[0].kind == AXIS_SPAN;
        later_t need = how == OP_maximum ? LATER_LOW : LATER_ZERO;
        if (keys && (how == OP_maximum || how == OP_add) && x->later == need) continue;
        if (x->product != IR_NONE && axes_have(axes, AXIS_TIME)) self->turn = x->product;
        return trace_refuse(self, op,
                            keys ? "folds scores of later positions in" : "mixes positions");
    }
    for (int d = 0; d < rank; d++)
        if (!gone[d]) out->at.dim[out->at.rank++] = x->at.dim[d];
    if (!keys && how == OP_add && x->later == LATER_ZERO) out->later = LATER_ZERO;
    return 0;
}

static int trace_gather(trace_t *self, const ir_op_t *op, traced_t *out)
{
    ir_gather_t g;
    ir_gather_dims(op, &g);
    const traced_t *index = trace_of(self, op->in[1]);
    const ir_type_t *to = ir_type_of(self->fn, op->out);
    if (!trace_is_static(self, op->in[0]) || g.n_batch > 0)
        return trace_refuse(self, op, "looks values up at other places");
    if (g.index_vector_dim < index->at.rank && !axes_are_plain(&index->at.dim[g.index_vector_dim]))
        return trace_refuse(self, op, "looks up by several positions");
    bool offset[IR_MAX_RANK] = {false};
    for (int i = 0; i < g.n_offset; i++) offset[g.offset_dims[i]] = true;
    out->at.rank = to->rank;
    int from = 0;
    for (int d = 0; d < to->rank; d++) {
        if (offset[d]) {
            axes_add(&out->at.dim[d], (axis_t){AXIS_PLAIN, to->dim[d]});
            continue;
        }
        if (from == g.index_vector_dim) from++;
        out->at.dim[d] = index->at.dim[from++];
    }
    return 0;
}

static int trace_same(trace_t *self, const ir_op_t *op, traced_t *out)
{
    const traced_t *x = trace_of(self, op->in[0]);
    out->at = x->at;
    out->later = x->later;
    return 0;
}

/* --- the walk --- */

static trace_fn *rule_of(const ir_op_t *op)
{
    switch (op->code) {
    case OP_reshape: return trace_reshape;
    case OP_transpose: return trace_transpose;
    case OP_broadcast_in_dim: return trace_broadcast;
    case OP_slice: return trace_slice;
    case OP_concatenate: return trace_concatenate;
    case OP_pad: return trace_pad;
    case OP_reverse: return trace_reverse;
    case OP_reduce: return trace_reduce;
    case OP_gather: return trace_gather;
    case OP_dot_general: return trace_dot;
    case OP_optimization_barrier: return op->n_in == 1 ? trace_same : NULL;
    default: return op_def(op->code)->kind == K_MAP ? trace_map : NULL;
    }
}

/* Where the operands are from, together. */
static origin_t origin_of(const trace_t *self, const ir_op_t *op)
{
    bool tokens = false, targets = false;
    for (int i = 0; i < op->n_in; i++) {
        origin_t from = self->value[op->in[i]].origin;
        if (from == FROM_MIXED) return FROM_MIXED;
        tokens = tokens || from == FROM_TOKENS;
        targets = targets || from == FROM_TARGETS;
    }
    return tokens && targets ? FROM_MIXED
           : tokens          ? FROM_TOKENS
           : targets         ? FROM_TARGETS
                             : FROM_NOTHING;
}

/* Regions may read values from around them. */
static bool reads_outside(const trace_t *self, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        for (int k = 0; k < op->n_in; k++)
            if (self->value[op->in[k]].origin != FROM_NOTHING) return true;
        for (int k = 0; k < op->n_region; k++)
            if (reads_outside(self, op->region[k])) return true;
    }
    return false;
}

/* At most one axis of each kind: positions beside positions are those of scores. */
static bool is_sound(const layout_t *at)
{
    return layout_count(at, AXIS_ROW) == 1 && layout_count(at, AXIS_TIME) == 1 &&
           layout_count(at, AXIS_SPAN) <= 1;
}

/* Tokens without the first ones are what the model is to say. */
static bool is_shift(const trace_t *self, const ir_op_t *op)
{
    return op->code == OP_slice && dtype_is_int(ir_type_of(self->fn, op->in[0])->dtype);
}

static void trace_op(trace_t *self, const ir_op_t *op)
{
    traced_t out = {.origin = origin_of(self, op), .product = IR_NONE, .keys = -1};
    for (int r = 0; r < op->n_region; r++)
        if (reads_outside(self, op->region[r])) {
            trace_refuse(self, op, "has a region that reads other values");
            out.origin = FROM_MIXED;
        }
    if (out.origin == FROM_TOKENS) {
        trace_fn *rule = rule_of(op);
        for (int i = 0; i < op->n_in; i++)
            if (self->value[op->in[i]].product != IR_NONE)
                out.product = self->value[op->in[i]].product;
        err_t before = self->why;
        int status = rule ? rule(self, op, &out)
                          : trace_refuse(self, op,
                                         op->code == OP_while
                                             ? "is a loop that does not count to a constant"
                                             : "is not known to keep positions apart");
        if (status == 0 && !is_sound(&out.at))
            status = trace_refuse(self, op, "loses or mixes positions");
        if (status < 0) out.origin = FROM_MIXED;
        if (status < 0 && is_shift(self, op)) {
            self->why = before;
            out.origin = FROM_TARGETS;
        }
        if (layout_count(&out.at, AXIS_SPAN) == 0) {
            out.product = IR_NONE;
            out.later = LATER_COUNT;
        }
    }
    for (int i = 0; i < op->n_out; i++) self->value[op->out + (ir_val_t)i] = out;
}

static void begin(trace_t *self, const bool *is_param)
{
    const ir_fn_t *fn = self->fn;
    const ir_type_t *t = ir_type_of(fn, self->tokens);
    self->value = mem_calloc(fn->n_value + 1, sizeof *self->value);
    for (uint32_t v = 0; v < fn->n_value; v++) self->value[v].product = IR_NONE;
    for (int i = 0; i < fn->body->n_arg; i++)
        if (!is_param[i]) self->value[ir_fn_param(fn, i)].origin = FROM_TARGETS;
    traced_t *tokens = &self->value[self->tokens];
    tokens->origin = FROM_TOKENS;
    tokens->at.rank = t->rank;
    axes_add(&tokens->at.dim[0], (axis_t){AXIS_ROW, self->rows});
    axes_add(&tokens->at.dim[t->rank - 1], (axis_t){AXIS_TIME, t->dim[t->rank - 1]});
}

void trace_run(trace_t *self, const ir_fn_t *fn, const bool *is_param, ir_val_t tokens)
{
    const ir_type_t *t = ir_type_of(fn, tokens);
    *self = (trace_t){.fn = fn, .tokens = tokens, .rows = t->rank == 2 ? t->dim[0] : 1};
    self->turned = mem_calloc(fn->n_value + 1, sizeof *self->turned);
    for (;;) {
        free(self->value);
        self->why = (err_t){0};
        self->turn = IR_NONE;
        begin(self, is_param);
        for (int i = 0; i < fn->body->n_op && self->turn == IR_NONE; i++)
            trace_op(self, fn->body->op[i]);
        if (self->turn == IR_NONE) return;
        if (self->turned[self->turn]) break;
        self->turned[self->turn] = true;
    }
    /* Neither side will do: go through without asking again. */
    err_t why = self->why;
    free(self->value);
    begin(self, is_param);
    for (int i = 0; i < fn->body->n_op; i++) trace_op(self, fn->body->op[i]);
    self->why = why;
}

void trace_fini(trace_t *self)
{
    free(self->value);
    free(self->turned);
}
