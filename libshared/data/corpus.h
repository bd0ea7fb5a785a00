/* The files of a corpus, as --data names them:
 *
 *   a file       .txt or any other name: a text, which is one document; .jsonl: a document a line;
 *                .bin: a token shard if it begins as one (data/token_shard.h). Each of them may be packed
 *                (.gz, .zst behind it: data/packed_file.h)
 *   a directory  the files in it and below it with one of these endings, by the bytes of their paths;
 *                what begins with a dot is passed over
 *   a pattern    what the shell would make of *, ? and [], by the bytes of the paths
 *   A,B,...      several of these, in their order, where there is no file of that whole name
 *
 * It knows names, not contents. One thread. */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

typedef enum { CORPUS_TEXT, CORPUS_JSONL, CORPUS_BIN } corpus_kind_t;

typedef struct {
    char *name; /* as people know it */
    char *path; /* to be opened; NULL: the name */
    int fd;     /* of what a pipe held, which `path` names; -1 */
    corpus_kind_t kind;
    uint64_t n_bytes; /* on the disk; 0: a pipe */
} corpus_file_t;

typedef struct {
    VEC(corpus_file_t) file; /* at least one */
    uint64_t n_bytes;
} corpus_t;

/* What `data` names. ERR_IO: nothing is there, or may not be read; ERR_ARG: a directory or pattern without
 * a file. End it with corpus_fini, also after an error. */
int corpus_find(const char *data, corpus_t *out, err_t *err);

/* Pipes can be read once, and a corpus is read twice by some: what they hold goes to files without a name
 * in `dir`. ERR_IO. */
int corpus_store_pipes(corpus_t *self, const char *dir, err_t *err);
void corpus_fini(corpus_t *self);

/* `data` with each part by its path from the root; NULL of NULL. Returns, caller frees. */
typedef char *corpus_path_fn(const char *path); /* returns, caller frees */
char *corpus_absolute(const char *data, corpus_path_fn *absolute);

#endif
