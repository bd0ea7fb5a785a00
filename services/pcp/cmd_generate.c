/* pcp generate: sample text from a checkpoint, token by token, through the compiled @logits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "pcp/cmd.h"
#include "pcp/progress.h"
#include "pcp/run_checkpoint.h"
#include "pcp/sampler.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

typedef struct {
    char *checkpoint, *prompt;
    int64_t tokens, top_k, seed, threads;
    double temperature;
} options_t;

#define AT(name) offsetof(options_t, name)
static const config_field_t fields[] = {
    {"checkpoint", CONFIG_STRING, AT(checkpoint), NULL,
     "a run's directory, its checkpoints' (the newest is taken) or one of them", 0, 0, NULL, false},
    {"prompt", CONFIG_STRING, AT(prompt), "\n", "text to go on from", 0, 0, NULL, false},
    {"tokens", CONFIG_INT, AT(tokens), "200", "tokens to write", 1, 1e9, NULL, false},
    {"temperature", CONFIG_FLOAT, AT(temperature), "1", "below 1: safer; 0: always the likeliest",
     0, 100, NULL, false},
    {"top_k", CONFIG_INT, AT(top_k), "0", "choose among the k likeliest; 0: among all", 0, 1e9,
     NULL, false},
    {"seed", CONFIG_INT, AT(seed), "1", "same seed, same text", 0, 0, NULL, false},
    {"threads", CONFIG_INT, AT(threads), "0", "0: one per core", 0, 1024, NULL, false},
};
static const config_table_t table = {
    .usage = "usage: pcp generate --checkpoint DIR [--prompt TEXT] [FLAGS]\n\n"
             "Lets a trained model write. The model needs a function @logits (docs/models.md).",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

static int feed_prompt(const options_t *o, const tokenizer_t *tokenizer, sampler_t *sampler,
                       err_t *err)
{
    size_t n = 0, n_before;
    const uint32_t *before = tokenizer_before(tokenizer, &n_before);
    uint32_t *prompt = tokenizer_encode(tokenizer, o->prompt, strlen(o->prompt), &n, err);
    if (!prompt) return err_prefix(err, "--prompt: ");
    int status = n + n_before > 0 ? 0 : err_set(err, ERR_ARG, "--prompt: at least one token");
    if (status == 0) status = sampler_feed(sampler, before, n_before, err);
    if (status == 0) status = sampler_feed(sampler, prompt, n, err);
    free(prompt);
    return status;
}

static int show(str_t *text, err_t *err)
{
    fwrite(str_text(text), 1, text->n, stdout);
    str_fini(text);
    return fflush(stdout) == 0 ? 0 : err_set_errno(err, "standard output");
}

/* Tokens may be parts of characters, which appear when they are whole. */
static int write_text(const options_t *o, const tokenizer_t *tokenizer, sampler_t *sampler,
                      err_t *err)
{
    if (feed_prompt(o, tokenizer, sampler, err) < 0) return -1;
    fputs(o->prompt, stdout);
    sampler_choice_t choice = {
        .temperature = o->temperature, .top_k = o->top_k, .seed = (uint64_t)o->seed};
    utf8_stream_t stream = {0};
    str_t ready = {0};
    for (int64_t i = 0; i < o->tokens; i++) {
        uint32_t token;
        if (sampler_next(sampler, &choice, &token, err) < 0) return -1;
        str_t bytes = {0};
        tokenizer_decode(tokenizer, token, &bytes);
        utf8_stream_add(&stream, str_text(&bytes), bytes.n, &ready);
        str_fini(&bytes);
        if (show(&ready, err) < 0) return -1;
    }
    utf8_stream_end(&stream, &ready);
    str_add(&ready, "\n");
    return show(&ready, err);
}

/* Of several checkpoints one was taken. */
static void tell_which(const char *given, const checkpoint_t *checkpoint)
{
    char *path = realpath(given, NULL);
    if (path && strcmp(path, checkpoint_path(checkpoint)) != 0)
        fprintf(stderr, "pcp generate: %s\n", checkpoint_path(checkpoint));
    free(path);
}

static int generate(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    if (args->n_operands > 0)
        return err_set(err, ERR_ARG, "\"%s\" is no flag (try --help)", args->operands[0]);
    if (!o->checkpoint) return err_set(err, ERR_ARG, "no --checkpoint DIR given");
    checkpoint_t *checkpoint = run_checkpoint_open(o->checkpoint, err);
    if (!checkpoint) return -1;
    tell_which(o->checkpoint, checkpoint);
    const char *json = checkpoint_info(checkpoint)->tokenizer;
    tokenizer_t *tokenizer = NULL;
    sampler_t *sampler = NULL;
    int status = json ? 0 : err_set(err, ERR_CORRUPT, "the checkpoint names no tokenizer");
    if (status == 0 && !(tokenizer = tokenizer_parse(json, err))) status = -1;
    progress_t progress;
    progress_aside(&progress, "compiling the model for this machine");
    if (status == 0 && !(sampler = sampler_new(checkpoint, (int)o->threads, err))) status = -1;
    progress_end(&progress);
    if (status < 0) err_prefix(err, "%s: ", o->checkpoint);
    if (status == 0) status = write_text(o, tokenizer, sampler, err);
    sampler_destroy(&sampler);
    tokenizer_destroy(&tokenizer);
    checkpoint_close(&checkpoint);
    return status;
}

int cmd_generate(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, generate, &err);
}
