/* Object directory: immutable files named by their content hash, root/ab/abcdef....
 *
 * Putting the same bytes twice keeps one file. Several processes may share a root: a put is a
 * rename. Who needs an object says so by a claim, an empty file root/owners/OWNER/abcdef...: one that
 * is shared goes when the last of its owners releases it. One thread at a time per handle. */
#ifndef CKPT_OBJECT_H
#define CKPT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"

typedef struct object_dir object_dir_t;

/* Make `root` where it is missing. NULL with ERR_IO. */
object_dir_t *object_dir_open(const char *root, err_t *err);
void object_dir_close(object_dir_t **self_p);

/* Store bytes; `hash` receives the name. ERR_IO names the file. */
int object_put(object_dir_t *self, const void *bytes, size_t n, char hash[HASH_HEX], err_t *err);

/* The file at `path`, whose content the caller knows to have that hash, becomes the object: synced
 * and renamed, without a copy. It must lie below the root's file system. ERR_IO names the file. */
int object_adopt(object_dir_t *self, const char *path, const char *hash, err_t *err);

/* Map an object after checking its bytes against its name; file_unmap ends it. ERR_ARG: not a hash;
 * ERR_IO: absent; ERR_CORRUPT: other bytes than its name says. */
int object_map(const object_dir_t *self, const char *hash, file_map_t *map, err_t *err);
int object_verify(const object_dir_t *self, const char *hash, err_t *err);

bool object_has(const object_dir_t *self, const char *hash);

/* Delete an object; mappings of it stay. Absent: success. ERR_ARG: not a hash; ERR_IO. */
int object_remove(object_dir_t *self, const char *hash, err_t *err);

/* `owner` needs the object, which may be here or come later. ERR_ARG: not a hash; ERR_IO. */
int object_claim(object_dir_t *self, uint64_t owner, const char *hash, err_t *err);

/* `owner` needs it no more; it is deleted if nobody else claims it. 1: nobody does; 0: it stays, for others claim it; -1: ERR_ARG,
 * ERR_IO. */
int object_release(object_dir_t *self, uint64_t owner, const char *hash, err_t *err);

/* The directory of an owner's claims, each named by its hash; caller frees. */
char *object_claims(const object_dir_t *self, uint64_t owner);

/* Where the object is or would be. Returns, caller frees; NULL with ERR_ARG if it is no hash. */
char *object_path(const object_dir_t *self, const char *hash, err_t *err);

#endif
