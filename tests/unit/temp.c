/* Scratch directories, and full disks by way of RLIMIT_FSIZE. */
#include "temp.h"

#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/mem.h"

char *temp_dir(void)
{
    const char *base = getenv("TMPDIR");
    char *dir = mem_printf("%s/pcp-unit.XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(dir));
    return dir;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

void temp_remove(char **dir_p)
{
    assert_int_equal(nftw(*dir_p, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(*dir_p);
    *dir_p = NULL;
}

const char *temp_path(const char *dir, const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    assert_true(snprintf(path, sizeof paths[0], "%s/%s", dir, name) < (int)sizeof paths[0]);
    return path;
}

int temp_count(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(dir));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

void temp_write(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void limit_file_size(rlim_t n)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = n < limit.rlim_max ? n : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

void temp_disk_full(size_t n_bytes)
{
    signal(SIGXFSZ, SIG_IGN); /* so that write fails instead of ending the process */
    limit_file_size(n_bytes);
}

void temp_disk_free(void)
{
    limit_file_size(RLIM_INFINITY);
    signal(SIGXFSZ, SIG_DFL);
}
