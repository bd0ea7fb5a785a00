/* The CPU device: an arena in this process's memory, kernels called directly, one thread pool.
 * Every step is finished when its call returns. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "runtime/amx.h"
#include "runtime/blas.h"
#include "runtime/code.h"
#include "runtime/device.h"
#include "runtime/gemm.h"
#include "runtime/pool.h"

enum {
    HUGE_PAGE = 2 << 20,
    ROWS_TOGETHER = 256, /* of products in strips: what they leave stays in a core's cache */
};

/* A step of a sweep, ready to be called. */
typedef struct {
    plan_kernel_fn *fn;
    const int64_t *arg;
    int64_t gemm_arg[3];               /* arg of products */
    int64_t begin, work, grain, first; /* apart: first of its grains among those of the sweep */
} call_t;

struct device {
    device_options_t options;
    pool_t *pool;
    call_t *call; /* room for the longest sweep of the plan */
    device_watch_fn *watch;
    void *watch_user;
    code_t *code;
    plan_kernel_fn **kernel; /* by index of plan->kernel_name */
    char *arena;             /* aligned, inside the mapping */
    void *map;
    size_t map_bytes;
    bool wide; /* products go in few ranges, since each copies what it needs */
};

static void cpu_close(device_t **self_p)
{
    device_t *self = *self_p;
    if (!self) return;
    pool_destroy(&self->pool);
    code_destroy(&self->code);
    if (self->map) munmap(self->map, self->map_bytes);
    free(self->kernel);
    free(self->call);
    free(self);
    *self_p = NULL;
}

/* "AMD EPYC ...": the first model name, or what the machine is called where there is none. */
static bool cpu_info(int ordinal, device_info_t *info)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    *info = (device_info_t){.memory_bytes = device_machine_bytes(), .threads = pool_cores()};
    snprintf(info->text, sizeof info->text, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(info->text, sizeof info->text, "%s", colon + 2);
        break;
    }
    if (file) fclose(file);
    const target_t *best = target_best("cpu");
    info->target = best ? best->name : NULL;
    return ordinal == 0;
}

static device_t *cpu_open(const device_options_t *options, err_t *err)
{
    if (options->ordinal != 0) {
        err_set(err, ERR_ARG, "there is no device %d of kind cpu: all cores are device 0",
                options->ordinal);
        return NULL;
    }
    device_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    self->pool = pool_new(options->threads == 0 ? pool_cores() : options->threads, options->pin,
                          err);
    if (!self->pool) cpu_close(&self);
    return self;
}

static int cpu_threads(const device_t *self)
{
    return self->options.threads == 0 ? pool_cores() : self->options.threads;
}

static void make_room(device_t *self, const plan_t *plan)
{
    int longest = 0;
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_sweep; i++)
            if (plan->program[p].sweep[i].n > longest) longest = plan->program[p].sweep[i].n;
    self->call = mem_calloc((size_t)longest + 1, sizeof *self->call);
}

static int cpu_load(device_t *self, const plan_t *plan, err_t *err)
{
    self->wide = target_caps(plan->target).wide;
    if (target_caps(plan->target).matrix && amx_enable(err) < 0) return -1;
    if (blas_open(plan->target, err) < 0) return -1;
    make_room(self, plan);
    if (plan->n_kernel == 0) return 0;
    self->code = code_put(plan->code, plan->n_code, err);
    return self->code ? 0 : -1;
}

static int cpu_link(device_t *self, const plan_t *plan, err_t *err)
{
    if (!self->code) return 0;
    if (code_open(self->code, err) == 0) self->kernel = code_kernels(self->code, plan, err);
    return self->kernel ? 0 : -1;
}

