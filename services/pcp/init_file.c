/* Names are compared word by word: frameworks differ in what stands between. */
#include "pcp/init_file.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *at;
    size_t n;
} word_t;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* The next word behind *at, which moves; n is 0 behind the last. */
static word_t next_word(const char **at)
{
    word_t word = {.at = *at};
    while (*word.at && !is_word(*word.at)) word.at++;
    while (is_word(word.at[word.n])) word.n++;
    *at = word.at + word.n;
    return word;
}

/* Behind a first word that says no more than that it is a parameter. */
static const char *skip_root(const char *name)
{
    static const char *const roots[] = {"params", "param", "model"};
    const char *rest = name;
    word_t first = next_word(&rest), second = next_word(&(const char *){rest});
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (second.n && strlen(roots[i]) == first.n && memcmp(roots[i], first.at, first.n) == 0)
            return rest;
    return name;
}

static bool same_words(const char *a, const char *b)
{
    a = skip_root(a);
    b = skip_root(b);
    for (;;) {
        word_t x = next_word(&a), y = next_word(&b);
        if (x.n != y.n || memcmp(x.at, y.at, x.n) != 0) return false;
        if (x.n == 0) return true;
    }
}

static const safetensor_t *find_words(const safetensors_t *file, const char *name, err_t *err)
{
    const safetensor_t *found = NULL;
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const safetensor_t *t = safetensors_at(file, i);
        if (!same_words(t->name, name)) continue;
        if (found) {
            err_set(err, ERR_ARG, "\"%s\" may be its \"%s\" or \"%s\": give one of them that name",
                    name, found->name, t->name);
            return NULL;
        }
        found = t;
    }
    return found;
}

const safetensor_t *init_file_find(const safetensors_t *file, const char *name, int number,
                                   err_t *err)
{
    char digits[16], arg[20];
    const safetensor_t *found = safetensors_find(file, name);
    if (!found) found = find_words(file, name, err);
    if (found || err->code) return found;
    snprintf(digits, sizeof digits, "%d", number);
    snprintf(arg, sizeof arg, "arg%d", number);
    found = safetensors_find(file, digits);
    return found ? found : safetensors_find(file, arg);
}
