/* One text of a model that still trains: what `pcp generate --checkpoint ROUND --prompt P --tokens N --seed
 * S --threads 1` writes of that round's checkpoint, by the same rules (choose.h) with their defaults. */
#ifndef INFER_SAMPLE_H
#define INFER_SAMPLE_H

#include "base/str.h"
#include "infer/infer.h"

typedef struct {
    const infer_source_t *model;
    const char *tokenizer; /* its description, JSON */
    const char *prompt;    /* "": a line break */
    int64_t tokens;        /* to write, at most */
    uint64_t seed;         /* same seed, same text, on machines of one kind */
    const char *cache_dir; /* of plans: infer_options_t */
    uint64_t cache_limit;
} sample_t;

/* Append the text behind the prompt to `text`: UTF-8 without NUL, for databases. One thread, its own.
 * Seconds where the plan must be compiled. Errors: infer_open, writer_add, tokenizer_parse. */
int sample_write(const sample_t *self, str_t *text, err_t *err);

#endif
