/* Steps through a large product, part of its rows by part. Which steps can be cut is read off their
 * loops and strides, however the model spells what they compute. */
#include "plan/schedule/parts.h"

#include <string.h>

#include "plan/schedule/steps.h"

enum { ROW_UNIT = 64 }; /* parts have a multiple of these rows, and of the steps' own units */

typedef enum { STEP_WHOLE, STEP_CUT, STEP_LATER } step_place_t;
typedef enum { CUT_NONE, CUT_M, CUT_N, CUT_K } cut_t; /* which dimension of a product is rows */

typedef struct {
    lower_t *lower;
    int64_t rows;
    bool *cut;           /* by value: held by parts */
    const int *n_def;    /* by value: steps that write it */
    step_place_t *place; /* by step */
    int first, last;     /* steps that are cut */
} region_t;

static int64_t count_of(const region_t *self, ir_val_t v)
{
    return ir_type_count(ir_type_of(self->lower->fn, v));
}

static uint64_t bytes_of(const region_t *self, ir_val_t v)
{
    return (uint64_t)ir_type_bytes(ir_type_of(self->lower->fn, v));
}

static bool is_result(const lower_t *lower, ir_val_t v)
{
    const ir_region_t *body = lower->fn->body;
    for (int i = 0; i < body->n_result; i++)
        if (body->result[i] == v) return true;
    return false;
}

/* A temporary of whole rows, made by one step. */
static bool may_cut(const region_t *self, ir_val_t v)
{
    return self->n_def[v] == 1 && !is_result(self->lower, v) &&
           count_of(self, v) % self->rows == 0 && self->lower->value[v].layout.rank == 0;
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* Accesses of argument `arg`: do those of unit u all lie in [u * size, (u + 1) * size)? */
typedef struct {
    const kernel_t *kernel;
    int arg;
    int64_t size;
    int unit; /* loop variable */
    kx_t row; /* of a loop over [unit * n_row, unit * n_row + n_row), KX_NONE: there is none */
    int64_t n_row;
    bool *seen;
    bool bad;
} align_t;

/* What the coefficient of term must be for whole units, 0: it is no part of the unit. */
static int64_t unit_coef(const align_t *self, kx_t term)
{
    const kx_graph_t *g = &self->kernel->graph;
    const kx_var_t *unit = &g->var.at[self->unit];
    if (term == self->row) return self->size / self->n_row;
    if (term == unit->node) return self->size;
    if (unit->hi < 0) return 0;
    if (term == g->var.at[unit->lo].node) return self->size;
    if (term == g->var.at[unit->hi].node) return self->size * g->var.at[unit->lo].extent;
    return 0;
}

/* The unit's parts in the sum, 1 for each of whole, high and low. */
static bool is_aligned(const align_t *self, kx_t at)
{
    const kx_graph_t *g = &self->kernel->graph;
    const kx_node_t *n = &g->node.at[at];
    const kx_var_t *unit = &g->var.at[self->unit];
    int terms = n->kind == KX_AFFINE ? n->n_in : 1;
    int64_t lo = n->kind == KX_AFFINE ? n->i : 0, hi = lo, covered = 0;
    if (n->kind == KX_NUMBER) return unit->extent == 1 && n->i >= 0 && n->i < self->size;
    for (int t = 0; t < terms; t++) {
        kx_t term = n->kind == KX_AFFINE ? n->in[t] : at;
        int64_t coef = n->kind == KX_AFFINE ? n->coef[t] : 1, want = unit_coef(self, term);
        const kx_node_t *x = &g->node.at[term];
        if (want > 0) {
            bool whole = term == unit->node || term == self->row;
            if (coef != want) return false;
            if (term == self->row) hi += coef * (self->n_row - 1);
            covered += whole ? 3 : term == g->var.at[unit->lo].node ? 1 : 2;
            continue;
        }
        if (x->lo < -(INT64_C(1) << 40) || x->hi > INT64_C(1) << 40) return false;
        lo += coef * (coef > 0 ? x->lo : x->hi);
        hi += coef * (coef > 0 ? x->hi : x->lo);
    }
    return (covered == 3 || unit->extent == 1) && lo >= 0 && hi < self->size;
}

static void check_node(align_t *self, kx_t x)
{
    if (x == KX_NONE || self->seen[x]) return;
    const kx_node_t *n = &self->kernel->graph.node.at[x];
    self->seen[x] = true;
    if (n->kind == KX_LOAD && n->i == self->arg && !is_aligned(self, n->in[0])) self->bad = true;
    for (int t = 0; t < n->n_in; t++) check_node(self, n->in[t]);
}

static void check_block(align_t *self, const kblock_t *block)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        kx_t need[] = {s->index, s->value, s->lo, s->hi};
        if (s->kind == KS_FOR) check_block(self, &s->body);
        for (int k = 0; k < 4; k++) check_node(self, need[k]);
        bool store = s->kind == KS_STORE && s->target == self->arg;
        if (store && !is_aligned(self, s->index)) self->bad = true;
    }
}

