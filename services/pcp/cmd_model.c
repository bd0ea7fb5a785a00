/* pcp model: print a model of a known family as StableHLO, from flags or from published files. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ir/print.h"
#include "model/family.h"
#include "optim/optim.h"
#include "pcp/cmd.h"
#include "pcp/hf_dir.h"

typedef struct {
    int64_t layers, heads, kv_heads, width, hidden, head_width, block, vocab, batch;
    bool bias, bf16, weighted, tied, qkv_bias, qk_norm;
    bool rope_bf16;
    double theta, eps, softcap;
    char *from, *weights;
} options_t;

#define FIELD(name, kind, fallback, help, min, max)                                   \
    {                                                                                 \
#name, kind, offsetof(options_t, name), fallback, help, min, max, NULL, false \
    }
static const config_field_t fields[] = {
    FIELD(layers, CONFIG_INT, "4", "transformer blocks", 1, 1024),
    FIELD(heads, CONFIG_INT, "4", "attention heads; divides the width", 1, 4096),
    FIELD(width, CONFIG_INT, "128", "model width", 1, 1 << 20),
    FIELD(block, CONFIG_INT, "0",
          "context length in tokens; 0: 64, with --from the model's own, at most 1024", 0, 1 << 20),
    FIELD(vocab, CONFIG_INT, "256", "vocabulary size", 1, 1 << 24),
    FIELD(batch, CONFIG_INT, "12", "sequences per step and worker", 1, 1 << 20),
    FIELD(bf16, CONFIG_BOOL, "false", "parameters and matrix products in bf16", 0, 0),
    FIELD(weighted, CONFIG_BOOL, "false",
          "the loss takes a weight for each token, as pcp train --messages needs it", 0, 0),
    FIELD(bias, CONFIG_BOOL, "true", "gpt2: biases in linear layers and layer norms", 0, 0),
    FIELD(kv_heads, CONFIG_INT, "0",
          "llama, nanochat: heads of keys and values; 0: as many as heads", 0, 4096),
    FIELD(hidden, CONFIG_INT, "0",
          "llama, nanochat: width within a feed-forward layer; 0: 8/3 of the width in whole 64s,"
          " four times the width",
          0, 1 << 20),
    FIELD(head_width, CONFIG_INT, "0", "llama: width of a head; 0: width / heads", 0, 65536),
    FIELD(tied, CONFIG_BOOL, "true", "llama: the output head is the embedding", 0, 0),
    FIELD(qkv_bias, CONFIG_BOOL, "false", "llama: biases of queries, keys, values (Qwen 2)", 0, 0),
    FIELD(qk_norm, CONFIG_BOOL, "false", "llama: norms of queries and keys (Qwen 3)", 0, 0),
    FIELD(theta, CONFIG_FLOAT, "10000", "llama, nanochat: base of the rotary frequencies", 1, 1e12),
    FIELD(eps, CONFIG_FLOAT, "1e-5", "llama, nanochat: of the norms", 1e-30, 1),
    FIELD(softcap, CONFIG_FLOAT, "15", "nanochat: scores stay below it in size; 0: without", 0,
          1e6),
    FIELD(rope_bf16, CONFIG_BOOL, "true",
          "nanochat: rotary positions rounded to bf16, as its own programs do; false: as Hugging "
          "Face's do in f32",
          0, 0),
    FIELD(from, CONFIG_STRING, NULL,
          "directory with config.json and safetensors, as Hugging Face publishes models", 0, 0),
    FIELD(weights, CONFIG_STRING, NULL, "with --from: file for the weights, for pcp train --init",
          0, 0),
};
static const config_table_t table = {
    .purpose = "print a model of a known family as StableHLO",
    .usage =
        "usage: pcp model gpt2|llama|nanochat [FLAGS] > model.mlir\n"
        "       pcp model --from DIR [--weights FILE] [--block N] [--batch N] > model.mlir\n\n"
        "Prints a model as a StableHLO module: @main is the loss, @logits the next-token scores.\n"
        "Parameters carry their initial values' rules (pcp.init), docs/models.md tells more. Their "
        "number\nand what a token costs is told on standard error.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

static ir_module_t *make_gpt2(const options_t *o, err_t *err)
{
    gpt2_config_t config = {.layers = (int)o->layers,
                            .heads = (int)o->heads,
                            .width = (int)o->width,
                            .block = o->block ? (int)o->block : 64,
                            .vocab = (int)o->vocab,
                            .batch = (int)o->batch,
                            .bias = o->bias,
                            .bf16 = o->bf16,
                            .weighted = o->weighted};
    return family_gpt2(&config, err);
}

static ir_module_t *make_llama(const options_t *o, err_t *err)
{
    int64_t hidden = o->hidden ? o->hidden : (8 * o->width / 3 + 63) / 64 * 64;
    llama_config_t config = {.layers = (int)o->layers,
                             .heads = (int)o->heads,
                             .kv_heads = (int)(o->kv_heads ? o->kv_heads : o->heads),
                             .width = (int)o->width,
                             .hidden = (int)hidden,
                             .head_width = (int)o->head_width,
                             .block = o->block ? (int)o->block : 64,
                             .vocab = (int)o->vocab,
                             .batch = (int)o->batch,
                             .eps = o->eps,
                             .theta = o->theta,
                             .tied = o->tied,
                             .qkv_bias = o->qkv_bias,
                             .qk_norm = o->qk_norm,
                             .bf16 = o->bf16,
                             .weighted = o->weighted};
    return family_llama(&config, err);
}

static ir_module_t *make_nanochat(const options_t *o, err_t *err)
{
    nanochat_config_t config = {.layers = (int)o->layers,
                                .heads = (int)o->heads,
                                .kv_heads = (int)(o->kv_heads ? o->kv_heads : o->heads),
                                .width = (int)o->width,
                                .hidden = (int)(o->hidden ? o->hidden : 4 * o->width),
                                .block = o->block ? (int)o->block : 64,
                                .vocab = (int)o->vocab,
                                .batch = (int)o->batch,
                                .eps = o->eps,
                                .theta = o->theta,
                                .softcap = o->softcap,
                                .rope_bf16 = o->rope_bf16,
                                .bf16 = o->bf16,
                                .weighted = o->weighted};
    return family_nanochat(&config, err);
}

static ir_module_t *make_from(const options_t *o, err_t *err)
{
    family_run_t run = {
        .block = o->block, .batch = o->batch, .bf16 = o->bf16, .weighted = o->weighted};
    hf_dir_t *dir = hf_dir_open(o->from, err);
    if (!dir) return NULL;
    ir_module_t *module = family_build(hf_dir_config(dir), &run, err);
    if (!module)
        err_prefix(err, "%s: ", o->from);
    else if (o->weights && hf_dir_write_weights(dir, module, o->weights, err) < 0)
        ir_module_destroy(&module);
    hf_dir_close(&dir);
    return module;
}

static const struct {
    const char *word;
    ir_module_t *(*make)(const options_t *o, err_t *err);
} families[] = {{"gpt2", make_gpt2}, {"llama", make_llama}, {"nanochat", make_nanochat}};

static ir_module_t *make(const options_t *o, const config_args_t *args, err_t *err)
{
    const char *word = args->n_operands == 1 ? args->operands[0] : "";
    if (o->from && args->n_operands == 0) return make_from(o, err);
    if (o->weights || o->from)
        err_set(err, ERR_ARG, "--weights needs --from DIR, and --from no family");
    else if (*word)
        err_set(err, ERR_ARG, "\"%s\" is no family: give gpt2, llama or nanochat, or --from DIR",
                word);
    else
        err_set(err, ERR_ARG, "name one family: gpt2, llama, nanochat; or give --from DIR");
    for (size_t i = 0; i < sizeof families / sizeof *families && !o->from && !o->weights; i++)
        if (strcmp(families[i].word, word) == 0) return families[i].make(o, err);
    return NULL;
}

/* A step's backward products are twice its forward ones. */
static int tell(const ir_module_t *module, err_t *err)
{
    const ir_fn_t *fn = ir_module_entry(module, err);
    const optim_arg_t *args = fn ? optim_args(module, fn, err) : NULL;
    int64_t n = 0, tokens = 1;
    if (!args) return -1;
    for (int i = 0; i < fn->body->n_arg; i++) {
        if (args[i].is_param)
            n += ir_type_count(&args[i].type);
        else
            tokens = ir_type_count(&args[i].type);
    }
    double flops = family_flops(fn) / (double)tokens;
    fprintf(stderr,
            "pcp model: %lld parameters; a token takes %.4g MFLOP forward, %.4g to train on\n",
            (long long)n, flops / 1e6, 3 * flops / 1e6);
    return 0;
}

static int print_model(const void *options, const config_args_t *args, err_t *err)
{
    ir_module_t *module = make(options, args, err);
    if (!module) return -1;
    str_t text = {0};
    int status = tell(module, err);
    ir_print_module(module, &text);
    if (status == 0) fputs(str_text(&text), stdout);
    str_fini(&text);
    ir_module_destroy(&module);
    return status;
}

int cmd_model(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, print_model, &err);
}
