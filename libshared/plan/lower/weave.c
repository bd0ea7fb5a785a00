/* Which weights are woven, and the steps that do it. */
#include "plan/lower/weave.h"

#include "ir/build.h"

enum {
    GRAIN = 32, /* squares that are worth a thread's while: each rounds and moves 1,024 numbers */
    MOST_ROWS =
        4096, /* of the other side. For more rows strips copy what they read into a nearer cache: pcp profile,
                       * a Xeon, 8192 rows, 256 columns: woven weights make a step 3 % slower, for fewer rows 4 to 10 %
                       * faster */
};

static woven_t *woven_of(const lower_t *self, ir_val_t v)
{
    int at = self->value[v].woven;
    return at > 0 ? &self->woven.at[at - 1] : NULL;
}

/* A parameter in f32, rounded to bf16 as it lies. */
static bool is_rounded_parameter(const lower_t *self, ir_val_t v)
{
    const ir_op_t *op = ir_def(self->fn, v);
    const lvalue_t *lv = &self->value[v];
    if (!op || op->code != OP_convert || !lv->root || lv->layout.rank > 0) return false;
    return !ir_def(self->fn, op->in[0]) && self->value[op->in[0]].order == BEFORE &&
           ir_type_of(self->fn, v)->dtype == DT_BF16 &&
           ir_type_of(self->fn, op->in[0])->dtype == DT_F32;
}

/* The way in which the product reads all of v, a matrix of so many columns; -1: it does not. */
static int way_of(const lower_t *self, const plan_gemm_step_t *g, ir_val_t v)
{
    int64_t count = ir_type_count(ir_type_of(self->fn, v)), rows = count / g->ldb;
    bool same = g->stride_b == 0; /* one matrix for all entries */
    bool parts = g->stride_b == g->k * g->ldb && g->k % PLAN_WOVEN == 0;
    if (!g->bf16 || g->inner != 1 || g->b != 0 || rows * g->ldb != count) return -1;
    if (g->m > MOST_ROWS) return -1;
    if (rows < PLAN_WOVEN || g->ldb < PLAN_WOVEN) return -1;
    if (g->trans_b)
        return g->k == g->ldb && g->n == rows && (same || g->batch == 1) ? WEAVE_BY_COLS : -1;
    if (g->n != g->ldb) return -1;
    if (same || g->batch == 1) return g->k == rows ? WEAVE_BY_ROWS : -1;
    return parts && g->batch * g->k == rows ? WEAVE_BY_ROWS : -1;
}

static void want(lower_t *self, ir_val_t v, int way, const plan_gemm_step_t *g)
{
    if (!woven_of(self, v)) {
        int64_t rows = ir_type_count(ir_type_of(self->fn, v)) / g->ldb;
        VEC_PUSH(&self->woven, ((woven_t){.rows = rows, .cols = g->ldb}));
        self->value[v].woven = (int)self->woven.n;
    }
    woven_of(self, v)->wanted[way] = true;
}

static void refuse(lower_t *self, ir_val_t v)
{
    woven_t *woven = woven_of(self, gemm_behind_views(self, v));
    if (woven) woven->refused = true;
}

/* What the op reads in another way than as the right side of such a product. */
static void refuse_others(lower_t *self, const ir_op_t *op)
{
    bool view = (op->code == OP_reshape || op->code == OP_transpose) && !self->value[op->out].root;
    ir_val_t root[3] = {IR_NONE, IR_NONE, IR_NONE};
    plan_gemm_step_t g;
    bool product = op->code == OP_dot_general && gemm_describe(self, op, NULL, root, &g) == 0 &&
                   root[0] != root[1] && way_of(self, &g, root[1]) >= 0;
    for (int i = 0; i < op->n_in && !view; i++)
        if (!product || gemm_behind_views(self, op->in[i]) != root[1]) refuse(self, op->in[i]);
    for (int r = 0; r < op->n_region; r++)
        for (int i = 0; i < op->region[r]->n_op; i++) refuse_others(self, op->region[r]->op[i]);
}

void weave_choose(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    if (!self->caps.matrix) return;
    for (int i = 0; i < body->n_op; i++) {
        ir_val_t root[3];
        plan_gemm_step_t g;
        const ir_op_t *op = body->op[i];
        if (op->code != OP_dot_general || gemm_describe(self, op, NULL, root, &g) != 0) continue;
        int way = is_rounded_parameter(self, root[1]) ? way_of(self, &g, root[1]) : -1;
        if (way >= 0) want(self, root[1], way, &g);
    }
    for (int i = 0; i < body->n_op; i++) refuse_others(self, body->op[i]);
    for (int i = 0; i < body->n_result; i++) refuse(self, body->result[i]);
    for (uint32_t v = 0; v < self->fn->n_value; v++)
        if (woven_of(self, v) && woven_of(self, v)->refused) self->value[v].woven = 0;
}

/* Storage for one way. */
static ir_val_t new_value(lower_t *self, const woven_t *woven)
{
    const int64_t dims[] = {plan_woven_fill(woven->rows), plan_woven_fill(woven->cols)};
    return lower_new_value(self, ir_type(DT_BF16, 2, dims));
}

bool weave_place(lower_t *self, const ir_op_t *op)
{
    woven_t *woven = woven_of(self, op->out);
    if (!woven) return false;
    weave_t *weave = ARENA_NEW(self->fn->module->arena, weave_t);
    group_t *group = mem_calloc(1, sizeof *group);
    kernel_t *kernel = group->kernel = kernel_new();
    *weave = (weave_t){woven->rows, woven->cols, {-1, -1}};
    double count = (double)woven->rows * (double)woven->cols;
    kernel->kind = KERNEL_WEAVE;
    kernel->weave = weave;
    kernel->extent = plan_woven_fill(woven->rows) / PLAN_WOVEN *
                     (plan_woven_fill(woven->cols) / PLAN_WOVEN);
    kernel->grain = GRAIN;
    kernel->bytes = 4 * count;
    kernel->label = mem_printf("weave %lldx%lld%s%s", (long long)woven->rows,
                               (long long)woven->cols,
                               woven->wanted[WEAVE_BY_ROWS] ? " by rows" : "",
                               woven->wanted[WEAVE_BY_COLS] ? " by columns" : "");
    kernel_arg(kernel, op->in[0], DT_F32, false);
    self->value[op->in[0]].stored = true;
    group->order = (int)self->step.n;
    for (int way = 0; way < WEAVE_WAYS; way++) {
        if (!woven->wanted[way]) continue;
        woven->value[way] = new_value(self, woven);
        weave->arg[way] = kernel_arg(kernel, woven->value[way], DT_BF16, true);
        kernel->bytes += 2 * count;
    }
    self->value[op->out].order = group->order;
    lstep_t step = {.kind = LOWER_GROUP, .group = (int)self->group.n, .value = op->out};
    VEC_PUSH(&self->group, group);
    VEC_PUSH(&self->step, step);
    return true;
}

void weave_product(const lower_t *self, lstep_t *step)
{
    const woven_t *woven = woven_of(self, step->rhs);
    if (!woven) return;
    step->gemm.woven = true;
    step->rhs = woven->value[step->gemm.trans_b ? WEAVE_BY_COLS : WEAVE_BY_ROWS];
}
