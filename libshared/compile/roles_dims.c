/* Dimensions that are one and the same in the whole program, by union-find over (value, dimension):
 * the two operands of an addition have the same rows, a product's result has its operands' free
 * dimensions, a loop's carry those of its body. Where dimensions are merged or split, the outermost
 * is followed: rows of [batch, time] stay rows of [batch * time]. What an op does not tell is left
 * apart, so equal classes are certain up to that, different ones are not. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compile/roles_in.h"
#include "ir/build_index.h"

struct roles_dims {
    const ir_fn_t *fn;
    int *first;  /* of each value: the place of its dimension 0 */
    int *parent; /* of each place */
};

static int root(roles_dims_t *self, int at)
{
    while (self->parent[at] != at) at = self->parent[at] = self->parent[self->parent[at]];
    return at;
}

int roles_dims_class(roles_dims_t *self, ir_val_t v, int d)
{
    return root(self, self->first[v] + d);
}

static void join(roles_dims_t *self, ir_val_t a, int64_t i, ir_val_t b, int64_t k)
{
    const ir_type_t *ta = ir_type_of(self->fn, a), *tb = ir_type_of(self->fn, b);
    if (i < 0 || k < 0 || i >= ta->rank || k >= tb->rank) return;
    if (ta->dim[i] <= 1 || tb->dim[k] <= 1) return; /* what is broadcast is nobody's */
    self->parent[root(self, self->first[a] + (int)i)] = root(self, self->first[b] + (int)k);
}

/* The same, of dimensions that are as long. */
static void join_equal(roles_dims_t *self, ir_val_t a, int64_t i, ir_val_t b, int64_t k)
{
    const ir_type_t *ta = ir_type_of(self->fn, a), *tb = ir_type_of(self->fn, b);
    if (i < 0 || k < 0 || i >= ta->rank || k >= tb->rank || ta->dim[i] != tb->dim[k]) return;
    join(self, a, i, b, k);
}

static void join_all(roles_dims_t *self, ir_val_t a, ir_val_t b)
{
    int rank = ir_type_of(self->fn, a)->rank;
    if (rank != ir_type_of(self->fn, b)->rank) return;
    for (int d = 0; d < rank; d++) join_equal(self, a, d, b, d);
}

/* --- rules --- */

static void of_reshape(roles_dims_t *self, const ir_op_t *op)
{
    const ir_type_t *x = ir_type_of(self->fn, op->in[0]), *y = ir_type_of(self->fn, op->out);
    for (int i = 0, k = 0; i < x->rank && k < y->rank;) {
        if (x->dim[i] == 1) {
            i++;
            continue;
        }
        if (y->dim[k] == 1) {
            k++;
            continue;
        }
        int64_t a = x->dim[i], b = y->dim[k];
        join(self, op->in[0], i++, op->out, k++);
        while (a != b) { /* take in what is merged, or split */
            if (a < b && i < x->rank)
                a *= x->dim[i++];
            else if (b < a && k < y->rank)
                b *= y->dim[k++];
            else
                return;
        }
    }
}

static void of_dot(roles_dims_t *self, const ir_op_t *op)
{
    ir_dot_t dot;
    ir_dot_dims(op, &dot);
    int at = dot.n_batch;
    for (int i = 0; i < dot.n_batch; i++) {
        join(self, op->in[0], dot.lhs_batch[i], op->in[1], dot.rhs_batch[i]);
        join(self, op->in[0], dot.lhs_batch[i], op->out, i);
    }
    for (int i = 0; i < dot.n_contract; i++)
        join(self, op->in[0], dot.lhs_contract[i], op->in[1], dot.rhs_contract[i]);
    for (int side = 0; side < 2; side++) {
        const int64_t *batch = side ? dot.rhs_batch : dot.lhs_batch;
        const int64_t *contract = side ? dot.rhs_contract : dot.lhs_contract;
        for (int d = 0; d < ir_type_of(self->fn, op->in[side])->rank; d++) {
            bool taken = false;
            for (int i = 0; i < dot.n_batch; i++) taken = taken || batch[i] == d;
            for (int i = 0; i < dot.n_contract; i++) taken = taken || contract[i] == d;
            if (!taken) join(self, op->in[side], d, op->out, at++);
        }
    }
}

static void of_gather(roles_dims_t *self, const ir_op_t *op)
{
    ir_gather_t g;
    ir_gather_dims(op, &g);
    int rank = ir_type_of(self->fn, op->out)->rank, index = 0;
    for (int d = 0; d < rank; d++) {
        bool offset = false;
        for (int i = 0; i < g.n_offset; i++) offset = offset || g.offset_dims[i] == d;
        if (offset) continue;
        if (index == g.index_vector_dim) index++;
        join_equal(self, op->in[1], index++, op->out, d);
    }
    int at = 0;
    for (int d = 0; d < ir_type_of(self->fn, op->in[0])->rank; d++) {
        bool gone = false;
        for (int i = 0; i < g.n_collapsed; i++) gone = gone || g.collapsed[i] == d;
        for (int i = 0; i < g.n_batch; i++) gone = gone || g.batch[i] == d;
        if (!gone && at < g.n_offset) join_equal(self, op->in[0], d, op->out, g.offset_dims[at++]);
    }
    for (int i = 0; i < g.n_batch; i++)
        join_equal(self, op->in[0], g.batch[i], op->in[1], g.index_batch[i]);
}