static int cpu_alloc(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err)
{
    size_t align = alignment > HUGE_PAGE ? (size_t)alignment : HUGE_PAGE, want;
    if (device_check_memory(&self->options, n_bytes, err) < 0) return -1;
    if (!size_add((size_t)n_bytes, 2 * align, &want))
        return err_set(err, ERR_MEMORY, "the plan needs an arena of %llu bytes",
                       (unsigned long long)n_bytes);
    void *map = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return err_set(err, ERR_MEMORY, "the plan needs an arena of %.1f MiB: %s",
                       (double)n_bytes / (1 << 20), strerror(errno));
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

static const void *cpu_peek(const device_t *self, uint64_t offset)
{
    return self->arena + offset;
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
    if (self->wide)
        pool_run_long(self->pool, launch_part, &launch, step->parts, 1);
    else
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

static void on_range(void *user, int worker, double begin, double end, double cpu)
{
    const device_t *self = user;
    self->watch(self->watch_user, 0, worker, begin, end, cpu);
}

static void watch_pool(device_t *self)
{
    pool_watch(self->pool, self->watch ? on_range : NULL, self);
}

/* --- Sweeps ----------------------------------------------------------------------------------- */

typedef struct {
    device_t *device;
    int n;
    int64_t strips, together;
} sweep_t;

static void call_part(device_t *self, int step, int64_t begin, int64_t end, int worker)
{
    const call_t *c = &self->call[step];
    if (!self->watch) {
        c->fn(self->arena, c->arg, c->begin + begin, c->begin + end);
        return;
    }
    double start = clock_mono_s(), cpu = clock_thread_s();
    c->fn(self->arena, c->arg, c->begin + begin, c->begin + end);
    cpu = clock_thread_s() - cpu;
    self->watch(self->watch_user, step, worker, start, clock_mono_s(), cpu);
}

static void run_strips(void *context, int64_t begin, int64_t end, int worker)
{
    const sweep_t *sweep = context;
    for (int64_t first = begin, next; first < end; first = next) {
        next = end - first < sweep->together ? end : first + sweep->together;
        for (int i = 0; i < sweep->n; i++) {
            int64_t part = sweep->device->call[i].work / sweep->strips;
            call_part(sweep->device, i, first * part, next * part, worker);
        }
    }
}

/* Grains of all steps, one step's after another's. */
static void run_apart(void *context, int64_t begin, int64_t end, int worker)
{
    const sweep_t *sweep = context;
    for (int i = 0; i < sweep->n; i++) {
        const call_t *c = &sweep->device->call[i];
        int64_t n = (c->work + c->grain - 1) / c->grain;
        int64_t from = begin > c->first ? begin - c->first : 0;
        int64_t to = end - c->first < n ? end - c->first : n;
        if (from >= to) continue;
        int64_t last = to == n ? c->work : to * c->grain;
        call_part(sweep->device, i, from * c->grain, last, worker);
    }
}

/* Strips that go through each step together, since products pack B once for all of them. */
static int64_t strips_together(const plan_step_t *step, int n, int64_t strips)
{
    int64_t rows = 0;
    for (int i = 0; i < n; i++) {
        const plan_gemm_step_t *g = &step[i].gemm;
        bool one = step[i].kind == STEP_GEMM && g->batch == 1 && g->inner == 1;
        if (one && g->m / strips > rows) rows = g->m / strips;
    }
    return rows > 0 && rows < ROWS_TOGETHER ? ROWS_TOGETHER / rows : 1;
}

/* The number of grains. */
static int64_t prepare_calls(device_t *self, const plan_step_t *step, int n)
{
    int64_t first = 0;
    for (int i = 0; i < n; i++) {
        call_t *c = &self->call[i];
        bool kernel = step[i].kind == STEP_KERNEL;
        const plan_gemm_step_t *g = &step[i].gemm;
        *c = (call_t){.work = plan_step_work(&step[i]), .grain = 1, .first = first};
        c->fn = self->kernel[kernel ? step[i].kernel.kernel : g->kernel];
        if (kernel) {
            c->arg = step[i].kernel.arg;
            c->grain = step[i].kernel.grain;
            c->begin = step[i].kernel.begin;
        } else {
            memcpy(c->gemm_arg, (int64_t[]){g->a, g->b, g->c}, sizeof c->gemm_arg);
            c->arg = c->gemm_arg;
        }
        first += (c->work + c->grain - 1) / c->grain;
    }
    return first;
}

static bool has_product(const plan_step_t *step, int n)
{
    for (int i = 0; i < n; i++)
        if (step[i].kind == STEP_GEMM) return true;
    return false;
}

static int cpu_sweep(device_t *self, const plan_step_t *step, int n, int64_t strips, err_t *err)
{
    (void)err;
    sweep_t sweep = {self, n, strips, strips > 0 ? strips_together(step, n, strips) : 0};
    int64_t grains = prepare_calls(self, step, n);
    pool_watch(self->pool, NULL, NULL); /* call_part tells, step by step */
    if (strips > 0)
        pool_run(self->pool, run_strips, &sweep, strips, 1);
    else if (self->wide && has_product(step, n))
        pool_run_long(self->pool, run_apart, &sweep, grains, 1);
    else
        pool_run(self->pool, run_apart, &sweep, grains, 1);
    watch_pool(self);
    return 0;
}

static int cpu_sync(device_t *self, err_t *err)
{
    (void)self;
    (void)err;
    return 0;
}

static void cpu_watch(device_t *self, device_watch_fn *watch, void *user)
{
    self->watch = watch;
    self->watch_user = user;
    watch_pool(self);
}

const device_ops_t device_cpu = {
    .prefix = "cpu",
    .in_runner = true,
    .info = cpu_info,
    .threads = cpu_threads,
    .open = cpu_open,
    .close = cpu_close,
    .load = cpu_load,
    .link = cpu_link,
    .alloc = cpu_alloc,
    .upload = cpu_upload,
    .download = cpu_download,
    .zero = cpu_zero,
    .peek = cpu_peek,
    .kernel = cpu_kernel,
    .gemm = cpu_gemm,
    .copy = cpu_copy,
    .sweep = cpu_sweep,
    .sync = cpu_sync,
    .watch = cpu_watch,
};