/* The loop over the rows of a unit, right inside of the units' own. */
static void find_rows(align_t *self, const kblock_t *block)
{
    const kx_graph_t *g = &self->kernel->graph;
    kx_t unit = g->var.at[self->unit].node;
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind != KS_FOR || s->lo == KX_NONE || s->hi == KX_NONE) continue;
        const kx_node_t *lo = &g->node.at[s->lo], *hi = &g->node.at[s->hi];
        int64_t n = lo->kind == KX_AFFINE && lo->n_in == 1 && lo->i == 0 && lo->in[0] == unit
                        ? lo->coef[0]
                        : 0;
        if (n < 1 || self->size % n != 0 || hi->kind != KX_AFFINE || hi->n_in != 1 ||
            hi->in[0] != unit || hi->coef[0] != n || hi->i != n)
            continue;
        self->row = g->var.at[s->var].node;
        self->n_row = n;
    }
}

/* Does each range of the group's units touch the same range of rows of argument a, and no other? */
static bool arg_is_aligned(const region_t *self, const lstep_t *s, int a)
{
    const kernel_t *kernel = self->lower->group.at[s->group]->kernel;
    int64_t n = count_of(self, steps_use(self->lower, s, a).value);
    if (n % kernel->extent != 0 || kernel->body.n != 1) return false;
    const kstmt_t *loop = kernel->body.at[0];
    if (loop->kind != KS_FOR || loop->lo != KX_NONE) return false;
    align_t align = {.kernel = kernel, .arg = a, .size = n / kernel->extent, .unit = loop->var};
    align.row = KX_NONE;
    find_rows(&align, &loop->body);
    align.seen = mem_calloc(kernel->graph.node.n + 1, sizeof *align.seen);
    check_block(&align, &loop->body);
    free(align.seen);
    return !align.bad;
}

static bool group_fits(const region_t *self, const lstep_t *s)
{
    const kernel_t *kernel = self->lower->group.at[s->group]->kernel;
    if (!kernel_is_group(kernel) || kernel->extent < 1 || self->rows % kernel->extent != 0)
        return false;
    for (int a = 0; a < (int)kernel->arg.n; a++)
        if (self->cut[steps_use(self->lower, s, a).value] && !arg_is_aligned(self, s, a))
            return false;
    return true;
}

/* --- Products --------------------------------------------------------------------------------- */

static cut_t agree(cut_t a, cut_t b, bool *bad)
{
    if (a != CUT_NONE && b != CUT_NONE && a != b) *bad = true;
    return a == CUT_NONE ? b : a;
}

/* The dimension of a product that is the rows of what is cut; CUT_NONE when it cannot be. */
static cut_t product_cut(const region_t *self, const lstep_t *s)
{
    const plan_gemm_step_t *g = &s->gemm;
    cut_t cut = CUT_NONE;
    bool bad = g->batch * g->inner != 1 || g->accumulate;
    if (self->cut[s->lhs]) {
        cut = g->trans_a ? CUT_K : CUT_M;
        bad = bad || g->a != 0 || g->lda != count_of(self, s->lhs) / self->rows;
    }
    if (self->cut[s->rhs]) {
        cut = agree(cut, g->trans_b ? CUT_N : CUT_K, &bad);
        bad = bad || g->b != 0 || g->ldb != count_of(self, s->rhs) / self->rows;
    }
    if (self->cut[s->value]) {
        cut = agree(cut, CUT_M, &bad);
        bad = bad || g->c != 0 || g->ldc != count_of(self, s->value) / self->rows;
    }
    int64_t size = cut == CUT_M ? g->m : cut == CUT_N ? g->n : g->k;
    return bad || size != self->rows ? CUT_NONE : cut;
}

