/* tokenizer.json: normalizer, pre_tokenizer, post_processor, decoder. Each is an object with a
 * type, a Sequence of them, or null. */
#include "text/hf_steps.h"

#include <string.h>

enum { MAX_DEPTH = 4 };

typedef struct {
    byte_level_t *out;
    bool is_last; /* a ByteLevel was there: nothing may follow */
} reader_t;

typedef int step_fn(reader_t *r, const json_t *step, err_t *err);
typedef struct {
    const char *type;
    step_fn *read;
} step_row_t;

static const char *type_of(const json_t *step)
{
    const char *type = json_string_value(json_object_get(step, "type"));
    return type ? type : "";
}

/* One step, or the list of them under one of the names that a Sequence has. */
static int read_step(reader_t *r, const step_row_t *rows, const json_t *step, const char *place,
                     int depth, err_t *err)
{
    if (!step || json_is_null(step)) return 0;
    const char *type = type_of(step);
    if (strcmp(type, "Sequence") == 0) {
        static const char *const lists[] = {"normalizers", "pretokenizers", "processors",
                                            "decoders"};
        const json_t *list = NULL;
        for (int i = 0; i < 4 && !list; i++) list = json_object_get(step, lists[i]);
        json_t *item;
        size_t i;
        if (depth == MAX_DEPTH || !json_is_array(list))
            return err_set(err, ERR_PARSE,
                           "tokenizer.json: %s: a Sequence without steps, or too "
                           "deep",
                           place);
        json_array_foreach(list, i, item)
        {
            if (read_step(r, rows, item, place, depth + 1, err) < 0) return -1;
        }
        return 0;
    }
    for (; rows->type; rows++)
        if (strcmp(rows->type, type) == 0) {
            if (rows->read(r, step, err) < 0)
                return err_prefix(err, "tokenizer.json: %s %s: ", place, type);
            return 0;
        }
    return err_set(err, ERR_UNSUPPORTED, "tokenizer.json: the %s \"%.40s\" is not known", place,
                   type);
}

/* {"Regex": "..."} or {"String": "..."}. NULL: err says why. */
static pattern_t *read_pattern(const json_t *step, err_t *err)
{
    const json_t *given = json_object_get(step, "pattern");
    const json_t *regex = json_object_get(given, "Regex");
    const json_t *text = regex ? regex : json_object_get(given, "String");
    if (json_is_string(text))
        return pattern_new(json_string_value(text), json_string_length(text), !regex, err);
    err_set(err, ERR_PARSE, "it has no pattern");
    return NULL;
}

/* --- normalizer --- */

#define READ_FORM(word, constant)                                       \
    static int read_##word(reader_t *r, const json_t *step, err_t *err) \
    {                                                                   \
        (void)step;                                                     \
        return normalizer_add_form(r->out->normalizer, constant, err);  \
    }
NORMAL_FORMS(READ_FORM)

static int read_replace(reader_t *r, const json_t *step, err_t *err)
{
    const json_t *to = json_object_get(step, "content");
    pattern_t *pattern = read_pattern(step, err);
    if (!pattern) return -1;
    return normalizer_add_replace(r->out->normalizer, pattern,
                                  json_is_string(to) ? json_string_value(to) : "",
                                  json_string_length(to), err);
}

static int read_prepend(reader_t *r, const json_t *step, err_t *err)
{
    const json_t *text = json_object_get(step, "prepend");
    if (!json_is_string(text)) return err_set(err, ERR_PARSE, "it has no text");
    return normalizer_add_prepend(r->out->normalizer, json_string_value(text),
                                  json_string_length(text), err);
}

#define FORM_ROW(word, constant) {#word, read_##word},
static const step_row_t normalizers[] = {
    NORMAL_FORMS(FORM_ROW){"Replace", read_replace}, {"Prepend", read_prepend}, {NULL, NULL}};

/* --- pre_tokenizer --- */

static int may_follow(const reader_t *r, err_t *err)
{
    return r->is_last ? err_set(err, ERR_UNSUPPORTED, "it comes behind a ByteLevel") : 0;
}

static int add_split(reader_t *r, const char *regex, cut_t cut, err_t *err)
{
    pattern_t *pattern = pattern_new(regex, strlen(regex), false, err);
    return pattern ? words_add_split(r->out->words, pattern, cut, false, err) : -1;
}

static int read_split(reader_t *r, const json_t *step, err_t *err)
{
#define CUT_NAME(word, constant) [constant] = #word,
    static const char *const names[N_CUT] = {CUTS(CUT_NAME)};
    const char *behavior = json_string_value(json_object_get(step, "behavior"));
    int cut = 0;
    while (cut < N_CUT && behavior && strcmp(names[cut], behavior) != 0) cut++;
    if (cut == N_CUT || !behavior)
        return err_set(err, ERR_UNSUPPORTED, "the behavior \"%.40s\" is not known",
                       behavior ? behavior : "");
    if (may_follow(r, err) < 0) return -1;
    pattern_t *pattern = read_pattern(step, err);
    bool invert = json_is_true(json_object_get(step, "invert"));
    return pattern ? words_add_split(r->out->words, pattern, (cut_t)cut, invert, err) : -1;
}

static int read_digits(reader_t *r, const json_t *step, err_t *err)
{
    bool each = json_is_true(json_object_get(step, "individual_digits"));
    if (may_follow(r, err) < 0) return -1;
    return add_split(r, "\\p{N}", each ? CUT_ISOLATED : CUT_CONTIGUOUS, err);
}

