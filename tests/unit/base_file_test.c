/* base: files (atomic writes, full disk, mapping). */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "temp.h"

static int set_up(void **state)
{
    *state = temp_dir();
    return 0;
}

static int tear_down(void **state)
{
    temp_remove((char **)state);
    return 0;
}

static void test_read_and_map(void **state)
{
    const char *dir = *state, *path = temp_path(dir, "f");
    err_t err = {0};
    size_t n = 99;
    file_map_t map = {0};
    static const char *const contents[] = {"", "x", "some text\n"};
    for (int i = 0; i < 3; i++) {
        temp_write(path, contents[i], strlen(contents[i]));
        char *text = file_read(path, &n, &err);
        assert_non_null(text);
        assert_int_equal(n, strlen(contents[i]));
        assert_string_equal(text, contents[i]); /* the NUL behind it */
        free(text);
        assert_int_equal(file_map(path, &map, &err), 0);
        assert_int_equal(map.n, n);
        assert_memory_equal(map.at, contents[i], n);
        file_unmap(&map);
        assert_int_equal(file_size(path), (int64_t)n);
    }
    /* A file whose size is not known beforehand. */
    char *text = file_read("/proc/self/status", &n, &err);
    assert_non_null(text);
    assert_true(n > 100 && strlen(text) == n);
    free(text);
}

static void test_read_errors(void **state)
{
    const char *dir = *state, *absent = temp_path(dir, "absent");
    err_t err = {0};
    size_t n = 5;
    file_map_t map = {(const uint8_t *)"kept", 0};
    assert_null(file_read(absent, &n, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "absent: No such file"));
    assert_null(file_read(dir, &n, &err));
    assert_non_null(strstr(err.text, "is a directory"));
    assert_int_equal(file_map(absent, &map, &err), -1);
    assert_int_equal(file_map(dir, &map, &err), -1);
    assert_int_equal(file_map("/dev/null", &map, &err), -1);
    assert_int_equal(n, 5);
    assert_string_equal((const char *)map.at, "kept");
    assert_int_equal(file_size(absent), -1);
    assert_false(file_exists(absent));
    assert_true(file_exists(dir));
}

static void test_write_atomic(void **state)
{
    const char *dir = *state, *path = temp_path(dir, "f");
    err_t err = {0};
    size_t n;
    assert_int_equal(file_write_atomic(path, "old", 3, &err), 0);
    assert_int_equal(file_write_atomic(path, "newer", 5, &err), 0);
    char *text = file_read(path, &n, &err);
    assert_string_equal(text, "newer");
    free(text);
    assert_int_equal(temp_count(dir), 1);
    assert_int_equal(file_write_atomic(temp_path(dir, "no/such"), "x", 1, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "no/such: No such file"));
    assert_int_equal(file_write_atomic(dir, "x", 1, &err), -1); /* a directory is in the way */
    char *said = mem_printf("%s: rename: ", dir); /* not the name of the temporary file */
    assert_int_equal(strncmp(err.text, said, strlen(said)), 0);
    free(said);
    char *beside = file_temporary(dir);
    assert_false(file_exists(beside));
    free(beside);
}

/* What is no regular file stays what it is: bytes go into it, or are refused by name. */
static void test_special(void **state)
{
    const char *dir = *state, *pipe = temp_path(dir, "pipe");
    err_t err = {0};
    struct stat info;
    char got[8] = {0};
    assert_int_equal(mkfifo(pipe, 0600), 0);
    int fd = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(file_write_atomic(pipe, "flows", 5, &err), 0);
    assert_int_equal(read(fd, got, sizeof got), 5);
    assert_string_equal(got, "flows");
    close(fd);

    char *temporary = file_temporary(pipe);
    fd = open(temporary, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(file_commit(fd, temporary, pipe, &err), -1);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_false(file_exists(temporary));
    free(temporary);
    assert_int_equal(stat(pipe, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
}

static void test_full_disk(void **state)
{
    const char *dir = *state, *path = temp_path(dir, "f");
    err_t err = {0};
    size_t n;
    char bytes[5000] = {0};
    assert_int_equal(file_write_atomic(path, "old", 3, &err), 0);
    temp_disk_full(1000);
    int rc = file_write_atomic(path, bytes, sizeof bytes, &err);
    temp_disk_free();
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "/f: writing 5000 bytes"));
    assert_int_equal(temp_count(dir), 1); /* nothing left beside it */
    char *text = file_read(path, &n, &err);
    assert_string_equal(text, "old");
    free(text);
}

static void test_make_dirs(void **state)
{
    const char *dir = *state;
    err_t err = {0};
    assert_int_equal(file_make_dirs(temp_path(dir, "a/b//c/"), &err), 0);
    assert_int_equal(file_make_dirs(temp_path(dir, "a/b/c"), &err), 0);
    assert_true(file_exists(temp_path(dir, "a/b/c")));
    temp_write(temp_path(dir, "file"), "", 0);
    assert_int_equal(file_make_dirs(temp_path(dir, "file/x"), &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(file_make_dirs(temp_path(dir, "file"), &err), -1);
    assert_non_null(strstr(err.text, "is a file"));
    assert_int_equal(file_sync_dir(dir, &err), 0);
    assert_int_equal(file_sync_dir(temp_path(dir, "none"), &err), -1);
}

/* With what is in it, but not what a link in it leads to. */
static void test_remove_tree(void **state)
{
    const char *dir = *state, *tree = temp_path(dir, "tree"), *kept = temp_path(dir, "kept");
    err_t err = {0};
    assert_int_equal(file_make_dirs(temp_path(dir, "tree/a/b"), &err), 0);
    assert_int_equal(file_make_dirs(kept, &err), 0);
    temp_write(temp_path(dir, "tree/a/b/file"), "x", 1);
    temp_write(temp_path(dir, "kept/file"), "x", 1);
    assert_int_equal(symlink(kept, temp_path(dir, "tree/a/link")), 0);
    assert_int_equal(file_remove_tree(tree), 0);
    assert_false(file_exists(tree));
    assert_true(file_exists(temp_path(dir, "kept/file")));
    assert_int_equal(file_remove_tree(tree), 0); /* none */
    assert_int_equal(symlink(kept, tree), 0);
    assert_int_equal(file_remove_tree(tree), -1); /* not what it leads to either */
    assert_int_equal(file_remove_tree(temp_path(dir, "tree//")), -1);
    assert_true(file_exists(temp_path(dir, "kept/file")));
    assert_int_equal(file_remove_tree(temp_path(dir, "kept/file")), -1); /* no directory */
    assert_true(file_exists(temp_path(dir, "kept/file")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read_and_map, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_write_atomic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_special, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_make_dirs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_remove_tree, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
