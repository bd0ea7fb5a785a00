/* The plan's code on the device. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/target.h"
#include "runtime/cuda/steps.h"

static bool runs(const api_t *api, const target_t *t)
{
    size_t n = strlen(api->driver->prefix);
    return strncmp(t->name, api->driver->prefix, n) == 0 && t->name[n] == ':' &&
           api->driver->runs(api, t);
}

const char *cuda_best_target(const api_t *api)
{
    const target_t *best = NULL, *t;
    for (int i = 0; (t = target_row(i)); i++)
        if (runs(api, t) && (!best || t->level > best->level)) best = t;
    return best ? best->name : NULL;
}

static int check_target(const device_t *self, err_t *err)
{
    const target_t *t = target_find(self->plan->target, err);
    const char *best = cuda_best_target(&self->api);
    if (!t) return -1;
    if (runs(&self->api, t)) return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "the plan is for %s, %s device %s is of %s: compile it again for %s", t->name,
                   self->api.driver->title, self->api.name, self->api.arch,
                   best ? best : "another device, we have no target for this one");
}

static int load_module(device_t *self, int i, err_t *err)
{
    const cubin_module_t *m = &self->cubins.module[i];
    self->image[i] = mem_calloc(1, m->n_bytes + 1); /* aligned, as drivers expect */
    memcpy(self->image[i], m->bytes, m->n_bytes);
    cu_result_t result = self->api.module_load(&self->module[i], self->image[i]);
    return cuda_api_check(&self->api, result, "loading the plan's code", err);
}

static int find_kernel(device_t *self, int i, err_t *err)
{
    const char *name = self->plan->kernel_name[i];
    const cubin_kernel_t *k = cubins_find(&self->cubins, name);
    if (!k) return err_set(err, ERR_CORRUPT, "the plan's code has no kernel %s", name);
    self->launch[i] = k;
    if (self->api.module_function(&self->function[i], self->module[k->module], name) == CU_SUCCESS)
        return 0;
    return err_set(err, ERR_CORRUPT, "a module of the plan has no kernel %s", name);
}

int cuda_modules_load(device_t *self, err_t *err)
{
    const plan_t *plan = self->plan;
    size_t n = (size_t)plan->n_kernel;
    if (check_target(self, err) < 0) return -1;
    if (n == 0) return 0;
    if (cubins_load(&self->cubins, plan->code, plan->n_code, err) < 0) return -1;
    self->module = mem_calloc((size_t)self->cubins.n_module + 1, sizeof *self->module);
    self->image = mem_calloc((size_t)self->cubins.n_module + 1, sizeof *self->image);
    self->function = mem_calloc(n, sizeof *self->function);
    self->launch = mem_calloc(n, sizeof *self->launch);
    for (int i = 0; i < self->cubins.n_module; i++)
        if (load_module(self, i, err) < 0) return -1;
    for (int i = 0; i < plan->n_kernel; i++)
        if (find_kernel(self, i, err) < 0) return -1;
    return 0;
}

void cuda_modules_free(device_t *self)
{
    for (int i = 0; self->module && i < self->cubins.n_module; i++)
        if (self->module[i]) self->api.module_free(self->module[i]);
    for (int i = 0; self->image && i < self->cubins.n_module; i++) free(self->image[i]);
    free(self->image);
    free(self->module);
    free(self->function);
    free(self->launch);
    cubins_fini(&self->cubins);
}
