/* pcp tokenizer: train a byte-pair encoding, and look at what tokenizers do. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/options.h"
#include "pcp/cmd.h"
#include "pcp/progress.h"
#include "text/bpe_train.h"
#include "text/tokenizer.h"

#define FORMATS(X) X(text, ) X(u16, ) X(u32, )
#define CUT_WORDS(X) BPE_CUTS(X)

typedef struct {
    char *tokenizer, *out, *cut, *special, *format;
    int64_t vocab, min_count;
    bool framed;
} options_t;

#define AT(name) offsetof(options_t, name)
static const config_field_t fields[] = {
    {"tokenizer", CONFIG_STRING, AT(tokenizer), NULL,
     "encode, decode, show: byte, raw, or a file (tokenizer.json, vocab.json, a directory)", 0, 0,
     NULL, false},
    {"out", CONFIG_STRING, AT(out), NULL, "file to write; train needs it, others default to stdout",
     0, 0, NULL, false},
    {"format", CONFIG_ENUM, AT(format), "text",
     "encode, decode: numbers as text, or little-endian (--tokenizer raw trains on either)", 0, 0,
     OPTION_WORDS(FORMATS), false},
    {"framed", CONFIG_BOOL, AT(framed), "false",
     "encode: with what the tokenizer puts around a text (\"<s>\")", 0, 0, NULL, false},
    {"vocab", CONFIG_INT, AT(vocab), "8192", "train: tokens wanted, bytes and specials included",
     256, 1 << 20, NULL, false},
    {"cut", CONFIG_ENUM, AT(cut), "gpt2", "train: how text is cut into words", 0, 0,
     OPTION_WORDS(CUT_WORDS), false},
    {"special", CONFIG_STRING, AT(special), "<|endoftext|>",
     "train: special tokens, with commas between them; \"\": none", 0, 0, NULL, false},
    {"min_count", CONFIG_INT, AT(min_count), "2", "train: a rarer pair makes no token", 1, 1e15,
     NULL, false},
};
static const config_table_t table = {
    .usage =
        "usage: pcp tokenizer train --vocab N --out tokenizer.json FILE...\n"
        "       pcp tokenizer encode|decode --tokenizer FILE [FILE] [FLAGS]\n"
        "       pcp tokenizer show --tokenizer FILE [TEXT]\n\n"
        "train   learn a byte-level BPE from text and write it as Hugging Face's tokenizer.json\n"
        "encode  text (a file, or standard input) to tokens\n"
        "decode  tokens to text\n"
        "show    what the tokenizer is made of; of a TEXT, token by token\n"
        "docs/text.md tells more.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

/* --- in and out --- */

static char *read_stdin(size_t *n, err_t *err)
{
    str_t text = {0};
    char block[65536];
    for (size_t got; (got = fread(block, 1, sizeof block, stdin)) > 0;) str_addn(&text, block, got);
    str_addn(&text, "", 0);
    *n = text.n;
    if (!ferror(stdin)) return text.at;
    err_set_errno(err, "standard input");
    str_fini(&text);
    return NULL;
}

/* The file, or standard input. Returns, caller frees. */
static char *read_input(const config_args_t *args, size_t *n, err_t *err)
{
    const char *path = args->n_operands > 1 ? args->operands[1] : "-";
    if (args->n_operands > 2) {
        err_set(err, ERR_ARG, "\"%s\" is one file too many", args->operands[2]);
        return NULL;
    }
    return strcmp(path, "-") == 0 ? read_stdin(n, err) : file_read(path, n, err);
}

static int write_output(const options_t *o, const char *bytes, size_t n, err_t *err)
{
    if (o->out) return file_write_atomic(o->out, bytes, n, err);
    if (fwrite(bytes, 1, n, stdout) == n) return 0;
    return err_set_errno(err, "standard output");
}

static tokenizer_t *open_tokenizer(const options_t *o, err_t *err)
{
    if (!o->tokenizer)
        err_set(err, ERR_ARG, "say which one: --tokenizer FILE");
    else if (strcmp(o->tokenizer, "char") == 0)
        err_set(err, ERR_ARG, "char is learnt from each text: give the tokenizer.json of a run");
    else if (tokenizer_is_kind(o->tokenizer))
        return tokenizer_new(o->tokenizer, NULL, 0, err);
    else
        return tokenizer_open(o->tokenizer, err);
    return NULL;
}

