/* Low-rank adapters (LoRA: Hu et al. 2021, arXiv 2106.09685): a weight W that is one side of products is frozen, and
 * to each product x W comes
 *
 *   alpha / rank * (x A^T) B^T        A: [rank, in], B: [out, rank]
 *
 * where `in` is the dimension of W that the product sums over. A starts uniform(-1/sqrt(in), 1/sqrt(in)), B at zero, so
 * that training begins with the model as it was. The arguments are called "W.lora_A" and "W.lora_B" and lie as PEFT's
 * adapters do. Everything else that was trained is frozen, but for what `train` names. */
#ifndef COMPILE_LORA_H
#define COMPILE_LORA_H

#include "ir/ir.h"

/* The name of A's argument, and its attribute "IN SCALE": which of W's dimensions products sum over, alpha / rank
 * (ckpt/adapters.h reads it). */
#define LORA_A ".lora_A"
#define LORA_B ".lora_B"
#define LORA_ATTR "pcp.lora"

enum { LORA_MAX_PATTERNS = 32 };

typedef struct {
    int rank;     /* 1 to 4096 */
    double alpha; /* 0 to 1e6; not given: twice the rank */
    const char
        *target[LORA_MAX_PATTERNS]; /* names of weights, may hold * and ?; none: all that can */
    const char *train[LORA_MAX_PATTERNS]; /* what is trained beside the adapters */
    int n_target, n_train;
} lora_t;

/* "rank=8,alpha=16,targets=*.attn.*,train=ln_*"; targets and train may be given again. The patterns live in `arena`.
 * ERR_ARG says what may be given. */
int lora_parse(const char *text, arena_t *arena, lora_t *out, err_t *err);

/* Rewrite all functions of the module that read the weights; the entry says its roles (pcp.name, pcp.role) from then
 * on. *told: what was done, in the module's arena. ERR_ARG: a pattern names nothing, or nothing that a product
 * reads. One thread at a time per module. */
int lora_rewrite(ir_module_t *module, const lora_t *lora, const char **told, err_t *err);

#endif
