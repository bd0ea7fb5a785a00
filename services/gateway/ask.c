/* Prompts to jobs, news to answers. */
#include "gateway/ask.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "gateway/carry.h"
#include "serve/embeddings.h"

enum { OK = 200, BAD_REQUEST = 400, UNAUTHORIZED = 401, TOO_MANY = 429, FAILED = 500, ID = 24 };

static void count(stats_t *stats, const char *path, unsigned status)
{
    char text[16];
    snprintf(text, sizeof text, "%u", status);
    stats_add(stats, STATS_REQUESTS, path, text, 1);
}

void ask_answer_refusal(http_request_t *http, stats_t *stats, const char *path,
                        const refusal_t *refusal)
{
    http_answer_t answer = {.status = refusal->status,
                            .type = "application/json",
                            .bearer = refusal->status == UNAUTHORIZED,
                            .retry_s = refusal->status == TOO_MANY};
    answer_refusal(refusal, &answer.body);
    count(stats, path, refusal->status);
    http_answer(http, &answer);
}

/* --- the beginning --- */

/* The tokens of prompt i. Returns, caller frees; NULL: *refusal. */
static uint32_t *tokens_of(const ask_t *self, size_t i, size_t *n, refusal_t *refusal)
{
    const request_prompt_t *prompt = self->request.chat ? NULL : &self->request.prompt[i];
    const char *param = self->request.embeds ? "input" : prompt ? "prompt" : "messages";
    uint32_t *tokens = NULL;
    if (prompt && !prompt->text) {
        tokens = mem_calloc(prompt->n, sizeof *tokens);
        memcpy(tokens, prompt->tokens, prompt->n * sizeof *tokens);
        *n = prompt->n;
    } else if (prompt) {
        tokens = served_encode(self->served, prompt->text, prompt->n, false, n, refusal);
    } else {
        tokens = served_encode_chat(self->served, &self->request, n, refusal);
    }
    if (tokens && served_check(self->served, tokens, *n, param, refusal) < 0) {
        free(tokens);
        return NULL;
    }
    return tokens;
}

static int refuse_chat(const served_t *served, refusal_t *refusal)
{
    const char *why = served->not_chat;
    return refuse(refusal, BAD_REQUEST, "invalid_request_error", "messages", NULL,
                  "%s the model %s%s%s: start pcp-gateway with --chat-template %s, or a model's "
                  "tokenizer_config.json",
                  why ? "the template that came with" : "no chat template is known for",
                  served->name, why ? " cannot be used: " : "", why ? why : "", chat_names());
}

static int check(const ask_t *self, refusal_t *refusal)
{
    const request_t *r = &self->request;
    if (r->chat && !self->served->chat) return refuse_chat(self->served, refusal);
    if (r->dimensions > 0 && r->dimensions != self->served->facts.width)
        return refuse(refusal, BAD_REQUEST, "invalid_request_error", "dimensions", NULL,
                      "dimensions is %lld, the model %s has %lld", (long long)r->dimensions,
                      self->served->name, (long long)self->served->facts.width);
    for (size_t i = 0; i < r->choose.n_bias; i++)
        if (r->choose.bias[i].token >= self->served->facts.vocab)
            return refuse(refusal, BAD_REQUEST, "invalid_request_error", "logit_bias", NULL,
                          "logit_bias: token %u is outside of the model's vocabulary of %lld",
                          r->choose.bias[i].token, (long long)self->served->facts.vocab);
    return 0;
}

static job_t *make_job(const ask_t *self, size_t index, const uint32_t *tokens, size_t n,
                       uint64_t seed)
{
    const served_t *served = self->served;
    job_t *job = job_new(0, &self->request, tokens, n, seed + index);
    const char *stop = self->request.chat ? chat_stop(served->chat) : NULL;
    if (stop) job_add_stop(job, stop);
    job_set_end(job, served->end, served->n_end);
    return job;
}

/* The jobs of all texts; -1: *refusal. */
static int make_jobs(ask_t *self, refusal_t *refusal)
{
    uint64_t seed = self->request.has_seed ? self->request.choose.seed : random_u64();
    size_t each = (size_t)self->request.n;
    for (size_t i = 0; i * each < self->n; i++) {
        size_t n = 0;
        uint32_t *tokens = tokens_of(self, i, &n, refusal);
        for (size_t k = i * each; tokens && k < (i + 1) * each; k++)
            self->text[k] = (text_t){
                .job = make_job(self, k, tokens, n, seed), .user = self, .index = k};
        self->usage.prompt += (int64_t)n;
        free(tokens);
        if (!tokens) return -1;
    }
    return 0;
}

