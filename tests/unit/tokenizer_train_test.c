/* Training of a BPE against the definition: count all pairs, merge the most frequent, again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/str.h"
#include "text/bpe_train.h"
#include "text/tokenizer.h"

/* Words of a, b, c with blanks before them. */
enum { N_WORDS = 60, WORD = 12, N_MERGES = 40 };

typedef struct {
    int symbol[WORD + 1], n;
} naive_word_t;

/* Symbols: 0 blank, 1 to 3 letters, 4 and on what was merged. Ids of ties: by the trainer's. */
static const uint32_t first_ids[4] = {220, 64, 65, 66};

static int rank_of(int symbol)
{
    return symbol < 4 ? (int)first_ids[symbol] : 256 + symbol - 4;
}

static bool naive_step(naive_word_t *words, int n_symbols, int *left, int *right)
{
    int best = 0;
    for (int a = 0; a < n_symbols; a++)
        for (int b = 0; b < n_symbols; b++) {
            int count = 0;
            for (int w = 0; w < N_WORDS; w++)
                for (int i = 0; i + 1 < words[w].n; i++)
                    count += words[w].symbol[i] == a && words[w].symbol[i + 1] == b;
            bool wins = count > best || (count == best && best > 0 &&
                                         (rank_of(a) < rank_of(*left) ||
                                          (a == *left && rank_of(b) < rank_of(*right))));
            if (wins) best = count, *left = a, *right = b;
        }
    if (best < 2) return false;
    for (int w = 0; w < N_WORDS; w++) {
        int n = 0;
        for (int i = 0; i < words[w].n; n++) {
            bool here = i + 1 < words[w].n && words[w].symbol[i] == *left &&
                        words[w].symbol[i + 1] == *right;
            words[w].symbol[n] = here ? n_symbols : words[w].symbol[i];
            i += here ? 2 : 1;
        }
        words[w].n = n;
    }
    return true;
}

static void test_against_the_definition(void **state)
{
    (void)state;
    naive_word_t words[N_WORDS] = {0};
    str_t text = {0}, name[4 + N_MERGES] = {{0}};
    for (uint64_t w = 0; w < N_WORDS; w++) {
        int n = 1 + (int)(rng_bits(5, w) % WORD);
        str_add(&text, " ");
        for (int i = 1; i <= n; i++) {
            words[w].symbol[i] = 1 + (int)(rng_bits(w, (uint64_t)i) % 7 % 3);
            str_addf(&text, "%c", 'a' + words[w].symbol[i] - 1);
        }
        words[w].n = n + 1;
    }
    bpe_train_options_t options = {.cut = "gpt2", .vocab = 256 + N_MERGES, .min_count = 2};
    err_t err = {0};
    bpe_trainer_t *trainer = bpe_trainer_new(&options, &err);
    assert_int_equal(bpe_trainer_add(trainer, text.at, text.n, &err), 0);
    while (bpe_trainer_step(trainer)) continue;
    char *json = bpe_trainer_print(trainer);
    json_t *all = json_loads(json, 0, NULL);
    const json_t *merges = json_object_get(json_object_get(all, "model"), "merges");
    str_add(&name[0], "\xC4\xA0");
    for (int i = 1; i < 4; i++) str_addf(&name[i], "%c", 'a' + i - 1);
    size_t n = 0;
    for (int left = 0, right = 0; n < N_MERGES && naive_step(words, 4 + (int)n, &left, &right);
         n++) {
        const json_t *merge = json_array_get(merges, n);
        assert_string_equal(json_string_value(json_array_get(merge, 0)), name[left].at);
        assert_string_equal(json_string_value(json_array_get(merge, 1)), name[right].at);
        str_add(&name[4 + n], name[left].at);
        str_add(&name[4 + n], name[right].at);
    }
    assert_true(n >= 20);
    assert_int_equal(json_array_size(merges), n);
    for (int i = 0; i < 4 + N_MERGES; i++) str_fini(&name[i]);
    json_decref(all);
    free(json);
    str_fini(&text);
    bpe_trainer_destroy(&trainer);
}

/* Two pairs that make one text are one token; what is learnt encodes. */
static void test_trained(void **state)
{
    (void)state;
    static const char *const special[] = {"<|endoftext|>", "<|pad|>"};
    bpe_train_options_t options = {
        .cut = "llama3", .special = special, .n_special = 2, .vocab = 300, .min_count = 2};
    err_t err = {0};
    bpe_trainer_t *trainer = bpe_trainer_new(&options, &err);
    const char *text = "abcabc abab bcbc xyz xyz \xFF\xFE 2024 2024\n";
    assert_int_equal(bpe_trainer_add(trainer, text, strlen(text), &err), 0);
    while (bpe_trainer_step(trainer)) continue;
    char *json = bpe_trainer_print(trainer);
    tokenizer_t *t = tokenizer_parse(json, &err);
    if (!t) fail_msg("%s", err.text);
    assert_int_equal(tokenizer_vocab(t), (int)bpe_trainer_tokens(trainer));
    assert_true(tokenizer_is_special(t, 1));
    size_t n;
    uint32_t *ids = tokenizer_encode(t, " xyz<|pad|>202", strlen(" xyz<|pad|>202"), &n, &err);
    assert_int_equal(n, 3);
    assert_int_equal(ids[1], 1);
    free(ids);
    free(json);
    tokenizer_destroy(&t);
    bpe_trainer_destroy(&trainer);
}

static void test_options_are_checked(void **state)
{
    (void)state;
    static const char *const twice[] = {"<a>", "<a>"};
    const bpe_train_options_t bad[] = {
        {.cut = "gpt2", .vocab = 255},
        {.cut = "gpt2", .vocab = 257, .special = twice, .n_special = 2},
        {.cut = "gpt2", .vocab = 300, .special = twice, .n_special = 2},
        {.cut = "no", .vocab = 300},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err_t err = {0};
        assert_null(bpe_trainer_new(&bad[i], &err));
        assert_int_equal(err.code, ERR_ARG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_the_definition),
        cmocka_unit_test(test_trained),
        cmocka_unit_test(test_options_are_checked),
    };
    return cmocka_run_group_tests_name("tokenizer_train", tests, NULL, NULL);
}
