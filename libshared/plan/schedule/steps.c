/* Accesses of steps. */
#include "plan/schedule/steps.h"

#include <string.h>

static const kernel_t *kernel_of(const lower_t *lower, const lstep_t *step)
{
    return lower->group.at[step->group]->kernel;
}

int steps_n_use(const lower_t *lower, const lstep_t *step)
{
    switch (step->kind) {
    case LOWER_GROUP: return (int)kernel_of(lower, step)->arg.n;
    case LOWER_GEMM: return 3;
    case LOWER_COPY:
    case LOWER_CARRY: return 1;
    case LOWER_LOOP: break;
    }
    return 0;
}

step_use_t steps_use_of(const lower_t *lower, ir_val_t v, bool written)
{
    const lvalue_t *lv = &lower->value[v];
    if (lv->whole) return (step_use_t){lv->whole, written, v, lv->whole_at};
    return (step_use_t){v, written, v, 0};
}

step_use_t steps_use(const lower_t *lower, const lstep_t *step, int i)
{
    if (step->kind == LOWER_GROUP) {
        const karg_t *arg = &kernel_of(lower, step)->arg.at[i];
        step_use_t use = steps_use_of(lower, step->arg ? step->arg[i] : arg->value, arg->written);
        use.at += arg->at;
        return use;
    }
    if (step->kind != LOWER_GEMM) return steps_use_of(lower, step->from, false);
    if (i == 2) return steps_use_of(lower, step->value, true);
    return steps_use_of(lower, i ? step->rhs : step->lhs, false);
}

void steps_set(lower_t *lower, lstep_t *step, int i, ir_val_t v)
{
    if (step->kind == LOWER_GEMM) {
        *(i == 2 ? &step->value : i ? &step->rhs : &step->lhs) = v;
    } else if (step->kind != LOWER_GROUP) {
        step->from = v;
    } else {
        const kernel_t *kernel = kernel_of(lower, step);
        ir_val_t *arg = ARENA_ARRAY(lower->fn->module->arena, ir_val_t, kernel->arg.n);
        for (size_t a = 0; a < kernel->arg.n; a++) arg[a] = steps_use(lower, step, (int)a).value;
        arg[i] = v;
        step->arg = arg;
    }
}

ir_val_t steps_fresh(lower_t *lower, ir_val_t v, const ir_type_t *type)
{
    ir_val_t fresh = ir_region_new(lower->fn, 1, type)->arg;
    lower->value = mem_realloc(lower->value, lower->fn->n_value * sizeof *lower->value);
    lower->value[fresh] = lower->value[v];
    return fresh;
}

void steps_cost(const lower_t *lower, const lstep_t *step, double *flops, double *bytes)
{
    *flops = *bytes = 0;
    if (step->kind == LOWER_GROUP) {
        const kernel_t *kernel = kernel_of(lower, step);
        double share = kernel->extent > 0 && step->extent > 0
                           ? (double)step->extent / (double)kernel->extent
                           : 1;
        *flops = kernel->flops * share;
        *bytes = kernel->bytes * share;
    } else if (step->kind == LOWER_GEMM) {
        const plan_gemm_step_t *g = &step->gemm;
        double count = (double)g->batch * (double)g->inner, from = g->bf16 ? 2 : 4;
        double m = (double)g->m, n = (double)g->n, k = (double)g->k;
        double size = (double)dtype_bytes(g->dtype);
        *flops = 2 * count * m * n * k;
        *bytes = count * ((m * k + k * n) * (g->bf16 ? from : size) + m * n * size);
    }
}
