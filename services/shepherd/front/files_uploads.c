/* Submissions that broke off: how much of one is here, and which of them go. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "shepherd/front/files.h"

enum {
    KEEP_S = 24 * 3600, /* after the last piece */
    IDLE_S = 60,        /* before that it is not removed for others' sake */
};

typedef struct {
    char *path;
    time_t written; /* the last time */
    uint64_t n_bytes;
} left_t;

typedef VEC(left_t) lefts_t;

static left_t look_at(char *path)
{
    left_t left = {.path = path};
    DIR *dir = opendir(path);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat info;
        if (strcmp(entry->d_name, "..") == 0) continue;
        if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) continue;
        if (info.st_mtime > left.written) left.written = info.st_mtime;
        if (S_ISREG(info.st_mode)) left.n_bytes += (uint64_t)info.st_size;
    }
    if (dir) closedir(dir);
    return left;
}

static int by_age(const void *a, const void *b)
{
    const left_t *x = a, *y = b;
    return (x->written > y->written) - (x->written < y->written);
}

static void list(const char *runs_dir, lefts_t *out)
{
    DIR *dir = opendir(runs_dir);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (str_starts(entry->d_name, FRONT_UPLOAD_PREFIX))
            VEC_PUSH(out, look_at(mem_printf("%s/%s", runs_dir, entry->d_name)));
    if (dir) closedir(dir);
    if (out->n) qsort(out->at, out->n, sizeof *out->at, by_age);
}

void files_expire(const char *runs_dir, const char *but, uint64_t most_bytes)
{
    lefts_t left = {0};
    uint64_t n_bytes = 0;
    time_t now = time(NULL);
    list(runs_dir, &left);
    for (size_t i = 0; i < left.n; i++) n_bytes += left.at[i].n_bytes;
    for (size_t i = 0; i < left.n; i++) { /* the oldest first */
        const left_t *one = &left.at[i];
        bool old = now - one->written > KEEP_S;
        bool in_the_way = n_bytes > most_bytes && now - one->written > IDLE_S;
        if ((old || in_the_way) && (!but || strcmp(but, one->path) != 0)) {
            file_remove_tree(one->path);
            n_bytes -= one->n_bytes;
        }
        free(one->path);
    }
    VEC_FREE(&left);
}

/* Bytes from the beginning up to the first hole: pieces may overtake each other. Where a file system
 * tells no holes, the check of hashes at the end does. */
static uint64_t beginning(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    off_t hole = fd < 0 ? 0 : lseek(fd, 0, SEEK_HOLE);
    if (fd >= 0) close(fd);
    return hole > 0 ? (uint64_t)hole : 0;
}

void files_look(front_job_t *job)
{
    for (size_t i = 0; i < job->n_file; i++) {
        front_file_t *file = &job->files[i];
        char *path = mem_printf("%s/%s", job->dir, file->name);
        if (file_size(path) > (int64_t)file->size) unlink(path);
        file->have = beginning(path);
        free(path);
    }
    char *runs_dir = mem_strdup(job->dir);
    *strrchr(runs_dir, '/') = '\0';
    files_expire(runs_dir, job->dir, job->offset);
    free(runs_dir);
}
