/* Checkpoints: one directory per saved round,
 *
 *   ROOT/round-000012/model.safetensors    parameters
 *                     state.safetensors    outer momentum and whatever else resumes (optional)
 *                     FILES...             model.mlir, ledger.json, ... as the caller names them
 *                     manifest.json        what this is; size and hash of every other file
 *   ROOT/latest                            symbolic link to the newest complete one
 *
 * A checkpoint is written under a temporary name, synced, renamed, and only then becomes `latest`:
 * a crash or a full disk leaves the earlier ones as they were. If the round's directory exists
 * already (a resumed run), the new one is round-000012-2 and so on. One writer per root. */
#ifndef CKPT_CHECKPOINT_H
#define CKPT_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ckpt/safetensors.h"

typedef struct {
    const char *run;         /* id of the run */
    int64_t round, tokens;   /* outer rounds done, training tokens consumed */
    double loss, validation; /* latest mean losses; NaN: not known */
    const char *module_hash; /* content hash of the StableHLO text */
    const char *config;      /* the run's configuration: a JSON object as text; NULL: none */
    const char *tokenizer;   /* tokenizer_print's text; NULL: none */
} checkpoint_info_t;

typedef struct {
    const char *name; /* without '/'; not one of the names above */
    const void *bytes;
    size_t n;
} checkpoint_file_t;

/* Write a checkpoint and point `latest` at it. All borrowed. *path (may be NULL): the new
 * directory, caller frees. ERR_IO names the file; ERR_ARG a bad name or JSON. */
int checkpoint_write(const char *root, const checkpoint_info_t *info, const safetensor_t *params,
                     size_t n_params, const safetensor_t *state, size_t n_state,
                     const checkpoint_file_t *files, size_t n_files, char **path, err_t *err);

typedef struct checkpoint checkpoint_t;

/* Open ROOT (its latest) or one round's directory; every file's size and hash is checked, and an
 * error says which file is wrong and how (ERR_IO absent, ERR_CORRUPT damaged). */
checkpoint_t *checkpoint_open(const char *path, err_t *err);
void checkpoint_close(checkpoint_t **self_p);

/* All borrowed until close. The path is the round's directory. */
const char *checkpoint_path(const checkpoint_t *self);
const checkpoint_info_t *checkpoint_info(const checkpoint_t *self);
const safetensors_t *checkpoint_params(const checkpoint_t *self);
const safetensors_t *checkpoint_state(const checkpoint_t *self); /* NULL: none was saved */
/* A file by name, with a NUL behind its n bytes; NULL: absent. */
const char *checkpoint_file(const checkpoint_t *self, const char *name, size_t *n);

/* Remove all but the newest `keep` (at least 1) checkpoints and leftovers of crashed writers;
 * `latest` always stays. */
int checkpoint_prune(const char *root, int keep, err_t *err);

#endif
