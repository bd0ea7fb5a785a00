/* The HIP backend, for AMD's devices: CUDA's kernels with HIP's words (prelude_hip.cuh), compiled by clang where plans are
 * compiled. A code object runs on its architecture alone. */
#include "codegen/backend.h"
#include "codegen/cuda/cubins.h"
#include "codegen/cuda/hipcc.h"
#include "codegen/cuda/render_cuda.h"
#include "codegen/prelude/prelude_text.h"

#define CAPS                                                                        \
    {                                                                               \
        .many = true, .votes = true, .bf16 = true, .attention = true, .row_kib = 8, \
        .part_mib = 512                                                             \
    }

/* flags: the architecture. */
static const target_t targets[] = {
    {"hip:gfx90a", CAPS, "gfx90a", 0, 0},
    {"hip:gfx942", CAPS, "gfx942", 0, 0},
    {"hip:gfx1100", CAPS, "gfx1100", 0, 0},
};

/* Groups are whole wavefronts of every architecture. */
static const cuda_dialect_t dialect = {.warp = 64, .words = prelude_hip_text};

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
    return cubins_compile(hipcc_run, target->flags, n_unit, unit, n_bytes, err);
}

const backend_t backend_hip = {
    .prefix = "hip",
    .targets = targets,
    .n_target = sizeof targets / sizeof targets[0],
    .supports = render_cuda_supports,
    .refuses = render_cuda_refuses,
    .render = render,
    .symbol = render_cuda_symbol,
    .per_source = 8,
    .compiler = "PCP_HIPCC",
    .head = head,
    .compile = compile,
};
