/* Tokenizers from files. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "text/byte_level.h"
#include "text/tokenizer_kinds.h"

/* Returns, caller frees. NULL: ERR_IO, ERR_MEMORY. */
static char *read_bounded(const char *path, size_t *n, err_t *err)
{
    int64_t size = file_size(path);
    if (size <= TOKENIZER_MAX_BYTES) return file_read(path, n, err);
    err_set(err, ERR_MEMORY, "%s: a tokenizer's file of %lld bytes, at most %d", path,
            (long long)size, TOKENIZER_MAX_BYTES);
    return NULL;
}

/* PATH's directory and `name` in it. Returns, caller frees. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) + 1 : 0;
    return mem_printf("%.*s%s", n, path, name);
}

static tokenizer_t *open_json(const char *path, err_t *err)
{
    size_t n;
    char *text = read_bounded(path, &n, err);
    if (!text) return NULL;
    tokenizer_t *self = tokenizer_parse_bytes(text, n, err);
    if (!self) err_prefix(err, "%s: ", path);
    free(text);
    return self;
}

static tokenizer_t *open_gpt2(const char *vocab_path, err_t *err)
{
    char *merges_path = beside(vocab_path, "merges.txt");
    size_t n_vocab, n_merges;
    char *vocab = read_bounded(vocab_path, &n_vocab, err);
    char *merges = vocab ? read_bounded(merges_path, &n_merges, err) : NULL;
    tokenizer_t *self = NULL;
    if (merges) {
        json_t *json = byte_level_from_gpt2(vocab, n_vocab, merges, n_merges, err);
        self = json ? tokenizer_from_json(json, err) : NULL;
        json_decref(json);
        if (!self) err_prefix(err, "%s: ", vocab_path);
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
