/* What this machine's processor is: by feature bits, and by a measurement of what these do not tell.
 * Thread-safe. */
#ifndef CODEGEN_HOST_CPU_H
#define CODEGEN_HOST_CPU_H

#include <stdbool.h>

enum { MACHINE_X86_64, MACHINE_AARCH64, MACHINE_OTHER };

/* Instruction sets of x86-64, each with those before it; aarch64 has the first. */
enum {
    LEVEL_NONE, /* of a machine that we have no targets for */
    LEVEL_1,
    LEVEL_2, /* to LEVEL_4: of the System V psABI */
    LEVEL_3,
    LEVEL_4,
    LEVEL_FOURS, /* sums of four products of bytes: AVX512_VNNI */
    LEVEL_PAIRS, /* products of bf16 pairs by the vector units: AVX512_BF16 */
    LEVEL_AMX,   /* of bf16 and of i8 by the matrix unit, whose registers the system saves */
};

extern const int host_cpu_machine;

int host_cpu_level(void);

/* Second-level cache of a core, KiB; 0: not told. */
int host_cpu_near_kib(void);

/* Does a core multiply two whole vectors of AVX-512 a cycle? Zen 5 says so by a bit; so do Xeons whose cores have 2 MiB
 * of second-level cache. Zen 4 does one, by halves. */
bool host_cpu_wide(void);

/* Is a product of bf16 pairs worth more than the two multiply-adds that it stands for? Zen 4 starts as many
 * of them as of multiply-adds, Xeons without a matrix unit (or with one that the system hides) a quarter. Measured
 * once by a process, in 0.2 ms; false below LEVEL_PAIRS. */
bool host_cpu_pairs_pay(void);

#endif
