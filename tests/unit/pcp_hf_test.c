/* Models as Hugging Face publishes them: what goes out comes in again, bit for bit, in f32 and
 * bf16, in one file and in shards; what does not fit is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/half.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/print.h"
#include "model/family.h"
#include "optim/optim.h"
#include "pcp/hf_dir.h"
#include "temp.h"

static const llama_config_t LLAMA = {.layers = 2,
                                     .heads = 2,
                                     .kv_heads = 1,
                                     .width = 16,
                                     .hidden = 24,
                                     .block = 8,
                                     .vocab = 32,
                                     .batch = 1,
                                     .eps = 1e-5,
                                     .theta = 10000};
static const gpt2_config_t GPT2 = {
    .layers = 2, .heads = 2, .width = 16, .block = 8, .vocab = 32, .batch = 1, .bias = true};

typedef struct {
    char *dir;
    ir_module_t *module;
    const optim_arg_t *args;
    safetensor_t *params;
    size_t n;
    checkpoint_t *checkpoint;
} rig_t;

/* A checkpoint of the module (taken) with random parameters; of bf16's values where asked. */
static void rig_init(rig_t *r, ir_module_t *module, bool bf16)
{
    err_t err = {0};
    *r = (rig_t){.dir = temp_dir(), .module = module};
    if (!module) fail_msg("no module");
    const ir_fn_t *fn = ir_module_entry(module, &err);
    r->args = optim_args(module, fn, &err);
    r->params = mem_calloc((size_t)fn->body->n_arg, sizeof *r->params);
    for (int i = 0; i < fn->body->n_arg; i++) {
        if (!r->args[i].is_param) continue;
        const ir_type_t *type = &r->args[i].type;
        size_t n = (size_t)ir_type_count(type);
        float *values = mem_calloc(n, sizeof *values);
        for (size_t k = 0; k < n; k++) {
            values[k] = (float)rng_normal((uint64_t)i, k);
            if (bf16) values[k] = half_from_bf16(half_to_bf16(values[k]));
        }
        safetensor_t *t = &r->params[r->n++];
        *t = (safetensor_t){.name = r->args[i].name,
                            .dtype = DT_F32,
                            .rank = type->rank,
                            .data = values,
                            .n_bytes = n * sizeof *values};
        for (int d = 0; d < type->rank; d++) t->dims[d] = type->dim[d];
    }
    str_t text = {0};
    ir_print_module(module, &text);
    const checkpoint_file_t file = {.name = "model.mlir", .bytes = text.at, .n = text.n};
    const checkpoint_info_t info = {
        .run = "t", .module_hash = "", .tokenizer = "{\"model\":{\"type\":\"BPE\"}}"};
    char *path = NULL;
    if (checkpoint_write(temp_path(r->dir, "ckpt"), &info, r->params, r->n, NULL, 0, &file, 1,
                         &path, &err) < 0)
        fail_msg("%s", err.text);
    r->checkpoint = checkpoint_open(path, &err);
    if (!r->checkpoint) fail_msg("%s", err.text);
    free(path);
    str_fini(&text);
}

static void rig_fini(rig_t *r)
{
    for (size_t i = 0; i < r->n; i++) free((void *)(uintptr_t)r->params[i].data);
    free(r->params);
    checkpoint_close(&r->checkpoint);
    ir_module_destroy(&r->module);
    temp_remove(&r->dir);
}

static void publish(const rig_t *r, const hf_export_t *options)
{
    err_t err = {0};
    if (hf_dir_export(r->checkpoint, temp_path(r->dir, "hf"), options, &err) < 0)
        fail_msg("%s", err.text);
}

/* The weights that come in, as f32, are those that went out. */
static void check_weights(const rig_t *r, dtype_t dtype)
{
    err_t err = {0};
    const family_run_t run = {.block = 4, .batch = 1};
    hf_dir_t *hf = hf_dir_open(temp_path(r->dir, "hf"), &err);
    if (!hf) fail_msg("%s", err.text);
    ir_module_t *module = family_build(hf_dir_config(hf), &run, &err);
    const char *path = temp_path(r->dir, "weights");
    if (!module || hf_dir_write_weights(hf, module, path, &err) < 0) fail_msg("%s", err.text);
    safetensors_t *file = safetensors_open(path, &err);
    assert_non_null(file);
    assert_int_equal(safetensors_count(file), r->n);
    for (size_t i = 0; i < r->n; i++) {
        const safetensor_t *t = safetensors_find(file, r->params[i].name);
        assert_non_null(t);
        assert_int_equal(t->dtype, dtype);
        const float *want = r->params[i].data;
        for (size_t k = 0; k < r->params[i].n_bytes / sizeof *want; k++) {
            float got = dtype == DT_BF16 ? half_from_bf16(((const uint16_t *)t->data)[k])
                                         : ((const float *)t->data)[k];
            assert_memory_equal(&got, &want[k], sizeof got);
        }
    }
    safetensors_close(&file);
    ir_module_destroy(&module);
    hf_dir_close(&hf);
}

