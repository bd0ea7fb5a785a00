/* Directories of a checkpoint root. */
#include "ckpt/checkpoint_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ckpt/checkpoint.h"

bool ckpt_is_file_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= 200 && name[0] != '.' && !strchr(name, '/');
}

int ckpt_remove_dir(const char *path, err_t *err)
{
    DIR *dir = opendir(path);
    if (!dir) return err_set_errno(err, "%s", path);
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (unlinkat(dirfd(dir), e->d_name, 0) < 0)
            rc = err_set_errno(err, "%s/%s: remove", path, e->d_name);
    }
    closedir(dir);
    if (rc == 0 && rmdir(path) < 0) rc = err_set_errno(err, "%s: remove", path);
    return rc;
}

char *ckpt_settle(const char *root, const char *temporary, int64_t round, err_t *err)
{
    for (int copy = 1; copy < 1000000; copy++) {
        char *name = copy == 1 ? mem_printf("round-%06lld", (long long)round)
                               : mem_printf("round-%06lld-%d", (long long)round, copy);
        char *path = mem_printf("%s/%s", root, name);
        /* rename replaces an empty directory only, so an earlier checkpoint is never lost. */
        int failed = rename(temporary, path) < 0 ? errno : 0;
        free(path);
        if (!failed) return name;
        free(name);
        if (failed == EEXIST || failed == ENOTEMPTY) continue;
        errno = failed;
        break;
    }
    err_set_errno(err, "%s: rename %s", root, temporary);
    return NULL;
}

int ckpt_set_latest(const char *root, const char *name, err_t *err)
{
    char *path = mem_printf("%s/latest", root), *temporary = file_temporary(path);
    int rc = 0;
    unlink(temporary); /* of a crashed writer with this process's number */
    if (symlink(name, temporary) < 0 || rename(temporary, path) < 0) {
        rc = err_set_errno(err, "%s: point to %s", path, name);
        unlink(temporary);
    }
    if (rc == 0) rc = file_sync_dir(root, err);
    free(temporary);
    free(path);
    return rc;
}

char *ckpt_resolve(const char *path, err_t *err)
{
    static const char *const places[] = {"", "/latest"};
    for (int i = 0; i < 2; i++) {
        char *manifest = mem_printf("%s%s/" CKPT_MANIFEST, path, places[i]);
        bool found = file_exists(manifest);
        free(manifest);
        if (!found) continue;
        char *place = mem_printf("%s%s", path, places[i]);
        /* Resolved now, so that a later checkpoint cannot swap the files while they are read. */
        char *real = realpath(place, NULL);
        if (!real) err_set_errno(err, "%s", place);
        free(place);
        return real;
    }
    err_set(err, ERR_IO,
            "%s: no checkpoint (neither " CKPT_MANIFEST " nor latest/" CKPT_MANIFEST ")", path);
    return NULL;
}

/* ---- pruning ---- */

typedef struct {
    char *name;
    long long round, copy;
} saved_t;

static int compare_newest_first(const void *a, const void *b)
{
    const saved_t *x = a, *y = b;
    if (x->round != y->round) return x->round > y->round ? -1 : 1;
    return (x->copy < y->copy) - (x->copy > y->copy);
}

/* "round-N" or "round-N-COPY" and nothing behind it. */
static bool parse_name(const char *name, saved_t *out)
{
    int used = 0;
    out->copy = 1;
    if (sscanf(name, "round-%lld%n", &out->round, &used) != 1) return false;
    if (name[used] == '\0') return true;
    int more = 0;
    return sscanf(name + used, "-%lld%n", &out->copy, &more) == 1 && name[used + more] == '\0';
}

static int remove_in(const char *root, const char *name, err_t *err)
{
    char *path = mem_printf("%s/%s", root, name);
    int rc = ckpt_remove_dir(path, err);
    free(path);
    return rc;
}

int checkpoint_prune(const char *root, int keep, err_t *err)
{
    DIR *dir = opendir(root);
    if (!dir) return err_set_errno(err, "%s", root);
    char *link = mem_printf("%s/latest", root), *latest = realpath(link, NULL);
    const char *latest_name = latest && strrchr(latest, '/') ? strrchr(latest, '/') + 1 : "";
    VEC(saved_t) saved = {0};
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        saved_t s;
        if (strncmp(e->d_name, "round-", 6) == 0 && strstr(e->d_name, ".tmp.")) {
            rc = remove_in(root, e->d_name, err);
        } else if (parse_name(e->d_name, &s)) {
            s.name = mem_strdup(e->d_name);
            VEC_PUSH(&saved, s);
        }
    }
    closedir(dir);
    if (saved.n) qsort(saved.at, saved.n, sizeof *saved.at, compare_newest_first);
    for (size_t i = keep < 1 ? 1 : (size_t)keep; rc == 0 && i < saved.n; i++)
        if (strcmp(saved.at[i].name, latest_name) != 0) rc = remove_in(root, saved.at[i].name, err);
    for (size_t i = 0; i < saved.n; i++) free(saved.at[i].name);
    VEC_FREE(&saved);
    free(latest);
    free(link);
    return rc;
}
