/* Bounds of everything in a plan that the executor later uses unchecked. */
#include "plan/format/check.h"

#include <stdlib.h>

#include "base/mem.h"

static bool inside(uint64_t offset, uint64_t n_bytes, uint64_t arena_bytes)
{
    return n_bytes <= arena_bytes && offset <= arena_bytes - n_bytes;
}

static int check_arena(const plan_t *plan, err_t *err)
{
    uint64_t a = plan->alignment;
    if (a == 0 || (a & (a - 1)) || a > (1u << 30))
        return err_set(err, ERR_CORRUPT, "plan: alignment %llu is no power of two up to 2^30",
                       (unsigned long long)a);
    if (plan->arena_bytes > (uint64_t)INT64_MAX / 2)
        return err_set(err, ERR_CORRUPT, "plan: arena of %llu bytes",
                       (unsigned long long)plan->arena_bytes);
    if (plan->fixed_bytes > plan->arena_bytes)
        return err_set(err, ERR_CORRUPT, "plan: %llu fixed bytes in an arena of %llu",
                       (unsigned long long)plan->fixed_bytes,
                       (unsigned long long)plan->arena_bytes);
    if (plan->accumulate < 1)
        return err_set(err, ERR_CORRUPT, "plan: accumulate %d, want 1 or more", plan->accumulate);
    if (plan->n_tensor < 0 || plan->n_program < 0 || plan->n_kernel < 0 || plan->n_constant < 0)
        return err_set(err, ERR_CORRUPT, "plan: a negative count");
    return 0;
}

static int check_tensor(const plan_t *plan, int i, err_t *err)
{
    const plan_tensor_t *t = &plan->tensor[i];
    if (t->type.dtype <= DT_NONE || t->type.dtype >= DT_COUNT)
        return err_set(err, ERR_CORRUPT, "plan: tensor %s: element type %d", t->name,
                       (int)t->type.dtype);
    if (ir_type_check(&t->type, NULL) < 0)
        return err_set(err, ERR_CORRUPT, "plan: tensor %s: dimensions out of range", t->name);
    if (t->n_bytes != (uint64_t)ir_type_bytes(&t->type))
        return err_set(err, ERR_CORRUPT, "plan: tensor %s: %llu bytes, its type has %lld", t->name,
                       (unsigned long long)t->n_bytes, (long long)ir_type_bytes(&t->type));
    if (!inside(t->offset, t->n_bytes, plan->arena_bytes))
        return err_set(err, ERR_CORRUPT, "plan: tensor %s: ends beyond the arena of %llu bytes",
                       t->name, (unsigned long long)plan->arena_bytes);
    return 0;
}

/* Parameters and states keep their values from step to step, so no two share a byte: together they
 * have no more than the arena, whatever the number of them. Workers hold their parameters twice. */
static int check_kept(const plan_t *plan, err_t *err)
{
    uint64_t left = plan->arena_bytes;
    for (int i = 0; i < plan->n_tensor; i++) {
        const plan_tensor_t *t = &plan->tensor[i];
        if (t->role != ROLE_PARAM && t->role != ROLE_STATE) continue;
        if (t->n_bytes > left)
            return err_set(err, ERR_CORRUPT,
                           "plan: tensor %s: parameters and states up to here have more bytes than "
                           "the arena, %llu",
                           t->name, (unsigned long long)plan->arena_bytes);
        left -= t->n_bytes;
    }
    return 0;
}

static int check_kernel(const plan_t *plan, const plan_kernel_step_t *s, err_t *err)
{
    if (s->kernel >= (uint32_t)plan->n_kernel)
        return err_set(err, ERR_CORRUPT, "kernel %u of %d", s->kernel, plan->n_kernel);
    if (s->begin < 0 || s->extent < 0 || s->begin > INT64_MAX - s->extent || s->grain < 1 ||
        s->n_arg < 0)
        return err_set(err, ERR_CORRUPT, "range %lld of %lld, grain %lld, %d operands",
                       (long long)s->begin, (long long)s->extent, (long long)s->grain, s->n_arg);
    for (int i = 0; i < s->n_arg; i++) {
        bool behind = s->begin > 0 && s->arg[i] < 0 && s->arg[i] > INT64_MIN / 2;
        if (behind) continue; /* what is read of it comes later by the range's beginning */
        if (s->arg[i] < 0 || (uint64_t)s->arg[i] > plan->arena_bytes)
            return err_set(err, ERR_CORRUPT, "operand %d at %lld, the arena has %llu bytes", i,
                           (long long)s->arg[i], (unsigned long long)plan->arena_bytes);
    }
    return 0;
}

static int check_gemm(const plan_t *plan, const plan_gemm_step_t *s, err_t *err)
{
    if (s->parts < 0 || (s->parts > 0 && s->kernel >= (uint32_t)plan->n_kernel))
        return err_set(err, ERR_CORRUPT, "gemm: %lld parts by kernel %u of %d", (long long)s->parts,
                       s->kernel, plan->n_kernel);
    return plan_check_gemm(s, plan->arena_bytes, err);
}

