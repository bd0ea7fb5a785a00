/* Rematerialisation: a temporary that idles while memory is short is dropped, and the step that
 * made it runs once more before its next use. Steps are repeated as they are, so that results keep
 * their bits. Greedy, as in "Training Deep Nets with Sublinear Memory Cost" (Chen et al. 2016,
 * appendix) and "Dynamic Tensor Rematerialization" (Kirisame et al. 2021): at the step where most
 * bytes are alive, the repetition that frees most of them for its time; what it reads may be
 * dropped later, so that whole layers come to be recomputed from what is kept between them. */
#include <limits.h>
#include <string.h>

#include "plan/memory/build_in.h"
#include "plan/schedule/steps.h"

/* Rates that weigh work against bytes: only their ratio matters. */
static const double FLOPS_PER_US = 5e4, BYTES_PER_US = 1e4;

enum { MAX_AGAIN = 4096 }; /* repeated steps of a program */

/* What is known of a value in the present order of steps. */
typedef struct {
    int n_def, def, last_def; /* steps that write it; the first and the last of them */
    int before, after;        /* its accesses around the peak, -1 and INT_MAX: none */
    int last;                 /* access */
    bool result;              /* of the program: kept to the end */
} life_t;

typedef struct {
    plan_build_t *build;
    program_t *p;
    life_t *life;     /* by value */
    int *overwritten; /* by tensor: the first step that writes another value there */
    int peak;         /* step */
} remat_t;

static uint64_t bytes_of(const program_t *p, ir_val_t v)
{
    return memory_align((uint64_t)ir_type_bytes(ir_type_of(p->lower->fn, v)));
}

/* --- What is alive when ----------------------------------------------------------------------- */

static void note(remat_t *self, ir_val_t v, int step, bool written)
{
    life_t *life = &self->life[v];
    const home_t *home = &self->p->home[v];
    if (written) {
        if (life->n_def++ == 0) life->def = step;
        life->last_def = step;
        if (home->kind == HOME_TENSOR && step < self->overwritten[home->number])
            self->overwritten[home->number] = step;
    }
    if (step <= self->peak) life->before = step;
    if (step >= self->peak && step < life->after) life->after = step;
    life->last = step;
}

static void find_lives(remat_t *self)
{
    const lower_t *lower = self->p->lower;
    const ir_region_t *body = lower->fn->body;
    self->life = mem_realloc(self->life, (lower->fn->n_value + 1) * sizeof *self->life);
    for (uint32_t v = 0; v < lower->fn->n_value; v++)
        self->life[v] = (life_t){
            .def = -1, .last_def = -1, .before = -1, .after = INT_MAX, .last = -1};
    for (size_t t = 0; t < self->build->tensor.n; t++) self->overwritten[t] = INT_MAX;
    for (size_t i = 0; i < lower->step.n; i++)
        for (int a = 0; a < steps_n_use(lower, &lower->step.at[i]); a++) {
            step_use_t use = steps_use(lower, &lower->step.at[i], a);
            note(self, use.value, (int)i, use.written);
        }
    for (int i = 0; i < body->n_result; i++) self->life[body->result[i]].result = true;
}

/* --- Candidates ---------------------------------------------------------------------------------
 */

/* Does v lie idle in a block of its own at the peak, and is it used after? */
static bool idles(const remat_t *self, ir_val_t v)
{
    const life_t *life = &self->life[v];
    return self->p->home[v].kind == HOME_BLOCK && !life->result && life->before >= 0 &&
           life->before < self->peak && life->after > self->peak && life->after < INT_MAX;
}

/* Can v be read at step `at` as it was at step `def`? *extra: bytes that it keeps alive at the peak
 * for that alone. */
static bool stays(const remat_t *self, ir_val_t v, int def, int at, uint64_t *extra)
{
    const life_t *life = &self->life[v];
    const home_t *home = &self->p->home[v];
    if (home->kind == HOME_TENSOR) return life->n_def == 0 && self->overwritten[home->number] >= at;
    if (home->kind != HOME_BLOCK) return home->kind == HOME_CONSTANT;
    if (life->last_def >= def) return false;
    if (life->last < self->peak) *extra += bytes_of(self->p, v);
    return true;
}

typedef struct {
    int step, at; /* repeat step before step `at` */
    double score; /* bytes freed at the peak for a microsecond */
} choice_t;

