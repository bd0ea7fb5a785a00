/* The CPU backend: C for the system compiler, with vectors, tiles in registers and attention by
 * blocks. Its targets are instruction sets; x86-64 levels as in the System V psABI: a level
 * includes those before it. */
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "codegen/backend.h"
#include "codegen/compiler.h"
#include "codegen/render.h"

enum { MACHINE_X86_64, MACHINE_AARCH64, MACHINE_OTHER };

#define VECTORS(n_lane, n_register)                                                               \
    .lanes = n_lane, .registers = n_register, .attention = true, .stream = true, .library = true, \
    .sweeps = true

/* The best of a machine comes last; one of a level runs every target of its kind up to it. */
static const target_t targets[] = {
    {"cpu:x86-64", {VECTORS(4, 16)}, "-march=x86-64", MACHINE_X86_64, 1},
    {"cpu:x86-64-v2", {VECTORS(4, 16)}, "-march=x86-64-v2", MACHINE_X86_64, 2},
    {"cpu:x86-64-v3", {VECTORS(8, 16)}, "-march=x86-64-v3", MACHINE_X86_64, 3},
    {"cpu:x86-64-v4",
     {VECTORS(16, 32)},
     "-march=x86-64-v4 -mprefer-vector-width=512",
     MACHINE_X86_64,
     4},
    {"cpu:x86-64-v4-bf16",
     {VECTORS(16, 32), .bf16 = true},
     "-march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512",
     MACHINE_X86_64,
     5},
    {"cpu:x86-64-v4-amx",
     {VECTORS(16, 32), .bf16 = true, .matrix = true, .asks = true,
      .near_kib = 2048}, /* all that have AMX */
     "-march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16 -mprefer-vector-width=512",
     MACHINE_X86_64,
     6},
    {"cpu:aarch64", {VECTORS(4, 32)}, "-march=armv8-a", MACHINE_AARCH64, 1},
};
enum { N_TARGET = sizeof targets / sizeof targets[0] };

#if defined(__x86_64__)
static bool has_bits(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

/* Products of bf16 pairs by the vector units; and, with those of i8, by the matrix unit, where the system saves its
 * registers. */
static bool has_bf16(bool *amx)
{
    enum { AVX512_BF16 = 1 << 5, OSXSAVE = 1 << 27 };
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 };
    enum { XCR0_TILES = 3 << 17 };
    uint32_t a = 0, b, c = 0, d = 0, low = 0, high;
    *amx = false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    bool matrix = has_bits(d, AMX_BF16 | AMX_TILE | AMX_INT8);
    if (a < 1 || !__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & AVX512_BF16)) return false;
    __get_cpuid(1, &a, &b, &c, &d);
    if (c & OSXSAVE) __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    *amx = matrix && has_bits(low, XCR0_TILES);
    return true;
}

/* __builtin_cpu_supports also asks whether the operating system saves the wide registers, which
 * feature bits alone do not tell. */
static int host_level(void)
{
    uint32_t a, b, c = 0, d, ext_c = 0;
    __get_cpuid(1, &a, &b, &c, &d);
    __get_cpuid(0x80000001u, &a, &b, &ext_c, &d);
    __builtin_cpu_init();
    if (!has_bits(c, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT)) return 1;
    if (!has_bits(c, bit_MOVBE | bit_F16C) || !has_bits(ext_c, bit_LZCNT)) return 2;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
        return 2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return 3;
    bool amx;
    return !has_bf16(&amx) ? 4 : amx ? 6 : 5;
}
static const int host_machine = MACHINE_X86_64;
#elif defined(__aarch64__)
static int host_level(void)
{
    return 1;
}
static const int host_machine = MACHINE_AARCH64;
#else
static int host_level(void)
{
    return 0;
}
static const int host_machine = MACHINE_OTHER;
#endif

static const target_t *best(void)
{
    const target_t *best = NULL;
    int level = host_level();
    for (int i = 0; i < N_TARGET; i++)
        if (targets[i].machine == host_machine && targets[i].level <= level) best = &targets[i];
    return best;
}

static int runs_here(const target_t *target, err_t *err)
{
    if (target->machine == host_machine && target->level <= host_level()) return 0;
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
    if (target->machine == host_machine) return NULL;
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