static int check_copy(const plan_t *plan, const plan_copy_step_t *s, err_t *err)
{
    if (s->from < 0 || s->to < 0 || s->n_bytes < 0 ||
        !inside((uint64_t)s->from, (uint64_t)s->n_bytes, plan->arena_bytes) ||
        !inside((uint64_t)s->to, (uint64_t)s->n_bytes, plan->arena_bytes))
        return err_set(err, ERR_CORRUPT, "copy of %lld bytes from %lld to %lld leaves the arena",
                       (long long)s->n_bytes, (long long)s->from, (long long)s->to);
    if (s->from < s->to + s->n_bytes && s->to < s->from + s->n_bytes)
        return err_set(err, ERR_CORRUPT, "copy of %lld bytes from %lld to %lld overlaps",
                       (long long)s->n_bytes, (long long)s->from, (long long)s->to);
    return 0;
}

static int check_loop(const plan_t *plan, const plan_loop_step_t *s, int program, err_t *err)
{
    uint32_t own = (uint32_t)program, n = (uint32_t)plan->n_program;
    if (s->condition <= own || s->body <= own || s->condition >= n || s->body >= n)
        return err_set(err, ERR_CORRUPT, "a loop over programs %u and %u of %u in program %u",
                       s->condition, s->body, n, own);
    if (s->more < 0 || !inside((uint64_t)s->more, 1, plan->arena_bytes))
        return err_set(err, ERR_CORRUPT, "a loop's condition at %lld leaves the arena",
                       (long long)s->more);
    return 0;
}

/* Loops inside loops are calls inside calls: their number is bounded. */
static int check_depth(const plan_t *plan, err_t *err)
{
    int *depth = mem_calloc((size_t)plan->n_program + 1, sizeof *depth), deepest = 0;
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++) {
            const plan_step_t *s = &plan->program[p].step[i];
            if (s->kind != STEP_LOOP) continue;
            const uint32_t inner[2] = {s->loop.condition, s->loop.body};
            for (int k = 0; k < 2; k++)
                if (depth[inner[k]] <= depth[p]) depth[inner[k]] = depth[p] + 1;
            if (depth[p] + 1 > deepest) deepest = depth[p] + 1;
        }
    free(depth);
    if (deepest <= MAX_LOOP_DEPTH) return 0;
    return err_set(err, ERR_CORRUPT, "plan: %d loops inside each other, at most %d run", deepest,
                   MAX_LOOP_DEPTH);
}

static int check_step(const plan_t *plan, int program, const plan_step_t *step, err_t *err)
{
    switch (step->kind) {
    case STEP_KERNEL: return check_kernel(plan, &step->kernel, err);
    case STEP_GEMM: return check_gemm(plan, &step->gemm, err);
    case STEP_COPY: return check_copy(plan, &step->copy, err);
    case STEP_LOOP: return check_loop(plan, &step->loop, program, err);
    }
    return err_set(err, ERR_CORRUPT, "unknown kind %d", (int)step->kind);
}

/* Whoever runs a sweep calls kernels on parts of their steps' work. What the steps do to each other
 * is the compiler's word, like what a kernel does. */
static int check_sweep(const plan_program_t *program, const plan_sweep_t *s, int from, err_t *err)
{
    if (s->first < from || s->n < 2 || s->n > program->n_step - s->first || s->strips < 0)
        return err_set(err, ERR_CORRUPT, "plan: program %s: a sweep of %d steps from %d of %d",
                       program->name, s->n, s->first, program->n_step);
    for (int i = s->first; i < s->first + s->n; i++) {
        const plan_step_t *step = &program->step[i];
        bool called = step->kind == STEP_KERNEL ||
                      (step->kind == STEP_GEMM && step->gemm.parts > 0);
        if (!called || (s->strips > 0 && plan_step_work(step) % s->strips != 0))
            return err_set(err, ERR_CORRUPT, "plan: program %s: step %d in a sweep of %lld strips",
                           program->name, i, (long long)s->strips);
    }
    return 0;
}

static int check_program(const plan_t *plan, int number, err_t *err)
{
    const plan_program_t *program = &plan->program[number];
    for (int i = 0; i < program->n_step; i++) {
        const plan_step_t *step = &program->step[i];
        if (check_step(plan, number, step, err) < 0)
            return err_prefix(err, "plan: program %s, step %d (%s): ", program->name, i,
                              step->label ? step->label : "");
    }
    for (int i = 0, from = 0; i < program->n_sweep; i++) {
        if (check_sweep(program, &program->sweep[i], from, err) < 0) return -1;
        from = program->sweep[i].first + program->sweep[i].n;
    }
    for (int i = 0; i < program->n_tensor; i++) {
        if (program->tensor[i] >= (uint32_t)plan->n_tensor)
            return err_set(err, ERR_CORRUPT, "plan: program %s names tensor %u of %d",
                           program->name, program->tensor[i], plan->n_tensor);
        if (i > 0 && program->tensor[i] <= program->tensor[i - 1])
            return err_set(err, ERR_CORRUPT, "plan: program %s names tensor %u behind tensor %u",
                           program->name, program->tensor[i], program->tensor[i - 1]);
    }
    return 0;
}

int plan_check(const plan_t *plan, err_t *err)
{
    if (check_arena(plan, err) < 0) return -1;
    for (int i = 0; i < plan->n_tensor; i++) {
        if (check_tensor(plan, i, err) < 0) return -1;
    }
    if (check_kept(plan, err) < 0) return -1;
    for (int i = 0; i < plan->n_constant; i++) {
        if (!inside(plan->constant[i].offset, plan->constant[i].n_bytes, plan->arena_bytes))
            return err_set(err, ERR_CORRUPT, "plan: constant %d ends beyond the arena", i);
    }
    for (int i = 0; i < plan->n_program; i++) {
        if (check_program(plan, i, err) < 0) return -1;
    }
    return check_depth(plan, err);
}
