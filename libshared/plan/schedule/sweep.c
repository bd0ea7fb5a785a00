/* Sweeps by one greedy pass in program order: a step joins the present strips when it may, else it
 * comes before them or waits behind them; when a step needs one that waits, or the steps that
 * changed places hold too much memory, all is written down and new strips begin. */
#include "plan/schedule/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "plan/kernel/tiles.h"
#include "plan/schedule/strips.h"

enum {
    STRIP_ROWS = 256,           /* of a product: each strip packs B, and its rows fit the cache */
    MIN_STRIP_ROWS = 32,        /* of a product: fewer do not pay for reading all of its B */
    MAX_WEIGHT_BYTES = 1 << 20, /* of such a B: every strip reads it */
    MAX_KEPT_BYTES = 24 << 20,  /* touched by steps that change places: it lives longer */
    MAX_WAITING = 64,
    MAX_TOGETHER = 32,
};

static const int64_t strip_counts[] = {8, 12, 16, 24, 32, 48, 64};
enum { N_STRIP_COUNT = sizeof strip_counts / sizeof strip_counts[0] };

typedef VEC(lstep_t) steps_t;

/* What the steps that are not written down yet do to a value. */
typedef struct {
    bool written_in_strips, foreign_in_strips, read_in_strips; /* foreign: not locally */
    bool pieces_in_strips;                                     /* parts of it are written */
    bool written_waiting, read_waiting;
    bool kept; /* counted in kept_bytes */
} mark_t;

/* Levels (below) that must come behind steps of a list: those that write, that touch a value. */
typedef struct {
    int written, touched;
} level_t;

typedef struct {
    lower_t *lower;
    caps_t caps;
    int64_t strips;
    mark_t *mark;                     /* by value */
    level_t *level;                   /* by value; zeros between lists */
    steps_t early, run, waiting, out; /* early: before the strips */
    touches_t touch;
    int64_t kept_bytes;
    int n_sweep;
} former_t;

static int64_t bytes_of(const former_t *f, ir_val_t v)
{
    return ir_type_bytes(ir_type_of(f->lower->fn, v));
}

/* Has the step a kernel that can be called on a part of its work? */
static bool has_kernel(const former_t *f, const lstep_t *s)
{
    tiles_t tiles;
    if (s->kind == LOWER_GEMM) return tiles_choose(&tiles, &s->gemm, f->caps);
    return s->kind == LOWER_GROUP;
}

static bool is_worth(const lstep_t *s, int64_t strips)
{
    if (s->kind != LOWER_GEMM || s->gemm.batch * s->gemm.inner > 1) return true;
    const plan_gemm_step_t *g = &s->gemm;
    return g->m >= MIN_STRIP_ROWS * strips && g->n * g->k * 4 <= MAX_WEIGHT_BYTES;
}

/* --- Writing down ----------------------------------------------------------------------------- */

static void write_run(former_t *f)
{
    bool alone = f->run.n < 2;
    int number = alone ? 0 : ++f->n_sweep;
    for (size_t i = 0; i < f->run.n; i++) {
        lstep_t s = f->run.at[i];
        s.sweep = number;
        s.strips = alone ? 0 : f->strips;
        VEC_PUSH(&f->out, s);
    }
    f->run.n = 0;
}

/* level[i]: one more than that of all steps before i that it has to come after. */
static int find_levels(former_t *f, const steps_t *steps, int *level)
{
    touches_t touch = {0};
    VEC(ir_val_t) met = {0};
    int highest = 0;
    for (size_t i = 0; i < steps->n; i++) {
        strips_touch(f->lower, &steps->at[i], 0, &touch);
        level[i] = 0;
        for (size_t t = 0; t < touch.n; t++) {
            const level_t *l = &f->level[touch.at[t].value];
            if (touch.at[t].piece) continue; /* nobody was there before */
            int behind = touch.at[t].written ? l->touched : l->written;
            level[i] = behind > level[i] ? behind : level[i];
        }
        for (size_t t = 0; t < touch.n; t++) {
            level_t *l = &f->level[touch.at[t].value];
            VEC_PUSH(&met, touch.at[t].value);
            if (level[i] >= l->touched) l->touched = level[i] + 1;
            if (touch.at[t].written && level[i] >= l->written) l->written = level[i] + 1;
        }
        highest = level[i] > highest ? level[i] : highest;
    }
    for (size_t i = 0; i < met.n; i++) f->level[met.at[i]] = (level_t){0};
    VEC_FREE(&met);
    VEC_FREE(&touch);
    return highest;
}

