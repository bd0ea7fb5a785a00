/* Ranges of windows cut at the ends of epochs, and where they may lie: ledger and returned ranges.
 * Internal to store/; the database functions run inside a transaction of the leader. */
#ifndef STORE_PIECES_H
#define STORE_PIECES_H

#include "base/vec.h"
#include "store/private.h"

/* Each within one epoch. */
typedef VEC(data_range_t) pieces_t;

/* The range in pieces, behind those there are. ERR_ARG: it starts behind its epoch's end, or spans
 * more than 1,000,000 epochs. */
int pieces_add(pieces_t *self, const data_range_t *range, uint64_t n_windows, err_t *err);
bool pieces_overlap(const pieces_t *self, const data_range_t *piece);

/* ERR_STATE: part of the piece is in the ledger. */
int ledger_free(store_t *self, const char *run, const data_range_t *piece, err_t *err);

/* Take the piece off the returned ranges it overlaps; what is left of them stays. */
int returned_take(store_t *self, const char *run, uint64_t round, const data_range_t *piece,
                  err_t *err);
int returned_add(store_t *self, const char *run, uint64_t round, const data_range_t *piece,
                 err_t *err);

#endif
