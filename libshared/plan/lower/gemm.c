/* dot_general to GEMM steps. Operands are read through their views: transposes become flags, batch
 * and head dimensions become strides; what strides cannot say is copied first (marked as a root).
 * */
#include <string.h>

#include "ir/build.h"
#include "plan/kernel/kx_node.h"
#include "plan/lower/lower.h"
#include "plan/lower/squares.h"
#include "plan/lower/weave.h"

/* An operand or the result as a strided matrix: element (o, i, row, col) of `root`. */
typedef struct {
    ir_val_t root;
    int64_t offset, outer, inner, row, col;
} matrix_t;

typedef struct {
    lower_t *lower;
    const ir_op_t *op;
    ir_dot_t dot;
    kx_graph_t graph;
    int batch_var;
    int64_t n_batch, m, n, k;
    kx_t batch, row, col, sum; /* variables of extents n_batch, m, n, k */
    dtype_t *weight;           /* not NULL: the second operand may be converted, from this type */
} dot_t;

/* Dimensions of an operand that are neither batch nor contracted. */
static int free_dims(const ir_type_t *t, const int64_t *batch, int n_batch, const int64_t *contract,
                     int n_contract, int64_t *dims)
{
    int n = 0;
    for (int d = 0; d < t->rank; d++) {
        bool taken = false;
        for (int i = 0; i < n_batch; i++) taken = taken || batch[i] == d;
        for (int i = 0; i < n_contract; i++) taken = taken || contract[i] == d;
        if (!taken) dims[n++] = d;
    }
    return n;
}

static int64_t extent_of(const ir_type_t *t, const int64_t *dims, int n)
{
    int64_t extent = 1;
    for (int i = 0; i < n; i++) extent *= t->dim[dims[i]];
    return extent;
}

static void product_init(dot_t *p, lower_t *lower, const ir_op_t *op)
{
    *p = (dot_t){.lower = lower, .op = op};
    ir_dot_dims(op, &p->dot);
    kx_init(&p->graph);
    const ir_type_t *a = ir_type_of(lower->fn, op->in[0]), *b = ir_type_of(lower->fn, op->in[1]);
    const ir_dot_t *d = &p->dot;
    int64_t dims[IR_MAX_RANK];
    int n = free_dims(a, d->lhs_batch, d->n_batch, d->lhs_contract, d->n_contract, dims);
    p->m = extent_of(a, dims, n);
    n = free_dims(b, d->rhs_batch, d->n_batch, d->rhs_contract, d->n_contract, dims);
    p->n = extent_of(b, dims, n);
    p->k = extent_of(a, d->lhs_contract, d->n_contract);
    p->n_batch = extent_of(a, d->lhs_batch, d->n_batch);
    p->batch = kx_var(&p->graph, p->n_batch, &p->batch_var);
    p->row = kx_var(&p->graph, p->m, NULL);
    p->col = kx_var(&p->graph, p->n, NULL);
    p->sum = kx_var(&p->graph, p->k, NULL);
}

static void scatter_digits(kx_graph_t *g, kx_t linear, const ir_type_t *t, const int64_t *dims,
                           int n, kx_t *index)
{
    int64_t extent[IR_MAX_RANK] = {0};
    kx_t digit[IR_MAX_RANK];
    for (int i = 0; i < n; i++) extent[i] = t->dim[dims[i]];
    kx_unlinear(g, linear, n, extent, digit);
    for (int i = 0; i < n; i++) index[dims[i]] = digit[i];
}

/* at = offset + row * row_var + col * col_var + terms of the batch variable; false when it is not.
 * */
static bool read_strides(dot_t *p, kx_t at, kx_t row, kx_t col, matrix_t *x)
{
    kx_graph_t *g = &p->graph;
    const kx_node_t n = g->node.at[at];
    const kx_var_t *b = &g->var.at[p->batch_var];
    kx_t hi = b->hi < 0 ? KX_NONE : g->var.at[b->hi].node;
    kx_t lo = b->hi < 0 ? KX_NONE : g->var.at[b->lo].node;
    int64_t lo_extent = b->hi < 0 ? 1 : g->var.at[b->lo].extent;
    x->row = kx_coef(g, at, row);
    x->col = kx_coef(g, at, col);
    x->offset = n.kind == KX_AFFINE ? n.i : 0;
    int64_t whole = p->n_batch > 1 ? kx_coef(g, at, p->batch) : 0;
    x->outer = whole * lo_extent + (hi == KX_NONE ? 0 : kx_coef(g, at, hi));
    x->inner = lo == KX_NONE ? 0 : whole + kx_coef(g, at, lo);
    int terms = n.kind == KX_AFFINE ? n.n_in : 1;
    for (int t = 0; t < terms; t++) {
        kx_t term = n.kind == KX_AFFINE ? n.in[t] : at;
        if (term != row && term != col && term != p->batch && term != hi && term != lo)
            return false;
    }
    return x->outer >= 0 && x->inner >= 0; /* entries in reverse are copied */
}

