/* Memory that a process may have: limits of cgroups, from files that a test wrote. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "cgroup_files.h"

typedef struct {
    const char *name, *membership; /* text of /proc/self/cgroup */
    cgroup_file_t file[2];         /* beneath the mount */
    double limit;
} case_t;

static const case_t cases[] = {
    {"no limit", "0::/\n", {{"memory.max", "max\n"}}, INFINITY},
    {"no files at all", "0::/a\n", {{0}}, INFINITY},
    {"no membership", NULL, {{"memory.max", "1000\n"}}, 1000},
    {"a container's own root", "0::/\n", {{"memory.max", "2147483648\n"}}, 2147483648.0},
    {"the group above is smaller",
     "0::/a/b\n",
     {{"a/b/memory.max", "4000\n"}, {"a/memory.max", "2000\n"}},
     2000},
    {"not ours", "0::/a\n", {{"b/memory.max", "1000\n"}}, INFINITY},
    {"cgroup 1", "4:memory:/m\n3:cpu:/c\n", {{"memory/m/memory.limit_in_bytes", "3000\n"}}, 3000},
    {"cgroup 1, seen from inside",
     "4:memory:/docker/1234\n",
     {{"memory/memory.limit_in_bytes", "3000\n"}},
     3000},
    {"cgroup 1, another controller's path",
     "4:cpu:/m\n",
     {{"memory/m/memory.limit_in_bytes", "3000\n"}},
     INFINITY},
    {"nonsense", "0::/\n", {{"memory.max", "lots of it\n"}}, INFINITY},
    {"nothing", "0::/\n", {{"memory.max", "0\n"}}, INFINITY},
};

static void limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const case_t *c = &cases[i];
        double limit = cgroup_files_quota(memory_quota, c->membership, c->file, 2);
        if (!(limit == c->limit)) fail_msg("%s: %g, want %g", c->name, limit, c->limit);
    }
}

static void here(void **state)
{
    (void)state;
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_in_range(memory_bytes(), 1 << 20, machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits), cmocka_unit_test(here)};
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
