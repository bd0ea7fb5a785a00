/* pcp model: print a model of a known family as StableHLO. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ir/print.h"
#include "model/gpt2.h"
#include "pcp/cmd.h"

typedef struct {
    int64_t layers, heads, width, block, vocab, batch;
    bool bias, bf16;
} options_t;

#define FIELD(name, kind, fallback, help, min, max)                                   \
    {                                                                                 \
#name, kind, offsetof(options_t, name), fallback, help, min, max, NULL, false \
    }
static const config_field_t fields[] = {
    FIELD(layers, CONFIG_INT, "4", "transformer blocks", 1, 1024),
    FIELD(heads, CONFIG_INT, "4", "attention heads; divides the width", 1, 4096),
    FIELD(width, CONFIG_INT, "128", "model width", 1, 1 << 20),
    FIELD(block, CONFIG_INT, "64", "context length in tokens", 1, 1 << 20),
    FIELD(vocab, CONFIG_INT, "256", "vocabulary size", 1, 1 << 24),
    FIELD(batch, CONFIG_INT, "12", "sequences per step and worker", 1, 1 << 20),
    FIELD(bias, CONFIG_BOOL, "true", "biases in linear layers and layer norms", 0, 0),
    FIELD(bf16, CONFIG_BOOL, "false", "parameters and matrix products in bf16", 0, 0),
};
static const config_table_t table = {
    .usage =
        "usage: pcp model gpt2 [FLAGS] > model.mlir\n\n"
        "Prints a GPT-2 as a StableHLO module: @main is the loss, @logits the next-token scores.\n"
        "Parameters carry their initial values' rules (pcp.init), docs/models.md tells more.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

static int print_model(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    if (args->n_operands != 1 || strcmp(args->operands[0], "gpt2") != 0)
        return err_set(err, ERR_ARG, "name one family: gpt2");
    gpt2_config_t config = {.layers = (int)o->layers,
                            .heads = (int)o->heads,
                            .width = (int)o->width,
                            .block = (int)o->block,
                            .vocab = (int)o->vocab,
                            .batch = (int)o->batch,
                            .bias = o->bias,
                            .bf16 = o->bf16};
    ir_module_t *module = gpt2_build(&config, err);
    if (!module) return -1;
    str_t text = {0};
    ir_print_module(module, &text);
    fputs(str_text(&text), stdout);
    str_fini(&text);
    ir_module_destroy(&module);
    return fflush(stdout) == 0 ? 0 : err_set_errno(err, "standard output");
}

int cmd_model(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, print_model, &err);
}
