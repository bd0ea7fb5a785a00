/* Texts that a model writes: prompts in, pieces of text out as they come, several at a time.
 *
 *   writer_t *w = writer_new(model, tokenizer);
 *   int a = writer_add(w, "It was ", &options, told, user, &err);    up to the model's slots
 *   while (writer_active(w) > 0) writer_step(w, &err);               told hears the pieces
 *
 * A piece is whole characters, and nothing that might be the beginning of a stop string. One thread at
 * a time; the model is the writer's alone while it has texts. */
#ifndef INFER_WRITER_H
#define INFER_WRITER_H

#include "infer/choose.h"
#include "infer/infer.h"
#include "text/tokenizer.h"

typedef struct writer writer_t;

typedef enum {
    WRITER_GOES_ON,
    WRITER_LENGTH,  /* as many tokens as were asked for */
    WRITER_STOP,    /* a stop string or an end token, which is not told */
    WRITER_CONTEXT, /* the model's context is full, and it does not slide */
} writer_end_t;
const char *writer_end_name(writer_end_t end); /* "length", "stop", "context" */

enum { WRITER_MOST_LOGPROBS = 20 };

/* A token that was written, with asked-for shares: ln of the model's softmax, before any rule. */
typedef struct {
    uint32_t token;
    double logprob;
    int n_top;
    uint32_t top[WRITER_MOST_LOGPROBS]; /* the likeliest, in order */
    double top_logprob[WRITER_MOST_LOGPROBS];
} writer_token_t;

typedef struct {
    int text;          /* whose */
    const char *piece; /* n bytes of UTF-8, borrowed; may be none */
    size_t n;
    const writer_token_t *token; /* NULL at the end, and when `logprobs` is -1 */
    const float *hidden;         /* infer_hidden's, where that was asked for; else NULL */
    writer_end_t end;            /* the last one of a text; then the text's number is free again */
} writer_told_t;
typedef void writer_fn(void *user, const writer_told_t *told);

typedef struct {
    choose_options_t choose;
    int64_t tokens;          /* to write, at most */
    const char *const *stop; /* strings, borrowed until the text has ended */
    size_t n_stop;
    const uint32_t *end; /* tokens that end a text, borrowed as the strings */
    size_t n_end;
    bool
        hidden; /* write nothing: tell what the model makes of the prompt, once, with WRITER_STOP */
    int logprobs; /* how many of the likeliest to tell with each token, 0: the token's own; -1: none */
} writer_options_t;

/* Both are borrowed. */
writer_t *writer_new(infer_t *model, const tokenizer_t *tokenizer);
void writer_destroy(writer_t **self_p);

/* Begin a text behind a prompt (and what the tokenizer puts before one). Its number, or -1 as infer_add
 * and choose_new, and ERR_PARSE: the tokenizer does not know a character; ERR_ARG: no token at all. */
int writer_add(writer_t *self, const char *prompt, const writer_options_t *options, writer_fn *told,
               void *user, err_t *err);
/* The same behind these tokens, n >= 1, and nothing else. */
int writer_add_tokens(writer_t *self, const uint32_t *tokens, size_t n,
                      const writer_options_t *options, writer_fn *told, void *user, err_t *err);
void writer_stop(writer_t *self, int text); /* it is not told of any more */

/* One token of each text whose prompt is read. */
int writer_step(writer_t *self, err_t *err);
int writer_active(const writer_t *self);
size_t writer_prompt_tokens(const writer_t *self, int text);

/* Has the model a score for each token of the tokenizer? ERR_ARG names both numbers. */
int writer_fits(const tokenizer_t *tokenizer, int64_t vocab, err_t *err);

#endif
