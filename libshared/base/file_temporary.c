/* Temporary files. A process number names nothing: each container begins to count at 1, and they
 * may share a directory. So names are random, and whether the writer lives is told by its lock. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/random.h"

#define MARK ".tmp."
enum { DIGITS = 32 };

char *file_temporary(const char *path)
{
    char digits[DIGITS + 1];
    random_hex(digits, DIGITS);
    return mem_printf("%s" MARK "%s", path, digits);
}

int file_open_temporary(const char *path, mode_t mode, char **name, err_t *err)
{
    for (;;) {
        char *temporary = file_temporary(path);
        int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0) {
            flock(fd, LOCK_EX | LOCK_NB); /* where there are no locks, age alone is asked */
            *name = temporary;
            return fd;
        }
        int failed = errno;
        if (failed != EEXIST) err_set_errno(err, "%s", path);
        free(temporary);
        if (failed != EEXIST) return -1;
    }
}

/* "....tmp." and 32 hex digits; of earlier versions a decimal process number. */
static bool is_temporary(const char *name)
{
    const char *mark = NULL;
    for (const char *at = name; (at = strstr(at, MARK)); at++) mark = at + strlen(MARK);
    if (!mark || !*mark) return false;
    size_t n = strlen(mark);
    return (n == DIGITS && strspn(mark, "0123456789abcdef") == n) ||
           (n <= 10 && strspn(mark, "0123456789") == n);
}

/* Its writer has neither a lock on it, nor may it be about to take one. */
static bool is_abandoned(const char *path)
{
    enum { OPENING_S = 60, WITHOUT_LOCKS_S = 24 * 3600 };
    struct stat info;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    int64_t age = regular ? (int64_t)time(NULL) - (int64_t)info.st_mtim.tv_sec : 0;
    bool abandoned = regular && age > OPENING_S;
    if (abandoned && flock(fd, LOCK_EX | LOCK_NB) < 0)
        abandoned = errno != EWOULDBLOCK && age > WITHOUT_LOCKS_S;
    close(fd);
    return abandoned;
}

size_t file_sweep_temporaries(const char *dir)
{
    size_t n = 0;
    DIR *at = opendir(dir);
    for (struct dirent *e; at && (e = readdir(at));) {
        if (!is_temporary(e->d_name)) continue;
        char *path = mem_printf("%s/%s", dir, e->d_name);
        n += is_abandoned(path) && unlink(path) == 0;
        free(path);
    }
    if (at) closedir(at);
    return n;
}
