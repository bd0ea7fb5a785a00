/* How each matrix product of a program is computed. */
#include "plan/assemble/assemble.h"
#include "plan/kernel/tiles.h"
#include "plan/lower/product_loops.h"

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

/* For devices of many threads: a small tile for a few of them. */
static bool choose_many(plan_build_t *self, lstep_t *step)
{
    const plan_gemm_step_t *s = &step->gemm;
    if (!self->caps.many || s->dtype != DT_F32 || s->m < 1 || s->n < 1 || s->k < 1) return false;
    kernel_t *kernel = kernel_new();
    product_t *product = mem_calloc(1, sizeof *product);
    product->step = *s;
    tiles_choose_many(&product->tiles, s);
    kernel->kind = KERNEL_PRODUCT;
    kernel->product = product;
    kernel->extent = tiles_n_many(product);
    add_product(self, step, kernel, product, kernel->extent);
    return true;
}

/* By a kernel for registers, by the device's library, or by loops. */
void choose_product(plan_build_t *self, lstep_t *step)
{
    if (choose_many(self, step) || choose_tiles(self, step) || self->caps.library) return;
    bool many = self->caps.many;
    add_product(self, step, product_loops(&step->gemm, many), NULL,
                product_pieces(&step->gemm, many));
}
