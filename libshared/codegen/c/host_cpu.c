#include "codegen/c/host_cpu.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>

const int host_cpu_machine = MACHINE_X86_64;

static bool has_bits(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

/* Products of bf16 pairs by the vector units; and, with those of i8, by the matrix unit, where the system saves its
 * registers. */
static bool has_pairs(bool *amx)
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
int host_cpu_level(void)
{
    uint32_t a, b, c = 0, d, ext_c = 0;
    __get_cpuid(1, &a, &b, &c, &d);
    __get_cpuid(0x80000001u, &a, &b, &ext_c, &d);
    __builtin_cpu_init();
    if (!has_bits(c, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT)) return LEVEL_1;
    if (!has_bits(c, bit_MOVBE | bit_F16C) || !has_bits(ext_c, bit_LZCNT)) return LEVEL_2;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
        return LEVEL_2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return LEVEL_3;
    bool amx;
    if (!__builtin_cpu_supports("avx512vnni")) return LEVEL_4;
    return !has_pairs(&amx) ? LEVEL_FOURS : amx ? LEVEL_AMX : LEVEL_PAIRS;
}

/* --- The pace of pairs ------------------------------------------------------------------------- */

enum {
    TURNS = 1000, /* of a burst: some ten microseconds, which few interruptions meet */
    BURSTS = 16,  /* of either kind in turn; the fastest counts */
};

/* Twelve sums, which do not wait for each other, each one instruction however this file is compiled. */
#define SUMS(each)                                                                           \
    each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) each(8) each(9) each(10) \
        each(11)
#define PAIR(i) "vdpbf16ps %%zmm31, %%zmm31, %%zmm" #i "\n\t"
#define MULTIPLY_ADD(i) "vfmadd231ps %%zmm31, %%zmm31, %%zmm" #i "\n\t"
#define CLEAR(i) "vpxord %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n\t"
#define USED(i) "xmm" #i,
#define BURST(each)                                                              \
    do {                                                                         \
        int64_t left = TURNS;                                                    \
        __asm__ volatile(CLEAR(31) SUMS(CLEAR) "1:\n\t" SUMS(each) "decq %0\n\t" \
                                                                   "jnz 1b\n\t"  \
                                                                   "vzeroupper"  \
                         : "+r"(left)                                            \
                         :                                                       \
                         : SUMS(USED) "xmm31", "cc");                            \
    } while (0)

__attribute__((target("avx512f"))) static void multiply_pairs(void)
{
    BURST(PAIR);
}

__attribute__((target("avx512f"))) static void multiply_add(void)
{
    BURST(MULTIPLY_ADD);
}

static double seconds_of(void (*burst)(void))
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    burst();
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

static bool pairs_pay;

static void measure(void)
{
    /* Multiply-adds: between the two that are equal work and the four that Xeons take. */
    const double worth = 2.8;
    double pairs = 1, numbers = 1;
    if (host_cpu_level() < LEVEL_PAIRS) return;
    for (int i = 0; i < BURSTS; i++) {
        double a = seconds_of(multiply_pairs), b = seconds_of(multiply_add);
        pairs = a < pairs ? a : pairs;
        numbers = b < numbers ? b : numbers;
    }
    pairs_pay = pairs < worth * numbers;
}

bool host_cpu_pairs_pay(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure);
    return pairs_pay;
}

/* AMD's "Performance Optimization Identifiers": the vector units are 512 bits wide. */
bool host_cpu_wide(void)
{
    enum { LEAF = (int)0x8000001A, FP512 = 1 << 3, NEAR_KIB = 2048 };
    uint32_t a = 0, b, c, d;
    if (host_cpu_level() < LEVEL_4) return false;
    bool told = __get_cpuid((unsigned)LEAF, &a, &b, &c, &d) && (a & FP512);
    return told || host_cpu_near_kib() >= NEAR_KIB;
}

#else
#if defined(__aarch64__)
const int host_cpu_machine = MACHINE_AARCH64;
enum { LEVEL = LEVEL_1 };
#else
const int host_cpu_machine = MACHINE_OTHER;
enum { LEVEL = LEVEL_NONE };
#endif

int host_cpu_level(void)
{
    return LEVEL;
}

bool host_cpu_pairs_pay(void)
{
    return false;
}

bool host_cpu_wide(void)
{
    return false;
}
#endif

int host_cpu_near_kib(void)
{
#if defined(_SC_LEVEL2_CACHE_SIZE)
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (int)(bytes / 1024) : 0;
#else
    return 0;
#endif
}