static void of_convolution(roles_dims_t *self, const ir_op_t *op)
{
    const ir_attrs_t *a = &op->attrs;
    join_equal(self, op->in[0], attr_int(a, "input_batch_dimension", -1), op->out,
               attr_int(a, "output_batch_dimension", -1));
    join_equal(self, op->in[1], attr_int(a, "kernel_output_feature_dimension", -1), op->out,
               attr_int(a, "output_feature_dimension", -1));
    join_equal(self, op->in[0], attr_int(a, "input_feature_dimension", -1), op->in[1],
               attr_int(a, "kernel_input_feature_dimension", -1));
}

static void of_reduce(roles_dims_t *self, const ir_op_t *op)
{
    int n, at = 0, n_in = op->n_in / 2;
    const int64_t *gone = attr_ints(&op->attrs, "dimensions", &n);
    for (int d = 0; d < ir_type_of(self->fn, op->in[0])->rank; d++) {
        bool is_gone = false;
        for (int i = 0; i < n; i++) is_gone = is_gone || gone[i] == d;
        if (is_gone) continue;
        for (int i = 0; i < n_in && i < op->n_out; i++)
            join(self, op->in[i], d, op->out + (ir_val_t)i, at);
        at++;
    }
}

static void of_mapped(roles_dims_t *self, const ir_op_t *op, const char *attr, bool from_result)
{
    int n;
    const int64_t *dims = attr_ints(&op->attrs, attr, &n);
    for (int i = 0; i < n; i++) {
        if (from_result)
            join_equal(self, op->in[0], dims[i], op->out, i);
        else
            join_equal(self, op->in[0], i, op->out, dims[i]);
    }
}

static void of_concatenate(roles_dims_t *self, const ir_op_t *op)
{
    int64_t along = attr_int(&op->attrs, "dimension", 0);
    for (int i = 0; i < op->n_in; i++)
        for (int d = 0; d < ir_type_of(self->fn, op->out)->rank; d++)
            if (d != along) join_equal(self, op->in[i], d, op->out, d);
}

static void visit(roles_dims_t *self, const ir_region_t *region);

/* Carried values are the same in front of the loop, in its regions and behind it. */
static void of_regions(roles_dims_t *self, const ir_op_t *op)
{
    for (int r = 0; r < op->n_region; r++) {
        const ir_region_t *region = op->region[r];
        visit(self, region);
        bool loop = op->code == OP_while;
        if (!loop && op->code != OP_if && op->code != OP_case) continue;
        for (int i = 0; loop && i < region->n_arg && i < op->n_in; i++)
            join_all(self, op->in[i], region->arg + (ir_val_t)i);
        for (int i = 0; i < region->n_result && i < op->n_out && !(loop && r == 0); i++)
            join_all(self, region->result[i], op->out + (ir_val_t)i);
    }
    for (int i = 0; op->code == OP_while && i < op->n_in; i++)
        join_all(self, op->in[i], op->out + (ir_val_t)i);
}

static void of_op(roles_dims_t *self, const ir_op_t *op)
{
    switch (op->code) {
    case OP_reshape: of_reshape(self, op); return;
    case OP_dot_general: of_dot(self, op); return;
    case OP_gather: of_gather(self, op); return;
    case OP_convolution: of_convolution(self, op); return;
    case OP_reduce: of_reduce(self, op); return;
    case OP_broadcast_in_dim: of_mapped(self, op, "broadcast_dimensions", false); return;
    case OP_transpose: of_mapped(self, op, "permutation", true); return;
    case OP_concatenate: of_concatenate(self, op); return;
    default: break;
    }
    if (op->n_region) of_regions(self, op);
    bool alike = op_def(op->code)->kind == K_MAP || op->code == OP_optimization_barrier ||
                 op->code == OP_custom_call;
    for (int k = 0; k < op->n_out; k++) {
        if (op->code == OP_optimization_barrier || op->code == OP_custom_call) {
            if (k < op->n_in) join_all(self, op->in[k], op->out + (ir_val_t)k);
            continue;
        }
        for (int i = 0; i < (alike ? op->n_in : op->n_in > 0 ? 1 : 0); i++)
            join_all(self, op->in[i], op->out + (ir_val_t)k);
    }
}

static void visit(roles_dims_t *self, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) of_op(self, region->op[i]);
}

roles_dims_t *roles_dims_new(const ir_fn_t *fn)
{
    roles_dims_t *self = mem_calloc(1, sizeof *self);
    int n = 0;
    self->fn = fn;
    self->first = mem_calloc(fn->n_value + 1u, sizeof *self->first);
    for (ir_val_t v = 0; v < fn->n_value; v++) {
        self->first[v] = n;
        n += fn->value[v].type.rank;
    }
    self->parent = mem_calloc((size_t)n + 1, sizeof *self->parent);
    for (int i = 0; i < n; i++) self->parent[i] = i;
    visit(self, fn->body);
    return self;
}

void roles_dims_destroy(roles_dims_t **self_p)
{
    roles_dims_t *self = *self_p;
    if (!self) return;
    free(self->first);
    free(self->parent);
    free(self);
    *self_p = NULL;
}
