/* Texts in the model's slots: their rules, characters that are not whole, stop strings. */
#include "infer/writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "text/utf8_stream.h"

typedef struct {
    bool used;
    choose_t *choose;
    writer_options_t options;
    writer_fn *told;
    void *user;
    VEC(uint32_t) seen; /* prompt and text */
    size_t n_prompt;
    int64_t n_written;
    utf8_stream_t stream;
    str_t ready; /* readable, not told yet */
} text_t;

struct writer {
    infer_t *model;
    const tokenizer_t *tokenizer;
    infer_facts_t facts;
    text_t *text; /* [slots] */
};

const char *writer_end_name(writer_end_t end)
{
    static const char *const names[] = {"", "length", "stop", "context"};
    return names[end];
}

writer_t *writer_new(infer_t *model, const tokenizer_t *tokenizer)
{
    writer_t *self = mem_calloc(1, sizeof *self);
    *self = (writer_t){model, tokenizer, infer_facts(model), NULL};
    self->text = mem_calloc((size_t)self->facts.slots, sizeof *self->text);
    return self;
}

static void text_fini(text_t *text)
{
    choose_destroy(&text->choose);
    VEC_FREE(&text->seen);
    str_fini(&text->ready);
    *text = (text_t){0};
}

void writer_destroy(writer_t **self_p)
{
    writer_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    for (int i = 0; i < self->facts.slots; i++) writer_stop(self, i);
    free(self->text);
    free(self);
}

void writer_stop(writer_t *self, int text)
{
    if (!self->text[text].used) return;
    text_fini(&self->text[text]);
    infer_end(self->model, text);
}

/* --- beginning --- */

/* What the tokenizer puts before a prompt, and the prompt's tokens. Returns, caller frees. */
static uint32_t *encode(const writer_t *self, const char *prompt, size_t *n, err_t *err)
{
    size_t n_before = 0;
    const uint32_t *before = tokenizer_before(self->tokenizer, &n_before);
    uint32_t *tokens = tokenizer_encode(self->tokenizer, prompt, strlen(prompt), n, err);
    if (!tokens || n_before == 0) return tokens;
    uint32_t *all = mem_calloc(n_before + *n, sizeof *all);
    memcpy(all, before, n_before * sizeof *all);
    if (*n > 0) memcpy(all + n_before, tokens, *n * sizeof *all);
    *n += n_before;
    free(tokens);
    return all;
}

int writer_add_tokens(writer_t *self, const uint32_t *tokens, size_t n,
                      const writer_options_t *options, writer_fn *told, void *user, err_t *err)
{
    text_t text = {.used = true, .options = *options, .told = told, .user = user, .n_prompt = n};
    int at = -1;
    text.choose = choose_new(&options->choose, self->facts.vocab, err);
    if (text.choose) at = infer_add(self->model, tokens, n, err);
    if (at >= 0 && options->hidden) infer_want_hidden(self->model, at);
    for (size_t i = 0; at >= 0 && i < n; i++) VEC_PUSH(&text.seen, tokens[i]);
    if (at < 0)
        text_fini(&text);
    else
        self->text[at] = text;
    return at;
}

int writer_add(writer_t *self, const char *prompt, const writer_options_t *options, writer_fn *told,
               void *user, err_t *err)
{
    size_t n = 0;
    uint32_t *tokens = encode(self, prompt, &n, err);
    int at = tokens ? writer_add_tokens(self, tokens, n, options, told, user, err) : -1;
    free(tokens);
    return at;
}

/* --- telling --- */

/* The first stop string in what is ready: where it begins, or -1. */
static int64_t find_stop(const text_t *text)
{
    const char *ready = str_text(&text->ready), *first = NULL;
    for (size_t i = 0; i < text->options.n_stop; i++) {
        const char *stop = text->options.stop[i];
        const char *at = *stop ? memmem(ready, text->ready.n, stop, strlen(stop)) : NULL;
        if (at && (!first || at < first)) first = at;
    }
    return first ? first - ready : -1;
}

/* How much of what is ready cannot become a stop string any more. */
static size_t free_bytes(const text_t *text)
{
    const char *ready = str_text(&text->ready);
    size_t n = text->ready.n, held = 0;
    for (size_t i = 0; i < text->options.n_stop; i++) {
        const char *stop = text->options.stop[i];
        size_t most = strlen(stop);
        for (size_t k = most < n + 1 ? most : n + 1; k-- > held + 1;)
            if (memcmp(ready + n - k, stop, k) == 0) held = k;
    }
    return n - held;
}