/* The steps of one level: those with kernels together, the others alone. */
static void write_level(former_t *f, const steps_t *steps, const int *level, int which)
{
    size_t first = f->out.n;
    for (size_t i = 0; i < steps->n; i++)
        if (level[i] == which && has_kernel(f, &steps->at[i])) VEC_PUSH(&f->out, steps->at[i]);
    for (size_t i = first; f->out.n - first > 1 && i < f->out.n; i++) {
        f->n_sweep += (i - first) % MAX_TOGETHER == 0;
        f->out.at[i].sweep = f->n_sweep;
    }
    for (size_t i = 0; i < steps->n; i++)
        if (level[i] == which && !has_kernel(f, &steps->at[i])) VEC_PUSH(&f->out, steps->at[i]);
}

static void write_levels(former_t *f, steps_t *steps)
{
    int *level = mem_calloc(steps->n + 1, sizeof *level), highest = find_levels(f, steps, level);
    for (int which = 0; steps->n > 0 && which <= highest; which++)
        write_level(f, steps, level, which);
    free(level);
    steps->n = 0;
}

static void write_down(former_t *f)
{
    write_levels(f, &f->early);
    write_run(f);
    write_levels(f, &f->waiting);
    memset(f->mark, 0, f->lower->fn->n_value * sizeof *f->mark);
    f->kept_bytes = 0;
}

/* --- One step --------------------------------------------------------------------------------- */

static bool needs_waiting(const former_t *f)
{
    for (size_t i = 0; i < f->touch.n; i++) {
        const touch_t *t = &f->touch.at[i];
        const mark_t *m = &f->mark[t->value];
        if (t->piece) continue; /* nobody was there before */
        if (m->written_waiting || (t->written && m->read_waiting)) return true;
    }
    return false;
}

/* May the step, whose work divides, follow the present strips? */
static bool is_local(const former_t *f)
{
    for (size_t i = 0; i < f->touch.n; i++) {
        const touch_t *t = &f->touch.at[i];
        const mark_t *m = &f->mark[t->value];
        if (t->piece) continue;
        if (m->pieces_in_strips) return false;
        if (!t->local && (t->written || m->written_in_strips)) return false;
        if (t->written && m->foreign_in_strips) return false;
    }
    return true;
}

/* May the step come before the present strips? */
static bool is_early(const former_t *f)
{
    for (size_t i = 0; i < f->touch.n; i++) {
        const touch_t *t = &f->touch.at[i];
        const mark_t *m = &f->mark[t->value];
        if (t->piece) continue;
        if (m->written_in_strips || (t->written && m->read_in_strips)) return false;
    }
    return !needs_waiting(f);
}

static void join(former_t *f, const lstep_t *s)
{
    for (size_t i = 0; i < f->touch.n; i++) {
        mark_t *m = &f->mark[f->touch.at[i].value];
        m->written_in_strips |= f->touch.at[i].written;
        m->foreign_in_strips |= !f->touch.at[i].local;
        m->pieces_in_strips |= f->touch.at[i].piece && f->touch.at[i].written;
        m->read_in_strips = true;
    }
    VEC_PUSH(&f->run, *s);
}

/* Values of steps that change places live longer than they need. */
static void keep(former_t *f)
{
    for (size_t i = 0; i < f->touch.n; i++) {
        mark_t *m = &f->mark[f->touch.at[i].value];
        if (f->touch.at[i].piece) continue;
        if (!m->kept && f->lower->value[f->touch.at[i].value].order != BEFORE)
            f->kept_bytes += bytes_of(f, f->touch.at[i].value);
        m->kept = true;
    }
}

static void wait(former_t *f, const lstep_t *s)
{
    for (size_t i = 0; i < f->touch.n; i++) {
        mark_t *m = &f->mark[f->touch.at[i].value];
        m->written_waiting |= f->touch.at[i].written;
        m->read_waiting |= !f->touch.at[i].written;
    }
    VEC_PUSH(&f->waiting, *s);
}

