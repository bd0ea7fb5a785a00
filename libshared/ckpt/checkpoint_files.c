/* Names, renames and removals in a checkpoint root; reading a manifest. */
#include "ckpt/checkpoint_files.h"

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

bool ckpt_is_file_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= 200 && name[0] != '.' && !strchr(name, '/');
}

int ckpt_is_regular(const char *path, err_t *err)
{
    if (!file_is_special(path)) return 0;
    return err_set(
        err, ERR_CORRUPT,
        "%s: is a device, pipe or socket, a checkpoint has regular files: fetch this one "
        "again",
        path);
}

bool ckpt_is_round_name(const char *name)
{
    int used = 0, more = 0;
    long long round, copy;
    if (sscanf(name, "round-%lld%n", &round, &used) != 1) return false;
    if (name[used] == '\0') return true;
    return sscanf(name + used, "-%lld%n", &copy, &more) == 1 && name[used + more] == '\0';
}

int ckpt_remove_dir(const char *path, err_t *err)
{
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) /* what it leads to is not ours */
        return unlink(path) < 0 ? err_set_errno(err, "%s: remove", path) : 0;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        err_set_errno(err, "%s", path);
        if (fd >= 0) close(fd);
        return -1;
    }
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
    if (symlink(name, temporary) < 0 || rename(temporary, path) < 0) {
        rc = err_set_errno(err, "%s: point to %s", path, name);
        unlink(temporary);
    }
    if (rc == 0) rc = file_sync_dir(root, err);
    free(temporary);
    free(path);
    return rc;
}

int64_t ckpt_sum_bytes(const json_t *manifest)
{
    const char *name;
    json_t *entry;
    int64_t n = 0;
    json_object_foreach(json_object_get(manifest, "files"), name, entry)
    {
        n += json_integer_value(json_object_get(entry, "bytes"));
    }
    return n;
}

void ckpt_manifest_check(const json_t *manifest, char hex[HASH_HEX])
{
    json_t *rest = json_copy((json_t *)(uintptr_t)manifest);
    json_object_del(rest, "check");
    json_object_del(rest, "seal");
    char *text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
    hash_content(text ? text : "", text ? strlen(text) : 0, hex);
    free(text);
    json_decref(rest);
}

/* From version 2 on a manifest vouches for itself, too. */
static int verify_manifest(const char *path, const json_t *manifest, err_t *err)
{
    const json_t *check = json_object_get(manifest, "check");
    char hex[HASH_HEX];
    json_int_t version = json_integer_value(json_object_get(manifest, "version"));
    if ((!check && version < CKPT_VERSION) || version > CKPT_VERSION) return 0; /* judged later */
    ckpt_manifest_check(manifest, hex);
    if (json_is_string(check) && strcmp(json_string_value(check), hex) == 0) return 0;
    return err_set(err, ERR_CORRUPT, "%s: its own check is wrong: the file is damaged", path);
}

json_t *ckpt_read_manifest(const char *dir, err_t *err)
{
    char *path = mem_printf("%s/" CKPT_MANIFEST, dir);
    size_t n;
    char *text = ckpt_is_regular(path, err) < 0 ? NULL : file_read(path, &n, err);
    json_error_t at;
    json_t *manifest = text ? json_loadb(text, n, JSON_REJECT_DUPLICATES, &at) : NULL;
    int rc = json_is_object(manifest) ? verify_manifest(path, manifest, err) : -1;
    if (text && !json_is_object(manifest))
        err_set(err, ERR_CORRUPT, "%s:%d:%d: %s", path, at.line, at.column,
                manifest ? "the top is no object" : at.text);
    if (rc < 0) {
        json_decref(manifest);
        manifest = NULL;
    }
    free(text);
    free(path);
    return manifest;
}

int64_t ckpt_last_serial(const char *root)
{
    DIR *dir = opendir(root);
    int64_t last = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!ckpt_is_round_name(e->d_name)) continue;
        char *path = mem_printf("%s/%s", root, e->d_name);
        json_t *manifest = ckpt_read_manifest(path, NULL);
        json_int_t serial = json_integer_value(json_object_get(manifest, "serial"));
        if (serial > last) last = serial;
        json_decref(manifest);
        free(path);
    }
    if (dir) closedir(dir);
    return last;
}
