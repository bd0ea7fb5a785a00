/* Scratch directories: those of killed processes go, those in use stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/scratch.h"
#include "temp.h"

static void fill(const scratch_t *scratch)
{
    char *path = mem_printf("%s/sub", scratch->dir), *file = mem_printf("%s/k0.c", path);
    assert_int_equal(file_make_dirs(path, NULL), 0);
    temp_write(file, "x", 1);
    free(path);
    free(file);
}

static void swept_after_the_dead(void **unused)
{
    (void)unused;
    char *dir = temp_dir();
    setenv("TMPDIR", dir, 1);
    scratch_t mine = {0};
    err_t err = {0};
    assert_int_equal(scratch_make(&mine, NULL, "cc", &err), 0);
    fill(&mine);
    pid_t child = fork();
    if (child == 0) { /* killed before it can clean up */
        scratch_t lost = {0};
        if (scratch_make(&lost, NULL, "cc", &err) == 0) fill(&lost);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    temp_write(temp_path(dir, "pcp-cc-x"), "", 0); /* names that are none */
    temp_write(temp_path(dir, "other"), "", 0);
    assert_int_equal(temp_count(dir), 4);
    char *before = mem_printf("%s/pcp-cc-%d-before", dir, (int)getpid()); /* in this container */
    assert_int_equal(file_make_dirs(before, NULL), 0);
    free(before);
    assert_int_equal(scratch_sweep(NULL, "train"), 0); /* another kind */
    assert_int_equal(scratch_sweep(dir, "cc"), 2);
    assert_int_equal(temp_count(dir), 3);
    assert_true(file_exists(mine.dir));
    assert_int_equal(scratch_sweep(NULL, "cc"), 0);
    scratch_remove(&mine);
    scratch_remove(&mine);
    assert_int_equal(temp_count(dir), 2);
    temp_remove(&dir);
    setenv("TMPDIR", "/nowhere/at/all", 1);
    assert_int_equal(scratch_make(&mine, NULL, "cc", &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(scratch_sweep(NULL, "cc"), 0);
    unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(swept_after_the_dead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
