/* c[o, i, row, col] = sum over k of a[o, i, row, k] b[o, i, k, col]: a loop over the rows of all
 * matrices around one over columns around one over k; or a loop over all elements around one over
 * k. */
#include "plan/lower/product_loops.h"

int64_t product_pieces(const plan_gemm_step_t *step, bool by_element)
{
    return step->batch * step->inner * step->m * (by_element ? step->n : 1);
}

/* Where the entry of an operand lies: matrix (o, i), at `row` rows of ld elements and `col`. */
static kx_t place(kx_graph_t *g, kx_t o, kx_t i, int64_t stride, int64_t inner, kx_t row, kx_t col,
                  int64_t ld)
{
    kx_t at = kx_add(g, kx_scale(g, o, stride), kx_scale(g, i, inner));
    return kx_add(g, at, kx_add(g, kx_scale(g, row, ld), col));
}

static kstmt_t *loop(kernel_t *kernel, kblock_t *block, int var, int64_t extent)
{
    kstmt_t *s = kernel_stmt(block, KS_FOR);
    s->var = var;
    s->lo = kx_int(&kernel->graph, 0);
    s->hi = kx_int(&kernel->graph, extent);
    return s;
}

static void accumulate(kblock_t *block, kstmt_kind_t kind, int acc, kx_t value)
{
    kstmt_t *s = kernel_stmt(block, kind);
    s->target = acc;
    s->value = value;
}

kernel_t *product_loops(const plan_gemm_step_t *step, bool by_element)
{
    kernel_t *self = kernel_new();
    kx_graph_t *g = &self->graph;
    dtype_t from = step->bf16 ? DT_BF16 : step->dtype;
    int unit, col_var, sum_var;
    kx_t all = kx_var(g, product_pieces(step, by_element), &unit);
    kx_t col = by_element ? kx_mod(g, all, step->n) : kx_var(g, step->n, &col_var);
    if (by_element) all = kx_div(g, all, step->n);
    kx_t sum = kx_var(g, step->k, &sum_var), entry = kx_div(g, all, step->m);
    kx_t row = kx_mod(g, all, step->m);
    kx_t o = kx_div(g, entry, step->inner), i = kx_mod(g, entry, step->inner);
    kernel_arg(self, 0, from, false); /* no IR values: the step names the operands */
    kernel_arg(self, 1, from, false);
    kernel_arg(self, 2, step->dtype, true);
    VEC_PUSH(&self->acc, ((kacc_t){DT_F64, OP_add}));
    kx_t a = kx_load(g, 0, from,
                     place(g, o, i, step->stride_a, step->inner_a, step->trans_a ? sum : row,
                           step->trans_a ? row : sum, step->lda));
    kx_t b = kx_load(g, 1, from,
                     place(g, o, i, step->stride_b, step->inner_b, step->trans_b ? col : sum,
                           step->trans_b ? sum : col, step->ldb));
    kx_t at = place(g, o, i, step->stride_c, step->inner_c, row, col, step->ldc);
    kx_t term[] = {kx_convert(g, a, DT_F64), kx_convert(g, b, DT_F64)};
    kx_t start = step->accumulate ? kx_convert(g, kx_load(g, 2, step->dtype, at), DT_F64)
                                  : kx_number(g, DT_F64, 0, 0);
    kstmt_t *outer = kernel_stmt(&self->body, KS_FOR);
    outer->var = unit;
    kblock_t *each = by_element ? &outer->body : &loop(self, &outer->body, col_var, step->n)->body;
    accumulate(each, KS_START, 0, start);
    kstmt_t *sums = loop(self, each, sum_var, step->k);
    accumulate(&sums->body, KS_FOLD, 0, kx_map(g, OP_multiply, DT_F64, 2, term));
    kstmt_t *store = kernel_stmt(each, KS_STORE);
    store->target = 2;
    store->index = at;
    store->value = kx_convert(g, kx_acc(g, 0, DT_F64), step->dtype);
    self->extent = product_pieces(step, by_element);
    self->grain = 1;
    self->label = mem_printf("product in loops");
    return self;
}
