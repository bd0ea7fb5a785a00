/* Loops and accumulators of a kernel that many threads share. A piece of the kernel's extent is the work
 * of one thread; of LANES threads, which take turns at the columns; or of a group of threads, which
 * also put together what each has folded (share_t). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "codegen/render/render_fours.h"
#include "ir/op.h"

static const kx_node_t *node(const kernel_t *kernel, kx_t x)
{
    return &kernel->graph.node.at[x];
}

static turns_t *own(render_t *self)
{
    return self->own;
}

/* Four columns to a thread where all threads have some. */
static bool has_fours(const share_plan_t *plan, int warp)
{
    if (plan->share == SHARE_GROUP) return plan->columns >= 4 * warp;
    return plan->share == SHARE_COLUMNS && !plan->searches && plan->slices < 2 &&
           plan->columns >= (int64_t)4 * plan->lanes;
}

void turns_begin(turns_t *self, const kernel_t *kernel, const turns_lang_t *lang, int warp)
{
    *self = (turns_t){.lang = lang, .plan = share_choose(kernel, warp)};
    self->part = mem_calloc(kernel->acc.n + 1, sizeof *self->part);
    self->used = mem_calloc(kernel->acc.n + 1, sizeof *self->used);
    self->plan.fours = lang->fours && has_fours(&self->plan, warp) && fours_fit(kernel);
    if (self->plan.fours) self->plan.turns = (self->plan.turns + 3) / 4 * 4;
    fours_begin(&self->fours, kernel);
}

void turns_end(turns_t *self)
{
    free(self->part);
    free(self->used);
    fours_end(&self->fours);
    *self = (turns_t){0};
}

/* Columns whose sum needs no second float; those of a thread, which are but a part of a row: the sum of 50,000 numbers by 1,024 threads
 * is as good without as one thread's with it. */
enum { SHORT_SUM = 32, SHORT_PART = 64 };

/* shares: of `lanes` threads, when their number is known, each of which has its part. */
static bool is_long(const kernel_t *kernel, const kstmt_t *s, bool shares, int lanes)
{
    const kx_node_t *lo = node(kernel, s->lo), *hi = node(kernel, s->hi);
    int64_t columns = hi->hi - lo->lo;
    if (lo->lo != lo->hi || hi->lo != hi->hi) return true;
    return shares && lanes > 0 ? columns > SHORT_PART * (int64_t)lanes : columns > SHORT_SUM;
}

static bool is_sum(const kacc_t *a)
{
    return a->op == OP_add && a->dtype == DT_F32;
}

static kx_t without_converts(const kernel_t *k, kx_t x)
{
    while (node(k, x)->kind == KX_CONVERT && dtype_bits(node(k, x)->dtype) >= 32 &&
           !dtype_is_float(node(k, x)->dtype))
        x = node(k, x)->in[0];
    return x;
}

static bool is_zero(const kx_node_t *n)
{
    return n->kind == KX_NUMBER && n->f == 0 && n->i == 0;
}

/* Does x hold at one column at most: is the column's number something that does not depend on it? */
static bool holds_once(render_t *self, const kstmt_t *loop, kx_t x)
{
    const kernel_t *k = self->kernel;
    const kx_node_t *n = node(k, x);
    if (n->kind != KX_MAP || n->op != OP_compare || n->i != CMP_EQ) return false;
    for (int t = 0; t < 2; t++) {
        const kx_node_t *column = node(k, without_converts(k, n->in[t]));
        if (column->kind == KX_VAR && column->i == loop->var && column->hi < INT32_MAX &&
            render_level(self, n->in[1 - t]) <= self->depth)
            return true;
    }
    return false;
}

/* Does a sum over the loop lose nothing although it is one float? Of ones and zeros, as far as they can be counted,
 * and where all but one are zeros. */
static bool loses_nothing(render_t *self, const kstmt_t *loop, int acc)
{
    enum { COUNTED = 1 << 24 };
    const kernel_t *k = self->kernel;
    for (size_t i = 0; i < loop->body.n; i++) {
        const kstmt_t *s = loop->body.at[i];
        if (s->kind != KS_FOLD && s->kind != KS_STORE && s->kind != KS_KEEP) return false;
        if (s->kind != KS_FOLD || s->target != acc) continue;
        const kx_node_t *n = node(k, s->value);
        bool counts = n->kind == KX_CONVERT && node(k, n->in[0])->dtype == DT_I1;
        bool once = n->kind == KX_SELECT && is_zero(node(k, n->in[2])) &&
                    holds_once(self, loop, n->in[0]);
        if (!once && !(counts && k->graph.var.at[loop->var].extent <= COUNTED)) return false;
    }
    return true;
}

