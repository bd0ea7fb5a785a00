/* How many threads may compute here: cores of the affinity mask (taskset, cpusets), less what a
 * container's quota leaves of them (docker --cpus, cgroup 1 and 2). Any thread. */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

/* At least 1. A quota is rounded down, from 1 on: threads that meet after every step are as slow as
 * the one that waits for the next period, so a core and a half are one thread, and so is half a
 * core. */
int cpus_count(void);

/* Cores' worth of time that a process may use, by the smallest quota of its cgroup and of all above
 * it; INFINITY: no limit. membership: its /proc/PID/cgroup; mount: /sys/fs/cgroup, there. */
double cpus_quota(const char *membership, const char *mount);

#endif
