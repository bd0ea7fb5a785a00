/* Weights together with their low-rank adapters (compile/lora.h), for whoever runs or publishes the model without
 * them: W + scale * B A, or its transpose where W's first dimension is the one that products sum over. */
#ifndef CKPT_ADAPTERS_H
#define CKPT_ADAPTERS_H

#include <stdbool.h>

#include "ckpt/safetensors.h"
#include "ir/ir.h"

#define ADAPTER_A \
    ".lora_A" /* [rank, in], f32; its argument has the attribute pcp.lora = "IN SCALE" */
#define ADAPTER_B ".lora_B" /* [out, rank], f32 */
#define ADAPTER_ATTR "pcp.lora"

typedef struct adapters adapters_t;

/* One adapter; strings borrowed. */
typedef struct {
    const char *weight;
    int in; /* the weight's dimension that products sum over: 0 or 1 */
    double scale;
    const safetensor_t *a, *b;
} adapter_t;

/* Those that the module's entry names. params is borrowed, the module needed by this call alone. Without any: an empty
 * list. ERR_CORRUPT: the attribute is none, or params lacks one or has it in another shape or type. */
adapters_t *adapters_new(const ir_module_t *module, const safetensors_t *params, err_t *err);
void adapters_destroy(adapters_t **self_p);

int adapters_count(const adapters_t *self);
const adapter_t *adapters_at(const adapters_t *self, int i);
/* Is a tensor of that name a part of an adapter? */
bool adapters_has(const adapters_t *self, const char *name);

/* The tensor; a weight with its adapter added (in f32, summed over the rank from 0 on), in a buffer that stands until
 * the next call. self may be NULL: as it is. NULL with ERR_CORRUPT: the weight is not f32 or its shape is another. */
const safetensor_t *adapters_apply(adapters_t *self, const safetensor_t *tensor, err_t *err);

#endif