/* What folding begins with, so that it changes nothing. */
static void write_neutral(render_t *self, const kacc_t *a)
{
    dtype_t t = a->dtype;
    bool is_float = dtype_is_float(t), up = a->op == OP_minimum;
    int bits = dtype_bits(t);
    kx_node_t n = {.kind = KX_NUMBER, .dtype = t};
    if (a->op == OP_multiply) n.f = 1, n.i = 1;
    if (a->op == OP_and) n.i = t == DT_I1 ? 1 : -1;
    if (a->op == OP_and && dtype_is_unsigned(t) && bits < 64) n.i = (INT64_C(1) << bits) - 1;
    if (a->op == OP_minimum || a->op == OP_maximum) {
        n.f = up ? INFINITY : -INFINITY;
        if (t == DT_I1)
            n.i = up;
        else if (dtype_is_unsigned(t))
            n.i = !up ? 0 : bits == 64 ? -1 : (INT64_C(1) << bits) - 1;
        else if (!is_float)
            n.i = up ? (int64_t)(UINT64_MAX >> (65 - bits))
                     : -(int64_t)(UINT64_MAX >> (65 - bits)) - 1;
    }
    self->lang->number(&n, self->out);
}

static void name_acc(render_t *self, int acc, char *name, size_t n)
{
    snprintf(name, n, "%s%d", own(self)->part[acc] ? "part" : "acc", acc);
}

/* Before a loop: folded accumulators get a share of this thread, sums a second float. sums: which
 * of them this loop began. */
static void begin_folds(render_t *self, const kstmt_t *s, bool shares, bool *folds, bool *sums)
{
    bool lengthy = s->simd && is_long(self->kernel, s, shares, own(self)->plan.lanes);
    if (s->simd) share_find_folds(self->kernel, s, folds);
    for (size_t i = 0; i < self->kernel->acc.n; i++) {
        const kacc_t *a = &self->kernel->acc.at[i];
        if (!folds[i]) continue;
        if (shares) {
            render_indent(self);
            str_addf(self->out, "%s part%zu = ", self->lang->cell_type(a->dtype), i);
            write_neutral(self, a);
            str_add(self->out, ";\n");
            own(self)->part[i] = true;
        }
        sums[i] = lengthy && is_sum(a) && !self->keyed.at[i] && !loses_nothing(self, s, (int)i);
        if (!sums[i]) continue;
        self->keyed.at[i] = true;
        render_indent(self);
        str_addf(self->out, "float lost%zu = 0.0;\n", i);
    }
}

static void end_sums(render_t *self, const bool *sums)
{
    for (size_t i = 0; i < self->kernel->acc.n; i++) {
        if (!sums[i]) continue;
        char name[24];
        self->keyed.at[i] = false;
        name_acc(self, (int)i, name, sizeof name);
        render_indent(self);
        str_addf(self->out, "%s = pcp_end_sum(%s, lost%zu);\n", name, name, i);
    }
}

static bool can_shuffle(const kernel_t *k, const bool *folds)
{
    for (size_t i = 0; i < k->acc.n; i++)
        if (folds[i] && k->acc.at[i].dtype != DT_F32) return false;
    return true;
}

/* All threads of the group fold all shares in their order: all have the same bits. */
static void fold_shares(render_t *self, const bool *folds)
{
    const kernel_t *k = self->kernel;
    bool any = false, again = own(self)->loops > 0;
    for (size_t i = 0; i < k->acc.n; i++) {
        any = any || folds[i];
        again = again || (folds[i] && own(self)->used[i]);
    }
    if (!any) return;
    const char *together = can_shuffle(k, folds) ? own(self)->lang->together : NULL;
    if (together) {
        render_indent(self);
        str_addf(self->out, "if (!%s) {\n", together);
    }
    if (again) render_line(self, own(self)->lang->barrier);
    for (size_t i = 0; i < k->acc.n; i++) {
        if (!folds[i]) continue;
        own(self)->part[i] = false;
        own(self)->used[i] = true;
        render_indent(self);
        own(self)->lang->share(self, (int)i);
    }
    render_line(self, own(self)->lang->barrier);
    if (together) render_line(self, "}\n");
    render_indent(self);
    str_addf(self->out, "for (uint k = 0u; k < %s; k++) {\n", own(self)->lang->n_share);
    for (size_t i = 0; i < k->acc.n; i++) {
        char acc[24], share[96];
        const kacc_t *a = &k->acc.at[i];
        if (!folds[i]) continue;
        snprintf(acc, sizeof acc, "acc%zu", i);
        if (together)
            snprintf(share, sizeof share, "pcp_share(part%zu, shares%zu[k], k)", i, i);
        else
            snprintf(share, sizeof share, "shares%zu[k]", i);
        render_indent(self);
        str_addf(self->out, "    %s = ", acc);
        own(self)->lang->op(self->out, a->op, a->dtype, a->dtype, 2,
                            (const char *const[]){acc, share});
        str_add(self->out, ";\n");
    }
    render_line(self, "}\n");
}

/* The caller's range: this thread's piece of it. */
static void write_piece(render_t *self, const kstmt_t *s)
{
    render_indent(self);
    str_addf(self->out, "{ const int i%d = piece;\n", self->loop.at[s->var]);
    render_block(self, &s->body);
    render_line(self, "}\n");
}

