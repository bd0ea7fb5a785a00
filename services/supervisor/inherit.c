/* Who lives holds the lock of CACHE_DIR/ID.lock; who takes that of another has outlived it. */
#include "supervisor/inherit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

static const char mark[] = ".lock";

/* "ID-w12" and "ID-w12.log.1" are of supervisor ID. */
static bool is_of(const char *name, const char *id)
{
    size_t n = strlen(id);
    return str_starts(name, id) && strncmp(name + n, "-w", 2) == 0 && name[n + 2] >= '0' &&
           name[n + 2] <= '9';
}

/* All in `dir` that was `gone`'s is ours. */
static void take(const char *dir, const char *gone, const char *own)
{
    DIR *names = opendir(dir);
    if (!names) return;
    for (struct dirent *one; (one = readdir(names));) {
        if (!is_of(one->d_name, gone)) continue;
        char *from = mem_printf("%s/%s", dir, one->d_name);
        char *to = mem_printf("%s/%s%s", dir, own, one->d_name + strlen(gone));
        if (file_exists(to) ? unlink(from) < 0 && file_remove_tree(from) < 0 : rename(from, to) < 0)
            log_event(LOG_WARN, "not_inherited", "path=%s text=\"%s\"", from, strerror(errno));
        free(from);
        free(to);
    }
    closedir(names);
}

/* `lock` is the name of a lock in our cache directory. */
static void take_if_gone(const supervisor_config_t *config, const char *lock)
{
    char *path = mem_printf("%s/%s", config->cache_dir, lock);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        char *gone = mem_strdup(lock);
        gone[strlen(lock) - strlen(mark)] = 0;
        take(config->cache_dir, gone, config->id);
        take(config->log_dir, gone, config->id);
        unlink(path);
        log_event(LOG_INFO, "inherited", "of=%s", gone);
        free(gone);
    }
    if (fd >= 0) close(fd);
    free(path);
}

int inherit_caches(const supervisor_config_t *config, err_t *err)
{
    if (file_make_dirs(config->cache_dir, err) < 0) return -1;
    char *own = mem_printf("%s/%s%s", config->cache_dir, config->id, mark);
    int fd = open(own, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        err_set_errno(err, "%s", own);
    else
        flock(fd, LOCK_EX | LOCK_NB); /* where there are no locks, nobody inherits */
    free(own);
    DIR *names = fd >= 0 ? opendir(config->cache_dir) : NULL;
    for (struct dirent *one; names && (one = readdir(names));) {
        size_t n = strlen(one->d_name), n_mark = strlen(mark);
        if (n > n_mark && strcmp(one->d_name + n - n_mark, mark) == 0)
            take_if_gone(config, one->d_name);
    }
    if (names) closedir(names);
    return fd;
}
