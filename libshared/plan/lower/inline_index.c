/* Inlining where data decides the index: gather, dynamic slices, scatter. */
#include <string.h>

#include "ir/build.h"
#include "plan/kernel/kx_node.h"
#include "plan/lower/lower.h"

typedef struct {
    const int64_t *at;
    int n;
} ints_t;

static ints_t ints(const ir_op_t *op, const char *name)
{
    ints_t list;
    list.at = attr_ints(&op->attrs, name, &list.n);
    return list;
}

static bool has(ints_t list, int64_t x)
{
    for (int i = 0; i < list.n; i++)
        if (list.at[i] == x) return true;
    return false;
}

static const ir_type_t *type_of(const inline_t *self, ir_val_t v)
{
    return ir_type_of(self->lower->fn, v);
}

/* min(max(x, 0), top) */
static kx_t clamp(kx_graph_t *g, kx_t x, int64_t top)
{
    const kx_node_t *n = &g->node.at[x];
    if (top <= 0) return kx_int(g, 0);
    if (n->lo >= 0 && n->hi <= top) return x;
    return kx_map(g, OP_clamp, DT_I64, 3, (kx_t[]){kx_int(g, 0), x, kx_int(g, top)});
}

/* A start as i64; what only ui64 can say is far beyond any dimension. */
static kx_t to_index(kx_graph_t *g, kx_t start)
{
    if (g->node.at[start].dtype == DT_UI64) {
        kx_t most = kx_number(g, DT_UI64, 0, INT64_MAX);
        start = kx_map(g, OP_minimum, DT_UI64, 2, (kx_t[]){start, most});
    }
    return kx_convert(g, start, DT_I64);
}

/* Entry k of the index vector at batch position batch[], as i64. */
static kx_t index_entry(inline_t *self, ir_val_t indices, int vector_dim, const kx_t *batch, int k)
{
    const ir_type_t *t = type_of(self, indices);
    kx_t at[IR_MAX_RANK];
    for (int d = 0, b = 0; d < t->rank; d++)
        at[d] = d == vector_dim ? kx_int(self->graph, k) : batch[b++];
    return to_index(self->graph, inline_value(self, indices, at));
}

kx_t inline_gather(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    kx_graph_t *g = self->graph;
    const ir_type_t *x = type_of(self, op->in[0]), *y = type_of(self, op->out);
    ints_t offset = ints(op, "offset_dims"), collapsed = ints(op, "collapsed_slice_dims");
    ints_t map = ints(op, "start_index_map"), sizes = ints(op, "slice_sizes");
    ints_t batching = ints(op, "operand_batching_dims");
    ints_t start_batching = ints(op, "start_indices_batching_dims");
    int vector_dim = (int)attr_int(&op->attrs, "index_vector_dim", 0);
    kx_t batch[IR_MAX_RANK], at[IR_MAX_RANK];
    int n_batch = 0;
    for (int d = 0; d < y->rank; d++)
        if (!has(offset, d)) batch[n_batch++] = index[d];
    for (int d = 0, o = 0; d < x->rank; d++)
        at[d] = has(collapsed, d) || has(batching, d) ? kx_int(g, 0) : index[offset.at[o++]];
    for (int i = 0; i < batching.n; i++) {
        int64_t s = start_batching.at[i];
        at[batching.at[i]] = batch[s - (s > vector_dim)];
    }
    for (int k = 0; k < map.n; k++) {
        int64_t d = map.at[k];
        kx_t start = index_entry(self, op->in[1], vector_dim, batch, k);
        at[d] = kx_add(g, at[d], clamp(g, start, x->dim[d] - sizes.at[d]));
    }
    return inline_value(self, op->in[0], at);
}

static kx_t start_of(inline_t *self, const ir_op_t *op, int operand, int64_t top)
{
    kx_t start = inline_value(self, op->in[operand], NULL);
    return clamp(self->graph, to_index(self->graph, start), top);
}

kx_t inline_dynamic_slice(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    const ir_type_t *x = type_of(self, op->in[0]), *y = type_of(self, op->out);
    kx_t at[IR_MAX_RANK];
    for (int d = 0; d < x->rank; d++)
        at[d] = kx_add(self->graph, index[d], start_of(self, op, 1 + d, x->dim[d] - y->dim[d]));
    return inline_value(self, op->in[0], at);
}

kx_t inline_dynamic_update(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    kx_graph_t *g = self->graph;
    const ir_type_t *x = type_of(self, op->in[0]), *u = type_of(self, op->in[1]);
    kx_t at[IR_MAX_RANK], inside = kx_number(g, DT_I1, 0, 1);
    for (int d = 0; d < x->rank; d++) {
        kx_t start = start_of(self, op, 2 + d, x->dim[d] - u->dim[d]);
        kx_t from = kx_sub(g, index[d], start), in = kx_within(g, from, 0, u->dim[d]);
        at[d] = clamp(g, from, u->dim[d] - 1);
        inside = kx_and(g, inside, in);
    }
    kx_t update = inline_value(self, op->in[1], at);
    return kx_select(g, inside, update, inline_value(self, op->in[0], index));
}

/* Which operand dimension each window dimension of the updates is. */
static int window_dims(const ir_op_t *op, int rank, int *dims)
{
    ints_t inserted = ints(op, "inserted_window_dims"), batching = ints(op, "input_batching_dims");
    int n = 0;
    for (int d = 0; d < rank; d++)
        if (!has(inserted, d) && !has(batching, d)) dims[n++] = d;
    return n;
}

