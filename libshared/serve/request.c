/* One row a field: its name, and who reads its value. */
#include "serve/request.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "serve/messages.h"

enum { BAD_REQUEST = 400 };
static const char invalid[] = "invalid_request_error";
static const double MOST_TEMPERATURE = 2, MOST_PENALTY = 2, MOST_BIAS = 100, LEAST_TOP_P = 1e-9;

int refuse(refusal_t *refusal, unsigned status, const char *type, const char *param,
           const char *code, const char *format, ...)
{
    va_list args;
    *refusal = (refusal_t){.status = status, .type = type, .code = code};
    snprintf(refusal->param, sizeof refusal->param, "%s", param ? param : "");
    va_start(args, format);
    vsnprintf(refusal->text, sizeof refusal->text, format, args);
    va_end(args);
    return -1;
}

/* --- values --- */

typedef struct field field_t;
typedef struct {
    request_t *request;
    const field_t *field;
    refusal_t *refusal;
    bool chat_logprobs, has_top, has_options; /* fields that need others */
    int top;
    int64_t best_of;
} reading_t;

typedef int read_fn(reading_t *self, const json_t *value);
typedef enum { ALL, BOTH, TEXT_ONLY, CHAT_ONLY, EMBEDDINGS_ONLY } where_t;
struct field {
    const char *name;
    where_t where;
    read_fn *read;
};

#define REFUSE(self, ...) \
    refuse((self)->refusal, BAD_REQUEST, invalid, (self)->field->name, NULL, __VA_ARGS__)

static int read_number(reading_t *self, const json_t *value, double low, double high, double *out)
{
    double number = json_number_value(value);
    if (!json_is_number(value))
        return REFUSE(self, "%s must be a number from %g to %g", self->field->name, low, high);
    if (!(number >= low && number <= high))
        return REFUSE(self, "%s is %g, must be from %g to %g", self->field->name, number, low,
                      high);
    *out = number;
    return 0;
}

static int read_whole(reading_t *self, const json_t *value, int64_t low, int64_t high, int64_t *out)
{
    int64_t number = json_integer_value(value);
    if (!json_is_integer(value))
        return REFUSE(self, "%s must be a whole number", self->field->name);
    if (number < low || number > high)
        return REFUSE(self, "%s is %lld, must be from %lld to %lld", self->field->name,
                      (long long)number, (long long)low, (long long)high);
    *out = number;
    return 0;
}

static int read_bool(reading_t *self, const json_t *value, bool *out)
{
    if (!json_is_boolean(value)) return REFUSE(self, "%s must be true or false", self->field->name);
    *out = json_is_true(value);
    return 0;
}

/* --- fields of both --- */

static int read_model(reading_t *self, const json_t *value)
{
    if (!json_is_string(value)) return REFUSE(self, "model must be a string");
    self->request->model = mem_strdup(json_string_value(value));
    return 0;
}

static int read_tokens(reading_t *self, const json_t *value)
{
    return read_whole(self, value, 1, INT32_MAX, &self->request->tokens);
}

static int read_temperature(reading_t *self, const json_t *value)
{
    return read_number(self, value, 0, MOST_TEMPERATURE, &self->request->choose.temperature);
}

/* 0 would mean all tokens to choose_t; here it is the least share: the likeliest alone. */
static int read_top_p(reading_t *self, const json_t *value)
{
    double *top_p = &self->request->choose.top_p;
    if (read_number(self, value, 0, 1, top_p) < 0) return -1;
    if (*top_p < LEAST_TOP_P) *top_p = LEAST_TOP_P;
    return 0;
}

static int read_top_k(reading_t *self, const json_t *value)
{
    int64_t k = 0;
    if (read_whole(self, value, -1, INT32_MAX, &k) < 0) return -1;
    self->request->choose.top_k = k < 0 ? 0 : k;
    return 0;
}

static int read_min_p(reading_t *self, const json_t *value)
{
    return read_number(self, value, 0, 1, &self->request->choose.min_p);
}

static int read_repetition(reading_t *self, const json_t *value)
{
    return read_number(self, value, 1e-3, 1000, &self->request->choose.repetition);
}

static int read_presence(reading_t *self, const json_t *value)
{
    return read_number(self, value, -MOST_PENALTY, MOST_PENALTY, &self->request->choose.presence);
}

