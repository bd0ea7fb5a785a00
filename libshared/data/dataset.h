/* Token data: u16 little-endian tokens, cut into units.
 *
 *   windows  stride T, each reads T + 1 tokens: input = w[0, T), target = w[1, T + 1)
 *   records  R tokens each, side by side; fill the integer arguments in order, without shift
 *            (models whose inputs are no next-token windows; golden traces)
 *
 * The first tokens train, the last validate; windows never cross the border. Read-only after
 * opening: threads may share it. */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef enum { DATA_WINDOWS, DATA_RECORDS } data_kind_t;
typedef enum { DATA_TRAIN, DATA_VALIDATION } data_split_t;

typedef struct {
    data_kind_t kind;
    uint64_t unit;     /* T of a window, R of a record; >= 1 */
    double validation; /* fraction of the tokens (records: of the records) kept apart, [0, 1) */
} dataset_options_t;

typedef struct dataset dataset_t;

/* A file of raw u16 tokens, memory-mapped. ERR_IO; ERR_ARG: an odd size, or too short for one unit
 * of training data (says how many tokens there are and are needed). */
dataset_t *dataset_open(const char *path, const dataset_options_t *options, err_t *err);

/* The same over tokens in memory, copied. `name` appears in errors. */
dataset_t *dataset_from_tokens(const char *name, const uint16_t *tokens, size_t n,
                               const dataset_options_t *options, err_t *err);
void dataset_destroy(dataset_t **self_p);

uint64_t dataset_tokens(const dataset_t *self, data_split_t split);
uint64_t dataset_units(const dataset_t *self,
                       data_split_t split);          /* floor((tokens - 1) / T) | tokens / R */
uint64_t dataset_unit_tokens(const dataset_t *self); /* T + 1 | R: what one unit reads */

/* The tokens of one unit; borrowed. NULL with ERR_ARG: outside [0, units). */
const uint16_t *dataset_unit(const dataset_t *self, data_split_t split, uint64_t unit, err_t *err);

/* Largest token anywhere: for a check against a model's vocabulary before a run (one full read). */
uint16_t dataset_max_token(const dataset_t *self);

#endif
