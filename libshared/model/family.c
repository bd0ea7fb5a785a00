/* config.json of known families. A family is a row: the words of model_type that mean it, and how
 * it is read. */
#include "model/family.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/family_json.h"

typedef struct {
    const char *type; /* of model_type */
    ir_module_t *(*build)(const json_t *config, const family_run_t *run, err_t *err);
    const char *prefix;    /* before the names of our parameters, in files of the whole model */
    const char *shortened; /* what files of the bare model leave away */
    const char *const *ignored; /* endings of names */
} family_t;

/* --- GPT-2 --- */

static int gpt2_refuse(const json_t *config, err_t *err)
{
    const char *act = family_text(config, "activation_function", "gelu_new");
    double eps = family_number(config, "layer_norm_epsilon", 1e-5);
    if (strcmp(act, "gelu_new") != 0 && strcmp(act, "gelu_pytorch_tanh") != 0)
        return family_unknown("activation_function", act, err);
    if (eps != 1e-5)
        return err_set(err, ERR_UNSUPPORTED, "config.json: layer_norm_epsilon is %g, not 1e-5",
                       eps);
    if (!family_true(config, "scale_attn_weights", true) ||
        family_true(config, "scale_attn_by_inverse_layer_idx", false))
        return err_set(err, ERR_UNSUPPORTED, "config.json: another scale of attention");
    if (!family_true(config, "tie_word_embeddings", true))
        return err_set(err, ERR_UNSUPPORTED, "config.json: tie_word_embeddings is false");
    return 0;
}

static ir_module_t *build_gpt2(const json_t *config, const family_run_t *run, err_t *err)
{
    gpt2_config_t c = {.batch = (int)run->batch, .bf16 = run->bf16, .weighted = run->weighted};
    int inner, positions;
    c.bias = family_true(config, "bias", true);
    if (gpt2_refuse(config, err) < 0 || family_int(config, "n_layer", 12, &c.layers, err) < 0 ||
        family_int(config, "n_head", 12, &c.heads, err) < 0 ||
        family_int(config, "n_embd", 768, &c.width, err) < 0 ||
        family_int(config, "vocab_size", 50257, &c.vocab, err) < 0 ||
        family_int(config, "n_positions", 1024, &positions, err) < 0 ||
        family_int(config, "n_inner", 4 * c.width, &inner, err) < 0 ||
        family_block(run, positions, &c.block, err) < 0)
        return NULL;
    if (inner == 4 * c.width) return gpt2_build_within(&c, positions, run->steps, err);
    err_set(err, ERR_UNSUPPORTED, "config.json: n_inner is %d, not 4 n_embd", inner);
    return NULL;
}

ir_module_t *family_gpt2(const gpt2_config_t *c, err_t *err)
{
    json_t *json = json_pack("{s:[s], s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:f, s:s, s:b}",
                             "architectures", "GPT2LMHeadModel", "model_type", "gpt2",
                             "activation_function", "gelu_new", "n_layer", c->layers, "n_head",
                             c->heads, "n_embd", c->width, "n_positions", c->block, "vocab_size",
                             c->vocab, "layer_norm_epsilon", 1e-5, "torch_dtype",
                             c->bf16 ? "bfloat16" : "float32", "tie_word_embeddings", 1);
    if (!c->bias) json_object_set_new(json, "bias", json_false());
    return family_carry(gpt2_build(c, err), json);
}

/* --- Llama and its relatives --- */

static int read_scaling(const json_t *scaling, llama_config_t *c, err_t *err)
{
    const char *kind = family_text(scaling, "rope_type", family_text(scaling, "type", "default"));
    c->rope_factor = family_number(scaling, "factor", 1);
    c->rope_low = family_number(scaling, "low_freq_factor", 1);
    c->rope_high = family_number(scaling, "high_freq_factor", 4);
    if (strcmp(kind, "default") == 0) return 0;
    if (strcmp(kind, "linear") == 0) c->rope = ROPE_LINEAR;
    if (strcmp(kind, "llama3") == 0) c->rope = ROPE_LLAMA3;
    if (c->rope == ROPE_PLAIN) return family_unknown("rope_type", kind, err);
    return family_int(scaling, "original_max_position_embeddings", 8192, &c->rope_block, err);
}

