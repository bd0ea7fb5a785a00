/* HIP: AMD's devices, by ROCm's library. Its functions are CUDA's by other names (api.h). */
#include <string.h>

#include "runtime/cuda/steps.h"

/* The architecture, "gfx90a:sramecc+:xnack-" up to the first colon, is a field of a struct that grew between
 * releases. It stands behind the name, at another place in each, and is told by what it holds. */
static bool look(api_t *self)
{
    enum { ROOM = 16 << 10, NAME = 256 }; /* the struct had 792 bytes, then 1472 */
    static const char digits[] = "0123456789abcdef";
    char room[ROOM + 1] = {0};
    if (self->device_properties(room, self->device) != CU_SUCCESS) return false;
    for (char *at = room + NAME; at < room + ROOM; at++) {
        size_t n = memcmp(at, "gfx", 3) == 0 ? strspn(at + 3, digits) : 0;
        if (n < 3 || 3 + n >= sizeof self->arch || (at[3 + n] && at[3 + n] != ':')) continue;
        memcpy(self->arch, at, 3 + n);
        self->arch[3 + n] = '\0';
        return true;
    }
    return false;
}

/* A code object runs on its architecture alone. */
static bool runs(const api_t *self, const target_t *t)
{
    return strcmp(self->arch, t->flags) == 0;
}

static const driver_t driver = {
    .prefix = "hip",
    .title = "HIP",
    .variable = "PCP_LIBHIP",
    .library = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
    .package = "ROCm",
    .is_hip = true,
    .max_threads = UINT32_MAX,
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

const device_ops_t device_hip = {.prefix = "hip", .info = info, .open = open, CUDA_OPS};