void inline_scatter_target(inline_t *self, const ir_op_t *op, const kx_t *update_index, kx_t *index,
                           kx_t *guard)
{
    kx_graph_t *g = self->graph;
    const ir_type_t *x = type_of(self, op->in[0]), *u = type_of(self, op->in[2]);
    ints_t window = ints(op, "update_window_dims"), map = ints(op, "scatter_dims_to_operand_dims");
    ints_t batching = ints(op, "input_batching_dims");
    ints_t index_batching = ints(op, "scatter_indices_batching_dims");
    int vector_dim = (int)attr_int(&op->attrs, "index_vector_dim", 0), n_batch = 0;
    kx_t batch[IR_MAX_RANK], at[IR_MAX_RANK];
    int dims[IR_MAX_RANK];
    window_dims(op, x->rank, dims);
    for (int d = 0; d < x->rank; d++) at[d] = kx_int(g, 0);
    for (int d = 0, w = 0; d < u->rank; d++) {
        if (has(window, d))
            at[dims[w++]] = update_index[d];
        else
            batch[n_batch++] = update_index[d];
    }
    for (int i = 0; i < batching.n; i++) {
        int64_t s = index_batching.at[i];
        at[batching.at[i]] = batch[s - (s > vector_dim)];
    }
    *guard = kx_number(g, DT_I1, 0, 1);
    for (int k = 0; k < map.n; k++) {
        int64_t d = map.at[k];
        at[d] = kx_add(g, at[d], index_entry(self, op->in[1], vector_dim, batch, k));
        *guard = kx_and(g, *guard, kx_within(g, at[d], 0, x->dim[d]));
        at[d] = clamp(g, at[d], x->dim[d] - 1);
    }
    *index = kx_linear(g, x->rank, x->dim, at);
}

/* --- Direct scatters: at most one update meets each element, and the element knows which. ---
 *
 * The gradient of cross-entropy's pick: updates [n, 1] go to (i, t[i]), i an iota. Element (i, j)
 * is then t[i] == j ? update[i] : operand, which fuses where a real scatter could not. */

/* The index vector's entry k at fresh batch variables: the batch dimension it equals, or -1. */
static int entry_is_batch(lower_t *lower, const ir_op_t *op, int k, int n_batch,
                          const int64_t *extent)
{
    kx_graph_t g;
    kx_init(&g);
    kx_t batch[IR_MAX_RANK];
    for (int b = 0; b < n_batch; b++) batch[b] = kx_var(&g, extent[b], NULL);
    inline_t in = {.lower = lower, .graph = &g};
    int vector_dim = (int)attr_int(&op->attrs, "index_vector_dim", 0), is = -1;
    kx_t entry = index_entry(&in, op->in[1], vector_dim, batch, k);
    for (int b = 0; b < n_batch && !in.failed; b++)
        if (entry == batch[b] && extent[b] > 1) is = b;
    inline_fini(&in);
    kx_fini(&g);
    return is;
}

/* For each batch dimension of the updates the operand dimension that equals it, or -1. False when
 * some batch dimension stays free, or windows are involved. */
static bool direct_dims(lower_t *lower, const ir_op_t *op, int *dim_of_batch)
{
    const ir_type_t *x = ir_type_of(lower->fn, op->in[0]), *u = ir_type_of(lower->fn, op->in[2]);
    ints_t map = ints(op, "scatter_dims_to_operand_dims");
    if (op->n_in != 3 || ints(op, "update_window_dims").n || ints(op, "input_batching_dims").n)
        return false;
    for (int b = 0; b < u->rank; b++) dim_of_batch[b] = -1;
    for (int k = 0; k < map.n; k++) {
        int b = entry_is_batch(lower, op, k, u->rank, u->dim);
        if (b >= 0 && u->dim[b] == x->dim[map.at[k]]) dim_of_batch[b] = (int)map.at[k];
    }
    for (int b = 0; b < u->rank; b++)
        if (u->dim[b] > 1 && dim_of_batch[b] < 0) return false;
    return true;
}

bool inline_scatter_is_direct(lower_t *lower, const ir_op_t *op)
{
    int dims[IR_MAX_RANK];
    return direct_dims(lower, op, dims) && ir_reducer_op(op->region[0]) != OP_invalid;
}

kx_t inline_scatter(inline_t *self, const ir_op_t *op, const kx_t *index)
{
    kx_graph_t *g = self->graph;
    const ir_type_t *u = type_of(self, op->in[2]), *y = type_of(self, op->out);
    ints_t map = ints(op, "scatter_dims_to_operand_dims");
    int dims[IR_MAX_RANK], vector_dim = (int)attr_int(&op->attrs, "index_vector_dim", 0);
    if (!direct_dims(self->lower, op, dims)) {
        self->failed = true;
        return kx_int(g, 0);
    }
    kx_t batch[IR_MAX_RANK], hit = kx_number(g, DT_I1, 0, 1);
    for (int b = 0; b < u->rank; b++) batch[b] = dims[b] < 0 ? kx_int(g, 0) : index[dims[b]];
    for (int k = 0; k < map.n; k++) {
        kx_t entry = index_entry(self, op->in[1], vector_dim, batch, k);
        if (entry != index[map.at[k]])
            hit = kx_and(g, hit, kx_compare(g, CMP_EQ, entry, index[map.at[k]]));
    }
    kx_t x = inline_value(self, op->in[0], index);
    op_code_t reducer = ir_reducer_op(op->region[0]);
    kx_t with = inline_value(self, op->in[2], batch);
    with = kx_map(g, reducer, y->dtype, 2, (kx_t[]){x, with});
    return kx_select(g, hit, with, x);
}
