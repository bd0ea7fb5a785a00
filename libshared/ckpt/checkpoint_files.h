/* Directories of a checkpoint root: names, listing, removal, and the manifest's own check. Internal
 * to ckpt/. */
#ifndef CKPT_CHECKPOINT_FILES_H
#define CKPT_CHECKPOINT_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "ckpt/checkpoint.h"

#define CKPT_MANIFEST "manifest.json"
#define CKPT_PARAMS "model.safetensors"
#define CKPT_STATE "state.safetensors"
#define CKPT_OPAQUE ".state" /* files with this ending are verified but not loaded */

enum { CKPT_VERSION = 2 }; /* 1: manifests without "serial" and "check" */

/* A plain file name: not empty, no '/', no leading '.', at most 200 bytes. */
bool ckpt_is_file_name(const char *name);

/* "round-N" or "round-N-COPY" and nothing behind it. */
bool ckpt_is_round_name(const char *name);

/* Bytes of all files that a manifest names. */
int64_t ckpt_sum_bytes(const json_t *manifest);

/* Remove a directory of plain files; of a link to one the link alone. ERR_IO. */
int ckpt_remove_dir(const char *path, err_t *err);

/* Rename `temporary` to ROOT/round-RRRRRR, or -2, -3 ... where that exists. Returns the name within
 * the root, caller frees; NULL with ERR_IO, `temporary` still there. */
char *ckpt_settle(const char *root, const char *temporary, int64_t round, err_t *err);

/* Point ROOT/latest at a directory within the root, atomically. ERR_IO. */
int ckpt_set_latest(const char *root, const char *name, err_t *err);

/* The manifest of a directory: an object, its own check right. Returns, caller decrefs; NULL with
 * ERR_IO or ERR_CORRUPT. */
json_t *ckpt_read_manifest(const char *dir, err_t *err);

/* An open checkpoint's; borrowed. */
const json_t *ckpt_manifest(const checkpoint_t *self);

/* A file of a checkpoint is a regular one, or a link to one; from a pipe a reader would wait for ever.
 * ERR_CORRUPT; 0 also where there is none. */
int ckpt_is_regular(const char *path, err_t *err);

/* The hash of everything in a manifest but its "check" and its "seal", which signs that hash. */
void ckpt_manifest_check(const json_t *manifest, char hex[HASH_HEX]);

/* A signature of a manifest of this hash (checkpoint_use_seals). Returns, caller frees; NULL: none. */
char *ckpt_make_seal(const char *hash);

/* The highest serial number among a root's checkpoints; 0: none. */
int64_t ckpt_last_serial(const char *root);

#endif
