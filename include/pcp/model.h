/* Models of known families as graphs, with @main (parameters, x and y [batch, block] of i32) -> mean cross-entropy, and @logits
 * (parameters, tokens [1, block]) -> scores [1, block, vocab]. Parameters are called as in published files, and have their rules of
 * initial values. docs/models.md tells more. */
#ifndef PCP_MODEL_H
#define PCP_MODEL_H

#include <pcp/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* options: "layers=4 heads=4 width=128 block=64 vocab=256 batch=12 bias=true bf16=false", these being the defaults of those
 * that are left out. PCP_ERROR_ARGUMENT names what is unknown or out of range. */
pcp_graph_t *pcp_model_gpt2(const char *options, pcp_error_t *error);
/* The same of the Llama family, and kv_heads=0 hidden=0 head_width=0 tied=true qkv_bias=false qk_norm=false theta=10000 eps=1e-5
 * in the place of bias; 0 stands for: as heads, 8/3 of the width, width / heads. */
pcp_graph_t *pcp_model_llama(const char *options, pcp_error_t *error);
/* The same of nanochat's family: kv_heads=0 hidden=0 theta=10000 eps=1e-5 softcap=15 rope_bf16=true in the place of bias; 0 stands for:
 * as heads, four times the width, scores as they are. */
pcp_graph_t *pcp_model_nanochat(const char *options, pcp_error_t *error);
/* By the text of a Hugging Face config.json; block 0: the model's own context, at most 1024. */
pcp_graph_t *pcp_model_from_config(const char *json, int64_t block, int64_t batch,
                                   pcp_error_t *error);

#ifdef __cplusplus
}
#endif
#endif
