/* The tokens of a run on their way to its directory: of 1, 2 or 4
 * bytes each, little-endian, first those to train
 * on, then those to validate on. They go to a temporary file as they come, so that a text may be
 * larger than memory; nothing has its name before token_file_keep. One thread. */
#ifndef PCP_TOKEN_FILE_H
#define PCP_TOKEN_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { TOKEN_FILE_BUFFER = 1 << 17 };

typedef struct {
    char *path, *temporary;
    int fd;
    size_t bytes;    /* of a token */
    uint32_t limit;  /* tokens are below it, for so many bytes hold no others */
    size_t n;        /* tokens so far */
    uint32_t top;    /* the largest of them */
    size_t n_buffer; /* bytes */
    char buffer[TOKEN_FILE_BUFFER];
} token_file_t;

/* For `path`, in a directory that is there; the ending of its name says how many bytes a token takes
 * (data/token_bytes.h). Returns, to be ended by drop; NULL with ERR_IO. */
token_file_t *token_file_new(const char *path, err_t *err);

/* Append. Tokens are below the limit. ERR_IO: a full disk. */
int token_file_add(token_file_t *self, const uint32_t *tokens, size_t n, err_t *err);
int token_file_add_u16(token_file_t *self, const uint16_t *tokens, size_t n, err_t *err);

/* The last n_rest tokens go to the file `rest`, those before them to the path given: durable, whole
 * or not at all. The file is closed then. ERR_IO. */
int token_file_keep(token_file_t *self, size_t n_rest, const char *rest, err_t *err);

/* What was not kept is removed. NULL does nothing. */
void token_file_drop(token_file_t **self_p);

#endif
