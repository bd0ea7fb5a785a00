/* Blocks in memory and in an unnamed file, disks without room, and files that are cut short while they are
 * read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_view.h"
#include "base/spill.h"
#include "temp.h"

enum { SIZE = 300000 };

/* Each test has a TMPDIR of its own. */
static char *was;

static int enter(void **state)
{
    was = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    char *dir = temp_dir();
    setenv("TMPDIR", dir, 1);
    *state = dir;
    return 0;
}

static int leave(void **state)
{
    char *dir = *state;
    if (was)
        setenv("TMPDIR", was, 1);
    else
        unsetenv("TMPDIR");
    free(was);
    temp_remove(&dir);
    return 0;
}

static void fill(char *at, int seed)
{
    for (int i = 0; i < SIZE; i++) at[i] = (char)(i * 7 + seed);
}

static void check_filled(const char *at, int seed)
{
    for (int i = 0; i < SIZE; i++) assert_int_equal(at[i], (char)(i * 7 + seed));
}

/* Two fit into memory, three do not. */
static void test_blocks(void **state)
{
    const char *dir = *state;
    spill_t *spill = spill_new(2 * SIZE);
    char *at[5];
    for (int i = 0; i < 5; i++) {
        err_t err = {0};
        at[i] = spill_alloc(spill, SIZE, &err);
        assert_non_null(at[i]);
        assert_int_equal((uintptr_t)at[i] % 16, 0);
        for (int k = 0; k < SIZE; k++) assert_int_equal(at[i][k], 0);
        fill(at[i], i);
        spill_rest(spill, at[i], SIZE);
        assert_true(spill_holds(spill, at[i]) && spill_holds(spill, at[i] + SIZE - 1));
        assert_int_equal(spill_file_bytes(spill) > 0, i >= 2);
    }
    assert_false(spill_holds(spill, &spill));
    assert_int_equal(temp_count(dir), 0); /* the file has no name */
    spill_t *other = spill_share(spill);
    spill_release(&spill);
    assert_null(spill);
    for (int i = 0; i < 5; i++) check_filled(at[i], i);
    spill_release(&other);
    spill_release(&other); /* NULL */
}

static void test_full_disk(void **state)
{
    const char *dir = *state;
    spill_t *spill = spill_new(0);
    err_t err = {0};
    char *first = spill_alloc(spill, SIZE, &err);
    fill(first, 1);
    temp_disk_full(2 * SIZE);
    assert_null(spill_alloc(spill, 2 * SIZE, &err));
    temp_disk_free();
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, dir));
    assert_non_null(strstr(err.text, "set TMPDIR to a directory on a disk with more room"));
    check_filled(first, 1); /* what was there stays */
    char *second = spill_alloc(spill, SIZE, &err);
    assert_non_null(second);
    spill_release(&spill);
    assert_int_equal(temp_count(dir), 0);
}

static void test_no_directory(void **state)
{
    (void)state;
    setenv("TMPDIR", temp_path(*state, "nowhere"), 1);
    spill_t *spill = spill_new(0);
    err_t err = {0};
    assert_null(spill_alloc(spill, SIZE, &err));
    assert_non_null(strstr(err.text, "nowhere"));
    assert_non_null(strstr(err.text, "TMPDIR"));
    spill_release(&spill);
    setenv("TMPDIR", *state, 1);
}

static void test_view(void **state)
{
    err_t err = {0};
    file_view_t view;
    const char *path = temp_path(*state, "file");
    temp_write(path, "text", 4);
    assert_int_equal(file_view_open(path, &view, &err), 0);
    assert_true(view.mapped && view.n == 4 && !memcmp(view.at, "text", 4));
    file_view_close(&view);
    temp_write(path, "", 0);
    assert_int_equal(file_view_open(path, &view, &err), 0);
    assert_int_equal(view.n, 0);
    file_view_close(&view);
    assert_int_equal(file_view_open(temp_path(*state, "none"), &view, &err), -1);
    assert_non_null(strstr(err.text, "none"));
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "piped", 5), 5);
    close(ends[1]);
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(file_view_open(name, &view, &err), 0);
    assert_true(!view.mapped && view.n == 5 && !memcmp(view.at, "piped", 5));
    file_view_close(&view);
    close(ends[0]);
}

/* In a process of its own: it ends with a word and status 1, not by the signal. */
static void test_cut_short(void **state)
{
    const char *path = temp_path(*state, "file"), *words = temp_path(*state, "words");
    char *bytes = calloc(1, SIZE);
    temp_write(path, bytes, SIZE);
    free(bytes);
    pid_t child = fork();
    if (child == 0) {
        file_view_t view;
        if (!freopen(words, "w", stderr) || file_view_open(path, &view, NULL) < 0) _exit(9);
        file_view_guard("program");
        if (truncate(path, 0) < 0) _exit(8);
        const volatile char *last = view.at + SIZE - 1;
        _exit(*last ? 6 : 7);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    size_t n;
    char *said = file_read(words, &n, NULL);
    assert_non_null(said);
    assert_non_null(strstr(said, "program: a file was cut short while it was read"));
    free(said);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(test_blocks), TEST(test_full_disk), TEST(test_no_directory),
        TEST(test_view),   TEST(test_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
