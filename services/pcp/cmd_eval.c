/* pcp eval: loss, perplexity and bits a byte of a checkpoint over a text; accuracy in multiple choice. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "ckpt/run_checkpoint.h"
#include "data/token_bytes.h"
#include "infer/scorer.h"
#include "infer/writer.h"
#include "pcp/cmd.h"
#include "pcp/eval_choices.h"
#include "pcp/eval_records.h"
#include "pcp/eval_text.h"
#include "pcp/progress.h"
#include "pcp/train_records.h"
#include "text/tokenizer.h"

typedef struct {
    char *checkpoint, *entry, *choices;
    int64_t tokens, stride, batch, threads;
    bool json;
} options_t;

#define AT(name) offsetof(options_t, name)
static const config_field_t fields[] = {
    {"checkpoint", CONFIG_STRING, AT(checkpoint), NULL,
     "a run's directory, its checkpoints' (the newest is taken) or one of them", 0, 0, NULL, false},
    {"entry", CONFIG_STRING, AT(entry), NULL,
     "with records: the function whose results are shown, their means (default: the loss)", 0, 0,
     NULL, false},
    {"choices", CONFIG_STRING, AT(choices), NULL,
     "JSON lines of context, choices and answer: how often the likeliest choice is right", 0, 0,
     NULL, false},
    {"batch", CONFIG_INT, AT(batch), "0", "with --choices: items at a time; 0: up to 8", 0, 4096,
     NULL, false},
    {"json", CONFIG_BOOL, AT(json), "false", "with --choices: as JSON, with each item's results", 0,
     0, NULL, false},
    {"tokens", CONFIG_INT, AT(tokens), "0", "only the first so many; 0: all", 0, 1e15, NULL, false},
    {"stride", CONFIG_INT, AT(stride), "0",
     "tokens between windows; fewer: more context for each, and slower; 0: half a window", 0, 1e9,
     NULL, false},
    {"threads", CONFIG_INT, AT(threads), "0", "0: one per core", 0, 1024, NULL, false},
};
static const config_table_t table = {
    .purpose = "tell how well a model foretells a text",
    .usage = "usage: pcp eval --checkpoint DIR FILE [FLAGS]\n"
             "       pcp eval --checkpoint DIR --choices FILE.jsonl [--batch N] [--json]\n"
             "       pcp eval --checkpoint DIR records:DIR [--entry NAME]\n\n"
             "Loss (nats a token), perplexity and bits a byte of a trained model over a text, by "
             "the\nstride method. Its module has a function @logits, or a loss of a language model "
             "(docs/generation.md).\n"
             "Multiple choice: how often the likeliest choice behind a context is right, by its "
             "tokens'\nlog-probabilities (acc) and by these per byte (acc_norm): docs/models.md.\n"
             "Over records: the mean loss, or of what another function of the model returns, such "
             "as an\naccuracy.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

typedef struct {
    tokenizer_t *tokenizer;
    scorer_t *scorer;
    uint32_t *tokens; /* what the tokenizer puts before a text, and the text's */
    size_t n, n_before;
} job_t;

static void job_fini(job_t *self)
{
    free(self->tokens);
    scorer_destroy(&self->scorer);
    tokenizer_destroy(&self->tokenizer);
}

/* Of tokens that were made elsewhere the file's name says how wide they are, as in training. */
static uint32_t *tokens_of(const job_t *job, const char *path, const char *text, size_t n,
                           size_t *n_tokens, err_t *err)
{
    int bytes = token_bytes_named(path);
    if (strcmp(tokenizer_kind(job->tokenizer), "raw") != 0 || bytes == 2)
        return tokenizer_encode(job->tokenizer, text, n, n_tokens, err);
    *n_tokens = n / (size_t)bytes;
    uint32_t *tokens = mem_calloc(*n_tokens + 1, sizeof *tokens);
    for (size_t i = 0; i < *n_tokens; i++) tokens[i] = token_at(text, i, bytes);
    return tokens;
}

static int read_text(job_t *job, const char *path, int64_t most, err_t *err)
{
    size_t n = 0, n_text = 0;
    char *text = file_read(path, &n, err);
    uint32_t *tokens = text ? tokens_of(job, path, text, n, &n_text, err) : NULL;
    free(text);
    if (!tokens) return err_about(err, path);
    if (most > 0 && n_text > (size_t)most) n_text = (size_t)most;
    const uint32_t *before = tokenizer_before(job->tokenizer, &job->n_before);
    job->n = job->n_before + n_text;
    job->tokens = mem_calloc(job->n + 1, sizeof *tokens);
    if (job->n_before) memcpy(job->tokens, before, job->n_before * sizeof *tokens);
    memcpy(job->tokens + job->n_before, tokens, n_text * sizeof *tokens);
    free(tokens);
    if (job->n < 2)
        return err_set(err, ERR_ARG, "%s: %zu tokens; at least 2 are needed", path, job->n);
    return scorer_check(job->scorer, job->tokens, job->n, err);
}

