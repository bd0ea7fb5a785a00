/* Conversations to train on: which part of a template's text is an answer. Templates render whole conversations; that of
 * the first messages, less the beginning of an answer that each rendering ends with, is how the next one begins. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/chat.h"

/* Rendered without what invites an answer. */
static void render(const chat_template_t *self, const request_message_t *messages, size_t n,
                   size_t n_invite, str_t *out)
{
    out->n = 0;
    (void)chat_render(self, messages, n, 0, out, NULL); /* known ones do not fail */
    out->n -= n_invite;
}

/* Where the turn ends in text[n): behind the last mark of its end, or with the text. */
static size_t turn_end(const chat_template_t *self, const char *text, size_t n)
{
    const char *stop = chat_stop(self);
    size_t n_stop = strlen(stop);
    for (size_t i = n; i >= n_stop; i--)
        if (memcmp(text + i - n_stop, stop, n_stop) == 0) return i;
    return n;
}

typedef struct {
    const chat_template_t *chat;
    const request_message_t *messages;
    size_t n_invite, done; /* bytes of the whole that were told */
    str_t before, whole;
} cut_t;

/* Message i is the assistant's. */
static int cut_answer(cut_t *cut, size_t i, chat_piece_fn *piece, void *user, err_t *err)
{
    render(cut->chat, cut->messages, i, 0, &cut->before);
    render(cut->chat, cut->messages, i + 1, cut->n_invite, &cut->whole);
    size_t begin = cut->before.n, n = cut->whole.n;
    if (begin < cut->done || n < begin || memcmp(cut->before.at, cut->whole.at, begin) != 0)
        return err_set(err, ERR_PARSE, "message %zu: the template %s does not show where it begins",
                       i + 1, chat_name(cut->chat));
    const char *text = cut->whole.at;
    size_t end = begin + turn_end(cut->chat, text + begin, n - begin);
    if (begin > cut->done && piece(user, text + cut->done, begin - cut->done, false, err) < 0)
        return -1;
    cut->done = end;
    return end > begin ? piece(user, text + begin, end - begin, true, err) : 0;
}

int chat_pieces(const chat_template_t *self, const request_message_t *messages, size_t n,
                chat_piece_fn *piece, void *user, err_t *err)
{
    int rc = 0;
    cut_t cut = {.chat = self, .messages = messages};
    (void)chat_render(self, NULL, 0, 0, &cut.before, NULL);
    cut.n_invite = cut.before.n;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (strcmp(messages[i].role, "assistant") == 0) rc = cut_answer(&cut, i, piece, user, err);
    if (rc == 0) render(self, messages, n, cut.n_invite, &cut.whole);
    if (rc == 0 && cut.whole.n > cut.done)
        rc = piece(user, cut.whole.at + cut.done, cut.whole.n - cut.done, false, err);
    str_fini(&cut.before);
    str_fini(&cut.whole);
    return rc;
}

/* --- messages --- */

static int read_message(const json_t *json, size_t number, request_message_t *out, err_t *err)
{
    static const char *const roles[] = {"system", "user", "assistant"};
    const char *role = json_string_value(json_object_get(json, "role"));
    const char *content = json_string_value(json_object_get(json, "content"));
    if (!role || !content)
        return err_set(err, ERR_PARSE, "message %zu: it needs texts \"role\" and \"content\"",
                       number);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(role, roles[i]) == 0) {
            *out = (request_message_t){mem_strdup(role), mem_strdup(content)};
            return 0;
        }
    return err_set(err, ERR_PARSE,
                   "message %zu: its role is \"%.40s\", not system, user or assistant", number,
                   role);
}

int chat_messages_read(const char *json, size_t n, chat_messages_t *out, err_t *err)
{
    json_error_t fault;
    bool answered = false;
    *out = (chat_messages_t){0};
    json_t *list = json_loadb(json, n, 0, &fault);
    int rc = json_array_size(list) ? 0 : err_set(err, ERR_PARSE, "no list of messages");
    if (rc == 0) out->at = mem_calloc(json_array_size(list), sizeof *out->at);
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        rc = read_message(json_array_get(list, i), i + 1, &out->at[i], err);
        if (rc < 0) break;
        out->n++;
        answered |= strcmp(out->at[i].role, "assistant") == 0;
    }
    if (rc == 0 && !answered) rc = err_set(err, ERR_PARSE, "no message is the assistant's");
    json_decref(list);
    return rc;
}

void chat_messages_fini(chat_messages_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        free(self->at[i].role);
        free(self->at[i].content);
    }
    free(self->at);
    *self = (chat_messages_t){0};
}
