/* Long sums over rows, by slices: several sets of LANES threads have the same columns of a piece of work and take turns at
 * the rounds of a loop that does nothing but fold into what is kept; the first one puts together what each has, in
 * a fixed order, and goes on alone. */
#include <inttypes.h>
#include <stdio.h>

#include "codegen/render_share.h"

static const kx_node_t *node(const kernel_t *kernel, kx_t x)
{
    return &kernel->graph.node.at[x];
}

static bool reads_kept(const kernel_t *kernel, kx_t x)
{
    const kx_node_t *n = node(kernel, x);
    bool reads = n->kind == KX_LOCAL || n->kind == KX_ACC;
    for (int k = 0; k < n->n_in && !reads; k++) reads = reads_kept(kernel, n->in[k]);
    return reads;
}

/* Kept is op(kept, something else), at the same place. */
static bool is_fold(const kernel_t *kernel, const kstmt_t *s)
{
    const kx_node_t *n = node(kernel, s->value), *old;
    if (s->kind != KS_KEEP || n->kind != KX_MAP || n->n_in != 2) return false;
    old = node(kernel, n->in[0]);
    bool own = old->kind == KX_LOCAL && old->i == s->target && old->in[0] == s->index;
    bool known = n->op == OP_add || n->op == OP_maximum || n->op == OP_minimum;
    return own && known && !reads_kept(kernel, n->in[1]);
}

/* Does everything that the array begins with change no sum? Of largest and smallest it may come several times. */
static bool begins_well(const kernel_t *kernel, const kblock_t *block, int array, op_code_t op)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (!s->simd) continue;
        for (size_t k = 0; k < s->body.n; k++) {
            const kstmt_t *b = s->body.at[k];
            if (b->kind != KS_KEEP || b->target != array) continue;
            const kx_node_t *n = node(kernel, b->value);
            if (op == OP_add && (n->kind != KX_NUMBER || n->f != 0 || n->i != 0)) return false;
        }
    }
    return true;
}

/* Nothing but loops over columns that fold, each array in one place. */
static bool only_folds(const kernel_t *kernel, const kblock_t *around, const kstmt_t *rows)
{
    uint64_t folded = 0;
    for (size_t i = 0; i < rows->body.n; i++) {
        const kstmt_t *loop = rows->body.at[i];
        if (loop->kind != KS_FOR || !loop->simd) return false;
        for (size_t k = 0; k < loop->body.n; k++) {
            const kstmt_t *s = loop->body.at[k];
            if (!is_fold(kernel, s) || s->target >= 64 || (folded >> s->target & 1)) return false;
            if (!begins_well(kernel, around, s->target, node(kernel, s->value)->op)) return false;
            folded |= UINT64_C(1) << s->target;
        }
    }
    return folded != 0;
}

/* The loop over rows of a kernel that has no other one but those over columns; NULL: it has none. */
static const kstmt_t *find_rows(const kernel_t *kernel)
{
    const kstmt_t *rows = NULL;
    if (kernel->body.n != 1 || kernel->body.at[0]->kind != KS_FOR) return NULL;
    const kblock_t *block = &kernel->body.at[0]->body;
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind != KS_FOR || (!s->simd && rows)) return NULL;
        if (!s->simd) rows = s;
    }
    return rows && only_folds(kernel, block, rows) ? rows : NULL;
}

void slices_choose(const kernel_t *kernel, share_plan_t *plan)
{
    enum { EACH = 8, MOST_THREADS = 1024, FEW_THREADS = 256, FEW_ARGS = 8 };
    enum { MOST_SHARED = 32 << 10, ENOUGH = 1 << 19 }; /* threads of all pieces */
    const kstmt_t *rows = find_rows(kernel);
    int64_t n = rows ? share_columns(kernel, rows) : 0, row = 0, slices = 1;
    int64_t most = (kernel->arg.n <= FEW_ARGS ? MOST_THREADS : FEW_THREADS) / plan->lanes;
    for (size_t i = 0; i < kernel->array.n; i++)
        row += plan->lanes * plan->turns * (int64_t)dtype_bytes(kernel->array.at[i].dtype);
    while (slices * 2 <= most && slices * 2 * EACH <= n && slices * 2 * row <= MOST_SHARED &&
           kernel->extent * plan->lanes * slices < ENOUGH)
        slices *= 2;
    if (slices == 1) return;
    plan->slices = (int)slices;
    plan->rows = rows;
}

void slices_room(const kernel_t *kernel, const share_plan_t *plan, const char *(*type)(dtype_t),
                 str_t *out)
{
    for (size_t i = 0; i < kernel->array.n; i++)
        str_addf(out, "    __shared__ %s slices%zu[SLICES][LANES * %" PRId64 "];\n",
                 type(kernel->array.at[i].dtype), i, plan->turns);
}

static void write_line(render_t *self, const char *text)
{
    render_indent(self);
    str_add(self->out, text);
}

static void write_fold(render_t *self, const turns_t *own, const kstmt_t *s)
{
    const kx_node_t *n = node(self->kernel, s->value);
    char kept[32], other[64];
    snprintf(kept, sizeof kept, "l%d[j]", s->target);
    snprintf(other, sizeof other, "slices%d[k][j * int(LANES) + int(lane)]", s->target);
    render_indent(self);
    str_addf(self->out, "    %s = ", kept);
    own->lang->op(self->out, n->op, n->dtype, n->dtype, 2, (const char *const[]){kept, other});
    str_add(self->out, ";\n");
}

static void each_fold(render_t *self, const kstmt_t *rows, bool give)
{
    const turns_t *own = self->own;
    write_line(self, own->lang->unroll);
    render_indent(self);
    str_addf(self->out, "for (int j = 0; j < %" PRId64 "; j++) {\n", own->plan.turns);
    for (size_t i = 0; i < rows->body.n; i++)
        for (size_t k = 0; k < rows->body.at[i]->body.n; k++) {
            const kstmt_t *s = rows->body.at[i]->body.at[k];
            if (!give) {
                write_fold(self, own, s);
                continue;
            }
            render_indent(self);
            str_addf(self->out, "    slices%d[slice][j * int(LANES) + int(lane)] = l%d[j];\n",
                     s->target, s->target);
        }
    write_line(self, "}\n");
}

void turns_slices(render_t *self, const kstmt_t *s)
{
    const turns_t *own = self->own;
    int v = self->loop.at[s->var];
    write_line(self, "#pragma unroll 8\n");
    render_indent(self);
    str_addf(self->out, "for (int i%d = ", v);
    own->lang->index(self, s->lo, self->out);
    str_addf(self->out, " + int(slice); i%d < ", v);
    own->lang->index(self, s->hi, self->out);
    str_addf(self->out, "; i%d += int(SLICES)) {\n", v);
    render_block(self, &s->body);
    write_line(self, "}\n");
    each_fold(self, s, true);
    write_line(self, own->lang->barrier);
    write_line(self, "if (slice != 0u) return;\n");
    write_line(self, "#pragma unroll 8\n");
    write_line(self, "for (int k = 1; k < int(SLICES); k++) {\n");
    each_fold(self, s, false);
    write_line(self, "}\n");
}
