/* Control groups: of cgroup 2 one tree, of cgroup 1 a tree for each controller, mounted in a folder by
 * its name, or by the names of those that share it. */
#include "base/cgroup.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

int cgroup_read(const char *dir, const char *name, double *first, double *second)
{
    char *path = mem_printf("%s/%s", dir, name), *end;
    size_t n;
    char *text = file_read(path, &n, NULL);
    free(path);
    if (!text) return -1;
    *first = strncmp(text, "max", 3) == 0 ? (end = text + 3, INFINITY) : strtod(text, &end);
    if (second) *second = strtod(end, NULL);
    free(text);
    return 0;
}

/* Of ROOT/PATH and all above it up to ROOT. In a container the path may be the host's, of which
 * only the container's own part is mounted, as ROOT: then what does not exist sets no limit. */
static double least_of_tree(const char *root, const char *path, cgroup_limit_fn *limit)
{
    char *dir = mem_printf("%s%s", root, path);
    size_t n_root = strlen(root);
    double least = INFINITY;
    for (;;) {
        least = fmin(least, limit(dir));
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
static double least_of_line(const char *line, const char *mount, const char *controller,
                            cgroup_limit_fn *limit)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers ? strchr(++controllers, ':') : NULL;
    if (!path || path[1] != '/') return INFINITY;
    size_t n = (size_t)(path++ - controllers);
    if (n > 0 && !lists(controllers, n, controller)) return INFINITY;
    char *one = n > 0 ? mem_printf("%s/%s", mount, controller) : mem_strdup(mount);
    char *other = n > 0 ? mem_printf("%s/%.*s", mount, (int)n, controllers)
                        : mem_printf("%s/unified", mount);
    double least = fmin(least_of_tree(one, path, limit), least_of_tree(other, path, limit));
    free(one);
    free(other);
    return least;
}

double cgroup_least(const char *membership, const char *mount, const char *controller,
                    cgroup_limit_fn *limit)
{
    size_t n;
    char *text = file_read(membership, &n, NULL), *rest = NULL;
    double least = limit(mount); /* where nothing tells of which group we are */
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        least = fmin(least, least_of_line(line, mount, controller, limit));
    free(text);
    return least;
}
