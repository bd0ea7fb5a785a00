/* Opening a checkpoint: the manifest is checked, then every file against it. */
#include "ckpt/checkpoint.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "ckpt/checkpoint_files.h"

struct checkpoint {
    char *dir;
    json_t *manifest;
    checkpoint_info_t info; /* texts are the manifest's, or the two below */
    char *config, *tokenizer;
    safetensors_t *params, *state;
    char hash[HASH_HEX]; /* of the manifest */
    json_t *names;       /* file name -> index of the arrays below */
    char **texts;        /* contents, NUL behind */
    size_t *n_texts;     /* bytes */
    size_t n_files;
};

static json_t *want(json_t *manifest, const char *key, json_type type, err_t *err)
{
    json_t *value = json_object_get(manifest, key);
    if (value && json_typeof(value) == type) return value;
    err_set(err, ERR_CORRUPT, CKPT_MANIFEST ": \"%s\" is %s", key,
            value ? "of the wrong type" : "missing");
    return NULL;
}

/* A number, or NaN for null. */
static double loss_of(json_t *manifest, const char *key)
{
    json_t *value = json_object_get(manifest, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static char *object_text(json_t *manifest, const char *key)
{
    json_t *object = json_object_get(manifest, key);
    return json_is_object(object) ? json_dumps(object, JSON_COMPACT) : NULL;
}

static int read_info(checkpoint_t *self, err_t *err)
{
    json_t *m = self->manifest, *format = want(m, "format", JSON_STRING, err);
    if (!format) return -1;
    if (strcmp(json_string_value(format), "pcp-checkpoint") != 0)
        return err_set(err, ERR_CORRUPT, CKPT_MANIFEST ": format \"%.80s\" is not pcp-checkpoint",
                       json_string_value(format));
    json_t *version = want(m, "version", JSON_INTEGER, err);
    if (!version) return -1;
    if (json_integer_value(version) < 1 || json_integer_value(version) > CKPT_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       CKPT_MANIFEST ": version %lld; this program reads 1 to %d",
                       (long long)json_integer_value(version), CKPT_VERSION);
    json_t *run = want(m, "run", JSON_STRING, err), *round, *tokens, *module;
    if (!run || !(round = want(m, "round", JSON_INTEGER, err)) ||
        !(tokens = want(m, "tokens", JSON_INTEGER, err)) ||
        !(module = want(m, "module_hash", JSON_STRING, err)))
        return -1;
    self->config = object_text(m, "config");
    self->tokenizer = object_text(m, "tokenizer");
    self->info = (checkpoint_info_t){
        .run = json_string_value(run),
        .round = json_integer_value(round),
        .tokens = json_integer_value(tokens),
        .loss = loss_of(m, "loss"),
        .validation = loss_of(m, "validation"),
        .module_hash = json_string_value(module),
        .config = self->config,
        .tokenizer = self->tokenizer,
    };
    return 0;
}

/* Size and hash of one file as the manifest promises them. */
static int verify_file(const char *path, const char *name, json_t *entry, err_t *err)
{
    json_t *bytes = json_object_get(entry, "bytes"), *hash = json_object_get(entry, "hash");
    if (!json_is_integer(bytes) || !json_is_string(hash))
        return err_set(err, ERR_CORRUPT, CKPT_MANIFEST ": the entry of \"%.200s\" is damaged",
                       name);
    if (ckpt_is_regular(path, err) < 0) return -1;
    int64_t size = file_size(path);
    char actual[HASH_HEX];
    if (size < 0) return err_set(err, ERR_IO, "%s: missing or unreadable", path);
    if (size != json_integer_value(bytes))
        return err_set(err, ERR_CORRUPT, "%s: %lld bytes, the manifest says %lld", path,
                       (long long)size, (long long)json_integer_value(bytes));
    if (hash_file(path, actual, err) < 0) return -1;
    if (strcmp(actual, json_string_value(hash)) != 0)
        return err_set(err, ERR_CORRUPT,
                       "%s: hash %s, the manifest says %.64s: the file is damaged", path, actual,
                       json_string_value(hash));
    return 0;
}

static int load_file(checkpoint_t *self, const char *name, json_t *entry, err_t *err)
{
    if (!ckpt_is_file_name(name))
        return err_set(err, ERR_CORRUPT, CKPT_MANIFEST ": \"%.200s\" is no file name", name);
    char *path = mem_printf("%s/%s", self->dir, name);
    int rc = verify_file(path, name, entry, err);
    if (rc < 0) {
        /* said already */
    } else if (strcmp(name, CKPT_PARAMS) == 0) {
        rc = (self->params = safetensors_open(path, err)) ? 0 : -1;
    } else if (strcmp(name, CKPT_STATE) == 0) {
        rc = (self->state = safetensors_open(path, err)) ? 0 : -1;
    } else if (!str_ends(name, CKPT_OPAQUE)) {
        size_t i = self->n_files;
        self->texts[i] = file_read(path, &self->n_texts[i], err);
        rc = self->texts[i] ? 0 : -1;
        if (rc == 0) json_object_set_new(self->names, name, json_integer((json_int_t)i));
        if (rc == 0) self->n_files++;
    }
    free(path);
    return rc;
}

static int load_files(checkpoint_t *self, err_t *err)
{
    json_t *files = want(self->manifest, "files", JSON_OBJECT, err), *entry;
    if (!files) return -1;
    self->texts = mem_calloc(json_object_size(files), sizeof *self->texts);
    self->n_texts = mem_calloc(json_object_size(files), sizeof *self->n_texts);
    self->names = json_object();
    const char *name;
    json_object_foreach(files, name, entry)
    {
        if (load_file(self, name, entry, err) < 0) return -1;
    }
    if (!self->params)
        return err_set(err, ERR_CORRUPT, CKPT_MANIFEST ": no " CKPT_PARAMS " among its files");
    return 0;
}

static const checkpoint_seals_t *seals;

void checkpoint_use_seals(const checkpoint_seals_t *of)
{
    seals = of;
}

char *ckpt_make_seal(const char *hash)
{
    return seals ? seals->make(hash) : NULL;
}

static int judge(const checkpoint_t *self, err_t *err)
{
    return seals ? seals->check(checkpoint_seal(self), self->hash, err) : 0;
}

static bool is_round(const char *path)
{
    char *manifest = mem_printf("%s/" CKPT_MANIFEST, path);
    bool is = file_exists(manifest);
    free(manifest);
    return is;
}

static checkpoint_t *open_round(const char *path, bool judged, err_t *err)
{
    char *dir = NULL;
    /* Resolved now, so that a later checkpoint cannot swap the files while they are read. */
    if (!(dir = realpath(path, NULL))) {
        err_set_errno(err, "%s", path);
        return NULL;
    }
    checkpoint_t *self = mem_calloc(1, sizeof *self);
    self->dir = dir;
    self->manifest = ckpt_read_manifest(dir, err);
    if (self->manifest) ckpt_manifest_check(self->manifest, self->hash);
    if (!self->manifest || (judged && judge(self, err) < 0) || read_info(self, err) < 0 ||
        load_files(self, err) < 0) {
        err_about(err, dir);
        checkpoint_close(&self);
        return NULL;
    }
    return self;
}

checkpoint_t *checkpoint_open(const char *path, err_t *err)
{
    return is_round(path) ? open_round(path, true, err) : checkpoint_open_newest(path, err);
}

int checkpoint_sign(const char *path, err_t *err)
{
    checkpoint_t *self = open_round(path, false, err);
    if (!self) return -1;
    char *seal = ckpt_make_seal(self->hash);
    int rc = seal ? 0
                  : err_set(err, ERR_STATE,
                            "%s: only an operator's or shepherd's key signs it (--key-file)", path);
    if (rc == 0) json_object_set_new(self->manifest, "seal", json_string(seal));
    char *text = json_dumps(self->manifest, JSON_INDENT(2));
    char *file = mem_printf("%s/" CKPT_MANIFEST, self->dir);
    if (rc == 0) rc = file_write_atomic(file, text, strlen(text), err);
    free(file);
    free(text);
    free(seal);
    checkpoint_close(&self);
    return rc;
}

void checkpoint_close(checkpoint_t **self_p)
{
    if (!self_p || !*self_p) return;
    checkpoint_t *self = *self_p;
    safetensors_close(&self->params);
    safetensors_close(&self->state);
    for (size_t i = 0; i < self->n_files; i++) free(self->texts[i]);
    free(self->texts);
    free(self->n_texts);
    free(self->config);
    free(self->tokenizer);
    json_decref(self->names);
    json_decref(self->manifest);
    free(self->dir);
    free(self);
    *self_p = NULL;
}

const char *checkpoint_path(const checkpoint_t *self)
{
    return self->dir;
}

const checkpoint_info_t *checkpoint_info(const checkpoint_t *self)
{
    return &self->info;
}

const safetensors_t *checkpoint_params(const checkpoint_t *self)
{
    return self->params;
}

const safetensors_t *checkpoint_state(const checkpoint_t *self)
{
    return self->state;
}

const char *checkpoint_file(const checkpoint_t *self, const char *name, size_t *n)
{
    json_t *index = json_object_get(self->names, name);
    if (!index) return NULL;
    size_t i = (size_t)json_integer_value(index);
    *n = self->n_texts[i];
    return self->texts[i];
}

const char *checkpoint_hash(const checkpoint_t *self)
{
    return self->hash;
}

const char *checkpoint_seal(const checkpoint_t *self)
{
    return json_string_value(json_object_get(self->manifest, "seal"));
}

const json_t *ckpt_manifest(const checkpoint_t *self)
{
    return self->manifest;
}

int64_t checkpoint_bytes(const checkpoint_t *self)
{
    return ckpt_sum_bytes(self->manifest);
}
