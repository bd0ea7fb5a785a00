/* Physical memory, less limits. Files of cgroup 2: DIR/memory.max, bytes or "max"; of cgroup 1:
 * DIR/memory.limit_in_bytes, where no limit is a number beyond every machine. */
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cgroup.h"

static double limit_of_dir(const char *dir)
{
    double bytes = 0;
    if (cgroup_read(dir, "memory.max", &bytes, NULL) < 0 &&
        cgroup_read(dir, "memory.limit_in_bytes", &bytes, NULL) < 0)
        return INFINITY;
    return bytes > 0 ? bytes : INFINITY;
}

double memory_quota(const char *membership, const char *mount)
{
    return cgroup_least(membership, mount, "memory", limit_of_dir);
}

uint64_t memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
    double quota = memory_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    return quota < (double)machine ? (uint64_t)quota : machine;
}

uint64_t memory_resident(void)
{
    unsigned long long all, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &all, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
