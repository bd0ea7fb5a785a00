/* pcp generate: texts that a checkpoint's model writes behind prompts, as they come or as JSON. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "ckpt/checkpoint.h"
#include "ckpt/run_checkpoint.h"
#include "infer/writer.h"
#include "pcp/cmd.h"
#include "pcp/generate_options.h"
#include "pcp/progress.h"

/* A text, and where it goes. */
typedef struct {
    const char *prompt;
    str_t text;
    json_t *tokens; /* with --logprobs */
    int64_t n_prompt, n_tokens;
    writer_end_t end;
    bool live; /* printed as it comes */
} answer_t;

typedef struct {
    const generate_options_t *options;
    bool json;
    const tokenizer_t *tokenizer;
    infer_t *model;
    writer_t *writer;
    writer_options_t how;
    answer_t *answer;
    size_t n, n_begun;
    int64_t n_prompt, n_written;
} job_t;

/* --- what is told of a text --- */

static json_t *token_json(const tokenizer_t *tokenizer, const writer_token_t *t)
{
    json_t *top = json_array(), *out = json_object();
    for (int i = -1; i < t->n_top; i++) {
        str_t text = {0};
        uint32_t token = i < 0 ? t->token : t->top[i];
        double logprob = i < 0 ? t->logprob : t->top_logprob[i];
        tokenizer_decode(tokenizer, token, &text);
        json_t *json = i < 0 ? out : json_object();
        json_t *string = json_stringn(str_text(&text), text.n);
        json_object_set_new(json, "token", json_integer(token));
        json_object_set_new(json, "text", string ? string : json_null()); /* part of a character */
        json_object_set_new(json, "logprob", json_real(logprob));
        if (i >= 0) json_array_append_new(top, json);
        str_fini(&text);
    }
    if (t->n_top > 0)
        json_object_set_new(out, "top", top);
    else
        json_decref(top);
    return out;
}

typedef struct {
    job_t *job;
    answer_t *answer;
} listener_t;

static void told(void *user, const writer_told_t *told)
{
    const listener_t *to = user;
    answer_t *answer = to->answer;
    str_addn(&answer->text, told->piece, told->n);
    if (answer->live) {
        fwrite(told->piece, 1, told->n, stdout);
        fflush(stdout);
    }
    if (told->token)
        json_array_append_new(answer->tokens, token_json(to->job->tokenizer, told->token));
    answer->end = told->end;
    if (told->end == WRITER_GOES_ON) {
        answer->n_tokens++;
        to->job->n_written++;
    }
}