/* --- The region ------------------------------------------------------------------------------- */

static bool touches(const region_t *self, const lstep_t *s)
{
    for (int a = 0; a < steps_n_use(self->lower, s); a++)
        if (self->cut[steps_use(self->lower, s, a).value]) return true;
    return false;
}

static bool fits(const region_t *self, const lstep_t *s)
{
    if (s->kind == LOWER_GROUP) return group_fits(self, s);
    return s->kind == LOWER_GEMM && product_cut(self, s) != CUT_NONE;
}

/* Every step that touches what is cut can be cut? */
static bool all_fit(const region_t *self)
{
    const lower_t *lower = self->lower;
    for (size_t i = 0; i < lower->step.n; i++)
        if (touches(self, &lower->step.at[i]) && !fits(self, &lower->step.at[i])) return false;
    return true;
}

/* Results of the steps with as many elements are held by parts as well, where they can. */
static void grow(region_t *self, int64_t n)
{
    const lower_t *lower = self->lower;
    for (size_t i = 0; i < lower->step.n; i++) {
        const lstep_t *s = &lower->step.at[i];
        if (!touches(self, s)) continue;
        for (int a = 0; a < steps_n_use(lower, s); a++) {
            step_use_t use = steps_use(lower, s, a);
            if (!use.written || self->cut[use.value] || count_of(self, use.value) < n ||
                !may_cut(self, use.value))
                continue;
            self->cut[use.value] = true;
            if (!all_fit(self)) self->cut[use.value] = false;
        }
    }
}

/* Does step s write v, if v is not held by parts? */
static bool writes(const region_t *self, const lstep_t *s, ir_val_t v)
{
    for (int a = 0; a < steps_n_use(self->lower, s); a++) {
        step_use_t use = steps_use(self->lower, s, a);
        if (use.written && use.value == v) return true;
    }
    return false;
}

static bool accesses(const region_t *self, const lstep_t *s, ir_val_t v)
{
    for (int a = 0; a < steps_n_use(self->lower, s); a++)
        if (steps_use(self->lower, s, a).value == v) return true;
    return false;
}

/* Must step s come behind step t, which is before it? */
static bool depends(const region_t *self, const lstep_t *s, const lstep_t *t)
{
    for (int a = 0; a < steps_n_use(self->lower, s); a++) {
        step_use_t use = steps_use(self->lower, s, a);
        if (use.written ? accesses(self, t, use.value) : writes(self, t, use.value)) return true;
    }
    return false;
}

/* Is access a of step s, to a value that step t of the region writes whole, to the rows of the part
 * alone, which t has written? */
static bool reads_own_rows(const region_t *self, const lstep_t *s, int a, const lstep_t *t)
{
    ir_val_t v = steps_use(self->lower, s, a).value;
    if (self->cut[v]) return true;
    if (s->kind != LOWER_GROUP || t->kind != LOWER_GROUP || count_of(self, v) % self->rows != 0)
        return false;
    for (int b = 0; b < steps_n_use(self->lower, t); b++)
        if (steps_use(self->lower, t, b).value == v && !arg_is_aligned(self, t, b)) return false;
    return arg_is_aligned(self, s, a);
}

/* Steps of the region in order, i.e. each after what it needs of the others in the same part? */
static bool rows_stay_apart(const region_t *self, int i)
{
    const lower_t *lower = self->lower;
    const lstep_t *s = &lower->step.at[i];
    for (int k = self->first; k < i; k++) {
        const lstep_t *t = &lower->step.at[k];
        if (self->place[k] != STEP_CUT) continue;
        for (int a = 0; a < steps_n_use(lower, s); a++)
            if (writes(self, t, steps_use(lower, s, a).value) && !reads_own_rows(self, s, a, t))
                return false;
    }
    return true;
}

