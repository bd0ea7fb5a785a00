/* Which products have panels, how they are cut, and the steps that make lines. */
#include "plan/lower/stream_panels.h"

#include "ir/build.h"
#include "ir/panels.h"

enum {
    HEAD = 64,           /* bytes of a section before scales */
    STEP = 64,           /* terms that are made lines together */
    MOST_TERMS = 256,    /* of a block */
    GRAIN_COUNT = 12288, /* numbers of A that are worth a thread's while */
    WIDE_SUM = 1 << 16,  /* terms at most of a sum of whole numbers */
};

/* Accumulators are 24 registers at most. Of a row's parts lines are those of all rows, or, beyond 8, of one part of each.
 * A panel alone would have each number of A loaded for it, and, of bf16, be widened for few lines: lines beyond 12 are two
 * blocks. */
stream_cut_t stream_panels_cut(const stream_t *self)
{
    int m = self->step.m < STREAM_ROWS ? (int)self->step.m : STREAM_ROWS;
    stream_cut_t cut = {.side = m, .rows = m, .kind = PANELS_F32};
    if (self->weight == DT_BF16) cut.kind = self->rounded ? PANELS_PAIRS : PANELS_HALVES;
    if (self->weight == DT_I8) cut.kind = self->rounded ? PANELS_BYTES : PANELS_DIGITS;
    if (cut.kind == PANELS_DIGITS && m <= 8) cut.rows = 2 * m;
    if (cut.rows > 12 || (cut.kind == PANELS_HALVES && m > 8)) cut.rows = (cut.rows + 1) / 2;
    cut.panels = cut.rows <= 2 ? 8 : cut.rows <= 4 ? 4 : cut.rows <= 8 ? 3 : 2;
    return cut;
}

static int64_t up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Blocks are alike, since each asks for what the next one reads. It depends on the matrix alone, as sums do. */
static int64_t terms_of(int64_t k)
{
    int64_t n = (k + MOST_TERMS - 1) / MOST_TERMS;
    return up((k + n - 1) / n, STEP);
}

stream_form_t stream_panels_form(const stream_t *self)
{
    const stream_cut_t cut = stream_panels_cut(self);
    bool whole = cut.kind == PANELS_DIGITS || cut.kind == PANELS_BYTES;
    int64_t word = whole ? 4 : cut.kind == PANELS_PAIRS ? 2 : 1;
    stream_form_t f = {.sections = up(self->step.m, cut.side) / cut.side};
    f.terms = terms_of(self->step.k);
    f.blocks = up(self->step.k, f.terms) / f.terms;
    f.lines = up((cut.kind == PANELS_DIGITS ? 3 : 1) * cut.side, cut.rows);
    f.at = up(HEAD + (whole ? 8 * f.blocks * f.lines : 0), HEAD);
    f.apart = (cut.rows == 3 ? 4 : cut.rows) * up(self->step.k, STEP) / word;
    f.next = f.at + up(4 * f.apart * (f.lines / cut.rows), HEAD);
    if (stream_panels_direct(self)) f = (stream_form_t){1, 1, 0, 0, 0, f.terms, f.blocks};
    return f;
}

bool stream_panels_direct(const stream_t *self)
{
    stream_panels_t kind = stream_panels_cut(self).kind;
    return self->step.m == 1 && (kind == PANELS_F32 || kind == PANELS_HALVES);
}

int64_t stream_panels_columns(const stream_t *self)
{
    return IR_PANEL_ROWS * stream_panels_cut(self).panels;
}

bool stream_panels_reads(const lower_t *self, const ir_op_t *op, ir_val_t *b)
{
    ir_dot_t dims;
    ir_dot_dims(op, &dims);
    const ir_type_t *t = ir_type_of(self->fn, op->in[1]);
    return self->caps.panels && dims.rhs_contract[0] == t->rank - 1 &&
           t->dim[t->rank - 1] <= WIDE_SUM && ir_panels_behind(self->fn, op->in[1], b);
}

void stream_panels_describe(const lower_t *self, const ir_op_t *op, stream_t *s, ir_val_t *b,
                            int *bad)
{
    s->panels = (*bad & GEMM_BAD_B) && s->step.batch * s->step.inner == 1 &&
                self->value[op->out].layout.rank == 0 && stream_panels_reads(self, op, b);
    if (!s->panels) return;
    *bad &= ~GEMM_BAD_B;
    s->weight = ir_type_of(self->fn, *b)->dtype;
    s->rounded = attr_int(&self->module->attrs, "pcp.rounded", 0) && s->weight != DT_F32;
    s->step.trans_b = true;
    s->step.ldb = s->step.k;
    s->step.b = s->step.stride_b = s->step.inner_b = 0;
}

/* --- lines --- */

/* Do two products want the same lines of the same value? */
static bool same_lines(const stream_t *x, const stream_t *y)
{
    const stream_cut_t a = stream_panels_cut(x), b = stream_panels_cut(y);
    return a.kind == b.kind && a.rows == b.rows && x->step.m == y->step.m &&
           x->step.k == y->step.k && x->step.a == y->step.a && x->step.lda == y->step.lda;
}

static ir_val_t find_lines(const lower_t *self, const stream_t *s, ir_val_t a)
{
    for (size_t i = 0; i < self->group.n; i++) {
        const kernel_t *k = self->group.at[i]->kernel;
        if (k->kind == KERNEL_LINES && k->arg.at[0].value == a && same_lines(k->stream, s))
            return k->arg.at[1].value;
    }
    return IR_NONE;
}

static kernel_t *lines_kernel(const stream_t *s)
{
    const plan_gemm_step_t *g = &s->step;
    kernel_t *kernel = kernel_new();
    kernel->kind = KERNEL_LINES;
    kernel->stream = s;
    const stream_form_t f = stream_panels_form(s);
    kernel->extent = f.blocks;
    const int64_t grain = GRAIN_COUNT / (g->m * f.terms);
    kernel->grain = grain > 1 ? grain : 1;
    kernel->label = mem_printf("lines %lldx%lld for %s%s", (long long)g->m, (long long)g->k,
                               dtype_name(s->weight), s->rounded ? " rounded" : "");
    kernel->bytes = 4.0 * (double)g->m * (double)g->k + (double)(f.sections * f.next);
    return kernel;
}

ir_val_t stream_panels_lines(lower_t *self, const stream_t *s, ir_val_t a)
{
    if (!s->panels || stream_panels_direct(s)) return IR_NONE;
    ir_val_t v = find_lines(self, s, a);
    if (v != IR_NONE) return v;
    const stream_form_t f = stream_panels_form(s);
    group_t *group = mem_calloc(1, sizeof *group);
    group->kernel = lines_kernel(s);
    group->order = (int)self->step.n;
    v = lower_new_value(self, ir_type(DT_I32, 1, (int64_t[]){f.sections * f.next / 4}));
    kernel_arg(group->kernel, a, DT_F32, false);
    kernel_arg(group->kernel, v, DT_I32, true);
    self->value[a].stored = true;
    lstep_t step = {.kind = LOWER_GROUP, .group = (int)self->group.n, .value = v};
    VEC_PUSH(&self->group, group);
    VEC_PUSH(&self->step, step);
    return v;
}
