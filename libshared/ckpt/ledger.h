/* ledger.json of a checkpoint: where its run stands, so that it goes on as if nothing had happened.
 *
 *   {"format": "pcp-ledger", "version": 1, "run": "demo", "round": 12, "tokens": 98304,
 *    "windows": 4000, "seed": 1337, "cursor": [0, 768, 0], "returned": [[0, 512, 16], ...],
 *    "states": ["<hash or empty>", ...]}
 *
 * A range is [epoch, start, count]. `round` rounds are committed, no lease of the next is drawn
 * yet: the parameters enter that round, and so does the inner state of each replica (empty: zero
 * moments). There is no generator to save: every random number is a function of the seed and its
 * place (base/rng.h, data/range.h). */
#ifndef CKPT_LEDGER_H
#define CKPT_LEDGER_H

#include <stddef.h>

#include "base/err.h"
#include "base/hash.h"
#include "data/range.h"

#define LEDGER_FILE "ledger.json" /* in the checkpoint */

enum { LEDGER_REPLICAS = 65536, LEDGER_RANGES = 1 << 20 };

typedef struct {
    char *run;
    uint64_t round, tokens;
    uint64_t n_windows; /* of an epoch */
    uint64_t seed;
    data_range_t cursor; /* behind all windows leased so far; its count is 0 */
    size_t n_returned;
    data_range_t *returned; /* leased, not trained: to be leased first */
    size_t n_state;
    char (*state)[HASH_HEX]; /* by replica */
} ledger_t;

/* JSON text. Returns, caller frees. */
char *ledger_print(const ledger_t *self);

/* Fill a ledger from JSON text nobody vouches for; free it with ledger_fini. ERR_CORRUPT names the
 * key. */
int ledger_parse(const char *text, size_t n, ledger_t *out, err_t *err);
void ledger_fini(ledger_t *self);

/* The file of a checkpoint that holds a replica's state: "replica-0003.state". */
void ledger_state_name(size_t replica, char name[32]);

#endif
