/* Token data in units -> the integer batch arguments of a module.
 *
 * Tokens are numbers of 1, 2 or 4 bytes (data/token_bytes.h), cut into units:
 *   windows  stride T, each reads T + 1 tokens: input = w[0, T), target = w[1, T + 1)
 *   records  R tokens each, side by side (models whose inputs are no next-token windows; golden
 *            traces)
 * The layout says how many units one micro-batch eats and how they spread over the arguments:
 *   windows  two arguments (inputs, targets) of the same size; the first one's last dimension is T;
 *            each row takes one window. A third one, f32, is what each target counts: 1, or 0 where
 *            its token is silent (data/token_bytes.h); without it no token may be
 *   records  one record fills all arguments in order, row-major, without shift
 *   rows     one record fills a row of each argument, in order, with its bytes, whatever their types:
 *            the arguments have one first dimension; records are padded to whole u16
 * Pure functions. */
#ifndef DATA_BATCH_H
#define DATA_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ir/type.h"

enum { BATCH_MAX_ARGS = 16 };

typedef enum { DATA_WINDOWS, DATA_RECORDS, DATA_ROWS } data_kind_t;
data_kind_t batch_kind(const char *word); /* "windows", "records", "rows"; others: windows */

typedef struct {
    data_kind_t kind;
    int n_arg;
    int token_bytes;                    /* 1, 2 or 4; rows: 2 */
    dtype_t dtype[BATCH_MAX_ARGS];      /* i8..i64, ui8..ui64; rows: any of whole bytes */
    uint64_t n[BATCH_MAX_ARGS];         /* elements */
    uint64_t row_bytes[BATCH_MAX_ARGS]; /* rows: of one row */
    uint64_t unit;                      /* T or R */
    uint64_t unit_tokens;               /* tokens one unit reads */
    uint64_t units;                     /* units per micro-batch */
    uint64_t tokens;                    /* tokens trained per micro-batch: units * unit */
} batch_layout_t;

/* The layout of a module's batch arguments, for tokens of two bytes; token_bytes may be changed then, but
 * for rows. ERR_SHAPE / ERR_TYPE say why a kind does not fit and,
 * for windows, that records may. */
int batch_layout(data_kind_t kind, const ir_type_t *types, int n_arg, batch_layout_t *out,
                 err_t *err);

/* Whole units in so many tokens: floor((tokens - 1) / T), as each window reads one token of the next
 * one, or floor(tokens / R). */
uint64_t batch_units(const batch_layout_t *self, uint64_t tokens);

/* A validation reads a sample: whole batches of at most `most` tokens (at least one batch), 0: of
 * all. Its units are the first of the permutation of them all (data/shuffle.h) by
 * BATCH_SAMPLE_SEED, so that it is spread over the whole text and the same each time, for each run
 * over this text; without `sampled` they are all batches, in order. */
typedef struct {
    uint64_t batches;
    bool sampled;
} batch_sample_t;
batch_sample_t batch_sample(const batch_layout_t *self, uint64_t n_units, uint64_t most);

enum { BATCH_SAMPLE_SEED = 65536 };

/* Fill one micro-batch: unit u of it lies at tokens[u * unit_tokens]. n_tokens must be units *
 * unit_tokens; args[i] has room for n[i] elements of dtype[i]. vocab 0: any token; otherwise
 * ERR_ARG names the first token >= vocab and its place. A token that its argument's type cannot
 * hold is ERR_TYPE. Args are unspecified after an error. */
int batch_fill(const batch_layout_t *self, const void *tokens, size_t n_tokens, uint32_t vocab,
               void *const *args, err_t *err);

#endif
