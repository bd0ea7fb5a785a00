/* Each program's steps are gone through once, with the owner of every byte: a value of the program,
 * or a loop that worked there. */
#include "plan/memory/check_lifetimes.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan/memory/check_overlaps.h"
#include "plan/memory/owners.h"
#include "plan/schedule/steps.h"
#include "plan/schedule/strips.h"
#include "plan/schedule/sweep.h"

typedef VEC(span_bytes_t) spans_t;

typedef struct {
    const plan_build_t *build;
    const program_t *program;
    const lower_t *lower;
    uint64_t fixed;
    spans_t *written; /* by program: where it and the loops in it write; sorted, apart */
    owners_t *owner;
    bool *made; /* by value: a step has written it */
    int step;   /* where we are; the number of steps: behind them */
    err_t *err;
} check_t;

/* --- Where values lie ------------------------------------------------------------------------- */

static span_bytes_t tensor_span(const plan_build_t *build, int tensor)
{
    const plan_tensor_t *t = &build->tensor.at[tensor];
    return (span_bytes_t){t->offset, t->offset + t->n_bytes};
}

static span_bytes_t span_of(const check_t *self, ir_val_t v)
{
    const home_t *home = &self->program->home[v];
    uint64_t at = home->kind == HOME_TENSOR     ? self->build->tensor.at[home->number].offset
                  : home->kind == HOME_CONSTANT ? self->build->constant.at[home->number].offset
                  : home->kind == HOME_BLOCK    ? self->program->block.at[home->number].offset
                                                : 0;
    return (span_bytes_t){at, at + (uint64_t)ir_type_bytes(ir_type_of(self->lower->fn, v))};
}

/* What an access is to. */
static span_bytes_t use_span(const check_t *self, const step_use_t *use)
{
    span_bytes_t span = span_of(self, use->value);
    if (use->part == use->value) return span;
    const ir_type_t *part = ir_type_of(self->lower->fn, use->part);
    span.begin += (uint64_t)use->at * dtype_bytes(part->dtype);
    span.end = span.begin + (uint64_t)ir_type_bytes(part);
    return span;
}

/* Who owns what holds v: v itself; of constants, which values may share, their number behind the
 * values and the steps of loops. */
static int64_t owner_of(const check_t *self, ir_val_t v)
{
    const home_t *home = &self->program->home[v];
    if (home->kind != HOME_CONSTANT) return v;
    return (int64_t)self->lower->fn->n_value + (int64_t)self->lower->step.n + home->number;
}

static int fail(const check_t *self, const char *what, ir_val_t v, int64_t other)
{
    int64_t n_value = self->lower->fn->n_value, n_step = (int64_t)self->lower->step.n;
    char who[48] = "nobody has written";
    if (other >= n_value + n_step)
        snprintf(who, sizeof who, "constant %lld has", (long long)(other - n_value - n_step));
    else if (other >= n_value)
        snprintf(who, sizeof who, "the loop of step %lld has", (long long)(other - n_value));
    else if (other >= 0)
        snprintf(who, sizeof who, "value %%%lld has", (long long)other);
    return err_set(self->err, ERR_CORRUPT,
                   "plan: program %s, step %d of %d %s value %%%u, whose bytes %s: a defect of the "
                   "plan compiler, please report it with the module",
                   self->program->name, self->step, (int)n_step, what, v, who);
}

/* Do all bytes of the span hold value v? */
static int expect(const check_t *self, span_bytes_t span, ir_val_t v, const char *what)
{
    int64_t own = owner_of(self, v), other = owners_other(self->owner, span, own);
    return other == own ? 0 : fail(self, what, v, other);
}

/* --- Where a program writes ------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
    const span_bytes_t *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Sorted, those that meet as one. */
static void unite(spans_t *spans)
{
    size_t n = 0;
    if (spans->n > 0) qsort(spans->at, spans->n, sizeof *spans->at, by_begin);
    for (size_t i = 0; i < spans->n; i++) {
        span_bytes_t s = spans->at[i];
        if (s.begin == s.end) continue;
        if (n > 0 && s.begin <= spans->at[n - 1].end) {
            if (s.end > spans->at[n - 1].end) spans->at[n - 1].end = s.end;
        } else {
            spans->at[n++] = s;
        }
    }
    spans->n = n;
}

static void add_spans(spans_t *to, const spans_t *from)
{
    for (size_t i = 0; i < from->n; i++) VEC_PUSH(to, from->at[i]);
}