/* Where the steps go: before the parts, into them, behind them. False when they cannot. */
static bool find_places(region_t *self)
{
    const lower_t *lower = self->lower;
    self->first = -1;
    for (int i = 0; i < (int)lower->step.n; i++) {
        bool cut = touches(self, &lower->step.at[i]);
        self->place[i] = cut ? STEP_CUT : STEP_WHOLE;
        if (cut && self->first < 0) self->first = i;
        if (cut) self->last = i;
    }
    for (int i = self->first; i <= self->last; i++) {
        bool behind = false, later = false;
        for (int k = self->first; k < i; k++) {
            if (self->place[k] == STEP_WHOLE) continue;
            if (!depends(self, &lower->step.at[i], &lower->step.at[k])) continue;
            behind = true;
            later = later || self->place[k] == STEP_LATER;
        }
        if (self->place[i] == STEP_CUT && (later || !rows_stay_apart(self, i))) return false;
        if (self->place[i] == STEP_WHOLE && behind) self->place[i] = STEP_LATER;
    }
    return true;
}

/* --- Cutting ---------------------------------------------------------------------------------- */

typedef struct {
    const region_t *region;
    int64_t begin, rows; /* the part */
    ir_val_t *fresh;     /* by value: of this part */
    uint32_t n_fresh;
} part_t;

/* The rows of v in this part. */
static ir_val_t part_of(part_t *self, ir_val_t v)
{
    lower_t *lower = self->region->lower;
    if (v >= self->n_fresh || !self->region->cut[v]) return v;
    if (self->fresh[v] == IR_NONE) {
        int64_t width = count_of(self->region, v) / self->region->rows;
        ir_type_t type = ir_type(ir_type_of(lower->fn, v)->dtype, 2,
                                 (int64_t[]){self->rows, width});
        self->fresh[v] = steps_fresh(lower, v, &type);
    }
    return self->fresh[v];
}

static void cut_group(part_t *self, lstep_t *s)
{
    lower_t *lower = self->region->lower;
    const kernel_t *kernel = lower->group.at[s->group]->kernel;
    int64_t unit = self->region->rows / kernel->extent;
    s->begin = self->begin / unit;
    s->extent = self->rows / unit;
    s->shift = ARENA_ARRAY(lower->fn->module->arena, int64_t, kernel->arg.n);
    for (int a = 0; a < (int)kernel->arg.n; a++) {
        ir_val_t v = steps_use(lower, s, a).value, part = part_of(self, v);
        s->shift[a] = part == v ? 0 : -self->begin * (count_of(self->region, part) / self->rows);
        if (part != v) steps_set(lower, s, a, part);
    }
}

static void cut_product(part_t *self, lstep_t *s)
{
    plan_gemm_step_t *g = &s->gemm;
    cut_t cut = product_cut(self->region, s);
    ir_val_t a = part_of(self, s->lhs), b = part_of(self, s->rhs), c = part_of(self, s->value);
    if (cut == CUT_M) {
        g->m = self->rows;
        if (a == s->lhs) g->a += self->begin * (g->trans_a ? 1 : g->lda);
        if (c == s->value) g->c += self->begin * g->ldc;
    } else if (cut == CUT_N) {
        g->n = self->rows;
        if (b == s->rhs) g->b += self->begin * (g->trans_b ? g->ldb : 1);
        g->c += self->begin;
    } else {
        g->k = self->rows;
        g->accumulate = self->begin > 0;
        if (a == s->lhs) g->a += self->begin * (g->trans_a ? g->lda : 1);
        if (b == s->rhs) g->b += self->begin * (g->trans_b ? 1 : g->ldb);
    }
    s->lhs = a;
    s->rhs = b;
    s->value = c;
}

static void add_places(const region_t *self, lstep_t *to, size_t *n, step_place_t place, int from,
                       int end)
{
    for (int i = from; i < end; i++)
        if (self->place[i] == place) to[(*n)++] = self->lower->step.at[i];
}

