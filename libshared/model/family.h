/* Known families as Hugging Face's config.json describes them: from a description to a module and
 * back, and how its tensors are called in published files. A module that was built here carries its
 * description as the module's attribute pcp.config, so that a checkpoint of it can be published
 * again. Pure functions; config.json is text nobody vouches for. */
#ifndef MODEL_FAMILY_H
#define MODEL_FAMILY_H

#include <stdbool.h>

#include "model/gpt2.h"
#include "model/llama.h"
#include "model/nanochat.h"

#define FAMILY_CONFIG "pcp.config" /* the module's attribute */

enum { FAMILY_NAMES = 2, FAMILY_NAME_BYTES = 256 };

typedef struct {
    int64_t block; /* context in tokens; 0: the model's own, at most FAMILY_BLOCK */
    int64_t batch; /* sequences per step and worker */
    bool bf16;     /* parameters and matrix products in bf16 */
    bool weighted; /* what each token counts is an argument of the loss (model/gpt2.h) */
    const model_steps_t
        *steps; /* functions that go on with sequences (model/steps.h) in the place of
                                 * @main and @logits; NULL: those */
} family_run_t;
enum { FAMILY_BLOCK = 1024 };

/* From config.json. ERR_PARSE, ERR_ARG name the key and its value; ERR_UNSUPPORTED a model_type, or
 * something it asks for, that is not known. */
ir_module_t *family_build(const char *config, const family_run_t *run, err_t *err);

/* From a family's own fields, with the description that other programs read. */
ir_module_t *family_gpt2(const gpt2_config_t *config, err_t *err);
ir_module_t *family_llama(const llama_config_t *config, err_t *err);
ir_module_t *family_nanochat(const nanochat_config_t *config, err_t *err);

/* The description that a module carries; NULL: none. Borrowed from the module. */
const char *family_config(const ir_module_t *module);

/* What a parameter may be called in published files of this description; names[0] is written.
 * Returns how many there are. 0: the model_type is not known. */
int family_names(const char *config, const char *param,
                 char names[FAMILY_NAMES][FAMILY_NAME_BYTES]);

/* Is this tensor of a published file none that the model reads (a mask, a copy of a tied head)? */
bool family_ignores(const char *config, const char *tensor);

/* Floating-point operations of a function's matrix products, two for each multiplication. */
double family_flops(const ir_fn_t *fn);

#endif
