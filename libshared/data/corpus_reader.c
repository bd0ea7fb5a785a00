/* Blocks of a corpus: what a cut leaves behind is the beginning of the next block. */
#include "data/corpus_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/packed_file.h"
#include "data/token_bytes.h"
#include "data/token_shard.h"

struct corpus_reader {
    const corpus_t *corpus;
    corpus_view_t view;
    size_t next; /* file to be opened */
    const corpus_file_t *file;
    packed_file_t *in; /* NULL: between two files */
    corpus_block_kind_t kind;
    token_shard_t shard;       /* its n_tokens: those that are left; token_bytes 0: no shard */
    const char *text, *shards; /* names of the first of each kind */
    uint64_t at, line, done;
    bool begins, ended;
    char *rest; /* read, and in no block yet */
    size_t n_rest, n_room;
};

corpus_reader_t *corpus_reader_open(const corpus_t *corpus, corpus_view_t view)
{
    corpus_reader_t *self = mem_calloc(1, sizeof *self);
    self->corpus = corpus;
    self->view = view;
    self->n_room = CORPUS_BLOCK_BYTES;
    self->rest = mem_calloc(1, self->n_room);
    return self;
}

void corpus_reader_close(corpus_reader_t **self_p)
{
    corpus_reader_t *self = *self_p;
    if (!self) return;
    packed_file_close(&self->in);
    free(self->rest);
    free(self);
    *self_p = NULL;
}

uint64_t corpus_reader_done(const corpus_reader_t *self)
{
    return self->done + (self->in ? packed_file_done(self->in) : 0);
}

/* As much as there is room for. */
static int fill(corpus_reader_t *self, err_t *err)
{
    size_t got = 0, n = self->n_room - self->n_rest;
    if (packed_file_read(self->in, self->rest + self->n_rest, n, &got, err) < 0) return -1;
    self->n_rest += got;
    self->ended = got < n;
    return 0;
}

/* --- a file --- */

static int check_mix(corpus_reader_t *self, err_t *err)
{
    const char **first = self->shard.token_bytes ? &self->shards : &self->text;
    if (!*first) *first = self->file->name;
    if (!self->shards || !self->text || self->view == CORPUS_AS_TOKENS) return 0;
    return err_set(
        err, ERR_ARG,
        "%s holds tokens and %s text: one run takes the one or the other; give --data the "
        "files of one kind",
        self->shards, self->text);
}

static int begin_shard(corpus_reader_t *self, err_t *err)
{
    if (token_shard_read(self->rest, self->n_rest, &self->shard, err) < 0)
        return err_prefix(err, "%s: ", self->file->name);
    self->kind = BLOCK_TOKENS;
    self->at = TOKEN_SHARD_HEADER;
    self->n_rest -= TOKEN_SHARD_HEADER;
    memmove(self->rest, self->rest + TOKEN_SHARD_HEADER, self->n_rest);
    return 0;
}

/* What the file is, by its name and its first bytes. */
static int find_kind(corpus_reader_t *self, err_t *err)
{
    corpus_kind_t named = self->file->kind;
    self->shard = (token_shard_t){0};
    self->kind = self->view == CORPUS_AS_TOKENS ? BLOCK_TOKENS
                 : named == CORPUS_JSONL        ? BLOCK_JSONL
                                                : BLOCK_TEXT;
    if (named != CORPUS_BIN) return 0;
    if (token_shard_is(self->rest, self->n_rest)) return begin_shard(self, err);
    if (self->view != CORPUS_AS_TEXT) return 0;
    return err_set(
        err, ERR_PARSE,
        "%s: it does not begin as a token shard (magic number 20240520 or 20240801); u16 "
        "tokens without a header are taken by --tokenizer raw",
        self->file->name);
}

static int open_next(corpus_reader_t *self, err_t *err)
{
    self->file = &self->corpus->file.at[self->next++];
    self->in = packed_file_open(self->file->name, self->file->path, err);
    self->at = 0;
    self->line = 1;
    self->begins = true;
    if (!self->in || fill(self, err) < 0 || find_kind(self, err) < 0) return -1;
    return check_mix(self, err);
}

static int close_file(corpus_reader_t *self, err_t *err)
{
    uint64_t missing = self->shard.token_bytes ? self->shard.n_tokens : 0;
    if (missing)
        return err_set(err, ERR_CORRUPT,
                       "%s: %llu tokens are missing at its end: it was cut off, fetch it again",
                       self->file->name, (unsigned long long)missing);
    self->done += packed_file_done(self->in);
    packed_file_close(&self->in);
    self->shard = (token_shard_t){0};
    return 0;
}

/* --- where a block ends --- */

static bool is_blank(unsigned code)
{
    return code <= ' ' || (code >= 0x7F && code <= 0xA0) || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200F) || (code >= 0x2028 && code <= 0x202F) ||
           code == 0x205F || code == 0x3000 || code == 0xFEFF;
}

