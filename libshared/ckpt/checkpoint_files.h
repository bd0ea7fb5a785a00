/* Directories of a checkpoint root: names, listing, removal. Internal to ckpt/. */
#ifndef CKPT_CHECKPOINT_FILES_H
#define CKPT_CHECKPOINT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CKPT_MANIFEST "manifest.json"
#define CKPT_PARAMS "model.safetensors"
#define CKPT_STATE "state.safetensors"

/* A plain file name: not empty, no '/', no leading '.', at most 200 bytes. */
bool ckpt_is_file_name(const char *name);

/* Remove a directory of plain files. ERR_IO. */
int ckpt_remove_dir(const char *path, err_t *err);

/* Rename `temporary` to ROOT/round-RRRRRR, or -2, -3 ... where that exists. Returns the name within
 * the root, caller frees; NULL with ERR_IO, `temporary` still there. */
char *ckpt_settle(const char *root, const char *temporary, int64_t round, err_t *err);

/* Point ROOT/latest at a directory within the root, atomically. ERR_IO. */
int ckpt_set_latest(const char *root, const char *name, err_t *err);

/* The directory that holds the manifest: `path` itself or what its `latest` points to. Returns,
 * caller frees; NULL with ERR_IO. */
char *ckpt_resolve(const char *path, err_t *err);

#endif