static int read_rope(const json_t *config, llama_config_t *c, err_t *err)
{
    const json_t *parameters = json_object_get(config, "rope_parameters");
    const json_t *scaling = parameters ? parameters : json_object_get(config, "rope_scaling");
    c->theta = family_number(config, "rope_theta", family_number(parameters, "rope_theta", 10000));
    if (family_number(config, "partial_rotary_factor", 1) != 1)
        return err_set(err, ERR_UNSUPPORTED, "config.json: partial_rotary_factor is not 1");
    return json_is_object(scaling) ? read_scaling(scaling, c, err) : 0;
}

/* Attention to the last sliding_window positions alone: known where the context is no longer. */
static int check_window(const json_t *config, const llama_config_t *c, err_t *err)
{
    bool used = family_true(config, "use_sliding_window",
                            strcmp(family_text(config, "model_type", ""), "mistral") == 0);
    double window = family_number(config, "sliding_window", INFINITY);
    if (!used || c->block <= window) return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "config.json: sliding_window is %g: give a --block of at most that", window);
}

static int read_sizes(const json_t *config, bool qwen3, llama_config_t *c, err_t *err)
{
    const char *type = family_text(config, "model_type", "");
    int kv_heads = strcmp(type, "mistral") == 0 ? 8 : 0;
    if (family_int(config, "num_hidden_layers", 32, &c->layers, err) < 0 ||
        family_int(config, "num_attention_heads", 32, &c->heads, err) < 0 ||
        family_int(config, "num_key_value_heads", kv_heads ? kv_heads : c->heads, &c->kv_heads,
                   err) < 0 ||
        family_int(config, "hidden_size", 4096, &c->width, err) < 0)
        return -1;
    int head = qwen3 ? 128 : c->width / c->heads;
    return family_int(config, "head_dim", head > 0 ? head : 1, &c->head_width, err) < 0 ||
                   family_int(config, "intermediate_size", 11008, &c->hidden, err) < 0 ||
                   family_int(config, "vocab_size", 32000, &c->vocab, err) < 0
               ? -1
               : 0;
}

static ir_module_t *build_llama(const json_t *config, const family_run_t *run, err_t *err)
{
    const char *type = family_text(config, "model_type", "");
    const char *act = family_text(config, "hidden_act", "silu");
    bool qwen2 = strcmp(type, "qwen2") == 0, qwen3 = strcmp(type, "qwen3") == 0;
    llama_config_t c = {.batch = (int)run->batch,
                        .bf16 = run->bf16,
                        .weighted = run->weighted,
                        .steps = run->steps};
    int positions;
    c.eps = family_number(config, "rms_norm_eps", 1e-6);
    c.tied = family_true(config, "tie_word_embeddings", false);
    c.out_bias = !qwen2 && family_true(config, "attention_bias", false);
    c.qkv_bias = qwen2 || c.out_bias;
    c.mlp_bias = family_true(config, "mlp_bias", false);
    c.qk_norm = qwen3;
    if (strcmp(act, "silu") != 0) {
        family_unknown("hidden_act", act, err);
        return NULL;
    }
    if (read_sizes(config, qwen3, &c, err) < 0 || read_rope(config, &c, err) < 0 ||
        family_int(config, "max_position_embeddings", 2048, &positions, err) < 0 ||
        family_block(run, positions, &c.block, err) < 0 || check_window(config, &c, err) < 0)
        return NULL;
    return llama_build(&c, err);
}

