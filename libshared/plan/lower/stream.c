/* Which products are streams, and their steps. */
#include "plan/lower/stream.h"

#include <stdio.h>

#include "ir/build.h"
#include "plan/lower/stream_panels.h"

enum {
    FEW_COLS = 16,    /* columns of a part at least, where each is a row of memory */
    FEW_BYTES = 384,  /* bytes of a row of a part at least, where columns lie side by side */
    MANY_COLS = 512,  /* columns at most */
    PARTS = 16,       /* wanted */
    TILE_LEAST = 8,   /* rows: vectors are faster by a tenth for one, as fast for four */
    LEAST_TERMS = 64, /* for a matrix unit, whose tiles have 32 */
    TILE_PARTS = 8,   /* where rows of A are split before a range of them */
    TILE_COLS = 64,   /* with a matrix unit: as many columns at a time */
};

static int64_t most_rows(const lower_t *self)
{
    return attr_int(&self->module->attrs, "pcp.stream", 0);
}

static bool asked_for(const lower_t *self, const ir_op_t *op)
{
    ir_dot_t dims;
    if (op->code != OP_dot_general || !self->caps.stream || most_rows(self) < 1) return false;
    ir_dot_dims(op, &dims);
    bool f32 = ir_type_of(self->fn, op->out)->dtype == DT_F32 &&
               ir_type_of(self->fn, op->in[0])->dtype == DT_F32;
    return f32 && dims.n_contract == 1;
}

/* Fills the step and the roots. */
static bool describe(lower_t *self, const ir_op_t *op, stream_t *s, ir_val_t *root, int *bad)
{
    *bad = gemm_describe(self, op, &s->weight, root, &s->step);
    stream_panels_describe(self, op, s, &root[1], bad);
    const ir_op_t *from = *bad == 0 ? ir_def(self->fn, root[1]) : NULL;
    s->kept = from && from->code == OP_scatter;
    const plan_gemm_step_t *g = &s->step;
    bool weight = s->weight == DT_F32 || s->weight == DT_BF16 || s->weight == DT_I8;
    return *bad == 0 && weight && root[0] != root[1] && !g->trans_a && g->m >= 1 &&
           (s->panels || g->m <= STREAM_ROWS) && g->n > 1 && g->k > 1;
}

bool stream_prepare(lower_t *self, const ir_op_t *op)
{
    stream_t s;
    ir_val_t root[3];
    int bad;
    if (!asked_for(self, op)) return false;
    if (stream_panels_reads(self, op, &root[1])) self->value[op->out].layout.rank = 0;
    if (describe(self, op, &s, root, &bad)) return true;
    if (bad & GEMM_BAD_B) return false;
    self->value[op->out].layout.rank = 0;
    if (bad & GEMM_BAD_A) self->value[gemm_behind_views(self, op->in[0])].root = true;
    if (describe(self, op, &s, root, &bad)) return true;
    if (bad & GEMM_BAD_A) self->value[op->in[0]].root = true;
    return describe(self, op, &s, root, &bad);
}

bool stream_by_matrix(const stream_t *self)
{
    return self->caps.matrix && !self->panels && self->most_rows >= TILE_LEAST &&
           self->step.trans_b && self->weight != DT_F32 && self->step.k >= LEAST_TERMS &&
           !self->kept;
}

bool stream_by_fours(const stream_t *self)
{
    return self->caps.fours && !self->panels && !self->caps.matrix && self->step.trans_b &&
           self->weight == DT_I8 && self->step.k >= LEAST_TERMS && !self->kept;
}

/* Of one entry. */
static int64_t choose_cols(const stream_t *s, int64_t entries)
{
    bool split = stream_by_matrix(s) || stream_by_fours(s);
    int64_t wanted = split ? TILE_PARTS : PARTS;
    int64_t unit = s->panels             ? stream_panels_columns(s)
                   : stream_by_matrix(s) ? TILE_COLS
                                         : s->caps.lanes;
    int64_t parts = entries < wanted ? wanted / entries : 1;
    int64_t cols = s->step.n / parts;
    int64_t least = s->step.trans_b ? FEW_COLS : FEW_BYTES * 8 / dtype_bits(s->weight);
    cols = cols > MANY_COLS ? MANY_COLS : cols;
    cols = cols < least ? least : cols;
    return (cols + unit - 1) / unit * unit;
}

static char *label_of(const stream_t *s, int64_t entries)
{
    const plan_gemm_step_t *g = &s->step;
    char times[24] = "";
    if (entries > 1) snprintf(times, sizeof times, " x%lld", (long long)entries);
    return mem_printf("stream %s %lldx%lldx%lld %s%s%s", g->trans_b ? "nt" : "nn", (long long)g->m,
                      (long long)g->n, (long long)g->k, dtype_name(s->weight), times,
                      s->rounded            ? " rounded, in panels"
                      : s->panels           ? " in panels"
                      : stream_by_matrix(s) ? " by the matrix unit"
                      : stream_by_fours(s)  ? " by fours"
                                            : "");
}

bool stream_place(lower_t *self, const ir_op_t *op)
{
    stream_t *s = ARENA_NEW(self->fn->module->arena, stream_t);
    ir_val_t root[3];
    int bad;
    *s = (stream_t){.caps = self->caps, .most_rows = most_rows(self)};
    if (!asked_for(self, op) || !describe(self, op, s, root, &bad)) return false;
    const plan_gemm_step_t *g = &s->step;
    const ir_val_t lines = stream_panels_lines(self, s, root[0]);
    group_t *group = mem_calloc(1, sizeof *group);
    kernel_t *kernel = group->kernel = kernel_new();
    int64_t entries = g->batch * g->inner;
    s->part_cols = choose_cols(s, entries);
    s->n_part = (g->n + s->part_cols - 1) / s->part_cols;
    kernel->kind = KERNEL_STREAM;
    kernel->stream = s;
    kernel->extent = entries * s->n_part;
    kernel->grain = 1;
    kernel->label = label_of(s, entries);
    kernel->flops = 2.0 * (double)entries * (double)g->m * (double)g->n * (double)g->k;
    kernel->bytes = (double)entries * ((double)g->n * (double)g->k * dtype_bits(s->weight) / 8 +
                                       4.0 * (double)g->m * (double)(g->n + g->k));
    s->arg_a = lines == IR_NONE ? kernel_arg(kernel, root[0], DT_F32, false)
                                : kernel_arg(kernel, lines, DT_I32, false);
    s->arg_b = kernel_arg(kernel, root[1], s->weight, false);
    s->arg_c = kernel_arg(kernel, op->out, DT_F32, true);
    group->order = (int)self->step.n;
    self->value[root[0]].stored = self->value[root[1]].stored = true;
    lvalue_t *out = &self->value[op->out];
    out->group = (int)self->group.n;
    out->order = group->order;
    out->stored = true;
    lstep_t step = {.kind = LOWER_GROUP, .group = (int)self->group.n, .value = op->out};
    VEC_PUSH(&self->group, group);
    VEC_PUSH(&self->step, step);
    return true;
}
