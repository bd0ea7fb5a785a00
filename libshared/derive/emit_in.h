/* Between the files of what depends on no token. Internal to derive/. */
#ifndef DERIVE_EMIT_IN_H
#define DERIVE_EMIT_IN_H

#include "derive/emit.h"

/* A value that depends on no token. Beside its dimensions it has one in front: the sequences, whose tokens are at
 * different positions. */
typedef struct {
    ir_val_t v;  /* [rows or 1, dimensions of `at`] */
    bool rows;   /* differs between sequences */
    layout_t at; /* without axes of rows */
} piece_t;

static const piece_t EMIT_NOTHING = {.v = IR_NONE};

/* With its dimension in front. */
ir_type_t emit_piece_type(const emit_t *self, const layout_t *at, bool rows, dtype_t dtype);
/* Along axes of sequences all is the same. */
layout_t emit_without_rows(const layout_t *at);
/* x repeated where `to` has more. */
piece_t emit_stretch_piece(emit_t *self, piece_t x, bool rows, const layout_t *to);
/* Positions of tokens, or numbers from 0, along dimension d, which has this axis, as numbers of a type. */
piece_t emit_positions(emit_t *self, const layout_t *like, int d, axis_t axis, dtype_t dtype);
piece_t emit_numbers(emit_t *self, const layout_t *like, int d, axis_t axis, dtype_t dtype);
/* A value as a whole, of which the tokens' rows are looked up. */
piece_t emit_table(emit_t *self, ir_val_t v, const layout_t *at);

#endif
