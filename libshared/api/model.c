/* Models of known families, from options that are those of pcp model. */
#include "api/api.h"
#include "base/options.h"
#include "model/family.h"

/* X(T, kind, name, default, low, high, words, fixed, help): base/options.h. */
#define SHAPE_OPTIONS(X, T)                           \
    X(T, INT, layers, 4, 1, 1024, NULL, true, "")     \
    X(T, INT, heads, 4, 1, 4096, NULL, true, "")      \
    X(T, INT, width, 128, 1, 1 << 20, NULL, true, "") \
    X(T, INT, block, 64, 1, 1 << 20, NULL, true, "")  \
    X(T, INT, vocab, 256, 1, 1 << 24, NULL, true, "") \
    X(T, INT, batch, 12, 1, 1 << 20, NULL, true, "")  \
    X(T, BOOL, bf16, false, 0, 0, NULL, true, "")
#define GPT2_OPTIONS(X, T) SHAPE_OPTIONS(X, T) X(T, BOOL, bias, true, 0, 0, NULL, true, "")
#define LLAMA_OPTIONS(X, T)                            \
    SHAPE_OPTIONS(X, T)                                \
    X(T, INT, kv_heads, 0, 0, 4096, NULL, true, "")    \
    X(T, INT, hidden, 0, 0, 1 << 20, NULL, true, "")   \
    X(T, INT, head_width, 0, 0, 65536, NULL, true, "") \
    X(T, BOOL, tied, true, 0, 0, NULL, true, "")       \
    X(T, BOOL, qkv_bias, false, 0, 0, NULL, true, "")  \
    X(T, BOOL, qk_norm, false, 0, 0, NULL, true, "")   \
    X(T, FLOAT, theta, 10000, 1, 1e12, NULL, true, "") \
    X(T, FLOAT, eps, 1e-5, 1e-30, 1, NULL, true, "")
#define NANOCHAT_OPTIONS(X, T)                         \
    SHAPE_OPTIONS(X, T)                                \
    X(T, INT, kv_heads, 0, 0, 4096, NULL, true, "")    \
    X(T, INT, hidden, 0, 0, 1 << 20, NULL, true, "")   \
    X(T, FLOAT, theta, 10000, 1, 1e12, NULL, true, "") \
    X(T, FLOAT, eps, 1e-5, 1e-30, 1, NULL, true, "")   \
    X(T, FLOAT, softcap, 15, 0, 1e6, NULL, true, "")   \
    X(T, BOOL, rope_bf16, true, 0, 0, NULL, true, "")

typedef struct {
    GPT2_OPTIONS(OPTION_MEMBER, )
} gpt2_options_t;
typedef struct {
    LLAMA_OPTIONS(OPTION_MEMBER, )
} llama_options_t;
typedef struct {
    NANOCHAT_OPTIONS(OPTION_MEMBER, )
} nanochat_options_t;

static const config_field_t gpt2_fields[] = {GPT2_OPTIONS(OPTION_FIELD, gpt2_options_t)};
static const config_field_t llama_fields[] = {LLAMA_OPTIONS(OPTION_FIELD, llama_options_t)};
static const config_field_t nanochat_fields[] = {
    NANOCHAT_OPTIONS(OPTION_FIELD, nanochat_options_t)};
static const config_table_t gpt2_table = {
    .fields = gpt2_fields, .n_fields = sizeof gpt2_fields / sizeof *gpt2_fields, .no_env = true};
static const config_table_t llama_table = {
    .fields = llama_fields, .n_fields = sizeof llama_fields / sizeof *llama_fields, .no_env = true};
static const config_table_t nanochat_table = {.fields = nanochat_fields,
                                              .n_fields = sizeof nanochat_fields /
                                                          sizeof *nanochat_fields,
                                              .no_env = true};

pcp_graph_t *pcp_model_gpt2(const char *options, pcp_error_t *error)
{
    err_t *err = api_err(error);
    gpt2_options_t o = {0};
    ir_module_t *module = NULL;
    if (api_options(&gpt2_table, &o, options, err) == 0)
        module = family_gpt2(&(gpt2_config_t){.layers = (int)o.layers,
                                              .heads = (int)o.heads,
                                              .width = (int)o.width,
                                              .block = (int)o.block,
                                              .vocab = (int)o.vocab,
                                              .batch = (int)o.batch,
                                              .bias = o.bias,
                                              .bf16 = o.bf16},
                             err);
    config_fini(&gpt2_table, &o);
    return api_graph_of(module);
}

pcp_graph_t *pcp_model_llama(const char *options, pcp_error_t *error)
{
    err_t *err = api_err(error);
    llama_options_t o = {0};
    ir_module_t *module = NULL;
    if (api_options(&llama_table, &o, options, err) == 0) {
        int64_t hidden = o.hidden ? o.hidden : (8 * o.width / 3 + 63) / 64 * 64;
        module = family_llama(
            &(llama_config_t){.layers = (int)o.layers,
                              .heads = (int)o.heads,
                              .kv_heads = (int)(o.kv_heads ? o.kv_heads : o.heads),
                              .width = (int)o.width,
                              .hidden = (int)hidden,
                              .head_width = (int)o.head_width,
                              .block = (int)o.block,
                              .vocab = (int)o.vocab,
                              .batch = (int)o.batch,
                              .eps = o.eps,
                              .theta = o.theta,
                              .tied = o.tied,
                              .qkv_bias = o.qkv_bias,
                              .qk_norm = o.qk_norm,
                              .bf16 = o.bf16},
            err);
    }
    config_fini(&llama_table, &o);
    return api_graph_of(module);
}

pcp_graph_t *pcp_model_nanochat(const char *options, pcp_error_t *error)
{
    err_t *err = api_err(error);
    nanochat_options_t o = {0};
    ir_module_t *module = NULL;
    if (api_options(&nanochat_table, &o, options, err) == 0)
        module = family_nanochat(
            &(nanochat_config_t){.layers = (int)o.layers,
                                 .heads = (int)o.heads,
                                 .kv_heads = (int)(o.kv_heads ? o.kv_heads : o.heads),
                                 .width = (int)o.width,
                                 .hidden = (int)(o.hidden ? o.hidden : 4 * o.width),
                                 .block = (int)o.block,
                                 .vocab = (int)o.vocab,
                                 .batch = (int)o.batch,
                                 .eps = o.eps,
                                 .theta = o.theta,
                                 .softcap = o.softcap,
                                 .rope_bf16 = o.rope_bf16,
                                 .bf16 = o.bf16},
            err);
    config_fini(&nanochat_table, &o);
    return api_graph_of(module);
}

pcp_graph_t *pcp_model_from_config(const char *json, int64_t block, int64_t batch,
                                   pcp_error_t *error)
{
    const family_run_t run = {.block = block, .batch = batch};
    return api_graph_of(family_build(json, &run, api_err(error)));
}