static void cut_steps(region_t *self, int64_t rows)
{
    lower_t *lower = self->lower;
    size_t n_part = (size_t)((self->rows + rows - 1) / rows), n = 0, n_old = lower->step.n;
    lstep_t *to = mem_calloc(n_old * n_part + 1, sizeof *to);
    part_t part = {.region = self, .n_fresh = lower->fn->n_value};
    part.fresh = mem_calloc(part.n_fresh + 1, sizeof *part.fresh);
    add_places(self, to, &n, STEP_WHOLE, 0, self->last + 1);
    for (part.begin = 0; part.begin < self->rows; part.begin += rows) {
        part.rows = self->rows - part.begin < rows ? self->rows - part.begin : rows;
        for (uint32_t v = 0; v < part.n_fresh; v++) part.fresh[v] = IR_NONE;
        for (int i = self->first; i <= self->last; i++) {
            if (self->place[i] != STEP_CUT) continue;
            to[n] = lower->step.at[i];
            if (to[n].kind == LOWER_GROUP)
                cut_group(&part, &to[n++]);
            else
                cut_product(&part, &to[n++]);
        }
    }
    add_places(self, to, &n, STEP_LATER, self->first, self->last + 1);
    add_places(self, to, &n, STEP_WHOLE, self->last + 1, (int)n_old);
    lower->step.n = 0;
    for (size_t i = 0; i < n; i++) VEC_PUSH(&lower->step, to[i]);
    free(part.fresh);
    free(to);
}

/* Rows of a part of the product v, of which each has at most `bytes`, in whole units of all steps.
 */
static int64_t rows_of_part(const region_t *self, ir_val_t v, uint64_t bytes)
{
    uint64_t all = bytes_of(self, v);
    int64_t unit = self->rows % ROW_UNIT == 0 ? ROW_UNIT : 2;
    for (int i = self->first; i <= self->last; i++) {
        const lstep_t *s = &self->lower->step.at[i];
        if (self->place[i] != STEP_CUT || s->kind != LOWER_GROUP) continue;
        int64_t own = self->rows / self->lower->group.at[s->group]->kernel->extent;
        while (unit % own != 0 && unit < self->rows)
            unit += unit; /* units are powers of two mostly */
        if (unit % own != 0) return self->rows;
    }
    int64_t parts = (int64_t)((all + bytes - 1) / bytes), rows = (self->rows + parts - 1) / parts;
    return (rows + unit - 1) / unit * unit;
}

/* The steps through product s by parts of at most `bytes`, if that can be. */
static bool cut_through(lower_t *lower, const int *n_def, const lstep_t *s, uint64_t bytes)
{
    region_t self = {.lower = lower, .rows = s->gemm.m, .n_def = n_def};
    self.cut = mem_calloc(lower->fn->n_value + 1, sizeof *self.cut);
    self.place = mem_calloc(lower->step.n + 1, sizeof *self.place);
    self.cut[s->value] = may_cut(&self, s->value);
    bool done = self.cut[s->value] && all_fit(&self);
    if (done) grow(&self, count_of(&self, s->value));
    done = done && find_places(&self);
    int64_t rows = done ? rows_of_part(&self, s->value, bytes) : 0;
    done = done && rows < self.rows;
    if (done) cut_steps(&self, rows);
    free(self.cut);
    free(self.place);
    return done;
}

static bool has_loops(const lower_t *lower)
{
    for (size_t i = 0; i < lower->step.n; i++)
        if (lower->step.at[i].kind == LOWER_LOOP) return true;
    return false;
}

static bool cut_one(lower_t *lower, uint64_t bytes)
{
    bool done = false;
    int *n_def = mem_calloc(lower->fn->n_value + 1, sizeof *n_def);
    for (size_t i = 0; i < lower->step.n; i++)
        for (int a = 0; a < steps_n_use(lower, &lower->step.at[i]); a++) {
            step_use_t use = steps_use(lower, &lower->step.at[i], a);
            n_def[use.value] += use.written;
        }
    for (size_t i = 0; i < lower->step.n && !done; i++) {
        const lstep_t *s = &lower->step.at[i];
        if (s->kind != LOWER_GEMM || s->gemm.m < 2) continue;
        done = lower_is_large(lower, s->value) && cut_through(lower, n_def, s, bytes);
    }
    free(n_def);
    return done;
}

void parts_cut(lower_t *lower, uint64_t bytes)
{
    if (bytes == 0 || has_loops(lower)) return;
    while (cut_one(lower, bytes)) continue;
}
