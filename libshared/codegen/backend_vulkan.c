/* The Vulkan backend: GLSL of the loop-IR, compiled to SPIR-V where plans are compiled; devices need
 * a driver alone. Targets differ by what they ask of a device: runtime/vulkan has the list. */
#include "codegen/backend.h"
#include "codegen/vulkan/render_glsl.h"
#include "codegen/vulkan/shaders.h"

enum { WITH_F64 = 1 }; /* target_t.level */

/* SPIR-V 1.3 is Vulkan 1.1's. Both have 64-bit integers, and 8 and 16 bits in memory. Shaders of each device see
 * buffers of 128 MiB at least (maxStorageBufferRange). */
static const target_t targets[] = {
    {"vulkan:spirv1.3",
     {.many = true, .attention = true, .only_f32 = true, .row_kib = 8, .segment_mib = 128},
     "",
     0,
     0},
    {"vulkan:spirv1.3-f64",
     {.many = true, .attention = true, .row_kib = 8, .segment_mib = 128},
     "",
     0,
     WITH_F64},
};

static bool supports(kernel_kind_t kind)
{
    return kind == KERNEL_LOOPS || kind == KERNEL_PRODUCT || kind == KERNEL_ATTENTION;
}

static const char *refuses(const target_t *target, const kernel_t *kernel, char *room, size_t n)
{
    return render_glsl_refuses(kernel, target->level == WITH_F64, room, n);
}

static void symbol(const char *name, const char *body, str_t *out)
{
    str_addf(out, "\n// %s\n%s", name, body);
}

static uint8_t *compile(const target_t *target, int n_unit, const char *const *unit,
                        size_t *n_bytes, err_t *err)
{
    (void)target;
    return shaders_compile(n_unit, unit, n_bytes, err);
}

const backend_t backend_vulkan = {
    .prefix = "vulkan",
    .targets = targets,
    .n_target = sizeof targets / sizeof targets[0],
    .supports = supports,
    .refuses = refuses,
    .render = render_glsl,
    .symbol = symbol,
    .per_source = 1,
    .compiler = "PCP_GLSLC",
    .head = render_glsl_head,
    .compile = compile,
};