/* The prompt as text, before what is written. */
static void echo(ask_t *self, answer_choice_t *choice, str_t *out)
{
    const request_prompt_t *prompt =
        &self->request.prompt[(size_t)choice->index / (size_t)self->request.n];
    str_t text = {0};
    if (prompt->text) str_addn(&text, prompt->text, prompt->n);
    if (!prompt->text)
        tokenizer_decode_text(self->served->tokenizer, prompt->tokens, prompt->n, &text);
    const char *bytes = str_text(&text);
    if (self->request.stream)
        answer_piece(&self->head, choice, self->served->tokenizer, bytes, text.n, NULL,
                     WRITER_GOES_ON, out);
    else
        answer_add(&self->head, choice, self->served->tokenizer, bytes, text.n, NULL,
                   WRITER_GOES_ON);
    choice->n_tokens = 0;
    str_fini(&text);
}

static void begin_answer(ask_t *self)
{
    str_t out = {0};
    if (self->request.stream) http_stream(self->http);
    for (size_t i = 0; i < self->n; i++) {
        if (self->request.chat && self->request.stream)
            answer_begins(&self->head, &self->choice[i], &out);
        if (self->request.echo) echo(self, &self->choice[i], &out);
    }
    if (out.n > 0 && http_say(self->http, &out) < 0) ask_cancel(self);
    str_fini(&out);
}

/* What is larger than a message is for our own engine alone. */
static int check_jobs(ask_t *self, refusal_t *refusal)
{
    for (size_t i = 0; i < self->n; i++) {
        self->text[i].large = carry_job_bytes(self->text[i].job) > CARRY_BYTES;
        if (self->text[i].large && !self->served->engine)
            return refuse(refusal, BAD_REQUEST, "invalid_request_error", NULL, NULL,
                          "the prompt, its stop strings and biases are more than the %d KiB that a "
                          "member is told at once",
                          CARRY_BYTES >> 10);
    }
    return 0;
}

ask_t *ask_new(http_request_t *http, served_t *served, stats_t *stats, request_t *request,
               const char *who, int64_t now_ms, refusal_t *refusal)
{
    ask_t *self = mem_calloc(1, sizeof *self);
    char random[ID + 1];
    *self = (ask_t){.http = http, .served = served, .stats = stats, .who = who};
    self->request = *request;
    self->since_ms = now_ms;
    *request = (request_t){0};
    self->path = self->request.embeds ? "/v1/embeddings"
                 : self->request.chat ? "/v1/chat/completions"
                                      : "/v1/completions";
    self->n = (self->request.chat ? 1 : self->request.n_prompt) * (size_t)self->request.n;
    self->choice = mem_calloc(self->n, sizeof *self->choice);
    self->text = mem_calloc(self->n, sizeof *self->text);
    self->vector = mem_calloc(self->n, sizeof *self->vector);
    for (size_t i = 0; i < self->n; i++) self->choice[i].index = (int)i;
    if (check(self, refusal) < 0 || make_jobs(self, refusal) < 0 || check_jobs(self, refusal) < 0) {
        ask_free(self);
        return NULL;
    }
    random_hex(random, ID);
    snprintf(self->fingerprint, sizeof self->fingerprint, "%s", served->fingerprint);
    self->head = (answer_head_t){.chat = self->request.chat,
                                 .model = served->name,
                                 .fingerprint = self->fingerprint,
                                 .created = clock_wall_ms() / 1000,
                                 .says_usage = self->request.usage};
    snprintf(self->head.id, sizeof self->head.id, "%s-%s",
             self->request.embeds ? "embd"
             : self->request.chat ? "chatcmpl"
                                  : "cmpl",
             random);
    self->n_open = self->n;
    served->open += self->n;
    for (size_t i = 0; i < self->n; i++) route_add(&served->route, &self->text[i]);
    begin_answer(self);
    return self;
}

/* --- the end --- */

bool ask_over(const ask_t *self)
{
    return self->http == NULL;
}

static const char *end_of(const answer_choice_t *choice)
{
    return choice->end == WRITER_GOES_ON ? "cancelled" : writer_end_name(choice->end);
}

/* Count what came of it; texts that are not at their end are stopped. */
static void close_ask(ask_t *self, const char *end, unsigned status)
{
    const char *model = self->served->name;
    int64_t took_ms = clock_mono_ms() - self->since_ms;
    for (size_t i = self->n; i-- > 0;) { /* those that wait first, or they would begin */
        answer_choice_t *choice = &self->choice[i];
        self->usage.written += choice->n_tokens;
        stats_add(self->stats, STATS_TEXTS, model, end ? end : end_of(choice), 1);
        if (choice->end == WRITER_GOES_ON) self->served->open--;
        route_end(&self->text[i], true);
    }
    int64_t tokens = self->usage.prompt + self->usage.written;
    stats_add(self->stats, STATS_PROMPT, model, NULL, (double)self->usage.prompt);
    stats_add(self->stats, STATS_WRITTEN, model, NULL, (double)self->usage.written);
    if (*self->who) stats_add(self->stats, STATS_USED, self->who, NULL, (double)tokens);
    if (status == OK) stats_observe(self->stats, STATS_WHOLE, model, (double)took_ms / 1000);
    count(self->stats, self->path, status);
    log_event(LOG_INFO, "answered",
              "id=%s model=\"%s\" name=\"%s\" status=%u texts=%zu prompt_tokens=%lld "
              "written_tokens=%lld ms=%lld",
              self->head.id, model, self->who, status, self->n, (long long)self->usage.prompt,
              (long long)self->usage.written, (long long)took_ms);
    self->http = NULL;
}

