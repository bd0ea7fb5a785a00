/* What the executor asks of a device: memory for one arena, code, and the three kinds of step.
 *
 * A device kind is one file and one row in device.c. Offsets are bytes in the device's arena; the
 * executor has checked them against the arena before it calls. Steps are those of the plan that was
 * loaded, which lives as long as the device is used; they may be queued, and sync, upload and
 * download wait for all of them and report what went wrong. One caller thread at a time. */
#ifndef RUNTIME_DEVICE_H
#define RUNTIME_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "plan/format/plan.h"
#include "runtime/pool.h"

typedef struct device device_t;

/* Tell of a range of a step that a thread has run: the step's place in its sweep (0 outside of
 * sweeps), and what pool_watch_fn has. */
typedef void device_watch_fn(void *user, int step, int worker, double begin, double end,
                             double cpu);

typedef struct {
    int ordinal;            /* which of the machine's devices of the kind, from 0 */
    int threads;            /* 0: as many as this process may use */
    bool pin;               /* bind threads to cores, but for the caller's (pool_new) */
    uint64_t memory_limit;  /* bytes of the arena at most, 0: what the device has */
    bool staged;            /* for tests: no memory is shared with the device, whatever it has */
    uint64_t segment_bytes; /* for tests: of a buffer of the arena at most, 0: the device's limit */

    /* Not NULL: the plan's code runs in a process of its own (runtime/runner.h), if the device's kind can. */
    struct runners *runners;
    bool (*stopped)(
        void *user); /* asked while that computes: it is not wanted any more. NULL: it is */
    int (*enclose)(
        void *user,
        err_t *err); /* called when all is ready, but no code of the plan's loaded. NULL: not */
    void *user;
} device_options_t;

/* What there is, for people. */
typedef struct {
    char text[128]; /* "AMD EPYC ..." */
    uint64_t memory_bytes;
    int threads;   /* 0: the device has none of its own to be counted */
    bool borrowed; /* it computes on a processor that another kind has: a driver without a device */
    uint8_t uuid[16];   /* the same by every kind that drives the device; zeros: not known */
    const char *target; /* the best that it runs; NULL: none. Static storage */
} device_info_t;

typedef struct {
    const char *prefix; /* "cpu": of the names of the targets it runs (codegen/backend.h) */
    bool in_runner; /* it needs nothing of the machine but memory and time: a runner can have it */

    /* What the ordinal-th device is; false: there is none. */
    bool (*info)(int ordinal, device_info_t *info);
    /* NULL on error; ERR_ARG: no such device. */
    device_t *(*open)(const device_options_t *options, err_t *err);
    void (*close)(device_t **self_p);
    int (*threads)(const device_t *self); /* that share the work of a step, 1 at least */

    /* Get ready for the plan: libraries, room, its code and kernels by name. The bytes are not kept.
     * ERR_CORRUPT: not loadable, or a kernel is missing. */
    int (*load)(device_t *self, const plan_t *plan, err_t *err);
    /* The code, if load leaves it for last: after alloc, opening no files. NULL: it does not. */
    int (*link)(device_t *self, const plan_t *plan, err_t *err);

    /* The arena, zeroed; alignment is a power of two. ERR_MEMORY says how much was wanted, and what
     * there is or may be had. */
    int (*alloc)(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err);

    int (*upload)(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes, err_t *err);
    int (*download)(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err);
    int (*zero)(device_t *self, uint64_t offset, size_t n_bytes, err_t *err);
    /* What lies at the offset, until something is written or runs. NULL: this process cannot reach it. */
    const void *(*peek)(const device_t *self, uint64_t offset);

    int (*kernel)(device_t *self, const plan_kernel_step_t *step, err_t *err);
    int (*gemm)(device_t *self, const plan_gemm_step_t *step, err_t *err);
    int (*copy)(device_t *self, const plan_copy_step_t *step, err_t *err);
    /* Steps [step, step + n) in one go, as the plan's sweep says (plan_sweep_t). NULL: the device
     * runs them one by one. */
    int (*sweep)(device_t *self, const plan_step_t *step, int n, int64_t strips, err_t *err);
    int (*sync)(device_t *self, err_t *err);

    /* The plan's whole program. NULL: the executor says its steps. */
    int (*run)(device_t *self, int program, err_t *err);

    /* Seconds on the device's own clock from the first to the last of the steps that the last sync waited for;
     * negative: it does not tell. NULL: the device has no clock of its own. */
    double (*took)(device_t *self);

    /* The library that does the products of the loaded plan ("cuBLAS 13.1.0"), NULL: its own kernels do. The op NULL: the same. */
    const char *(*library)(const device_t *self);

    /* From now on tell `watch`, by the threads that ran the ranges. NULL: the device cannot tell.
     */
    void (*watch)(device_t *self, device_watch_fn *watch, void *user);
} device_ops_t;

/* The kind that runs plans for `target`. NULL with ERR_UNSUPPORTED, naming the kinds this build
 * has. Static storage. */
const device_ops_t *device_find(const char *target, err_t *err);
const device_ops_t *device_row(int i); /* the i-th kind; NULL behind the last */

/* A device of this machine, and what plans for it are compiled for. */
typedef struct {
    const device_ops_t *ops;
    int ordinal;
    const char *target; /* static storage */
} device_place_t;

/* The place that a text names:
 *   KIND       vulkan                   the kind's first device, the best target that it runs
 *   KIND:N     vulkan:1                 another one of the kind
 *   TARGET     vulkan:spirv1.3          this target, on the kind's first device
 *   TARGET@N   vulkan:spirv1.3@1        and on another one
 * ERR_UNSUPPORTED: no such kind, no such device here, or one that runs nothing; ERR_ARG: no such
 * target, or no number. The texts say what there is. */
int device_place(const char *text, device_place_t *out, err_t *err);

/* What the place's device is. ERR_UNSUPPORTED: it is not there, or it runs no plans. */
int device_look(const device_place_t *place, device_info_t *info, err_t *err);

/* A name that device_place reads. */
typedef struct {
    char text[64];
} device_name_t;

/* The devices of a list: all, or places with commas between them, where a bare number is one more of
 * the kind before it (cuda:0,1). all: one of each device that has a processor of its own, and the
 * machine's processor; a device that several kinds can drive is the first one's. Returns how many, at most
 * `most`, of out[]; -1 with ERR_ARG. Only `all` asks drivers. */
int device_names(const char *list, device_name_t *out, int most, err_t *err);

/* What this machine has: a hopeless plan is refused before the system kills the process. */
uint64_t device_machine_bytes(void);
/* ERR_MEMORY when an arena of n_bytes is more than the options allow or this machine has. */
int device_check_memory(const device_options_t *options, uint64_t n_bytes, err_t *err);

extern const device_ops_t device_cpu, device_c, device_vulkan, device_cuda, device_hip;
extern const device_ops_t
    device_in_runner; /* any kind that has in_runner, in a process of its own: no row */

#endif
