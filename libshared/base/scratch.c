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
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

static const char *root_or_default(const char *root)
{
    const char *tmp = root ? root : getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/tmp";
}

/* Between making a directory and locking it, a sweeper in another container may take it for one
 * that was left. -1: try another. */
static int lock_dir(const char *dir)
{
    struct stat held, there;
    int lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0) return -1;
    bool taken = flock(lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (!taken && fstat(lock, &held) == 0 && stat(dir, &there) == 0 && held.st_ino == there.st_ino)
        return lock; /* where there are no locks nothing is swept */
    close(lock);
    return -1;
}

int scratch_make(scratch_t *self, const char *root, const char *kind, err_t *err)
{
    enum { TRIES = 10 };
    for (int i = 0; i < TRIES; i++) {
        char *dir = mem_printf("%s/pcp-%s-%d-XXXXXX", root_or_default(root), kind, (int)getpid());
        if (!mkdtemp(dir)) {
            err_set_errno(err, "%s: no temporary directory", dir);
            free(dir);
            return -1;
        }
        int lock = lock_dir(dir);
        if (lock >= 0) {
            *self = (scratch_t){.dir = dir, .lock = lock};
            return 0;
        }
        rmdir(dir);
        free(dir);
    }
    return err_set(err, ERR_IO, "%s: new temporary directories vanish; who removes them?",
                   root_or_default(root));
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
 * which in a container is always the same, the lock alone tells. Returns the lock, which is ours
 * then; -1: it is in use. */
static int lock_stale(const char *path, const char *pid_text)
{
    long pid = strtol(pid_text, NULL, 10);
    if (pid <= 0) return -1;
    if (pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno != ESRCH)) return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
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
        int lock = lock_stale(path, e->d_name + strlen(prefix));
        if (lock >= 0) {
            file_remove_tree(path);
            n += !file_exists(path);
            close(lock);
        }
        free(path);
    }
    if (at) closedir(at);
    free(prefix);
    return n;
}
