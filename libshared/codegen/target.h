/* Targets: what a plan is compiled for. "cpu:x86-64" to "cpu:x86-64-v4", "cpu:x86-64-v4-vnni", "cpu:x86-64-v4-2m",
 * "cpu:x86-64-v4-bf16", "cpu:x86-64-v4-bf16-wide", "cpu:x86-64-v4-amx", "cpu:aarch64", "c:scalar". The prefix names the backend (codegen/backend.h)
 * that makes code for it and the device (runtime/device.h) that runs it. Thread-safe. */
#ifndef CODEGEN_TARGET_H
#define CODEGEN_TARGET_H

#include "base/err.h"
#include "plan/kernel/caps.h"

struct backend;

/* A row of a backend's table; static storage. */
typedef struct {
    const char *name; /* "cpu:x86-64-v4" */
    caps_t caps;
    const char *flags;  /* of the compiler that makes its code */
    int machine, level; /* the backend's own: what the target asks of a machine */
} target_t;

/* NULL with ERR_ARG when the text names no target we know; the error lists those we know. */
const target_t *target_find(const char *name, err_t *err);
const target_t *target_row(int i); /* the i-th of all; NULL behind the last */

/* The backend that makes code for it. */
const struct backend *target_backend(const target_t *self);

/* The best target of this machine, by CPU feature bits, caches and the pace of bf16 pairs (codegen/c/host_cpu.h); $PCP_TARGET when set, which names another
 * one, as it is: target_find and target_runs_here judge it. Not freed. */
const char *target_host(void);

/* The best target of the backend `prefix` ("cpu") that this machine's processor runs. NULL: there is no
 * such backend, or a device has to be asked (runtime/device.h). */
const target_t *target_best(const char *prefix);

/* Can this machine run code for `target`? -1 with ERR_UNSUPPORTED naming what it lacks, ERR_ARG for
 * a target that we do not know. */
int target_runs_here(const char *target, err_t *err);

/* What lowering may count on; CAPS_USUAL for a target that we do not know. */
caps_t target_caps(const char *target);

#endif
