/* Reading what Hugging Face publishes. */
#include "pcp/hf_dir.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/family.h"
#include "optim/optim.h"

enum { MAX_SHARDS = 1024, MAX_CONFIG_BYTES = 1 << 20, MAX_INDEX_BYTES = 64 << 20 };

struct hf_dir {
    char *path, *config;
    VEC(safetensors_t *) shards;
};

void hf_dir_close(hf_dir_t **self_p)
{
    hf_dir_t *self = *self_p;
    if (!self) return;
    for (size_t i = 0; i < self->shards.n; i++) safetensors_close(&self->shards.at[i]);
    VEC_FREE(&self->shards);
    free(self->path);
    free(self->config);
    free(self);
    *self_p = NULL;
}

const char *hf_dir_config(const hf_dir_t *self)
{
    return self->config;
}

static int open_shard(hf_dir_t *self, const char *name, err_t *err)
{
    char *path = mem_printf("%s/%s", self->path, name);
    safetensors_t *shard = safetensors_open(path, err);
    free(path);
    if (!shard) return -1;
    VEC_PUSH(&self->shards, shard);
    return 0;
}

/* The names of files in weight_map, each once; they lie in the directory itself. */
static int open_shards(hf_dir_t *self, const json_t *index, err_t *err)
{
    json_t *map = json_object_get(index, "weight_map"), *file, *seen = json_object();
    const char *tensor;
    int status = json_object_size(map) > 0
                     ? 0
                     : err_set(err, ERR_PARSE, "model.safetensors.index.json: no weight_map");
    json_object_foreach(map, tensor, file)
    {
        const char *name = json_string_value(file);
        if (!name || !*name || *name == '.' || strchr(name, '/')) {
            status = err_set(err, ERR_PARSE,
                             "model.safetensors.index.json: \"%.80s\" lies in "
                             "no file of the directory",
                             tensor);
        } else if (!json_object_get(seen, name)) {
            json_object_set_new(seen, name, json_true());
            if (json_object_size(seen) > MAX_SHARDS)
                status = err_set(err, ERR_PARSE, "model.safetensors.index.json: over %d files",
                                 MAX_SHARDS);
            else
                status = open_shard(self, name, err);
        }
        if (status < 0) break;
    }
    json_decref(seen);
    return status;
}

static int open_weights(hf_dir_t *self, err_t *err)
{
    char *one = mem_printf("%s/model.safetensors", self->path);
    char *many = mem_printf("%s/model.safetensors.index.json", self->path);
    int status;
    if (file_exists(many) && !file_exists(one)) {
        json_error_t where = {.text = "too large"};
        bool fits = file_size(many) <= MAX_INDEX_BYTES;
        json_t *index = fits ? json_load_file(many, 0, &where) : NULL;
        status = index ? open_shards(self, index, err)
                       : err_set(err, ERR_PARSE, "%s: line %d: %s", many, where.line, where.text);
        json_decref(index);
    } else if (file_exists(one)) {
        status = open_shard(self, "model.safetensors", err);
    } else {
        status = err_set(err, ERR_IO,
                         "%s: neither model.safetensors nor its index is there "
                         "(weights in other formats are not read)",
                         self->path);
    }
    free(one);
    free(many);
    return status;
}

hf_dir_t *hf_dir_open(const char *path, err_t *err)
{
    hf_dir_t *self = mem_calloc(1, sizeof *self);
    self->path = mem_strdup(path);
    char *file = mem_printf("%s/config.json", path);
    size_t n;
    int status = file_size(file) > MAX_CONFIG_BYTES
                     ? err_set(err, ERR_PARSE, "%s: larger than %d bytes", file, MAX_CONFIG_BYTES)
                     : 0;
    if (status == 0 && !(self->config = file_read(file, &n, err))) status = -1;
    free(file);
    if (status == 0) status = open_weights(self, err);
    if (status < 0) hf_dir_close(&self);
    return self;
}

/* --- tensors --- */

static const safetensor_t *find_tensor(const hf_dir_t *self, const char *name)
{
    for (size_t i = 0; i < self->shards.n; i++) {
        const safetensor_t *t = safetensors_find(self->shards.at[i], name);
        if (t) return t;
    }
    return NULL;
}

static int take_tensor(const hf_dir_t *self, const optim_arg_t *arg, safetensor_t *out, err_t *err)
{
    char names[FAMILY_NAMES][FAMILY_NAME_BYTES], got[IR_TYPE_TEXT], want[IR_TYPE_TEXT];
    int n = family_names(self->config, arg->name, names);
    const safetensor_t *t = NULL;
    for (int i = 0; i < n && !t; i++) t = find_tensor(self, names[i]);
    if (!t) return err_set(err, ERR_ARG, "%s: no tensor \"%s\"", self->path, names[0]);
    ir_type_t type = ir_type(t->dtype, t->rank, t->dims);
    if (!ir_shape_equal(&type, &arg->type) || !dtype_is_float(t->dtype))
        return err_set(err, ERR_SHAPE, "%s: \"%s\" is %s, config.json asks for %s", self->path,
                       t->name, ir_type_text(&type, got), ir_type_text(&arg->type, want));
    *out = *t;
    out->name = arg->name;
    return 0;
}

/* Every tensor of the files has been taken, or is one that the model does not read. */
static int check_all_taken(const hf_dir_t *self, const safetensor_t *taken, size_t n, err_t *err)
{
    for (size_t s = 0; s < self->shards.n; s++) {
        for (size_t i = 0; i < safetensors_count(self->shards.at[s]); i++) {
            const safetensor_t *t = safetensors_at(self->shards.at[s], i);
            bool found = family_ignores(self->config, t->name);
            for (size_t k = 0; k < n && !found; k++)
                found = taken[k].data == t->data && taken[k].n_bytes == t->n_bytes;
            if (!found)
                return err_set(err, ERR_UNSUPPORTED, "%s: the tensor \"%s\" is none of the model's",
                               self->path, t->name);
        }
    }
    return 0;
}

int hf_dir_write_weights(const hf_dir_t *self, const ir_module_t *module, const char *file,
                         err_t *err)
{
    const ir_fn_t *fn = ir_module_entry(module, err);
    const optim_arg_t *args = fn ? optim_args(module, fn, err) : NULL;
    if (!args) return -1;
    safetensor_t *taken = mem_calloc((size_t)fn->body->n_arg, sizeof *taken);
    size_t n = 0;
    int status = 0;
    for (int i = 0; status == 0 && i < fn->body->n_arg; i++)
        if (args[i].is_param) status = take_tensor(self, &args[i], &taken[n++], err);
    if (status == 0) status = check_all_taken(self, taken, n, err);
    if (status == 0) status = safetensors_write(file, taken, n, NULL, 0, err);
    free(taken);
    return status;
}
