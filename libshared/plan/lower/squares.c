/* A product whose kernel has a fourth argument, the sums. */
#include "plan/lower/squares.h"

#include "ir/build.h"

/* The op behind reshapes that makes x, or NULL. */
static const ir_op_t *behind_reshapes(const ir_fn_t *fn, ir_val_t x)
{
    const ir_op_t *op = ir_def(fn, x);
    while (op && op->code == OP_reshape) op = ir_def(fn, op->in[0]);
    return op;
}

/* The product of whose result x is the squares, or NULL. */
static const ir_op_t *squared(const ir_fn_t *fn, ir_val_t x)
{
    const ir_op_t *op = behind_reshapes(fn, x);
    if (!op || op->code != OP_multiply || op->in[0] != op->in[1]) return NULL;
    op = behind_reshapes(fn, op->in[0]);
    return op && op->code == OP_dot_general ? op : NULL;
}

bool squares_are(const ir_fn_t *fn, ir_val_t x)
{
    return squared(fn, x) != NULL;
}

/* A sum of f32 over all that is behind the one dimension it is over; its length, or 0. */
static int64_t sum_length(const ir_fn_t *fn, const ir_op_t *op)
{
    if (op->code != OP_reduce || op->n_in != 2 || ir_reducer_op(op->region[0]) != OP_add) return 0;
    const ir_type_t *from = ir_type_of(fn, op->in[0]);
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "dimensions", &n);
    const tensor_t *init = ir_const_of(fn, op->in[1]);
    if (n != 1 || from->dtype != DT_F32 || !init || tensor_get_f64(init, 0) != 0) return 0;
    for (int d = (int)dims[0] + 1; d < from->rank; d++)
        if (from->dim[d] != 1) return 0;
    return from->dim[dims[0]];
}

/* The sums behind reshapes that `all` adds up, where nobody else reads them; or NULL. Which numbers of the result are
 * in which of them is then nobody's business. */
static const ir_op_t *first_sums(const ir_fn_t *fn, const ir_op_t *all)
{
    const ir_type_t *from = ir_type_of(fn, all->in[0]);
    if (sum_length(fn, all) == 0 || sum_length(fn, all) != ir_type_count(from)) return NULL;
    ir_val_t v = all->in[0];
    for (;;) {
        const ir_op_t *op = ir_def(fn, v);
        if (!op || ir_uses_in(fn->body, v) != 1) return NULL;
        if (op->code != OP_reshape) return sum_length(fn, op) == SQUARES_OF_TILE ? op : NULL;
        v = op->in[0];
    }
}

void squares_choose(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    for (int i = 0; i < body->n_op && self->caps.matrix; i++) {
        const ir_op_t *sums = first_sums(self->fn, body->op[i]);
        const ir_op_t *product = sums ? squared(self->fn, sums->in[0]) : NULL;
        if (product) self->value[product->out].squares = sums->out;
    }
}

/* The whole of a result that is written once, in tiles of 32 x 32. */
static bool is_summed(const lower_t *self, const lstep_t *s, tiles_t *tiles)
{
    const plan_gemm_step_t *g = &s->gemm;
    int64_t count = ir_type_count(ir_type_of(self->fn, s->value));
    bool whole = g->batch * g->inner == 1 && g->c == 0 && g->ldc == g->n && g->m * g->n == count;
    bool plain = g->a == 0 && g->b == 0 && s->lhs != s->rhs;
    bool parts = lower_is_large(self, s->lhs) || lower_is_large(self, s->rhs);
    return whole && plain && !parts && tiles_choose(tiles, g, self->caps) && tiles->stream_c &&
           tiles->rows * tiles->cols == SQUARES_OF_TILE && g->m % tiles->rows == 0 &&
           g->n % tiles->cols == 0;
}

bool squares_place(lower_t *self, const lstep_t *s)
{
    ir_val_t sums = self->value[s->value].squares;
    tiles_t tiles;
    if (sums == 0 || !is_summed(self, s, &tiles)) return false;
    product_t *product = ARENA_NEW(self->fn->module->arena, product_t);
    group_t *group = mem_calloc(1, sizeof *group);
    kernel_t *kernel = group->kernel = kernel_new();
    *product = (product_t){.step = s->gemm, .tiles = tiles};
    product->tiles.squares = true;
    kernel->kind = KERNEL_PRODUCT;
    kernel->product = product;
    kernel->extent = tiles_n_part(product);
    kernel->grain = 1;
    kernel->label = mem_printf("gemm bf16 %c%c %lldx%lldx%lld and squares",
                               s->gemm.trans_a ? 't' : 'n', s->gemm.trans_b ? 't' : 'n',
                               (long long)s->gemm.m, (long long)s->gemm.n, (long long)s->gemm.k);
    double m = (double)s->gemm.m, n = (double)s->gemm.n, k = (double)s->gemm.k;
    kernel->flops = 2 * m * n * (k + 1);
    kernel->bytes = 2 * (m * k + k * n) + 4 * m * n;
    const ir_val_t arg[] = {s->lhs, s->rhs, s->value, sums};
    for (int i = 0; i < 4; i++) {
        lvalue_t *lv = &self->value[arg[i]];
        kernel_arg(kernel, arg[i], i < 2 ? DT_BF16 : DT_F32, i >= 2);
        lv->stored = true;
        if (i < 2) continue;
        lv->group = (int)self->group.n;
        lv->order = (int)self->step.n;
    }
    group->order = (int)self->step.n;
    lstep_t step = {.kind = LOWER_GROUP, .group = (int)self->group.n, .value = s->value};
    VEC_PUSH(&self->group, group);
    VEC_PUSH(&self->step, step);
    return true;
}