/* The tensor that a copy or carry goes to. */
static int copied_to(const check_t *self, const lstep_t *s)
{
    return s->kind == LOWER_CARRY ? s->to_tensor : self->program->result[s->to_result];
}

static bool is_copy(const lstep_t *s)
{
    return s->kind == LOWER_COPY || s->kind == LOWER_CARRY;
}

static void find_written(const check_t *self, spans_t *to)
{
    for (size_t i = 0; i < self->lower->step.n; i++) {
        const lstep_t *s = &self->lower->step.at[i];
        if (is_copy(s)) VEC_PUSH(to, tensor_span(self->build, copied_to(self, s)));
        if (s->kind == LOWER_LOOP) {
            add_spans(to, &self->written[s->condition]);
            add_spans(to, &self->written[s->body]);
        }
        for (int a = 0; a < steps_n_use(self->lower, s); a++) {
            step_use_t use = steps_use(self->lower, s, a);
            if (use.written) VEC_PUSH(to, use_span(self, &use));
        }
    }
    unite(to);
}

/* --- Steps one after another ------------------------------------------------------------------ */

static int run_loop(check_t *self, const lstep_t *s)
{
    const spans_t *written[] = {&self->written[s->condition], &self->written[s->body]};
    const lstep_t *carry = s - s->n_carry;
    for (int i = 0; i < s->n_carry; i++)
        if (expect(self, tensor_span(self->build, carry[i].to_tensor), carry[i].from, "carries") <
            0)
            return -1;
    for (int r = 0; r < 2; r++)
        for (size_t i = 0; i < written[r]->n; i++)
            owners_set(self->owner, written[r]->at[i], self->lower->fn->n_value + self->step);
    for (int i = 0; i < s->loop->n_out; i++)
        owners_set(self->owner, tensor_span(self->build, carry[i].to_tensor),
                   s->loop->out + (ir_val_t)i);
    return 0;
}

static int run_copy(check_t *self, const lstep_t *s)
{
    step_use_t use = steps_use(self->lower, s, 0);
    if (expect(self, use_span(self, &use), use.value, "copies") < 0) return -1;
    owners_set(self->owner, tensor_span(self->build, copied_to(self, s)), owner_of(self, s->from));
    return 0;
}

/* All is read before anything is written. */
static int run_work(check_t *self, const lstep_t *s)
{
    int n = steps_n_use(self->lower, s);
    for (int a = 0; a < n; a++) {
        step_use_t use = steps_use(self->lower, s, a);
        bool adds = use.written && (self->made[use.part] || s->gemm.accumulate);
        if ((!use.written || adds) && expect(self, use_span(self, &use), use.value,
                                             use.written ? "goes on with" : "reads") < 0)
            return -1;
    }
    for (int a = 0; a < n; a++) {
        step_use_t use = steps_use(self->lower, s, a);
        if (!use.written) continue;
        owners_set(self->owner, use_span(self, &use), use.value);
        self->made[use.part] = true;
    }
    return 0;
}

/* Copies of a value over itself, which are no steps. */
static int take_over(check_t *self, size_t *next)
{
    const program_t *p = self->program;
    for (; *next < p->takeover.n && p->takeover.at[*next].at == self->step; ++*next) {
        ir_val_t from = p->takeover.at[*next].from, to = p->takeover.at[*next].to;
        if (expect(self, span_of(self, from), from, "takes over") < 0) return -1;
        owners_set(self->owner, span_of(self, to), to);
        self->made[to] = true;
    }
    return 0;
}

static int run_steps(check_t *self)
{
    size_t next = 0;
    for (self->step = 0; self->step < (int)self->lower->step.n; self->step++) {
        if (take_over(self, &next) < 0) return -1;
        const lstep_t *s = &self->lower->step.at[self->step];
        int status = s->kind == LOWER_LOOP ? run_loop(self, s)
                     : is_copy(s)          ? run_copy(self, s)
                                           : run_work(self, s);
        if (status < 0) return -1;
    }
    return take_over(self, &next);
}

/* --- Before and after ------------------------------------------------------------------------- */

static void set_lasting(const check_t *self)
{
    const ir_region_t *body = self->lower->fn->body;
    for (uint32_t v = 0; v < self->lower->fn->n_value; v++)
        if (self->program->home[v].kind == HOME_CONSTANT)
            owners_set(self->owner, span_of(self, v), owner_of(self, v));
    for (int i = 0; i < body->n_arg; i++)
        owners_set(self->owner, span_of(self, body->arg + (ir_val_t)i), body->arg + (ir_val_t)i);
}

