/* The reader and the writer are this thread, between them are the others. */
#include "pcp/corpus_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/ordered.h"
#include "data/jsonl.h"
#include "data/token_bytes.h"
#include "serve/chat.h"

enum {
    MOST_THREADS = 32,
    SPARE = 4,            /* blocks on their way beside those in threads' hands */
    MOST_OPEN = 64 << 20, /* bytes of them all: a line may be long */
};

typedef struct {
    corpus_block_t block;
    tokens_t tokens;
    size_t n_docs; /* that begin in it */
    err_t err;
} job_t;

typedef struct {
    tokenizer_encoder_t *encoder;
    tokenizer_symbols_t *symbols;
    str_t doc;
} thread_t;

typedef struct {
    const corpus_way_t *way;
    const tokenizer_t *tokenizer; /* NULL: symbols are collected */
    const chat_template_t *chat;  /* of conversations; NULL: texts */
    corpus_reader_t *reader;
    tokens_t between; /* two documents */
    uint32_t limit;   /* of shards' tokens */
    token_file_t *out;
    thread_t thread[MOST_THREADS];
    int n_threads;
    size_t n_docs, open; /* so far; bytes on their way */
} line_t;

/* --- one block, in any thread --- */

static int add_text(const line_t *self, thread_t *thread, const char *text, size_t n, uint64_t at,
                    job_t *job)
{
    if (!self->tokenizer) return tokenizer_symbols_add(thread->symbols, text, n, at, &job->err);
    return tokenizer_encoder_add(thread->encoder, text, n, at, &job->tokens, &job->err);
}

/* --- conversations --- */

typedef struct {
    const line_t *line;
    thread_t *thread;
    job_t *job;
} talk_t;

static int add_piece(void *user, const char *text, size_t n, bool answer, err_t *err)
{
    const talk_t *talk = user;
    tokens_t *tokens = &talk->job->tokens;
    size_t before = tokens->n;
    (void)err; /* the job's */
    if (add_text(talk->line, talk->thread, text, n, 0, talk->job) < 0) return -1;
    for (size_t i = before; !answer && i < tokens->n; i++) tokens->at[i] |= TOKEN_SILENT;
    return 0;
}

static int add_conversation(const line_t *self, thread_t *thread, job_t *job)
{
    talk_t talk = {self, thread, job};
    chat_messages_t messages;
    size_t n_before = 0;
    const uint32_t *before = self->tokenizer ? tokenizer_before(self->tokenizer, &n_before) : NULL;
    for (size_t i = 0; i < n_before; i++) VEC_PUSH(&job->tokens, before[i] | TOKEN_SILENT);
    int rc = chat_messages_read(thread->doc.at, thread->doc.n, &messages, &job->err);
    if (rc == 0) rc = chat_pieces(self->chat, messages.at, messages.n, add_piece, &talk, &job->err);
    chat_messages_fini(&messages);
    return rc;
}

static void add_between(const line_t *self, job_t *job)
{
    for (size_t i = 0; i < self->between.n; i++) VEC_PUSH(&job->tokens, self->between.at[i]);
}

static int add_lines(const line_t *self, thread_t *thread, job_t *job)
{
    const corpus_block_t *block = &job->block;
    uint64_t line = block->line;
    size_t at = 0;
    for (;;) {
        int rc = jsonl_next(block->bytes, block->n, self->chat ? "messages" : self->way->field,
                            self->chat != NULL, &at, &line, &thread->doc, &job->err);
        if (rc <= 0) return rc < 0 ? err_prefix(&job->err, "%s:", block->name) : 0;
        if (thread->doc.n == 0) continue;
        if (job->n_docs++ > 0) add_between(self, job);
        int added = self->chat ? add_conversation(self, thread, job)
                               : add_text(self, thread, thread->doc.at, thread->doc.n, 0, job);
        if (added < 0)
            return err_prefix(&job->err, "%s:%llu: ", block->name, (unsigned long long)line - 1);
    }
}

