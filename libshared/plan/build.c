/* Programs to a plan: tensors shared by role and name, steps with arena offsets. */
#include "plan/build.h"

#include "plan/assemble/assemble.h"
#include "plan/format/check.h"
#include "plan/lower/branches.h"
#include "plan/lower/recompute.h"
#include "plan/lower/seed.h"
#include "plan/memory/arena.h"
#include "plan/memory/check_lifetimes.h"
#include "plan/schedule/parts.h"
#include "plan/schedule/sweep.h"

plan_build_t *plan_build_new(ir_module_t *module, const caps_t *caps)
{
    plan_build_t *self = mem_calloc(1, sizeof *self);
    self->module = module;
    self->tensors = index_new();
    self->constants = index_new();
    self->caps = caps ? *caps : CAPS_USUAL;
    int64_t part_bytes = self->caps.part_mib > 0 ? (int64_t)self->caps.part_mib << 20 : PARTS_BYTES;
    self->part_bytes = (uint64_t)attr_int(&module->attrs, "pcp.part_bytes", part_bytes);
    self->keep_bytes = attr_int(&module->attrs, "pcp.keep_bytes", -1);
    self->sweeps = self->caps.sweeps && attr_int(&module->attrs, "pcp.sweeps", 1) != 0;
    return self;
}

static void program_destroy(program_t *p)
{
    lower_destroy(&p->lower);
    VEC_FREE(&p->block);
    VEC_FREE(&p->takeover);
    free(p->home);
    free(p->param);
    free(p->result);
    free(p);
}

void plan_build_destroy(plan_build_t **self_p)
{
    plan_build_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    for (size_t i = 0; i < self->tensor.n; i++) free(self->tensor.at[i].name);
    for (size_t i = 0; i < self->constant.n; i++) free(self->constant.at[i].bytes);
    for (size_t i = 0; i < self->program.n; i++) program_destroy(self->program.at[i]);
    index_destroy(&self->tensors);
    index_destroy(&self->constants);
    VEC_FREE(&self->tensor);
    VEC_FREE(&self->constant);
    VEC_FREE(&self->program);
    for (size_t i = 0; i < self->product.n; i++) {
        kernel_destroy(&self->product.at[i].kernel);
        free(self->product.at[i].product);
    }
    VEC_FREE(&self->product);
    VEC_FREE(&self->kernel);
    free(self);
}

void plan_build_tune(plan_build_t *self, const tune_t *tune)
{
    self->tune = tune;
}

int plan_build_n_kernel(const plan_build_t *self)
{
    return (int)self->kernel.n;
}

const kernel_t *plan_build_kernel(const plan_build_t *self, int i)
{
    return self->kernel.at[i];
}

static int build_program(plan_build_t *self, const ir_fn_t *fn, int depth, err_t *err);

/* The programs of a loop and the tensors between them and the program around. */
static int build_loop(plan_build_t *self, const program_t *p, int at, err_t *err)
{
    lstep_t *s = &p->lower->step.at[at], *carry = s - s->n_carry;
    char *name = mem_printf("%s.while%d", p->name, at);
    int status = 0, *program[2] = {&s->condition, &s->body};
    if (p->depth >= MAX_LOOP_DEPTH)
        status = err_set(err, ERR_UNSUPPORTED, "line %d: more than %d loops inside each other",
                         s->loop->line, MAX_LOOP_DEPTH);
    for (int r = 0; status == 0 && r < 2; r++) {
        const ir_fn_t *fn = while_region_fn(p->lower, s->loop, r, name, err);
        *program[r] = (int)self->program.n;
        status = fn ? build_program(self, fn, p->depth + 1, err) : -1;
    }
    if (status == 0) {
        const program_t *body = self->program.at[s->body];
        for (int i = 0; i < s->n_carry; i++) carry[i].to_tensor = body->param[i];
        s->more = self->program.at[s->condition]->result[0];
    }
    free(name);
    return status;
}

/* What kept values may take before they are made again (recompute.h). */
static uint64_t keep_bytes(const plan_build_t *self)
{
    if (self->keep_bytes >= 0) return (uint64_t)self->keep_bytes;
    return self->budget > 0 ? 0 : self->caps.many ? RECOMPUTE_KEEP_MANY : RECOMPUTE_KEEP;
}

/* Kernels that touch more than caches hold. Rows of a strip are there for the strip's next step; what has no rows
 * (parameters) is not. */