/* The operand's storage location for (batch, free, sum) symbols, or KX_NONE when it is no plain
 * load. */
static kx_t operand_at(dot_t *p, int side, ir_val_t *root)
{
    const ir_dot_t *d = &p->dot;
    const ir_type_t *t = ir_type_of(p->lower->fn, p->op->in[side]);
    const int64_t *batch = side ? d->rhs_batch : d->lhs_batch;
    const int64_t *contract = side ? d->rhs_contract : d->lhs_contract;
    int64_t dims[IR_MAX_RANK];
    kx_t index[IR_MAX_RANK];
    int n = free_dims(t, batch, d->n_batch, contract, d->n_contract, dims);
    scatter_digits(&p->graph, p->batch, t, batch, d->n_batch, index);
    scatter_digits(&p->graph, side ? p->col : p->row, t, dims, n, index);
    scatter_digits(&p->graph, p->sum, t, contract, d->n_contract, index);
    inline_t in = {.lower = p->lower, .graph = &p->graph};
    kx_t x = inline_value(&in, p->op->in[side], index);
    inline_fini(&in);
    const kx_node_t *node = &p->graph.node.at[x];
    if (side == 1 && p->weight) {
        if (node->kind == KX_CONVERT) node = &p->graph.node.at[node->in[0]];
        *p->weight = node->dtype;
    }
    if (node->kind != KX_LOAD) return KX_NONE;
    *root = (ir_val_t)node->i;
    return node->in[0];
}

static kx_t result_at(dot_t *p)
{
    kx_graph_t *g = &p->graph;
    kx_t linear = kx_add(g, kx_scale(g, p->batch, p->m), p->row);
    linear = kx_add(g, kx_scale(g, linear, p->n), p->col);
    return layout_index(g, &p->lower->value[p->op->out], linear);
}

/* BLAS's view of one matrix of rows x cols: leading dimension and transposition; false: none. */
static bool blas_form(const matrix_t *x, int64_t rows, int64_t cols, int64_t *ld, bool *trans)
{
    if (x->col == 1 || cols == 1) {
        *trans = false;
        *ld = rows == 1 && x->row < cols ? cols : x->row;
        if (*ld >= cols) return true;
    }
    if (x->row == 1 || rows == 1) {
        *trans = true;
        *ld = cols == 1 && x->col < rows ? rows : x->col;
        return *ld >= rows;
    }
    return false;
}

typedef struct {
    matrix_t a, b, c;
} matrices_t;

/* Fills the step; a set of GEMM_BAD_* says which matrices strides cannot describe. Locations are taken
 * first, since each may split the batch variable, and read after. */