/* Results are in their tensors; parameters that no result replaces, and constants, where they were.
 */
static int check_end(check_t *self)
{
    const ir_region_t *body = self->lower->fn->body;
    bool *replaced = mem_calloc(self->build->tensor.n + 1, sizeof *replaced);
    int status = 0;
    self->step = (int)self->lower->step.n;
    for (int i = 0; status == 0 && i < body->n_result; i++) {
        replaced[self->program->result[i]] = true;
        status = expect(self, tensor_span(self->build, self->program->result[i]), body->result[i],
                        "returns");
    }
    for (int i = 0; status == 0 && i < body->n_arg; i++)
        if (!replaced[self->program->param[i]])
            status = expect(self, span_of(self, body->arg + (ir_val_t)i), body->arg + (ir_val_t)i,
                            "keeps");
    for (uint32_t v = 0; status == 0 && v < self->lower->fn->n_value; v++)
        if (self->program->home[v].kind == HOME_CONSTANT)
            status = expect(self, span_of(self, v), v, "keeps");
    free(replaced);
    return status;
}

/* --- Steps at the same time ------------------------------------------------------------------- */

typedef VEC(access_t) accesses_t;

static int fail_pair(const check_t *self, const access_t pair[2])
{
    return err_set(
        self->err, ERR_CORRUPT,
        "plan: program %s, step %d %s value %%%u where step %d %s value %%%u at the same "
        "time: a defect of the plan compiler, please report it with the module",
        self->program->name, pair[0].step, pair[0].written ? "writes" : "reads", pair[0].value,
        pair[1].step, pair[1].written ? "writes" : "reads", pair[1].value);
}

static void add_access(const check_t *self, accesses_t *list, int step, const step_use_t *use,
                       bool local)
{
    dtype_t dtype = ir_type_of(self->lower->fn, use->value)->dtype;
    access_t access = {use_span(self, use), use->value, dtype, step, use->written, local};
    if (access.span.begin < access.span.end) VEC_PUSH(list, access);
}

/* What a step reads and writes; may its kernel replace elements at their places? */
static void add_step(const check_t *self, accesses_t *list, int i)
{
    const lstep_t *s = &self->lower->step.at[i];
    const kernel_t *k = s->kind == LOWER_GROUP ? self->lower->group.at[s->group]->kernel : NULL;
    for (int a = 0; a < steps_n_use(self->lower, s); a++) {
        step_use_t use = steps_use(self->lower, s, a);
        add_access(self, list, i, &use, k && kernel_is_group(k));
    }
}

static int check_alone(const check_t *self)
{
    accesses_t list = {0};
    access_t pair[2];
    bool found = false;
    for (int i = 0; i < (int)self->lower->step.n && !found; i++) {
        if (is_copy(&self->lower->step.at[i])) continue;
        list.n = 0;
        add_step(self, &list, i);
        found = overlaps_find(list.at, list.n, false, pair);
    }
    VEC_FREE(&list);
    return found ? fail_pair(self, pair) : 0;
}

static int check_sweeps(const check_t *self)
{
    const lower_t *lower = self->lower;
    accesses_t list = {0};
    touches_t touch = {0};
    access_t pair[2];
    bool found = false;
    for (int i = 0, last; i < (int)lower->step.n && !found; i = last + 1) {
        last = sweep_last(lower, i);
        list.n = 0;
        for (int k = i; k <= last && last > i; k++) {
            strips_touch(lower, &lower->step.at[k], lower->step.at[k].strips, &touch);
            for (size_t t = 0; t < touch.n; t++) {
                const touch_t *at = &touch.at[t];
                step_use_t use = steps_use_of(lower, at->value, at->written);
                if (!at->piece) add_access(self, &list, k, &use, at->local);
            }
        }
        found = overlaps_find(list.at, list.n, true, pair);
    }
    VEC_FREE(&list);
    VEC_FREE(&touch);
    return found ? fail_pair(self, pair) : 0;
}

/* --- All programs ----------------------------------------------------------------------------- */

/* Tensors and constants lie apart in the first `fixed` bytes, but for results that share the memory
 * of temporaries. */