static int open_job(const options_t *o, const char *path, job_t *job, err_t *err)
{
    checkpoint_t *checkpoint = run_checkpoint_open(o->checkpoint, err);
    if (!checkpoint) return -1;
    const char *json = checkpoint_info(checkpoint)->tokenizer;
    int status = json ? 0 : err_set(err, ERR_CORRUPT, "the checkpoint names no tokenizer");
    if (status == 0 && !(job->tokenizer = tokenizer_parse(json, err))) status = -1;
    if (status == 0 && !(job->scorer = scorer_new(checkpoint, (int)o->threads, err))) status = -1;
    if (status == 0) status = writer_fits(job->tokenizer, scorer_vocab(job->scorer), err);
    if (status < 0) err_prefix(err, "%s: ", o->checkpoint);
    checkpoint_close(&checkpoint);
    return status < 0 ? -1 : read_text(job, path, o->tokens, err);
}

static const float *scores(void *user, const uint32_t *tokens, size_t n, err_t *err)
{
    return scorer_run(user, tokens, n, err);
}

typedef struct {
    progress_t progress;
    size_t n;
} meter_t;

static void show(void *user, size_t counted)
{
    meter_t *meter = user;
    progress_at(&meter->progress, (double)counted, (double)meter->n, PROGRESS_THINGS);
}

/* Of the tokens that are counted: all but the first. 0: they do not stand for bytes. */
static size_t text_bytes(const job_t *job)
{
    str_t text = {0};
    size_t n = 0;
    if (strcmp(tokenizer_kind(job->tokenizer), "raw") == 0) return 0;
    for (size_t i = job->n_before > 1 ? job->n_before : 1; i < job->n; i++) {
        text.n = 0;
        tokenizer_decode(job->tokenizer, job->tokens[i], &text);
        n += text.n;
    }
    str_fini(&text);
    return n;
}

static void print_sum(const job_t *job, const eval_sum_t *sum)
{
    double loss = sum->nats / (double)sum->counted;
    size_t bytes = text_bytes(job);
    printf("tokens      %zu\n", sum->counted);
    if (bytes) printf("bytes       %zu\n", bytes);
    printf("loss        %.6f\nperplexity  %.4f\n", loss, exp(loss));
    if (bytes) printf("bits/byte   %.6f\n", sum->nats / log(2) / (double)bytes);
}

static int choose(const options_t *o, int n_operands, err_t *err)
{
    const eval_choices_t choices = {.checkpoint = o->checkpoint,
                                    .file = o->choices,
                                    .threads = (int)o->threads,
                                    .batch = (int)o->batch,
                                    .json = o->json};
    if (!o->checkpoint || n_operands > 0 || o->entry || o->tokens || o->stride)
        return err_set(err, ERR_ARG,
                       "--choices FILE needs --checkpoint DIR, and goes without another file, "
                       "--entry, --tokens and --stride");
    return eval_choices(&choices, err);
}

static int eval(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    const char *file = args->n_operands > 0 ? args->operands[0] : NULL;
    if (cmd_named(file, "FILE", "a text file", err) < 0) return -1;
    if (o->choices) return choose(o, args->n_operands, err);
    if (o->batch || o->json)
        return err_set(err, ERR_ARG, "--batch and --json are for --choices FILE");
    if (!o->checkpoint || args->n_operands != 1)
        return err_set(err, ERR_ARG, "say what to look at: --checkpoint DIR and one text file");
    const char *records = train_records_dir(args->operands[0]);
    if (records) return eval_records(o->checkpoint, o->entry, records, (int)o->threads, err);
    if (o->entry) return err_set(err, ERR_ARG, "--entry is for records: give records:DIR");
    job_t job = {0};
    eval_sum_t sum;
    meter_t meter;
    progress_aside(&meter.progress, "compiling the model for this machine");
    int status = open_job(o, args->operands[0], &job, err);
    if (status == 0) {
        int64_t length = scorer_length(job.scorer), stride = o->stride ? o->stride : length / 2;
        if (stride < 1) stride = 1;
        meter.n = job.n;
        progress_end(&meter.progress);
        progress_aside(&meter.progress, "reading the text");
        status = stride <= length ? eval_tokens(job.tokens, job.n, (size_t)length, (size_t)stride,
                                                scorer_vocab(job.scorer), scores, job.scorer, show,
                                                &meter, &sum, err)
                                  : err_set(err, ERR_ARG, "--stride %lld: a window has %lld tokens",
                                            (long long)stride, (long long)length);
    }
    progress_end(&meter.progress);
    if (status == 0) print_sum(&job, &sum);
    job_fini(&job);
    return status;
}

int cmd_eval(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, eval, &err);
}
