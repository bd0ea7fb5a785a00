/* Sums over rows, by slices: several sets of LANES threads have the same columns of a piece of work and take turns at its
 * rows; the first one puts together what each has summed up, in a fixed order, and goes on alone. For CUDA and HIP. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "codegen/render/render_share.h"

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

/* Kept is op(kept, another), at the same place. */
static bool is_fold(const kernel_t *kernel, const kstmt_t *s)
{
    const kx_node_t *n = s->kind == KS_KEEP ? node(kernel, s->value) : NULL, *old;
    if (!n || n->kind != KX_MAP || n->n_in != 2) return false;
    old = node(kernel, n->in[0]);
    bool own = old->kind == KX_LOCAL && old->i == s->target && old->in[0] == s->index;
    return own && (n->op == OP_add || n->op == OP_maximum || n->op == OP_minimum);
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
            if (!is_fold(kernel, s) || s->target >= 64 || (folded >> s->target & 1) ||
                reads_kept(kernel, node(kernel, s->value)->in[1]))
                return false;
            if (!begins_well(kernel, around, s->target, node(kernel, s->value)->op)) return false;
            folded |= UINT64_C(1) << s->target;
        }
    }
    return folded != 0;
}

/* The one loop of a kernel that is not over columns; NULL: it has none, or several. */
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
    return rows;
}

void slices_choose(const kernel_t *kernel, share_plan_t *plan)
{
    enum { EACH = 8, MOST_THREADS = 1024, FEW_THREADS = 256, FEW_ARGS = 8 };
    enum {
        LEAST_THREADS = 64,
        MOST_SHARED = 32 << 10,
        ENOUGH = 1 << 18
    }; /* threads of all pieces */
    const kstmt_t *rows = find_rows(kernel);
    if (rows && !only_folds(kernel, &kernel->body.at[0]->body, rows)) return;
    int64_t n = rows ? share_columns(kernel, rows) : 0, row = 0, slices = 1;
    int64_t most = (kernel->arg.n <= FEW_ARGS ? MOST_THREADS : FEW_THREADS) / plan->lanes;
    for (size_t i = 0; i < kernel->array.n; i++)
        row += plan->lanes * plan->turns * (int64_t)dtype_bytes(kernel->array.at[i].dtype);
    while (slices * 2 <= most && slices * 2 * EACH <= n && slices * 2 * row <= MOST_SHARED &&
           kernel->extent * plan->lanes * slices * 2 <= ENOUGH)
        slices *= 2;
    if (slices == 1 || plan->lanes * slices < LEAST_THREADS) return;
    plan->slices = (int)slices;
    plan->rows = rows;
}

/* --- Rows of a group -------------------------------------------------------------------------- */

/* Arrays, a bit each: what statements do with them. */
typedef struct {
    const kernel_t *kernel;
    bool *seen;
    uint64_t read, kept, folded;
    uint64_t read_acc, started, folded_acc; /* accumulators */
} use_t;

static void find_reads(use_t *self, kx_t x)
{
    if (x == KX_NONE || self->seen[x]) return;
    const kx_node_t *n = node(self->kernel, x);
    self->seen[x] = true;
    if (n->kind == KX_LOCAL) self->read |= UINT64_C(1) << n->i;
    if (n->kind == KX_ACC) self->read_acc |= UINT64_C(1) << n->i;
    for (int k = 0; k < n->n_in; k++) find_reads(self, n->in[k]);
}

static void find_use(use_t *self, const kstmt_t *s)
{
    bool folds = is_fold(self->kernel, s);
    uint64_t bit = s->kind == KS_FOR ? 0 : UINT64_C(1) << s->target;
    if (s->kind == KS_KEEP && folds) self->folded |= bit;
    if (s->kind == KS_KEEP && !folds) self->kept |= bit;
    if (s->kind == KS_START) self->started |= bit;
    if (s->kind == KS_FOLD) self->folded_acc |= bit;
    kx_t value = folds ? node(self->kernel, s->value)->in[1] : s->value;
    kx_t need[] = {s->lo, s->hi, s->index, value};
    for (int k = 0; k < 4; k++) find_reads(self, need[k]);
    for (size_t i = 0; i < s->body.n; i++) find_use(self, s->body.at[i]);
}

/* What rows leave behind are sums alone, whose array nobody else reads meanwhile; all else is a row's own. */
static bool are_apart(const use_t *in, const use_t *out)
{
    uint64_t sums = in->folded & ~in->kept & ~in->read, own = ~(out->read | out->kept);
    uint64_t all = in->folded | in->kept | in->read;
    if ((all & ~(sums | own)) != 0 || out->folded != 0) return false;
    if ((in->folded_acc & ~in->started) != 0) return false;
    return (out->read_acc | out->started | out->folded_acc) == 0;
}

static bool begin_well(const kernel_t *kernel, const kblock_t *around, const kblock_t *block)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (is_fold(kernel, s) &&
            !begins_well(kernel, around, s->target, node(kernel, s->value)->op))
            return false;
        if (!begin_well(kernel, around, &s->body)) return false;
    }
    return true;
}

static bool have_slices(const kernel_t *kernel, const kstmt_t *rows)
{
    const kblock_t *around = &kernel->body.at[0]->body;
    use_t in = {.kernel = kernel}, out = {.kernel = kernel};
    in.seen = mem_calloc(kernel->graph.node.n + 1, sizeof *in.seen);
    out.seen = mem_calloc(kernel->graph.node.n + 1, sizeof *out.seen);
    for (size_t i = 0; i < around->n; i++)
        find_use(around->at[i] == rows ? &in : &out, around->at[i]);
    free(in.seen);
    free(out.seen);
    return are_apart(&in, &out) && begin_well(kernel, around, &rows->body);
}

