/* Lowered programs as the plan's own: steps that carry offsets. */
#include <string.h>

#include "plan/assemble/assemble.h"
#include "plan/schedule/steps.h"
#include "plan/schedule/sweep.h"

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
        step_use_t use = steps_use(p->lower, s, i);
        int64_t shift = use.at + (s->shift ? s->shift[i] : 0);
        step->kernel.arg[i] = offset_of(self, p, use.value) +
                              shift * (int64_t)dtype_bytes(k->arg.at[i].dtype);
    }
}

static void gemm_step(const plan_build_t *self, const program_t *p, const lstep_t *s,
                      plan_step_t *step)
{
    plan_gemm_step_t *g = &step->gemm;
    int64_t size = (int64_t)dtype_bytes(s->gemm.dtype), from = s->gemm.bf16 ? 2 : size;
    step->kind = STEP_GEMM;
    *g = s->gemm;
    const step_use_t a = steps_use(p->lower, s, 0), b = steps_use(p->lower, s, 1),
                     c = steps_use(p->lower, s, 2);
    g->a = offset_of(self, p, a.value) + (a.at + g->a) * from;
    g->b = offset_of(self, p, b.value) + (b.at + g->b) * from;
    g->c = offset_of(self, p, c.value) + (c.at + g->c) * size;
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
    const step_use_t from = steps_use(p->lower, s, 0);
    dtype_t dtype = ir_type_of(p->lower->fn, s->from)->dtype;
    int64_t at = offset_of(self, p, from.value) + from.at * (int64_t)dtype_bytes(dtype);
    step->copy = (plan_copy_step_t){at, (int64_t)to->offset, (int64_t)to->n_bytes};
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

void fill_program(const plan_build_t *self, const program_t *p, plan_program_t *to)
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
