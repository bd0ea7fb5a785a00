/* Cores, less quotas. Files of cgroup 2: DIR/cpu.max, "200000 100000" or "max 100000"; of cgroup 1,
 * which may be mounted in a folder by its controllers' names: DIR/cpu.cfs_quota_us (-1: none) and
 * DIR/cpu.cfs_period_us. */
#include "base/cpus.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

static double ratio(double quota, double period)
{
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

static bool read_numbers(const char *dir, const char *name, double *first, double *second)
{
    char *path = mem_printf("%s/%s", dir, name), *end;
    size_t n;
    char *text = file_read(path, &n, NULL);
    free(path);
    if (!text) return false;
    *first = strncmp(text, "max", 3) == 0 ? (end = text + 3, INFINITY) : strtod(text, &end);
    if (second) *second = strtod(end, NULL);
    free(text);
    return true;
}

static double quota_of_dir(const char *dir)
{
    double quota = 0, period = 0;
    if (read_numbers(dir, "cpu.max", &quota, &period)) return ratio(quota, period);
    if (read_numbers(dir, "cpu.cfs_quota_us", &quota, NULL) &&
        read_numbers(dir, "cpu.cfs_period_us", &period, NULL))
        return ratio(quota, period);
    return INFINITY;
}

/* Of ROOT/PATH and all above it up to ROOT. In a container the path may be the host's, of which
 * only the container's own part is mounted, as ROOT: then what does not exist sets no limit. */
static double least_quota(const char *root, const char *path)
{
    char *dir = mem_printf("%s%s", root, path);
    size_t n_root = strlen(root);
    double least = INFINITY;
    for (;;) {
        least = fmin(least, quota_of_dir(dir));
        char *slash = strrchr(dir + n_root, '/');
        if (!slash) break;
        *slash = '\0';
    }
    free(dir);
    return least;
}

/* Is `word` in a list "a,b,c" of n bytes? */
static bool lists(const char *list, size_t n, const char *word)
{
    for (const char *at = list, *end = list + n; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t length = (size_t)((comma ? comma : end) - at);
        if (length == strlen(word) && memcmp(at, word, length) == 0) return true;
        at += length + 1;
    }
    return false;
}

/* A line "0::/path" (cgroup 2) or "4:cpu,cpuacct:/path" (cgroup 1). */
static double quota_of_line(const char *line, const char *mount)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers ? strchr(++controllers, ':') : NULL;
    if (!path || path[1] != '/') return INFINITY;
    size_t n = (size_t)(path++ - controllers);
    if (n > 0 && !lists(controllers, n, "cpu")) return INFINITY;
    const char *folders[] = {"", "/unified", "/cpu", "/cpu,cpuacct"};
    double least = INFINITY;
    for (int i = n == 0 ? 0 : 2; i < (n == 0 ? 2 : 4); i++) {
        char *root = mem_printf("%s%s", mount, folders[i]);
        least = fmin(least, least_quota(root, path));
        free(root);
    }
    return least;
}

double cpus_quota(const char *membership, const char *mount)
{
    size_t n;
    char *text = file_read(membership, &n, NULL), *rest = NULL;
    double least = quota_of_dir(mount); /* where nothing tells of which group we are */
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        least = fmin(least, quota_of_line(line, mount));
    free(text);
    return least;
}

static int cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more cores than the set has room for */
    return online > 0 && online < 1 << 20 ? (int)online : 1;
}

int cpus_count(void)
{
    int n = cores();
    double quota = cpus_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota < n) n = (int)quota;
    return n < 1 ? 1 : n;
}
