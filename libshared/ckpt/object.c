/* Objects: files named by their content hash, spread over 256 directories. */
#include "ckpt/object.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct object_dir {
    char *root;
};

object_dir_t *object_dir_open(const char *root, err_t *err)
{
    if (file_make_dirs(root, err) < 0) {
        err_prefix(err, "object directory ");
        return NULL;
    }
    object_dir_t *self = mem_calloc(1, sizeof *self);
    self->root = mem_strdup(root);
    return self;
}

void object_dir_close(object_dir_t **self_p)
{
    if (!self_p || !*self_p) return;
    free((*self_p)->root);
    free(*self_p);
    *self_p = NULL;
}

/* A hash comes from peers and manifests: it must not become a path of its own. */
char *object_path(const object_dir_t *self, const char *hash, err_t *err)
{
    if (hash_is_name(hash)) return mem_printf("%s/%.2s/%s", self->root, hash, hash);
    err_set(err, ERR_ARG, "\"%.80s\" is no content hash (64 hex digits)", hash);
    return NULL;
}

bool object_has(const object_dir_t *self, const char *hash)
{
    char *path = object_path(self, hash, NULL);
    bool has = path && file_exists(path);
    free(path);
    return has;
}

int object_put(object_dir_t *self, const void *bytes, size_t n, char hash[HASH_HEX], err_t *err)
{
    char name[HASH_HEX];
    hash_content(bytes, n, name);
    int rc = 0;
    /* The same name holds the same bytes; one that is damaged is replaced. */
    if (!object_has(self, name) || object_verify(self, name, NULL) < 0) {
        char *dir = mem_printf("%s/%.2s", self->root, name);
        char *path = object_path(self, name, err);
        rc = file_make_dirs(dir, err);
        if (rc == 0) rc = file_write_atomic(path, bytes, n, err);
        free(path);
        free(dir);
    }
    if (rc == 0) memcpy(hash, name, HASH_HEX);
    return rc;
}

int object_adopt(object_dir_t *self, const char *path, const char *hash, err_t *err)
{
    char *to = object_path(self, hash, err);
    if (!to) return -1;
    char *dir = mem_printf("%s/%.2s", self->root, hash);
    int rc = file_make_dirs(dir, err), fd = rc == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (rc == 0 && (fd < 0 || fsync(fd) < 0)) rc = err_set_errno(err, "%s: sync", path);
    if (rc == 0 && rename(path, to) < 0) rc = err_set_errno(err, "%s: rename to %s", path, to);
    if (fd >= 0) close(fd);
    if (rc == 0) rc = file_sync_dir(dir, err);
    free(dir);
    free(to);
    return rc;
}

int object_map(const object_dir_t *self, const char *hash, file_map_t *map, err_t *err)
{
    file_map_t found = {0};
    char *path = object_path(self, hash, err), actual[HASH_HEX];
    int rc = path ? file_map(path, &found, err) : -1;
    if (rc == 0) {
        hash_content(found.at, found.n, actual);
        if (strcmp(actual, hash) != 0)
            rc = err_set(err, ERR_CORRUPT, "%s: the content's hash is %s: the file is damaged",
                         path, actual);
    }
    if (rc == 0)
        *map = found;
    else
        file_unmap(&found);
    free(path);
    return rc;
}

int object_verify(const object_dir_t *self, const char *hash, err_t *err)
{
    file_map_t map;
    if (object_map(self, hash, &map, err) < 0) return -1;
    file_unmap(&map);
    return 0;
}

int object_remove(object_dir_t *self, const char *hash, err_t *err)
{
    char *path = object_path(self, hash, err);
    if (!path) return -1;
    int rc = unlink(path) < 0 && errno != ENOENT ? err_set_errno(err, "%s: remove", path) : 0;
    free(path);
    return rc;
}

/* --- Who needs it --- */

char *object_claims(const object_dir_t *self, uint64_t owner)
{
    return mem_printf("%s/owners/%016" PRIx64, self->root, owner);
}

int object_claim(object_dir_t *self, uint64_t owner, const char *hash, err_t *err)
{
    if (!hash_is_name(hash)) return err_set(err, ERR_ARG, "\"%.80s\" is no content hash", hash);
    char *dir = object_claims(self, owner), *path = mem_printf("%s/%s", dir, hash);
    int rc = 0;
    if (!file_exists(path)) {
        int fd = file_make_dirs(dir, err) < 0
                     ? -1
                     : open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0 && !err->code) err_set_errno(err, "%s", path);
        if (fd >= 0) close(fd);
        rc = fd < 0 ? -1 : 0;
    }
    free(path);
    free(dir);
    return rc;
}

static bool is_claimed(const object_dir_t *self, const char *hash)
{
    bool found = false;
    char *owners = mem_printf("%s/owners", self->root);
    DIR *at = opendir(owners);
    for (struct dirent *e; at && !found && (e = readdir(at));) {
        char *path = mem_printf("%s/%s/%s", owners, e->d_name, hash);
        found = file_exists(path);
        free(path);
    }
    if (at) closedir(at);
    free(owners);
    return found;
}

int object_release(object_dir_t *self, uint64_t owner, const char *hash, err_t *err)
{
    if (!hash_is_name(hash)) return err_set(err, ERR_ARG, "\"%.80s\" is no content hash", hash);
    char *dir = object_claims(self, owner), *path = mem_printf("%s/%s", dir, hash);
    int rc = unlink(path) < 0 && errno != ENOENT ? err_set_errno(err, "%s: remove", path) : 0;
    rmdir(dir); /* with its last claim */
    free(path);
    free(dir);
    if (rc < 0 || is_claimed(self, hash)) return rc;
    return object_remove(self, hash, err) < 0 ? -1 : 1;
}
