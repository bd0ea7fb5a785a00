/* Fuzz target: a tokenizer that loads gives tokens below its vocabulary for any text (or says why
 * not), prints to one that gives the same, and takes memory in proportion to its file. */
#include "text/tokenizer.h"

#include "alloc_bound.h"
#include "fuzz.h"

/* jansson keeps a list's element of two bytes in under 100; patterns and tables come on top. */
enum { TOKENIZER_MULTIPLE = 256, TOKENIZER_CONSTANT = 16 << 20 };

static uint32_t *tokenizer_tokens(const tokenizer_t *t, const char *text, size_t n,
                                  size_t *n_tokens)
{
    err_t err = {0};
    uint32_t *tokens = tokenizer_encode(t, text, n, n_tokens, &err);
    if (!tokens && err.code == ERR_OK) broken("an error says so", "");
    for (size_t i = 0; tokens && i < *n_tokens; i++) {
        str_t bytes = {0};
        if (tokenizer_vocab(t) > 0 && tokens[i] >= (uint32_t)tokenizer_vocab(t))
            broken("tokens lie below the vocabulary", "");
        tokenizer_decode(t, tokens[i], &bytes);
        str_fini(&bytes);
    }
    return tokens;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char text[] =
        "Hello  world's 123\n\t<|endoftext|> \xC3\xA9\xE4\xB8\xAD\xFF ab aab";
    err_t err = {0};
    alloc_bound_begin("tokenizer", TOKENIZER_MULTIPLE, n, TOKENIZER_CONSTANT);
    tokenizer_t *t = tokenizer_parse_bytes((const char *)data, n, &err);
    alloc_bound_end();
    if (!t && err.code == ERR_OK) broken("an error says so", "");
    if (!t) return 0;
    char *printed = tokenizer_print(t);
    tokenizer_t *again = tokenizer_parse(printed, &err);
    if (!again) broken("what is printed loads", err.text);
    size_t n_a, n_b;
    uint32_t *a = tokenizer_tokens(t, text, sizeof text - 1, &n_a);
    uint32_t *b = tokenizer_tokens(again, text, sizeof text - 1, &n_b);
    if (!a != !b || n_a != n_b || (a && memcmp(a, b, n_a * sizeof *a) != 0))
        broken("both give the same tokens", "");
    free(a);
    free(b);
    free(printed);
    tokenizer_destroy(&again);
    tokenizer_destroy(&t);
    return 0;
}
