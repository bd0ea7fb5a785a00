/* The table of device kinds. */
#include "runtime/device.h"

#include <string.h>

static const device_ops_t *const devices[] = {
    &device_cpu,
};

const device_ops_t *device_find(const char *name, err_t *err)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        if (strcmp(devices[i]->name, name) == 0) return devices[i];
    }
    err_set(err, ERR_UNSUPPORTED, "unknown device \"%s\"; this build has: cpu", name);
    return NULL;
}
