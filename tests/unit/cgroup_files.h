/* A control group's files in a directory of the test's own: what tests of base/cpus and base/memory read. */
#ifndef CGROUP_FILES_H
#define CGROUP_FILES_H

#include <stddef.h>

typedef struct {
    const char *path, *text; /* below the mount; NULL: none */
} cgroup_file_t;

/* The number that `quota` reads where /proc/self/cgroup says `membership` (NULL: there is no such file) and the mount holds
 * `n` files. */
typedef double cgroup_quota_fn(const char *membership, const char *mount);
double cgroup_files_quota(cgroup_quota_fn *quota, const char *membership, const cgroup_file_t *file,
                          size_t n);

#endif
