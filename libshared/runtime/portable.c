/* The portable device: an arena of this process, kernels called one after another by the caller's
 * thread. It runs what the portable backend makes (codegen/backend_c.c), in which every product has
 * a kernel. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "runtime/code.h"
#include "runtime/device.h"

struct device {
    device_options_t options;
    code_t *code;
    plan_kernel_fn **kernel; /* by index of plan->kernel_name */
    char *arena;
};

static bool c_info(int ordinal, device_info_t *info)
{
    *info = (device_info_t){.text = "plain C, for reference",
                            .memory_bytes = device_machine_bytes(),
                            .threads = 1,
                            .borrowed = true,
                            .target = "c:scalar"};
    return ordinal == 0;
}

static void c_close(device_t **self_p)
{
    device_t *self = *self_p;
    if (!self) return;
    code_destroy(&self->code);
    free(self->kernel);
    free(self->arena);
    free(self);
    *self_p = NULL;
}

static device_t *c_open(const device_options_t *options, err_t *err)
{
    if (options->ordinal != 0) {
        err_set(err, ERR_ARG, "there is no device %d of kind c: there is one, 0", options->ordinal);
        return NULL;
    }
    device_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    return self;
}

static int c_threads(const device_t *self)
{
    (void)self;
    return 1;
}

static int c_load(device_t *self, const plan_t *plan, err_t *err)
{
    if (plan->n_kernel == 0) return 0;
    self->code = code_put(plan->code, plan->n_code, err);
    return self->code ? 0 : -1;
}

static int c_link(device_t *self, const plan_t *plan, err_t *err)
{
    if (!self->code) return 0;
    if (code_open(self->code, err) == 0) self->kernel = code_kernels(self->code, plan, err);
    return self->kernel ? 0 : -1;
}

static int c_alloc(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err)
{
    void *arena = NULL;
    size_t align = alignment < sizeof(void *) ? sizeof(void *) : (size_t)alignment;
    if (device_check_memory(&self->options, n_bytes, err) < 0) return -1;
    if (posix_memalign(&arena, align, (size_t)n_bytes + 1) != 0)
        return err_set(err, ERR_MEMORY, "the plan needs an arena of %.1f MiB: there is no room",
                       (double)n_bytes / (1 << 20));
    memset(arena, 0, (size_t)n_bytes);
    self->arena = arena;
    return 0;
}

static int c_upload(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes, err_t *err)
{
    (void)err;
    if (n_bytes > 0) memcpy(self->arena + offset, bytes, n_bytes);
    return 0;
}

static int c_download(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err)
{
    (void)err;
    if (n_bytes > 0) memcpy(bytes, self->arena + offset, n_bytes);
    return 0;
}

static int c_zero(device_t *self, uint64_t offset, size_t n_bytes, err_t *err)
{
    (void)err;
    memset(self->arena + offset, 0, n_bytes);
    return 0;
}

static int c_kernel(device_t *self, const plan_kernel_step_t *step, err_t *err)
{
    (void)err;
    self->kernel[step->kernel](self->arena, step->arg, step->begin, step->begin + step->extent);
    return 0;
}

static int c_gemm(device_t *self, const plan_gemm_step_t *step, err_t *err)
{
    const int64_t arg[] = {step->a, step->b, step->c};
    if (step->parts == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "a product without a kernel: this device has no library");
    self->kernel[step->kernel](self->arena, arg, 0, step->parts);
    return 0;
}

static int c_copy(device_t *self, const plan_copy_step_t *step, err_t *err)
{
    (void)err;
    memcpy(self->arena + step->to, self->arena + step->from, (size_t)step->n_bytes);
    return 0;
}

static int c_sync(device_t *self, err_t *err)
{
    (void)self, (void)err;
    return 0;
}

const device_ops_t device_c = {
    .prefix = "c",
    .in_runner = true,
    .info = c_info,
    .open = c_open,
    .close = c_close,
    .threads = c_threads,
    .load = c_load,
    .link = c_link,
    .alloc = c_alloc,
    .upload = c_upload,
    .download = c_download,
    .zero = c_zero,
    .kernel = c_kernel,
    .gemm = c_gemm,
    .copy = c_copy,
    .sync = c_sync,
};