ir_module_t *family_llama(const llama_config_t *c, err_t *err)
{
    const char *type = c->qk_norm ? "qwen3" : c->qkv_bias && !c->out_bias ? "qwen2" : "llama";
    const char *class = c->qk_norm       ? "Qwen3ForCausalLM"
                        : type[0] == 'q' ? "Qwen2ForCausalLM"
                                         : "LlamaForCausalLM";
    json_t *json = json_pack(
        "{s:[s], s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:b, s:b, s:b, s:s}",
        "architectures", class, "model_type", type, "hidden_act", "silu", "num_hidden_layers",
        c->layers, "num_attention_heads", c->heads, "num_key_value_heads", c->kv_heads,
        "hidden_size", c->width, "head_dim",
        c->head_width  ? c->head_width
        : c->heads > 0 ? c->width / c->heads
                       : 0,
        "intermediate_size", c->hidden, "vocab_size", c->vocab, "max_position_embeddings", c->block,
        "rms_norm_eps", c->eps, "rope_theta", c->theta, "tie_word_embeddings", (int)c->tied,
        "attention_bias", (int)c->out_bias, "mlp_bias", (int)c->mlp_bias, "torch_dtype",
        c->bf16 ? "bfloat16" : "float32");
    return family_carry(llama_build(c, err), json);
}

/* --- nanochat --- */

/* Of the rotary tables, which other programs compute in the type they run in. */
static const char ROPE_TYPE[] = "rope_table_dtype";

static int nanochat_refuse(const json_t *config, err_t *err)
{
    const json_t *rope = json_object_get(config, "rope_parameters");
    const char *act = family_text(config, "hidden_act", "relu2");
    const char *kind = family_text(rope, "rope_type", "default");
    const char *table = family_text(config, ROPE_TYPE, "float32");
    if (strcmp(act, "relu2") != 0) return family_unknown("hidden_act", act, err);
    if (strcmp(kind, "default") != 0) return family_unknown("rope_type", kind, err);
    if (strcmp(table, "float32") != 0 && strcmp(table, "bfloat16") != 0)
        return family_unknown(ROPE_TYPE, table, err);
    if (family_true(config, "attention_bias", false))
        return err_set(err, ERR_UNSUPPORTED, "config.json: attention_bias is true");
    if (family_true(config, "tie_word_embeddings", false))
        return err_set(err, ERR_UNSUPPORTED, "config.json: tie_word_embeddings is true");
    return 0;
}

static ir_module_t *build_nanochat(const json_t *config, const family_run_t *run, err_t *err)
{
    const json_t *rope = json_object_get(config, "rope_parameters");
    nanochat_config_t c = {.batch = (int)run->batch,
                           .bf16 = run->bf16,
                           .weighted = run->weighted,
                           .steps = run->steps};
    int positions;
    c.eps = family_number(config, "rms_norm_eps", 1e-6);
    c.theta = family_number(rope, "rope_theta", family_number(config, "rope_theta", 10000));
    c.softcap = json_is_null(json_object_get(config, "final_logit_softcapping"))
                    ? 0
                    : family_number(config, "final_logit_softcapping", 15);
    c.rope_bf16 = strcmp(family_text(config, ROPE_TYPE, ""), "bfloat16") == 0;
    if (nanochat_refuse(config, err) < 0 ||
        family_int(config, "num_hidden_layers", 12, &c.layers, err) < 0 ||
        family_int(config, "num_attention_heads", 6, &c.heads, err) < 0 ||
        family_int(config, "num_key_value_heads", c.heads, &c.kv_heads, err) < 0 ||
        family_int(config, "hidden_size", 768, &c.width, err) < 0 ||
        family_int(config, "intermediate_size", 8192, &c.hidden, err) < 0 ||
        family_int(config, "vocab_size", 50304, &c.vocab, err) < 0 ||
        family_int(config, "max_position_embeddings", 2048, &positions, err) < 0 ||
        family_block(run, positions, &c.block, err) < 0)
        return NULL;
    return nanochat_build(&c, err);
}

