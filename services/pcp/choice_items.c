/* From lines to tokens: jansson reads a line, the tokenizer its texts. */
#include "pcp/choice_items.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"

static const char *const context_names[] = {"context", "ctx", "question", NULL};
static const char *const choices_names[] = {"choices", "endings", NULL};
static const char *const answer_names[] = {"answer", "label", "answerKey", NULL};

/* The field of the names that is there. */
static json_t *field(json_t *object, const char *const *names, err_t *err)
{
    const char *is = NULL;
    for (const char *const *name = names; *name; name++) {
        if (!json_object_get(object, *name)) continue;
        if (is) {
            err_set(err, ERR_PARSE, "both \"%s\" and \"%s\": one is expected", is, *name);
            return NULL;
        }
        is = *name;
    }
    if (!is) err_set(err, ERR_PARSE, "no field \"%s\" or \"%s\"", names[0], names[1]);
    return is ? json_object_get(object, is) : NULL;
}

/* --- the right one --- */

static int64_t find_label(json_t *labels, const char *word)
{
    size_t i;
    json_t *label;
    json_array_foreach(labels, i, label)
    {
        const char *text = json_string_value(label);
        if (text && strcmp(text, word) == 0) return (int64_t)i;
    }
    return -1;
}

static int64_t answer_of_word(json_t *labels, const char *word)
{
    char *end = NULL;
    if (labels) return find_label(labels, word);
    if (word[0] >= 'A' && word[0] <= 'Z' && !word[1]) return word[0] - 'A';
    long long number = isdigit((unsigned char)word[0]) ? strtoll(word, &end, 10) : -1;
    return end && *end ? -1 : number;
}

static int read_answer(json_t *answer, json_t *labels, choice_item_t *item, err_t *err)
{
    if (!answer) return -1;
    if (!json_is_integer(answer) && !json_is_string(answer))
        return err_set(err, ERR_PARSE, "the answer is no index, letter or label");
    const char *word = json_string_value(answer);
    int64_t i = word ? answer_of_word(labels, word) : json_integer_value(answer);
    if (i >= 0 && (uint64_t)i < item->n) {
        item->answer = (size_t)i;
        return 0;
    }
    if (word)
        return err_set(err, ERR_ARG, "answer \"%.40s\": it is none of the %zu choices", word,
                       item->n);
    return err_set(err, ERR_ARG, "answer %lld: there are choices 0 to %zu", (long long)i,
                   item->n - 1);
}

/* --- tokens --- */

static size_t decoded_bytes(const tokenizer_t *tokenizer, uint32_t token)
{
    str_t text = {0};
    tokenizer_decode(tokenizer, token, &text);
    size_t n = text.n;
    str_fini(&text);
    return n;
}

/* Bytes that a text is decoded to, which a normaliser may have changed; -1: err. */
static int64_t known_bytes(const tokenizer_t *tokenizer, const char *text, size_t n, err_t *err)
{
    size_t n_token;
    int64_t sum = 0;
    uint32_t *token = tokenizer_encode(tokenizer, text, n, &n_token, err);
    if (!token) return -1;
    for (size_t i = 0; i < n_token; i++) sum += (int64_t)decoded_bytes(tokenizer, token[i]);
    free(token);
    return sum;
}

