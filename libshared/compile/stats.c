/* Counts over a module and its plan. */
#include "compile/stats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/op.h"

typedef struct {
    int code, n;
} count_t;

static void count_ops(const ir_region_t *region, count_t *counts)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        counts[op->code].n++;
        for (int r = 0; r < op->n_region; r++) count_ops(op->region[r], counts);
    }
}

/* Most frequent first, then in the table's order. */
static int by_count(const void *a, const void *b)
{
    const count_t *x = a, *y = b;
    return x->n != y->n ? y->n - x->n : x->code - y->code;
}

static void print_ops(const ir_fn_t *fn, str_t *out)
{
    count_t counts[OP_COUNT];
    int n_op = 0, n_kind = 0;
    for (int i = 0; i < OP_COUNT; i++) counts[i] = (count_t){i, 0};
    count_ops(fn->body, counts);
    for (int i = 0; i < OP_COUNT; i++) {
        n_op += counts[i].n;
        n_kind += counts[i].n > 0;
    }
    qsort(counts, OP_COUNT, sizeof *counts, by_count);
    str_addf(out, "  %d ops:", n_op);
    for (int i = 0; i < n_kind; i++) {
        const char *name = op_def((op_code_t)counts[i].code)->name;
        if (str_starts(name, "stablehlo.")) name += strlen("stablehlo.");
        str_addf(out, "%s %d %s", i ? "," : "", counts[i].n, name);
    }
    str_add(out, "\n");
}

static void print_steps(const plan_program_t *program, str_t *out)
{
    static const char *const names[] = {[STEP_KERNEL] = "kernels",
                                        [STEP_GEMM] = "products",
                                        [STEP_COPY] = "copies",
                                        [STEP_LOOP] = "loops"};
    double all_flops = 0, all_bytes = 0;
    for (int kind = STEP_KERNEL; kind <= STEP_LOOP; kind++) {
        int n = 0;
        double flops = 0, bytes = 0;
        for (int i = 0; i < program->n_step; i++) {
            const plan_step_t *s = &program->step[i];
            if ((int)s->kind != kind) continue;
            n++;
            flops += s->flops;
            bytes += s->bytes;
        }
        all_flops += flops;
        all_bytes += bytes;
        str_addf(out, "  %-10s %6d steps %14.0f FLOPs %14.0f bytes\n", names[kind], n, flops,
                 bytes);
    }
    str_addf(out, "  %-10s %6d steps %14.0f FLOPs %14.0f bytes\n", "together", program->n_step,
             all_flops, all_bytes);
}

/* Steps that run once more in the place of memory, by label, most first. */
static void print_again(const plan_program_t *program, str_t *out)
{
    size_t n_prefix = strlen(PLAN_AGAIN);
    double flops = 0, bytes = 0;
    int n_again = 0;
    for (int i = 0; i < program->n_step; i++) {
        const plan_step_t *s = &program->step[i];
        if (strncmp(s->label, PLAN_AGAIN, n_prefix) != 0) continue;
        n_again++;
        flops += s->flops;
        bytes += s->bytes;
    }
    if (n_again == 0) return;
    str_addf(out, "  %-10s %6d steps %14.0f FLOPs %14.0f bytes, recomputed for less memory\n",
             "of these", n_again, flops, bytes);
    for (int i = 0; i < program->n_step; i++) {
        const char *label = program->step[i].label;
        int n = 0;
        if (strncmp(label, PLAN_AGAIN, n_prefix) != 0) continue;
        for (int k = 0; k < program->n_step && (k >= i || n == 0); k++)
            if (strcmp(program->step[k].label, label) == 0) n = k < i ? -1 : n + 1;
        if (n > 0) str_addf(out, "    %4d times %s\n", n, label + n_prefix);
    }
}

static void print_peak(const plan_program_t *program, str_t *out)
{
    if (program->temporary_bytes == 0) return;
    str_addf(out, "  temporaries %" PRIu64 " bytes, most at step %u: %s\n",
             program->temporary_bytes, program->peak, program->step[program->peak].label);
}

/* Of the tensors of a role: those that keep their memory, or those that lie among temporaries. */
static uint64_t role_bytes(const plan_t *plan, plan_role_t role, bool kept)
{
    uint64_t bytes = 0;
    for (int i = 0; i < plan->n_tensor; i++) {
        const plan_tensor_t *t = &plan->tensor[i];
        if (t->role == role && (t->offset < plan->fixed_bytes) == kept) bytes += t->n_bytes;
    }
    return bytes;
}

static void print_arena(const plan_t *plan, str_t *out)
{
    uint64_t listed = 0, constants = 0;
    for (int i = 0; i < plan->n_constant; i++) constants += plan->constant[i].n_bytes;
    str_addf(out, "%d kernels, %d constants of %" PRIu64 " bytes\narena %" PRIu64 " bytes",
             plan->n_kernel, plan->n_constant, constants, plan->arena_bytes);
    for (plan_role_t role = ROLE_PARAM; role < ROLE_TEMPORARY; role++) {
        uint64_t bytes = role_bytes(plan, role, true);
        if (bytes == 0) continue;
        listed += bytes;
        str_addf(out, ", %s %" PRIu64, plan_role_name(role), bytes);
    }
    uint64_t rest = plan->arena_bytes > listed ? plan->arena_bytes - listed : 0;
    str_addf(out, ", temporaries and padding %" PRIu64, rest);
    uint64_t among = role_bytes(plan, ROLE_RESULT, false);
    if (among > 0) str_addf(out, ", results among these %" PRIu64, among);
    str_add(out, "\n");
}

void stats_print(const ir_module_t *module, const plan_t *plan, str_t *out)
{
    for (int i = 0; i < plan->n_program; i++) {
        const plan_program_t *program = &plan->program[i];
        const ir_fn_t *fn = ir_module_find(module, program->name);
        str_addf(out, "program %s\n", program->name);
        if (fn) print_ops(fn, out);
        print_steps(program, out);
        print_again(program, out);
        print_peak(program, out);
    }
    print_arena(plan, out);
}
