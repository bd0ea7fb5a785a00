/* What goes from a directory of plans that may take no more: others' versions first, what was used longest ago first,
 * nothing that is in use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/version.h"
#include "compile/plan_cache.h"
#include "temp.h"

enum { BYTES = 1000 };

/* A file of BYTES that was used so many days ago. */
static void put(const char *path, int days)
{
    static const char bytes[BYTES];
    temp_write(path, bytes, BYTES);
    struct timespec used[2] = {{0, UTIME_OMIT}, {time(NULL) - days * 24 * 3600, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, used, 0), 0);
}

static char *ours(const char *dir, const char *what)
{
    return plan_cache_path(dir, "a build", &what, 1);
}

static char *another(const char *dir, const char *name)
{
    return strdup(temp_path(dir, name));
}

/* --- order --- */

enum { PLANS = 6 };
typedef struct {
    char *dir, *path[PLANS];
} rig_t;

/* In the order in which they go: others' from old to new, ours from old to new. */
static void rig_init(rig_t *self)
{
    self->dir = temp_dir();
    self->path[0] = another(self->dir, "0.0.9-abc.plan");
    self->path[1] = another(self->dir, "abc.plan");
    self->path[2] = another(self->dir, "99.1.0-abc.plan");
    self->path[3] = ours(self->dir, "a");
    self->path[4] = ours(self->dir, "b");
    self->path[5] = ours(self->dir, "c");
    static const int days[PLANS] = {9, 8, 1, 20, 7, 2};
    for (int i = 0; i < PLANS; i++) put(self->path[i], days[i]);
}

static void rig_fini(rig_t *self)
{
    for (int i = 0; i < PLANS; i++) free(self->path[i]);
    temp_remove(&self->dir);
}

static unsigned left(const rig_t *self)
{
    unsigned mask = 0;
    for (int i = 0; i < PLANS; i++) mask |= (unsigned)file_exists(self->path[i]) << i;
    return mask;
}

static void test_order(void **state)
{
    (void)state;
    static const struct {
        uint64_t limit;
        unsigned left;
    } rows[] = {{UINT64_MAX, 0x3f}, {6 * BYTES, 0x3f},     {6 * BYTES - 1, 0x3e},
                {4 * BYTES, 0x3c},  {3 * BYTES + 1, 0x38}, {2 * BYTES, 0x30},
                {BYTES, 0x20},      {BYTES - 1, 0},        {0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig_t rig;
        rig_init(&rig);
        plan_cache_prune(rig.dir, rows[i].limit);
        assert_int_equal(left(&rig), rows[i].left);
        rig_fini(&rig);
    }
    plan_cache_prune("/nowhere/at/all", 0);
}

static void test_in_use(void **state)
{
    (void)state;
    rig_t rig;
    rig_init(&rig);
    int a = plan_cache_use(rig.path[0]), b = plan_cache_use(rig.path[4]),
        again = plan_cache_use(rig.path[4]);
    assert_true(a >= 0 && b >= 0 && again >= 0);
    plan_cache_prune(rig.dir, 3 * BYTES);
    assert_int_equal(left(&rig), 0x31);
    close(b);
    plan_cache_prune(rig.dir, 0);
    assert_int_equal(left(&rig), 0x11);
    close(again);
    plan_cache_prune(rig.dir, BYTES);
    assert_int_equal(left(&rig), 0x01);
    close(a);
    plan_cache_prune(rig.dir, 0);
    assert_int_equal(left(&rig), 0);
    assert_int_equal(plan_cache_use(rig.path[0]), -1);
    rig_fini(&rig);
}

/* Other files of the directory, and what links lead to, are not plans of ours. */
static void test_others_stay(void **state)
{
    (void)state;
    rig_t rig;
    rig_init(&rig);
    char *beyond = temp_dir();
    put(temp_path(beyond, "plan"), 30);
    put(temp_path(rig.dir, "tune-cpu.txt"), 30);
    put(temp_path(rig.dir, "x.plan.tmp.00000000000000000000000000000000"), 30);
    char *link = another(rig.dir, "link.plan");
    assert_int_equal(symlink(temp_path(beyond, "plan"), link), 0);
    plan_cache_prune(rig.dir, 0);
    assert_int_equal(left(&rig), 0);
    assert_true(file_exists(temp_path(beyond, "plan")));
    assert_true(file_exists(temp_path(rig.dir, "tune-cpu.txt")));
    assert_int_equal(temp_count(rig.dir), 2); /* the link; what a killed writer left is gone */
    free(link);
    temp_remove(&beyond);
    rig_fini(&rig);
}

/* All programs of a version share the beginning of names, and no more. */
static void test_names(void **state)
{
    (void)state;
    static const char *const what[] = {"a", "b"};
    char begin[64], *a = ours("d", "a"), *b = ours("d", "b"),
                    *c = plan_cache_path("d", "another build", what, 1),
                    *both = plan_cache_path("d", "a build", what, 2);
    snprintf(begin, sizeof begin, "d/%s-", pcp_version);
    const char *const all[] = {a, b, c, both};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(strncmp(all[i], begin, strlen(begin)), 0);
        for (int k = 0; k < i; k++) assert_string_not_equal(all[i], all[k]);
    }
    free(a);
    free(b);
    free(c);
    free(both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_in_use),
        cmocka_unit_test(test_others_stay),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("plan_cache", tests, NULL, NULL);
}
