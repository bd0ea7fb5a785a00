/* CUDA: NVIDIA's devices. */
#include <stdio.h>

#include "runtime/cuda/steps.h"

enum { MAJOR = 75, MINOR = 76 }; /* attributes of a device: its compute capability */

static bool look(api_t *self)
{
    bool told = self->device_attribute(&self->major, MAJOR, self->device) == CU_SUCCESS &&
                self->device_attribute(&self->minor, MINOR, self->device) == CU_SUCCESS;
    snprintf(self->arch, sizeof self->arch, "sm_%d%d", self->major, self->minor);
    return told;
}

/* A cubin runs on devices of its major number, from its minor one on. */
static bool runs(const api_t *self, const target_t *t)
{
    return self->major == t->machine && self->minor >= t->level;
}

static const driver_t driver = {
    .prefix = "cuda",
    .title = "CUDA",
    .variable = "PCP_LIBCUDA",
    .library = {"libcuda.so.1"},
    .package = "NVIDIA's driver",
    .blas_variable = "PCP_LIBCUBLAS",
    .blas_library = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                     "/usr/local/cuda/lib64/libcublas.so"},
    .max_threads = UINT64_MAX,
    .look = look,
    .runs = runs,
};

static bool info(int ordinal, device_info_t *out)
{
    return cuda_info(&driver, ordinal, out);
}

static device_t *open(const device_options_t *options, err_t *err)
{
    return cuda_open(&driver, options, err);
}

const device_ops_t device_cuda = {.prefix = "cuda", .info = info, .open = open, CUDA_OPS};
