/* A directory as Hugging Face publishes models: config.json, tokenizer.json, and model.safetensors
 * or shards of it with model.safetensors.index.json. */
#ifndef PCP_HF_DIR_H
#define PCP_HF_DIR_H

#include "ckpt/checkpoint.h"
#include "ir/ir.h"

typedef struct hf_dir hf_dir_t;

/* Map and check all files. ERR_IO, ERR_CORRUPT, ERR_PARSE name the file. */
hf_dir_t *hf_dir_open(const char *path, err_t *err);
void hf_dir_close(hf_dir_t **self_p);

const char *hf_dir_config(const hf_dir_t *self); /* config.json's text */

/* Write the weights under the names that the module's parameters have, each in its own element
 * type, as one safetensors file: what pcp train --init takes. ERR_SHAPE, ERR_ARG: a tensor is
 * missing, has another shape, or is none of the model's. */
int hf_dir_write_weights(const hf_dir_t *self, const ir_module_t *module, const char *file,
                         err_t *err);

typedef struct {
    bool bf16;          /* write bf16 (round to nearest even), not f32 */
    size_t shard_bytes; /* a file holds about so much */
} hf_export_t;

/* Publish a checkpoint whose module carries its description (model/family.h): config.json,
 * tokenizer.json where it has a byte-pair encoding, with tokenizer_config.json and chat_template.jinja where the
 * run's --tokenizer had them (tokenizer_publish), weights. Makes the directory. ERR_STATE: the
 * model says no family; ERR_ARG: there is a model in it already. */
int hf_dir_export(const checkpoint_t *checkpoint, const char *dir, const hf_export_t *options,
                  err_t *err);

/* The checkpoint's adapters (pcp train --lora) alone, in PEFT's layout. Makes the directory; ERR_ARG: there are none. */
int hf_adapters_export(const checkpoint_t *checkpoint, const char *dir, err_t *err);

#endif