static void mark_cold(lower_t *lower)
{
    const double whole = 8 << 20, strip = 2 << 20;
    for (size_t i = 0; i < lower->step.n && lower->caps.asks; i++) {
        const lstep_t *s = &lower->step.at[i];
        if (s->kind != LOWER_GROUP) continue;
        const group_t *group = lower->group.at[s->group];
        kernel_t *kernel = group->kernel;
        bool rows = s->strips > 0 && group->rows > 1;
        kernel->cold = kernel->kind == KERNEL_LOOPS &&
                       kernel->bytes >= (rows ? strip * (double)s->strips : whole);
        kernel->past = kernel->cold && !rows;
    }
}

static int build_program(plan_build_t *self, const ir_fn_t *fn, int depth, err_t *err)
{
    program_t *p = mem_calloc(1, sizeof *p);
    p->name = fn->name;
    p->depth = depth;
    p->param = mem_calloc((size_t)fn->body->n_arg + 1, sizeof *p->param);
    p->result = mem_calloc((size_t)fn->body->n_result + 1, sizeof *p->result);
    p->first_kernel = (int)self->kernel.n;
    VEC_PUSH(&self->program, p);
    if (bind_tensors(self, p, fn, err) < 0) return -1;
    p->lower = lower_fn(self->module, fn, self->caps, parts_large(self->part_bytes),
                        keep_bytes(self), err);
    if (!p->lower) return -1;
    parts_cut(p->lower, self->part_bytes);
    if (self->sweeps && self->budget == 0) sweep_form(p->lower, self->caps);
    mark_cold(p->lower);
    for (size_t i = 0; i < p->lower->group.n; i++)
        VEC_PUSH(&self->kernel, p->lower->group.at[i]->kernel);
    for (size_t i = 0; i < p->lower->step.n; i++)
        if (p->lower->step.at[i].kind == LOWER_GEMM) choose_product(self, &p->lower->step.at[i]);
    for (size_t i = 0; i < p->lower->step.n; i++)
        if (p->lower->step.at[i].kind == LOWER_LOOP && build_loop(self, p, (int)i, err) < 0)
            return -1;
    return 0;
}

int plan_build_program(plan_build_t *self, const ir_fn_t *fn, err_t *err)
{
    const ir_fn_t *seeded = seed_parameter(self->module, fn, err);
    return seeded ? build_program(self, seeded, 0, err) : -1;
}

void plan_build_budget(plan_build_t *self, uint64_t n_bytes)
{
    self->budget = n_bytes;
}

int plan_build_lay_out(plan_build_t *self, err_t *err)
{
    for (size_t i = 0; i < self->program.n; i++) storage_assign(self, self->program.at[i]);
    if (self->budget > 0 && arena_fit(self, err) < 0) return -1;
    for (size_t i = 0; i < self->program.n; i++) storage_finish(self->program.at[i]);
    self->arena_bytes = arena_assign(self, &self->fixed_bytes);
    return 0;
}

uint64_t plan_build_arena(const plan_build_t *self)
{
    return self->arena_bytes;
}

int plan_build_prove(const plan_build_t *self, err_t *err)
{
    return check_lifetimes(self, self->fixed_bytes, err);
}

plan_t *plan_build_fill(plan_build_t *self)
{
    plan_t *plan = mem_calloc(1, sizeof *plan);
    plan->accumulate = 1;
    plan->alignment = MEMORY_ALIGN;
    plan->arena_bytes = self->arena_bytes;
    plan->fixed_bytes = self->fixed_bytes;
    plan->n_tensor = (int)self->tensor.n;
    plan->tensor = mem_calloc(self->tensor.n + 1, sizeof *plan->tensor);
    for (int i = 0; i < plan->n_tensor; i++) {
        plan->tensor[i] = self->tensor.at[i];
        plan->tensor[i].name = mem_strdup(self->tensor.at[i].name);
    }
    plan->n_constant = (int)self->constant.n;
    plan->constant = mem_calloc(self->constant.n + 1, sizeof *plan->constant);
    for (int i = 0; i < plan->n_constant; i++) {
        plan->constant[i] = self->constant.at[i];
        self->constant.at[i].bytes = NULL;
    }
    plan->n_program = (int)self->program.n;
    plan->program = mem_calloc(self->program.n, sizeof *plan->program);
    for (int i = 0; i < plan->n_program; i++)
        fill_program(self, self->program.at[i], &plan->program[i]);
    return plan;
}
