/* libcuda by dlopen, and one device of it. */
#include "runtime/cuda/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool find(const api_t *self, const char *symbol, void *function, size_t n)
{
    void *at = dlsym(self->library, symbol);
    memcpy(function, &at, n);
    return at != NULL;
}

static int load(api_t *self, err_t *err)
{
#define X(name, symbol, parameters)                           \
    if (!find(self, #symbol, &self->name, sizeof self->name)) \
        return err_set(err, ERR_UNSUPPORTED, "the CUDA driver has no " #symbol);
    CU_FUNCTIONS(X)
#undef X
    self->has_graphs = true;
#define X(name, symbol, parameters) \
    self->has_graphs = find(self, #symbol, &self->name, sizeof self->name) && self->has_graphs;
    CU_GRAPH_FUNCTIONS(X)
#undef X
    return 0;
}

int cuda_api_open(api_t *self, err_t *err)
{
    const char *named = getenv("PCP_LIBCUDA");
    *self = (api_t){0};
    self->library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!self->library)
        return err_set(err, ERR_UNSUPPORTED,
                       "no CUDA driver: %s (install NVIDIA's driver, or set PCP_LIBCUDA)",
                       dlerror());
    if (load(self, err) < 0) return -1;
    cu_result_t result = self->init(0);
    if (result == CU_NO_DEVICE)
        return err_set(err, ERR_UNSUPPORTED, "no CUDA driver finds a device here");
    return cuda_api_check(self, result, "starting the driver", err);
}

void cuda_api_close(api_t *self)
{
    if (self->library) dlclose(self->library);
    *self = (api_t){0};
}

bool cuda_api_choose(api_t *self, int ordinal)
{
    int n = 0;
    if (self->device_count(&n) != CU_SUCCESS || ordinal < 0 || ordinal >= n) return false;
    return self->device_get(&self->device, ordinal) == CU_SUCCESS &&
           self->device_name(self->name, sizeof self->name, self->device) == CU_SUCCESS &&
           self->device_attribute(&self->major, CU_MAJOR, self->device) == CU_SUCCESS &&
           self->device_attribute(&self->minor, CU_MINOR, self->device) == CU_SUCCESS;
}

int cuda_api_check(const api_t *self, cu_result_t result, const char *what, err_t *err)
{
    const char *name = NULL, *text = NULL, *device = self->name[0] ? self->name : "(none yet)";
    if (result == CU_SUCCESS) return 0;
    if (self->error_name(result, &name) != CU_SUCCESS || !name) name = "unknown";
    if (self->error_text(result, &text) != CU_SUCCESS || !text) text = "";
    if (result == CU_OUT_OF_MEMORY)
        return err_set(err, ERR_MEMORY, "CUDA device %s: %s: out of memory", device, what);
    if (result >= CU_FIRST_LOST && result <= CU_LAST_LOST)
        return err_set(err, ERR_STATE,
                       "CUDA device %s is lost (%s: %s, %s): what it had is gone and the process "
                       "has to start again",
                       device, what, name, text);
    return err_set(err, ERR_UNSUPPORTED, "CUDA device %s: %s: %s (%d): %s", device, what, name,
                   result, text);
}
