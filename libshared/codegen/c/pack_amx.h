/* Packing of bf16 operands for the matrix unit (codegen/c/tile_amx.h), by shuffles within 16 bytes,
 * of which processors do one a cycle, after loads that put 16 bytes of each row where they belong. */
#ifndef CODEGEN_PACK_AMX_H
#define CODEGEN_PACK_AMX_H

#include "codegen/c/tile.h"

/* void pack(uint16_t *to, const uint16_t *from, int64_t n, int64_t panels)
 * pack_function with bf16 for so many panels, `next` elements apart, of the columns that follow each
 * other. Not for pack->last. */
const char *pack_amx_function(helpers_t *helpers, const pack_t *pack, int64_t next);

/* void turn(uint16_t *to, const uint16_t *from, int64_t rows, int64_t n)
 * Columns of the source, `from_row` elements from row to row, as rows, `to_row` apart: to[r * to_row
 * + t] = from[t * from_row + r] for r < rows, t < 2 n. No overlap. */
const char *pack_amx_turn(helpers_t *helpers, int64_t to_row, int64_t from_row);

/* What the functions call: part of the head of generated files. */
extern const char pack_amx_head[];

#endif
