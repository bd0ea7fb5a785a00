/* A corpus from its beginning to its end, in blocks of half a megabyte that can be made tokens of one
 * by one, by any thread. Where blocks are cut depends on the bytes alone:
 *
 *   text    behind a line break, if there is one in the block's second half: the last one that stands
 *           alone between two characters that are no white space, else the last one; without any,
 *           between two characters
 *   jsonl   behind a line
 *   tokens  anywhere
 *
 * One thread. */
#ifndef DATA_CORPUS_READER_H
#define DATA_CORPUS_READER_H

#include <stddef.h>

#include "data/corpus.h"

enum {
    CORPUS_BLOCK_BYTES = 1 << 19,
    CORPUS_LINE_BYTES = 64 << 20, /* most of a line of JSON */
};

typedef enum { BLOCK_TEXT, BLOCK_JSONL, BLOCK_TOKENS } corpus_block_kind_t;

typedef struct {
    corpus_block_kind_t kind;
    const char *name;  /* of its file; borrowed while the corpus lives */
    bool begins;       /* text: a document begins with it */
    int token_bytes;   /* tokens: 1, 2 or 4 each, little-endian */
    uint64_t at, line; /* of its first byte in the unpacked file; of its first line, from 1 */
    size_t n;
    char *bytes; /* owned */
} corpus_block_t;

typedef struct corpus_reader corpus_reader_t;

/* What files that are no shards are: */
typedef enum {
    CORPUS_AS_TEXT,  /* texts and lines of JSON by their names; .bin has to be a shard */
    CORPUS_AS_BYTES, /* the same, and .bin is a text where it is no shard */
    CORPUS_AS_TOKENS /* tokens of two bytes; of one or four where the name ends in .u8, .u32 */
} corpus_view_t;

/* The corpus is borrowed. Returns, caller closes. */
corpus_reader_t *corpus_reader_open(const corpus_t *corpus, corpus_view_t view);
void corpus_reader_close(corpus_reader_t **self_p);

/* The next block, never empty: 1; 0: there are no more. ERR_IO, ERR_CORRUPT; ERR_PARSE: no whole tokens, a
 * .bin that is no shard, a line that is too long; ERR_ARG: shards beside texts. */
int corpus_reader_next(corpus_reader_t *self, corpus_block_t *out, err_t *err);

/* Bytes of the corpus' files that are behind us. */
uint64_t corpus_reader_done(const corpus_reader_t *self);

#endif
