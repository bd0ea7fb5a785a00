/* The portable backend: plain C99 of the loop-IR alone, for one thread. No vectors, no kernels that
 * are cut for a machine, no library: what every machine with a C compiler can run, slowly. It is
 * the reference that a new renderer is held against. */
#include "codegen/backend.h"
#include "codegen/c/compiler.h"
#include "codegen/render.h"

/* Each operation rounds once, in the order of the text. */
static const target_t targets[] = {
    {"c:scalar",
     {.lanes = 0, .literal = true},
     "-std=c99 -O1 -fno-openmp-simd -fno-tree-vectorize -ffp-contract=off",
     0,
     0},
};

static bool supports(kernel_kind_t kind)
{
    return kind == KERNEL_LOOPS;
}

static uint8_t *compile(const target_t *target, int n_unit, const char *const *unit,
                        size_t *n_bytes, err_t *err)
{
    return compiler_run(NULL, n_unit, unit, target->flags, n_bytes, err);
}

static const target_t *best(void)
{
    return &targets[0];
}

const backend_t backend_c = {
    .prefix = "c",
    .targets = targets,
    .n_target = sizeof targets / sizeof targets[0],
    .supports = supports,
    .render = render_c,
    .compiler = "PCP_CC",
    .head = render_c_head_plain,
    .compile = compile,
    .best = best,
};