void ask_cancel(ask_t *self)
{
    enum { CLIENT_GONE = 499 };
    if (self->http) close_ask(self, NULL, CLIENT_GONE);
}

void ask_refuse(ask_t *self, const refusal_t *refusal)
{
    http_request_t *http = self->http;
    bool failed = refusal->status == FAILED;
    if (!http) return;
    if (self->request.stream) {
        str_t out = {0};
        answer_refusal_event(refusal, &out);
        if (http_say(http, &out) == 0) http_end(http);
        str_fini(&out);
    } else {
        http_answer_t answer = {.status = refusal->status, .type = "application/json"};
        answer_refusal(refusal, &answer.body);
        http_answer(http, &answer);
    }
    close_ask(self, failed ? "failed" : NULL, refusal->status);
}

static void finish(ask_t *self)
{
    answer_usage_t usage = self->usage;
    str_t out = {0};
    for (size_t i = 0; i < self->n; i++) usage.written += self->choice[i].n_tokens;
    if (self->request.stream) {
        if (self->request.usage) answer_usage(&self->head, usage, &out);
        answer_done(&out);
        if (http_say(self->http, &out) == 0) http_end(self->http);
        str_fini(&out);
    } else {
        http_answer_t answer = {.status = OK, .type = "application/json"};
        if (self->request.embeds)
            embeddings_answer(self->head.model, self->vector, self->n,
                              (size_t)self->served->facts.width, self->request.base64, usage,
                              &answer.body);
        else
            answer_whole(&self->head, self->choice, self->n, usage, &answer.body);
        http_answer(self->http, &answer);
    }
    close_ask(self, NULL, OK);
}

void ask_free(ask_t *self)
{
    for (size_t i = 0; i < self->n; i++) answer_choice_fini(&self->choice[i]);
    for (size_t i = 0; i < self->n; i++) job_free(self->text[i].job);
    free(self->text);
    for (size_t i = 0; i < self->n; i++) free(self->vector[i]);
    free(self->vector);
    free(self->choice);
    request_fini(&self->request);
    free(self);
}

/* --- what the engine tells --- */

static void hear_vector(ask_t *self, answer_choice_t *choice, const engine_item_t *item)
{
    float *vector = mem_calloc(item->width + 1, sizeof *vector);
    if (item->hidden) memcpy(vector, item->hidden, item->width * sizeof *vector);
    embeddings_normalise(vector, item->width);
    self->vector[choice->index] = vector;
    choice->end = item->end;
}

static void hear_piece(ask_t *self, answer_choice_t *choice, const engine_item_t *item)
{
    const tokenizer_t *tokenizer = self->served->tokenizer;
    if (!self->request.stream) {
        answer_add(&self->head, choice, tokenizer, item->piece, item->n, item->token, item->end);
        return;
    }
    str_t out = {0};
    answer_piece(&self->head, choice, tokenizer, item->piece, item->n, item->token, item->end,
                 &out);
    if (out.n > 0 && http_say(self->http, &out) < 0) {
        log_event(LOG_WARN, "slow_client", "id=%s", self->head.id);
        ask_cancel(self);
    }
    str_fini(&out);
}

void ask_hear(ask_t *self, size_t index, const engine_item_t *item, const char *weights,
              int64_t now_ms)
{
    answer_choice_t *choice = &self->choice[index];
    if (!self->http || choice->end != WRITER_GOES_ON) return;
    if (item->error) {
        refusal_t refusal;
        log_event(LOG_ERROR, "failed", "id=%s error=\"%s\"", self->head.id, item->error);
        refuse(&refusal, FAILED, "server_error", NULL, NULL, "the model failed: %s", item->error);
        ask_refuse(self, &refusal);
        return;
    }
    if (!self->first)
        stats_observe(self->stats, STATS_FIRST, self->served->name,
                      (double)(now_ms - self->since_ms) / 1000);
    if (!self->first && *weights)
        snprintf(self->fingerprint, sizeof self->fingerprint, "pcp-%s", weights);
    self->first = true;
    if (item->end != WRITER_GOES_ON) {
        self->n_open--;
        self->served->open--;
        route_end(&self->text[index], false);
    }
    if (self->request.embeds)
        hear_vector(self, choice, item);
    else
        hear_piece(self, choice, item);
    if (self->http && self->n_open == 0) finish(self);
}