static int read_frequency(reading_t *self, const json_t *value)
{
    return read_number(self, value, -MOST_PENALTY, MOST_PENALTY, &self->request->choose.frequency);
}

static int read_n(reading_t *self, const json_t *value)
{
    int64_t n = 0;
    if (read_whole(self, value, 1, REQUEST_TEXTS, &n) < 0) return -1;
    self->request->n = (int)n;
    return 0;
}

static int read_best_of(reading_t *self, const json_t *value)
{
    return read_whole(self, value, 1, REQUEST_TEXTS, &self->best_of);
}

static int read_seed(reading_t *self, const json_t *value)
{
    int64_t seed = 0;
    if (read_whole(self, value, INT64_MIN, INT64_MAX, &seed) < 0) return -1;
    self->request->choose.seed = (uint64_t)seed;
    self->request->has_seed = true;
    return 0;
}

static int add_stop(reading_t *self, const json_t *value)
{
    request_t *r = self->request;
    if (!json_is_string(value)) return REFUSE(self, "stop must be a string or a list of strings");
    if (r->n_stop == REQUEST_STOPS)
        return REFUSE(self, "stop has more than %d strings", REQUEST_STOPS);
    if (json_string_length(value) == 0) return 0;
    r->stop = mem_realloc(r->stop, (r->n_stop + 1) * sizeof *r->stop);
    r->stop[r->n_stop++] = mem_strdup(json_string_value(value));
    return 0;
}

static int read_stop(reading_t *self, const json_t *value)
{
    if (!json_is_array(value)) return add_stop(self, value);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (add_stop(self, json_array_get(value, i)) < 0) return -1;
    return 0;
}

static int read_bias(reading_t *self, const json_t *value)
{
    request_t *r = self->request;
    const char *key;
    json_t *add;
    if (!json_is_object(value))
        return REFUSE(self, "logit_bias must be an object of tokens' numbers");
    choose_bias_t *list = mem_calloc(json_object_size(value) + 1, sizeof *list);
    r->choose.bias = list;
    json_object_foreach((json_t *)(uintptr_t)value, key, add)
    {
        char *end;
        unsigned long long token = strtoull(key, &end, 10);
        double number = json_number_value(add);
        if (*key < '0' || *key > '9' || *end || token > UINT32_MAX)
            return REFUSE(self, "logit_bias: \"%.40s\" is no token's number", key);
        if (!json_is_number(add) || !(fabs(number) <= MOST_BIAS))
            return REFUSE(self, "logit_bias of token %llu must be a number from -%g to %g", token,
                          MOST_BIAS, MOST_BIAS);
        list[r->choose.n_bias++] = (choose_bias_t){(uint32_t)token, (float)number};
    }
    return 0;
}

static int read_stream(reading_t *self, const json_t *value)
{
    return read_bool(self, value, &self->request->stream);
}

static int read_stream_options(reading_t *self, const json_t *value)
{
    const json_t *usage = json_object_get(value, "include_usage");
    if (!json_is_object(value)) return REFUSE(self, "stream_options must be an object");
    if (usage && !json_is_null(usage) && !json_is_boolean(usage))
        return REFUSE(self, "stream_options.include_usage must be true or false");
    self->has_options = true;
    self->request->usage = json_is_true(usage);
    return 0;
}

/* --- fields of completions --- */

static int read_logprobs(reading_t *self, const json_t *value)
{
    int64_t n = -1;
    if (read_whole(self, value, 0, REQUEST_LOGPROBS, &n) < 0) return -1;
    self->request->logprobs = (int)n;
    return 0;
}

static int read_echo(reading_t *self, const json_t *value)
{
    return read_bool(self, value, &self->request->echo);
}

static int add_text(reading_t *self, const json_t *value, request_prompt_t *prompt)
{
    (void)self;
    prompt->text = mem_strdup(json_string_value(value));
    prompt->n = json_string_length(value);
    return 0;
}

static int add_tokens(reading_t *self, const json_t *list, request_prompt_t *prompt)
{
    size_t n = json_array_size(list);
    prompt->tokens = mem_calloc(n + 1, sizeof *prompt->tokens);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t token = json_integer_value(item);
        if (!json_is_integer(item) || token < 0 || token > UINT32_MAX)
            return REFUSE(self, "%s[%zu] is no token: a whole number of 0 and above",
                          self->field->name, i);
        prompt->tokens[prompt->n++] = (uint32_t)token;
    }
    return n > 0 ? 0 : REFUSE(self, "%s has an empty list of tokens", self->field->name);
}

