/* The CPU backend: C for the system compiler, with vectors, tiles in registers and attention by
 * blocks. Its targets are instruction sets; x86-64 levels as in the System V psABI: a level
 * includes those before it. */
#include "codegen/backend.h"
#include "codegen/c/compiler.h"
#include "codegen/c/host_cpu.h"
#include "codegen/render.h"

#define VECTORS(n_lane, n_register)                                                               \
    .lanes = n_lane, .registers = n_register, .attention = true, .stream = true, .library = true, \
    .sweeps = true

/* The best of a machine comes last, but for those that do not suit it; one of a level runs every target of its kind up to it. */
static const target_t targets[] = {
    {"cpu:x86-64", {VECTORS(4, 16)}, "-march=x86-64", MACHINE_X86_64, LEVEL_1},
    {"cpu:x86-64-v2", {VECTORS(4, 16)}, "-march=x86-64-v2", MACHINE_X86_64, LEVEL_2},
    {"cpu:x86-64-v3", {VECTORS(8, 16)}, "-march=x86-64-v3", MACHINE_X86_64, LEVEL_3},
    {"cpu:x86-64-v4",
     {VECTORS(16, 32)},
     "-march=x86-64-v4 -mprefer-vector-width=512",
     MACHINE_X86_64,
     LEVEL_4},
    {"cpu:x86-64-v4-vnni",
     {VECTORS(16, 32), .fours = true},
     "-march=x86-64-v4 -mavx512vnni -mprefer-vector-width=512",
     MACHINE_X86_64,
     LEVEL_FOURS},
    {"cpu:x86-64-v4-2m",
     {VECTORS(16, 32), .fours = true, .asks = true, .near_kib = 2048, .wide = true},
     "-march=x86-64-v4 -mavx512vnni -mprefer-vector-width=512",
     MACHINE_X86_64,
     LEVEL_FOURS},
    {"cpu:x86-64-v4-bf16",
     {VECTORS(16, 32), .fours = true, .bf16 = true},
     "-march=x86-64-v4 -mavx512vnni -mavx512bf16 -mprefer-vector-width=512",
     MACHINE_X86_64,
     LEVEL_PAIRS},
    {"cpu:x86-64-v4-bf16-wide",
     {VECTORS(16, 32), .fours = true, .bf16 = true, .asks = true, .near_kib = 1024, .wide = true,
      .ahead = true, .panels = true},
     "-march=x86-64-v4 -mavx512vnni -mavx512bf16 -mprefer-vector-width=512",
     MACHINE_X86_64,
     LEVEL_PAIRS},
    {"cpu:x86-64-v4-amx",
     {VECTORS(16, 32), .bf16 = true, .matrix = true, .asks = true, .near_kib = 2048,
      .wide = true}, /* all that have AMX */
     "-march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16 -mprefer-vector-width=512",
     MACHINE_X86_64,
     LEVEL_AMX},
    {"cpu:aarch64", {VECTORS(4, 32)}, "-march=armv8-a", MACHINE_AARCH64, LEVEL_1},
};
enum { N_TARGET = sizeof targets / sizeof targets[0] };

static bool runs_on_host(const target_t *target)
{
    return target->machine == host_cpu_machine && target->level <= host_cpu_level();
}

/* Of those that run here: is it what this machine is good at? A matrix unit is wherever it is. */
static bool suits_host(const target_t *target)
{
    const caps_t *caps = &target->caps;
    if (caps->matrix) return true;
    if (caps->wide && !host_cpu_wide()) return false;
    return caps->near_kib <= host_cpu_near_kib() && (!caps->bf16 || host_cpu_pairs_pay());
}

static const target_t *best(void)
{
    const target_t *best = NULL;
    for (int i = 0; i < N_TARGET; i++)
        if (runs_on_host(&targets[i]) && suits_host(&targets[i])) best = &targets[i];
    return best;
}

static int runs_here(const target_t *target, err_t *err)
{
    if (runs_on_host(target)) return 0;
    const target_t *offered = best();
    return err_set(
        err, ERR_UNSUPPORTED, "the plan is for %s, this machine offers %s: compile it again for %s",
        target->name, offered ? offered->name : "c:scalar", offered ? offered->name : "c:scalar");
}

static bool supports(kernel_kind_t kind)
{
    (void)kind;
    return true;
}

/* The cross compiler that Debian has for it; NULL: the machine's own compiler will do. */
static const char *cross_compiler(const target_t *target)
{
    if (target->machine == host_cpu_machine) return NULL;
    return target->machine == MACHINE_AARCH64 ? "aarch64-linux-gnu-gcc" : "x86_64-linux-gnu-gcc";
}

static uint8_t *compile(const target_t *target, int n_unit, const char *const *unit,
                        size_t *n_bytes, err_t *err)
{
    return compiler_run(cross_compiler(target), n_unit, unit, target->flags, n_bytes, err);
}

const backend_t backend_cpu = {
    .prefix = "cpu",
    .targets = targets,
    .n_target = N_TARGET,
    .supports = supports,
    .render = render_c,
    .compiler = "PCP_CC",
    .head = render_c_head,
    .compile = compile,
    .best = best,
    .runs_here = runs_here,
};
