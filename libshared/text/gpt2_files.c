/* GPT-2's vocab.json and merges.txt, and what `pcp tokenizer train` makes, as tokenizer.json. */
#include <string.h>

#include "text/byte_level.h"

json_t *byte_level_json(json_t *vocab, json_t *merges, json_t *added_tokens, const char *pattern)
{
    json_t *plain = json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                              "trim_offsets", 1, "use_regex", pattern == NULL);
    json_t *pre = plain;
    if (pattern)
        pre = json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence",
                        "pretokenizers", "type", "Split", "pattern", "Regex", pattern, "behavior",
                        "Isolated", "invert", 0, plain);
    json_t *model = json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE",
                              "dropout", "unk_token", "continuing_subword_prefix",
                              "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                              "ignore_merges", 0, "vocab", vocab, "merges", merges);
    return json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:{s:s, s:b, s:b, s:b}, s:{s:s, s:b, s:b, "
                     "s:b}, s:o}",
                     "version", "1.0", "truncation", "padding", "added_tokens", added_tokens,
                     "normalizer", "pre_tokenizer", pre, "post_processor", "type", "ByteLevel",
                     "add_prefix_space", 1, "trim_offsets", 0, "use_regex", 1, "decoder", "type",
                     "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1, "use_regex", 1, "model",
                     model);
}

/* "#version: ..." first, then "left right" a line. */
static json_t *read_lines(const char *text, size_t n)
{
    json_t *merges = json_array();
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - (text + at)) : n - at, used = length;
        if (used > 0 && text[at + used - 1] == '\r') used--;
        bool is_head = at == 0 && used >= 8 && memcmp(text, "#version", 8) == 0;
        json_t *line = used > 0 && !is_head ? json_stringn(text + at, used) : NULL;
        if (used > 0 && !is_head) /* no UTF-8: null, which is refused with its number */
            json_array_append_new(merges, line ? line : json_null());
        at += length + 1;
    }
    return merges;
}

/* GPT-2's end of text is a word of the vocabulary that no merge makes. */
static json_t *find_special(const json_t *vocab)
{
    static const char name[] = "<|endoftext|>";
    json_t *added = json_array();
    const json_t *id = json_object_get(vocab, name);
    if (json_is_integer(id))
        json_array_append_new(added,
                              json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                                        json_integer_value(id), "content", name, "single_word", 0,
                                        "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1));
    return added;
}

json_t *byte_level_from_gpt2(const char *vocab, size_t n_vocab, const char *merges, size_t n_merges,
                             err_t *err)
{
    json_error_t where;
    json_t *words = json_loadb(vocab, n_vocab, 0, &where);
    if (json_is_object(words))
        return byte_level_json(words, read_lines(merges, n_merges), find_special(words), NULL);
    err_set(err, ERR_PARSE, "vocab.json: line %d: %s", words ? 1 : where.line,
            words ? "it is no object" : where.text);
    json_decref(words);
    return NULL;
}
