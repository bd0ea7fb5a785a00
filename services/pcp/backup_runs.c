/* One walk, for counting and for copying. A directory named "checkpoint" holds rounds, each a
 * directory that appears by a rename and may be pruned at any moment: each copy is opened as a
 * resuming run would, and what is not whole is given up. */
#include "pcp/backup_runs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "ckpt/checkpoint.h"

#define UNDER "runs"
enum { TRIES = 5 };

typedef struct {
    const backup_runs_t *job;
    backup_t *backup; /* NULL: count only */
    int64_t n_bytes;
} walk_t;

static int walk_dir(walk_t *self, const char *below, int depth, err_t *err);

/* Temporary files, locks, uploads and deleted runs; what workers and aggregators of one machine
 * keep in a run's folder. */
static bool left_out(const walk_t *self, const char *path, const char *name, bool is_dir)
{
    static const char *const made_again[] = {"cache", "plans", "objects", "objects.state"};
    const char *skip = self->job->skip;
    if (*name == '.' || strstr(name, ".tmp.") || strcmp(name, "lost+found") == 0) return true;
    if (skip && str_starts(path, skip)) {
        const char *end = path + strlen(skip);
        if (!*end || *end == '-') return true; /* FILE, FILE-wal, FILE-shm, FILE-journal */
    }
    for (size_t i = 0; is_dir && i < sizeof made_again / sizeof *made_again; i++)
        if (strcmp(name, made_again[i]) == 0) return true;
    return false;
}

/* "" and NAME are NAME. */
static char *join(const char *a, const char *b)
{
    return *a ? mem_printf("%s/%s", a, b) : mem_strdup(b);
}

static int walk_file(walk_t *self, const char *path, const char *below, int64_t n_bytes, err_t *err)
{
    self->n_bytes += n_bytes;
    if (!self->backup) return 0;
    err_t why = {0};
    char *at = mem_printf(UNDER "/%s", below);
    int rc = backup_copy(self->backup, path, self->job->to, at, &why);
    free(at);
    if (rc < 0 && access(path, F_OK) < 0 && errno == ENOENT) return 0; /* it was removed */
    return rc < 0 ? err_set(err, why.code, "%s", why.text) : 0;
}

/* --- Checkpoints --- */

/* 1: the copy of this round is whole; 0: it was pruned, or was damaged before. */
static int copy_round(walk_t *self, const char *below, int depth, err_t *err)
{
    backup_t *backup = self->backup;
    size_t n_files = backup->files.n, n_links = backup->links.n;
    int64_t n_bytes = backup->n_bytes;
    err_t why = {0};
    char *copy = mem_printf("%s/" UNDER "/%s", self->job->to, below);
    char *source = mem_printf("%s/%s", self->job->from, below);
    int rc = walk_dir(self, below, depth, err);
    checkpoint_t *checkpoint = rc == 0 ? checkpoint_open(copy, &why) : NULL;
    if (rc == 0 && !checkpoint) {
        if (file_exists(source)) fprintf(stderr, "pcp backup: left out: %s\n", why.text);
        backup_cut(backup, n_files, n_links, n_bytes);
        if (file_remove_tree(copy) < 0) rc = err_set_errno(err, "%s", copy);
    }
    rc = rc < 0 ? -1 : checkpoint != NULL;
    checkpoint_close(&checkpoint);
    free(source);
    free(copy);
    return rc;
}

/* The link `latest` is made anew: the newest of those that were copied. */
static int link_latest(walk_t *self, const char *below, err_t *err)
{
    checkpoint_list_t list;
    char *copy = mem_printf("%s/" UNDER "/%s", self->job->to, below);
    int rc = checkpoint_list(copy, false, &list, err);
    free(copy);
    if (rc < 0) return -1;
    if (list.n > 0) {
        backup_link_t link = {mem_printf(UNDER "/%s/latest", below), mem_strdup(list.at[0].name)};
        VEC_PUSH(&self->backup->links, link);
    }
    checkpoint_list_fini(&list);
    return 0;
}

