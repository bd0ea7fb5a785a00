/* Scratch directories: made, locked, removed, and swept up after processes that were killed. */
#include "base/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

static const char *root_or_default(const char *root)
{
    const char *tmp = root ? root : getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/tmp";
}

int scratch_make(scratch_t *self, const char *root, const char *kind, err_t *err)
{
    char *dir = mem_printf("%s/pcp-%s-%d-XXXXXX", root_or_default(root), kind, (int)getpid());
    int lock = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (lock < 0) {
        err_set_errno(err, "%s: no temporary directory", dir);
        rmdir(dir);
        free(dir);
        return -1;
    }
    flock(lock, LOCK_EX | LOCK_NB); /* where there are no locks nothing is swept */
    *self = (scratch_t){.dir = dir, .lock = lock};
    return 0;
}

void scratch_remove(scratch_t *self)
{
    if (!self->dir) return;
    file_remove_tree(self->dir);
    close(self->lock);
    free(self->dir);
    *self = (scratch_t){0};
}

/* Neither does its process live, nor has one in another container a lock on it. Of our own number,
 * which in a container is always the same, the lock alone tells. */
static bool is_stale(const char *path, const char *pid_text)
{
    long pid = strtol(pid_text, NULL, 10);
    if (pid <= 0) return false;
    if (pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno != ESRCH)) return false;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool free_now = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) close(fd);
    return free_now;
}

int scratch_sweep(const char *root, const char *kind)
{
    int n = 0;
    root = root_or_default(root);
    char *prefix = mem_printf("pcp-%s-", kind);
    DIR *at = opendir(root);
    for (struct dirent *e; at && (e = readdir(at));) {
        if (!str_starts(e->d_name, prefix)) continue;
        char *path = mem_printf("%s/%s", root, e->d_name);
        if (is_stale(path, e->d_name + strlen(prefix))) {
            file_remove_tree(path);
            n += !file_exists(path);
        }
        free(path);
    }
    if (at) closedir(at);
    free(prefix);
    return n;
}
