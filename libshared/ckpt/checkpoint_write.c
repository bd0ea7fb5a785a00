/* Writing a checkpoint: files, manifest, rename, latest. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "ckpt/checkpoint_files.h"

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* JSON text of the caller's, embedded as an object. */
static int set_object(json_t *manifest, const char *key, const char *text, err_t *err)
{
    if (!text) return 0;
    json_error_t at;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &at);
    if (!json_is_object(object)) {
        json_decref(object);
        return err_set(err, ERR_ARG, "checkpoint: %s is no JSON object: %s", key, at.text);
    }
    json_object_set_new(manifest, key, object);
    return 0;
}

static int set_text(json_t *manifest, const char *key, const char *text, err_t *err)
{
    if (json_object_set_new(manifest, key, json_string(text ? text : "")) == 0) return 0;
    return err_set(err, ERR_ARG, "checkpoint: %s is not valid UTF-8", key);
}

static json_t *manifest_new(const checkpoint_info_t *info, int64_t serial, err_t *err)
{
    json_t *m = json_object();
    json_object_set_new(m, "format", json_string("pcp-checkpoint"));
    json_object_set_new(m, "version", json_integer(CKPT_VERSION));
    json_object_set_new(m, "serial", json_integer(serial));
    json_object_set_new(m, "round", json_integer(info->round));
    json_object_set_new(m, "tokens", json_integer(info->tokens));
    json_object_set_new(m, "loss", real_or_null(info->loss));
    json_object_set_new(m, "validation", real_or_null(info->validation));
    if (set_text(m, "run", info->run, err) < 0 ||
        set_text(m, "module_hash", info->module_hash, err) < 0 ||
        set_object(m, "config", info->config, err) < 0 ||
        set_object(m, "tokenizer", info->tokenizer, err) < 0) {
        json_decref(m);
        return NULL;
    }
    json_object_set_new(m, "files", json_object());
    return m;
}

/* Enter a written file with its size and hash. */
static int record(json_t *manifest, const char *dir, const char *name, err_t *err)
{
    char *path = mem_printf("%s/%s", dir, name), hash[HASH_HEX];
    int rc = hash_file(path, hash, err);
    json_t *entry = json_pack("{s:I, s:s}", "bytes", (json_int_t)file_size(path), "hash",
                              rc == 0 ? hash : "");
    json_object_set_new(json_object_get(manifest, "files"), name, entry);
    free(path);
    return rc;
}

static const char *hash_of(json_t *manifest, const char *name)
{
    json_t *entry = json_object_get(json_object_get(manifest, "files"), name);
    return json_string_value(json_object_get(entry, "hash"));
}

static int write_tensors(json_t *manifest, const char *dir, const char *name,
                         const checkpoint_info_t *info, const checkpoint_tensors_t *tensors,
                         err_t *err)
{
    char *path = mem_printf("%s/%s", dir, name),
         *round = mem_printf("%lld", (long long)info->round);
    /* Nothing that names this run: equal parameters make equal files. */
    const safetensors_meta_t meta[] = {{"format", "pcp"}, {"round", round}};
    size_t n_meta = sizeof meta / sizeof *meta;
    int rc = tensors->fill ? safetensors_write_by(path, tensors->at, tensors->n, meta, n_meta,
                                                  tensors->fill, tensors->user, err)
                           : safetensors_write(path, tensors->at, tensors->n, meta, n_meta, err);
    free(round);
    free(path);
    return rc < 0 ? -1 : record(manifest, dir, name, err);
}

static int make_file(const checkpoint_file_t *file, const char *path, err_t *err)
{
    if (file->make(file, path, err) < 0) return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) < 0 ? err_set_errno(err, "%s: sync", path) : 0;
    if (fd >= 0) close(fd);
    return rc;
}

static int write_file(json_t *manifest, const char *dir, const checkpoint_file_t *file, err_t *err)
{
    if (!ckpt_is_file_name(file->name) ||
        json_object_get(json_object_get(manifest, "files"), file->name) ||
        strcmp(file->name, CKPT_MANIFEST) == 0 || strcmp(file->name, CKPT_STATE) == 0)
        return err_set(err, ERR_ARG, "checkpoint: a file cannot be named \"%s\"", file->name);
    char *path = mem_printf("%s/%s", dir, file->name);
    int rc = file->make ? make_file(file, path, err)
                        : file_write_atomic(path, file->bytes, file->n, err);
    free(path);
    if (rc < 0 || record(manifest, dir, file->name, err) < 0) return -1;
    const char *hash = hash_of(manifest, file->name);
    if (!file->hash || strcmp(file->hash, hash) == 0) return 0;
    return err_set(err, ERR_CORRUPT, "checkpoint: %s came with hash %.12s, not %.12s", file->name,
                   hash, file->hash);
}

