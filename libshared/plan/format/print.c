/* The listing that `pcp compile --emit plan` shows. */
#include "plan/format/print.h"

#include <inttypes.h>

static void print_gemm(const plan_gemm_step_t *g, str_t *out)
{
    str_addf(out, "  c=%" PRId64 " a=%" PRId64 " b=%" PRId64 " ld %" PRId64 " %" PRId64 " %" PRId64,
             g->c, g->a, g->b, g->ldc, g->lda, g->ldb);
    if (g->batch * g->inner > 1)
        str_addf(out,
                 "  batch %" PRId64 " x %" PRId64 " strides %" PRId64 "/%" PRId64 " %" PRId64
                 "/%" PRId64 " %" PRId64 "/%" PRId64,
                 g->batch, g->inner, g->stride_c, g->inner_c, g->stride_a, g->inner_a, g->stride_b,
                 g->inner_b);
}

/* Of the sweep that step i is in: "|" by strips, ":" apart; " " when in none. */
static char sweep_mark(const plan_program_t *program, int i)
{
    for (int k = 0; k < program->n_sweep; k++) {
        const plan_sweep_t *s = &program->sweep[k];
        if (i >= s->first && i < s->first + s->n) return s->strips > 0 ? '|' : ':';
    }
    return ' ';
}

static void print_step(const plan_t *plan, const plan_program_t *program, int i, str_t *out)
{
    const plan_step_t *s = &program->step[i];
    str_addf(out, "%c %4d %-44s", sweep_mark(program, i), i, s->label);
    if (s->kind == STEP_GEMM) {
        print_gemm(&s->gemm, out);
    } else if (s->kind == STEP_COPY) {
        str_addf(out, "  %" PRId64 " -> %" PRId64 ", %" PRId64 " bytes", s->copy.from, s->copy.to,
                 s->copy.n_bytes);
    } else if (s->kind == STEP_LOOP) {
        str_addf(out, "  while %s leaves %" PRId64 " true", plan->program[s->loop.condition].name,
                 s->loop.more);
    } else {
        const plan_kernel_step_t *k = &s->kernel;
        str_addf(out, "  %s [0, %" PRId64 ") by %" PRId64 " (",
                 plan->kernel_name ? plan->kernel_name[k->kernel] : "?", k->extent, k->grain);
        for (int a = 0; a < k->n_arg; a++) str_addf(out, a ? " %" PRId64 : "%" PRId64, k->arg[a]);
        str_add(out, ")");
    }
    str_add(out, "\n");
}

void plan_print(const plan_t *plan, str_t *out)
{
    char type[IR_TYPE_TEXT];
    str_addf(out, "plan for %s: arena %" PRIu64 " bytes, %d kernels, %d constants\n",
             plan->target ? plan->target : "?", plan->arena_bytes, plan->n_kernel,
             plan->n_constant);
    for (int i = 0; i < plan->n_tensor; i++) {
        const plan_tensor_t *t = &plan->tensor[i];
        str_addf(out, "  %-11s %-28s %-24s @%" PRIu64 "\n", plan_role_name(t->role), t->name,
                 ir_type_text(&t->type, type), t->offset);
    }
    for (int i = 0; i < plan->n_program; i++) {
        const plan_program_t *p = &plan->program[i];
        double flops = 0;
        int together = 0; /* steps that follow another one of their sweep */
        for (int s = 0; s < p->n_sweep; s++) together += p->sweep[s].n - 1;
        for (int s = 0; s < p->n_step; s++)
            flops += p->step[s].kind == STEP_GEMM ? p->step[s].flops : 0;
        str_addf(out, "\nprogram %s: %d steps, %d waits, %.3f GFLOP in products\n", p->name,
                 p->n_step, p->n_step - together, flops / 1e9);
        for (int s = 0; s < p->n_step; s++) print_step(plan, p, s, out);
    }
}