static void test_round_trip(void **state)
{
    (void)state;
    err_t err = {0};
    for (int k = 0; k < 4; k++) {
        rig_t r;
        bool bf16 = k & 1, shards = k & 2;
        rig_init(&r, k < 2 ? family_llama(&LLAMA, &err) : family_gpt2(&GPT2, &err), bf16);
        publish(&r, &(hf_export_t){.bf16 = bf16, .shard_bytes = shards ? 4000 : 1 << 30});
        assert_int_equal(file_exists(temp_path(r.dir, "hf/model.safetensors")), !shards);
        assert_int_equal(file_exists(temp_path(r.dir, "hf/model.safetensors.index.json")), shards);
        assert_true(file_exists(temp_path(r.dir, "hf/tokenizer.json")));
        check_weights(&r, bf16 ? DT_BF16 : DT_F32);
        assert_int_equal(hf_dir_export(r.checkpoint, temp_path(r.dir, "hf"),
                                       &(hf_export_t){.shard_bytes = 1 << 30}, &err),
                         -1);
        assert_non_null(strstr(err.text, "there is a config.json in it"));
        rig_fini(&r);
    }
}

/* Rewrite config.json with a key changed; what is then refused. */
static const char *with_config(const rig_t *r, const char *key, json_t *value)
{
    static err_t err;
    const family_run_t run = {.batch = 1};
    const char *path = temp_path(r->dir, "hf/config.json");
    json_t *config = json_load_file(path, 0, NULL),
           *old = json_incref(json_object_get(config, key));
    json_object_set_new(config, key, value);
    json_dump_file(config, path, 0);
    err_clear(&err);
    hf_dir_t *hf = hf_dir_open(temp_path(r->dir, "hf"), &err);
    assert_non_null(hf);
    ir_module_t *module = family_build(hf_dir_config(hf), &run, &err);
    if (module)
        assert_int_equal(hf_dir_write_weights(hf, module, temp_path(r->dir, "w"), &err), -1);
    ir_module_destroy(&module);
    hf_dir_close(&hf);
    json_object_set_new(config, key, old);
    json_dump_file(config, path, 0);
    json_decref(config);
    return err.text;
}

static void test_what_does_not_fit(void **state)
{
    (void)state;
    rig_t r;
    err_t err = {0};
    rig_init(&r, family_llama(&LLAMA, &err), false);
    publish(&r, &(hf_export_t){.shard_bytes = 4000});
    const char *why = with_config(&r, "vocab_size", json_integer(33));
    assert_non_null(strstr(why, "\"model.embed_tokens.weight\" is tensor<32x16xf32>"));
    why = with_config(&r, "num_hidden_layers", json_integer(3));
    assert_non_null(strstr(why, "no tensor \"model.layers.2.input_layernorm.weight\""));
    why = with_config(&r, "num_hidden_layers", json_integer(1));
    assert_non_null(strstr(why, "\"model.layers.1."));
    assert_non_null(strstr(why, "none of the model's"));
    static const struct {
        const char *map, *why;
    } indices[] = {{"{}", "no weight_map"},
                   {"{\"weight_map\": {\"a\": \"../x\"}}", "lies in no file"},
                   {"{\"weight_map\": {\"a\": 7}}", "lies in no file"},
                   {"{\"weight_map\": {\"a\": \"absent\"}}", "absent"},
                   {"[", "line 1"}};
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) {
        temp_write(temp_path(r.dir, "hf/model.safetensors.index.json"), indices[i].map,
                   strlen(indices[i].map));
        assert_null(hf_dir_open(temp_path(r.dir, "hf"), &err));
        if (!strstr(err.text, indices[i].why)) fail_msg("%s: %s", indices[i].map, err.text);
    }
    rig_fini(&r);
    llama_config_t plain = LLAMA;
    rig_init(&r, llama_build(&plain, &err), false); /* without a description */
    assert_int_equal(hf_dir_export(r.checkpoint, temp_path(r.dir, "hf"),
                                   &(hf_export_t){.shard_bytes = 1 << 30}, &err),
                     -1);
    assert_non_null(strstr(err.text, "of which family"));
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_what_does_not_fit),
    };
    return cmocka_run_group_tests_name("pcp_hf", tests, NULL, NULL);
}