/* A string, a list of tokens, or a list of either. */
static int read_prompt(reading_t *self, const json_t *value)
{
    request_t *r = self->request;
    bool one = json_is_string(value) || json_is_integer(json_array_get(value, 0));
    size_t n = one ? 1 : json_array_size(value);
    if (!one && n == 0)
        return REFUSE(self, "%s must be a string, or a list of strings or tokens",
                      self->field->name);
    if (n > REQUEST_TEXTS)
        return REFUSE(self, "%s has %zu texts, at most %d are taken", self->field->name, n,
                      REQUEST_TEXTS);
    r->prompt = mem_calloc(n, sizeof *r->prompt);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = one ? value : json_array_get(value, i);
        request_prompt_t *prompt = &r->prompt[r->n_prompt++];
        if (!json_is_string(item) && !json_is_array(item))
            return REFUSE(self, "%s[%zu] must be a string or a list of tokens", self->field->name,
                          i);
        if ((json_is_string(item) ? add_text : add_tokens)(self, item, prompt) < 0) return -1;
    }
    return 0;
}

/* --- fields of chats --- */

static int read_messages(reading_t *self, const json_t *value)
{
    request_t *r = self->request;
    return messages_read(value, &r->message, &r->n_message, self->refusal);
}

static int read_chat_logprobs(reading_t *self, const json_t *value)
{
    return read_bool(self, value, &self->chat_logprobs);
}

static int read_top_logprobs(reading_t *self, const json_t *value)
{
    int64_t n = 0;
    if (read_whole(self, value, 0, REQUEST_LOGPROBS, &n) < 0) return -1;
    self->has_top = true;
    self->top = (int)n;
    return 0;
}

/* --- fields of embeddings --- */

static int read_encoding(reading_t *self, const json_t *value)
{
    const char *word = json_string_value(value);
    bool base64 = word && strcmp(word, "base64") == 0;
    if (!base64 && (!word || strcmp(word, "float") != 0))
        return REFUSE(self, "encoding_format must be \"float\" or \"base64\"");
    self->request->base64 = base64;
    return 0;
}

static int read_dimensions(reading_t *self, const json_t *value)
{
    return read_whole(self, value, 1, INT32_MAX, &self->request->dimensions);
}

/* --- fields that are not there, and would be missed --- */