static int product_step(dot_t *p, matrices_t *x, plan_gemm_step_t *s)
{
    *s = (plan_gemm_step_t){.m = p->m, .n = p->n, .k = p->k};
    s->dtype = ir_type_of(p->lower->fn, p->op->out)->dtype;
    s->bf16 = ir_type_of(p->lower->fn, p->op->in[0])->dtype == DT_BF16;
    kx_t a = operand_at(p, 0, &x->a.root), b = operand_at(p, 1, &x->b.root), c = result_at(p);
    x->c.root = p->op->out;
    bool transposed = false;
    int bad = 0;
    if (a == KX_NONE || !read_strides(p, a, p->row, p->sum, &x->a) ||
        !blas_form(&x->a, p->m, p->k, &s->lda, &s->trans_a))
        bad |= GEMM_BAD_A;
    if (b == KX_NONE || !read_strides(p, b, p->sum, p->col, &x->b) ||
        !blas_form(&x->b, p->k, p->n, &s->ldb, &s->trans_b))
        bad |= GEMM_BAD_B;
    if (!read_strides(p, c, p->row, p->col, &x->c) ||
        !blas_form(&x->c, p->m, p->n, &s->ldc, &transposed))
        bad |= GEMM_BAD_C;
    const kx_var_t *v = &p->graph.var.at[p->batch_var];
    s->inner = v->hi < 0 ? 1 : p->graph.var.at[v->lo].extent;
    s->batch = p->n_batch / s->inner;
    if (transposed) { /* C^T = B^T A^T */
        matrix_t swap = x->a;
        x->a = x->b;
        x->b = swap;
        plan_gemm_step_t t = *s;
        s->m = t.n, s->n = t.m;
        s->lda = t.ldb, s->ldb = t.lda;
        s->trans_a = !t.trans_b, s->trans_b = !t.trans_a;
    }
    s->a = x->a.offset, s->stride_a = x->a.outer, s->inner_a = x->a.inner;
    s->b = x->b.offset, s->stride_b = x->b.outer, s->inner_b = x->b.inner;
    s->c = x->c.offset, s->stride_c = x->c.outer, s->inner_c = x->c.inner;
    return bad;
}

ir_val_t gemm_behind_views(const lower_t *lower, ir_val_t v)
{
    for (;;) {
        const ir_op_t *op = ir_def(lower->fn, v);
        if (lower->value[v].root || !op || (op->code != OP_reshape && op->code != OP_transpose))
            return v;
        v = op->in[0];
    }
}

static int attempt(lower_t *self, const ir_op_t *op, matrices_t *x, plan_gemm_step_t *s)
{
    dot_t p;
    product_init(&p, self, op);
    int bad = product_step(&p, x, s);
    kx_fini(&p.graph);
    return bad;
}

int gemm_describe(lower_t *self, const ir_op_t *op, dtype_t *weight, ir_val_t root[3],
                  plan_gemm_step_t *step)
{
    dot_t p;
    matrices_t x;
    product_init(&p, self, op);
    p.weight = weight;
    int bad = product_step(&p, &x, step);
    kx_fini(&p.graph);
    root[0] = x.a.root;
    root[1] = x.b.root;
    root[2] = x.c.root;
    return bad;
}

int gemm_prepare(lower_t *self, const ir_op_t *op)
{
    matrices_t x;
    plan_gemm_step_t s;
    dtype_t dtype = ir_type_of(self->fn, op->out)->dtype;
    if (dtype != DT_F32 && dtype != DT_F64)
        return err_set(self->err, ERR_UNSUPPORTED, "line %d: dot_general of %s", op->line,
                       dtype_name(dtype));
    int bad = attempt(self, op, &x, &s);
    if (bad & GEMM_BAD_C) {
        self->value[op->out].layout.rank = 0;
        bad = attempt(self, op, &x, &s);
    }
    for (int side = 0; side < 2; side++)
        if (bad & (side ? GEMM_BAD_B : GEMM_BAD_A))
            self->value[gemm_behind_views(self, op->in[side])].root = true;
    if (bad) bad = attempt(self, op, &x, &s);
    for (int side = 0; side < 2; side++)
        if (bad & (side ? GEMM_BAD_B : GEMM_BAD_A)) self->value[op->in[side]].root = true;
    if (bad) bad = attempt(self, op, &x, &s);
    if (bad)
        return err_set(self->err, ERR_UNSUPPORTED,
                       "line %d: dot_general with strides that the GEMM "
                       "step cannot express",
                       op->line);
    return 0;
}

int gemm_place(lower_t *self, const ir_op_t *op)
{
    matrices_t x;
    lstep_t step = {.kind = LOWER_GEMM, .value = op->out};
    if (attempt(self, op, &x, &step.gemm) != 0)
        return err_set(self->err, ERR_UNSUPPORTED, "line %d: dot_general lost its strides",
                       op->line);
    step.lhs = x.a.root;
    step.rhs = x.b.root;
    weave_product(self, &step);
    if (squares_place(self, &step)) return 0;
    self->value[step.lhs].stored = self->value[step.rhs].stored = true;
    self->value[op->out].stored = true;
    self->value[op->out].order = (int)self->step.n;
    VEC_PUSH(&self->step, step);
    return 0;
}
