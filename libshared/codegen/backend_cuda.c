/* The CUDA backend: CUDA C++ of the loop-IR, compiled by nvcc where plans are compiled; devices need a
 * driver alone, and those that compile no device. A cubin runs on its architecture and on later ones of the same
 * major number. */
#include "codegen/backend.h"
#include "codegen/cuda/cubins.h"
#include "codegen/cuda/nvcc.h"
#include "codegen/cuda/render_cuda.h"
#include "codegen/prelude/prelude_text.h"

#define CAPS                                                                        \
    {                                                                               \
        .many = true, .votes = true, .bf16 = true, .attention = true, .row_kib = 8, \
        .part_mib = 512                                                             \
    }

/* flags: the architecture; machine: its major number, level: its minor one. */
static const target_t targets[] = {
    {"cuda:sm_80", CAPS, "sm_80", 8, 0},    {"cuda:sm_86", CAPS, "sm_86", 8, 6},
    {"cuda:sm_89", CAPS, "sm_89", 8, 9},    {"cuda:sm_90", CAPS, "sm_90", 9, 0},
    {"cuda:sm_100", CAPS, "sm_100", 10, 0}, {"cuda:sm_120", CAPS, "sm_120", 12, 0},
};

static const cuda_dialect_t dialect = {.warp = 32,
                                       .words = prelude_cuda_text,
                                       .attention = prelude_cuda_attention_text,
                                       .product = prelude_cuda_product_text};

static void render(const kernel_t *kernel, helpers_t *helpers, str_t *out)
{
    (void)helpers;
    render_cuda(&dialect, kernel, out);
}

static void head(str_t *out, int n, char *const *text)
{
    render_cuda_head(&dialect, out, n, text);
}

static uint8_t *compile(const target_t *target, int n_unit, const char *const *unit,
                        size_t *n_bytes, err_t *err)
{
    return cubins_compile(nvcc_run, target->flags, n_unit, unit, n_bytes, err);
}

const backend_t backend_cuda = {
    .prefix = "cuda",
    .targets = targets,
    .n_target = sizeof targets / sizeof targets[0],
    .supports = render_cuda_supports,
    .refuses = render_cuda_refuses,
    .render = render,
    .symbol = render_cuda_symbol,
    .per_source = 8,
    .compiler = "PCP_NVCC",
    .head = head,
    .compile = compile,
};