static int add_tokens(const line_t *self, job_t *job)
{
    const corpus_block_t *block = &job->block;
    size_t bytes = (size_t)block->token_bytes;
    VEC_RESERVE(&job->tokens, block->n / bytes);
    for (size_t at = 0; at < block->n; at += bytes) {
        uint32_t token = 0;
        memcpy(&token, block->bytes + at, bytes); /* the host is little-endian */
        if (token >= self->limit)
            return err_set(
                &job->err, ERR_ARG,
                "%s: the token %u at byte %llu is not below %u, the tokenizer's vocabulary: "
                "give --tokenizer the one that the file was made with",
                block->name, token, (unsigned long long)(block->at + at), self->limit);
        job->tokens.at[job->tokens.n++] = token;
    }
    return 0;
}

static void work(void *user, int number, void *given)
{
    line_t *self = user;
    job_t *job = given;
    thread_t *thread = &self->thread[number];
    const corpus_block_t *block = &job->block;
    if (block->kind == BLOCK_TOKENS) {
        add_tokens(self, job);
    } else if (block->kind == BLOCK_JSONL) {
        add_lines(self, thread, job);
    } else {
        job->n_docs = block->begins;
        if (add_text(self, thread, block->bytes, block->n, block->at, job) < 0)
            err_prefix(&job->err, "%s: ", block->name);
    }
}

/* --- all of them, in their order --- */

static void job_free(job_t *job)
{
    if (!job) return;
    free(job->block.bytes);
    VEC_FREE(&job->tokens);
    free(job);
}

static int write_job(line_t *self, const job_t *job, err_t *err)
{
    if (job->err.code) return err_set(err, job->err.code, "%s", job->err.text);
    bool joins = self->n_docs > 0 && job->n_docs > 0;
    self->n_docs += job->n_docs;
    if (!self->out) return 0;
    if (joins && token_file_add(self->out, self->between.at, self->between.n, err) < 0) return -1;
    return token_file_add(self->out, job->tokens.at, job->tokens.n, err);
}

static int check_block(const line_t *self, const corpus_block_t *block, err_t *err)
{
    const tokenizer_t *t = self->tokenizer;
    bool makes_its_own = !t || strcmp(tokenizer_kind(t), "byte") == 0;
    if (self->chat && block->kind != BLOCK_JSONL)
        return err_set(err, ERR_ARG, "%s: --messages takes JSON lines alone", block->name);
    if (block->kind != BLOCK_TOKENS || !makes_its_own) return 0;
    return err_set(err, ERR_ARG, "%s holds tokens: give --tokenizer the one that made them, or raw",
                   block->name);
}

/* One block more into the threads' hands: 1; 0: there is none. */
static int read_job(line_t *self, ordered_t *ordered, err_t *err)
{
    corpus_block_t block;
    int rc = corpus_reader_next(self->reader, &block, err);
    if (rc <= 0) return rc;
    job_t *job = mem_calloc(1, sizeof *job);
    job->block = block;
    if (check_block(self, &block, err) < 0) {
        job_free(job);
        return -1;
    }
    self->open += block.n;
    ordered_give(ordered, job);
    return 1;
}

static void tell(const line_t *self)
{
    progress_t *progress = self->way->progress;
    if (progress)
        progress_at(progress, (double)corpus_reader_done(self->reader),
                    (double)self->way->corpus->n_bytes, PROGRESS_BYTES);
}

/* What was read is written, so that the first fault in the corpus is the one that is told. */
static int run(line_t *self, ordered_t *ordered, err_t *err)
{
    err_t at_reading = {0};
    int reads = 1, rc = 0;
    for (job_t *job = NULL;; job_free(job)) {
        while (rc == 0 && reads > 0 && !ordered_full(ordered) && self->open < MOST_OPEN)
            reads = read_job(self, ordered, &at_reading);
        job = ordered_take(ordered);
        if (!job) break;
        self->open -= job->block.n;
        if (rc == 0) rc = write_job(self, job, err);
        tell(self);
    }
    if (rc == 0 && reads < 0) rc = err_set(err, at_reading.code, "%s", at_reading.text);
    return rc;
}

