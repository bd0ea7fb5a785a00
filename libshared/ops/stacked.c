/* Every reader of the parameter, through the loops that carry it along. */
#include "ops/stacked.h"

#include "ir/op.h"
#include "ops/while_count.h"

typedef struct {
    const ir_fn_t *fn;
    int64_t first; /* place that a slice begins at; -1: none yet */
    bool several;  /* other places, too, or one that is counted */
} search_t;

static bool reads_rows(search_t *self, const ir_region_t *region, ir_val_t v);

static bool is_counter(const ir_fn_t *fn, ir_val_t v)
{
    enum { MOST_LAYERS = 1 << 16 };
    const ir_value_t *value = &fn->value[v];
    const ir_op_t *loop = value->def ? NULL : value->owner->parent;
    while_count_t count;
    return loop && loop->code == OP_while && while_counts(fn, loop, MOST_LAYERS, &count) &&
           count.counter == value->index;
}

/* Does v come of a counter and constants alone, as indices are written that may count from the end? */
static bool is_counted(const ir_fn_t *fn, ir_val_t v, int depth)
{
    const ir_op_t *op = ir_def(fn, v);
    if (!op) return is_counter(fn, v);
    if (op->code == OP_constant) return true;
    bool known = op->code == OP_add || op->code == OP_subtract || op->code == OP_select ||
                 op->code == OP_compare || op->code == OP_convert || op->code == OP_reshape ||
                 op->code == OP_clamp;
    for (int i = 0; known && i < op->n_in; i++)
        known = depth > 0 && is_counted(fn, op->in[i], depth - 1);
    return known;
}

/* One index of the first dimension, all of the others. */
static bool takes_row(const search_t *self, const ir_op_t *op)
{
    const ir_type_t *from = ir_type_of(self->fn, op->in[0]), *to = ir_type_of(self->fn, op->out);
    for (int d = 1; d < from->rank; d++)
        if (to->dim[d] != from->dim[d]) return false;
    return to->dim[0] == 1 && from->dim[0] > 1;
}

static void note(search_t *self, int64_t place)
{
    if (self->first < 0) self->first = place;
    if (self->first != place) self->several = true;
}

static bool is_read(const search_t *self, const ir_region_t *region, ir_val_t v)
{
    search_t other = {.fn = self->fn, .first = -1};
    return !reads_rows(&other, region, v) || other.several || other.first >= 0;
}

/* Carried along unchanged, and read by the body alone. */
static bool loop_reads_rows(search_t *self, const ir_op_t *op, ir_val_t v)
{
    const ir_region_t *cond = op->region[0], *body = op->region[1];
    for (int k = 0; k < op->n_in; k++) {
        if (op->in[k] != v) continue;
        ir_val_t carry = body->arg + (ir_val_t)k;
        if (body->result[k] != carry || !reads_rows(self, body, carry) ||
            is_read(self, cond, cond->arg + (ir_val_t)k) ||
            is_read(self, op->parent, op->out + (ir_val_t)k))
            return false;
    }
    return true;
}

static bool op_reads_rows(search_t *self, const ir_op_t *op, ir_val_t v)
{
    bool reads = false;
    for (int i = 0; i < op->n_in; i++) reads = reads || op->in[i] == v;
    for (int r = 0; r < op->n_region; r++)
        if (!reads_rows(self, op->region[r], v)) return false;
    if (!reads) return true;
    if (op->code == OP_while) return loop_reads_rows(self, op, v);
    if ((op->code != OP_slice && op->code != OP_dynamic_slice) || !takes_row(self, op))
        return false;
    int n;
    if (op->code == OP_slice) {
        note(self, attr_ints(&op->attrs, "start_indices", &n)[0]);
        return true;
    }
    const tensor_t *at = ir_const_of(self->fn, op->in[1]);
    if (at) note(self, tensor_get_i64(at, 0));
    if (!at) self->several = true;
    return at || is_counted(self->fn, op->in[1], 8);
}

static bool reads_rows(search_t *self, const ir_region_t *region, ir_val_t v)
{
    bool loops = region->parent && region->parent->code == OP_while;
    for (int i = 0; i < region->n_op; i++)
        if (!op_reads_rows(self, region->op[i], v)) return false;
    for (int i = 0; i < region->n_result; i++)
        if (region->result[i] == v && !(loops && region->arg + (ir_val_t)i == v)) return false;
    return true;
}

int stacked_layer_rank(const ir_fn_t *fn, int param)
{
    ir_val_t v = ir_fn_param(fn, param);
    int rank = ir_type_of(fn, v)->rank;
    search_t self = {.fn = fn, .first = -1};
    bool rows = rank > 1 && reads_rows(&self, fn->body, v) && self.several;
    return rows ? rank - 1 : rank;
}