/* *n: rounds that were found; returns how many of them are whole in the backup. */
static int copy_rounds(walk_t *self, const char *below, int depth, size_t *n, err_t *err)
{
    char *path = mem_printf("%s/%s", self->job->from, below);
    DIR *entries = opendir(path);
    struct dirent *entry;
    int n_good = 0;
    *n = 0;
    while (n_good >= 0 && entries && (entry = readdir(entries))) {
        struct stat info;
        char *at = join(below, entry->d_name), *whole = join(path, entry->d_name);
        if (!left_out(self, whole, entry->d_name, true) && lstat(whole, &info) == 0 &&
            S_ISDIR(info.st_mode)) {
            ++*n;
            int good = copy_round(self, at, depth + 1, err);
            n_good = good < 0 ? -1 : n_good + good;
        }
        free(whole);
        free(at);
    }
    if (entries) closedir(entries);
    free(path);
    return n_good;
}

/* A run that saves often may have pruned all rounds that were seen before they were copied. */
static int copy_checkpoints(walk_t *self, const char *below, int depth, err_t *err)
{
    size_t n = 0;
    int n_good = 0;
    for (int i = 0; i < TRIES; i++) {
        n_good = copy_rounds(self, below, depth, &n, err);
        if (n_good < 0) return -1;
        if (n == 0) return 0; /* none was written yet */
        if (n_good > 0) return link_latest(self, below, err);
    }
    return err_set(err, ERR_CORRUPT,
                   "%s/%s: none of its %zu checkpoints is whole: pcp checkpoint verify says why",
                   self->job->from, below, n);
}

/* --- The walk --- */

static int walk_entry(walk_t *self, const char *path, const char *below, const char *name,
                      int depth, err_t *err)
{
    enum { DEEPEST = 32 };
    struct stat info;
    if (lstat(path, &info) < 0) return 0; /* it was removed */
    bool is_dir = S_ISDIR(info.st_mode);
    if (left_out(self, path, name, is_dir)) return 0;
    if (S_ISREG(info.st_mode)) return walk_file(self, path, below, info.st_size, err);
    if (!is_dir) return 0; /* sockets; links are not followed */
    if (depth > DEEPEST) return err_set(err, ERR_ARG, "%s: is too deep", path);
    if (self->backup && strcmp(name, "checkpoint") == 0)
        return copy_checkpoints(self, below, depth, err);
    return walk_dir(self, below, depth + 1, err);
}

static int walk_dir(walk_t *self, const char *below, int depth, err_t *err)
{
    char *path = *below ? join(self->job->from, below) : mem_strdup(self->job->from);
    DIR *entries = opendir(path);
    struct dirent *entry;
    int rc = 0;
    if (!entries && (errno != ENOENT || !*below)) rc = err_set_errno(err, "%s", path);
    while (rc == 0 && entries && (entry = readdir(entries))) {
        char *whole = join(path, entry->d_name), *at = join(below, entry->d_name);
        rc = walk_entry(self, whole, at, entry->d_name, depth, err);
        free(at);
        free(whole);
    }
    if (entries) closedir(entries);
    free(path);
    return rc;
}

int backup_runs_size(const backup_runs_t *self, int64_t *n_bytes, err_t *err)
{
    walk_t walk = {.job = self};
    if (walk_dir(&walk, "", 0, err) < 0) return -1;
    *n_bytes = walk.n_bytes;
    return 0;
}

/* A run that is there no more at the end was deleted: what was copied of it goes. */
static int copy_run(walk_t *self, const char *name, err_t *err)
{
    backup_t *backup = self->backup;
    size_t n_files = backup->files.n, n_links = backup->links.n;
    int64_t n_bytes = backup->n_bytes;
    char *path = join(self->job->from, name);
    char *copy = mem_printf("%s/" UNDER "/%s", self->job->to, name);
    err_t why = {0};
    struct stat info;
    int rc = file_exists(copy) ? 0 : walk_entry(self, path, name, name, 0, &why);
    if (lstat(path, &info) < 0 && backup->files.n > n_files) {
        backup_cut(backup, n_files, n_links, n_bytes);
        rc = unlink(copy) < 0 && file_remove_tree(copy) < 0 ? err_set_errno(&why, "%s", copy) : 0;
    }
    free(copy);
    free(path);
    return rc < 0 ? err_set(err, why.code, "%s", why.text) : 0;
}

int backup_runs_copy(const backup_runs_t *self, backup_t *backup, err_t *err)
{
    walk_t walk = {.job = self, .backup = backup};
    DIR *entries = opendir(self->from);
    struct dirent *entry;
    int rc = entries ? 0 : err_set_errno(err, "%s", self->from);
    while (rc == 0 && (entry = readdir(entries)))
        if (*entry->d_name != '.') rc = copy_run(&walk, entry->d_name, err);
    if (entries) closedir(entries);
    return rc;
}