static corpus_view_t view_of(const tokenizer_t *tokenizer)
{
    const char *kind = tokenizer ? tokenizer_kind(tokenizer) : "char";
    return strcmp(kind, "raw") == 0    ? CORPUS_AS_TOKENS
           : strcmp(kind, "byte") == 0 ? CORPUS_AS_BYTES
                                       : CORPUS_AS_TEXT;
}

static int find_chat(line_t *self, err_t *err)
{
    const char *name = self->way->messages;
    if (!name || !*name) return 0;
    if (strcmp(name, "auto") != 0)
        self->chat = chat_find(name);
    else if (self->tokenizer)
        self->chat = chat_recognise(self->tokenizer);
    if (!self->chat && strcmp(name, "auto") == 0) self->chat = chat_find("plain");
    if (self->chat) return 0;
    return err_set(err, ERR_ARG, "--messages %s: known are auto|%s", name, chat_names());
}

static int run_line(line_t *self, err_t *err)
{
    if (find_chat(self, err) < 0) return -1;
    int n = self->way->n_threads ? self->way->n_threads : cpus_count();
    self->n_threads = n < MOST_THREADS ? n : MOST_THREADS;
    for (int i = 0; i < self->n_threads; i++) {
        if (self->tokenizer) self->thread[i].encoder = tokenizer_encoder_new(self->tokenizer);
        if (!self->tokenizer) self->thread[i].symbols = tokenizer_symbols_new();
    }
    self->reader = corpus_reader_open(self->way->corpus, view_of(self->tokenizer));
    ordered_t *ordered = ordered_new(self->n_threads, (size_t)self->n_threads + SPARE, work, self);
    int rc = run(self, ordered, err);
    ordered_destroy(&ordered);
    corpus_reader_close(&self->reader);
    return rc;
}

static void line_fini(line_t *self)
{
    for (int i = 0; i < self->n_threads; i++) {
        tokenizer_encoder_destroy(&self->thread[i].encoder);
        tokenizer_symbols_destroy(&self->thread[i].symbols);
        str_fini(&self->thread[i].doc);
    }
    VEC_FREE(&self->between);
}

/* --- a corpus --- */

tokenizer_t *corpus_char_tokenizer(const corpus_way_t *way, err_t *err)
{
    line_t line = {.way = way};
    tokenizer_t *made = NULL;
    if (run_line(&line, err) == 0) {
        tokenizer_symbols_t *all = line.thread[0].symbols;
        for (int i = 1; i < line.n_threads; i++)
            tokenizer_symbols_take(all, line.thread[i].symbols);
        if (line.n_docs > 1) tokenizer_symbols_add(all, "\n", 1, 0, NULL);
        made = tokenizer_new_char(all, err);
    }
    line_fini(&line);
    return made;
}

static void find_between(const tokenizer_t *tokenizer, bool silent, tokens_t *out)
{
    size_t n = 0;
    int64_t end = tokenizer_end_of_text(tokenizer);
    uint32_t *tokens = end < 0 ? tokenizer_encode(tokenizer, "\n", 1, &n, NULL) : NULL;
    if (end >= 0) VEC_PUSH(out, (uint32_t)end);
    for (size_t i = 0; tokens && i < n; i++) VEC_PUSH(out, tokens[i]);
    for (size_t i = 0; silent && i < out->n; i++) out->at[i] |= TOKEN_SILENT;
    free(tokens);
}

int corpus_tokens(const corpus_way_t *way, const tokenizer_t *tokenizer, token_file_t *out,
                  err_t *err)
{
    int vocab = tokenizer_vocab(tokenizer);
    line_t line = {.way = way, .tokenizer = tokenizer, .out = out};
    line.limit = vocab ? (uint32_t)vocab : out->limit;
    find_between(tokenizer, way->messages && *way->messages, &line.between);
    int rc = run_line(&line, err);
    line_fini(&line);
    return rc;
}
