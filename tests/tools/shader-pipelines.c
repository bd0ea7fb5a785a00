/* shader-pipelines PLAN: make the pipelines of a Vulkan plan's shaders, as the device does, and run none. For drivers that compile for
 * devices which are not there: RADV with RADV_FORCE_FAMILY=navi21, and RADV_DEBUG=shaderstats for what each takes. On
 * standard error the device and the number of kernels, before what the driver says of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/vulkan/steps.h"

static int compile(device_t *self, const char *path, err_t *err)
{
    size_t n = 0;
    char *bytes = file_read(path, &n, err);
    plan_t *plan = bytes ? plan_unpack((const uint8_t *)bytes, n, err) : NULL;
    if (!plan || shaders_load(&self->shaders, plan->code, plan->n_code, err) < 0) return -1;
    self->plan = plan;
    VEC_PUSH(&self->segments, ((span_t){0, plan->arena_bytes}));
    if (api_open(&self->api, err) < 0) return -1;
    if (!api_choose(&self->api, 0)) return err_set(err, ERR_UNSUPPORTED, "no device 0");
    if (api_make_device(&self->api, err) < 0) return -1;
    fprintf(stderr, "%s: %d kernels\n", self->api.properties.deviceName, self->shaders.n);
    return pipelines_new(self, err);
}

int main(int argc, char **argv)
{
    err_t err = {0};
    static device_t self;
    if (argc != 2) return fprintf(stderr, "usage: shader-pipelines PLAN\n"), 2;
    if (compile(&self, argv[1], &err) < 0) {
        fprintf(stderr, "shader-pipelines: %s\n", err.text);
        return 1;
    }
    fflush(NULL);
    _exit(0); /* the null device cannot be closed */
}
