/* Can a run go on from a checkpoint? Asked before anything is written, and by its shepherd. */
#ifndef CKPT_FITS_H
#define CKPT_FITS_H

#include "ckpt/checkpoint.h"
#include "ckpt/ledger.h"

typedef struct {
    const char *model; /* file of StableHLO text */
    const char *text;  /* the text itself, where it is no file's; NULL: read the file */
    size_t n_text;
    uint64_t seed, rounds;
    size_t least, most; /* replicas of a round */
} checkpoint_run_t;

/* The checkpoint's ledger, if it is of this run: its model, seed, and as many replicas and rounds;
 * free it with ledger_fini. ERR_STATE: whole, but made without a ledger; ERR_ARG: of another run;
 * ERR_CORRUPT, ERR_IO. */
int checkpoint_fits(const checkpoint_t *self, const checkpoint_run_t *run, ledger_t *out,
                    err_t *err);

#endif
