/* Attention groups to kernel steps. */
#include "plan/lower/attention.h"

#include "plan/kernel/kx_node.h"

/* A thread's room for packed operands, on its stack (codegen/attention.c). */
static const double MAX_ROOM_BYTES = 3 << 20;

/* A thread of a device without number of them holds rows of this many columns in registers. */
enum { MAX_COLUMNS = 128 };

int64_t attention_tiles(int64_t n)
{
    return (n + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
}

int64_t attention_pieces(const attention_t *a)
{
    return attention_tiles(a->t) + (a->gradient ? attention_tiles(a->s) : 0);
}

/* Rows of scores of a matrix lie on a thread's stack. */
static bool knows_kept(const caps_t *caps, const ir_fn_t *fn, const ir_op_t *op)
{
    if (!caps->stream || op->n_in != 4 || op->n_out != 1) return false;
    const ir_type_t *q = ir_type_of(fn, op->in[0]), *k = ir_type_of(fn, op->in[1]);
    const ir_type_t *v = ir_type_of(fn, op->in[2]);
    bool known = k->dtype == v->dtype && (k->dtype == DT_F32 || k->dtype == DT_BF16);
    double row = (double)k->dim[1] + (double)q->dim[2] + (double)v->dim[2] + 128;
    return known && q->dtype == DT_F32 && 4 * (double)q->dim[1] * row < MAX_ROOM_BYTES;
}

bool attention_knows(const caps_t *caps, const ir_fn_t *fn, const ir_op_t *op)
{
    if (fused_is(op, FUSED_KEPT_ATTENTION)) return knows_kept(caps, fn, op);
    if (!caps->attention) return false;
    bool gradient = fused_is(op, FUSED_ATTENTION_GRADIENT);
    if (!gradient && !fused_is(op, FUSED_ATTENTION)) return false;
    if (op->n_in != (gradient ? 6 : 3) || op->n_out != (gradient ? 3 : 2)) return false;
    const ir_type_t *q = ir_type_of(fn, op->in[0]), *k = ir_type_of(fn, op->in[1]);
    const ir_type_t *v = ir_type_of(fn, op->in[2]);
    bool half = q->dtype == DT_BF16 || q->dtype == DT_F16;
    if ((!half && q->dtype != DT_F32) || q->rank != 3 || k->rank != 3 || v->rank != 3) return false;
    for (int d = 0; d < 3; d++)
        if (q->dim[d] < 1 || k->dim[d] < 1 || v->dim[d] < 1) return false;
    if (caps->many) return q->dim[2] <= MAX_COLUMNS && v->dim[2] <= MAX_COLUMNS;
    double room = 4.0 * (double)(k->dim[1] + 64) * (double)(k->dim[2] + v->dim[2] + 32);
    return room * (gradient ? 2 : 1) + 4.0 * 64 * (double)(q->dim[2] + v->dim[2] + 512) <
           MAX_ROOM_BYTES;
}

void attention_mark(lower_t *self, const ir_op_t *op)
{
    for (int i = 0; i < op->n_out; i++) self->value[op->out + (ir_val_t)i].root = true;
}

/* --- Views ------------------------------------------------------------------------------------ */

typedef struct {
    kx_graph_t graph;
    int batch_var;
    kx_t batch, row, col;
    int64_t n[3];
} symbols_t;

static void symbols_init(symbols_t *s, const ir_type_t *t)
{
    *s = (symbols_t){.n = {t->dim[0], t->dim[1], t->rank > 2 ? t->dim[2] : 1}};
    kx_init(&s->graph);
    s->batch = kx_var(&s->graph, s->n[0], &s->batch_var);
    s->row = kx_var(&s->graph, s->n[1], NULL);
    s->col = kx_var(&s->graph, s->n[2], NULL);
}

/* A location as strides; false when it is more than that. */
static bool read_view(const symbols_t *s, kx_t at, attention_view_t *view)
{
    const kx_graph_t *g = &s->graph;
    const kx_node_t n = g->node.at[at];
    const kx_var_t *b = &g->var.at[s->batch_var];
    kx_t hi = b->hi < 0 ? KX_NONE : g->var.at[b->hi].node;
    kx_t lo = b->hi < 0 ? KX_NONE : g->var.at[b->lo].node;
    int64_t whole = s->n[0] > 1 ? kx_coef(g, at, s->batch) : 0;
    view->n_inner = b->hi < 0 ? 1 : g->var.at[b->lo].extent;
    view->offset = n.kind == KX_AFFINE ? n.i : n.kind == KX_NUMBER ? n.i : 0;
    view->row = s->n[1] > 1 ? kx_coef(g, at, s->row) : 0;
    view->outer = whole * view->n_inner + (hi == KX_NONE ? 0 : kx_coef(g, at, hi));
    view->inner = lo == KX_NONE ? 0 : whole + kx_coef(g, at, lo);
    if (s->n[2] > 1 && kx_coef(g, at, s->col) != 1) return false;
    int terms = n.kind == KX_AFFINE ? n.n_in : n.kind == KX_NUMBER ? 0 : 1;
    for (int t = 0; t < terms; t++) {
        kx_t term = n.kind == KX_AFFINE ? n.in[t] : at;
        if (term != s->row && term != s->col && term != s->batch && term != hi && term != lo)
            return false;
    }
    return true;
}

static bool view_operand(lower_t *self, ir_val_t v, ir_val_t *root, attention_view_t *view)
{
    symbols_t s;
    symbols_init(&s, ir_type_of(self->fn, v));
    inline_t in = {.lower = self, .graph = &s.graph};
    kx_t x = inline_value(&in, v, (kx_t[]){s.batch, s.row, s.col});
    inline_fini(&in);
    const kx_node_t n = s.graph.node.at[x];
    bool plain = n.kind == KX_LOAD && n.dtype == ir_type_of(self->fn, v)->dtype &&
                 read_view(&s, n.in[0], view);
    if (plain) *root = (ir_val_t)n.i;
    view->dtype = n.dtype;
    kx_fini(&s.graph);
    return plain;
}

static bool view_result(lower_t *self, ir_val_t v, attention_view_t *view)
{
    symbols_t s;
    symbols_init(&s, ir_type_of(self->fn, v));
    kx_graph_t *g = &s.graph;
    kx_t linear = kx_add(g, kx_scale(g, s.batch, s.n[1]), s.row);
    linear = kx_add(g, kx_scale(g, linear, s.n[2]), s.col);
    bool plain = read_view(&s, layout_index(g, &self->value[v], linear), view);
    view->dtype = ir_type_of(self->fn, v)->dtype;
    kx_fini(g);
    return plain;
}

/* The value behind views of v that leave something to be computed. */
static ir_val_t behind_views(const lower_t *self, ir_val_t v)
{
    for (;;) {
        const ir_op_t *op = ir_def(self->fn, v);
        bool view = op &&
                    (op->code == OP_reshape || op->code == OP_transpose || op->code == OP_slice);
        if (self->value[v].root || !view) return v;
        v = op->in[0];
    }
}

/* Operands that are matrices. */
static int n_matrix(const ir_op_t *op)
{
    return fused_is(op, FUSED_KEPT_ATTENTION) ? op->n_in - 1 : op->n_in;
}

int attention_prepare(lower_t *self, const ir_op_t *op)
{
    attention_view_t view;
    ir_val_t root;
    for (int i = n_matrix(op); i < op->n_in; i++) self->value[op->in[i]].root = true;
    for (int i = 0; i < op->n_out; i++)
        if (!view_result(self, op->out + (ir_val_t)i, &view))
            self->value[op->out + (ir_val_t)i].layout.rank = 0;
    for (int i = 0; i < n_matrix(op); i++) {
        if (view_operand(self, op->in[i], &root, &view)) continue;
        self->value[behind_views(self, op->in[i])].root = true;
        if (view_operand(self, op->in[i], &root, &view)) continue;
        self->value[op->in[i]].root = true;
        if (!view_operand(self, op->in[i], &root, &view))
            return err_set(self->err, ERR_UNSUPPORTED,
                           "line %d: %s with strides that no kernel has", op->line,
                           op_def(op->code)->name);
    }
    return 0;
}

/* --- The step --------------------------------------------------------------------------------- */

static int add_views(lower_t *self, const ir_op_t *op, kernel_t *kernel, attention_t *a)
{
    for (int i = 0; i < n_matrix(op); i++) {
        attention_view_t *view = &a->view[a->n_view++];
        ir_val_t root;
        if (!view_operand(self, op->in[i], &root, view))
            return err_set(self->err, ERR_UNSUPPORTED, "line %d: attention lost its strides",
                           op->line);
        self->value[root].stored = true;
        view->arg = kernel_arg(kernel, root, view->dtype, false);
    }
    for (int i = 0; i < op->n_out; i++) {
        attention_view_t *view = &a->view[a->n_view++];
        ir_val_t v = op->out + (ir_val_t)i;
        if (!view_result(self, v, view))
            return err_set(self->err, ERR_UNSUPPORTED, "line %d: attention lost its layout",
                           op->line);
        view->arg = kernel_arg(kernel, v, view->dtype, true);
    }
    return 0;
}

/* Products of visible blocks, two forward and five backward, and what is read and written once. */
static void estimate(const lower_t *self, const ir_op_t *op, kernel_t *kernel, const attention_t *a)
{
    double share = a->how.causal ? 0.5 + 0.5 / (double)a->t : 1, n = (double)kernel->extent;
    double qk = (double)a->d * (a->gradient ? 3 : 1), pv = (double)a->e * (a->gradient ? 2 : 1);
    kernel->flops = 2 * n * (double)a->t * (double)a->s * share * (qk + pv);
    for (int i = 0; i < op->n_in + op->n_out; i++) {
        ir_val_t v = i < op->n_in ? op->in[i] : op->out + (ir_val_t)(i - op->n_in);
        kernel->bytes += (double)ir_type_bytes(ir_type_of(self->fn, v));
    }
    double us = kernel->flops / n / 5e4; /* at 50 GFLOP/s */
    kernel->grain = us > 20 ? 1 : (int64_t)(20 / us) + 1;
}

/* q: its type; kept: that of keys and values. */
static char *label_of(const ir_op_t *op, const attention_t *a, int64_t n, dtype_t q, dtype_t kept)
{
    const char *pairs = a->kept ? " " : a->pairs || q == DT_BF16 ? " bf16" : "";
    return mem_printf("%s%s %lldx%lldx%lld x%lld%s%s", a->how.causal ? "causal " : "",
                      attr_text(&op->attrs, "kind", ""), (long long)a->t, (long long)a->s,
                      (long long)a->d, (long long)n, pairs, a->kept ? dtype_name(kept) : "");
}

enum { KEPT_PIECES = 16 }; /* wanted */

/* Positions, and how the work is cut: a piece of a few matrices is a row of q, so that threads have alike. */
static void place_kept(lower_t *self, const ir_op_t *op, kernel_t *kernel, attention_t *a)
{
    ir_val_t at = op->in[3];
    self->value[at].stored = true;
    a->at = kernel_arg(kernel, at, DT_I32, false);
    a->heads = kernel->extent / ir_type_of(self->fn, at)->dim[0];
    a->pieces = kernel->extent < KEPT_PIECES ? a->t : 1;
    kernel->extent *= a->pieces;
    kernel->grain = 1;
}

int attention_place(lower_t *self, const ir_op_t *op)
{
    group_t *group = mem_calloc(1, sizeof *group);
    kernel_t *kernel = group->kernel = kernel_new();
    attention_t *a = ARENA_NEW(self->fn->module->arena, attention_t);
    const ir_type_t *q = ir_type_of(self->fn, op->in[0]), *v = ir_type_of(self->fn, op->in[2]);
    *a = (attention_t){.how = fused_attention_of(op),
                       .gradient = fused_is(op, FUSED_ATTENTION_GRADIENT),
                       .kept = fused_is(op, FUSED_KEPT_ATTENTION),
                       .t = q->dim[1],
                       .s = v->dim[1],
                       .d = q->dim[2],
                       .e = v->dim[2]};
    a->pairs = !a->kept && attention_rounds(&self->caps, self->fn, op);
    kernel->kind = KERNEL_ATTENTION;
    kernel->op = op;
    kernel->attention = a;
    kernel->extent = q->dim[0];
    kernel->label = label_of(op, a, kernel->extent, q->dtype, v->dtype);
    group->order = (int)self->step.n;
    int status = add_views(self, op, kernel, a);
    estimate(self, op, kernel, a);
    if (a->kept)
        place_kept(self, op, kernel, a);
    else if (self->caps.many)
        kernel->extent *= attention_pieces(a);
    for (int i = 0; i < op->n_out; i++) {
        lvalue_t *lv = &self->value[op->out + (ir_val_t)i];
        lv->group = (int)self->group.n;
        lv->order = group->order;
        lv->stored = true;
    }
    lstep_t step = {.kind = LOWER_GROUP, .group = (int)self->group.n, .value = op->out};
    VEC_PUSH(&self->group, group);
    VEC_PUSH(&self->step, step);
    return status;
}