/* --- train --- */

enum { MAX_SPECIAL = 256 };

/* Cuts the option's text in place. */
static int split_special(char *text, const char **names, size_t *n, err_t *err)
{
    *n = 0;
    for (char *save = NULL, *name = strtok_r(text, ",", &save); name;
         name = strtok_r(NULL, ",", &save)) {
        if (*n == MAX_SPECIAL) return err_set(err, ERR_ARG, "--special: at most %d", MAX_SPECIAL);
        names[(*n)++] = name;
    }
    return 0;
}

static int read_texts(bpe_trainer_t *trainer, const config_args_t *args, err_t *err)
{
    for (int i = 1; i < args->n_operands; i++) {
        file_map_t map;
        if (file_map(args->operands[i], &map, err) < 0) return -1;
        int status = bpe_trainer_add(trainer, (const char *)map.at, map.n, err);
        file_unmap(&map);
        if (status < 0) return err_prefix(err, "%s: ", args->operands[i]);
    }
    return 0;
}

static int learn(const options_t *o, const config_args_t *args, bpe_trainer_t *trainer, err_t *err)
{
    progress_t progress;
    progress_aside(&progress, "counting words");
    int status = read_texts(trainer, args, err);
    while (status == 0 && bpe_trainer_step(trainer)) continue;
    progress_end(&progress);
    if (status < 0) return -1;
    char *json = bpe_trainer_print(trainer);
    status = file_write_atomic(o->out, json, strlen(json), err);
    free(json);
    size_t n = bpe_trainer_tokens(trainer);
    if (status == 0 && n < (size_t)o->vocab)
        fprintf(stderr,
                "pcp tokenizer: %zu tokens, not %lld: no pair is left that is there %lld "
                "times\n",
                n, (long long)o->vocab, (long long)o->min_count);
    return status;
}

static int train(const options_t *o, const config_args_t *args, err_t *err)
{
    const char *names[MAX_SPECIAL];
    char *special = mem_strdup(o->special ? o->special : "");
    bpe_train_options_t options = {.cut = o->cut,
                                   .special = names,
                                   .vocab = (size_t)o->vocab,
                                   .min_count = (uint64_t)o->min_count};
    int status = args->n_operands > 1 && o->out
                     ? split_special(special, names, &options.n_special, err)
                     : err_set(err, ERR_ARG, "train needs --out FILE and texts to learn from");
    bpe_trainer_t *trainer = status == 0 ? bpe_trainer_new(&options, err) : NULL;
    status = trainer ? learn(o, args, trainer, err) : -1;
    bpe_trainer_destroy(&trainer);
    free(special);
    return status;
}

/* --- encode, decode, show --- */

static int add_tokens(const options_t *o, const uint32_t *tokens, size_t n, str_t *out, err_t *err)
{
    size_t bytes = strcmp(o->format, "u16") == 0 ? 2 : strcmp(o->format, "u32") == 0 ? 4 : 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t raw[4] = {tokens[i] & 0xFF, tokens[i] >> 8 & 0xFF, tokens[i] >> 16 & 0xFF,
                          tokens[i] >> 24};
        if (bytes == 2 && tokens[i] > 0xFFFF)
            return err_set(err, ERR_ARG, "token %u does not fit into --format u16", tokens[i]);
        if (bytes > 0)
            str_addn(out, (const char *)raw, bytes);
        else
            str_addf(out, out->n ? " %u" : "%u", tokens[i]);
    }
    return 0;
}

static int encode(const options_t *o, const config_args_t *args, const tokenizer_t *t, err_t *err)
{
    size_t n, n_tokens = 0, n_before, n_behind;
    char *text = read_input(args, &n, err);
    uint32_t *tokens = text ? tokenizer_encode(t, text, n, &n_tokens, err) : NULL;
    const uint32_t *before = tokenizer_before(t, &n_before);
    const uint32_t *behind = tokenizer_behind(t, &n_behind);
    str_t out = {0};
    int status = tokens ? 0 : -1;
    if (!o->framed) n_before = n_behind = 0;
    if (status == 0) status = add_tokens(o, before, n_before, &out, err);
    if (status == 0) status = add_tokens(o, tokens, n_tokens, &out, err);
    if (status == 0) status = add_tokens(o, behind, n_behind, &out, err);
    if (status == 0 && strcmp(o->format, "text") == 0) str_add(&out, "\n");
    if (status == 0) status = write_output(o, str_text(&out), out.n, err);
    str_fini(&out);
    free(tokens);
    free(text);
    return status;
}

