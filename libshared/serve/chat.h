/* Chat templates: messages to the text that a model was tuned on, up to where its answer begins.
 * A few well-known ones, by name; templates of model files (Jinja) are not read. Pure functions. */
#ifndef SERVE_CHAT_H
#define SERVE_CHAT_H

#include "base/str.h"
#include "serve/request.h"
#include "text/tokenizer.h"

typedef struct chat_template chat_template_t;

/* By name; NULL: there is none. chat_names: all of them, with "|" between. */
const chat_template_t *chat_find(const char *name);
const char *chat_names(void);
const char *chat_name(const chat_template_t *self);

/* The one whose marks are tokens of their own in this tokenizer; NULL: none is. */
const chat_template_t *chat_recognise(const tokenizer_t *tokenizer);

/* Append the text of messages, without what the tokenizer puts before every text. */
void chat_render(const chat_template_t *self, const request_message_t *messages, size_t n,
                 str_t *out);

/* What a model says when its turn is over. */
const char *chat_stop(const chat_template_t *self);

/* Tokens that end a text, of a template or of none: well-known marks that are special tokens of the
 * tokenizer. Returns, caller frees; *n may be 0. */
uint32_t *chat_end_tokens(const tokenizer_t *tokenizer, size_t *n);

#endif
