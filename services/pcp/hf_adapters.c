/* Adapters alone, as PEFT's programs read them: adapter_config.json, and adapter_model.safetensors written last. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "ckpt/adapters.h"
#include "model/family.h"
#include "parse/parse.h"
#include "pcp/hf_dir.h"

typedef struct {
    const char *config; /* the family's description; NULL: none */
    const adapters_t *adapters;
} export_t;

/* "transformer.h.0.attn.c_attn", the module that has the weight, in published models; else the weight's own name. */
static char *module_of(const export_t *e, const char *weight)
{
    char names[FAMILY_NAMES][FAMILY_NAME_BYTES];
    int n = e->config ? family_names(e->config, weight, names) : 0;
    const char *name = n > 0 ? names[0] : weight;
    for (int i = 1; i < n; i++)
        if (strlen(names[i]) > strlen(name)) name = names[i];
    size_t length = strlen(name) - (str_ends(name, ".weight") ? strlen(".weight") : 0);
    return mem_printf("%.*s", (int)length, name);
}

/* One rank and scale hold for all, and where W is [in, out] PEFT calls it fan-in fan-out. */
static json_t *describe(const export_t *e)
{
    json_t *modules = json_array();
    const adapter_t *first = adapters_at(e->adapters, 0);
    bool turned = true;
    for (int i = 0; i < adapters_count(e->adapters); i++) {
        char *module = module_of(e, adapters_at(e->adapters, i)->weight);
        json_array_append_new(modules, json_string(module));
        turned = turned && adapters_at(e->adapters, i)->in == 0;
        free(module);
    }
    double rank = (double)first->a->dims[0];
    return json_pack("{s:s, s:s, s:I, s:f, s:f, s:b, s:s, s:n, s:o}", "peft_type", "LORA",
                     "task_type", "CAUSAL_LM", "r", (json_int_t)rank, "lora_alpha",
                     first->scale * rank, "lora_dropout", 0.0, "fan_in_fan_out", turned, "bias",
                     "none", "base_model_name_or_path", "target_modules", modules);
}

static int write_config(const export_t *e, const char *dir, err_t *err)
{
    json_t *json = describe(e);
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS);
    char *path = mem_printf("%s/adapter_config.json", dir);
    int status = file_write_atomic(path, text, strlen(text), err);
    free(path);
    free(text);
    json_decref(json);
    return status;
}

static void name_parts(const export_t *e, const adapter_t *x, safetensor_t *to)
{
    char *module = module_of(e, x->weight);
    to[0] = *x->a;
    to[1] = *x->b;
    to[0].name = mem_printf("base_model.model.%s.lora_A.weight", module);
    to[1].name = mem_printf("base_model.model.%s.lora_B.weight", module);
    free(module);
}

static int write_values(const export_t *e, const char *dir, err_t *err)
{
    const safetensors_meta_t meta = {"format", "pt"};
    size_t n = 2 * (size_t)adapters_count(e->adapters);
    safetensor_t *tensors = mem_calloc(n, sizeof *tensors);
    for (size_t i = 0; i < n; i += 2)
        name_parts(e, adapters_at(e->adapters, (int)(i / 2)), &tensors[i]);
    char *path = mem_printf("%s/adapter_model.safetensors", dir);
    int status = safetensors_write(path, tensors, n, &meta, 1, err);
    free(path);
    for (size_t i = 0; i < n; i++) free((char *)(uintptr_t)tensors[i].name);
    free(tensors);
    return status;
}

int hf_adapters_export(const checkpoint_t *checkpoint, const char *dir, err_t *err)
{
    size_t n;
    const char *text = checkpoint_file(checkpoint, "model.mlir", &n);
    ir_module_t *module = text ? parse_stablehlo(text, n, "model.mlir", err) : NULL;
    if (!module) return text ? -1 : err_set(err, ERR_CORRUPT, "has no model.mlir");
    adapters_t *adapters = adapters_new(module, checkpoint_params(checkpoint), err);
    const export_t e = {.config = family_config(module), .adapters = adapters};
    int status = adapters ? 0 : -1;
    if (status == 0 && adapters_count(adapters) == 0)
        status = err_set(err, ERR_ARG,
                         "the checkpoint has no adapters (pcp train --lora makes them)");
    if (status == 0) status = file_make_dirs(dir, err);
    if (status == 0) status = write_config(&e, dir, err);
    if (status == 0) status = write_values(&e, dir, err);
    adapters_destroy(&adapters);
    ir_module_destroy(&module);
    return status;
}