static int read_numbers(const char *text, tokens_t *out, err_t *err)
{
    for (const char *p = text; *p;) {
        char *end;
        errno = 0;
        unsigned long token = strtoul(p, &end, 10);
        bool number = end > p && errno == 0 && token <= UINT32_MAX && *p != '-';
        if (number) VEC_PUSH(out, (uint32_t)token);
        p = number ? end : p;
        while (strchr(" \t\r\n,", *p) && *p) p++;
        if (!number && *p)
            return err_set(err, ERR_PARSE, "byte %zu is no token: numbers with blanks between them",
                           (size_t)(p - text));
        if (!number) break;
    }
    return 0;
}

static int read_raw(const char *text, size_t n, size_t bytes, tokens_t *out, err_t *err)
{
    const uint8_t *p = (const uint8_t *)text;
    if (n % bytes) return err_set(err, ERR_PARSE, "%zu bytes are no whole tokens of %zu", n, bytes);
    for (size_t at = 0; at < n; at += bytes) {
        uint32_t token = 0;
        for (size_t i = 0; i < bytes; i++) token |= (uint32_t)p[at + i] << 8 * i;
        VEC_PUSH(out, token);
    }
    return 0;
}

static int decode(const options_t *o, const config_args_t *args, const tokenizer_t *t, err_t *err)
{
    size_t n;
    str_t out = {0};
    tokens_t tokens = {0};
    char *text = read_input(args, &n, err);
    int status = text ? 0 : -1;
    if (status == 0 && strcmp(o->format, "text") == 0)
        status = read_numbers(text, &tokens, err);
    else if (status == 0)
        status = read_raw(text, n, strcmp(o->format, "u16") == 0 ? 2 : 4, &tokens, err);
    tokenizer_decode_text(t, tokens.at, tokens.n, &out);
    if (status == 0) status = write_output(o, str_text(&out), out.n, err);
    VEC_FREE(&tokens);
    str_fini(&out);
    free(text);
    return status;
}

static int show(const options_t *o, const config_args_t *args, const tokenizer_t *t, err_t *err)
{
    str_t out = {0};
    size_t n = 0;
    if (args->n_operands > 2)
        return err_set(err, ERR_ARG, "put the text in quotation marks: \"%s\" is a second one",
                       args->operands[2]);
    if (args->n_operands < 2) {
        tokenizer_describe(t, &out);
    } else {
        const char *text = args->operands[1];
        uint32_t *tokens = tokenizer_encode(t, text, strlen(text), &n, err);
        if (!tokens) return -1;
        for (size_t i = 0; i < n; i++) {
            str_addf(&out, "%8u  \"", tokens[i]);
            tokenizer_decode(t, tokens[i], &out);
            str_addf(&out, "\"%s\n", tokenizer_is_special(t, tokens[i]) ? "  special" : "");
        }
        free(tokens);
    }
    int status = write_output(o, str_text(&out), out.n, err);
    str_fini(&out);
    return status;
}

static const struct {
    const char *verb;
    int (*run)(const options_t *o, const config_args_t *args, const tokenizer_t *t, err_t *err);
} verbs[] = {{"encode", encode}, {"decode", decode}, {"show", show}};

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    const char *verb = args->n_operands > 0 ? args->operands[0] : "";
    if (strcmp(verb, "train") == 0) return train(o, args, err);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(verb, verbs[i].verb) != 0) continue;
        tokenizer_t *tokenizer = open_tokenizer(o, err);
        int status = tokenizer ? verbs[i].run(o, args, tokenizer, err) : -1;
        tokenizer_destroy(&tokenizer);
        return status;
    }
    return err_set(err, ERR_ARG, "say one of train, encode, decode, show");
}

int cmd_tokenizer(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, run, &err);
}