void slices_choose_rows(const kernel_t *kernel, share_plan_t *plan, int group)
{
    enum { THREADS = 256, MOST_SHARED = 30 << 10, PER_ACC = 64, MOST = 64 };
    const kstmt_t *rows = find_rows(kernel);
    int64_t n = rows ? share_columns(kernel, rows) : 0, slices = 1;
    int64_t bytes = (int64_t)kernel->acc.n * PER_ACC;
    if (plan->share != SHARE_GROUP || n < 2 || kernel->array.n > MOST || kernel->acc.n > MOST)
        return;
    for (size_t i = 0; i < kernel->array.n; i++)
        bytes += kernel->array.at[i].n * (int64_t)dtype_bytes(kernel->array.at[i].dtype);
    while (slices * 2 * group <= THREADS && n % (slices * 2) == 0 &&
           slices * 2 * bytes <= MOST_SHARED)
        slices *= 2;
    if (slices == 1 || !have_slices(kernel, rows)) return;
    plan->slices = (int)slices;
    plan->rows = rows;
}

/* --- As text ---------------------------------------------------------------------------------- */

void slices_room(const kernel_t *kernel, const share_plan_t *plan, str_t *out)
{
    bool group = plan->share == SHARE_GROUP;
    for (size_t i = 0; i < kernel->array.n; i++) {
        const char *type = render_storage(kernel->array.at[i].dtype);
        int64_t n = group ? (kernel->array.at[i].n + 3) / 4 * 4 : plan->lanes * plan->turns;
        str_addf(out, "    alignas(16) __shared__ %s slices%zu[SLICES][%" PRId64 "];\n", type, i,
                 n);
        if (group) str_addf(out, "    %s *const l%zu = slices%zu[slice];\n", type, i, i);
    }
    for (size_t i = 0; group && i < kernel->acc.n; i++) {
        const char *type = render_type(kernel->acc.at[i].dtype);
        str_addf(out,
                 "    __shared__ %s all%zu[SLICES][LANES / PCP_WARP];\n"
                 "    %s *const shares%zu = all%zu[slice];\n",
                 type, i, type, i, i);
    }
}

/* kept = op(kept, other) */
static void write_fold(render_t *self, const kstmt_t *s, const char *kept, const char *other)
{
    const kx_node_t *n = node(self->kernel, s->value);
    const turns_t *own = self->own;
    render_indent(self);
    str_addf(self->out, "    %s = ", kept);
    own->lang->op(self->out, n->op, n->dtype, n->dtype, 2, (const char *const[]){kept, other});
    str_add(self->out, ";\n");
}

/* What a thread has in registers: given to the first slice, or slice k's folded into the first one's. */
static void write_turns(render_t *self, const kstmt_t *rows, bool give)
{
    const turns_t *own = self->own;
    render_line(self, own->lang->unroll);
    render_indent(self);
    str_addf(self->out, "for (int j = 0; j < %" PRId64 "; j++) {\n", own->plan.turns);
    for (size_t i = 0; i < rows->body.n; i++)
        for (size_t k = 0; k < rows->body.at[i]->body.n; k++) {
            const kstmt_t *s = rows->body.at[i]->body.at[k];
            char kept[32], other[80];
            snprintf(kept, sizeof kept, "l%d[j]", s->target);
            snprintf(other, sizeof other, "slices%d[%s][j * int(LANES) + int(lane)]", s->target,
                     give ? "slice" : "k");
            if (!give) {
                write_fold(self, s, kept, other);
                continue;
            }
            render_indent(self);
            str_addf(self->out, "    %s = %s;\n", other, kept);
        }
    render_line(self, "}\n");
}

/* What a group has in memory that its threads share: each array once, though several loops, over some of its columns each,
 * fold into it. `done` has a bit for each that is written. */
static void write_shared(render_t *self, const kblock_t *block, uint64_t *done)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        char kept[32], other[64];
        write_shared(self, &s->body, done);
        if (!is_fold(self->kernel, s) || (*done >> s->target & 1)) continue;
        *done |= UINT64_C(1) << s->target;
        snprintf(kept, sizeof kept, "l%d[i]", s->target);
        snprintf(other, sizeof other, "slices%d[k][i]", s->target);
        render_indent(self);
        str_addf(self->out,
                 "for (int i = int(lane); i < %" PRId64 "; i += int(LANES)) "
                 "for (int k = 1; k < int(SLICES); k++)\n",
                 self->kernel->array.at[s->target].n);
        write_fold(self, s, kept, other);
    }
}

void turns_slices(render_t *self, const kstmt_t *s)
{
    const turns_t *own = self->own;
    bool group = own->plan.share == SHARE_GROUP;
    int v = self->loop.at[s->var];
    if (!group) render_line(self, "#pragma unroll 8\n");
    render_indent(self);
    str_addf(self->out, "for (int i%d = ", v);
    own->lang->index(self, s->lo, self->out);
    str_addf(self->out, " + int(slice); i%d < ", v);
    own->lang->index(self, s->hi, self->out);
    str_addf(self->out, "; i%d += int(SLICES)) {\n", v);
    ((turns_t *)self->own)->loops++;
    render_block(self, &s->body);
    ((turns_t *)self->own)->loops--;
    render_line(self, "}\n");
    if (!group) write_turns(self, s, true);
    render_line(self, own->lang->all);
    render_line(self, "if (slice != 0u) return;\n");
    if (group) {
        uint64_t done = 0;
        write_shared(self, &s->body, &done);
        render_line(self, own->lang->barrier);
        return;
    }
    render_line(self, "#pragma unroll 8\n");
    render_line(self, "for (int k = 1; k < int(SLICES); k++) {\n");
    write_turns(self, s, false);
    render_line(self, "}\n");
}
