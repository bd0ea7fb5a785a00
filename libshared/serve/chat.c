/* One row a template. Where the published templates put system words into the first user's turn, so do
 * these. */
#include "serve/chat.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

typedef void render_fn(const request_message_t *messages, size_t n, str_t *out);

struct chat_template {
    const char *name;
    render_fn *render;
    const char *stop;
    const char *mark; /* by which a tokenizer is recognised; NULL: it is not */
};

static bool is(const request_message_t *message, const char *role)
{
    return strcmp(message->role, role) == 0;
}

static void add_trimmed(str_t *out, const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1])) n--;
    while (n > 0 && isspace((unsigned char)*text)) text++, n--;
    str_addn(out, text, n);
}

static void render_chatml(const request_message_t *messages, size_t n, str_t *out)
{
    for (size_t i = 0; i < n; i++)
        str_addf(out, "<|im_start|>%s\n%s<|im_end|>\n", messages[i].role, messages[i].content);
    str_add(out, "<|im_start|>assistant\n");
}

static void render_llama3(const request_message_t *messages, size_t n, str_t *out)
{
    for (size_t i = 0; i < n; i++) {
        str_addf(out, "<|start_header_id|>%s<|end_header_id|>\n\n", messages[i].role);
        add_trimmed(out, messages[i].content);
        str_add(out, "<|eot_id|>");
    }
    str_add(out, "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

/* The system's words, within the first user's turn. */
static void render_llama2(const request_message_t *messages, size_t n, str_t *out)
{
    const char *system = n > 0 && is(messages, "system") ? messages[0].content : NULL;
    bool first = true;
    for (size_t i = system ? 1 : 0; i < n; i++) {
        if (is(&messages[i], "assistant")) {
            str_add(out, " ");
            add_trimmed(out, messages[i].content);
            str_add(out, " </s>");
            continue;
        }
        str_add(out, first ? "[INST] " : "<s>[INST] ");
        if (first && system) str_addf(out, "<<SYS>>\n%s\n<</SYS>>\n\n", system);
        add_trimmed(out, messages[i].content);
        str_add(out, " [/INST]");
        first = false;
    }
}

static void render_mistral(const request_message_t *messages, size_t n, str_t *out)
{
    const char *system = n > 0 && is(messages, "system") ? messages[0].content : NULL;
    for (size_t i = system ? 1 : 0; i < n; i++) {
        if (is(&messages[i], "assistant")) {
            str_addf(out, " %s</s>", messages[i].content);
            continue;
        }
        str_add(out, "[INST] ");
        if (system) str_addf(out, "%s\n\n", system);
        str_addf(out, "%s [/INST]", messages[i].content);
        system = NULL;
    }
}

static void render_zephyr(const request_message_t *messages, size_t n, str_t *out)
{
    for (size_t i = 0; i < n; i++)
        str_addf(out, "<|%s|>\n%s</s>\n", messages[i].role, messages[i].content);
    str_add(out, "<|assistant|>\n");
}

/* For models that were never tuned to chat: a play with three speakers. */
static void render_plain(const request_message_t *messages, size_t n, str_t *out)
{
    for (size_t i = 0; i < n; i++)
        str_addf(out, "%c%s: %s\n", toupper((unsigned char)*messages[i].role), messages[i].role + 1,
                 messages[i].content);
    str_add(out, "Assistant:");
}

static const chat_template_t templates[] = {
    {"chatml", render_chatml, "<|im_end|>", "<|im_start|>"},
    {"llama3", render_llama3, "<|eot_id|>", "<|start_header_id|>"},
    {"llama2", render_llama2, "</s>", NULL},
    {"mistral", render_mistral, "</s>", NULL},
    {"zephyr", render_zephyr, "</s>", NULL},
    {"plain", render_plain, "\nUser:", NULL},
};
enum { TEMPLATES = sizeof templates / sizeof *templates };

const chat_template_t *chat_find(const char *name)
{
    for (size_t i = 0; i < TEMPLATES; i++)
        if (strcmp(name, templates[i].name) == 0) return &templates[i];
    return NULL;
}

const char *chat_names(void)
{
    return "chatml|llama3|llama2|mistral|zephyr|plain";
}

const char *chat_name(const chat_template_t *self)
{
    return self->name;
}

void chat_render(const chat_template_t *self, const request_message_t *messages, size_t n,
                 str_t *out)
{
    self->render(messages, n, out);
}

const char *chat_stop(const chat_template_t *self)
{
    return self->stop;
}

const chat_template_t *chat_recognise(const tokenizer_t *tokenizer)
{
    for (size_t i = 0; i < TEMPLATES; i++)
        if (templates[i].mark && tokenizer_special(tokenizer, templates[i].mark) >= 0)
            return &templates[i];
    return NULL;
}

uint32_t *chat_end_tokens(const tokenizer_t *tokenizer, size_t *n)
{
    static const char *const marks[] = {"<|endoftext|>",   "</s>", "<|im_end|>", "<|eot_id|>",
                                        "<|end_of_text|>", "<eos>"};
    VEC(uint32_t) list = {0};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        int64_t token = tokenizer_special(tokenizer, marks[i]);
        if (token >= 0) VEC_PUSH(&list, (uint32_t)token);
    }
    *n = list.n;
    return list.at;
}
