/* What the executor asks of a device: memory for one arena, code, and the three kinds of step.
 *
 * A device kind is one file and one row in device.c. Offsets are bytes in the device's arena; the
 * executor has checked them against the arena before it calls. Steps may be queued; sync waits for
 * all of them and reports what went wrong. One caller thread at a time. */
#ifndef RUNTIME_DEVICE_H
#define RUNTIME_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"
#include "runtime/pool.h"

typedef struct device device_t;

/* Tell of a range of a step that a thread has run: the step's place in its sweep (0 outside of
 * sweeps), and what pool_watch_fn has. */
typedef void device_watch_fn(void *user, int step, int worker, double begin, double end,
                             double cpu);

typedef struct {
    const char *name;          /* "cpu" */
    const char *target_prefix; /* "cpu:": the targets it runs */

    /* Open with so many threads (0: as many as this process may use), bound to cores with `pin`.
     * NULL on error. */
    device_t *(*open)(int threads, bool pin, err_t *err);
    void (*close)(device_t **self_p);

    /* Load the plan's code and find its kernels by name. The bytes are not kept.
     * ERR_CORRUPT: not loadable, or a kernel is missing. */
    int (*load)(device_t *self, const plan_t *plan, err_t *err);

    /* The arena, zeroed; alignment is a power of two. ERR_MEMORY says how much was wanted. */
    int (*alloc)(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err);

    int (*upload)(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes, err_t *err);
    int (*download)(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err);
    int (*zero)(device_t *self, uint64_t offset, size_t n_bytes, err_t *err);

    int (*kernel)(device_t *self, const plan_kernel_step_t *step, err_t *err);
    int (*gemm)(device_t *self, const plan_gemm_step_t *step, err_t *err);
    int (*copy)(device_t *self, const plan_copy_step_t *step, err_t *err);
    /* Steps [step, step + n) in one go, as the plan's sweep says (plan_sweep_t). NULL: the device
     * runs them one by one. */
    int (*sweep)(device_t *self, const plan_step_t *step, int n, int64_t strips, err_t *err);
    int (*sync)(device_t *self, err_t *err);

    /* From now on tell `watch`, by the threads that ran the ranges. NULL: the device cannot tell.
     */
    void (*watch)(device_t *self, device_watch_fn *watch, void *user);
} device_ops_t;

/* NULL with ERR_UNSUPPORTED, naming the kinds this build has. Static storage. */
const device_ops_t *device_find(const char *name, err_t *err);

extern const device_ops_t device_cpu;

#endif
