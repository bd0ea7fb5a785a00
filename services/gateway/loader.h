/* The thread that brings weights into memory: those of a checkpoint, and, where it is to follow a run,
 * of each newer one. */
#ifndef GATEWAY_LOADER_H
#define GATEWAY_LOADER_H

#include <czmq.h>

#include "base/hash.h"
#include "infer/infer.h"
#include "text/tokenizer.h"

typedef struct {
    const char *path; /* as run_checkpoint_open's; borrowed until loader_destroy, as the rest */
    infer_options_t infer;
    int64_t follow_ms; /* between looks for a newer checkpoint; 0: never */
} loader_options_t;

/* What was loaded; or why not. Its receiver owns the parts, and frees the rest by loaded_free. */
typedef struct {
    infer_t *model;
    tokenizer_t *tokenizer; /* the first time only; newer checkpoints have the same one */
    infer_facts_t facts;
    char *description; /* the tokenizer's, and its content hash; likewise */
    char tokenizer_hash[HASH_HEX];
    char *path; /* of the checkpoint */
    char hash
        [40]; /* the beginning of its manifest's, and what was said of how matrices, keys and values are kept */
    int64_t round;
    char *error; /* names the directory, or a file of it; else NULL */
} loaded_t;

typedef struct loader loader_t;

loader_t *loader_new(const loader_options_t *options);
void loader_destroy(loader_t **self_p);   /* waits for what is being loaded */
zsock_t *loader_socket(loader_t *self);   /* readable: something was loaded */
loaded_t *loader_receive(loader_t *self); /* NULL: nothing */
void loaded_free(loaded_t *loaded);

#endif