static int check_fixed(const plan_build_t *build, uint64_t fixed, err_t *err)
{
    accesses_t list = {0};
    access_t pair[2];
    for (size_t i = 0; i < build->tensor.n; i++) {
        span_bytes_t span = tensor_span(build, (int)i);
        if (span.begin < span.end && span.begin < fixed)
            VEC_PUSH(&list, ((access_t){.span = span, .value = (ir_val_t)i, .written = true}));
    }
    for (size_t i = 0; i < build->constant.n; i++) {
        uint64_t at = build->constant.at[i].offset;
        VEC_PUSH(&list, ((access_t){.span = {at, at + build->constant.at[i].n_bytes},
                                    .value = (ir_val_t)(build->tensor.n + i),
                                    .written = true}));
    }
    bool found = overlaps_find(list.at, list.n, false, pair);
    for (size_t i = 0; i < list.n && !found; i++)
        if (list.at[i].span.end > fixed) pair[0] = pair[1] = list.at[i], found = true;
    VEC_FREE(&list);
    if (!found) return 0;
    return err_set(err, ERR_CORRUPT,
                   "plan: tensors or constants %u and %u do not lie apart in the first %llu bytes: "
                   "a defect of the plan compiler, please report it with the module",
                   pair[0].value, pair[1].value, (unsigned long long)fixed);
}

/* All ends of spans that the program's steps have to do with. */
static void find_spans(const check_t *self, const spans_t *written, spans_t *to)
{
    const ir_region_t *body = self->lower->fn->body;
    add_spans(to, written);
    for (uint32_t v = 0; v < self->lower->fn->n_value; v++)
        if (self->program->home[v].kind != HOME_NONE) VEC_PUSH(to, span_of(self, v));
    for (int i = 0; i < body->n_result; i++)
        VEC_PUSH(to, tensor_span(self->build, self->program->result[i]));
    for (size_t i = 0; i < self->lower->step.n; i++) {
        const lstep_t *s = &self->lower->step.at[i];
        if (is_copy(s)) VEC_PUSH(to, tensor_span(self->build, copied_to(self, s)));
        for (int a = 0; a < steps_n_use(self->lower, s); a++) {
            step_use_t use = steps_use(self->lower, s, a);
            if (use.part != use.value) VEC_PUSH(to, use_span(self, &use));
        }
        if (s->kind != LOWER_LOOP) continue;
        add_spans(to, &self->written[s->condition]);
        add_spans(to, &self->written[s->body]);
    }
}

/* A temporary in the first `fixed` bytes would be over tensors of other programs. */
static int check_blocks(const check_t *self)
{
    for (size_t b = 0; b < self->program->block.n; b++) {
        const memory_block_t *block = &self->program->block.at[b];
        if (block->n_bytes > 0 && block->first <= block->last && block->offset < self->fixed)
            return err_set(self->err, ERR_CORRUPT,
                           "plan: program %s: a temporary at %llu, tensors end at %llu: a defect "
                           "of the plan compiler, please report it with the module",
                           self->program->name, (unsigned long long)block->offset,
                           (unsigned long long)self->fixed);
    }
    return 0;
}

static int check_program(check_t *self, spans_t *written)
{
    spans_t spans = {0};
    find_written(self, written);
    find_spans(self, written, &spans);
    self->owner = owners_new(spans.at, spans.n);
    self->made = mem_calloc(self->lower->fn->n_value + 1, sizeof *self->made);
    set_lasting(self);
    int status = check_blocks(self);
    if (status == 0) status = run_steps(self);
    if (status == 0) status = check_end(self);
    if (status == 0) status = check_alone(self);
    if (status == 0) status = check_sweeps(self);
    owners_destroy(&self->owner);
    free(self->made);
    VEC_FREE(&spans);
    return status;
}

/* Programs of loops come behind the program around them. */
int check_lifetimes(const plan_build_t *self, uint64_t fixed, err_t *err)
{
    spans_t *written = mem_calloc(self->program.n + 1, sizeof *written);
    int status = check_fixed(self, fixed, err);
    for (size_t i = self->program.n; i-- > 0 && status == 0;) {
        const program_t *p = self->program.at[i];
        check_t check = {.build = self,
                         .program = p,
                         .lower = p->lower,
                         .fixed = fixed,
                         .written = written,
                         .err = err};
        status = check_program(&check, &written[i]);
    }
    for (size_t i = 0; i < self->program.n; i++) VEC_FREE(&written[i]);
    free(written);
    return status;
}
