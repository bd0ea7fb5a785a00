/* Answers of OpenAI's interface as JSON: whole ones, and pieces of those that stream (server-sent events).
 * One thread at a time. */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include <jansson.h>

#include "base/str.h"
#include "infer/writer.h"
#include "serve/request.h"

typedef struct {
    bool chat;
    char id[48];
    const char *model, *fingerprint; /* fingerprint: of the weights that write */
    int64_t created;                 /* seconds since 1970 */
    bool says_usage;                 /* pieces have a member usage */
} answer_head_t;

/* A choice, as far as it is written. {0} and an index is an empty one. */
typedef struct {
    int index;
    str_t text;       /* of whole answers */
    json_t *logprobs; /* of whole answers; NULL: nobody asked */
    int64_t n_tokens, n_chars;
    writer_end_t end;
} answer_choice_t;

/* What a text's writer told, to the choice. */
void answer_add(const answer_head_t *head, answer_choice_t *choice, const tokenizer_t *tokenizer,
                const char *piece, size_t n, const writer_token_t *token, writer_end_t end);
void answer_choice_fini(answer_choice_t *self);

typedef struct {
    int64_t prompt, written; /* tokens */
} answer_usage_t;

/* The whole answer, appended. */
void answer_whole(const answer_head_t *head, const answer_choice_t *choices, size_t n,
                  answer_usage_t usage, str_t *out);

/* An event: the same piece as for answer_add, which was not called for it; nothing where it says
 * nothing. The choice is counted on. */
void answer_piece(const answer_head_t *head, answer_choice_t *choice, const tokenizer_t *tokenizer,
                  const char *piece, size_t n, const writer_token_t *token, writer_end_t end,
                  str_t *out);
void answer_begins(const answer_head_t *head, const answer_choice_t *choice, str_t *out); /* chat */
void answer_usage(const answer_head_t *head, answer_usage_t usage, str_t *out);
void answer_done(str_t *out); /* data: [DONE] */

/* {"error": {...}}; the second as an event. */
void answer_refusal(const refusal_t *refusal, str_t *out);
void answer_refusal_event(const refusal_t *refusal, str_t *out);

typedef struct {
    const char *name;
    int64_t created; /* when its weights were loaded */
} answer_model_t;
/* {"object": "list", ...}, and one of them. */
void answer_models(const answer_model_t *models, size_t n, str_t *out);
void answer_model(const answer_model_t *model, str_t *out);

#endif