static int write_manifest(json_t *manifest, const char *dir, char check[HASH_HEX], err_t *err)
{
    ckpt_manifest_check(manifest, check);
    json_object_set_new(manifest, "check", json_string(check));
    char *seal = ckpt_make_seal(check);
    if (seal) json_object_set_new(manifest, "seal", json_string(seal));
    free(seal);
    char *text = json_dumps(manifest, JSON_INDENT(2));
    if (!text) return err_set(err, ERR_ARG, "checkpoint: the manifest is not valid UTF-8");
    char *path = mem_printf("%s/" CKPT_MANIFEST, dir);
    int rc = file_write_atomic(path, text, strlen(text), err);
    free(path);
    free(text);
    return rc;
}

static int make_dir(const char *root, const char *dir, err_t *err)
{
    if (file_make_dirs(root, err) < 0) return -1;
    return mkdir(dir, 0755) == 0 ? 0 : err_set_errno(err, "%s: mkdir", dir);
}

/* An error speaks of the directory that is asked for, not of its name while it is written. */
static void name_target(err_t *err, const char *temporary, const char *target)
{
    const char *at = err ? strstr(err->text, temporary) : NULL;
    if (!at) return;
    char *said = mem_printf("%.*s%s%s", (int)(at - err->text), err->text, target,
                            at + strlen(temporary));
    err_set(err, err->code, "%s", said);
    free(said);
}

int checkpoint_make(const char *root, const checkpoint_info_t *info,
                    const checkpoint_tensors_t *params, const checkpoint_tensors_t *state,
                    const checkpoint_file_t *files, size_t n_files, checkpoint_made_t *made,
                    err_t *err)
{
    if (info->round < 0)
        return err_set(err, ERR_ARG, "checkpoint: round %lld", (long long)info->round);
    json_t *manifest = manifest_new(info, ckpt_last_serial(root) + 1, err);
    if (!manifest) return -1;
    char *round_path = mem_printf("%s/round-%06lld", root, (long long)info->round);
    char *dir = file_temporary(round_path), *name = NULL, check[HASH_HEX];
    int rc = make_dir(root, dir, err);
    bool there = rc == 0;
    if (rc == 0) rc = write_tensors(manifest, dir, CKPT_PARAMS, info, params, err);
    if (rc == 0 && state) rc = write_tensors(manifest, dir, CKPT_STATE, info, state, err);
    for (size_t i = 0; rc == 0 && i < n_files; i++) rc = write_file(manifest, dir, &files[i], err);
    if (rc == 0) rc = write_manifest(manifest, dir, check, err);
    if (rc == 0 && !(name = ckpt_settle(root, dir, info->round, err))) rc = -1;
    if (rc < 0 && there) ckpt_remove_dir(dir, NULL);
    if (rc < 0) name_target(err, dir, round_path);
    if (rc == 0) rc = file_sync_dir(root, err);
    if (rc == 0) rc = ckpt_set_latest(root, name, err);
    if (rc == 0 && made) {
        *made = (checkpoint_made_t){.path = mem_printf("%s/%s", root, name),
                                    .n_bytes = ckpt_sum_bytes(manifest)};
        memcpy(made->hash, check, HASH_HEX);
    }
    free(name);
    free(dir);
    free(round_path);
    json_decref(manifest);
    return rc;
}

int checkpoint_write(const char *root, const checkpoint_info_t *info, const safetensor_t *params,
                     size_t n_params, const safetensor_t *state, size_t n_state,
                     const checkpoint_file_t *files, size_t n_files, char **path, err_t *err)
{
    checkpoint_tensors_t values = {.at = params, .n = n_params}, kept = {.at = state, .n = n_state};
    checkpoint_made_t made = {0};
    if (checkpoint_make(root, info, &values, state ? &kept : NULL, files, n_files, &made, err) < 0)
        return -1;
    if (path)
        *path = made.path;
    else
        free(made.path);
    return 0;
}
