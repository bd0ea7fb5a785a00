/* Tokenizers from files. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "text/byte_level.h"
#include "text/tokenizer_kinds.h"

/* PATH's directory and `name` in it. Returns, caller frees. */
static char *in_directory_of(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) + 1 : 0;
    return mem_printf("%.*s%s", n, path, name);
}

/* What is read has to be read again from what it is printed as. */
static tokenizer_t *bounded(tokenizer_t *self, err_t *err)
{
    if (!self || !self->json || strlen(self->json) <= TOKENIZER_MAX_BYTES) return self;
    err_set(err, ERR_MEMORY, "a tokenizer of %zu bytes with the files beside it, at most %d",
            strlen(self->json), TOKENIZER_MAX_BYTES);
    tokenizer_destroy(&self);
    return NULL;
}

/* The JSON (taken; NULL: err is set) of a file, with what lies beside it. */
static tokenizer_t *open_with(json_t *json, const char *path, err_t *err)
{
    char *dir = in_directory_of(path, "");
    bool bpe = json && json_object_get(json, "model");
    int status = !json ? -1 : bpe ? beside_take(json, dir, err) : 0;
    tokenizer_t *self = status == 0 ? bounded(tokenizer_from_json(json, err), err) : NULL;
    if (!self) err_prefix(err, "%s: ", path);
    json_decref(json);
    free(dir);
    return self;
}

static tokenizer_t *open_json(const char *path, err_t *err)
{
    size_t n;
    char *text = beside_read(path, &n, err);
    if (!text) return NULL;
    json_t *json = tokenizer_json(text, n, err);
    free(text);
    return open_with(json, path, err);
}

static tokenizer_t *open_gpt2(const char *vocab_path, err_t *err)
{
    char *merges_path = in_directory_of(vocab_path, "merges.txt");
    size_t n_vocab, n_merges;
    char *vocab = beside_read(vocab_path, &n_vocab, err);
    char *merges = vocab ? beside_read(merges_path, &n_merges, err) : NULL;
    tokenizer_t *self = NULL;
    if (merges) {
        json_t *json = byte_level_from_gpt2(vocab, n_vocab, merges, n_merges, err);
        self = open_with(json, vocab_path, err);
    }
    free(vocab);
    free(merges);
    free(merges_path);
    return self;
}

tokenizer_t *tokenizer_open(const char *path, err_t *err)
{
    struct stat info;
    if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode))
        return str_ends(path, "vocab.json") ? open_gpt2(path, err) : open_json(path, err);
    char *json = mem_printf("%s/tokenizer.json", path), *vocab = mem_printf("%s/vocab.json", path);
    bool gpt2 = !file_exists(json) && file_exists(vocab);
    tokenizer_t *self = gpt2 ? open_gpt2(vocab, err) : open_json(json, err);
    free(json);
    free(vocab);
    return self;
}
