/* What the run is made of, as it lies at the aggregators, and the courier that brings it there. */
#ifndef SHEPHERD_BULK_H
#define SHEPHERD_BULK_H

#include "base/hash.h"
#include "shepherd/bulk/layout.h"

typedef struct {
    char module_hash[HASH_HEX], train_hash[HASH_HEX], validation_hash[HASH_HEX];
    char tokenizer_hash[HASH_HEX]; /* "": there is none */
    uint64_t train_tokens, validation_tokens;
    layout_t layout;  /* n 0: not known yet; from the first plan */
    bool busy;        /* the courier has a job, checkpoints while training apart */
    char waits[1024]; /* what that waits for; "" */
} bulk_t;

#endif
