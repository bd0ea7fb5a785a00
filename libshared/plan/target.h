/* Targets: "cpu:x86-64" to "cpu:x86-64-v4", "cpu:x86-64-v4-bf16", "cpu:aarch64". A plan runs where
 * the host offers at least the target's instruction set. Thread-safe. */
#ifndef PLAN_TARGET_H
#define PLAN_TARGET_H

#include <stdbool.h>

#include "base/err.h"

/* The best target of this machine, by CPU feature bits. Static storage. */
const char *target_host(void);

/* -1 with ERR_ARG when the text names no target we know; lists those we know. */
int target_check(const char *target, err_t *err);

/* Can this machine run code for `target`? -1 with ERR_UNSUPPORTED naming both instruction sets. */
int target_runs_here(const char *target, err_t *err);

/* Vector arithmetic in f32: elements and number of vector registers; lanes 0: unknown target. bf16:
 * dot products of pairs of bf16, at twice the rate. */
typedef struct {
    int lanes, registers;
    bool bf16;
} simd_t;
simd_t target_simd(const char *target);

/* The system compiler's flags for it: "-march=x86-64-v4 -mprefer-vector-width=512". NULL: unknown.
 * */
const char *target_cflags(const char *target);

#endif
