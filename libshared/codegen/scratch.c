/* Scratch directories: made, locked, removed, and swept up after processes that were killed. */
#include "codegen/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

static const char prefix[] = "pcp-cc-";

static const char *root(void)
{
    const char *tmp = getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/tmp";
}

int scratch_make(scratch_t *self, err_t *err)
{
    char *dir = mem_printf("%s/%s%d-XXXXXX", root(), prefix, (int)getpid());
    int lock = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (lock < 0) {
        err_set_errno(err, "%s: no directory for the compiler", dir);
        rmdir(dir);
        free(dir);
        return -1;
    }
    flock(lock, LOCK_EX | LOCK_NB); /* where there are no locks the PID alone tells */
    *self = (scratch_t){.dir = dir, .lock = lock};
    return 0;
}

/* Plain files; a compiler makes no others. */
static void empty(const char *dir)
{
    DIR *at = opendir(dir);
    for (struct dirent *e; at && (e = readdir(at));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        char *path = mem_printf("%s/%s", dir, e->d_name);
        unlink(path);
        free(path);
    }
    if (at) closedir(at);
}

void scratch_remove(scratch_t *self)
{
    if (!self->dir) return;
    empty(self->dir);
    rmdir(self->dir);
    close(self->lock);
    free(self->dir);
    *self = (scratch_t){0};
}

/* Neither does its process live, nor has one in another container a lock on it. */
static bool is_stale(const char *path, const char *name)
{
    long pid = strtol(name + strlen(prefix), NULL, 10);
    if (pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH) return false;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool free_now = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) close(fd);
    return free_now;
}

int scratch_sweep(void)
{
    int n = 0;
    DIR *at = opendir(root());
    for (struct dirent *e; at && (e = readdir(at));) {
        if (!str_starts(e->d_name, prefix)) continue;
        char *path = mem_printf("%s/%s", root(), e->d_name);
        if (is_stale(path, e->d_name)) {
            empty(path);
            n += rmdir(path) == 0;
        }
        free(path);
    }
    if (at) closedir(at);
    return n;
}
