/* Options of training: each row is usable as it stands, words are what their tables have, and the
 * rules between options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "optim/optim.h"
#include "options/train.h"
#include "outer/outer.h"
#include "text/tokenizer.h"

static const config_field_t fields[] = {TRAIN_OPTIONS(OPTION_FIELD, train_options_t)};
static const config_table_t table = {
    .fields = fields, .n_fields = sizeof fields / sizeof *fields, .no_env = true};

static train_options_t defaults(void)
{
    train_options_t o;
    char *argv[] = {"test", NULL};
    err_t err = {0};
    if (config_load(&table, &o, NULL, 1, argv, NULL, &err) < 0) fail_msg("%s", err.text);
    return o;
}

static void rows_are_whole(void **state)
{
    (void)state;
    assert_int_equal(n_train_option_rows, table.n_fields);
    for (size_t i = 0; i < n_train_option_rows; i++) {
        const train_option_t *row = &train_option_rows[i];
        assert_ptr_equal(train_option_find(fields[i].name), row);
        assert_true(row->field.offset == fields[i].offset);
        assert_true(*row->field.help && strchr(row->field.help, '\n') == NULL);
        assert_true(row->field.kind != CONFIG_ENUM || row->field.words);
        bool ranged = row->field.kind == CONFIG_INT || row->field.kind == CONFIG_FLOAT;
        assert_true(ranged == (row->field.max > row->field.min));
        assert_true(row->fixed || !row->in_spec); /* another step makes another result */
    }
    assert_null(train_option_find("help"));
}

/* What an option may be, the aggregators take: else a run ends when all of it has started. */
static void outer_rules_take_what_options_allow(void **state)
{
    (void)state;
    const config_field_t *lr = &train_option_find("outer_lr")->field,
                         *momentum = &train_option_find("outer_momentum")->field;
    for (int i = 0; i < 4; i++) {
        err_t err = {0};
        outer_options_t options = {.rule = outer_rule_find("nesterov", NULL),
                                   .lr = i % 2 ? lr->max : lr->min,
                                   .momentum = i / 2 ? momentum->max : momentum->min};
        if (outer_check(&options, &err) < 0) fail_msg("%s", err.text);
    }
}

static void defaults_are_those_of_the_spec(void **state)
{
    (void)state;
    train_options_t o = defaults();
    const spec_options_t spec_options = {TRAIN_SPEC_OPTIONS(OPTION_TAKE, &o)};
    train_spec_t spec = train_spec_of(&spec_options), back;
    char *have = train_spec_print(&spec), *want = train_spec_print(&TRAIN_SPEC_DEFAULT);
    assert_string_equal(have, want);
    free(have);
    free(want);
    /* every number of the options, and back */
#define LOW(T, what, key, text, low, ...) spec.key = low;
    TRAIN_SPEC_NUMBERS(LOW, )
    have = train_spec_print(&spec);
    err_t err = {0};
    if (train_spec_parse(have, &back, &err) < 0) fail_msg("%s", err.text);
    want = train_spec_print(&back);
    assert_string_equal(have, want);
    free(have);
    free(want);
    config_fini(&table, &o);
}

static void each(const char *words, void (*check)(const char *word))
{
    char *copy = strdup(words), *rest = copy, *word;
    while ((word = strsep(&rest, "|"))) check(word);
    free(copy);
}

static void is_optimizer(const char *word)
{
    char json[64];
    train_spec_t spec;
    err_t err = {0};
    snprintf(json, sizeof json, "{\"optimizer\":\"%s\"}", word);
    if (train_spec_parse(json, &spec, &err) < 0) fail_msg("%s", err.text);
    assert_string_equal(spec.optimizer, word);
}

static void is_outer_rule(const char *word)
{
    err_t err = {0};
    const outer_rule_t *rule = outer_rule_find(word, &err);
    assert_non_null(rule);
    assert_ptr_equal(outer_rule_find_id(rule->id, &err), rule);
}

static void is_codec(const char *word)
{
    err_t err = {0};
    const codec_t *codec = codec_find(word, &err);
    assert_non_null(codec);
    assert_ptr_equal(codec_find_id(codec->id, &err), codec);
}

static void is_precision(const char *word)
{
    err_t err = {0};
    char json[64];
    train_spec_t spec;
    snprintf(json, sizeof json, "{\"precision\":\"%s\"}", word);
    assert_int_equal(train_spec_parse(json, &spec, &err), 0);
    assert_string_equal(spec.precision, word);
    static const char *const texts[] = {"f32", "bf16", "bf16x3"};
    assert_string_equal(texts[train_spec_precision(&spec)], word);
}

