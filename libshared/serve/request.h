/* What clients of OpenAI's interface ask for: bodies of /v1/completions, /v1/chat/completions and
 * /v1/embeddings.
 *
 * A body is text that nobody vouches for. Fields that are not known are left aside, as that interface
 * does; those whose absence would change the answer (tools, response_format, ...) are refused by
 * name. Pure functions. */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "infer/choose.h"

enum {
    REQUEST_TEXTS = 128, /* that one request may ask for: prompts times n */
    REQUEST_STOPS = 16,
    REQUEST_LOGPROBS = 20,
    REQUEST_TOKENS = 16, /* of a completion that does not say max_tokens */
};

/* Why there is no answer, as clients of that interface expect to be told. */
typedef struct {
    unsigned status;  /* of HTTP */
    const char *type; /* "invalid_request_error", ...; static */
    const char *code; /* static; NULL: null */
    char param[64];   /* the field; "": null */
    char text[512];
} refusal_t;

/* Returns -1. param NULL: none. */
int refuse(refusal_t *refusal, unsigned status, const char *type, const char *param,
           const char *code, const char *format, ...) __attribute__((format(printf, 6, 7)));

typedef struct {
    char *text;       /* NULL: tokens */
    uint32_t *tokens; /* n of them */
    size_t n;         /* bytes or tokens */
} request_prompt_t;

typedef struct {
    char *role, *content; /* role: system, user or assistant */
} request_message_t;

typedef enum { REQUEST_TEXT, REQUEST_CHAT, REQUEST_EMBEDDINGS } request_kind_t;

typedef struct {
    bool chat, embeds;        /* none: texts behind prompts */
    char *model;              /* NULL: not said */
    request_prompt_t *prompt; /* of embeddings: the inputs */
    size_t n_prompt;          /* of a chat 0 */
    request_message_t *message;
    size_t n_message;
    int64_t tokens;          /* to write at most; 0: as many as there is room for */
    choose_options_t choose; /* its bias is the request's */
    bool has_seed;
    char **stop;
    size_t n_stop;
    int n;        /* texts for each prompt */
    int logprobs; /* as writer_options_t's */
    bool stream, usage, echo;
    bool base64;        /* embeddings as text */
    int64_t dimensions; /* of an embedding; 0: not said */
} request_t;

/* Read a body of n bytes. -1: *refusal says why, names the field, and the request is zeroed.
 * request_fini frees it. */
int request_parse(request_kind_t kind, const char *body, size_t n, request_t *out,
                  refusal_t *refusal);
void request_fini(request_t *self);

#endif
