/* Kernels: containers of statements, and rewriting of expressions. */
#include "plan/kernel/kernel.h"

#include "plan/kernel/kx_node.h"

kernel_t *kernel_new(void)
{
    kernel_t *self = mem_calloc(1, sizeof *self);
    kx_init(&self->graph);
    return self;
}

const char *kernel_kind_name(kernel_kind_t kind)
{
    static const char *const names[KERNEL_KIND_COUNT] = {
        [KERNEL_LOOPS] = "loops",   [KERNEL_PRODUCT] = "product", [KERNEL_ATTENTION] = "attention",
        [KERNEL_STREAM] = "stream", [KERNEL_LINES] = "lines",     [KERNEL_WEAVE] = "weave",
    };
    return names[kind];
}

static void block_fini(kblock_t *block)
{
    for (size_t i = 0; i < block->n; i++) {
        block_fini(&block->at[i]->body);
        VEC_FREE(&block->at[i]->set);
        free(block->at[i]);
    }
    VEC_FREE(block);
}

void kernel_destroy(kernel_t **self_p)
{
    kernel_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    block_fini(&self->body);
    kx_fini(&self->graph);
    VEC_FREE(&self->arg);
    VEC_FREE(&self->array);
    VEC_FREE(&self->acc);
    VEC_FREE(&self->cell);
    free(self->label);
    free(self);
}

kstmt_t *kernel_stmt(kblock_t *block, kstmt_kind_t kind)
{
    kstmt_t *s = mem_calloc(1, sizeof *s);
    s->kind = kind;
    s->lo = s->hi = s->index = s->value = KX_NONE;
    VEC_PUSH(block, s);
    return s;
}

int kernel_cell(kernel_t *self, dtype_t dtype)
{
    VEC_PUSH(&self->cell, dtype);
    return (int)self->cell.n - 1;
}

int kernel_arg_at(kernel_t *self, ir_val_t value, dtype_t dtype, bool written, int64_t at)
{
    for (size_t i = 0; i < self->arg.n; i++)
        if (self->arg.at[i].value == value && self->arg.at[i].at == at) {
            self->arg.at[i].written |= written;
            return (int)i;
        }
    VEC_PUSH(&self->arg, ((karg_t){value, dtype, written, at}));
    return (int)self->arg.n - 1;
}

int kernel_arg(kernel_t *self, ir_val_t value, dtype_t dtype, bool written)
{
    return kernel_arg_at(self, value, dtype, written, 0);
}

static kx_t rebuild_sum(kx_rewrite_t *self, const kx_node_t *n)
{
    kx_graph_t *g = self->graph;
    kx_t sum = kx_int(g, n->i);
    for (int t = 0; t < n->n_in; t++)
        sum = kx_add(g, sum, kx_scale(g, kx_rewrite(self, n->in[t]), n->coef[t]));
    return sum;
}

static kx_t rebuild(kx_rewrite_t *self, kx_t root)
{
    kx_graph_t *g = self->graph;
    const kx_node_t n = g->node.at[root];
    if (n.kind == KX_AFFINE) return rebuild_sum(self, &n);
    kx_t in[4];
    bool same = true;
    for (int t = 0; t < n.n_in; t++) {
        in[t] = kx_rewrite(self, n.in[t]);
        same = same && in[t] == n.in[t];
    }
    if (same) return root;
    switch (n.kind) {
    case KX_DIV: return kx_div(g, in[0], n.i);
    case KX_MOD: return kx_mod(g, in[0], n.i);
    case KX_GE0: return kx_ge0(g, in[0]);
    case KX_LOAD: return kx_load(g, (int)n.i, n.dtype, in[0]);
    case KX_LOCAL: return kx_local(g, (int)n.i, n.dtype, in[0]);
    case KX_REF: return kx_ref(g, (int)n.i, n.dtype, in[0]);
    case KX_CONVERT: return kx_convert(g, in[0], n.dtype);
    case KX_SELECT: return kx_select(g, in[0], in[1], in[2]);
    case KX_KEY: return kx_key(g, in[0]);
    case KX_ROUND: return kx_round(g, in[0], (int)(n.i / 64), (int)(n.i % 64));
    default: break;
    }
    if (n.op == OP_compare) return kx_compare(g, (kx_compare_t)n.i, in[0], in[1]);
    return kx_map(g, n.op, n.dtype, n.n_in, in);
}

kx_t kx_rewrite(kx_rewrite_t *self, kx_t root)
{
    while (self->memo.n <= root) VEC_PUSH(&self->memo, KX_NONE);
    if (self->memo.at[root] != KX_NONE) return self->memo.at[root];
    kx_t to = self->replace(self->user, root);
    if (to == KX_NONE) to = rebuild(self, root);
    self->memo.at[root] = to;
    return to;
}
