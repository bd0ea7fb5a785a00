/* Writing what Hugging Face's programs read. The weights come last but one, the index last. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/half.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ckpt/adapters.h"
#include "model/family.h"
#include "parse/parse.h"
#include "pcp/hf_dir.h"
#include "text/tokenizer.h"

typedef struct {
    const char *dir, *config;
    const hf_export_t *options;
    VEC(const safetensor_t *) tensor; /* those of the model, without adapters */
    adapters_t *adapters;             /* weights are published with theirs */
    json_t *map;                      /* tensor to file */
    int64_t n_values;                 /* of all tensors */
} export_t;

static int write_text(const char *dir, const char *name, const char *text, err_t *err)
{
    char *path = mem_printf("%s/%s", dir, name);
    int status = file_write_atomic(path, text, strlen(text), err);
    free(path);
    return status;
}

static int write_config(const export_t *e, err_t *err)
{
    json_t *config = json_loads(e->config, 0, NULL);
    const char *key = json_object_get(config, "dtype") ? "dtype" : "torch_dtype";
    json_object_set_new(config, key, json_string(e->options->bf16 ? "bfloat16" : "float32"));
    char *text = json_dumps(config, JSON_INDENT(2) | JSON_SORT_KEYS);
    int status = write_text(e->dir, "config.json", text, err);
    free(text);
    json_decref(config);
    return status;
}

/* --- weights --- */

static size_t bytes_of(const export_t *e, const safetensor_t *t)
{
    return e->options->bf16 ? t->n_bytes / 2 : t->n_bytes;
}

/* The file of the k-th of n shards; "model.safetensors" of one. */
static char *shard_name(int k, int n)
{
    if (n == 1) return mem_strdup("model.safetensors");
    return mem_printf("model-%05d-of-%05d.safetensors", k + 1, n);
}

/* Tensors [*at, ...) that fit into one file, at least one. */
static size_t shard_end(const export_t *e, size_t at)
{
    size_t n = e->tensor.n, sum = 0, end = at;
    while (end < n) {
        sum += bytes_of(e, e->tensor.at[end]);
        if (end > at && sum > e->options->shard_bytes) break;
        end++;
    }
    return end;
}

/* A tensor under its published name, which is the caller's to free, as are its data where they are not the
 * checkpoint's own. */
static int take(const export_t *e, const safetensor_t *from, safetensor_t *to, err_t *err)
{
    char names[FAMILY_NAMES][FAMILY_NAME_BYTES];
    if (from->dtype != DT_F32)
        return err_set(err, ERR_TYPE, "\"%s\" is %s, checkpoints hold f32", from->name,
                       dtype_name(from->dtype));
    if (family_names(e->config, from->name, names) == 0)
        return err_set(err, ERR_STATE, "\"%s\" has no name in published files", from->name);
    const void *own = from->data;
    from = adapters_apply(e->adapters, from, err);
    if (!from) return -1;
    *to = *from;
    to->name = mem_strdup(names[0]);
    size_t n = from->n_bytes / sizeof(float);
    const float *values = from->data;
    if (!e->options->bf16) {
        if (from->data == own) return 0;
        float *copy = mem_calloc(n + 1, sizeof *copy);
        memcpy(copy, values, from->n_bytes);
        to->data = copy;
        return 0;
    }
    uint16_t *half = mem_calloc(n ? n : 1, sizeof *half);
    for (size_t i = 0; i < n; i++) half[i] = half_to_bf16(values[i]);
    to->dtype = DT_BF16;
    to->data = half;
    to->n_bytes = n * sizeof *half;
    return 0;
}

static int write_shard(export_t *e, size_t from, size_t end, const char *name, err_t *err)
{
    const safetensors_meta_t meta = {"format", "pt"};
    safetensor_t *tensors = mem_calloc(end - from, sizeof *tensors);
    int status = 0;
    for (size_t i = from; status == 0 && i < end; i++) {
        status = take(e, e->tensor.at[i], &tensors[i - from], err);
        if (status < 0) break;
        json_object_set_new(e->map, tensors[i - from].name, json_string(name));
        e->n_values += (int64_t)(e->tensor.at[i]->n_bytes / sizeof(float));
    }
    char *path = mem_printf("%s/%s", e->dir, name);
    if (status == 0) status = safetensors_write(path, tensors, end - from, &meta, 1, err);
    free(path);
    for (size_t i = 0; i < end - from; i++) {
        free((char *)(uintptr_t)tensors[i].name);
        if (tensors[i].data != e->tensor.at[from + i]->data)
            free((void *)(uintptr_t)tensors[i].data);
    }
    free(tensors);
    return status;
}

static int write_weights(export_t *e, err_t *err)
{
    int n = 0, k = 0, status = 0;
    size_t all = e->tensor.n;
    for (size_t at = 0; at < all; at = shard_end(e, at)) n++;
    for (size_t at = 0, end; status == 0 && at < all; at = end, k++) {
        char *name = shard_name(k, n);
        end = shard_end(e, at);
        status = write_shard(e, at, end, name, err);
        free(name);
    }
    if (status < 0 || n <= 1) return status;
    json_t *index = json_pack("{s:{s:I}, s:O}", "metadata", "total_size",
                              (json_int_t)(e->n_values * (e->options->bf16 ? 2 : 4)), "weight_map",
                              e->map);
    char *text = json_dumps(index, JSON_INDENT(2) | JSON_SORT_KEYS);
    status = write_text(e->dir, "model.safetensors.index.json", text, err);
    free(text);
    json_decref(index);
    return status;
}

/* --- the whole --- */

static int check_free(const char *dir, err_t *err)
{
    static const char *const names[] = {"config.json", "model.safetensors",
                                        "model.safetensors.index.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = mem_printf("%s/%s", dir, names[i]);
        bool there = file_exists(path);
        free(path);
        if (there) return err_set(err, ERR_ARG, "%s: there is a %s in it already", dir, names[i]);
    }
    return file_make_dirs(dir, err);
}

int hf_dir_export(const checkpoint_t *checkpoint, const char *dir, const hf_export_t *options,
                  err_t *err)
{
    size_t n;
    const char *text = checkpoint_file(checkpoint, "model.mlir", &n);
    ir_module_t *module = text ? parse_stablehlo(text, n, "model.mlir", err) : NULL;
    if (!module) return text ? -1 : err_set(err, ERR_CORRUPT, "has no model.mlir");
    export_t e = {
        .dir = dir, .config = family_config(module), .options = options, .map = json_object()};
    const safetensors_t *params = checkpoint_params(checkpoint);
    e.adapters = adapters_new(module, params, err);
    for (size_t i = 0; i < safetensors_count(params); i++)
        if (!adapters_has(e.adapters, safetensors_at(params, i)->name))
            VEC_PUSH(&e.tensor, safetensors_at(params, i));
    int status = !e.adapters ? -1
                 : e.config  ? check_free(dir, err)
                             : err_set(err, ERR_STATE,
                                       "the model does not say of which family it is (pcp model "
                                        "writes that into the module)");
    if (status == 0) status = write_config(&e, err);
    const char *tokenizer = checkpoint_info(checkpoint)->tokenizer;
    if (status == 0 && tokenizer) status = tokenizer_publish(tokenizer, dir, err);
    if (status == 0) status = write_weights(&e, err);
    json_decref(e.map);
    adapters_destroy(&e.adapters);
    VEC_FREE(&e.tensor);
    ir_module_destroy(&module);
    return status;
}
