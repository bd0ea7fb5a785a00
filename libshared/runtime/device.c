/* The table of device kinds. */
#include "runtime/device.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "codegen/target.h"

static const device_ops_t *const devices[] = {&device_cpu, &device_c, &device_vulkan, &device_cuda,
                                              &device_hip};
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

/* A whole number below 4096; -1: it is none. */
static int read_ordinal(const char *text)
{
    enum { MOST = 4096 };
    int n = 0;
    if (!*text) return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return -1;
        n = n * 10 + (*text - '0');
        if (n >= MOST) return -1;
    }
    return n;
}

int device_look(const device_place_t *place, device_info_t *info, err_t *err)
{
    const char *prefix = place->ops->prefix;
    if (!place->ops->info(place->ordinal, info))
        return err_set(err, ERR_UNSUPPORTED,
                       "there is no device %s:%d here: `pcp devices` lists them%s", prefix,
                       place->ordinal,
                       place->ordinal == 0 ? "; a device's driver may be missing" : "");
    if (!info->target)
        return err_set(err, ERR_UNSUPPORTED, "device %s:%d (%s) runs no plans", prefix,
                       place->ordinal, info->text);
    return 0;
}

int device_place(const char *text, device_place_t *out, err_t *err)
{
    const char *colon = strchr(text, ':'), *at = strchr(text, '@');
    device_place_t place = {.ops = device_find(text, err)};
    if (!place.ops) return -1;
    bool target = colon && read_ordinal(colon + 1) < 0;
    const char *number = !colon ? "0" : !target ? colon + 1 : at ? at + 1 : "0";
    place.ordinal = read_ordinal(number);
    if (place.ordinal < 0)
        return err_set(err, ERR_ARG, "device \"%s\": \"%s\" is no device's number", text, number);
    if (!target) {
        device_info_t info;
        if (device_look(&place, &info, err) < 0) return -1;
        place.target = info.target;
    } else {
        char name[64];
        size_t n = at ? (size_t)(at - text) : strlen(text);
        snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, text);
        const target_t *found = target_find(n < sizeof name ? name : text, err);
        if (!found) return -1;
        place.target = found->name;
    }
    *out = place;
    return 0;
}

uint64_t device_machine_bytes(void)
{
    return memory_bytes();
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
