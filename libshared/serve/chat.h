/* Chat templates: messages to the text that a model was tuned on, up to where its answer begins.
 * A few well-known ones, by name, and those of model files (Jinja, serve/jinja.h). Pure functions. */
#ifndef SERVE_CHAT_H
#define SERVE_CHAT_H

#include "base/err.h"
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

/* From a model's files: a directory with tokenizer_config.json, chat_template.jinja or both, or one of
 * those; the names of special tokens are tokenizer_config.json's. Returns, caller destroys. ERR_IO, and
 * ERR_PARSE or ERR_UNSUPPORTED with the template's line. */
chat_template_t *chat_open(const char *path, err_t *err);
/* The one that came with the model: of the files that its tokenizer has taken along (tokenizer_beside). Returns,
 * caller destroys; NULL with ERR_OK: it has none. ERR_PARSE, ERR_UNSUPPORTED as above. */
chat_template_t *chat_of_tokenizer(const tokenizer_t *tokenizer, err_t *err);
void chat_destroy(chat_template_t **self_p); /* of chat_open and chat_of_tokenizer only */

/* Append the text of messages. now_s: seconds since 1970, for templates that name the day. -1: a file's
 * template refuses these messages (ERR_ARG), or cannot be rendered. */
int chat_render(const chat_template_t *self, const request_message_t *messages, size_t n,
                int64_t now_s, str_t *out, err_t *err);

/* Does its text have all that stands before a model's texts? Else the tokenizer puts it there. */
bool chat_is_whole(const chat_template_t *self);

/* Of a known template the same text, and the answers in it, in pieces from its beginning to its end: answers are what the assistant
 * says, up to and with what ends its turn. Behind the last message there is nothing. ERR_PARSE: a template
 * that cannot be cut there (an empty answer whose blanks it trims). */
typedef int chat_piece_fn(void *user, const char *text, size_t n, bool answer, err_t *err);
int chat_pieces(const chat_template_t *self, const request_message_t *messages, size_t n,
                chat_piece_fn *piece, void *user, err_t *err);

/* Messages of a conversation that is not to be answered any more: JSON [{"role", "content"}, ...], at least one
 * of them an assistant's. ERR_PARSE says which message and what is wrong. Free them in any case. */
typedef struct {
    request_message_t *at;
    size_t n;
} chat_messages_t;
int chat_messages_read(const char *json, size_t n, chat_messages_t *out, err_t *err);
void chat_messages_fini(chat_messages_t *self);

/* What a model says when its turn is over; NULL: a token that ends texts. */
const char *chat_stop(const chat_template_t *self);

/* Tokens that end a text, of a template or of none: well-known marks that are special tokens of the
 * tokenizer. Returns, caller frees; *n may be 0. */
uint32_t *chat_end_tokens(const tokenizer_t *tokenizer, size_t *n);

#endif