static void is_tokenizer(const char *word)
{
    err_t err = {0};
    tokenizer_t *tokenizer = tokenizer_new(word, "abcd", 4, &err);
    if (!tokenizer) fail_msg("%s", err.text);
    assert_string_equal(tokenizer_kind(tokenizer), word);
    tokenizer_destroy(&tokenizer);
}

static void words_are_those_of_tables(void **state)
{
    (void)state;
    each(OPTION_WORDS(OPTIMIZERS), is_optimizer);
    each(OPTION_WORDS(CODECS), is_codec);
    each(OPTION_WORDS(OUTER_RULES), is_outer_rule);
    each(OPTION_WORDS(PRECISIONS), is_precision);
    each(OPTION_WORDS(TOKENIZERS), is_tokenizer);
#define TWO(X) X(one, 1) X(two, 2)
    assert_string_equal(OPTION_WORDS(TWO), "one|two");
}

static void rules(void **state)
{
    (void)state;
    train_options_t o = defaults();
    char long_prompt[SAMPLE_PROMPT_BYTES + 2];
    memset(long_prompt, 'x', sizeof long_prompt);
    long_prompt[sizeof long_prompt - 1] = '\0';
    const struct {
        const char *key, *value, *key2, *value2;
        const char *tokenizer, *keep, *refusal; /* NULL: it may be */
    } cases[] = {
        {.key = "lr", "1e-3", .refusal = NULL},
        {.key = "lr", "5e-5", .refusal = "min_lr 0.0001 is above lr 5e-05"},
        {.key = "lr", "5e-5", "schedule", "wsd", .refusal = "the schedule wsd ends at min_lr"},
        {.key = "lr", "5e-5", "schedule", "constant"},
        {.key = "quorum", "2"},
        {.key = "quorum", "3", .refusal = "quorum 3 is above replicas 2"},
        {.key = "quorum", "3", "workers", "3"},
        {.key = "quorum", "5", "replicas", "4", .refusal = "quorum 5 is above replicas 4"},
        {.key = "quorum", "8", "replicas", "auto"},
        {.key = "quorum", "9", "replicas", "auto", .refusal = "quorum 9 is above replicas 8"},
        {.key = "workers", "4096"},
        {.key = "workers", "65536", .refusal = "workers 65536: each has a replica"},
        {.key = "workers", "65536", "replicas", "100"},
        {.key = "workers", "65536", "replicas", "auto"},
        {.key = "deadline_s", "1", .refusal = "set quorum, too"},
        {.key = "late", "next", .refusal = "set quorum, too"},
        {.key = "late", "next", "quorum", "1"},
        {.key = "late_rounds", "1"},
        {.key = "late_rounds", "2", .refusal = "is for late next, late is drop"},
        {.key = "layout", "records", .tokenizer = "raw"},
        {.key = "layout", "records"},
        {.key = "layout", "records", .tokenizer = "byte", .refusal = "tokenizer raw"},
        {.key = "seed", "1", .keep = "memory"},
        {.key = "replicas", "auto", .keep = "memory", .refusal = "keep_state"},
        {.key = "replicas", "auto", .keep = "local"},
        {.key = "sample_every", "3", .tokenizer = "byte"},
        {.key = "sample_every", "3"},
        {.key = "sample_every",
         "3",
         .tokenizer = "raw",
         .refusal = "sample_every 3: a run without"},
        {.key = "sample_every", "3", "layout", "records", .refusal = "sample_every 3: a run witho"},
        {.key = "sample_every", "3", "sample_prompt", long_prompt, .refusal = "sample_prompt has"},
        {.key = "sample_prompt", "a", "layout", "records"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        train_options_t changed = defaults();
        assert_int_equal(config_set(&table, &changed, cases[i].key, cases[i].value, &err), 0);
        if (cases[i].key2)
            assert_int_equal(config_set(&table, &changed, cases[i].key2, cases[i].value2, &err), 0);
        const train_rules_t asked = {changed, cases[i].tokenizer, cases[i].keep};
        assert_int_equal(train_rules_check(&asked, &err), cases[i].refusal ? -1 : 0);
        if (cases[i].refusal && !strstr(err.text, cases[i].refusal))
            fail_msg("%s, not %s", err.text, cases[i].refusal);
        config_fini(&table, &changed);
    }
    config_fini(&table, &o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(outer_rules_take_what_options_allow),
        cmocka_unit_test(defaults_are_those_of_the_spec),
        cmocka_unit_test(words_are_those_of_tables),
        cmocka_unit_test(rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
