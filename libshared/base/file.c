/* Whole files: read, map, and replace atomically (temporary name, fsync, rename). */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* Why it may not be read: who it belongs to and who we are, which in a container is not who its
 * user is. */
static int no_permission(const char *path, err_t *err)
{
    struct stat info;
    if (stat(path, &info) < 0)
        return err_set(err, ERR_IO,
                       "%s: user %u may not search its directory: chmod a+x that, or run as its "
                       "owner",
                       path, (unsigned)geteuid());
    return err_set(
        err, ERR_IO,
        "%s: user %u may not read it: it has mode %04o and belongs to user %u: chmod a+r "
        "%s, or run as that user",
        path, (unsigned)geteuid(), (unsigned)(info.st_mode & 07777), (unsigned)info.st_uid, path);
}

int file_readable(const char *path, err_t *err)
{
    if (access(path, R_OK) == 0) return 0;
    return errno == EACCES ? no_permission(path, err) : err_set_errno(err, "%s", path);
}

/* Open for reading and refuse anything but a regular file or a pipe-like stream; -1 with err. */
static int open_file(const char *path, struct stat *info, err_t *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) return no_permission(path, err);
    if (fd < 0) return err_set_errno(err, "%s", path);
    if (fstat(fd, info) < 0) {
        err_set_errno(err, "%s", path);
        close(fd);
        return -1;
    }
    if (S_ISDIR(info->st_mode)) {
        close(fd);
        return err_set(err, ERR_IO, "%s: is a directory, a file is wanted", path);
    }
    return fd;
}

char *file_read(const char *path, size_t *n, err_t *err)
{
    struct stat info;
    int fd = open_file(path, &info, err);
    if (fd < 0) return NULL;
    size_t space = info.st_size > 0 ? (size_t)info.st_size + 1 : 4096, used = 0;
    char *bytes = malloc(space);
    bool ok = bytes != NULL;
    /* The size is a hint only: pipes and /proc say 0, and a file may grow while it is read. */
    while (ok) {
        if (used + 1 >= space) {
            char *more = realloc(bytes, 2 * space);
            if (!(ok = more != NULL)) break;
            bytes = more;
            space *= 2;
        }
        ssize_t got = read(fd, bytes + used, space - used - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            err_set_errno(err, "%s: read", path);
            break;
        }
        used += (size_t)got;
        if (got > 0) continue;
        close(fd);
        bytes[used] = '\0';
        *n = used;
        return bytes;
    }
    if (!ok) err_set(err, ERR_MEMORY, "%s: %zu bytes do not fit into memory", path, space);
    close(fd);
    free(bytes);
    return NULL;
}

int file_write_all(int fd, const void *bytes, size_t n, const char *path, err_t *err)
{
    size_t total = n;
    const char *at = bytes;
    while (n > 0) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return err_set_errno(err, "%s: writing %zu bytes", path, total);
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

int file_sync_dir(const char *dir, err_t *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    /* Some file systems cannot sync a directory (EINVAL): nothing more can be done there. */
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL && errno != EROFS))
        rc = err_set_errno(err, "%s: sync directory", dir);
    if (fd >= 0) close(fd);
    return rc;
}

/* A device, pipe or terminal: renaming over it would take it from everybody. */
bool file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

int file_commit(int fd, const char *temporary, const char *path, err_t *err)
{
    int rc = 0;
    if (file_is_special(path))
        rc = err_set(err, ERR_IO, "%s: is not a regular file; name a file in a directory", path);
    if (rc == 0 && fsync(fd) < 0 && errno != EINVAL) rc = err_set_errno(err, "%s: fsync", path);
    if (close(fd) < 0 && rc == 0) rc = err_set_errno(err, "%s: close", path);
    if (rc == 0 && rename(temporary, path) < 0) rc = err_set_errno(err, "%s: rename", path);
    if (rc < 0) {
        unlink(temporary);
        return -1;
    }
    char *copy = mem_strdup(path); /* dirname writes to its argument */
    rc = file_sync_dir(dirname(copy), err);
    free(copy);
    return rc;
}

static int write_special(const char *path, const void *bytes, size_t n, err_t *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return err_set_errno(err, "%s", path);
    int rc = file_write_all(fd, bytes, n, path, err);
    if (close(fd) < 0 && rc == 0) rc = err_set_errno(err, "%s: close", path);
    return rc;
}