static void print_json(const answer_t *a)
{
    json_t *json = json_object();
    str_t prompt = {0}; /* JSON is UTF-8, a prompt any bytes */
    utf8_add(&prompt, a->prompt, strlen(a->prompt));
    json_object_set_new(json, "prompt", json_string(str_text(&prompt)));
    json_object_set_new(json, "text", json_stringn(str_text(&a->text), a->text.n));
    json_object_set_new(json, "prompt_tokens", json_integer(a->n_prompt));
    json_object_set_new(json, "tokens", json_integer(a->n_tokens));
    json_object_set_new(json, "end", json_string(writer_end_name(a->end)));
    if (a->tokens) json_object_set(json, "logprobs", a->tokens);
    json_dumpf(json, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(json);
    str_fini(&prompt);
}

/* --- writing --- */

/* Begin as many as there is room for. */
static int begin(job_t *job, listener_t *listeners, err_t *err)
{
    while (job->n_begun < job->n && writer_active(job->writer) < infer_facts(job->model).slots) {
        size_t i = job->n_begun;
        writer_options_t how = job->how;
        listeners[i] = (listener_t){job, &job->answer[i]};
        int text = writer_add(job->writer, job->answer[i].prompt, &how, told, &listeners[i], err);
        if (text < 0)
            return job->options->prompts ? err_prefix(err, "%s:%zu: ", job->options->prompts, i + 1)
                                         : err_prefix(err, "--prompt: ");
        job->answer[i].n_prompt = (int64_t)writer_prompt_tokens(job->writer, text);
        job->n_prompt += job->answer[i].n_prompt;
        job->n_begun++;
    }
    return 0;
}

static void tell_speed(const job_t *job, double seconds)
{
    fprintf(stderr, "pcp generate: %lld tokens of prompts, %lld written, %.3f s: %.1f tokens/s\n",
            (long long)job->n_prompt, (long long)job->n_written, seconds,
            (double)job->n_written / fmax(seconds, 1e-9));
}

static int write_all(job_t *job, err_t *err)
{
    listener_t *listeners = mem_calloc(job->n, sizeof *listeners);
    size_t n_shown = 0;
    double start = clock_mono_s();
    int status = begin(job, listeners, err);
    if (status == 0 && !job->json) fputs(job->answer[0].prompt, stdout);
    while (status == 0 && writer_active(job->writer) > 0) {
        status = writer_step(job->writer, err);
        if (status == 0) status = begin(job, listeners, err);
        for (; job->json && n_shown < job->n && job->answer[n_shown].end; n_shown++)
            print_json(&job->answer[n_shown]);
    }
    if (status == 0 && !job->json) putchar('\n');
    if (status == 0 && job->options->timing) tell_speed(job, clock_mono_s() - start);
    free(listeners);
    return status;
}

/* --- the job --- */

static void list_answers(job_t *job, const generate_lists_t *lists)
{
    job->n = lists->n_prompt;
    job->answer = mem_calloc(job->n, sizeof *job->answer);
    for (size_t i = 0; i < job->n; i++) {
        job->answer[i].prompt = lists->prompt[i];
        job->answer[i].live = !job->json;
        if (job->how.logprobs >= 0) job->answer[i].tokens = json_array();
    }
}

static void job_fini(job_t *job)
{
    writer_destroy(&job->writer);
    infer_close(&job->model);
    for (size_t i = 0; i < job->n; i++) {
        str_fini(&job->answer[i].text);
        json_decref(job->answer[i].tokens);
    }
    free(job->answer);
}

/* Of several checkpoints one was taken. */
static void tell_which(const char *given, const checkpoint_t *checkpoint)
{
    char *path = realpath(given, NULL);
    if (path && strcmp(path, checkpoint_path(checkpoint)) != 0)
        fprintf(stderr, "pcp generate: %s\n", checkpoint_path(checkpoint));
    free(path);
}

static int open_model(job_t *job, const checkpoint_t *checkpoint, size_t n_prompt, err_t *err)
{
    const generate_options_t *o = job->options;
    int64_t slots = o->batch > 0 ? o->batch : 8;
    if ((size_t)slots > n_prompt) slots = (int64_t)n_prompt;
    const infer_options_t options = {.threads = (int)o->threads,
                                     .slots = (int)slots,
                                     .length = o->context,
                                     .weights = infer_weights(o->weights),
                                     .keep = infer_keep(o->keep),
                                     .activations = infer_activations(o->activations),
                                     .cache_limit = o->plans_limit > 0 ? (uint64_t)o->plans_limit
                                                                       : UINT64_MAX,
                                     .slide = !o->no_slide,
                                     .window = o->window};
    progress_t progress;
    progress_aside(&progress, "making the model ready for this machine");
    job->model = infer_open_checkpoint(checkpoint, &options, err);
    progress_end(&progress);
    if (!job->model) return err_prefix(err, "%s: ", o->checkpoint);
    infer_facts_t facts = infer_facts(job->model);
    if (writer_fits(job->tokenizer, facts.vocab, err) < 0)
        return err_prefix(err, "%s: ", o->checkpoint);
    if (facts.window && !o->window)
        fprintf(stderr,
                "pcp generate: %s: nothing is kept between tokens, each computes the whole window "
                "of %lld\n",
                facts.why, (long long)facts.length);
    infer_weights_t weights = infer_weights(o->weights);
    if (facts.window && (weights == INFER_BF16 || weights == INFER_I8))
        fprintf(
            stderr,
            "pcp generate: --weights %s: left aside, the whole window is computed with what the "
            "model has\n",
            o->weights);
    return 0;
}

static int check_bias(const job_t *job, err_t *err)
{
    int64_t vocab = infer_facts(job->model).vocab;
    for (size_t i = 0; i < job->how.choose.n_bias; i++)
        if (job->how.choose.bias[i].token >= vocab)
            return err_set(err, ERR_ARG, "--bias: token %u: the model's are below %lld",
                           job->how.choose.bias[i].token, (long long)vocab);
    return 0;
}

static int run(const generate_options_t *o, const checkpoint_t *checkpoint,
               const tokenizer_t *tokenizer, const generate_lists_t *lists, err_t *err)
{
    job_t job = {.options = o, .json = o->json || o->prompts, .tokenizer = tokenizer};
    job.how = (writer_options_t){.choose = generate_choose(o, lists),
                                 .tokens = o->tokens,
                                 .stop = (const char *const *)lists->stop,
                                 .n_stop = lists->n_stop,
                                 .logprobs = job.json ? (int)o->logprobs : -1};
    int status = open_model(&job, checkpoint, lists->n_prompt, err);
    if (status == 0) status = check_bias(&job, err);
    if (status == 0) {
        job.writer = writer_new(job.model, tokenizer);
        list_answers(&job, lists);
        status = write_all(&job, err);
    }
    job_fini(&job);
    return status;
}

static int generate(const void *options, const config_args_t *args, err_t *err)
{
    const generate_options_t *o = options;
    generate_lists_t lists = {0};
    if (args->n_operands > 0)
        return err_set(err, ERR_ARG, "\"%s\" is no flag (try --help)", args->operands[0]);
    if (!o->checkpoint) return err_set(err, ERR_ARG, "no --checkpoint DIR given");
    if (o->logprobs >= 0 && !o->json && !o->prompts)
        return err_set(err, ERR_ARG, "--logprobs are shown in JSON: give --json, too");
    if (generate_lists(o, &lists, err) < 0) return -1;
    checkpoint_t *checkpoint = run_checkpoint_open(o->checkpoint, err);
    if (checkpoint) tell_which(o->checkpoint, checkpoint);
    const char *json = checkpoint ? checkpoint_info(checkpoint)->tokenizer : NULL;
    tokenizer_t *tokenizer = json ? tokenizer_parse(json, err) : NULL;
    int status = checkpoint ? 0 : -1;
    if (checkpoint && !json)
        status = err_set(err, ERR_CORRUPT, "%s: the checkpoint names no tokenizer", o->checkpoint);
    else if (checkpoint && !tokenizer)
        status = err_prefix(err, "%s: ", o->checkpoint);
    if (status == 0) status = run(o, checkpoint, tokenizer, &lists, err);
    tokenizer_destroy(&tokenizer);
    checkpoint_close(&checkpoint);
    generate_lists_fini(&lists);
    return status;
}

int cmd_generate(int argc, char **argv)
{
    generate_options_t options = {0};
    err_t err = {0};
    return cmd_run(&generate_table, &options, argc, argv, generate, &err);
}
