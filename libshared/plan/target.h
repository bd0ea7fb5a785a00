/* Targets: "cpu:x86-64" to "cpu:x86-64-v4", "cpu:x86-64-v4-bf16", "cpu:x86-64-v4-amx",
 * "cpu:aarch64". A plan runs where the host offers at least the target's instruction set.
 * Thread-safe. */
#ifndef PLAN_TARGET_H
#define PLAN_TARGET_H

#include <stdbool.h>

#include "base/err.h"

/* The best target of this machine, by CPU feature bits; $PCP_TARGET when set, which names a lower
 * one, as it is: target_check and target_runs_here judge it. Not freed. */
const char *target_host(void);

const char *target_name(int i); /* the i-th of those we know; NULL behind the last */

/* -1 with ERR_ARG when the text names no target we know; lists those we know. */
int target_check(const char *target, err_t *err);

/* Can this machine run code for `target`? -1 with ERR_UNSUPPORTED naming both instruction sets. */
int target_runs_here(const char *target, err_t *err);

/* Vector arithmetic in f32: elements and number of vector registers; lanes 0: unknown target. bf16:
 * products of bf16 pairs, summed in f32; amx: by a matrix unit instead of the vector units. */
typedef struct {
    int lanes, registers;
    bool bf16, amx;
} simd_t;
simd_t target_simd(const char *target);

/* The system compiler's flags for it: "-march=x86-64-v4 -mprefer-vector-width=512". NULL: unknown.
 * */
const char *target_cflags(const char *target);

/* The cross compiler that Debian has for it; NULL: the machine's own compiler will do. */
const char *target_compiler(const char *target);

#endif
