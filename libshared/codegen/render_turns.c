/* Loops and accumulators of a kernel that many threads share. A piece of the kernel's extent is the work
 * of one thread; of LANES threads, which take turns at the columns; or of a group of threads, which
 * also put together what each has folded (share_t). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "codegen/render_share.h"
#include "ir/op.h"

static const kx_node_t *node(const kernel_t *kernel, kx_t x)
{
    return &kernel->graph.node.at[x];
}

static turns_t *own(render_t *self)
{
    return self->own;
}

void turns_begin(turns_t *self, const kernel_t *kernel, const turns_lang_t *lang, int warp)
{
    *self = (turns_t){.lang = lang, .plan = share_choose(kernel, warp)};
    self->part = mem_calloc(kernel->acc.n + 1, sizeof *self->part);
    self->used = mem_calloc(kernel->acc.n + 1, sizeof *self->used);
}

void turns_end(turns_t *self)
{
    free(self->part);
    free(self->used);
    *self = (turns_t){0};
}

enum { SHORT_SUM = 32 }; /* columns whose sum needs no second float */

static bool is_long(const kernel_t *kernel, const kstmt_t *s)
{
    const kx_node_t *lo = node(kernel, s->lo), *hi = node(kernel, s->hi);
    return lo->lo != lo->hi || hi->lo != hi->hi || hi->hi - lo->lo > SHORT_SUM;
}

static bool is_sum(const kacc_t *a)
{
    return a->op == OP_add && a->dtype == DT_F32;
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

static void write_line(render_t *self, const char *text)
{
    render_indent(self);
    str_add(self->out, text);
}

static void name_acc(render_t *self, int acc, char *name, size_t n)
{
    snprintf(name, n, "%s%d", own(self)->part[acc] ? "part" : "acc", acc);
}

/* Before a loop: folded accumulators get a share of this thread, sums a second float. sums: which
 * of them this loop began. */
static void begin_folds(render_t *self, const kstmt_t *s, bool shares, bool *folds, bool *sums)
{
    bool lengthy = s->simd && is_long(self->kernel, s);
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
        sums[i] = lengthy && is_sum(a) && !self->keyed.at[i];
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
    if (again) write_line(self, own(self)->lang->barrier);
    for (size_t i = 0; i < k->acc.n; i++) {
        if (!folds[i]) continue;
        own(self)->part[i] = false;
        own(self)->used[i] = true;
        render_indent(self);
        own(self)->lang->share(self, (int)i);
    }
    write_line(self, own(self)->lang->barrier);
    if (together) write_line(self, "}\n");
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
    write_line(self, "}\n");
}

/* The caller's range: this thread's piece of it. */
static void write_piece(render_t *self, const kstmt_t *s)
{
    render_indent(self);
    str_addf(self->out, "{ const int i%d = piece;\n", self->loop.at[s->var]);
    render_block(self, &s->body);
    write_line(self, "}\n");
}

static void write_bounds(render_t *self, const kstmt_t *s, bool shares)
{
    int v = self->loop.at[s->var];
    render_indent(self);
    str_addf(self->out, "for (int i%d = ", v);
    own(self)->lang->index(self, s->lo, self->out);
    str_addf(self->out, "%s; i%d < ", shares ? " + int(lane)" : "", v);
    own(self)->lang->index(self, s->hi, self->out);
    if (shares)
        str_addf(self->out, "; i%d += int(LANES)) {\n", v);
    else
        str_addf(self->out, "; i%d++) {\n", v);
}

/* A thread's turns at the columns by their number, j<loop>. Returns whether a second block is open: some threads have no last turn. */
static bool write_turns(render_t *self, const kstmt_t *s)
{
    const turns_t *o = own(self);
    int v = self->loop.at[s->var];
    int64_t columns = share_columns(self->kernel, s);
    bool some = columns < 0 || columns % o->plan.lanes != 0;
    write_line(self, o->lang->unroll);
    render_indent(self);
    str_addf(self->out, "for (int j%d = 0; j%d < %" PRId64 "; j%d++) { const int i%d = ", v, v,
             o->plan.turns, v, v);
    o->lang->index(self, s->lo, self->out);
    str_addf(self->out, " + int(lane) + j%d * int(LANES);", v);
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
    write_line(self, "{\n");
    begin_folds(self, s, shares, folds, sums);
    bool some = false, turns = shares && o->plan.turns > 0;
    if (turns)
        some = write_turns(self, s);
    else
        write_bounds(self, s, shares);
    o->inside = o->inside || shares;
    o->loops += !s->simd;
    size_t mark = s->simd && o->lang->fetches ? render_fetch(self, &s->body) : self->order.n;
    render_block(self, &s->body);
    render_leave(self, mark);
    o->loops -= !s->simd;
    if (turns) self->turn = 0;
    write_line(self, some ? "}}\n" : "}\n");
    end_sums(self, sums);
    if (shares) {
        o->inside = false;
        fold_shares(self, folds);
        if (!o->plan.apart) write_line(self, own(self)->lang->visible);
    }
    write_line(self, "}\n");
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
        write_line(self, o->lang->visible);
}