static bool is_empty(const json_t *value)
{
    return (json_is_array(value) && json_array_size(value) == 0) || json_is_false(value) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static int read_missing(reading_t *self, const json_t *value)
{
    return is_empty(value) ? 0 : REFUSE(self, "%s is not supported here", self->field->name);
}

static int read_format(reading_t *self, const json_t *value)
{
    const char *type = json_string_value(json_object_get(value, "type"));
    if (type && strcmp(type, "text") == 0) return 0;
    return REFUSE(self, "response_format is not supported here, but for {\"type\": \"text\"}");
}

static const field_t fields[] = {
    {"model", ALL, read_model},
    {"prompt", TEXT_ONLY, read_prompt},
    {"messages", CHAT_ONLY, read_messages},
    {"max_tokens", BOTH, read_tokens},
    {"max_completion_tokens", CHAT_ONLY, read_tokens},
    {"temperature", BOTH, read_temperature},
    {"top_p", BOTH, read_top_p},
    {"top_k", BOTH, read_top_k},
    {"min_p", BOTH, read_min_p},
    {"repetition_penalty", BOTH, read_repetition},
    {"presence_penalty", BOTH, read_presence},
    {"frequency_penalty", BOTH, read_frequency},
    {"n", BOTH, read_n},
    {"best_of", TEXT_ONLY, read_best_of},
    {"seed", BOTH, read_seed},
    {"stop", BOTH, read_stop},
    {"logit_bias", BOTH, read_bias},
    {"stream", BOTH, read_stream},
    {"stream_options", BOTH, read_stream_options},
    {"logprobs", TEXT_ONLY, read_logprobs},
    {"logprobs", CHAT_ONLY, read_chat_logprobs},
    {"top_logprobs", CHAT_ONLY, read_top_logprobs},
    {"echo", TEXT_ONLY, read_echo},
    {"input", EMBEDDINGS_ONLY, read_prompt},
    {"encoding_format", EMBEDDINGS_ONLY, read_encoding},
    {"dimensions", EMBEDDINGS_ONLY, read_dimensions},
    {"suffix", TEXT_ONLY, read_missing},
    {"tools", CHAT_ONLY, read_missing},
    {"functions", CHAT_ONLY, read_missing},
    {"audio", CHAT_ONLY, read_missing},
    {"prediction", CHAT_ONLY, read_missing},
    {"response_format", CHAT_ONLY, read_format},
};

/* --- the whole --- */

/* What only several fields together say. */
static int check_together(reading_t *self)
{
    request_t *r = self->request;
    const char *missing = r->chat && r->n_message == 0    ? "messages"
                          : r->embeds && r->n_prompt == 0 ? "input"
                          : !r->chat && r->n_prompt == 0  ? "prompt"
                                                          : NULL;
    if (missing)
        return refuse(self->refusal, BAD_REQUEST, invalid, missing, NULL, "%s is missing", missing);
    if (self->has_top && !self->chat_logprobs)
        return refuse(self->refusal, BAD_REQUEST, invalid, "top_logprobs", NULL,
                      "top_logprobs needs \"logprobs\": true");
    if (self->has_options && !r->stream)
        return refuse(self->refusal, BAD_REQUEST, invalid, "stream_options", NULL,
                      "stream_options needs \"stream\": true");
    if (self->best_of > 0 && self->best_of != r->n)
        return refuse(self->refusal, BAD_REQUEST, invalid, "best_of", NULL,
                      "best_of other than n is not supported here");
    if (r->echo && r->logprobs >= 0)
        return refuse(self->refusal, BAD_REQUEST, invalid, "echo", NULL,
                      "echo with logprobs is not supported here");
    if (r->n_prompt * (size_t)r->n > REQUEST_TEXTS)
        return refuse(self->refusal, BAD_REQUEST, invalid, "n", NULL,
                      "%zu prompts of n = %d texts each: at most %d texts", r->n_prompt, r->n,
                      REQUEST_TEXTS);
    if (r->chat && self->chat_logprobs) r->logprobs = self->top;
    if (!r->chat && r->tokens == 0) r->tokens = REQUEST_TOKENS;
    return 0;
}

static bool applies(const field_t *field, const request_t *r)
{
    if (field->where == ALL) return true;
    if (r->embeds) return field->where == EMBEDDINGS_ONLY;
    return field->where == BOTH || field->where == (r->chat ? CHAT_ONLY : TEXT_ONLY);
}

static int read_fields(reading_t *self, const json_t *body)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const field_t *f = &fields[i];
        const json_t *value = json_object_get(body, f->name);
        bool here = applies(f, self->request);
        self->field = f;
        if (here && value && !json_is_null(value) && f->read(self, value) < 0) return -1;
    }
    return check_together(self);
}

int request_parse(request_kind_t kind, const char *body, size_t n, request_t *out,
                  refusal_t *refusal)
{
    json_error_t error;
    json_t *json = json_loadb(body, n, 0, &error);
    *out = (request_t){.n = 1, .logprobs = -1, .choose.temperature = 1};
    out->chat = kind == REQUEST_CHAT;
    out->embeds = kind == REQUEST_EMBEDDINGS;
    reading_t reading = {.request = out, .refusal = refusal};
    int status = 0;
    if (!json && json_error_code(&error) == json_error_null_character)
        status = refuse(refusal, BAD_REQUEST, invalid, NULL, NULL,
                        "texts with U+0000 are not taken here: line %d, column %d", error.line,
                        error.column);
    else if (!json)
        status = refuse(refusal, BAD_REQUEST, invalid, NULL, NULL,
                        "the body is not JSON: line %d, column %d: %s", error.line, error.column,
                        error.text);
    else if (!json_is_object(json))
        status = refuse(refusal, BAD_REQUEST, invalid, NULL, NULL, "the body is no JSON object");
    else
        status = read_fields(&reading, json);
    json_decref(json);
    if (status < 0) request_fini(out);
    return status;
}

void request_fini(request_t *self)
{
    for (size_t i = 0; i < self->n_prompt; i++) {
        free(self->prompt[i].text);
        free(self->prompt[i].tokens);
    }
    for (size_t i = 0; i < self->n_stop; i++) free(self->stop[i]);
    messages_free(self->message, self->n_message);
    free(self->prompt);
    free(self->stop);
    free((void *)(uintptr_t)self->choose.bias);
    free(self->model);
    *self = (request_t){0};
}
