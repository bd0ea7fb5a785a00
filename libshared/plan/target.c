/* Target names, what each asks of the processor, and the compiler flags that go with it.
 * x86-64 levels as in the System V psABI: a level includes those before it. */
#include "plan/target.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

typedef enum { MACHINE_X86_64, MACHINE_AARCH64, MACHINE_OTHER } machine_t;

typedef struct {
    const char *name;
    machine_t machine;
    int level; /* a machine of this level runs every target of the same machine up to it */
    const char *cflags;
    simd_t simd;
} target_t;

/* The best of a machine comes last. */
static const target_t targets[] = {
    {"cpu:x86-64", MACHINE_X86_64, 1, "-march=x86-64", {.lanes = 4, .registers = 16}},
    {"cpu:x86-64-v2", MACHINE_X86_64, 2, "-march=x86-64-v2", {.lanes = 4, .registers = 16}},
    {"cpu:x86-64-v3", MACHINE_X86_64, 3, "-march=x86-64-v3", {.lanes = 8, .registers = 16}},
    {"cpu:x86-64-v4",
     MACHINE_X86_64,
     4,
     "-march=x86-64-v4 -mprefer-vector-width=512",
     {.lanes = 16, .registers = 32}},
    {"cpu:x86-64-v4-bf16",
     MACHINE_X86_64,
     5,
     "-march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512",
     {.lanes = 16, .registers = 32, .bf16 = true}},
    {"cpu:x86-64-v4-amx",
     MACHINE_X86_64,
     6,
     "-march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16 -mprefer-vector-width=512",
     {.lanes = 16, .registers = 32, .bf16 = true, .amx = true}},
    {"cpu:aarch64", MACHINE_AARCH64, 1, "-march=armv8-a", {.lanes = 4, .registers = 32}},
};
enum { N_TARGET = sizeof targets / sizeof targets[0] };

#define KNOWN_TARGETS                                                               \
    "cpu:x86-64, cpu:x86-64-v2, cpu:x86-64-v3, cpu:x86-64-v4, cpu:x86-64-v4-bf16, " \
    "cpu:x86-64-v4-amx, cpu:aarch64"

static const target_t *find(const char *name)
{
    for (int i = 0; i < N_TARGET; i++) {
        if (strcmp(targets[i].name, name) == 0) return &targets[i];
    }
    return NULL;
}

#if defined(__x86_64__)
static bool has_bits(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

/* Products of bf16 pairs by the vector units; and by the matrix unit, where the system saves its
 * registers. */
static bool has_bf16(bool *amx)
{
    enum { AVX512_BF16 = 1 << 5, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, OSXSAVE = 1 << 27 };
    enum { XCR0_TILES = 3 << 17 };
    uint32_t a = 0, b, c = 0, d = 0, low = 0, high;
    *amx = false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    bool matrix = has_bits(d, AMX_BF16 | AMX_TILE);
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
static const machine_t host_machine = MACHINE_X86_64;
#elif defined(__aarch64__)
static int host_level(void)
{
    return 1;
}
static const machine_t host_machine = MACHINE_AARCH64;
#else
static int host_level(void)
{
    return 0;
}
static const machine_t host_machine = MACHINE_OTHER;
#endif

static const char *best_of_host(void)
{
    const char *best = "cpu:unknown";
    int level = host_level();
    for (int i = 0; i < N_TARGET; i++) {
        if (targets[i].machine == host_machine && targets[i].level <= level) best = targets[i].name;
    }
    return best;
}

const char *target_host(void)
{
    const char *wanted = getenv("PCP_TARGET");
    return wanted && *wanted ? wanted : best_of_host();
}

const char *target_name(int i)
{
    return i >= 0 && i < N_TARGET ? targets[i].name : NULL;
}

int target_check(const char *target, err_t *err)
{
    if (target && find(target)) return 0;
    return err_set(err, ERR_ARG, "unknown target \"%s\"; known: " KNOWN_TARGETS,
                   target ? target : "(none)");
}

int target_runs_here(const char *target, err_t *err)
{
    if (target_check(target, err) < 0) return -1;
    const target_t *t = find(target);
    if (t->machine == host_machine && t->level <= host_level()) return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "the plan is for %s, this machine offers %s: compile it again for %s", target,
                   best_of_host(), best_of_host());
}

const char *target_cflags(const char *target)
{
    const target_t *t = target ? find(target) : NULL;
    return t ? t->cflags : NULL;
}

const char *target_compiler(const char *target)
{
    const target_t *t = target ? find(target) : NULL;
    if (!t || t->machine == host_machine) return NULL;
    return t->machine == MACHINE_AARCH64 ? "aarch64-linux-gnu-gcc" : "x86_64-linux-gnu-gcc";
}

simd_t target_simd(const char *target)
{
    const target_t *t = target ? find(target) : NULL;
    return t ? t->simd : (simd_t){0};
}
