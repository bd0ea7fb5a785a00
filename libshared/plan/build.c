/* Programs to a plan: tensors shared by role and name, steps with arena offsets. */
#include "plan/build.h"

#include <stdio.h>
#include <string.h>

#include "plan/format/check.h"
#include "plan/kernel/tiles.h"
#include "plan/lower/branches.h"
#include "plan/lower/product_loops.h"
#include "plan/lower/recompute.h"
#include "plan/lower/seed.h"
#include "plan/memory/arena.h"
#include "plan/memory/build_in.h"
#include "plan/memory/check_lifetimes.h"
#include "plan/schedule/parts.h"
#include "plan/schedule/steps.h"
#include "plan/schedule/sweep.h"

plan_build_t *plan_build_new(ir_module_t *module, const caps_t *caps)
{
    plan_build_t *self = mem_calloc(1, sizeof *self);
    self->module = module;
    self->tensors = index_new();
    self->constants = index_new();
    self->caps = caps ? *caps : CAPS_USUAL;
    self->part_bytes = (uint64_t)attr_int(&module->attrs, "pcp.part_bytes", PARTS_BYTES);
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

/* --- Tensors ---------------------------------------------------------------------------------- */

/* The number of the tensor that attrs describe, added when new; -1 on error. */
static int tensor_for(plan_build_t *self, const ir_attrs_t *attrs, const ir_type_t *type,
                      const char *fallback, plan_role_t role, err_t *err)
{
    const char *text = attr_text(attrs, "pcp.role", NULL);
    const char *name = attr_text(attrs, "pcp.name", fallback);
    if (text && plan_role_parse(text, &role, err) < 0) return -1;
    char *key = mem_printf("%d %s", (int)role, name);
    int i = index_find(self->tensors, key, strlen(key));
    if (i < 0) index_add(self->tensors, key, strlen(key), (int)self->tensor.n);
    free(key);
    if (i < 0) {
        plan_tensor_t t = {.name = mem_strdup(name), .role = role, .type = *type};
        t.n_bytes = (uint64_t)ir_type_bytes(type);
        VEC_PUSH(&self->tensor, t);
        return (int)self->tensor.n - 1;
    }
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    if (!ir_type_equal(&self->tensor.at[i].type, type))
        return err_set(err, ERR_TYPE, "%s \"%s\" is %s in one program and %s in another",
                       plan_role_name(role), name, ir_type_text(&self->tensor.at[i].type, a),
                       ir_type_text(type, b));
    return i;
}

enum { FALLBACK = 256 };

/* "arg0" of @main, "f.arg0" of another function: programs share tensors by name. */
static void fallback_name(char *name, const ir_fn_t *fn, const char *stem, int i)
{
    if (strcmp(fn->name, "main") == 0)
        snprintf(name, FALLBACK, "%s%d", stem, i);
    else
        snprintf(name, FALLBACK, "%s.%s%d", fn->name, stem, i);
}

static int bind_tensors(plan_build_t *self, program_t *p, const ir_fn_t *fn, err_t *err)
{
    char fallback[FALLBACK];
    const ir_region_t *body = fn->body;
    for (int i = 0; i < body->n_arg; i++) {
        fallback_name(fallback, fn, "arg", i);
        p->param[i] = tensor_for(self, &fn->param_attrs[i], ir_type_of(fn, body->arg + (ir_val_t)i),
                                 fallback, ROLE_BATCH, err);
        if (p->param[i] < 0) return -1;
    }
    for (int i = 0; i < body->n_result; i++) {
        fallback_name(fallback, fn, "result", i);
        p->result[i] = tensor_for(self, &fn->result_attrs[i], ir_type_of(fn, body->result[i]),
                                  fallback, ROLE_RESULT, err);
        if (p->result[i] < 0) return -1;
    }
    return 0;
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

static void add_product(plan_build_t *self, lstep_t *step, kernel_t *kernel, product_t *product,
                        int64_t parts)
{
    VEC_PUSH(&self->product, ((struct product_kernel){kernel, product}));
    step->gemm.kernel = (uint32_t)self->kernel.n;
    step->gemm.parts = parts;
    VEC_PUSH(&self->kernel, kernel);
}

/* A kernel that is cut for the target's registers, where that is faster than the library; false:
 * none. */
static bool choose_tiles(plan_build_t *self, lstep_t *step)
{
    product_t choice = {.step = step->gemm};
    tile_choice_t tuned = {0};
    bool strips = step->strips > 0; /* their cut follows the other steps of the sweep */
    bool measured = !strips && tune_find(self->tune, &step->gemm, &tuned);
    if (measured && tuned.library && step->sweep > 0)
        measured = false; /* that runs kernels alone */
    if (measured && tuned.library && !step->gemm.bf16) return false;
    bool chosen = strips ? tiles_choose_strips(&choice.tiles, &step->gemm, self->caps, step->strips)
                  : measured ? tiles_cut_as(&choice.tiles, &step->gemm, self->caps, &tuned)
                             : tiles_choose(&choice.tiles, &step->gemm, self->caps);
    if (!chosen) return false;
    kernel_t *kernel = kernel_new();
    product_t *product = mem_calloc(1, sizeof *product);
    *product = choice;
    kernel->kind = KERNEL_PRODUCT;
    kernel->product = product;
    add_product(self, step, kernel, product, tiles_n_part(product));
    return true;
}

/* By a kernel for registers, by the device's library, or by loops. */
static void choose_product(plan_build_t *self, lstep_t *step)
{
    if (choose_tiles(self, step) || self->caps.library) return;
    add_product(self, step, product_loops(&step->gemm), NULL, product_rows(&step->gemm));
}

/* What kept values may take before they are made again (recompute.h). */
static uint64_t keep_bytes(const plan_build_t *self)
{
    if (self->keep_bytes >= 0) return (uint64_t)self->keep_bytes;
    return self->budget > 0 ? 0 : RECOMPUTE_KEEP;
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

/* --- Steps ------------------------------------------------------------------------------------ */

static int64_t offset_of(const plan_build_t *self, const program_t *p, ir_val_t v)
{
    const home_t *home = &p->home[v];
    switch (home->kind) {
    case HOME_TENSOR: return (int64_t)self->tensor.at[home->number].offset;
    case HOME_CONSTANT: return (int64_t)self->constant.at[home->number].offset;
    case HOME_BLOCK: return (int64_t)p->block.at[home->number].offset;
    default: return 0;
    }
}

static void kernel_step(const plan_build_t *self, const program_t *p, const lstep_t *s,
                        plan_step_t *step)
{
    const kernel_t *k = p->lower->group.at[s->group]->kernel;
    step->kind = STEP_KERNEL;
    step->label = mem_strdup(k->label);
    steps_cost(p->lower, s, &step->flops, &step->bytes);
    step->kernel = (plan_kernel_step_t){.kernel = (uint32_t)(p->first_kernel + s->group),
                                        .begin = s->begin,
                                        .extent = s->extent > 0 ? s->extent : k->extent,
                                        .grain = k->grain,
                                        .n_arg = (int)k->arg.n};
    step->kernel.arg = mem_calloc(k->arg.n + 1, sizeof(int64_t));
    for (int i = 0; i < (int)k->arg.n; i++) {
        int64_t shift = s->shift ? s->shift[i] * (int64_t)dtype_bytes(k->arg.at[i].dtype) : 0;
        step->kernel.arg[i] = offset_of(self, p, steps_use(p->lower, s, i).value) + shift;
    }
}

static void gemm_step(const plan_build_t *self, const program_t *p, const lstep_t *s,
                      plan_step_t *step)
{
    plan_gemm_step_t *g = &step->gemm;
    int64_t size = (int64_t)dtype_bytes(s->gemm.dtype), from = s->gemm.bf16 ? 2 : size;
    step->kind = STEP_GEMM;
    *g = s->gemm;
    g->a = offset_of(self, p, s->lhs) + g->a * from;
    g->b = offset_of(self, p, s->rhs) + g->b * from;
    g->c = offset_of(self, p, s->value) + g->c * size;
    steps_cost(p->lower, s, &step->flops, &step->bytes);
    step->label = mem_printf("gemm%s %c%c %lldx%lldx%lld", g->bf16 ? " bf16" : "",
                             g->trans_a ? 't' : 'n', g->trans_b ? 't' : 'n', (long long)g->m,
                             (long long)g->n, (long long)g->k);
    if (g->batch * g->inner > 1) {
        char *label = mem_printf("%s x%lld", step->label, (long long)(g->batch * g->inner));
        free(step->label);
        step->label = label;
    }
}

static void copy_step(const plan_build_t *self, const program_t *p, const lstep_t *s,
                      plan_step_t *step)
{
    int number = s->kind == LOWER_CARRY ? s->to_tensor : p->result[s->to_result];
    const plan_tensor_t *to = &self->tensor.at[number];
    step->kind = STEP_COPY;
    step->copy = (plan_copy_step_t){offset_of(self, p, s->from), (int64_t)to->offset,
                                    (int64_t)to->n_bytes};
    step->bytes = 2 * (double)to->n_bytes;
    step->label = mem_printf("copy %s %s", plan_role_name(to->role), to->name);
}

static void loop_step(const plan_build_t *self, const lstep_t *s, plan_step_t *step)
{
    step->kind = STEP_LOOP;
    step->loop = (plan_loop_step_t){(uint32_t)s->condition, (uint32_t)s->body,
                                    (int64_t)self->tensor.at[s->more].offset};
    step->label = mem_printf("loop %s", self->program.at[s->body]->name);
}

static void prefix_label(plan_step_t *step, const char *prefix)
{
    char *label = mem_printf("%s%s", prefix, step->label);
    free(step->label);
    step->label = label;
}

static void fill_sweeps(const lower_t *lower, plan_program_t *to)
{
    to->sweep = mem_calloc((size_t)to->n_step + 1, sizeof *to->sweep);
    for (int i = 0; i < to->n_step; i = sweep_last(lower, i) + 1) {
        int n = sweep_last(lower, i) - i + 1;
        if (n > 1) to->sweep[to->n_sweep++] = (plan_sweep_t){i, n, lower->step.at[i].strips};
    }
}

static void fill_program(const plan_build_t *self, const program_t *p, plan_program_t *to)
{
    const ir_region_t *body = p->lower->fn->body;
    to->name = mem_strdup(p->name);
    to->temporary_bytes = p->own_bytes + p->n_bytes;
    to->peak = (uint32_t)p->peak;
    to->n_step = (int)p->lower->step.n;
    to->step = mem_calloc((size_t)to->n_step + 1, sizeof *to->step);
    for (int i = 0; i < to->n_step; i++) {
        const lstep_t *s = &p->lower->step.at[i];
        if (s->kind == LOWER_GROUP)
            kernel_step(self, p, s, &to->step[i]);
        else if (s->kind == LOWER_GEMM)
            gemm_step(self, p, s, &to->step[i]);
        else if (s->kind == LOWER_LOOP)
            loop_step(self, s, &to->step[i]);
        else
            copy_step(self, p, s, &to->step[i]);
        if (s->again) prefix_label(&to->step[i], PLAN_AGAIN);
    }
    fill_sweeps(p->lower, to);
    bool *used = mem_calloc(self->tensor.n + 1, sizeof *used);
    for (int i = 0; i < body->n_arg; i++) used[p->param[i]] = true;
    for (int i = 0; i < body->n_result; i++) used[p->result[i]] = true;
    for (int i = 0; i < to->n_step; i++)
        if (p->lower->step.at[i].kind == LOWER_CARRY) used[p->lower->step.at[i].to_tensor] = true;
    to->tensor = mem_calloc(self->tensor.n + 1, sizeof *to->tensor);
    for (size_t i = 0; i < self->tensor.n; i++)
        if (used[i]) to->tensor[to->n_tensor++] = (uint32_t)i;
    free(used);
}

void plan_build_budget(plan_build_t *self, uint64_t n_bytes)
{
    self->budget = n_bytes;
}

plan_t *plan_build_finish(plan_build_t *self, err_t *err)
{
    if (self->program.n == 0) {
        err_set(err, ERR_ARG, "a plan needs at least one public function");
        return NULL;
    }
    for (size_t i = 0; i < self->program.n; i++) storage_assign(self, self->program.at[i]);
    if (self->budget > 0 && arena_fit(self, err) < 0) return NULL;
    for (size_t i = 0; i < self->program.n; i++) storage_finish(self->program.at[i]);
    uint64_t fixed, arena_bytes = arena_assign(self, &fixed);
    if (check_lifetimes(self, fixed, err) < 0) return NULL;
    plan_t *plan = mem_calloc(1, sizeof *plan);
    plan->accumulate = 1;
    plan->alignment = MEMORY_ALIGN;
    plan->arena_bytes = arena_bytes;
    plan->fixed_bytes = fixed;
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
