/* A corpus on its way to tokens: read in blocks, tokenized by all cores, written in its order, so that the
 * result is the same with any number of threads, in memory that does not depend on its size.
 *
 * Between two documents stands the tokenizer's end of text (tokenizer_end_of_text), or where it has none
 * the tokens of a line break, if it has them. Shards are tokens already: they are checked and taken as they
 * are. A document without text is none.
 *
 * Of conversations all but the answers is silent (data/token_bytes.h), and what stands between two. */
#ifndef PCP_CORPUS_TOKENS_H
#define PCP_CORPUS_TOKENS_H

#include "data/corpus_reader.h"
#include "pcp/progress.h"
#include "pcp/token_file.h"
#include "text/tokenizer.h"

typedef struct {
    const corpus_t *corpus;
    const char *field; /* of JSON lines: the one with the text */
    int n_threads;     /* 0: one a core */
    const char
        *messages; /* JSON lines are conversations, by this chat template; auto: the tokenizer's, or
                           * plain; NULL or "": they are texts */
    progress_t *progress; /* may be NULL: hears how many bytes are done */
} corpus_way_t;

/* The char tokenizer of all its texts. Errors as below. */
tokenizer_t *corpus_char_tokenizer(const corpus_way_t *way, err_t *err);

/* All its tokens into `out`. ERR_IO, ERR_CORRUPT, ERR_PARSE, ERR_ARG name the file, and the line or byte of
 * its text. */
int corpus_tokens(const corpus_way_t *way, const tokenizer_t *tokenizer, token_file_t *out,
                  err_t *err);

#endif
