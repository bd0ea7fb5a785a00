/* Temporary files beside their targets: names that nobody else has, and what is swept. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/random.h"
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

static void make_old(const char *path, time_t seconds)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Two writers of one process number (here: one process) have files of their own. */
static void test_temporary_names(void **state)
{
    const char *dir = *state, *path = temp_path(dir, "f");
    err_t err = {0};
    struct stat info;
    char *first = NULL, *second = NULL, got[8] = {0};
    int a = file_open_temporary(path, 0600, &first, &err);
    assert_true(a >= 0);
    assert_int_equal(file_write_all(a, "first", 5, path, &err), 0);
    int b = file_open_temporary(path, 0600, &second, &err);
    assert_true(b >= 0);
    assert_string_not_equal(first, second);
    assert_int_equal(pread(a, got, sizeof got, 0), 5); /* not truncated */
    assert_string_equal(got, "first");
    assert_int_equal(fstat(a, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(file_commit(b, second, path, &err), 0);
    assert_int_equal(file_commit(a, first, path, &err), 0);
    assert_int_equal(file_size(path), 5);
    free(first);
    free(second);
    assert_int_equal(file_open_temporary(temp_path(dir, "no/such"), 0600, &first, &err), -1);
    assert_non_null(strstr(err.text, "no/such"));
    mode_t mask = umask(022);
    assert_int_equal(file_write_as(path, 0640, "x", 1, &err), 0);
    umask(mask);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
}

/* What a killed writer left goes; what is being written, or is no temporary file, stays. */
static void test_sweep(void **state)
{
    const char *dir = *state;
    err_t err = {0};
    char *killed = NULL, *young = NULL, *living = NULL;
    close(file_open_temporary(temp_path(dir, "a"), 0600, &killed, &err));
    close(file_open_temporary(temp_path(dir, "b"), 0600, &young, &err));
    int fd = file_open_temporary(temp_path(dir, "c"), 0600, &living, &err);
    assert_true(killed && young && fd >= 0);
    temp_write(temp_path(dir, "d.tmp.4711"), "old", 3); /* of an earlier version */
    temp_write(temp_path(dir, "e.tmp.text"), "mine", 4);
    make_old(killed, 3600);
    make_old(living, 7 * 24 * 3600);
    make_old(temp_path(dir, "d.tmp.4711"), 3600);
    make_old(temp_path(dir, "e.tmp.text"), 3600);
    assert_int_equal(file_sweep_temporaries(dir), 2);
    assert_false(file_exists(killed));
    assert_false(file_exists(temp_path(dir, "d.tmp.4711")));
    assert_true(file_exists(young) && file_exists(living));
    assert_true(file_exists(temp_path(dir, "e.tmp.text")));
    close(fd);
    assert_int_equal(file_sweep_temporaries(dir), 1);
    assert_int_equal(file_sweep_temporaries(temp_path(dir, "none")), 0);
    free(killed);
    free(young);
    free(living);
}

/* Many writers of one name: a reader sees one of them whole, and nothing is left beside it. */
static void test_writers_at_once(void **state)
{
    enum { N_WRITER = 6, N_TIME = 12, N_BYTES = 30000 };
    const char *dir = *state, *path = temp_path(dir, "shared");
    err_t err = {0};
    pid_t pid[N_WRITER];
    char bytes[N_BYTES];
    memset(bytes, 'a', sizeof bytes);
    assert_int_equal(file_write_atomic(path, bytes, sizeof bytes, &err), 0);
    for (int i = 0; i < N_WRITER; i++) {
        if ((pid[i] = fork()) != 0) continue;
        memset(bytes, 'a' + i, sizeof bytes);
        for (int k = 0; k < N_TIME; k++)
            if (file_write_atomic(path, bytes, sizeof bytes, &err) < 0) _exit(1);
        _exit(0);
    }
    for (int i = 0; i < N_WRITER; i++)
        for (int status = 0, ended = 0; !ended; ended = waitpid(pid[i], &status, WNOHANG)) {
            file_map_t map;
            assert_int_equal(file_map(path, &map, &err), 0);
            assert_int_equal(map.n, N_BYTES);
            for (size_t k = 0; k < map.n; k++) assert_int_equal(map.at[k], map.at[0]);
            file_unmap(&map);
        }
    assert_int_equal(temp_count(dir), 1);
}

static void test_random(void **state)
{
    (void)state;
    char a[41], b[41];
    random_hex(a, 40);
    random_hex(b, 40);
    assert_int_equal(strspn(a, "0123456789abcdef"), 40);
    assert_string_not_equal(a, b);
    assert_true(random_u64() != random_u64());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test_setup_teardown(test_temporary_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sweep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_writers_at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("file_temporary", tests, NULL, NULL);
}
