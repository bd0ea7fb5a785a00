/* The tile of codegen/c/tile.h for bf16 operands on a matrix unit (AMX): C in up to 2 x 2 tile
 * registers of 16 x 16, TDPBF16PS over up to 16 pairs at a time. */
#ifndef CODEGEN_TILE_AMX_H
#define CODEGEN_TILE_AMX_H

#include "codegen/c/tile.h"

/* The largest tile. Fewer rows or columns are fine; columns beyond tile->cols are not touched. */
enum { TILE_AMX_ROWS = 32, TILE_AMX_COLS = 32, TILE_AMX_PAIRS = 16 };

/* As tile_function with bf16, for tile->amx: pairs of a row of A follow each other (a_sum 2), B is
 * packed (pack_function). Rounds subnormal numbers to zero, as the instruction does. The tile's
 * configuration is loaded when the function is called, and n a multiple of its pairs. */
const char *tile_amx_function(helpers_t *helpers, const tile_t *tile);

/* As tile_function with operands of f32 in three pieces each (codegen/prelude/prelude_split.h): A's block of up to 32 rows and
 * B's of up to 32 columns for 32 terms after 32, zeros behind the last; n counts pairs of terms, a multiple of 16.
 * rows, cols and c_row are looked at. */
const char *tile_amx_split_function(helpers_t *helpers, const tile_t *tile);

/* The operand of ldtilecfg for tiles of so many rows and columns and `pairs` terms at a time, 1 to
 * TILE_AMX_PAIRS: a constant array of 64 bytes with this name. */
void tile_amx_config(const char *name, int rows, int cols, int pairs, str_t *out);

/* Tile instructions as macros, so that a test can define its own. After KC_RELEASE the thread has
 * no tiles to save. Part of the head of generated files. */
extern const char tile_amx_head[];

#endif