static void move(former_t *f, const lstep_t *s)
{
    keep(f);
    if (is_early(f))
        VEC_PUSH(&f->early, *s);
    else
        wait(f, s);
    if (f->kept_bytes > MAX_KEPT_BYTES || f->waiting.n >= MAX_WAITING || f->early.n >= MAX_WAITING)
        write_down(f);
}

static void add_step(former_t *f, const lstep_t *s)
{
    if (s->kind != LOWER_GROUP && s->kind != LOWER_GEMM) {
        write_down(f);
        VEC_PUSH(&f->out, *s);
        return;
    }
    bool divides = strips_touch(f->lower, s, f->strips, &f->touch) && has_kernel(f, s) &&
                   is_worth(s, f->strips);
    if (divides && needs_waiting(f) && is_local(f)) write_down(f);
    if (divides && !needs_waiting(f) && is_local(f))
        join(f, s);
    else
        move(f, s);
}

/* The steps in their new order, with so many strips. */
static void form(former_t *f, int64_t strips)
{
    const lower_t *lower = f->lower;
    f->strips = strips;
    f->n_sweep = 0;
    f->out.n = 0;
    memset(f->mark, 0, lower->fn->n_value * sizeof *f->mark);
    for (size_t i = 0; i < lower->step.n; i++) add_step(f, &lower->step.at[i]);
    write_down(f);
}

static int64_t most_rows(const lower_t *self)
{
    int64_t rows = 0;
    for (size_t i = 0; i < self->step.n; i++) {
        const lstep_t *s = &self->step.at[i];
        bool one = s->kind == LOWER_GEMM && s->gemm.batch * s->gemm.inner == 1;
        if (one && s->gemm.m > rows) rows = s->gemm.m;
    }
    return rows;
}

/* Sweeps and steps outside of them: each ends with a wait for all threads. */
static int n_wait(const former_t *f)
{
    int n = 0;
    for (size_t i = 0; i < f->out.n; i++)
        n += f->out.at[i].sweep == 0 || i == 0 || f->out.at[i].sweep != f->out.at[i - 1].sweep;
    return n;
}

/* The number with which threads wait least; among equals the largest that leaves a strip its rows.
 * 0: strips are of no use. */
static int64_t best_count(former_t *f)
{
    int64_t best = 0, rows = most_rows(f->lower);
    form(f, 0);
    int fewest = n_wait(f);
    for (int i = 0; i < N_STRIP_COUNT; i++) {
        bool small = rows / strip_counts[i] < STRIP_ROWS;
        form(f, strip_counts[i]);
        int n = n_wait(f);
        if (n > fewest || (n == fewest && (small || best == 0))) continue;
        fewest = n;
        best = strip_counts[i];
    }
    return best;
}

/* Rows by parts (plan/schedule/parts.h) have their order for the sake of memory. */
static bool has_parts(const lower_t *self)
{
    for (size_t i = 0; i < self->step.n; i++)
        if (self->step.at[i].extent > 0) return true;
    return false;
}

void sweep_form(lower_t *self, caps_t caps)
{
    if (has_parts(self)) return;
    former_t f = {.lower = self, .caps = caps};
    f.mark = mem_calloc(self->fn->n_value + 1, sizeof *f.mark);
    f.level = mem_calloc(self->fn->n_value + 1, sizeof *f.level);
    form(&f, best_count(&f));
    for (size_t i = 0; i < self->step.n; i++) self->step.at[i] = f.out.at[i];
    free(f.mark);
    free(f.level);
    VEC_FREE(&f.early);
    VEC_FREE(&f.run);
    VEC_FREE(&f.waiting);
    VEC_FREE(&f.out);
    VEC_FREE(&f.touch);
}

int sweep_first(const lower_t *self, int i)
{
    const lstep_t *s = self->step.at;
    while (i > 0 && s[i].sweep != 0 && s[i - 1].sweep == s[i].sweep) i--;
    return i;
}

int sweep_last(const lower_t *self, int i)
{
    const lstep_t *s = self->step.at;
    while (i + 1 < (int)self->step.n && s[i].sweep != 0 && s[i + 1].sweep == s[i].sweep) i++;
    return i;
}
