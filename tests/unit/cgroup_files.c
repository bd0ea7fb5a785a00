/* Each call has a directory, which is gone behind it. */
#include "cgroup_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "temp.h"

static void put(const char *mount, const cgroup_file_t *file)
{
    char *path = mem_printf("%s/%s", mount, file->path), *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(file_make_dirs(path, NULL), 0);
    *slash = '/';
    temp_write(path, file->text, strlen(file->text));
    free(path);
}

double cgroup_files_quota(cgroup_quota_fn *quota, const char *membership, const cgroup_file_t *file,
                          size_t n)
{
    char *dir = temp_dir(), *member = mem_printf("%s/cgroup", dir);
    char *mount = mem_printf("%s/fs", dir);
    assert_int_equal(file_make_dirs(mount, NULL), 0);
    if (membership) temp_write(member, membership, strlen(membership));
    for (size_t k = 0; k < n && file[k].path; k++) put(mount, &file[k]);
    double found = quota(member, mount);
    free(mount);
    free(member);
    temp_remove(&dir);
    return found;
}
