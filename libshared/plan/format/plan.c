/* Plans as data: roles, look-up, disposal. */
#include "plan/format/plan.h"

#include <stdlib.h>
#include <string.h>

static const char *const role_names[] = {
    [ROLE_PARAM] = "param",
    [ROLE_STATE] = "state",
    [ROLE_ACCUMULATOR] = "accumulator",
    [ROLE_BATCH] = "batch",
    [ROLE_SCALAR] = "scalar",
    [ROLE_RESULT] = "result",
    [ROLE_CONSTANT] = "constant",
    [ROLE_TEMPORARY] = "temporary",
};

const char *plan_role_name(plan_role_t role)
{
    return role >= ROLE_PARAM && role <= ROLE_TEMPORARY ? role_names[role] : "unknown";
}

int plan_role_parse(const char *text, plan_role_t *role, err_t *err)
{
    for (int i = ROLE_PARAM; i <= ROLE_TEMPORARY; i++)
        if (strcmp(text, role_names[i]) == 0) {
            *role = (plan_role_t)i;
            return 0;
        }
    return err_set(err, ERR_ARG,
                   "role \"%s\" is none of param, state, accumulator, batch, scalar, result", text);
}

static void free_step(plan_step_t *step)
{
    free(step->label);
    if (step->kind == STEP_KERNEL) free(step->kernel.arg);
}

static void free_program(plan_program_t *program)
{
    for (int i = 0; i < program->n_step; i++) free_step(&program->step[i]);
    free(program->step);
    free(program->sweep);
    free(program->tensor);
    free(program->name);
}

void plan_destroy(plan_t **self_p)
{
    plan_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    for (int i = 0; i < self->n_tensor; i++) free(self->tensor[i].name);
    for (int i = 0; i < self->n_program; i++) free_program(&self->program[i]);
    for (int i = 0; i < self->n_kernel; i++) free(self->kernel_name[i]);
    for (int i = 0; i < self->n_constant; i++) free(self->constant[i].bytes);
    free(self->tensor);
    free(self->program);
    free(self->kernel_name);
    free(self->constant);
    free(self->code);
    free(self->target);
    free(self->module_hash);
    free(self->spec);
    free(self);
}

const plan_program_t *plan_find_program(const plan_t *self, const char *name)
{
    for (int i = 0; i < self->n_program; i++)
        if (strcmp(self->program[i].name, name) == 0) return &self->program[i];
    return NULL;
}

int64_t plan_woven_fill(int64_t n)
{
    return (n + PLAN_WOVEN - 1) / PLAN_WOVEN * PLAN_WOVEN;
}

int64_t plan_woven_rows(const plan_gemm_step_t *step)
{
    return plan_woven_fill(step->stride_b > 0 ? step->batch * step->k : step->k);
}

int64_t plan_woven_count(const plan_gemm_step_t *step)
{
    return plan_woven_fill(step->n) * plan_woven_rows(step);
}

int64_t plan_step_work(const plan_step_t *step)
{
    return step->kind == STEP_GEMM ? step->gemm.parts : step->kernel.extent;
}

int plan_find_tensor(const plan_t *self, plan_role_t role, const char *name)
{
    for (int i = 0; i < self->n_tensor; i++)
        if (self->tensor[i].role == role && strcmp(self->tensor[i].name, name) == 0) return i;
    return -1;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

bool plan_trains_on(const plan_t *self, int tensor)
{
    if (self->tensor[tensor].role != ROLE_BATCH) return false;
    const plan_program_t *program = plan_find_program(self, "train");
    if (!program) program = plan_find_program(self, "accumulate");
    if (!program) return true;
    const uint32_t key = (uint32_t)tensor;
    return program->n_tensor > 0 &&
           bsearch(&key, program->tensor, (size_t)program->n_tensor, sizeof key, by_number);
}
