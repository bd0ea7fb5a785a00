/* Memory of the device: one arena, and a few MiB of the host's that it copies by itself. */
#include <string.h>

#include "runtime/cuda/steps.h"

enum { STAGING_BYTES = 8 << 20 };

/* Before anything is allocated: what the device cannot have is said with its own numbers. */
static int check_limits(device_t *self, uint64_t n_bytes, err_t *err)
{
    size_t left = 0, all = 0;
    if (cuda_api_check(&self->api, self->api.memory_info(&left, &all), "asking for its memory",
                       err) < 0)
        return -1;
    uint64_t limit = self->options.memory_limit;
    bool given = limit > 0 && limit < left;
    if (n_bytes <= (given ? limit : left)) return 0;
    return err_set(err, ERR_MEMORY,
                   "the plan needs an arena of %.1f MiB on %s device %s; %s %.1f: use a smaller "
                   "batch, or --memory-budget",
                   (double)n_bytes / (1 << 20), self->api.driver->title, self->api.name,
                   given ? "the limit it was given is" : "free are",
                   (double)(given ? limit : left) / (1 << 20));
}

int cuda_memory_arena(device_t *self, uint64_t n_bytes, err_t *err)
{
    const api_t *api = &self->api;
    size_t size = n_bytes > 0 ? n_bytes : 1;
    if (cuda_use(self, err) < 0 || check_limits(self, size, err) < 0 ||
        cuda_api_check(api, api->memory_new(&self->arena, size), "the arena", err) < 0 ||
        cuda_api_check(api, api->pinned_new(&self->staging, STAGING_BYTES, 0),
                       "memory for transfers", err) < 0)
        return -1;
    self->arena_bytes = n_bytes;
    return cuda_memory_zero(self, 0, n_bytes, err);
}

void cuda_memory_free(device_t *self)
{
    if (self->staging) self->api.pinned_free(self->staging);
    if (self->arena) self->api.memory_free(self->arena);
    if (self->args) self->api.memory_free(self->args);
    self->staging = NULL;
    self->arena = self->args = 0;
}

static int wait_for(device_t *self, cu_result_t result, const char *what, err_t *err)
{
    if (result == CU_SUCCESS) result = self->api.stream_wait(self->stream);
    return cuda_api_check(&self->api, result, what, err);
}

int cuda_memory_write(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes,
                      err_t *err)
{
    if (cuda_use(self, err) < 0 || cuda_steps_run(self, err) < 0) return -1;
    for (size_t at = 0; at < n_bytes; at += STAGING_BYTES) {
        size_t n = n_bytes - at < STAGING_BYTES ? n_bytes - at : STAGING_BYTES;
        memcpy(self->staging, (const char *)bytes + at, n);
        cu_result_t result = self->api.upload(self->arena + offset + at, self->staging, n,
                                              self->stream);
        if (wait_for(self, result, "writing to its memory", err) < 0) return -1;
    }
    return 0;
}

int cuda_memory_read(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err)
{
    if (cuda_use(self, err) < 0 || cuda_steps_run(self, err) < 0) return -1;
    for (size_t at = 0; at < n_bytes; at += STAGING_BYTES) {
        size_t n = n_bytes - at < STAGING_BYTES ? n_bytes - at : STAGING_BYTES;
        cu_result_t result = self->api.download(self->staging, self->arena + offset + at, n,
                                                self->stream);
        if (wait_for(self, result, "reading its memory", err) < 0) return -1;
        memcpy((char *)bytes + at, self->staging, n);
    }
    return 0;
}

int cuda_memory_zero(device_t *self, uint64_t offset, size_t n_bytes, err_t *err)
{
    if (cuda_use(self, err) < 0 || cuda_steps_run(self, err) < 0) return -1;
    if (n_bytes == 0) return 0;
    return wait_for(self, self->api.fill(self->arena + offset, 0, n_bytes, self->stream),
                    "clearing its memory", err);
}
