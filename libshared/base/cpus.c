/* Cores, less quotas. Files of cgroup 2: DIR/cpu.max, "200000 100000" or "max 100000"; of cgroup 1:
 * DIR/cpu.cfs_quota_us (-1: none) and DIR/cpu.cfs_period_us. */
#include "base/cpus.h"

#include <math.h>
#include <sched.h>
#include <unistd.h>

#include "base/cgroup.h"

static double ratio(double quota, double period)
{
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

static double quota_of_dir(const char *dir)
{
    double quota = 0, period = 0;
    if (cgroup_read(dir, "cpu.max", &quota, &period) == 0) return ratio(quota, period);
    if (cgroup_read(dir, "cpu.cfs_quota_us", &quota, NULL) == 0 &&
        cgroup_read(dir, "cpu.cfs_period_us", &period, NULL) == 0)
        return ratio(quota, period);
    return INFINITY;
}

double cpus_quota(const char *membership, const char *mount)
{
    return cgroup_least(membership, mount, "cpu", quota_of_dir);
}

static int cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more cores than the set has room for */
    return online > 0 && online < 1 << 20 ? (int)online : 1;
}

int cpus_count(void)
{
    int n = cores();
    double quota = cpus_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota < n) n = (int)quota;
    return n < 1 ? 1 : n;
}