static void tell(text_t *text, int number, size_t n, const writer_token_t *token, writer_end_t end)
{
    const writer_told_t told = {number, str_text(&text->ready), n, token, NULL, end};
    text->told(text->user, &told);
    text->ready.n -= n;
    if (text->ready.at) {
        memmove(text->ready.at, text->ready.at + n, text->ready.n);
        text->ready.at[text->ready.n] = '\0';
    }
}

static void finish(writer_t *self, int number, size_t n, writer_end_t end)
{
    tell(&self->text[number], number, n, NULL, end);
    writer_stop(self, number);
}

static void shares(const writer_t *self, const text_t *text, const float *scores,
                   writer_token_t *token)
{
    int n = text->options.logprobs;
    if (n < 0) return;
    if (n > WRITER_MOST_LOGPROBS) n = WRITER_MOST_LOGPROBS;
    if (n > self->facts.vocab) n = (int)self->facts.vocab;
    token->logprob = choose_logprob(scores, self->facts.vocab, token->token);
    token->n_top = n;
    choose_highest(scores, self->facts.vocab, token->top, n);
    for (int i = 0; i < n; i++)
        token->top_logprob[i] = token->logprob + scores[token->top[i]] - scores[token->token];
}

/* --- a step --- */

static bool ends(const text_t *text, uint32_t token)
{
    for (size_t i = 0; i < text->options.n_end; i++)
        if (text->options.end[i] == token) return true;
    return false;
}

/* What waited for more is told as it is. */
static void finish_whole(writer_t *self, int number, writer_end_t end)
{
    text_t *text = &self->text[number];
    utf8_stream_end(&text->stream, &text->ready);
    finish(self, number, text->ready.n, end);
}

/* The text has one token more: tell what is readable. */
static int write_token(writer_t *self, int number, const float *scores, err_t *err)
{
    text_t *text = &self->text[number];
    writer_token_t token = {
        choose_next(text->choose, scores, text->seen.at, text->seen.n), 0, 0, {0}, {0}};
    str_t bytes = {0};
    if (ends(text, token.token)) {
        finish_whole(self, number, WRITER_STOP);
        return 0;
    }
    shares(self, text, scores, &token);
    tokenizer_decode(self->tokenizer, token.token, &bytes);
    utf8_stream_add(&text->stream, str_text(&bytes), bytes.n, &text->ready);
    str_fini(&bytes);
    VEC_PUSH(&text->seen, token.token);
    bool last = ++text->n_written >= text->options.tokens;
    if (last) utf8_stream_end(&text->stream, &text->ready);
    int64_t stop = find_stop(text);
    size_t n = stop >= 0 ? (size_t)stop : last ? text->ready.n : free_bytes(text);
    tell(text, number, n, text->options.logprobs < 0 ? NULL : &token, WRITER_GOES_ON);
    if (stop >= 0)
        finish(self, number, 0, WRITER_STOP);
    else if (last)
        finish(self, number, 0, WRITER_LENGTH);
    else if (!self->facts.slides && infer_room(self->model, number) == 0)
        finish_whole(self, number, WRITER_CONTEXT);
    else
        return infer_push(self->model, number, token.token, err);
    return 0;
}

static void tell_hidden(writer_t *self, int number)
{
    const text_t *text = &self->text[number];
    const writer_told_t told = {.text = number,
                                .piece = "",
                                .hidden = infer_hidden(self->model, number),
                                .end = WRITER_STOP};
    text->told(text->user, &told);
    writer_stop(self, number);
}

int writer_step(writer_t *self, err_t *err)
{
    if (infer_step(self->model, err) < 0) return -1;
    for (int i = 0; i < self->facts.slots; i++) {
        const float *scores = self->text[i].used ? infer_scores(self->model, i) : NULL;
        if (scores && self->text[i].options.hidden)
            tell_hidden(self, i);
        else if (scores && write_token(self, i, scores, err) < 0)
            return -1;
    }
    return 0;
}

int writer_active(const writer_t *self)
{
    int n = 0;
    for (int i = 0; i < self->facts.slots; i++) n += self->text[i].used;
    return n;
}

size_t writer_prompt_tokens(const writer_t *self, int text)
{
    return self->text[text].n_prompt;
}

int writer_fits(const tokenizer_t *tokenizer, int64_t vocab, err_t *err)
{
    int n = tokenizer_vocab(tokenizer);
    if (n <= vocab) return 0;
    return err_set(err, ERR_ARG,
                   "its tokenizer (%s) has %d tokens, but the vocabulary of its model.mlir %lld",
                   tokenizer_kind(tokenizer), n, (long long)vocab);
}
