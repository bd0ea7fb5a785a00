/* Checkpoints: one directory per saved round,
 *
 *   ROOT/round-000012/model.safetensors    parameters
 *                     state.safetensors    the outer rule's state (optional)
 *                     FILES...             model.mlir, ledger.json, ... as the caller names them
 *                     ledger.json          where the run stands (ckpt/ledger.h)
 *                     NAME.state           opaque: verified, not loaded (inner states of replicas)
 *                     manifest.json        what this is; size and hash of every other file; its own
 *   ROOT/latest                            symbolic link to the newest complete one
 *
 * A checkpoint is written under a temporary name, synced, renamed, and only then becomes `latest`:
 * a crash or a full disk leaves the earlier ones as they were. If the round's directory exists
 * already (a resumed run), the new one is round-000012-2 and so on. One writer per root. */
#ifndef CKPT_CHECKPOINT_H
#define CKPT_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "ckpt/safetensors.h"

typedef struct {
    const char *run;         /* id of the run */
    int64_t round, tokens;   /* outer rounds done, training tokens consumed */
    double loss, validation; /* latest mean losses; NaN: not known */
    const char *module_hash; /* content hash of the StableHLO text */
    const char *config;      /* the run's configuration: a JSON object as text; NULL: none */
    const char *tokenizer;   /* tokenizer_print's text; NULL: none */
} checkpoint_info_t;

typedef struct checkpoint_file checkpoint_file_t;
struct checkpoint_file {
    const char *name; /* without '/'; not one of the first names above */
    const void *bytes;
    size_t n;
    /* Instead of bytes: make the file at `path` (it is synced afterwards). */
    int (*make)(const checkpoint_file_t *self, const char *path, err_t *err);
    void *user;
    const char *hash; /* that its content must have (ERR_CORRUPT); NULL: whatever it is */
};

/* The tensors of one file, with their data or (fill) with what writes it: safetensors_write_by. */
typedef struct {
    const safetensor_t *at;
    size_t n;
    safetensors_fill_fn *fill;
    void *user;
} checkpoint_tensors_t;

/* What was written. */
typedef struct {
    char *path;          /* the new directory; caller frees */
    char hash[HASH_HEX]; /* of its manifest */
    int64_t n_bytes;     /* of all files but the manifest */
} checkpoint_made_t;

/* Write a checkpoint and point `latest` at it. All borrowed. state NULL: it has none; an outer rule
 * that keeps nothing has one of 0 tensors. ERR_IO names the file; ERR_ARG a bad name or JSON. */
int checkpoint_make(const char *root, const checkpoint_info_t *info,
                    const checkpoint_tensors_t *params, const checkpoint_tensors_t *state,
                    const checkpoint_file_t *files, size_t n_files, checkpoint_made_t *made,
                    err_t *err);
/* The same of tensors in memory. *path (may be NULL): the new directory, caller frees. */
int checkpoint_write(const char *root, const checkpoint_info_t *info, const safetensor_t *params,
                     size_t n_params, const safetensor_t *state, size_t n_state,
                     const checkpoint_file_t *files, size_t n_files, char **path, err_t *err);

/* Signatures of manifests, of which this folder knows only that they are texts. Process-wide: set before
 * threads, once. Without them nothing is signed, and nobody asks. */
typedef struct {
    char *(*make)(const char *hash); /* of a manifest (checkpoint_hash); NULL: unsigned. malloc'd */
    /* Before anything else of a checkpoint is read. seal NULL: it has none. */
    int (*check)(const char *seal, const char *hash, err_t *err);
} checkpoint_seals_t;
void checkpoint_use_seals(const checkpoint_seals_t *seals); /* borrowed for good; NULL: none */

/* Sign a round's directory (ROOT/latest is one), in the place of whoever did before: that signature is
 * not judged, all files are. ERR_STATE: there is nobody to sign. */
int checkpoint_sign(const char *path, err_t *err);

typedef struct checkpoint checkpoint_t;

/* Open one round's directory, or the newest of a ROOT that is whole (those that are not are logged
 * as refused, by name). Every file's size and hash is checked, and an error says which file is
 * wrong and how (ERR_IO absent, ERR_CORRUPT damaged). */
checkpoint_t *checkpoint_open(const char *path, err_t *err);
checkpoint_t *checkpoint_open_newest(const char *root, err_t *err);
void checkpoint_close(checkpoint_t **self_p);

/* All borrowed until close. The path is the round's directory. */
const char *checkpoint_path(const checkpoint_t *self);
const checkpoint_info_t *checkpoint_info(const checkpoint_t *self);
const safetensors_t *checkpoint_params(const checkpoint_t *self);
const safetensors_t *checkpoint_state(const checkpoint_t *self); /* NULL: none was saved */
int64_t checkpoint_bytes(const checkpoint_t *self);              /* of all files but the manifest */
const char *checkpoint_hash(const checkpoint_t *self);           /* of the manifest */
const char *checkpoint_seal(const checkpoint_t *self);           /* NULL: it is not signed */
/* A file by name, with a NUL behind its n bytes; NULL: absent. */
const char *checkpoint_file(const checkpoint_t *self, const char *name, size_t *n);

typedef struct {
    char *name, *path, *run;
    char hash[HASH_HEX]; /* of the manifest; "": it cannot be read */
    char *seal;          /* its signature; NULL: none */
    long long round, copy;
    int64_t serial, tokens, n_bytes; /* serial: 1 for the first of a root, and so on */
    double loss, validation;         /* NaN: not known */
    bool has_state;                  /* of the outer rule: a run can go on from it */
    char *fault;                     /* NULL: none found */
} checkpoint_entry_t;
typedef VEC(checkpoint_entry_t) checkpoint_list_t;

/* A root's checkpoints, the one written last first. `verify`: check all their files, not only the
 * manifest. ERR_IO: no such directory. */
int checkpoint_list(const char *root, bool verify, checkpoint_list_t *out, err_t *err);

/* -1, with ERR_IO: there is none in it. It says where they are if it is a run's directory. */
int checkpoint_none(const char *root, err_t *err);
void checkpoint_list_fini(checkpoint_list_t *self);

/* Remove what crashed writers have left in a root: nobody may be writing in it. ERR_IO. */
int checkpoint_sweep(const char *root, err_t *err);

/* Remove all but the last `keep` (at least 1) checkpoints, those without a readable manifest, and
 * leftovers of crashed writers; `latest` always stays, and so does the newest that a run can go on from (it
 * has a ledger). removed (may be NULL): the checkpoints that
 * are gone, also after an error; caller finishes it. */
int checkpoint_prune(const char *root, int keep, checkpoint_list_t *removed, err_t *err);

/* The parameters as one safetensors file; the whole round as another directory: the manifest and the
 * files that it names, and nothing else that lies there. ERR_IO; ERR_ARG: the directory holds a
 * checkpoint already. */
int checkpoint_export(const checkpoint_t *self, const char *file, err_t *err);
int checkpoint_copy(const checkpoint_t *self, const char *dir, err_t *err);

#endif
