/* The table of device kinds. */
#include "runtime/device.h"

#include <string.h>
#include <unistd.h>

#include "base/str.h"

static const device_ops_t *const devices[] = {&device_cpu, &device_c, &device_vulkan};
enum { N_DEVICE = sizeof devices / sizeof *devices };

const device_ops_t *device_row(int i)
{
    return i >= 0 && i < N_DEVICE ? devices[i] : NULL;
}

const device_ops_t *device_find(const char *target, err_t *err)
{
    size_t n = target ? strcspn(target, ":") : 0;
    str_t known = {0};
    for (int i = 0; i < N_DEVICE; i++) {
        const char *prefix = devices[i]->prefix;
        if (n > 0 && strlen(prefix) == n && strncmp(prefix, target, n) == 0) {
            str_fini(&known);
            return devices[i];
        }
        str_addf(&known, "%s%s", i ? ", " : "", prefix);
    }
    err_set(err, ERR_UNSUPPORTED, "no device runs plans for target \"%s\"; this build has: %s",
            target ? target : "", str_text(&known));
    str_fini(&known);
    return NULL;
}

uint64_t device_machine_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

int device_check_memory(const device_options_t *options, uint64_t n_bytes, err_t *err)
{
    double mib = (double)n_bytes / (1 << 20), have = (double)device_machine_bytes() / (1 << 20);
    double limit = (double)options->memory_limit / (1 << 20);
    if (options->memory_limit > 0 && n_bytes > options->memory_limit)
        return err_set(err, ERR_MEMORY, "the plan needs an arena of %.1f MiB, the limit is %.1f",
                       mib, limit);
    if (n_bytes > device_machine_bytes())
        return err_set(err, ERR_MEMORY,
                       "the plan needs an arena of %.1f MiB, this machine has %.1f", mib, have);
    return 0;
}