/* The character that text[0, n) ends with is none of white space. */
static bool ends_in_ink(const char *text, size_t n)
{
    for (size_t i = 1; i <= 4 && i <= n; i++) {
        unsigned code;
        if (utf8_next(text + n - i, i, &code) == i) return !is_blank(code);
    }
    return false;
}

static bool begins_with_ink(const char *text, size_t n)
{
    unsigned code;
    return utf8_next(text, n, &code) > 0 && !is_blank(code);
}

/* Where no character of the last four bytes is cut. */
static size_t cut_character(const char *text, size_t n)
{
    for (size_t i = 1; i <= 3; i++) {
        unsigned char byte = (unsigned char)text[n - i];
        size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        if (byte < 0x80) break;
        if (length > 1) return length > i ? n - i : n;
    }
    return n;
}

static size_t cut_text(const char *text, size_t n)
{
    size_t any = 0;
    for (size_t end = n - 4; end > n / 2; end--) { /* 4 bytes are the next character */
        if (text[end - 1] != '\n') continue;
        if (!any) any = end;
        if (ends_in_ink(text, end - 1) && begins_with_ink(text + end, n - end)) return end;
    }
    return any ? any : cut_character(text, n);
}

/* 0: the line is longer than there is room. */
static size_t cut_lines(const char *text, size_t n)
{
    const char *last = memrchr(text, '\n', n);
    return last ? (size_t)(last - text) + 1 : 0;
}

static int bytes_of_token(const corpus_reader_t *self)
{
    return self->shard.token_bytes ? self->shard.token_bytes : token_bytes_named(self->file->name);
}

static size_t cut_tokens(const corpus_reader_t *self)
{
    size_t bytes = (size_t)bytes_of_token(self);
    return self->n_rest / bytes * bytes;
}

/* Bytes of the rest that are the next block: 0 if there is none in it. */
static size_t cut(const corpus_reader_t *self)
{
    if (self->kind == BLOCK_TOKENS) return cut_tokens(self);
    if (self->ended) return self->n_rest;
    return self->kind == BLOCK_TEXT ? cut_text(self->rest, self->n_rest)
                                    : cut_lines(self->rest, self->n_rest);
}

/* --- blocks --- */

static int more_room(corpus_reader_t *self, err_t *err)
{
    if (self->n_room >= CORPUS_LINE_BYTES)
        return err_set(err, ERR_PARSE,
                       "%s:%llu: a line of more than %d MiB: JSON lines have a document each",
                       self->file->name, (unsigned long long)self->line, CORPUS_LINE_BYTES >> 20);
    self->rest = mem_realloc(self->rest, self->n_room *= 2);
    return 0;
}

static uint64_t count_lines(const char *text, size_t n)
{
    uint64_t lines = 0;
    for (const char *end = text + n; (text = memchr(text, '\n', (size_t)(end - text))); text++)
        lines++;
    return lines;
}

/* What lies behind the tokens that the header counts is none of them. */
static size_t within_shard(corpus_reader_t *self, size_t n)
{
    size_t bytes = (size_t)self->shard.token_bytes;
    if (!bytes) return n;
    if (n / bytes > self->shard.n_tokens) n = (size_t)self->shard.n_tokens * bytes;
    self->shard.n_tokens -= n / bytes;
    return n;
}

static void take(corpus_reader_t *self, size_t n, corpus_block_t *out)
{
    size_t used = within_shard(self, n);
    *out = (corpus_block_t){.kind = self->kind,
                            .name = self->file->name,
                            .begins = self->begins,
                            .token_bytes = bytes_of_token(self),
                            .at = self->at,
                            .line = self->line,
                            .n = used,
                            .bytes = mem_calloc(1, used + 1)};
    memcpy(out->bytes, self->rest, used);
    if (self->kind == BLOCK_JSONL) self->line += count_lines(self->rest, n);
    self->begins = false;
    self->at += n;
    self->n_rest -= n;
    memmove(self->rest, self->rest + n, self->n_rest);
}

static int odd_tokens(const corpus_reader_t *self, err_t *err)
{
    return err_set(err, ERR_PARSE, "%s: %llu bytes are no whole number of %s tokens",
                   self->file->name, (unsigned long long)(self->at + self->n_rest),
                   token_bytes_ending(bytes_of_token(self)));
}

int corpus_reader_next(corpus_reader_t *self, corpus_block_t *out, err_t *err)
{
    for (;;) {
        if (!self->in && self->next == self->corpus->file.n) return 0;
        if (!self->in ? open_next(self, err) < 0 : !self->ended && fill(self, err) < 0) return -1;
        size_t n = cut(self);
        if (n > 0) {
            take(self, n, out);
            if (out->n > 0) return 1;
            free(out->bytes);
        } else if (!self->ended) {
            if (more_room(self, err) < 0) return -1;
        } else if (self->n_rest > 0 && !self->shard.token_bytes) {
            return odd_tokens(self, err);
        } else {
            self->n_rest = 0;
            if (close_file(self, err) < 0) return -1;
        }
    }
}