ir_module_t *family_nanochat(const nanochat_config_t *c, err_t *err)
{
    json_t *json = json_pack(
        "{s:[s], s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:{s:s, s:f}, s:b, s:b, s:s, "
        "s:s}",
        "architectures", "NanoChatForCausalLM", "model_type", "nanochat", "hidden_act", "relu2",
        "num_hidden_layers", c->layers, "num_attention_heads", c->heads, "num_key_value_heads",
        c->kv_heads, "hidden_size", c->width, "intermediate_size", c->hidden, "vocab_size",
        c->vocab, "max_position_embeddings", c->block, "rms_norm_eps", c->eps, "rope_parameters",
        "rope_type", "default", "rope_theta", c->theta, "tie_word_embeddings", 0, "attention_bias",
        0, ROPE_TYPE, c->rope_bf16 ? "bfloat16" : "float32", "torch_dtype",
        c->bf16 ? "bfloat16" : "float32");
    json_object_set_new(json, "final_logit_softcapping",
                        c->softcap > 0 ? json_real(c->softcap) : json_null());
    return family_carry(nanochat_build(c, err), json);
}

/* --- the table --- */

static const char *const gpt2_ignored[] = {".attn.bias", ".attn.masked_bias", "lm_head.weight",
                                           NULL};
static const char *const llama_ignored[] = {"rotary_emb.inv_freq", NULL};

static const family_t families[] = {
    {"gpt2", build_gpt2, "transformer.", "", gpt2_ignored},
    {"llama", build_llama, "", "model.", llama_ignored},
    {"mistral", build_llama, "", "model.", llama_ignored},
    {"qwen2", build_llama, "", "model.", llama_ignored},
    {"qwen3", build_llama, "", "model.", llama_ignored},
    {"nanochat", build_nanochat, "", "model.", llama_ignored},
};

static const family_t *find(const json_t *config)
{
    const char *type = family_text(config, "model_type", "");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].type, type) == 0) return &families[i];
    return NULL;
}

ir_module_t *family_build(const char *text, const family_run_t *run, err_t *err)
{
    json_error_t where;
    json_t *config = json_loads(text, 0, &where);
    const family_t *family = config ? find(config) : NULL;
    if (!config)
        err_set(err, ERR_PARSE, "config.json: line %d: %s", where.line, where.text);
    else if (!family)
        err_set(err, ERR_UNSUPPORTED,
                "config.json: the model_type \"%.40s\" is none of gpt2, llama, mistral, qwen2, "
                "qwen3, nanochat",
                family_text(config, "model_type", ""));
    ir_module_t *module = family ? family->build(config, run, err) : NULL;
    return family_carry(module, config);
}

const char *family_config(const ir_module_t *module)
{
    return attr_text(&module->attrs, FAMILY_CONFIG, NULL);
}

int family_names(const char *text, const char *param, char names[FAMILY_NAMES][FAMILY_NAME_BYTES])
{
    json_t *config = json_loads(text, 0, NULL);
    const family_t *family = config ? find(config) : NULL;
    json_decref(config);
    if (!family) return 0;
    size_t cut = strlen(family->shortened);
    bool can = cut > 0 && strncmp(param, family->shortened, cut) == 0;
    snprintf(names[0], FAMILY_NAME_BYTES, "%s%s", family->prefix, param);
    snprintf(names[1], FAMILY_NAME_BYTES, "%s", can ? param + cut : param);
    return strcmp(names[0], names[1]) == 0 ? 1 : 2;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

bool family_ignores(const char *text, const char *tensor)
{
    json_t *config = json_loads(text, 0, NULL);
    const family_t *family = config ? find(config) : NULL;
    bool found = config && family_true(config, "tie_word_embeddings", false) &&
                 strcmp(tensor, "lm_head.weight") == 0;
    json_decref(config);
    for (int i = 0; family && family->ignored[i] && !found; i++)
        found = ends_with(tensor, family->ignored[i]);
    return found;
}

double family_flops(const ir_fn_t *fn)
{
    double total = 0;
    for (int i = 0; i < fn->body->n_op; i++) {
        const ir_op_t *op = fn->body->op[i];
        if (op->code != OP_dot_general) continue;
        ir_dot_t dims;
        ir_dot_dims(op, &dims);
        double one = 2 * (double)ir_type_count(ir_type_of(fn, op->out));
        const ir_type_t *lhs = ir_type_of(fn, op->in[0]);
        for (int k = 0; k < dims.n_contract; k++) one *= (double)lhs->dim[dims.lhs_contract[k]];
        total += one;
    }
    return total;
}
