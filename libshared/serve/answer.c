/* Choices, their log-probabilities, and what stands around them. */
#include "serve/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "text/utf8_stream.h"

static void dump(json_t *json, str_t *out)
{
    char *text = json_dumps(json, JSON_COMPACT);
    str_add(out, text ? text : "null");
    free(text);
    json_decref(json);
}

static void dump_event(json_t *json, str_t *out)
{
    str_add(out, "data: ");
    dump(json, out);
    str_add(out, "\n\n");
}

/* Bytes that are no whole character become U+FFFD. */
static json_t *text_json(const char *text, size_t n)
{
    str_t whole = {0};
    utf8_stream_t stream = {0};
    utf8_stream_add(&stream, text, n, &whole);
    utf8_stream_end(&stream, &whole);
    json_t *json = json_stringn(str_text(&whole), whole.n);
    str_fini(&whole);
    return json ? json : json_string("");
}

/* "length" is what clients know; a full context is one. */
static json_t *reason_json(writer_end_t end)
{
    if (end == WRITER_GOES_ON) return json_null();
    return json_string(end == WRITER_STOP ? "stop" : "length");
}

static int64_t count_chars(const char *text, size_t n)
{
    int64_t count = 0;
    for (size_t i = 0; i < n; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* --- log-probabilities --- */

static json_t *chat_token(const tokenizer_t *tokenizer, uint32_t token, double logprob)
{
    str_t text = {0};
    tokenizer_decode(tokenizer, token, &text);
    json_t *out = json_object(), *bytes = json_array();
    for (size_t i = 0; i < text.n; i++)
        json_array_append_new(bytes, json_integer((unsigned char)text.at[i]));
    json_object_set_new(out, "token", text_json(str_text(&text), text.n));
    json_object_set_new(out, "logprob", json_real(logprob));
    json_object_set_new(out, "bytes", bytes);
    str_fini(&text);
    return out;
}

static void add_chat_logprobs(json_t *to, const tokenizer_t *tokenizer, const writer_token_t *t)
{
    json_t *one = chat_token(tokenizer, t->token, t->logprob), *top = json_array();
    for (int i = 0; i < t->n_top; i++)
        json_array_append_new(top, chat_token(tokenizer, t->top[i], t->top_logprob[i]));
    json_object_set_new(one, "top_logprobs", top);
    json_array_append_new(json_object_get(to, "content"), one);
}

static json_t *token_name(const tokenizer_t *tokenizer, uint32_t token)
{
    str_t text = {0};
    tokenizer_decode(tokenizer, token, &text);
    json_t *json = text_json(str_text(&text), text.n);
    str_fini(&text);
    return json;
}

static void add_text_logprobs(json_t *to, const tokenizer_t *tokenizer, const writer_token_t *t,
                              int64_t offset)
{
    json_t *top = t->n_top > 0 ? json_object() : json_null();
    for (int i = 0; i < t->n_top; i++) {
        json_t *name = token_name(tokenizer, t->top[i]);
        const char *key = json_string_value(name);
        size_t n = json_string_length(name);
        /* parts of characters are all U+FFFD: that is the likeliest of them */
        if (!json_object_getn(top, key, n))
            json_object_setn_new(top, key, n, json_real(t->top_logprob[i]));
        json_decref(name);
    }
    json_array_append_new(json_object_get(to, "tokens"), token_name(tokenizer, t->token));
    json_array_append_new(json_object_get(to, "token_logprobs"), json_real(t->logprob));
    json_array_append_new(json_object_get(to, "top_logprobs"), top);
    json_array_append_new(json_object_get(to, "text_offset"), json_integer(offset));
}

static json_t *new_logprobs(bool chat)
{
    static const char *const lists[] = {"tokens", "token_logprobs", "top_logprobs", "text_offset"};
    json_t *out = json_object();
    if (chat) json_object_set_new(out, "content", json_array());
    for (size_t i = 0; !chat && i < sizeof lists / sizeof *lists; i++)
        json_object_set_new(out, lists[i], json_array());
    return out;
}

static void add_logprobs(const answer_head_t *head, const answer_choice_t *choice, json_t *to,
                         const tokenizer_t *tokenizer, const writer_token_t *token)
{
    if (head->chat)
        add_chat_logprobs(to, tokenizer, token);
    else
        add_text_logprobs(to, tokenizer, token, choice->n_chars);
}

/* --- whole answers --- */

void answer_add(const answer_head_t *head, answer_choice_t *choice, const tokenizer_t *tokenizer,
                const char *piece, size_t n, const writer_token_t *token, writer_end_t end)
{
    if (token && !choice->logprobs) choice->logprobs = new_logprobs(head->chat);
    if (token) add_logprobs(head, choice, choice->logprobs, tokenizer, token);
    str_addn(&choice->text, piece, n);
    choice->n_chars += count_chars(piece, n);
    choice->n_tokens += end == WRITER_GOES_ON;
    choice->end = end;
}

void answer_choice_fini(answer_choice_t *self)
{
    str_fini(&self->text);
    json_decref(self->logprobs);
    self->logprobs = NULL;
}

static json_t *head_json(const answer_head_t *head, const char *object)
{
    json_t *out = json_object();
    json_object_set_new(out, "id", json_string(head->id));
    json_object_set_new(out, "object", json_string(object));
    json_object_set_new(out, "created", json_integer(head->created));
    json_object_set_new(out, "model", json_string(head->model));
    json_object_set_new(out, "system_fingerprint", json_string(head->fingerprint));
    return out;
}

static json_t *usage_json(answer_usage_t usage)
{
    json_t *out = json_object();
    json_object_set_new(out, "prompt_tokens", json_integer(usage.prompt));
    json_object_set_new(out, "completion_tokens", json_integer(usage.written));
    json_object_set_new(out, "total_tokens", json_integer(usage.prompt + usage.written));
    return out;
}

static json_t *choice_json(const answer_head_t *head, const answer_choice_t *choice)
{
    json_t *out = json_object(), *text = text_json(str_text(&choice->text), choice->text.n);
    json_object_set_new(out, "index", json_integer(choice->index));
    if (head->chat) {
        json_t *message = json_object();
        json_object_set_new(message, "role", json_string("assistant"));
        json_object_set_new(message, "content", text);
        json_object_set_new(message, "refusal", json_null());
        json_object_set_new(out, "message", message);
    } else {
        json_object_set_new(out, "text", text);
    }
    json_object_set_new(out, "logprobs",
                        choice->logprobs ? json_incref(choice->logprobs) : json_null());
    json_object_set_new(out, "finish_reason", reason_json(choice->end));
    return out;
}

void answer_whole(const answer_head_t *head, const answer_choice_t *choices, size_t n,
                  answer_usage_t usage, str_t *out)
{
    json_t *json = head_json(head, head->chat ? "chat.completion" : "text_completion");
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, choice_json(head, &choices[i]));
    json_object_set_new(json, "choices", list);
    json_object_set_new(json, "usage", usage_json(usage));
    dump(json, out);
    str_add(out, "\n");
}

/* --- pieces --- */

static json_t *event_json(const answer_head_t *head, json_t *choices)
{
    json_t *json = head_json(head, head->chat ? "chat.completion.chunk" : "text_completion");
    json_object_set_new(json, "choices", choices);
    if (head->says_usage) json_object_set_new(json, "usage", json_null());
    return json;
}

/* Takes what is said, and logprobs (may be NULL). */
static void add_event(const answer_head_t *head, int index, json_t *said, json_t *logprobs,
                      writer_end_t end, str_t *out)
{
    json_t *one = json_object(), *choices = json_array();
    json_object_set_new(one, "index", json_integer(index));
    json_object_set_new(one, head->chat ? "delta" : "text", said);
    json_object_set_new(one, "logprobs", logprobs ? logprobs : json_null());
    json_object_set_new(one, "finish_reason", reason_json(end));
    json_array_append_new(choices, one);
    dump_event(event_json(head, choices), out);
}

void answer_begins(const answer_head_t *head, const answer_choice_t *choice, str_t *out)
{
    json_t *delta = json_object();
    json_object_set_new(delta, "role", json_string("assistant"));
    json_object_set_new(delta, "content", json_string(""));
    add_event(head, choice->index, delta, NULL, WRITER_GOES_ON, out);
}

void answer_piece(const answer_head_t *head, answer_choice_t *choice, const tokenizer_t *tokenizer,
                  const char *piece, size_t n, const writer_token_t *token, writer_end_t end,
                  str_t *out)
{
    json_t *logprobs = token ? new_logprobs(head->chat) : NULL, *said;
    if (token) add_logprobs(head, choice, logprobs, tokenizer, token);
    choice->n_chars += count_chars(piece, n);
    choice->n_tokens += end == WRITER_GOES_ON;
    choice->end = end;
    if (n == 0 && !token && end == WRITER_GOES_ON) return;
    said = head->chat ? json_object() : text_json(piece, n);
    if (head->chat && (n > 0 || end == WRITER_GOES_ON))
        json_object_set_new(said, "content", text_json(piece, n));
    add_event(head, choice->index, said, logprobs, end, out);
}

void answer_usage(const answer_head_t *head, answer_usage_t usage, str_t *out)
{
    json_t *json = event_json(head, json_array());
    json_object_set_new(json, "usage", usage_json(usage));
    dump_event(json, out);
}

void answer_done(str_t *out)
{
    str_add(out, "data: [DONE]\n\n");
}

/* --- errors and models --- */

static json_t *refusal_json(const refusal_t *r)
{
    json_t *out = json_object(), *error = json_object();
    str_t text = {0};
    utf8_add(&text, r->text, strlen(r->text));
    json_object_set_new(error, "message", json_string(str_text(&text)));
    json_object_set_new(error, "type", json_string(r->type));
    json_object_set_new(error, "param", *r->param ? json_string(r->param) : json_null());
    json_object_set_new(error, "code", r->code ? json_string(r->code) : json_null());
    json_object_set_new(out, "error", error);
    str_fini(&text);
    return out;
}

void answer_refusal(const refusal_t *refusal, str_t *out)
{
    dump(refusal_json(refusal), out);
    str_add(out, "\n");
}

void answer_refusal_event(const refusal_t *refusal, str_t *out)
{
    dump_event(refusal_json(refusal), out);
}

static json_t *model_json(const answer_model_t *model)
{
    json_t *out = json_object();
    json_object_set_new(out, "id", json_string(model->name));
    json_object_set_new(out, "object", json_string("model"));
    json_object_set_new(out, "created", json_integer(model->created));
    json_object_set_new(out, "owned_by", json_string("pcp"));
    return out;
}

void answer_models(const answer_model_t *models, size_t n, str_t *out)
{
    json_t *json = json_object(), *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, model_json(&models[i]));
    json_object_set_new(json, "object", json_string("list"));
    json_object_set_new(json, "data", list);
    dump(json, out);
    str_add(out, "\n");
}

void answer_model(const answer_model_t *model, str_t *out)
{
    dump(model_json(model), out);
    str_add(out, "\n");
}