static int set_tokens(choice_t *to, const tokenizer_t *tokenizer, const str_t *text,
                      int64_t boundary, err_t *err)
{
    size_t n_before, n, i = 0;
    const uint32_t *before = tokenizer_before(tokenizer, &n_before);
    uint32_t *token = tokenizer_encode(tokenizer, str_text(text), text->n, &n, err);
    if (!token) return -1;
    for (int64_t end = 0; i < n; i++) {
        end += (int64_t)decoded_bytes(tokenizer, token[i]);
        if (end > boundary) break;
    }
    to->n = n_before + n;
    to->first = n_before + i;
    to->token = mem_calloc(to->n + 1, sizeof *token);
    if (n_before) memcpy(to->token, before, n_before * sizeof *token);
    memcpy(to->token + n_before, token, n * sizeof *token);
    free(token);
    if (i == n) return err_set(err, ERR_ARG, "it has no token of its own");
    if (to->first > 0) return 0;
    return err_set(err, ERR_ARG,
                   "no token stands before it: a longer context is needed, as this tokenizer "
                   "puts nothing before a text");
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int read_choice(choice_t *to, const tokenizer_t *tokenizer, json_t *context, json_t *choice,
                       int64_t boundary, err_t *err)
{
    const char *before = json_string_value(context), *own = json_string_value(choice);
    if (!own || !*own) return err_set(err, ERR_PARSE, "it is no text, or an empty one");
    str_t text = {0};
    str_addn(&text, before, json_string_length(context));
    to->n_bytes = json_string_length(choice);
    if (text.n > 0 && !is_space(text.at[text.n - 1]) && !is_space(own[0])) str_add(&text, " ");
    str_addn(&text, own, to->n_bytes);
    int status = set_tokens(to, tokenizer, &text, boundary, err);
    str_fini(&text);
    return status;
}

/* --- lines --- */

static int read_object(choice_item_t *item, const tokenizer_t *tokenizer, json_t *json, err_t *err)
{
    if (!json_is_object(json)) return err_set(err, ERR_PARSE, "no JSON object");
    json_t *context = field(json, context_names, err);
    json_t *choices = context ? field(json, choices_names, err) : NULL, *labels = NULL;
    if (!choices) return -1;
    if (!json_is_string(context)) return err_set(err, ERR_PARSE, "the context is no text");
    if (json_is_object(choices)) {
        labels = json_object_get(choices, "label");
        choices = json_object_get(choices, "text");
    }
    if (json_array_size(choices) < 2)
        return err_set(err, ERR_PARSE, "the choices are no list of two texts at least");
    int64_t boundary = known_bytes(tokenizer, json_string_value(context),
                                   json_string_length(context), err);
    if (boundary < 0) return err_prefix(err, "the context: ");
    item->n = json_array_size(choices);
    item->choice = mem_calloc(item->n, sizeof *item->choice);
    for (size_t i = 0; i < item->n; i++)
        if (read_choice(&item->choice[i], tokenizer, context, json_array_get(choices, i), boundary,
                        err) < 0)
            return err_prefix(err, "choice %zu: ", i);
    return read_answer(field(json, answer_names, err), labels, item, err);
}

static int read_line(choice_item_t *item, const tokenizer_t *tokenizer, const char *text, size_t n,
                     err_t *err)
{
    json_error_t fault;
    json_t *json = json_loadb(text, n, 0, &fault);
    if (!json) return err_set(err, ERR_PARSE, "no JSON: %s (byte %d)", fault.text, fault.position);
    int status = read_object(item, tokenizer, json, err);
    json_decref(json);
    return status;
}

static bool is_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_space(text[i])) return false;
    return true;
}

static int read_lines(const char *text, size_t n, const tokenizer_t *tokenizer,
                      choice_items_t *items, uint64_t *line, err_t *err)
{
    for (size_t at = 0, end; at < n; at = end + 1) {
        const char *newline = memchr(text + at, '\n', n - at);
        end = newline ? (size_t)(newline - text) : n;
        ++*line;
        if (is_blank(text + at, end - at)) continue;
        VEC_PUSH(items, ((choice_item_t){.line = *line}));
        if (read_line(&items->at[items->n - 1], tokenizer, text + at, end - at, err) < 0) return -1;
    }
    return 0;
}

int choice_items_read(const char *path, const tokenizer_t *tokenizer, choice_items_t *items,
                      err_t *err)
{
    size_t n = 0;
    uint64_t line = 0;
    choice_items_t got = {0};
    if (strcmp(tokenizer_kind(tokenizer), "raw") == 0)
        return err_set(err, ERR_ARG, "%s: the checkpoint's tokenizer (raw) reads no text", path);
    char *text = file_read(path, &n, err);
    if (!text) return -1;
    int status = read_lines(text, n, tokenizer, &got, &line, err);
    free(text);
    if (status < 0)
        err_prefix(err, "%s:%llu: ", path, (unsigned long long)line);
    else if (got.n == 0)
        status = err_set(err, ERR_ARG, "%s: no items", path);
    if (status < 0)
        choice_items_fini(&got);
    else
        *items = got;
    return status;
}

void choice_items_fini(choice_items_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        for (size_t k = 0; k < self->at[i].n; k++) free(self->at[i].choice[k].token);
        free(self->at[i].choice);
    }
    VEC_FREE(self);
}