/* Weigh the repetition of step d for all its results that idle at the peak. */
static bool weigh(const remat_t *self, int d, choice_t *choice)
{
    const lower_t *lower = self->p->lower;
    const lstep_t *s = &lower->step.at[d];
    uint64_t freed = 0, extra = 0;
    double flops, bytes;
    int n = steps_n_use(lower, s);
    *choice = (choice_t){d, INT_MAX, 0};
    if ((s->kind != LOWER_GROUP && s->kind != LOWER_GEMM) || s->gemm.accumulate) return false;
    for (int a = 0; a < n; a++) {
        step_use_t use = steps_use(lower, s, a);
        if (!use.written) continue;
        if (self->life[use.value].n_def != 1) return false;
        if (!idles(self, use.value)) continue;
        freed += bytes_of(self->p, use.value);
        if (self->life[use.value].after < choice->at) choice->at = self->life[use.value].after;
    }
    for (int a = 0; a < n && freed > 0; a++) {
        step_use_t use = steps_use(lower, s, a);
        if (!use.written && !stays(self, use.value, d, choice->at, &extra)) return false;
    }
    if (freed <= extra) return false;
    steps_cost(lower, s, &flops, &bytes);
    choice->score = (double)(freed - extra) / (1 + flops / FLOPS_PER_US + bytes / BYTES_PER_US);
    return true;
}

static bool choose(const remat_t *self, choice_t *best)
{
    *best = (choice_t){0};
    for (int d = 0; d < self->peak; d++) {
        choice_t one;
        if (weigh(self, d, &one) && one.score > best->score) *best = one;
    }
    return best->score > 0;
}

/* --- Repeating a step ---------------------------------------------------------------------------
 */

static void insert(lower_t *lower, lstep_t step, int at)
{
    VEC_PUSH(&lower->step, step);
    memmove(&lower->step.at[at + 1], &lower->step.at[at],
            (lower->step.n - 1 - (size_t)at) * sizeof step);
    lower->step.at[at] = step;
}

/* From step `at` on, `fresh` is read in the place of v. */
static void rename_value(lower_t *lower, ir_val_t v, ir_val_t fresh, int at)
{
    for (size_t i = (size_t)at; i < lower->step.n; i++)
        for (int a = 0; a < steps_n_use(lower, &lower->step.at[i]); a++)
            if (steps_use(lower, &lower->step.at[i], a).value == v)
                steps_set(lower, &lower->step.at[i], a, fresh);
}

static void repeat(const remat_t *self, const choice_t *choice)
{
    lower_t *lower = self->p->lower;
    lstep_t again = lower->step.at[choice->step];
    int n = steps_n_use(lower, &again);
    again.again = true;
    for (int a = 0; a < n; a++) {
        step_use_t use = steps_use(lower, &again, a);
        if (!use.written) continue;
        ir_type_t type = *ir_type_of(lower->fn, use.value);
        ir_val_t fresh = steps_fresh(lower, use.value, &type);
        if (idles(self, use.value)) rename_value(lower, use.value, fresh, choice->at);
        steps_set(lower, &again, a, fresh);
    }
    insert(lower, again, choice->at);
}

static bool has_loops(const program_t *p)
{
    for (size_t i = 0; i < p->lower->step.n; i++)
        if (p->lower->step.at[i].kind == LOWER_LOOP) return true;
    return false;
}

uint64_t remat_fit(plan_build_t *self, program_t *p, uint64_t limit)
{
    remat_t remat = {.build = self, .p = p};
    remat.overwritten = mem_calloc(self->tensor.n + 1, sizeof *remat.overwritten);
    uint64_t least = UINT64_MAX;
    for (int n = 0;; n++) {
        choice_t choice;
        uint64_t alive = memory_peak(p->block.at, p->block.n, &remat.peak);
        if (alive < least) {
            uint64_t bytes = memory_assign(p->block.at, p->block.n, p->from, plan_segment(self));
            least = bytes < least ? bytes : least;
        }
        if (least <= limit || n == MAX_AGAIN || has_loops(p)) break;
        find_lives(&remat);
        if (!choose(&remat, &choice)) break;
        repeat(&remat, &choice);
        storage_assign(self, p);
    }
    free(remat.life);
    free(remat.overwritten);
    return least;
}