/* use_regex is true when it is not there: files from before it was an option. */
static int read_byte_level(reader_t *r, const json_t *step, err_t *err)
{
    if (may_follow(r, err) < 0) return -1;
    r->is_last = true;
    if (json_is_true(json_object_get(step, "add_prefix_space")) &&
        words_add_prefix(r->out->words, err) < 0)
        return -1;
    if (json_is_false(json_object_get(step, "use_regex"))) return 0;
    return add_split(r, WORDS_GPT2, CUT_ISOLATED, err);
}

static const step_row_t pre_tokenizers[] = {
    {"Split", read_split}, {"Digits", read_digits}, {"ByteLevel", read_byte_level}, {NULL, NULL}};

/* --- post_processor and decoder --- */

static int read_nothing(reader_t *r, const json_t *step, err_t *err)
{
    (void)r, (void)step, (void)err;
    return 0;
}

static int add_special(reader_t *r, const json_t *step, const char *name, tokens_t *to, err_t *err)
{
    const json_t *special = json_object_get(json_object_get(step, "special_tokens"), name);
    const json_t *ids = json_object_get(special, "ids");
    json_t *id;
    size_t i;
    if (!json_is_array(ids))
        return err_set(err, ERR_PARSE, "special_tokens has no \"%.60s\"", name);
    json_array_foreach(ids, i, id)
    {
        json_int_t value = json_integer_value(id);
        if (!json_is_integer(id) || value < 0 || (size_t)value >= r->out->n_token)
            return err_set(err, ERR_PARSE, "\"%.60s\" has ids that are none", name);
        VEC_PUSH(to, (uint32_t)value);
    }
    return 0;
}

/* What stands before and behind "A" in the template of a single text. */
static int read_template(reader_t *r, const json_t *step, err_t *err)
{
    const json_t *single = json_object_get(step, "single");
    json_t *item;
    size_t i;
    tokens_t *to = &r->out->before;
    json_array_foreach(single, i, item)
    {
        const json_t *special = json_object_get(item, "SpecialToken");
        const char *name = json_string_value(json_object_get(special, "id"));
        if (json_object_get(item, "Sequence"))
            to = &r->out->behind;
        else if (!name)
            return err_set(err, ERR_PARSE, "single[%zu] is neither text nor token", i);
        else if (add_special(r, step, name, to, err) < 0)
            return -1;
    }
    return 0;
}

static const step_row_t post_processors[] = {
    {"ByteLevel", read_nothing}, {"TemplateProcessing", read_template}, {NULL, NULL}};
static const step_row_t decoders[] = {{"ByteLevel", read_nothing}, {NULL, NULL}};

/* --- words of characters --- */

/* Blanks again for what stands for them: byte_level.c has done it. */
static int read_blank(reader_t *r, const json_t *step, err_t *err)
{
    const json_t *from = json_object_get(json_object_get(step, "pattern"), "String");
    const char *a = json_string_value(from),
               *b = json_string_value(json_object_get(step, "content"));
    (void)r;
    if (a && b && strcmp(a, HF_BLANK) == 0 && strcmp(b, " ") == 0) return 0;
    return err_set(err, ERR_UNSUPPORTED, "only U+2581 for the blank is known");
}

static int read_strip(reader_t *r, const json_t *step, err_t *err)
{
    const char *content = json_string_value(json_object_get(step, "content"));
    json_int_t start = json_integer_value(json_object_get(step, "start"));
    json_int_t stop = json_integer_value(json_object_get(step, "stop"));
    if (!content || strcmp(content, " ") != 0 || start < 0 || start > 1 || stop != 0)
        return err_set(err, ERR_UNSUPPORTED, "only one blank before a text is known");
    r->out->strips_blank = start == 1;
    return 0;
}

static const step_row_t character_decoders[] = {{"Replace", read_blank},
                                                {"ByteFallback", read_nothing},
                                                {"Fuse", read_nothing},
                                                {"Strip", read_strip},
                                                {NULL, NULL}};
static const step_row_t no_pre_tokenizers[] = {{NULL, NULL}};

/* Without a pre-tokenizer the whole text is one word. Where no merge joins anything with a blank
 * behind it, cutting there changes nothing but the time and memory it takes. */
static int read_character_steps(reader_t *r, const json_t *tokenizer, err_t *err)
{
    if (read_step(r, normalizers, json_object_get(tokenizer, "normalizer"), "normalizer", 0, err) <
            0 ||
        read_step(r, no_pre_tokenizers, json_object_get(tokenizer, "pre_tokenizer"),
                  "pre_tokenizer", 0, err) < 0 ||
        read_step(r, post_processors, json_object_get(tokenizer, "post_processor"),
                  "post_processor", 0, err) < 0 ||
        read_step(r, character_decoders, json_object_get(tokenizer, "decoder"), "decoder", 0, err) <
            0)
        return -1;
    if (r->out->has_crossing) return 0;
    return add_split(r, HF_BLANK "+[^" HF_BLANK "]*", CUT_ISOLATED, err);
}

int hf_read_steps(const json_t *tokenizer, byte_level_t *out, err_t *err)
{
    reader_t r = {.out = out};
    if (out->by_character) return read_character_steps(&r, tokenizer, err);
    const json_t *decoder = json_object_get(tokenizer, "decoder");
    if (read_step(&r, normalizers, json_object_get(tokenizer, "normalizer"), "normalizer", 0, err) <
            0 ||
        read_step(&r, pre_tokenizers, json_object_get(tokenizer, "pre_tokenizer"), "pre_tokenizer",
                  0, err) < 0)
        return -1;
    if (!r.is_last)
        return err_set(err, ERR_UNSUPPORTED,
                       "tokenizer.json: its pre_tokenizer has no ByteLevel; "
                       "only byte-level tokenizers are known");
    if (read_step(&r, post_processors, json_object_get(tokenizer, "post_processor"),
                  "post_processor", 0, err) < 0)
        return -1;
    return read_step(&r, decoders, decoder, "decoder", 0, err);
}
