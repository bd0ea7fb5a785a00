/* The CPU device: an arena in this process's memory, kernels called directly, one thread pool.
 * Every step is finished when its call returns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "plan/target.h"
#include "runtime/amx.h"
#include "runtime/blas.h"
#include "runtime/code.h"
#include "runtime/device.h"
#include "runtime/gemm.h"
#include "runtime/pool.h"

enum { HUGE_PAGE = 2 << 20 };

struct device {
    pool_t *pool;
    code_t *code;
    plan_kernel_fn **kernel; /* by index of plan->kernel_name */
    char *arena;             /* aligned, inside the mapping */
    void *map;
    size_t map_bytes;
};

static void cpu_close(device_t **self_p)
{
    device_t *self = *self_p;
    if (!self) return;
    pool_destroy(&self->pool);
    code_destroy(&self->code);
    if (self->map) munmap(self->map, self->map_bytes);
    free(self->kernel);
    free(self);
    *self_p = NULL;
}

static device_t *cpu_open(int threads, bool pin, err_t *err)
{
    device_t *self = mem_calloc(1, sizeof *self);
    self->pool = pool_new(threads == 0 ? pool_cores() : threads, pin, err);
    if (!self->pool) cpu_close(&self);
    return self;
}

static int cpu_load(device_t *self, const plan_t *plan, err_t *err)
{
    if (target_simd(plan->target).amx && amx_enable(err) < 0) return -1;
    if (blas_open(plan->target, err) < 0) return -1;
    if (plan->n_kernel == 0) return 0;
    self->code = code_load(plan->code, plan->n_code, err);
    if (!self->code) return -1;
    self->kernel = mem_calloc((size_t)plan->n_kernel, sizeof *self->kernel);
    for (int i = 0; i < plan->n_kernel; i++) {
        void *address = code_symbol(self->code, plan->kernel_name[i], err);
        if (!address) return -1;
        memcpy(&self->kernel[i], &address, sizeof address); /* C has no cast from data to code */
    }
    return 0;
}

/* What the machine has, so that a hopeless plan is refused before the system kills the process. */
static uint64_t machine_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

static int cpu_alloc(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err)
{
    size_t align = alignment > HUGE_PAGE ? (size_t)alignment : HUGE_PAGE, want;
    double mib = (double)n_bytes / (1 << 20), have = (double)machine_bytes() / (1 << 20);
    if (n_bytes > machine_bytes() || !size_add((size_t)n_bytes, 2 * align, &want))
        return err_set(err, ERR_MEMORY,
                       "the plan needs an arena of %.1f MiB, this machine has %.1f", mib, have);
    void *map = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return err_set(err, ERR_MEMORY, "the plan needs an arena of %.1f MiB: %s", mib,
                       strerror(errno));
    self->map = map;
    self->map_bytes = want;
    self->arena = (char *)(((uintptr_t)map + align - 1) / align * align);
    madvise(self->arena, n_bytes, MADV_HUGEPAGE); /* advice: a refusal costs speed alone */
    return 0;
}

static int cpu_upload(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes,
                      err_t *err)
{
    (void)err;
    if (n_bytes > 0) memcpy(self->arena + offset, bytes, n_bytes);
    return 0;
}

static int cpu_download(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err)
{
    (void)err;
    if (n_bytes > 0) memcpy(bytes, self->arena + offset, n_bytes);
    return 0;
}

static int cpu_zero(device_t *self, uint64_t offset, size_t n_bytes, err_t *err)
{
    (void)err;
    memset(self->arena + offset, 0, n_bytes);
    return 0;
}

typedef struct {
    plan_kernel_fn *fn;
    char *arena;
    const int64_t *arg;
    int64_t begin;
} launch_t;

static void launch_part(void *context, int64_t begin, int64_t end, int worker)
{
    const launch_t *launch = context;
    (void)worker;
    launch->fn(launch->arena, launch->arg, launch->begin + begin, launch->begin + end);
}

static int cpu_kernel(device_t *self, const plan_kernel_step_t *step, err_t *err)
{
    (void)err;
    launch_t launch = {self->kernel[step->kernel], self->arena, step->arg, step->begin};
    pool_run(self->pool, launch_part, &launch, step->extent, step->grain);
    return 0;
}

static int cpu_gemm(device_t *self, const plan_gemm_step_t *step, err_t *err)
{
    (void)err;
    if (step->parts == 0) {
        gemm_run(self->pool, self->arena, step);
        return 0;
    }
    const int64_t arg[] = {step->a, step->b, step->c};
    launch_t launch = {self->kernel[step->kernel], self->arena, arg, 0};
    pool_run(self->pool, launch_part, &launch, step->parts, 1);
    return 0;
}

typedef struct {
    char *to;
    const char *from;
} move_t;

static void move_part(void *context, int64_t begin, int64_t end, int worker)
{
    const move_t *move = context;
    (void)worker;
    memcpy(move->to + begin, move->from + begin, (size_t)(end - begin));
}

static int cpu_copy(device_t *self, const plan_copy_step_t *step, err_t *err)
{
    (void)err;
    move_t move = {self->arena + step->to, self->arena + step->from};
    pool_run(self->pool, move_part, &move, step->n_bytes, 256 << 10);
    return 0;
}

static int cpu_sync(device_t *self, err_t *err)
{
    (void)self;
    (void)err;
    return 0;
}

static void cpu_watch(device_t *self, pool_watch_fn *watch, void *user)
{
    pool_watch(self->pool, watch, user);
}

const device_ops_t device_cpu = {
    .name = "cpu",
    .target_prefix = "cpu:",
    .open = cpu_open,
    .close = cpu_close,
    .load = cpu_load,
    .alloc = cpu_alloc,
    .upload = cpu_upload,
    .download = cpu_download,
    .zero = cpu_zero,
    .kernel = cpu_kernel,
    .gemm = cpu_gemm,
    .copy = cpu_copy,
    .sync = cpu_sync,
    .watch = cpu_watch,
};
