/* Directories of runs: what they take, how they go, and what is left of work cut short. A deleted
 * run's directory is renamed before its rows go: the name tells whoever leads next what to finish.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "shepherd/front/files.h"

/* --- What it takes --- */

static void measure_at(front_job_t *job, int at, const char *name)
{
    enum { BLOCK = 512 }; /* of st_blocks, whatever the file system's */
    struct stat info;
    if (fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return;
    job->n_bytes += (uint64_t)info.st_blocks * BLOCK;
    if (!S_ISDIR(info.st_mode)) {
        job->n_found++;
        return;
    }
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0) close(fd);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            measure_at(job, dirfd(dir), entry->d_name);
    if (dir) closedir(dir);
}

void files_measure(front_job_t *job)
{
    measure_at(job, AT_FDCWD, job->dir);
}

/* --- How it goes --- */

int files_retire(front_job_t *job, err_t *err)
{
    struct stat info;
    if (lstat(job->dir, &info) < 0) return errno == ENOENT ? 0 : err_set_errno(err, "%s", job->dir);
    if (!S_ISDIR(info.st_mode))
        return err_set(err, ERR_STATE,
                       "%s is no directory, so it is not what this cluster made: look at it, and "
                       "move it aside yourself",
                       job->dir);
    files_measure(job);
    if (file_remove_tree(job->to) < 0) return err_set_errno(err, "%s", job->to);
    if (rename(job->dir, job->to) < 0) return err_set_errno(err, "%s", job->dir);
    char *parent = mem_strdup(job->to);
    *strrchr(parent, '/') = '\0';
    int rc = file_sync_dir(parent, err);
    free(parent);
    return rc;
}

/* --- What is left --- */

/* The run of a directory that was renamed: its rows may still be there. If there is a directory of
 * that name again, they are another's. */
static void look_at_deleted(front_job_t *job, const char *entry)
{
    const char *name = entry + strlen(FRONT_DELETED_PREFIX);
    char *path = mem_printf("%s/%s", job->dir, entry);
    char *again = mem_printf("%s/%s", job->dir, name);
    struct stat info;
    if (front_name_fault(name)) {
        /* no name that we give */
    } else if (lstat(again, &info) == 0) {
        file_remove_tree(path);
    } else {
        VEC_PUSH(&job->names, mem_strdup(name));
    }
    free(path);
    free(again);
}

void files_sweep(front_job_t *job)
{
    DIR *dir = opendir(job->dir);
    if (!dir) return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (str_starts(entry->d_name, FRONT_DELETED_PREFIX)) look_at_deleted(job, entry->d_name);
    }
    closedir(dir);
    files_expire(job->dir, NULL, job->offset);
}