static void write_bounds(render_t *self, const kstmt_t *s, bool shares)
{
    int v = self->loop.at[s->var];
    const char *times = own(self)->plan.fours ? " * 4" : "";
    render_indent(self);
    str_addf(self->out, "for (int i%d = ", v);
    own(self)->lang->index(self, s->lo, self->out);
    if (shares) str_addf(self->out, " + int(lane)%s", times);
    str_addf(self->out, "; i%d < ", v);
    own(self)->lang->index(self, s->hi, self->out);
    if (shares)
        str_addf(self->out, "; i%d += int(LANES)%s) {\n", v, times);
    else
        str_addf(self->out, "; i%d++) {\n", v);
}

/* A thread's turns at the columns by their number, j<loop>; q<loop> where each is four columns. Returns whether a second block is
 * open: some threads have no last turn. */
static bool write_turns(render_t *self, const kstmt_t *s)
{
    const turns_t *o = own(self);
    int v = self->loop.at[s->var];
    int64_t columns = share_columns(self->kernel, s);
    int each = o->plan.fours ? 4 : 1;
    char j = o->plan.fours ? 'q' : 'j';
    bool some = columns < 0 || columns % (o->plan.lanes * each) != 0;
    render_line(self, o->lang->unroll);
    render_indent(self);
    str_addf(self->out, "for (int %c%d = 0; %c%d < %" PRId64 "; %c%d++) { const int i%d = ", j, v,
             j, v, o->plan.turns / each, j, v, v);
    o->lang->index(self, s->lo, self->out);
    str_addf(self->out, " + (int(lane) + %c%d * int(LANES))", j, v);
    str_add(self->out, each > 1 ? " * 4;" : ";");
    if (some) {
        str_addf(self->out, " if (i%d < ", v);
        o->lang->index(self, s->hi, self->out);
        str_add(self->out, ") {");
    }
    str_add(self->out, "\n");
    self->turn = v;
    return some;
}

void turns_loop(render_t *self, const kstmt_t *s)
{
    if (s->lo == KX_NONE) {
        write_piece(self, s);
        return;
    }
    if (own(self)->plan.slices > 1 && s == own(self)->plan.rows) {
        turns_slices(self, s);
        return;
    }
    if (own(self)->plan.searches && share_is_search(s)) {
        turns_search(self, s);
        return;
    }
    turns_t *o = own(self);
    size_t n = self->kernel->acc.n;
    bool *folds = mem_calloc(n + 1, sizeof *folds), *sums = mem_calloc(n + 1, sizeof *sums);
    bool shares = s->simd && !o->inside && o->plan.share != SHARE_ALONE;
    render_line(self, "{\n");
    begin_folds(self, s, shares, folds, sums);
    bool some = false, turns = shares && o->plan.turns > 0;
    if (turns)
        some = write_turns(self, s);
    else
        write_bounds(self, s, shares);
    o->inside = o->inside || shares;
    o->loops += !s->simd;
    bool fours = shares && o->plan.fours;
    bool fetches = s->simd && o->lang->fetches && !fours;
    size_t mark = fetches ? render_fetch(self, &s->body) : self->order.n;
    if (fours) fours_loop_begin(self, s);
    render_block(self, &s->body);
    if (fours) fours_loop_end(self);
    render_leave(self, mark);
    o->loops -= !s->simd;
    if (turns) self->turn = 0;
    render_line(self, some ? "}}\n" : "}\n");
    end_sums(self, sums);
    if (shares) {
        o->inside = false;
        fold_shares(self, folds);
        if (!o->plan.apart) render_line(self, own(self)->lang->visible);
    }
    render_line(self, "}\n");
    free(folds);
    free(sums);
}

void turns_accumulate(render_t *self, const kstmt_t *s)
{
    const kacc_t *a = &self->kernel->acc.at[s->target];
    str_t value = {0};
    char name[24];
    render_value(self, s->value, &value);
    name_acc(self, s->target, name, sizeof name);
    render_indent(self);
    if (s->kind == KS_START) {
        str_addf(self->out, "%s %s = %s;\n", self->lang->cell_type(a->dtype), name,
                 str_text(&value));
    } else if (self->keyed.at[s->target]) {
        str_addf(self->out, "pcp_fold_sum(%s, lost%d, %s);\n", name, s->target, str_text(&value));
    } else {
        str_addf(self->out, "%s = ", name);
        own(self)->lang->op(self->out, a->op, a->dtype, a->dtype, 2,
                            (const char *const[]){name, str_text(&value)});
        str_add(self->out, ";\n");
    }
    str_fini(&value);
}

/* --- Stores ----------------------------------------------------------------------------------- */

void turns_store_begin(render_t *self)
{
    render_indent(self);
    if (own(self)->plan.share != SHARE_ALONE && !own(self)->inside)
        str_add(self->out, "if (lane == 0u) ");
}

void turns_store_end(render_t *self)
{
    const turns_t *o = own(self);
    if (o->plan.share != SHARE_ALONE && !o->inside && !o->plan.apart)
        render_line(self, o->lang->visible);
}