int file_write_as(const char *path, mode_t mode, const void *bytes, size_t n, err_t *err)
{
    if (file_is_special(path)) return write_special(path, bytes, n, err);
    char *temporary = NULL;
    int rc, fd = file_open_temporary(path, mode, &temporary, err);
    if (fd < 0) return -1;
    if ((rc = file_write_all(fd, bytes, n, path, err)) < 0) {
        close(fd);
        unlink(temporary);
    } else {
        rc = file_commit(fd, temporary, path, err);
    }
    free(temporary);
    return rc;
}

int file_write_atomic(const char *path, const void *bytes, size_t n, err_t *err)
{
    return file_write_as(path, 0644, bytes, n, err);
}

int file_map(const char *path, file_map_t *map, err_t *err)
{
    struct stat info;
    int fd = open_file(path, &info, err);
    if (fd < 0) return -1;
    int rc = 0;
    if (!S_ISREG(info.st_mode)) {
        rc = err_set(err, ERR_IO, "%s: is not a regular file, so it cannot be mapped", path);
    } else if (info.st_size == 0) {
        *map = (file_map_t){(const uint8_t *)"", 0};
    } else {
        void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
            rc = err_set_errno(err, "%s: mmap", path);
        else
            *map = (file_map_t){at, (size_t)info.st_size};
    }
    close(fd);
    return rc;
}

void file_pages_forget(const void *at, size_t n)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)at + page - 1) / page * page,
              to = ((uintptr_t)at + n) / page * page;
    if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
}

void file_map_forget(const file_map_t *map, size_t from, size_t to)
{
    if (map->n && from < to) file_pages_forget(map->at + from, to - from);
}

void file_unmap(file_map_t *map)
{
    if (map->n) munmap((void *)(uintptr_t)map->at, map->n);
    *map = (file_map_t){0};
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int64_t file_size(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (int64_t)info.st_size : -1;
}

int file_make_dirs(const char *path, err_t *err)
{
    char *copy = mem_strdup(path);
    int rc = 0;
    for (char *p = copy + 1; rc == 0 && *copy; p++) {
        if (*p != '/' && *p != '\0') continue;
        char kept = *p;
        *p = '\0';
        struct stat info;
        if (mkdir(copy, 0755) < 0 && (errno != EEXIST || stat(copy, &info) < 0)) {
            rc = err_set_errno(err, "%s: mkdir", copy);
        } else if (stat(copy, &info) == 0 && !S_ISDIR(info.st_mode)) {
            rc = err_set(err, ERR_IO, "%s: is a file, a directory is wanted", copy);
        }
        *p = kept;
        if (kept == '\0') break;
    }
    free(copy);
    return rc;
}

/* --- Removing --- */

static int remove_at(int at, const char *name, dev_t device);

/* What is in the directory `fd`, which is closed. */
static int remove_inside(int fd, dev_t device)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return -1;
    }
    int rc = 0;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (remove_at(dirfd(dir), entry->d_name, device) < 0) rc = -1;
    }
    int why = errno;
    closedir(dir);
    errno = why;
    return rc;
}

/* Whatever the name stands for by now: a link is removed, and what it leads to is never opened. */
static int remove_at(int at, const char *name, dev_t device)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT) return 0;
    if (errno != EISDIR && errno != EPERM) return -1;
    struct stat info;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &info) < 0 || info.st_dev != device) {
        close(fd);
        errno = EXDEV; /* another file system is mounted there */
        return -1;
    }
    return remove_inside(fd, device) < 0 ? -1 : unlinkat(at, name, AT_REMOVEDIR);
}

int file_remove_tree(const char *path)
{
    char *top = mem_strdup(path);
    for (size_t n = strlen(top); n > 1 && top[n - 1] == '/';) top[--n] = '\0'; /* it would follow */
    struct stat info;
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = -1;
    if (fd >= 0 && fstat(fd, &info) == 0)
        rc = remove_inside(fd, info.st_dev) < 0 ? -1 : rmdir(top);
    else if (fd >= 0)
        close(fd);
    else if (errno == ENOENT)
        rc = 0;
    free(top);
    return rc;
}

char *file_cache_dir(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache) return mem_printf("%s/pcp", cache);
    if (home && *home) return mem_printf("%s/.cache/pcp", home);
    return NULL;
}

void file_hold_standard(void)
{
    static const int ways[] = {O_WRONLY, O_RDONLY, O_RDONLY}; /* the wrong way round */
    for (int fd = 0; fd < 3; fd++)
        /* What is opened has the lowest number that is free: this one. */
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", ways[fd]) < 0) return;
}
