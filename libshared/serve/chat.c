/* Known ones: one row a template. Where the published templates put system words into the first user's turn, so do
 * these. */
#include "serve/chat.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "serve/jinja.h"

typedef void render_fn(const request_message_t *messages, size_t n, str_t *out);

struct chat_template {
    const char *name;
    render_fn *render;
    const char *stop;
    const char *mark; /* by which a tokenizer is recognised; NULL: it is not */
    jinja_t *jinja;   /* of a file, as the rest; NULL: render */
    json_t *tokens;   /* bos_token, ... */
    char *path;
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
    {"chatml", render_chatml, "<|im_end|>", "<|im_start|>", NULL, NULL, NULL},
    {"llama3", render_llama3, "<|eot_id|>", "<|start_header_id|>", NULL, NULL, NULL},
    {"llama2", render_llama2, "</s>", NULL, NULL, NULL, NULL},
    {"mistral", render_mistral, "</s>", NULL, NULL, NULL, NULL},
    {"zephyr", render_zephyr, "</s>", NULL, NULL, NULL, NULL},
    {"plain", render_plain, "\nUser:", NULL, NULL, NULL, NULL},
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

/* --- of files --- */

/* A token's name, said as a text or as an object. */
static const char *token_of(const json_t *value)
{
    return json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
}

/* tokenizer_config.json: its names of tokens, and its template (borrowed from it) where there is one:
 * a text, or of several the one called default. */
static const char *look(const json_t *config, json_t *tokens)
{
    const json_t *template = json_object_get(config, "chat_template");
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)config, name, member)
    {
        size_t n = strlen(name);
        if (n > 6 && strcmp(name + n - 6, "_token") == 0 && token_of(member))
            json_object_set_new(tokens, name, json_string(token_of(member)));
    }
    for (size_t i = 0; i < json_array_size(template); i++) {
        const json_t *one = json_array_get(template, i);
        const char *called = json_string_value(json_object_get(one, "name"));
        if (called && strcmp(called, "default") == 0)
            return json_string_value(json_object_get(one, "template"));
    }
    return json_string_value(template);
}

static json_t *parse_config(const char *path, const char *text, size_t n, err_t *err)
{
    json_error_t why;
    json_t *config = json_loadb(text, n, 0, &why);
    if (!config) err_set(err, ERR_PARSE, "%s: line %d: %s", path, why.line, why.text);
    return config;
}

static json_t *read_config(const char *path, err_t *err)
{
    size_t n = 0;
    char *text = file_read(path, &n, err);
    json_t *config = text ? parse_config(path, text, n, err) : NULL;
    free(text);
    return config;
}

static chat_template_t *file_new(const char *path)
{
    chat_template_t *self = mem_calloc(1, sizeof *self);
    *self = (chat_template_t){.tokens = json_object(), .path = mem_strdup(path)};
    self->name = self->path;
    return self;
}

/* The template's text: n bytes of a file of its own, or NULL, then it is in the configuration. */
static int take_template(chat_template_t *self, const char *text, size_t n, const json_t *config,
                         err_t *err)
{
    const char *inside = look(config, self->tokens);
    self->stop = json_string_value(json_object_get(self->tokens, "eos_token"));
    if (!text && !inside) return err_set(err, ERR_ARG, "no chat_template is there");
    self->jinja = jinja_parse(text ? text : inside, text ? n : strlen(inside), err);
    return self->jinja ? 0 : err_prefix(err, "the chat template: ");
}

static int open_template(chat_template_t *self, const char *file, const json_t *config, err_t *err)
{
    size_t n = 0;
    char *text = file ? file_read(file, &n, err) : NULL;
    int status = file && !text ? -1 : take_template(self, text, n, config, err);
    free(text);
    return status;
}

chat_template_t *chat_open(const char *path, err_t *err)
{
    struct stat status;
    bool directory = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    size_t n = strlen(path), dot = n > 6 ? n - 6 : 0;
    bool jinja = !directory && strcmp(path + dot, ".jinja") == 0;
    const char *slash = strrchr(path, '/');
    int n_dir = directory ? (int)n : slash ? (int)(slash - path) : 1;
    const char *dir = directory || slash ? path : ".";
    char *file = jinja ? mem_strdup(path) : mem_printf("%.*s/chat_template.jinja", n_dir, dir);
    char *beside = directory || jinja ? mem_printf("%.*s/tokenizer_config.json", n_dir, dir)
                                      : mem_strdup(path);
    chat_template_t *self = file_new(path);
    bool has_file = jinja || (directory && access(file, F_OK) == 0);
    bool has_config = !has_file || access(beside, F_OK) == 0;
    json_t *config = has_config ? read_config(beside, err) : json_object();
    if (!config || open_template(self, has_file ? file : NULL, config, err) < 0)
        chat_destroy(&self);
    json_decref(config);
    free(file);
    free(beside);
    return self;
}

chat_template_t *chat_of_tokenizer(const tokenizer_t *tokenizer, err_t *err)
{
    const char *file = tokenizer_beside(tokenizer, TOKENIZER_CHAT),
               *text = tokenizer_beside(tokenizer, TOKENIZER_CONFIG);
    if (!file && !text) return NULL;
    json_t *config = text ? parse_config(TOKENIZER_CONFIG, text, strlen(text), err) : json_object();
    if (!config) return NULL;
    json_t *inside = json_object_get(config, "chat_template");
    chat_template_t *self = NULL;
    if (file || (inside && !json_is_null(inside))) {
        self = file_new(file ? TOKENIZER_CHAT : TOKENIZER_CONFIG);
        if (take_template(self, file, file ? strlen(file) : 0, config, err) < 0)
            chat_destroy(&self);
    }
    json_decref(config);
    return self;
}

void chat_destroy(chat_template_t **self_p)
{
    chat_template_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    jinja_destroy(&self->jinja);
    json_decref(self->tokens);
    free(self->path);
    free(self);
}

static int render_jinja(const chat_template_t *self, const request_message_t *messages, size_t n,
                        int64_t now_s, str_t *out, err_t *err)
{
    json_t *variables = json_copy(self->tokens), *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "role", messages[i].role, "content",
                                              messages[i].content));
    json_object_set_new(variables, "messages", list);
    json_object_set_new(variables, "add_generation_prompt", json_true());
    json_object_set_new(variables, "tools", json_null());
    json_object_set_new(variables, "documents", json_null());
    int status = jinja_render(self->jinja, variables, now_s, out, err);
    json_decref(variables);
    return status < 0 ? err_prefix(err, "the chat template: ") : 0;
}

int chat_render(const chat_template_t *self, const request_message_t *messages, size_t n,
                int64_t now_s, str_t *out, err_t *err)
{
    if (self->jinja) return render_jinja(self, messages, n, now_s, out, err);
    self->render(messages, n, out);
    return 0;
}

bool chat_is_whole(const chat_template_t *self)
{
    return self->jinja != NULL;
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
    static const char *const marks[] = {"<|endoftext|>",    "</s>",  "<|im_end|>",    "<|eot_id|>",
                                        "<|end_of_text|>",  "<eos>", "<end_of_turn>", "<|end|>",
                                        "<|assistant_end|>"};
    VEC(uint32_t) list = {0};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        int64_t token = tokenizer_special(tokenizer, marks[i]);
        if (token >= 0) VEC_PUSH(&list, (uint32_t)token);
    }
    *n = list.n;
    return list.at;
}
