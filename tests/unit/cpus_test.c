/* Cores that a process may use: quotas of cgroups, from files that a test wrote. */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpus.h"
#include "cgroup_files.h"

typedef struct {
    const char *name, *membership; /* text of /proc/self/cgroup */
    cgroup_file_t file[4];         /* beneath the mount */
    double quota;
} case_t;

static const case_t cases[] = {
    {"no limit", "0::/\n", {{"cpu.max", "max 100000\n"}}, INFINITY},
    {"no files at all", "0::/a\n", {{0}}, INFINITY},
    {"no membership", NULL, {{"cpu.max", "150000 100000\n"}}, 1.5},
    {"a container's own root", "0::/\n", {{"cpu.max", "150000 100000\n"}}, 1.5},
    {"a group of the host", "0::/a/b\n", {{"a/b/cpu.max", "400000 100000\n"}}, 4},
    {"the group above is smaller",
     "0::/a/b\n",
     {{"a/b/cpu.max", "400000 100000\n"}, {"a/cpu.max", "200000 100000\n"}},
     2},
    {"the host's path in a container", "0::/docker/1234\n", {{"cpu.max", "50000 100000\n"}}, 0.5},
    {"not ours", "0::/a\n", {{"b/cpu.max", "100000 100000\n"}}, INFINITY},
    {"cgroup 1",
     "4:memory:/m\n3:cpu,cpuacct:/c\n",
     {{"cpu,cpuacct/c/cpu.cfs_quota_us", "300000\n"},
      {"cpu,cpuacct/c/cpu.cfs_period_us", "100000\n"}},
     3},
    {"cgroup 1 without limit",
     "1:cpu:/\n",
     {{"cpu/cpu.cfs_quota_us", "-1\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}},
     INFINITY},
    {"cgroup 1, another controller",
     "1:cpuset:/c\n",
     {{"cpu/c/cpu.cfs_quota_us", "100000\n"}, {"cpu/c/cpu.cfs_period_us", "100000\n"}},
     INFINITY},
    {"both, the smaller counts",
     "1:cpu:/c\n0::/c\n",
     {{"cpu/c/cpu.cfs_quota_us", "500000\n"},
      {"cpu/c/cpu.cfs_period_us", "100000\n"},
      {"unified/c/cpu.max", "250000 100000\n"}},
     2.5},
    {"nonsense", "x\n:\n0:\n0::\n\n0::/\n", {{"cpu.max", "lots of it\n"}}, INFINITY},
};

static void quotas(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const case_t *c = &cases[i];
        double quota = cgroup_files_quota(cpus_quota, c->membership, c->file, 4);
        if (!(quota == c->quota)) fail_msg("%s: %g, want %g", c->name, quota, c->quota);
    }
}

static void affinity(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_true(cpus_count() >= 1);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cpus_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quotas), cmocka_unit_test(affinity)};
    return cmocka_run_group_tests_name("cpus", tests, NULL, NULL);
}
