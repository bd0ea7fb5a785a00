/* Plan code that a device reads, as words: what every reader must refuse. */
#ifndef CODE_BYTES_H
#define CODE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Reads n bytes and lets go of what was read: 0; -1 with err. */
typedef int code_load_fn(const void *bytes, size_t n, err_t *err);

/* A word that is changed, and a part of what the reader says to it. */
typedef struct {
    int at;
    uint32_t word;
    const char *says;
} code_case_t;

/* Of good code, `n` words: each of its beginnings is refused as ERR_CORRUPT; so is each case; and whatever bits
 * turn, it is taken or refused. */
void code_cut_short(code_load_fn *load, const uint32_t *good, size_t n);
void code_wrong_words(code_load_fn *load, const uint32_t *good, size_t n, const code_case_t *cases,
                      size_t n_case);
void code_turned_bits(code_load_fn *load, const uint32_t *good, size_t n);

#endif
